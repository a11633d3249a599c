"""Prints the tables of docs/reference/command_line.md: every command with every argument."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from diffsim_ros.cli import COMMANDS, make_parser

SHARED = ("--out", "--force", "--no-report", "--json", "--set", "--estimated", "--help")
"""Options that the page explains once; a command's table names them in its last row."""


def tables() -> str:
    """Markdown: a heading and a table per command."""
    parser = make_parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return "\n\n".join(_table(name, commands.choices[name]) for name in COMMANDS)


def _table(name: str, command: argparse.ArgumentParser) -> str:
    rows = list(_rows(command))
    lines = [f"### diffsim {name}", "", COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".", ""]
    if rows:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{what}` | {text} |" for what, text in rows]
    shared = [a.option_strings[-1] for a in command._actions if _shared(a)]
    shared.remove("--help")
    if shared:
        lines += ["", "And " + ", ".join(f"`{option}`" for option in shared) + "."]
    return "\n".join(lines)


def _rows(command: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in command._actions:
        if not _shared(action):
            given = command._get_formatter()
            values = given._format_args(action, action.metavar or action.dest.upper())
            if action.choices:
                values = "\\|".join(map(str, action.choices))
            words = [*action.option_strings[-1:], *([values] if values else [])]
            text = action.help or ("the file" if not action.option_strings else "")
            yield " ".join(words).replace(" | ", " \\| "), text.replace("|", "\\|")


def _shared(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.option_strings[-1] in SHARED


if __name__ == "__main__":
    print(tables())
