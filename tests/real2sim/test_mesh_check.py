"""Numbers of a mesh: a fit on a coarse one says by how much a finer mesh or another element moves
them, and its standard deviations cover it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.inverse.discretisation_shift import Shift
from diffsim_ros.inverse.uncertainty import Uncertainty
from diffsim_ros.real2sim import discretisation, discretisation_choice
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.discretisation import Check, Finer, enlarged_note, noted
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.first_guess import Given, first, streams_of
from tests.real2sim import markers_synthetic
from validation import mesh_numbers

SIGMAS = 2.5


@pytest.fixture(scope="module", params=["ball", "box"])
def throw(request, tmp_path_factory):
    """Clouds of a body whose truth is quadratic and twice as fine as what it is fitted by."""
    pytest.importorskip("open3d")
    folder = tmp_path_factory.mktemp(request.param)
    case = mesh_numbers.drawn(int(request.param == "box"), truth="fine", layers=1)
    return case, mesh_numbers.record(case, folder), folder


def held_against_truth(result, truth):
    """That noise alone would lie, and that std_dev or the verdict does not."""
    alone, found = mesh_numbers.noise_alone(result), {p.name: p for p in result.parameters}
    off = {name: abs(found[name].value - true) for name, true in truth.items()}
    lies = np.nanmax([off[name] / alone[name] for name in truth]) > SIGMAS
    assert lies or any(p.at_bound for p in found.values()), "the mesh matters"
    covered = all(off[name] <= SIGMAS * (found[name].std_dev or 0.0) for name in truth)
    assert covered or result.verdict.grade != "good", str(result.verdict)
    return covered


@pytest.mark.parametrize("element", ["p1", "p2"])
def test_clouds_on_a_coarse_mesh_do_not_lie(throw, element):
    case, paths, folder = throw
    shape = mesh_numbers.shape_of(case)
    content = mesh_numbers.estimation_of(case, paths, folder, element=element, shape=shape)
    content["fit"]["iterations"] = 8
    result = estimate(load_estimation(content), report=False)
    held_against_truth(result, case.values)
    for kind, moved in (("mesh", "finer"), ("element", "other")):
        told = result.document()[kind][moved]  # not of parameters at their bounds
        assert told and set(told) == {p.name for p in result.parameters if not p.at_bound}
    if element == "p1":
        assert "element p1 of body is too stiff: element p2 would move" in result.verdict.reason
        assert any("bodies.body.element: p2" in one for one in result.verdict.advice)
    else:
        assert "too stiff" not in result.verdict.reason, "p1 is the coarser"
    kinds = [note for note in result.notes if note.startswith(("mesh of body", "element of body"))]
    assert len(kinds) == 2 and all("sigma and would move" in note for note in kinds)


@pytest.mark.parametrize("element", ["p1", "p2"])
def test_markers_on_a_coarse_beam_do_not_lie(element, tmp_path):
    fine = {"box": {"size": [0.1, 0.024, 0.024], "cells": [8, 2, 2]}}
    path = markers_synthetic.record(
        tmp_path / "free_1.csv", noise=5e-5, seed=1, after=0.7, shape=fine
    )
    content = markers_synthetic.estimation([path])
    content["scene"]["bodies"]["beam"]["element"] = element
    content["scene"]["world"] |= {"step": 0.0025, "record_every": 4}
    content["uncertainty"]["halves"], content["measurement"]["window"] = False, 0.3
    content["fit"] |= {"iterations": 8, "check_mesh": True}
    result = estimate(content)
    held_against_truth(result, markers_synthetic.TRUTH)
    assert result.metrics["mesh"]["finer"]["young"]["over_std_dev"] != 0.0
    if element == "p1":
        assert "too stiff" in result.verdict.reason and result.verdict.grade != "good"


def test_std_dev_is_enlarged_by_what_moves_too_far_only():
    names = ("a", "b", "c")
    C = np.diag([1.0, 4.0, np.nan])
    before = Uncertainty(
        "gauss_newton", names, np.zeros(3), C, np.sqrt(np.diagonal(C)), np.eye(3),
        (True, True, False), {"c": "upper"}, ("", "known", "at its bound"), (),
    )  # fmt: skip

    def check(a, b):
        shift = Shift({"a": a, "b": b}, {"a": a, "b": b}, 0.1, 0.1, 10)
        over = shift.over(C, names)
        return Check(Finer("mesh", "mesh", "one twice as fine", "coarse", {}), shift, over, 1.0)

    assert noted([check(0.9, 1.9)], before) is before
    assert enlarged_note(before, before) == ""
    after = noted([check(3.0, 2.0)], before)
    np.testing.assert_allclose(after.covariance_z[:2, :2], [[10.0, 6.0], [6.0, 8.0]])
    np.testing.assert_allclose(after.std_dev[:2], np.sqrt([10.0, 8.0]))
    assert np.isnan(after.std_dev[2]) and after.correlation[0, 1] == pytest.approx(6 / 80**0.5)
    assert after.notes == ("a mesh twice as fine would move it by +3 std_dev", "known",
                           "at its bound")  # fmt: skip
    assert "most of all a's, to 3.2 times" in enlarged_note(before, after)


def test_finer_meshes_are_left_out_by_name_where_they_cannot_be_made(monkeypatch):
    body = {"type": "solid", "element": "p2", "shape": {"box": {"cells": [1, 1, 1]}}}
    by_number = {"pinned": [{"vertices": {"numbers": [0]}}]}
    mesh = SimpleNamespace(mesh=SimpleNamespace(vertices=np.zeros((5000, 3))))
    problem = SimpleNamespace(
        trials=[SimpleNamespace(steps=1)], weights=np.ones(1), options=SimpleNamespace(step=0.1)
    )
    for more, words in ((by_number, "bodies.b names vertices by number"), ({}, "40000 nodes")):
        model = SimpleNamespace(
            config=SimpleNamespace(fit=SimpleNamespace(check_step=False, check_mesh=True)),
            scene=SimpleNamespace(
                description={"bodies": {"b": {**body, **more}}},
                parts=SimpleNamespace(bodies={"b": mesh}),
            ),
        )
        sentences = []
        kinds = [w.kind for w, *_ in discretisation._finer(model, problem, [0], (0, 0), sentences)]
        assert words in sentences[0] and kinds == ([] if more else ["element"])


def test_init_chooses_a_finer_step_and_mesh_and_says_why(throw, monkeypatch):
    case, paths, folder = throw
    monkeypatch.setattr(discretisation_choice, "MOST_ROUNDS", 2)
    made = first(streams_of(paths), folder, Given(case.size, case.mass))
    before = made.scene
    for old, new in (("layers: 3", "layers: 1"), ("[4, 4, 4]", "[2, 2, 2]"), ("p2", "p1"),
                     ("1/480", "1/120")):  # fmt: skip
        before = before.replace(old, new)
    made, told = replace(made, scene=before), []
    found = discretisation_choice.chosen(made, folder, 1e4, told.append)
    old, new = (yaml.safe_load(text) for text in (before, found.scene))
    assert 1 / float(new["world"]["step"].split("/")[1]) < 1 / 120
    ((kind, shape),) = new["bodies"]["body"]["shape"].items()
    key = {"ball": "layers", "box": "cells"}[kind]
    assert np.all(
        np.asarray(shape[key]) == 2 * np.asarray(old["bodies"]["body"]["shape"][kind][key])
    )
    assert " were chosen, of 2 tried in " in found.notes[-1] and "std_dev" in found.notes[-1]
    assert len(told) == 2
    stopped = _engine.CancelToken()
    stopped.cancel()
    same = discretisation_choice.chosen(made, folder, 1e4, cancel=stopped)
    assert same.scene == before and "was stopped after" in same.notes[-1]
    assert discretisation_choice.chosen(made, folder, 0.0) is made
