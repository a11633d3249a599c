"""The pre-flight check: what the data do not identify is named, before any optimisation."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.preflight import _information, _locking, preflight
from diffsim_ros.scene.model import load_scene
from tests.real2sim import markers_synthetic
from tests.real2sim.synthetic import arrays, estimation, recorded


@pytest.fixture(scope="module")
def tosses(tmp_path_factory):
    path = tmp_path_factory.mktemp("tosses") / "tosses.npz"
    np.savez(path, **recorded(3, 1, (1e-4, 1e-3), 0.3))
    return path


def checked(source):
    """The pre-flight of an estimation."""
    config = load_estimation(source)
    experiment = kind_of(config.kind)(config)
    return preflight(experiment.model, experiment.read({}).train)


def test_sound_tosses_have_nothing_to_say_against_them(tosses):
    found = checked(estimation(str(tosses)))
    assert found.notes == ()
    event = found.figures["excitation"]
    assert event["slip"] > 0 and event["impacts_per_trial"] >= 1 and 0 < event["free_flight"] < 1
    sigma = found.figures["identifiability"]["friction"]["sigma_by_sensor_noise"]
    assert 0 < sigma < 0.3 and found.figures["recordings"]["tosses.npz"]["trials"] == 3


def test_flights_that_never_touch_tell_nothing_of_contact(tmp_path):
    path = tmp_path / "flights.npz"
    np.savez(path, **arrays(3, 20, 7))
    found = checked(estimation(str(path)))
    text = "\n".join(found.notes)
    assert "no sliding in 3 trials at the first guess: friction will not be identifiable" in text
    assert "no contact in 3 trials at the first guess: damping, stiffness will not" in text
    assert "friction: the data do not depend on it" in text
    assert found.figures["identifiability"]["stiffness"]["seen"] == 0


def test_parameters_that_do_the_same_are_named_as_a_pair(tosses):
    source = estimation(str(tosses))
    twin = copy.deepcopy(source["parameters"]["friction"]) | {"value": 1.0, "bounds": [0.5, 2]}
    source["parameters"]["roughness"] = twin
    notes = [note for note in checked(source).notes if "correlated" in note]
    assert len(notes) == 1 and "friction and roughness" in notes[0]


@pytest.mark.parametrize("element", ["p2", "p2_p0"])
def test_poissons_ratio_of_an_element_that_locks_is_named(element):
    scene = markers_synthetic.scene()
    scene["bodies"]["beam"]["element"] = element
    sets = {"nu": {"beam.poisson": 1.0}, "stiffness": {"beam.young": 1.0}}
    model = SimpleNamespace(
        scene=load_scene(scene),
        map=SimpleNamespace(names=list(sets)),
        config=SimpleNamespace(parameters={k: SimpleNamespace(sets=v) for k, v in sets.items()}),
    )
    notes = _locking(model)
    assert len(notes) == (element == "p2")
    assert all(note.startswith("nu sets beam.poisson, but element p2 locks") for note in notes)


def test_an_outlier_among_the_fitted_samples_is_told(tmp_path):
    recording = recorded(3, 1, (1e-4, 1e-3), 0.3)
    recording["state"][35, 0] += 0.3
    path = tmp_path / "jump.npz"
    np.savez(path, **recording)
    notes = checked(estimation(str(path))).notes
    assert any("jump.npz: 1 single samples off their neighbours" in note for note in notes)
    assert any("at sample 35" in note for note in notes)


def test_the_result_of_an_estimation_carries_the_notes(tmp_path):
    from diffsim_ros.real2sim.estimate import estimate

    path = tmp_path / "tosses.npz"
    np.savez(path, **recorded(2, 2, (1e-4, 1e-3), 0.2))
    source = estimation(str(path))
    twin = copy.deepcopy(source["parameters"]["friction"]) | {"value": 1.0, "bounds": [0.5, 2]}
    source["parameters"]["roughness"] = twin
    source |= {"fit": {"iterations": 1}, "uncertainty": {"method": "none"}}
    result = estimate(source, report=False)
    assert any(note.startswith("pre-flight: friction and roughness") for note in result.notes)
    assert result.document()["notes"] == list(result.notes)
    assert result.metrics["preflight"]["excitation"]["slip"] > 0


def test_the_fit_begins_with_the_evaluation_of_the_pre_flight(tmp_path, monkeypatch):
    """Shared where the model is the same: fewer rollouts with derivatives, no other digit."""
    from diffsim_ros.inverse.simulation_problem import SimulationProblem
    from diffsim_ros.real2sim import fit
    from diffsim_ros.real2sim.estimate import estimate

    path = tmp_path / "tosses.npz"
    np.savez(path, **recorded(2, 2, (1e-4, 1e-3), 0.2))
    source = estimation(str(path), fit={"iterations": 2, "initial_state": "nuisance"})
    source["uncertainty"] = {"method": "none"}
    asked, run = [], SimulationProblem._run

    def counted(self, P, trials, mode, *more):
        asked.append(mode)
        return run(self, P, trials, mode, *more)

    monkeypatch.setattr(SimulationProblem, "_run", counted)
    shared = estimate(source, report=False)
    first = list(asked)
    asked.clear()
    apart = fit.fit_trials
    monkeypatch.setattr(
        "diffsim_ros.real2sim.estimate.fit_trials",
        lambda model, trials, reporter, cancel, first, side: apart(model, trials, reporter, cancel),
    )
    alone = estimate(source, report=False)
    assert first.count("sensitivity") == asked.count("sensitivity") - 1
    assert first.count("none") == asked.count("none") - 1
    assert [p.value for p in shared.parameters] == [p.value for p in alone.parameters]
    assert [s.objective for s in shared.history] == [s.objective for s in alone.history]


def test_an_evaluation_is_kept_for_its_very_point_alone(tosses):
    config = load_estimation(estimation(str(tosses)))
    experiment = kind_of(config.kind)(config)
    z = experiment.model.map.start
    problem = experiment.model.problem(experiment.read({}).train, z)
    found = problem.evaluate(z, want="equations")
    assert problem.evaluate(z.copy(), want="equations") is found
    moved = problem.evaluate(z + 1e-3, want="equations")
    assert moved is not found and moved.value != found.value
    half = problem.weighted(np.full(len(problem.trials), 0.5)).evaluate(z + 1e-3, want="equations")
    assert half.value == pytest.approx(0.5 * moved.value)


def test_derivatives_that_cannot_be_inverted_are_a_note_and_no_crash():
    def singular():
        raise np.linalg.LinAlgError("Singular matrix")

    evaluation = SimpleNamespace(ok=True, equations=SimpleNamespace(eliminated=singular))
    (note,), figures = _information(None, np.zeros(1), evaluation, 1.0)
    assert "too large to say what the data determine" in note and figures is None
