"""Estimation YAML: strict keys, --set, --train and --validate, seeded selections."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim import options
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import Experiment, notes_on_validation, refuse_twice
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.pose import options as pose_options
from diffsim_ros.real2sim.sensors.pose.options import RandomOptions
from tests.pages import keys_of_kind
from tests.real2sim.synthetic import arrays

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "config" / "estimation" / "cube_toss.yaml"
DEMO = ROOT / "config" / "estimation" / "cube_toss_demo.yaml"
SIGMA = (1e-3, 0.01)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of tosses: a.npz with ids 10 ... 19, b.npz with 10, 11, 12."""
    np.savez(tmp_path / "a.npz", **arrays(tosses=10))
    np.savez(tmp_path / "b.npz", **arrays(tosses=3))
    return tmp_path


def content(folder: Path) -> dict:
    """A small valid estimation."""
    return {
        "name": "small",
        "body": "cube",
        "scene": {"world": {"step": 0.001, "duration": 0.1}, "bodies": {"cube": {}}},
        "data": {
            "train": {"files": [str(folder / "a.npz")], "trials": {"random": 4, "seed": 3}},
            "validate": {"files": [str(folder / "a.npz")]},
        },
        "parameters": {
            "friction": {"value": 0.2, "bounds": [0.1, 0.5], "sets": {"table.c_f": 1}},
            "mass": {"value": 0.37, "fixed": True, "sets": {"cube.mass": 1}},
        },
    }


def ids(selection) -> list[int]:
    return [i for _, i in selection.keys()]


@pytest.mark.parametrize("path", [DEFAULT, DEMO], ids=lambda p: p.stem)
def test_shipped_configurations_are_valid_and_modest(path):
    config = load_estimation(path)
    train, validate = config.train.keys(), config.validate.keys()
    assert 0 < len(train) <= 100
    assert not set(train) & set(validate)
    if path == DEFAULT:
        assert len(validate) == 150


def test_draws_are_seeded_and_leave_out_what_is_trained_on(folder):
    config = load_estimation(content(folder))
    assert ids(config.train) == ids(load_estimation(content(folder)).train)
    assert len(ids(config.train)) == 4
    assert sorted(ids(config.train) + ids(config.validate)) == list(range(10, 20))
    other = content(folder)
    other["data"]["train"]["trials"]["seed"] = 4
    assert ids(load_estimation(other).train) != ids(config.train)


def test_copies_of_trained_tosses_are_not_validated_on(folder):
    data = arrays(tosses=10)
    state = data["state"].reshape(10, 30, 13)
    state[9, :, 2] = state[0, :, 2]  # toss 19 is toss 10, turned about the vertical
    np.savez(folder / "a.npz", **{**data, "state": state.reshape(-1, 13)})
    config = load_estimation(content(folder), set=["data.train.trials=[10, 11]"])
    assert ids(config.validate) == list(range(12, 19))


def test_files_of_the_command_line_replace_one_list_and_leave_the_other(folder):
    yaml = load_estimation(content(folder))
    train = load_estimation(content(folder), train=[folder / "b.npz"])
    assert ids(train.train) == [10, 11, 12]  # every toss, no selection
    assert ids(train.validate) == ids(yaml.validate)
    validate = load_estimation(content(folder), validate=[folder / "a.npz", folder / "b.npz"])
    assert ids(validate.validate) == [*range(10, 20), 10, 11, 12]  # also those trained on
    assert ids(validate.train) == ids(yaml.train)


def test_what_is_kept_for_the_record_names_the_files_that_were_used(folder, monkeypatch):
    monkeypatch.chdir(folder)
    asked = content(folder)
    before = repr(asked)
    used = load_estimation(asked, train=["b.npz"], validate=["a.npz", "b.npz"])
    again = load_estimation(used.source)
    assert used.source["data"]["train"]["files"] == [str(folder / "b.npz")]
    assert again.train.keys() == used.train.keys()
    assert again.validate.keys() == used.validate.keys()
    assert repr(asked) == before


