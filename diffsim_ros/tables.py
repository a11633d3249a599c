"""Text tables read within bounds, whatever program wrote them.

Encoding (UTF-8, UTF-16, with and without a mark; Windows-1252 in a header), separator (comma,
semicolon, tab, spaces) and decimal sign are seen in the file itself. A dialect that is not the
usual one (UTF-8, commas, decimal points) is named in the notes of what was read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.files import require_regular

COLUMNS = 5000
"""Most columns of a table."""
LONGEST_NAME = 500
"""Most characters of a column's name."""
SAMPLE = 2**16
"""Bytes by which the dialect is judged."""
SAMPLE_LINES = 60
"""Most lines by which it is judged, and in which a header is searched."""
SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "commas", " ": "spaces"}
MISSING = frozenset(("", "nan", "null", "none", "-", "--", "n/a", "na", "#n/a", "lost"))
"""Cells, in small letters, of what was not measured."""
COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
UNIT_WORDS = frozenset((
    "s", "ms", "us", "ns", "m", "cm", "mm", "rad", "deg", "n", "nm", "n m", "hz", "rad/s", "deg/s",
    "m/s", "1", "-", "",
))  # fmt: skip
"""Cells, in small letters, of a row of units below the names."""
LONG_LINE = 60
"""Characters of a line that a message shows."""
COMMENTS = ("#", "%", "//")


class Sheet(NamedTuple):
    """Cells of a text file, line by line.

    rows       cells of each line, [] of an empty one
    lines      its number in the file, from 1
    separator  a key of SEPARATORS
    notes      what is not usual: encoding, separator, decimal sign
    """

    rows: list[list[str]]
    lines: list[int]
    separator: str
    notes: tuple[str, ...]


class TextTable(NamedTuple):
    """Columns with names.

    header  names of the columns, a unit of a row below them in brackets
    rows    cells of every further line that is not empty, as many as the header has where the
            surplus was empty;  lines  their numbers in the file
    notes   of the dialect, and where the header stands
    """

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    notes: tuple[str, ...]


def read_sheet(path: str | Path, accepted: str, most: int | None = None) -> Sheet:
    """All lines of a text file, or the first `most`.

    accepted   rule in errors of a file that is none
    Raises InputError: a missing or unreadable file, broken quotes, more than COLUMNS columns,
    decimal points and decimal commas in one file.
    """
    path = Path(path)
    require_regular(path, accepted)
    rows: list[list[str]] = []
    lines: list[int] = []
    signs: dict[str, tuple[int, str]] = {}
    try:
        encoding, notes = _encoding(path)
        with path.open(newline="", encoding=encoding) as stream:
            separator = _separator(stream.read(SAMPLE))
            stream.seek(0)
            for line, row in _split(stream, separator):
                if not rows:
                    _check_header(path, row)
                if len(row) > COLUMNS:
                    raise InputError(
                        path, f"line {line}", f"{len(row)} cells", f"at most {COLUMNS}"
                    )
                rows.append(_with_points(row, line, signs))
                lines.append(line)
                if most is not None and len(rows) == most:
                    break
    except (OSError, UnicodeError, csv.Error) as error:
        raise InputError(path, "", str(error), accepted) from None
    if len(signs) > 1:
        line, cell = signs[","]
        got = f"{cell}, and {signs['.'][1]} in line {signs['.'][0]}"
        raise InputError(path, f"line {line}", got, "decimal points, or decimal commas, throughout")
    if separator != ",":
        notes += (f"columns are separated by {SEPARATORS[separator]}",)
    if "," in signs:
        notes += ("numbers have decimal commas",)
    return Sheet(rows, lines, separator, notes)


def read_rows(path: str | Path, accepted: str) -> tuple[list[str], list[list[str]]]:
    """Names in the first line, and the cells of every further one, [] where it is empty.

    Raises InputError as read_sheet.
    """
    rows = read_sheet(path, accepted).rows
    return ([name.strip() for name in rows[0]], rows[1:]) if rows else ([], [])


def read_header(path: str | Path, accepted: str) -> list[str]:
    """Names of the columns ([] of an empty file); errors as read_sheet."""
    return read_table(path, accepted, SAMPLE_LINES).header


def read_table(path: str | Path, accepted: str, most: int | None = None) -> TextTable:
    """The columns of a table whose header stands in the first line, or right above its numbers.

    Comments, titles and empty lines above the header are passed over, a row of units below it is
    joined to it (`px [mm]`), empty columns without a name at the end are left out.
    Raises InputError as read_sheet.
    """
    return table_of(read_sheet(path, accepted, most), path)


