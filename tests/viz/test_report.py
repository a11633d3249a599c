"""The page: complete, self-contained, and honest about what it is given."""

import copy
import datetime
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.viz import PICTURES, curves
from diffsim_ros.viz.estimation_page import rendered, write_page
from diffsim_ros.viz.kinds import joints, poses
from diffsim_ros.viz.pages import KINDS, sections_of
from diffsim_ros.viz.report_tables import covariance_table


class Page(HTMLParser):
    """Collects tags, attributes and text, and fails on tags that are left open."""

    VOID = frozenset({"meta", "img", "input", "br", "link"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def check_self_contained(source):
    """No address, no file and no link out of the page."""
    assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]", source, re.IGNORECASE)
    assert not re.search(r"@import|url\(", source)
    page = Page(source)
    assert page.open == []
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed")
        for key in ("src", "href"):
            value = attributes.get(key)
            assert value is None or value.startswith(("data:", "#"))
    anchors = {a["href"][1:] for _, a in page.tags if a.get("href", "").startswith("#")}
    assert anchors <= {a["id"] for _, a in page.tags if "id" in a}
    return page


@pytest.fixture(scope="module")
def source(page):
    return (page / "report.html").read_text(encoding="utf-8")


def test_the_report_is_one_file_that_needs_no_network(source):
    check_self_contained(source)


def test_the_report_shows_what_was_found(source, result):
    text = Page(source).text
    best = result.metrics["validate"]
    for words in (
        "cube toss", "converged", "0.2134", "0.0021", "5200", "not identifiable", "at bound",
        "correlated 0.995 with radius", "held", "missing frames", "a.npz", "2026-01-02",
        "Over 12 recordings not trained on", "All 12 recordings as a table",
        f"{best['rotation_error_deg']:.3g} ° rotation error",
        f"{1e3 * best['position_error_m_median']:.3g}; 95 % interval of the mean",
    ):  # fmt: skip
        assert words in text, words
    assert "Profile likelihood" in text and "New motion: predicted less measured" in text
    assert "a note <with> markup & signs" in text  # escaped in the source, shown as written
    assert "failed rollouts" not in text  # nothing failed


def test_the_playable_motion_holds_the_measured_and_the_simulated_cube(source, result):
    block = re.search(r'<script id="motions" type="application/json">(.*?)</script>', source, re.S)
    motions = json.loads(block[1])
    assert motions[0]["name"] == "toss 6 (validate): median"
    assert any(m["name"].startswith("toss 11 ") for m in motions)  # the worst
    first = next(m for m in motions if m["name"].startswith("toss 0 "))
    expected = result.predictions[0]
    solid, ghost = first["bodies"]
    names = solid["name"], ghost["name"], ghost["ghost"]
    assert names == ("cube simulated", "cube measured", True)
    assert np.array(ghost["p"]) == pytest.approx(expected.measured[:, 0, :3], abs=1e-5)
    assert np.array(solid["q"]) == pytest.approx(expected.simulated[:, 0, 3:], abs=1e-5)
    assert len(first["forces"]) == len(first["t"]) == 40
    assert first["forces"][0] == [] and len(first["forces"][-1]) == 4
    last = {curve["label"]: curve["value"][-1] for curve in first["errors"]}
    assert last["angle [°]"] == pytest.approx(expected.errors["final_rotation_error_deg"], abs=0.01)


def test_every_picture_is_announced_so_that_none_is_overwritten(page):
    written = {path.name for path in page.iterdir()} - {"report.html"}
    assert written <= set(PICTURES)
    expected = ("error_over_time", "parameters", "profiles", "bands", "cubes", "motion_worst")
    assert {f"{name}.png" for name in expected} <= written


def data_of(source, name):
    """Content of a JSON script of the page."""
    return json.loads(
        re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', source, re.S)[1]
    )


def test_curves_to_zoom_into_hold_what_was_measured_and_simulated(source, result):
    views = data_of(source, "signals")
    (group,) = next(v for v in views if v["name"].startswith("toss 11 "))["groups"]
    expected = result.predictions[11]
    assert [p["title"] for p in group["panels"]][:3] == ["x [mm]", "y [mm]", "z [mm]"]
    for k, panel in enumerate(group["panels"][:3]):
        for line in panel["lines"]:
            places = getattr(expected, line["name"])[:, 0]
            assert line["y"] == pytest.approx(1e3 * places[:, k], rel=1e-5)
            assert line["x"] == pytest.approx(expected.t, abs=1e-6)
    (trace,) = data_of(source, "trace")
    assert [g["name"] for g in trace["groups"]] == ["objective"]  # no parameters in this history
    assert trace["groups"][0]["panels"][0]["lines"][0]["y"] == pytest.approx(
        [step.objective for step in result.history], rel=1e-5
    )


def test_what_is_not_finite_leaves_a_gap_and_parameters_are_traced(result):
    assert curves.numbers([1.0, np.nan, -np.inf, 1 / 3]) == [1.0, None, None, 0.333333]
    other = copy.copy(result)
    values = [{"friction": 0.3}, {"friction": 0.2}]
    other.history = tuple(
        SimpleNamespace(phase="fit", iteration=i, objective=1.0 - 2 * i, parameters=p)
        for i, p in enumerate(values)
    )
    rows = sections_of(other).rows
    (trace,) = curves.trace(other.history, rows)
    assert [g["name"] for g in trace["groups"]] == ["objective", "friction"]
    assert trace["groups"][1]["panels"][0]["lines"][0]["y"] == [0.3, 0.2]
    assert not trace["groups"][0]["panels"][0]["log"]  # an objective below 0 has no logarithm
    assert curves.trace(other.history[:1], rows) == []


def test_the_covariance_table_has_numbers_for_every_pair(result):
    rows = sections_of(result).rows
    table = covariance_table(result, rows)
    assert table["names"] == list(result.correlated)
    texts = [[cell["text"] for cell in row["cells"]] for row in table["rows"]]
    assert float(texts[1][0]) == pytest.approx(0.5 * 0.0021 * 210, rel=5e-3)  # below: covariance
    assert float(texts[1][1]) == pytest.approx(210**2, rel=5e-3)
    assert texts[0][1] == "+0.500"  # above: correlation
    assert set(texts[2]) == {"–"} and texts[3][2] == "–"  # at its bound: no standard deviation
    bare = copy.copy(result)
    bare.correlated, bare.correlation = (), np.zeros((0, 0))
    assert covariance_table(bare, rows) is None


def test_links_are_drawn_as_tubes_around_the_lines_between_joints():
    chain = np.random.default_rng(0).normal(size=(4, 3, 3))
    chain[:, 2] = chain[:, 1] + [0.0, 0.0, 0.3]
    vertices, faces, lines = joints.tubes(chain)
    sides, thick = joints.SIDES, np.linspace(*joints.RADII, 3)
    rings = vertices.reshape(4, 2, 2, sides, 3)  # frame, link, end
    for link in range(2):
        for end in range(2):
            arm = rings[:, link, end] - chain[:, link + end][:, None]
            np.testing.assert_allclose(np.linalg.norm(arm, axis=2), thick[link + end])
            along = chain[:, link + 1] - chain[:, link]
            np.testing.assert_allclose(np.einsum("fsi,fi->fs", arm, along), 0.0, atol=1e-12)
    assert set(faces.ravel()) == set(range(vertices.shape[1])) >= set(lines.ravel())
    still = joints.tubes(np.zeros((2, 3, 3)))[0]  # links without length have no side
    assert np.all(still == 0.0)


def without_figures(result):
    """The page's words and motion alone, which are quick to make."""
    return rendered(sections_of(result), {}, datetime.datetime(2026, 1, 2))


def test_equal_results_give_equal_pages(result):
    assert without_figures(result) == without_figures(result)


def test_no_picture_is_written_of_what_there_is_not(result, tmp_path):
    bare = copy.copy(result)
    bare.predictions, bare.parameters, bare.profiles = (), (), ()
    bare.bands = ()
    written = write_page(sections_of(bare), tmp_path / "report.html")
    assert [path.name for path in written] == ["report.html", "correlation.png", "convergence.png"]


def test_bad_news_comes_first(result):
    worse = copy.copy(result)
    worse.status = "not_converged"
    text = Page(without_figures(worse)).text
    assert "not converged" in text
    assert text.index("the parameters are the best so far") < text.index("Measured against")


def test_the_verdict_comes_before_everything(result):
    text = Page(without_figures(result)).text
    assert text.index("Verdict: usable") < text.index("residuals are not noise")
    assert text.index("free table.k_t") < text.index("Measured against")
    cancelled = copy.copy(result)
    cancelled.verdict = None
    assert "Verdict:" not in Page(without_figures(cancelled)).text


def test_a_result_without_predictions_still_gives_a_page(result):
    bare = copy.copy(result)
    bare.predictions, bare.metrics, bare.history = (), {"train": {"recordings": 3}}, ()
    assert "No recording was predicted" in check_self_contained(without_figures(bare)).text


def test_the_trials_to_look_at_are_the_median_and_the_ends(result):
    assert poses.chosen(result.predictions) == {"median": 6, "best": 0, "hard": 10, "worst": 11}
    assert next(iter(poses.chosen(result.predictions))) == "median"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fit_of_one_step_without_predictions(kind, result, tmp_path):
    """Profiles, bands and priors are shown of any kind; no figure is asked for in vain."""
    bare = copy.copy(result)
    bare.kind, bare.history, bare.predictions = kind, result.history[:1], ()
    page = sections_of(bare)
    files = write_page(page, tmp_path / "report.html")
    names = [file.name for file in files]
    assert names[0] == "report.html" and set(names[1:]) <= set(PICTURES)
    assert {"parameters.png", "profiles.png", "bands.png"} <= set(names)
    assert "convergence.png" not in names
    text = check_self_contained(files[0].read_text(encoding="utf-8")).text
    assert "Green: prior; tick: first guess" in text and "table.c_f" in text
    assert "Left out" in text and "missing frames" in text
    assert page.titles[1] not in text