def test_relative_files_start_at_the_yaml_or_at_the_current_folder(folder, monkeypatch):
    import yaml

    inner = content(folder)
    inner["data"]["train"]["files"] = ["../a.npz"]
    (folder / "sub").mkdir()
    path = folder / "sub" / "e.yaml"
    path.write_text(yaml.safe_dump(inner))
    monkeypatch.chdir(folder)
    config = load_estimation(path, validate=["b.npz"])
    assert ids(config.train) and ids(config.validate) == [10, 11, 12]


class Tosses(Experiment):
    """Reads a role, and nothing else."""

    what = "tosses"

    def __init__(self, config):
        self.config = config

    def role(self, given, recordings, notes):
        return recordings.read("cube", SIGMA)

    def missing(self, trial):
        return 0


def test_validated_tosses_that_were_trained_on_are_noticed(folder):
    config = load_estimation(content(folder), validate=[folder / "a.npz"])
    data = Tosses(config).read({})
    known = {trial.id for trial in data.train}
    assert known == set(ids(config.train)) and len(data.validate) == 10
    first = next(trial.place for trial in data.validate if trial.id in known)
    (note,) = data.notes
    assert note.startswith(
        f"4 of 10 validated tosses were trained on too (first: {first}): the validation is no test"
    )


def test_text_file_and_mapping_read_the_same(folder):
    import yaml

    mapping = content(folder)
    text = yaml.safe_dump(mapping)
    (folder / "e.yaml").write_text(text)
    sources = [load_estimation(s).source for s in (mapping, text, folder / "e.yaml")]
    assert sources[0] == sources[1] == sources[2]


def test_set_changes_one_value_and_never_the_callers_mapping(folder):
    mapping = content(folder)
    before = copy.deepcopy(mapping)
    changes = ["fit.iterations=7", "parameters.mass.sets.cube.mass=2", "data.train.trials=[10]"]
    config = load_estimation(mapping, set=changes)
    assert config.fit.iterations == 7
    assert config.parameters["mass"].sets == {"cube.mass": 2}
    assert ids(config.train) == [10]
    assert mapping == before


def test_set_adds_keys_that_hold_dots(folder):
    mapping = content(folder)
    name = next(iter(mapping["parameters"]))
    config = load_estimation(mapping, set=[f'parameters.{name}.sets."extra.c_f"=0.5'])
    assert config.parameters[name].sets["extra.c_f"] == 0.5
    with pytest.raises(InputError, match="in double quotes"):
        load_estimation(mapping, set=['parameters."x.y=1'])


def test_named_parameters_are_estimated_and_the_others_held(folder):
    assert load_estimation(content(folder)).free == ("friction",)
    mapping = content(folder)
    mapping["parameters"]["mass"]["bounds"] = [0.1, 1.0]
    config = load_estimation(mapping, parameters=["mass"])
    assert config.free == ("mass",)
    with pytest.raises(InputError, match="did you mean 'friction'"):
        load_estimation(mapping, parameters=["fricton"])


def broken(path: str, value: object):
    """A change of the small estimation at a dotted path; ... deletes the key."""

    def change(mapping: dict) -> None:
        *heads, last = path.split("/")
        for head in heads:
            mapping = mapping.setdefault(head, {})
        if value is ...:
            del mapping[last]
        else:
            mapping[last] = value

    return change


