"""CSV tables read within bounds."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.files import require_regular

COLUMNS = 5000
"""Most columns of a table."""
LONGEST_NAME = 500
"""Most characters of a column's name."""
ENCODING = "utf-8-sig"
"""UTF-8, with or without the mark that spreadsheets put first."""


def read_header(path: str | Path, accepted: str) -> list[str]:
    """Names of the columns ([] of an empty file); errors as read_rows."""
    return next(iter(_rows(Path(path), accepted, 1)), [])


def read_rows(path: str | Path, accepted: str) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and the cells of every further line that is not empty.

    accepted   rule in errors of a file that is none
    Raises InputError: a missing or unreadable file, broken quotes, more than COLUMNS columns.
    """
    rows = _rows(Path(path), accepted, None)
    return (rows[0], rows[1:]) if rows else ([], [])


def number_table(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> np.ndarray:
    """Cells of read_rows as numbers (lines, columns), NaN where they are empty.

    Raises InputError naming the line that is none of as many numbers as the header has names.
    """
    table = np.empty((len(rows), len(header)))
    for i, row in enumerate(rows):
        try:
            numbers = [float(cell) if cell.strip() else np.nan for cell in row]
            table[i] = np.array(numbers).reshape(len(header))
        except ValueError:
            rule = f"{len(header)} numbers"
            raise InputError(path, f"line {i + 2}", ",".join(row)[:60], rule) from None
    return table


def _rows(path: Path, accepted: str, most: int | None) -> list[list[str]]:
    require_regular(path, accepted)
    found: list[list[str]] = []
    try:
        with path.open(newline="", encoding=ENCODING) as stream:
            for row in csv.reader(stream, strict=True):
                if not found:
                    row = [name.strip() for name in row]
                    _check_header(path, row)
                elif len(row) > COLUMNS:
                    raise InputError(
                        path, f"line {len(found) + 1}", f"{len(row)} cells", f"at most {COLUMNS}"
                    )
                found.append(row)
                if most is not None and len(found) == most:
                    break
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(path, "", str(error), accepted) from None
    return found


def _check_header(path: Path, header: list[str]) -> None:
    if len(header) > COLUMNS:
        raise InputError(path, "header", f"{len(header)} columns", f"at most {COLUMNS}")
    for name in header:
        if len(name) > LONGEST_NAME:
            rule = f"names of at most {LONGEST_NAME} characters"
            raise InputError(path, "header", name, rule)
