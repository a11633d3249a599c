"""The documentation as a site, and pages that are made from code and results."""

import importlib.util
import re
import subprocess
import sys

import pytest
import yaml

from tests.pages import ROOT

REMOTE = re.compile(r'<(?:script|img|link|iframe|source)\b[^>]*(?:src|href)="(?:https?:)?//', re.I)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `./run docs` does it: what is broken is an error."""
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("sphinx is not installed (tools/requirements/docs.txt)")
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "-W", "default", "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs",
         "-d", str(folder / "doctrees"), ".", str(folder / "html")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-4000:]
    return folder / "html"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_has_every_page(site):
    pages = {page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")}
    assert not {page for page in pages if not (site / page).with_suffix(".html").exists()}
    front = (site / "index.html").read_text()
    assert (site / re.search(r"url=([\w/.]+)", front)[1]).exists()


@pytest.mark.slow
def test_the_site_needs_no_network(site):
    wrong = [page.name for page in site.rglob("*.html") if REMOTE.search(page.read_text())]
    assert not wrong
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text()), sheet


@pytest.mark.slow
def test_every_page_is_in_the_navigation(site):
    first = (site / "docs" / "README.html").read_text()
    sidebar = first[first.index('class="sidebar-tree"') :].split("</aside>")[0]
    links = set(re.findall(r'href="([\w./-]+\.html)"', sidebar))
    pages = {str(p.relative_to(ROOT / "docs").with_suffix(".html"))
             for p in (ROOT / "docs").rglob("*.md")} - {"README.html"}  # fmt: skip
    assert pages <= links, pages - links


@pytest.mark.slow
def test_videos_are_where_pages_name_them(site):
    found = [
        (page.parent / name).resolve()
        for page in site.rglob("*.html")
        for name in re.findall(r'<video[^>]* src="([^"]+)"', page.read_text())
    ]
    assert found and not [video for video in found if not video.is_file()]


def test_pictures_are_small():
    wrong = {p.name: p.stat().st_size for p in (ROOT / "docs" / "images").iterdir()
             if p.stat().st_size > 400_000}  # fmt: skip
    assert not wrong


def test_the_benchmarks_are_those_of_the_results():
    from validation.benchmarks import PAGE, markdown

    assert PAGE.read_text() == markdown(), "docs/benchmarks.md is old: ./run docs writes it anew"


@pytest.mark.ros
def test_the_parameters_of_nodes_are_those_declared():
    from diffsim_ros.nodes.usage import markdown

    page = ROOT / "docs" / "reference" / "ros_parameters.md"
    assert page.read_text() == markdown(), f"{page.name} is old: ./run docs writes it anew"


def test_topics_services_and_actions_of_the_nodes_are_in_their_reference():
    page = (ROOT / "docs" / "reference" / "ros.md").read_text()
    named = set()
    for path in (ROOT / "diffsim_ros" / "nodes").glob("*.py"):
        named |= set(re.findall(r'(?:, |\(|^\s+)"(~/[\w/]+)",', path.read_text(), re.MULTILINE))
    assert len(named) > 20
    assert not {name for name in named if name not in page}


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    package = (ROOT / "package.xml").read_text()
    assert cited["cff-version"] == "1.2.0" and cited["authors"] and cited["message"]
    assert f"<version>{cited['version']}</version>" in package
    assert f">{cited['license']}</license>" in package
    bibtex = (ROOT / "docs" / "citation.md").read_text()
    assert f"version = {{{cited['version']}}}" in bibtex
    assert f"year    = {{{cited['date-released'].year}}}" in bibtex


FIGURE = re.compile(r"\d[\d.]*(?:e-?\d+)? ?(?:%|°|times|mm|cm|ms|mrad|CPU s|s each)(?![\w/])")


def test_the_first_pages_have_no_figure_that_the_benchmarks_lack():
    """README, the site's first page and the concepts quote measured figures from one page."""
    known = (ROOT / "docs" / "benchmarks.md").read_text()
    pages = [ROOT / "README.md", ROOT / "docs" / "README.md", *(ROOT / "docs/concepts").glob("*")]
    wrong = []
    for page in pages:
        text = re.sub(r"```.*?```|`[^`]*`|^    .*?$", "", page.read_text(), flags=re.DOTALL | re.M)
        wrong += [(page.name, one) for one in FIGURE.findall(text) if one not in known]
    assert not wrong
    assert FIGURE.findall("misses by 19 cm, 88 times cheaper, 99.9 % of 0.3 ms")