DEFECTS = {
    "unknown key": (broken("fitt", {}), r"fitt: .*did you mean 'fit'"),
    "unknown nested key": (broken("fit/iteration", 3), r"fit.iteration: .*'iterations'"),
    "missing scene": (broken("scene", ...), "scene: .*required"),
    "scene file missing": (broken("scene", "none.yaml"), "scene: .*existing scene YAML"),
    "wrong type": (broken("fit/iterations", "many"), "fit.iterations: got 'many'"),
    "zero iterations": (broken("fit/iterations", 0), "fit.iterations: got 0"),
    "unknown loss": (broken("fit/loss", "hubber"), "fit.loss: got 'hubber'"),
    "text as flag": (broken("measurement/own_gravity", "yes"), "own_gravity: got 'yes'"),
    "wrong unit": (broken("measurement/sigma_position", "1 kg"), "sigma_position: .*it has m"),
    "negative sigma": (broken("measurement/sigma_position", -1), "sigma_position: got -1"),
    "no files": (broken("data/train/files", []), "data.train.files: got"),
    "files not texts": (broken("data/train/files", [3]), r"data.train.files\[0\]: got 3"),
    "unknown trials": (broken("data/train/trials", "some"), "data.train.trials: got 'some'"),
    "empty trials": (broken("data/train/trials", []), "data.train.trials: got"),
    "guess out of bounds": (
        broken("parameters/friction/value", 0.7),
        "parameters.friction.value: got 0.7; accepted: .*0.1 to 0.5",
    ),
    "bounds the wrong way": (broken("parameters/friction/bounds", [1, 0]), "friction.bounds"),
    "no bounds": (broken("parameters/friction/bounds", ...), "friction.bounds: got None"),
    "log scale at zero": (
        lambda m: m["parameters"]["friction"].update(scale="log", bounds=[0, 1]),
        "friction.bounds: .*log",
    ),
    "half a prior": (broken("parameters/friction/prior_mean", 0.2), "prior_sigma together"),
    "nothing free": (broken("parameters/friction/fixed", True), "at least one that is not fixed"),
    "search with nuisance": (
        lambda m: m.update(fit={"initial_state": "nuisance", "search_evaluations": 9}),
        "fit.search_evaluations",
    ),
    "continuation of nothing": (
        broken("fit/continuation", {"mass": [0.2]}),
        "fit.continuation.mass: .*estimated parameter",
    ),
    "continuation out of bounds": (
        broken("fit/continuation", {"friction": [0.2, 0.9]}),
        "fit.continuation.friction: .*0.1 to 0.5",
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_refused_by_key(folder, name):
    change, pattern = DEFECTS[name]
    mapping = content(folder)
    change(mapping)
    with pytest.raises(InputError, match=pattern) as caught:
        load_estimation(mapping)
    assert "\n" not in str(caught.value)


def test_unknown_ids_and_too_large_draws_are_refused_when_read(folder):
    config = load_estimation(content(folder), set=["data.train.trials=[10, 99]"])
    with pytest.raises(InputError, match=r"data.train.trials: got 99"):
        config.train.keys()
    config = load_estimation(content(folder), set=["data.train.trials.random=11"])
    with pytest.raises(InputError, match="random: got 11; accepted: at most 10"):
        config.train.keys()


@pytest.mark.parametrize("text", ["fit.iterations", "=3", ""])
def test_set_without_key_or_value_is_refused(folder, text):
    with pytest.raises(InputError, match="KEY=VALUE"):
        load_estimation(content(folder), set=[text])


def test_duplicate_keys_of_a_file_are_refused(folder):
    path = folder / "e.yaml"
    path.write_text("name: a\nname: b\n")
    with pytest.raises(InputError, match=r"e.yaml: line 2.*twice"):
        load_estimation(path)


def sections() -> list[type]:
    shared = [c for name, c in vars(options).items() if name.endswith("Options")]
    own = ("SelectionOptions", "RandomOptions", "PoseSimulationOptions")
    return [*shared, *(getattr(pose_options, name) for name in own)]


@pytest.mark.parametrize("section", sections(), ids=lambda c: c.__name__)
def test_keys_of_the_yaml_are_the_fields_and_are_documented(section):
    table = fields_of(section)
    assert list(table) == [f.name for f in dataclasses.fields(section)]
    text = keys_of_kind("")
    for name, entry in table.items():
        assert entry.doc
        assert f"`{name}`" in text, f"estimation_keys.md does not list {section.__name__}.{name}"
    assert RandomOptions(random=1).seed == 0


def test_notes_say_what_a_validation_is_worth():
    none = notes_on_validation([], 0, "tosses")
    assert none == ["nothing to validate on: the figures are those of the trained tosses"]
    assert notes_on_validation([], 4) == []
    (note,) = notes_on_validation(["a.npz, toss 3", "a.npz, toss 5"], 4)
    assert note.startswith("2 of 4 validated recordings were trained on too (first: a.npz, toss 3)")


def test_a_name_that_comes_twice_is_refused():
    refuse_twice(["a", "b"], "x.yaml", "data.train")
    with pytest.raises(InputError, match=r"b.*recordings of different names"):
        refuse_twice(["c", "b", "b", "c"], "x.yaml", "data.train")
