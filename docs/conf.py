"""The documentation as a site: ./run docs. Pages stay Markdown as GitHub shows it.

The source folder is the repository, so that links to data/, config/ and README.md work in both.
The navigation is what docs/README.md lists (tests/test_house.py holds it complete).
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

project = "diffsim_ros"
author = "the diffsim_ros authors"
version = release = re.search(
    r"<version>(.*?)</version>", (ROOT / "package.xml").read_text()
).group(1)
root_doc = "docs/README"
include_patterns = [
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md", "data/**/README.md",
    "examples/README.md", "ros_overlay/README.md",
]  # fmt: skip
# Not walked either: environments and builds hold Markdown by the hundred.
exclude_patterns = [".*", "build", "install", "log", "dist", "out", "results-*", "diffsim-*"]

extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 6  # GitHub's anchors
suppress_warnings = [
    "toc.not_included",  # data/*/README.md are reached by links alone
    "myst.header",  # tables of keys that the code writes begin at the third level
]
highlight_language = "none"
html_theme = "furo"
html_title = f"diffsim_ros {version}"
html_static_path = ["_site"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

FRONT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}">'


def navigation(text: str) -> str:
    """Hidden tables of contents, one for each table of docs/README.md: its pages, in its order."""
    parts = []
    for table in re.split(r"\n\n", text):
        head = re.match(r"\| ([\w ]+) \| \|\n", table)
        pages = re.findall(r"\]\(([\w./-]+\.md)\)", table)
        if not head or not pages:
            continue
        listed = "\n".join(pages)
        caption = head[1][0].upper() + head[1][1:]
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n")
    return "\n\n" + "\n".join(parts)


def add_navigation(app, docname: str, source: list[str]) -> None:
    if docname == root_doc:
        source[0] += navigation(source[0])


def add_front_door(app, exception) -> None:
    """build/site/index.html leads to the first page."""
    if exception is None and app.builder.name == "html":
        page = app.builder.get_target_uri(root_doc)
        (Path(app.outdir) / "index.html").write_text(FRONT.format(page) + "\n")


def add_videos(app, exception) -> None:
    """Copy videos to where pages name them: Sphinx finds pictures, but no <video>."""
    if exception is None and app.builder.name == "html":
        for video in (ROOT / "docs").rglob("*.mp4"):
            target = Path(app.outdir) / video.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(video, target)


def setup(app) -> dict:
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_front_door)
    app.connect("build-finished", add_videos)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
