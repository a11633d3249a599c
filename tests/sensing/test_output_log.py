"""Logs of outputs: what is read of a table, and what is refused."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.check import examine
from diffsim_ros.sensing.output import unit_of
from diffsim_ros.sensing.read import read, read_trials


def table(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_columns_units_and_trials(tmp_path):
    text = "t [s],force [N],rope.tension[0],trial\n5,1,2,0\n6,,3,0\n0,4,5,1\n1,6,7,1\n"
    path = table(tmp_path, text)
    first, second = read_trials(path, "outputs")
    assert first.names == ("force [N]", "rope.tension[0]") and second.name == "log_1"
    assert first.t.tolist() == [0, 1] and second.t.tolist() == [0, 1]
    np.testing.assert_array_equal(first.values["value"][..., 0], [[1, 2], [np.nan, 3]])
    (found,) = read(path)  # `diffsim check` knows it by its units
    assert found.kind == "outputs" and examine(found).refusal is None


def test_units_of_columns():
    assert [unit_of(n) for n in ("force [N]", "torque [N m]", "strain [1]")] == ["N", "N m", "1"]
    assert [unit_of(n) for n in ("force", "rope.tension[0]", "foam.strain[12].xx")] == [""] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,a\n0,1\n1,2\n", "header: got .*one column t"),
        ("t\n0\n1\n", "columns beside t"),
        ("t,a,a\n0,1,1\n1,2,2\n", "header: got 'a'.*once"),
        ("t,a\n0,1\n", "samples: got 1"),
        ("t,a\n0,1\n0,2\n", "sample 1, t: got '0 s, then 0 s'"),
        ("t,a\n0,1\n1,inf\n", "sample 1, a: got 'inf'"),
        ("t,a\n0,1\n1,two\n", "line 3"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_trials(table(tmp_path, text), "outputs")


def test_bags_are_refused(tmp_path):
    (tmp_path / "log.mcap").write_bytes(b"")
    with pytest.raises(InputError, match=r"a CSV with t.*wrenches"):
        read_trials(tmp_path / "log.mcap", "outputs")
