"""Numbers by name."""

import numpy as np
import pytest

import diffsim_ros as ds

VALUES = ds.Values(["a.x", "a.y", "b"], [1.0, 2.0, 3.0], ["m", "m", "kg"])


def test_they_are_a_mapping_and_an_array():
    assert dict(VALUES) == {"a.x": 1.0, "a.y": 2.0, "b": 3.0} and VALUES.unit("b") == "kg"
    assert np.asarray(VALUES) is VALUES.array and np.array(VALUES) is not VALUES.array
    assert np.asarray(VALUES, np.float32).dtype == np.float32
    assert np.array_equal(2 * np.asarray(VALUES), [2, 4, 6])
    assert list(VALUES.matching("a.*")) == ["a.x", "a.y"]
    assert VALUES.subset(["b", "a.x"]).array.tolist() == [3.0, 1.0]
    assert VALUES.indices(["b", "a.*", "a.y"]) == [2, 0, 1]
    assert "b" in VALUES and "c" not in VALUES and VALUES.get("c") is None
    assert VALUES.get("b") == 3.0 and VALUES.get("c", 1.5) == 1.5
    with pytest.raises(ValueError, match="read-only"):
        VALUES.array[0] = 5.0


def test_patterns_may_have_the_brackets_of_names():
    keys = ds.Values(
        ["h.position[0].x", "h.position[0].y", "h.position[1].x"], [1, 2, 3], ["m"] * 3
    )
    assert keys.indices("h.position[0].*") == [0, 1] and keys.indices("*[1].x") == [2]
    assert list(keys.matching("h.position[*].[x]")) == ["h.position[0].x", "h.position[1].x"]


def test_changes_are_by_name_or_all():
    assert VALUES.replaced({"b": 7}).array.tolist() == [1.0, 2.0, 7.0]
    assert VALUES.replaced([4, 5, 6])["a.y"] == 5.0 and VALUES.replaced(None) is VALUES
    assert VALUES["b"] == 3.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VALUES["c"], "'c'"),
        (lambda: VALUES.replaced({"a.z": 1}), "did you mean 'a.x'|did you mean 'a.y'"),
        (lambda: VALUES.replaced({"b": np.nan}), "b: got nan; accepted: a finite number"),
        (lambda: VALUES.replaced({"b": "heavy"}), "'heavy'; accepted: a finite number"),
        (lambda: VALUES.replaced([1, 2]), r"shape \(3,\)"),
        (lambda: VALUES.replaced([1, 2, np.inf]), "finite"),
        (lambda: VALUES.indices(["c.*"]), "patterns such as"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ds.InputError, match=message):
        call()


def test_they_show_names_numbers_and_units():
    assert repr(VALUES).splitlines() == [
        "<3 values>", "  a.x   1           m", "  a.y   2           m", "  b     3           kg",
    ]  # fmt: skip
    many = ds.Values([str(k) for k in range(50)], np.arange(50), ["m"] * 50)
    assert repr(many).endswith("... 30 more")
