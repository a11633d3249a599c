"""Pages of HTML that need no network: templates, what every page ends with, and files beside it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from diffsim_ros.output import write_bytes, write_text

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Table:
    """Texts in lines and columns; the first `words` columns are words, the others numbers.

    group  (title, columns) of a line above the head;  fold  what is shown of a table folded away
    named  the first column holds names of files or joints
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    group: Sequence[tuple[str, int]] = ()
    fold: str = ""
    named: bool = False


@dataclass(frozen=True)
class Block:
    """A piece of a section: heading, sentence, figure, facts, table, more of them; as far as given.

    figure  name of one of the page's figures;  alt  its words for who does not see it
    """

    title: str = ""
    text: str = ""
    figure: str = ""
    caption: str = ""
    alt: str = ""
    facts: Sequence[tuple[str, str]] = ()
    table: Table | None = None
    below: Sequence[Block] = ()


@cache
def environment() -> Environment:
    """Return the templates' environment: an undefined name is an error, never an empty page."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """Return the page that a template makes of plain data."""
    return environment().get_template(template).render(context)


def write_page(path: Path, page: str, images: Mapping[str, bytes]) -> list[Path]:
    """Write a page, and images (name -> PNG) beside it; return the files written, the page first.

    Files of the same name are replaced, each at once.
    """
    write_text(path, page, overwrite=True)
    files = [path]
    for name, png in images.items():
        files.append(path.with_name(f"{name}.png"))
        write_bytes(files[-1], png, overwrite=True)
    return files


def footer(written: datetime.datetime | None) -> dict[str, str]:
    """Return what base.html's last line says: time (default: now) and version."""
    from diffsim_ros import __version__

    moment = written or datetime.datetime.now().astimezone()
    return {"written": moment.strftime("%Y-%m-%d %H:%M"), "version": __version__}
