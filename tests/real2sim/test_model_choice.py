"""Which model the data support: tosses under models that are right, wrong, and the same."""

from __future__ import annotations

import copy
import dataclasses
import json
import math

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.model_choice import compare_models
from tests.real2sim.synthetic import estimation, recorded

NOISE = (1e-3, math.radians(0.5))
FIT = {
    "fit": {"initial_state": "nuisance", "iterations": 15, "horizons": [15]},
    "uncertainty": {"method": "covariance"},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    """Four noisy tosses that slide."""
    path = tmp_path_factory.mktemp("tosses") / "tosses.npz"
    np.savez(path, **recorded(4, seed=3, noise=NOISE, seconds=0.3))
    return str(path)


def models(file: str) -> dict:
    """The right law; hardly any friction; and the right one again, from another first guess."""
    right = estimation(file, **FIT)
    slippery = copy.deepcopy(right)
    slippery["parameters"]["friction"] |= {"value": 0.06, "fixed": True}
    twin = copy.deepcopy(right)
    twin["parameters"]["damping"]["value"] = 0.5
    return {"right": right, "slippery": slippery, "twin": twin}


@pytest.fixture(scope="module")
def found(file):
    reports = []
    result = compare_models(
        {name: load_estimation(content) for name, content in models(file).items()},
        progress=reports.append,
    )
    return result, reports


def test_the_wrong_model_is_named_and_the_same_ones_are_not_told_apart(found):
    result, _ = found
    metrics = result.metrics()
    assert not result.distinguished, "right and twin are the same"
    assert "speak against slippery" in result.sentences[0], result.sentences
    pair = result.pairs["slippery"]
    assert pair.clear and pair.low > 1.2 and pair.better == 0 and pair.trials == 4
    other = next(name for name in result.pairs if name != "slippery")
    assert 0.98 < result.pairs[other].ratio < 1.02
    assert metrics["models"]["slippery"]["delta_aic"] > 20
    assert abs(metrics["models"]["twin"]["delta_aic"]) < 4
    assert metrics["folds"] == 4 and metrics["distinguished"] == 0


def test_what_the_figures_are(found):
    result, reports = found
    right = result.metrics()["models"]["right"]
    assert 0.8 < right["held_out"]["rms_residual"] < 1.3, "white noise of the sigmas given"
    assert right["held_out"]["trials"] == 4 and right["held_out"]["position_error_m"] > 0
    assert 0.5 * right["residuals"] < right["effective_residuals"] <= right["residuals"]
    assert any("starts" in n or "start of a held-out" in n for n in result.notes)
    assert reports[-1].fraction_done == pytest.approx(1.0)
    shares = [p.fraction_done for p in reports]
    assert shares == sorted(shares) and reports[0].phase.startswith("right: ")
    document = result.document()
    assert document["models"]["right"]["parameters"]["friction"]["std_dev"] > 0
    assert "friction" not in document["models"]["slippery"]["parameters"]
    json.dumps(document), json.dumps(result.metrics(), allow_nan=False)


@pytest.mark.parametrize(("change", "says"), [
    ({"measurement": {"half_edge": 0.05, "sigma_position": 2e-3}}, "measurement"),
    ({"fit": {**FIT["fit"], "initial_state": "held"}}, "fit.initial_state"),
    ({"fit": {**FIT["fit"], "length": 0.1}}, r"fit.length: got 0.1; accepted: 0.05, as in"),
    ({"fit": {**FIT["fit"], "horizons": [8]}}, r"fit.horizons\[-1\]: got 8; accepted: 15"),
    ({"data": {"train": {"files": ["another.npz"]}}}, "data.train"),
])  # fmt: skip
def test_other_data_cannot_be_compared(file, change, says):
    first = load_estimation(models(file)["right"])
    other = load_estimation({**models(file)["right"], **change})
    with pytest.raises(InputError, match=says):
        compare_models({"a": first, "b": other})
    with pytest.raises(InputError, match="two models"):
        compare_models({"a": first})


def test_the_command_writes_a_verdict(file, tmp_path, capsys):
    path, out = tmp_path / "tosses.yaml", tmp_path / "out"
    content = models(file)["right"]
    content["fit"]["iterations"] = 4
    path.write_text(yaml.safe_dump(content))
    variant = ["--variant", "slippery", "parameters.friction.value=0.06",
               "parameters.friction.fixed=true"]  # fmt: skip
    code = main(["compare", str(path), *variant, "--folds", "2", "--out", str(out)])
    printed = capsys.readouterr()
    assert code in (0, 3), printed.err
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["best"] == "synthetic" and metrics["folds"] == 2
    assert printed.out.startswith(yaml.safe_load((out / "result.yaml").read_text())["verdict"][0])
    page = (out / "report.html").read_text()
    assert "slippery" in page and "data:image/png" in page and "https://" not in page
    assert main(["compare", str(path), *variant, "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["compare", str(path), "--out", str(tmp_path / "none")]) == 2
    assert "two models" in capsys.readouterr().err
    assert main(["compare", str(path), *variant, "--folds", "1"]) == 2


def test_what_was_fitted_is_kept_when_it_is_cancelled(file, tmp_path):
    from diffsim_ros import _engine
    from diffsim_ros.commands.compare import FILES, write
    from diffsim_ros.output import OutputFolder

    configs = {name: load_estimation(content) for name, content in models(file).items()}
    token = _engine.CancelToken()

    def on_progress(progress):
        if progress.phase.startswith("slippery: fit"):
            token.cancel()

    found = compare_models(configs, progress=on_progress, cancel=token)
    assert found.status == "cancelled" and list(found.fits) == ["right", "slippery"]
    assert found.sentences[0].startswith("no verdict: cancelled when 1 of 3 models were fitted")
    write(found, OutputFolder(tmp_path / "out", FILES, command="compare"))
    document = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    friction = document["models"]["right"]["parameters"]["friction"]
    assert friction == {"value": pytest.approx(0.3, abs=0.05)}
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["models"]["slippery"]["status"] == "cancelled"
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"result.yaml", "metrics.json"}


def test_what_was_evaluated_is_kept_when_it_is_cancelled(file):
    from diffsim_ros import _engine

    configs = {name: load_estimation(content) for name, content in models(file).items()}
    token = _engine.CancelToken()

    def on_progress(progress):
        if progress.phase.startswith("slippery: held out"):
            token.cancel()

    found = compare_models(configs, progress=on_progress, cancel=token, folds=2)
    assert found.status == "cancelled" and len(found.fits) == 3
    assert [m.name for m in found.assessed] == ["right"]
    assert "3 of 3 models were fitted and right evaluated" in found.sentences[0]
    right, other = (found.document()["models"][name] for name in ("right", "slippery"))
    assert right["parameters"]["friction"]["std_dev"] > 0 and len(right["held_out"]) >= 2
    assert "held_out" not in other and other["status"] in ("converged", "not_converged")
    assert found.metrics()["models"]["right"]["held_out"]["rms_residual"] > 0


def test_trials_of_two_files_with_one_id_are_two_trials(file, tmp_path):
    """`init` numbers the tosses of every file from 1; each has a held-out error of its own."""
    other = tmp_path / "others.npz"
    np.savez(other, **recorded(2, seed=8, noise=NOISE, seconds=0.3))
    content = models(file)["right"]
    content["data"]["validate"] = {"files": [str(other)]}
    content["fit"]["iterations"] = 3
    wrong = copy.deepcopy(content)
    wrong["parameters"]["friction"] |= {"value": 0.06, "fixed": True}
    configs = {"right": load_estimation(content), "slippery": load_estimation(wrong)}
    found = compare_models(configs, folds=2)
    names, squares = found.held_out
    assert names[0] == "tosses.npz: toss 1" and names[-1] == "others.npz: toss 2"
    assert squares.shape == (2, 6) and len(np.unique(squares)) == 12
    ratios = np.sqrt(squares[1] / squares[0])
    assert found.pairs["slippery"].ratio == pytest.approx(np.exp(np.mean(np.log(ratios))))
    assert len(found.document()["models"]["right"]["held_out"]) == 6


def test_a_trial_that_one_model_cannot_simulate_is_left_out_of_the_pairs_and_the_picture():
    from types import SimpleNamespace

    from diffsim_ros.real2sim.model_verdict import HeldOut, held_out_squares
    from diffsim_ros.viz.comparison_report import held_out_figure

    one = [HeldOut("toss 1", 1.0, {}, "a"), HeldOut("toss 2", 2.0, {}, "a")]
    both = [SimpleNamespace(name="x", held=one), SimpleNamespace(name="y", held=one[1:])]
    names, squares = held_out_squares(both)
    assert names == ["toss 1", "toss 2"]
    np.testing.assert_array_equal(squares, [[1.0, 2.0], [np.nan, 2.0]])
    assert held_out_figure(SimpleNamespace(models=both, held_out=(names, squares))).axes


def _sized(file, edge, least=5):
    """The right law of a cube of this edge."""
    content = copy.deepcopy(estimation(file, **FIT))
    content["scene"]["bodies"]["cube"]["shape"]["box"]["size"] = [edge] * 3
    content["measurement"] = {"start": "flight", "flight_frames": [least, 40]}
    return load_estimation(content)


def test_models_are_compared_over_the_same_samples(file):
    """A larger cube touches earlier, so that its own flights end earlier."""
    result = compare_models({"a": _sized(file, 0.1), "b": _sized(file, 0.12)})
    counts = {m.name: m.noise.count for m in result.models}
    assert counts["a"] == counts["b"], counts
    frames = [[t.objectives[0].frames[0] for t in m.fit.problem.trials] for m in result.models]
    assert frames[0] == frames[1]
    assert any("flights end earlier in some models" in note for note in result.notes)
    again = compare_models({"b": _sized(file, 0.12), "a": _sized(file, 0.1)})
    assert again.models[0].noise.count == counts["a"], "whatever the order"


def test_models_are_compared_over_trials_that_all_of_them_fit(file, monkeypatch):
    """A toss of too large a cube has no flight; one fails at the first guess of one model."""
    from diffsim_ros.real2sim import fit

    flying = compare_models({"a": _sized(file, 0.1, 9), "b": _sized(file, 0.12, 9)})
    (gone,) = [note for note in flying.notes if note.startswith("not trained on")]
    assert "toss" in gone and len({len(m.fit.kept) for m in flying.models}) == 1
    whole = fit._Training._runnable

    def fails(self, trials, z):
        kept, dropped = whole(self, trials, z)
        if self.model.scene.bodies and self.model.config.name == "b" and len(kept) == 4:
            return kept[1:], [f"{kept[0].place}: failed"]
        return kept, dropped

    monkeypatch.setattr(fit._Training, "_runnable", fails)
    other = dataclasses.replace(_sized(file, 0.1), name="b")
    found = compare_models({"a": _sized(file, 0.1), "b": other})
    assert [len(m.fit.kept) for m in found.models] == [3, 3]
    assert [len(m.held) for m in found.models] == [3, 3]
    assert any(note.startswith("not fitted by every model, and so by none") for note in found.notes)