def table_of(sheet: Sheet, path: str | Path) -> TextTable:
    """The table in a sheet, as read_table."""
    filled = [k for k, row in enumerate(sheet.rows) if any(cell.strip() for cell in row)]
    if not filled:
        return TextTable([], [], [], sheet.notes)
    at, first = _header_row(sheet.rows, filled)
    header = _uncommented([cell.strip() for cell in sheet.rows[at]])
    notes = sheet.notes
    if at != filled[0]:
        notes += (f"the header is line {sheet.lines[at]}",)
    _check_header(Path(path), header)
    if first > at + 1 and filled[filled.index(at) + 1] != first:
        units = [cell.strip() for cell in sheet.rows[filled[filled.index(at) + 1]]]
        header = [
            f"{name} [{unit}]" if unit and unit != "-" else name
            for name, unit in zip(header, [*units, *[""] * len(header)], strict=False)
        ]
    kept = [k for k in filled if k >= first]
    rows, lines = [sheet.rows[k] for k in kept], [sheet.lines[k] for k in kept]
    while header and not header[-1] and all(not _cell(row, len(header) - 1) for row in rows):
        header = header[:-1]
    width = len(header)
    rows = [row[:width] if not any(c.strip() for c in row[width:]) else row for row in rows]
    return TextTable(header, rows, lines, notes)


def number(cell: str) -> float:
    """The number in a cell, NaN where nothing was measured (MISSING); ValueError for other text."""
    try:
        return float(cell)
    except ValueError:
        if cell.strip().lower() in MISSING:
            return float("nan")
        raise


def is_number(cell: str) -> bool:
    """Whether `number` reads a cell."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def number_table(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[str]],
    lines: Sequence[int] | None = None,
) -> np.ndarray:  # fmt: skip
    """Cells of a table as numbers (lines, columns), NaN where they are empty.

    lines   numbers of the lines in the file; without, the first row is line 2
    Raises InputError naming the line that is none of as many numbers as the header has names.
    """
    table = np.empty((len(rows), len(header)))
    for i, row in enumerate(rows):
        try:
            table[i] = np.array([number(cell) for cell in row]).reshape(len(header))
        except ValueError:
            rule, line = f"{len(header)} numbers", lines[i] if lines is not None else i + 2
            got = _first_word(header, row)
            raise InputError(path, f"line {line}", got, rule) from None
    return table


def check_finite(path: str | Path, table: np.ndarray, lines: Sequence[int]) -> None:
    """Refuse infinite numbers of a table (lines, columns), naming the line of the first."""
    bad = np.argwhere(np.isinf(table))
    if len(bad):
        line, column = (int(k) for k in bad[0])
        key = f"line {lines[line]}, column {column + 1}"
        raise InputError(path, key, float(table[line, column]), "a finite number, or nothing")


def _first_word(header: Sequence[str], row: Sequence[str]) -> str:
    """The cells of a line in which something is wrong, or the one, where it stands far behind."""
    text = ",".join(row)
    if len(text) <= LONG_LINE or len(row) != len(header):
        return text[:LONG_LINE]
    for name, cell in zip(header, row, strict=True):
        if not is_number(cell):
            return f"{cell.strip()[:LONG_LINE]} in column {name}"
    return text[:LONG_LINE]


# ---------------------------------------------------------------------------- dialect


def _encoding(path: Path) -> tuple[str, tuple[str, ...]]:
    """The encoding of a file by its mark or its first bytes, and what is worth a note."""
    with path.open("rb") as stream:
        sample = stream.read(SAMPLE)
    if sample[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16", ("the text is UTF-16",)
    for pattern, name in (((1, 0, 1, 0), "utf-16-le"), ((0, 1, 0, 1), "utf-16-be")):
        if len(sample) >= 4 and tuple(int(byte > 0) for byte in sample[:4]) == pattern:
            return name, ("the text is UTF-16",)
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        begun = len(sample) == SAMPLE and error.start > SAMPLE - 4  # a letter cut in two
        if not begun and sample[: error.start].count(b"\n") < 10 and b"\0" not in sample:
            try:
                sample.decode("cp1252")
            except UnicodeDecodeError:
                return "utf-8-sig", ()
            return "cp1252", ("names are read as Windows-1252: the text is no UTF-8",)
    return "utf-8-sig", ()


def _separator(text: str) -> str:
    """The separator by which most of the first lines, or else of their cells, are numbers."""
    lines = [line for line in text.splitlines()[:SAMPLE_LINES] if line.strip()]
    whole, scores = dict.fromkeys(SEPARATORS, 0), dict.fromkeys(SEPARATORS, 0)
    for sign in SEPARATORS:
        for _, row in _split_lines(lines, sign):
            numeric = [_numeric(cell) for cell in row]
            if len(row) > 1:
                whole[sign] += all(numeric) and any(map(str.strip, row))
                scores[sign] += sum(numeric) - sum(not cell.strip() for cell in row)
    for found in (whole, scores):
        if any(found.values()):
            return max(SEPARATORS, key=lambda sign: found[sign])
    counts = {sign: lines[0].count(sign) if lines else 0 for sign in SEPARATORS if sign != " "}
    most = max(counts.values())
    return next(sign for sign, count in counts.items() if count == most) if most else ","


def _split_lines(lines: Sequence[str], sign: str) -> list[tuple[int, list[str]]]:
    try:
        return list(_split(iter([line + "\n" for line in lines]), sign))
    except csv.Error:
        return []


def _split(stream: TextIO | Iterator[str], sign: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of every line."""
    if sign == " ":
        for line, text in enumerate(stream, start=1):
            yield line, text.replace("\0", "\1").split()
        return
    reader = csv.reader(stream, strict=True, delimiter=sign)
    for row in reader:
        yield reader.line_num, row


