"""Messages that docs/troubleshooting.md explains are those of the code."""

import ast
import re

from tests.pages import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
GAP = "\0"
"""Stands for what an f-string or the shell fills in."""


def texts_of_the_code():
    """Every text of the code that could be a message, what is filled in as GAP."""
    for path in (ROOT / "diffsim_ros").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else GAP for v in node.values)
                yield "".join(parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    for path in (ROOT / "native").rglob("*.cpp"):
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'" << [^"]*? << "', GAP,
                              path.read_text()))  # fmt: skip
    for path in (ROOT / "run", ROOT / "tools" / "setup.sh"):
        joined = re.sub(r'" \\\n\s*"', " ", path.read_text())
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"\$\{[^}]*\}|\$\w+", GAP, joined))


def says(text, message):
    """Whether a text of the code has the parts of a quoted message, … between them, in order."""
    at = 0
    for part in message.split("…"):
        at = text.find(part.strip(), at)
        if at < 0:
            return False
        at += len(part.strip())
    return True


def test_every_message_that_is_explained_exists():
    texts = list(texts_of_the_code())
    messages = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert len(messages) > 50
    missing = [m for m in messages if not any(says(text, m) for text in texts)]
    assert not missing
    assert not any(says(text, "no such message … of this package") for text in texts)
