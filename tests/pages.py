"""Pages of docs/ that tests compare with the code."""

from pathlib import Path

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"


def keys_of_kind(kind: str) -> str:
    """The section of a kind of estimation; "" for what every kind has."""
    text = (REFERENCE / "estimation_keys.md").read_text()
    heading = f"## `kind: {kind}`\n" if kind else "## Every kind, and poses that start by height\n"
    _, found, rest = text.partition(heading)
    assert found, f"docs/reference/estimation_keys.md has no section {heading}"
    return rest.partition("\n## ")[0]


ROOT = REFERENCE.parent.parent


def all_pages() -> list[Path]:
    """Every page that users read."""
    own = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
    data = (ROOT / "data").rglob("README.md")
    return [*own, *sorted((ROOT / "docs").rglob("*.md")), *sorted(data)]


WHOLE = [
    ROOT / "docs" / "tutorials" / f"{name}.md"
    for name in ("your_tracker", "your_depth_camera", "your_arm", "throw_with_a_ur5", "ros_loop")
]
"""Tutorials that are run as a whole (tests/docs/test_tutorials.py)."""