def _numeric(cell: str) -> bool:
    """True of a number with a decimal point or comma, and of a cell of MISSING."""
    return is_number(cell.replace(",", ".") if COMMA.fullmatch(cell.strip()) else cell)


def _with_points(row: list[str], line: int, signs: dict[str, tuple[int, str]]) -> list[str]:
    """The row with decimal points; notes in `signs` where each decimal sign occurs first."""
    data = _numeric(row[0]) if row else False  # a header has versions and dates
    if data and "." not in signs:
        cell = next((c for c in row if "." in c and POINT.fullmatch(c.strip())), None)
        if cell is not None:
            signs["."] = line, cell.strip()
    commas = [k for k, cell in enumerate(row) if "," in cell and COMMA.fullmatch(cell.strip())]
    if not commas:
        return row
    if data:
        signs.setdefault(",", (line, row[commas[0]].strip()))
    row = list(row)
    for k in commas:
        row[k] = row[k].replace(",", ".")
    return row


# ---------------------------------------------------------------------------- header


def _header_row(rows: list[list[str]], filled: list[int]) -> tuple[int, int]:
    """Index of the row with the names, and of the first with numbers."""
    top = filled[0]
    data = next((k for k in filled[:SAMPLE_LINES] if _is_data(rows[k])), None)
    above = [k for k in filled if data is not None and k < data]
    if data is None or not above:
        return top, filled[1] if len(filled) > 1 else top + 1
    named: Callable[[int], bool] = lambda k: _fits(rows[k], rows[data])  # noqa: E731
    units = len(above) > 1 and _is_units(rows[above[-1]], len(rows[data]))
    at = above[-2] if units else above[-1]
    if not named(at) or len(above) == 1:
        return top, filled[1]
    return at, data


def _is_data(row: list[str]) -> bool:
    cells = [cell.strip() for cell in row]
    return sum(map(bool, cells)) > 1 and all(_numeric(cell) for cell in cells)


def _fits(row: list[str], data: list[str]) -> bool:
    """True of a row that has a name for every column of numbers."""
    names = _uncommented([cell.strip() for cell in row])
    while names and not names[-1]:
        names = names[:-1]
    return abs(len(names) - len(data)) <= 1 and not any(_numeric(n) for n in names if n)


def _is_units(row: list[str], width: int) -> bool:
    """True of a row of units over columns of numbers."""
    cells = [cell.strip().strip("()[]").lower() for cell in row]
    known = all(cell in UNIT_WORDS for cell in cells)
    return known and abs(len(cells) - width) <= 1 and any(c not in ("", "-", "1") for c in cells)


def _uncommented(names: list[str]) -> list[str]:
    """Names without the sign of a comment before the first."""
    for sign in COMMENTS:
        if names and names[0].startswith(sign):
            first = names[0][len(sign) :].strip()
            return [first, *names[1:]] if first else names[1:]
    return names


def _cell(row: Sequence[str], k: int) -> str:
    return row[k].strip() if k < len(row) else ""


def _check_header(path: Path, header: list[str]) -> None:
    if len(header) > COLUMNS:
        raise InputError(path, "header", f"{len(header)} columns", f"at most {COLUMNS}")
    for name in header:
        if len(name) > LONGEST_NAME:
            rule = f"names of at most {LONGEST_NAME} characters"
            raise InputError(path, "header", name, rule)
