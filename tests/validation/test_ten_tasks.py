"""The ten tasks: those of ours, and how lines are counted."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("trimesh", reason="meshes are optional: pip install 'diffsim_ros[mesh]'")

from validation import ten_tasks
from validation.tasks import ours


def test_a_part_of_the_study_meets_its_bars():
    found = ten_tasks.study(0.1)
    assert set(found) == {"diffsim_ros"}
    assert set(found["diffsim_ros"]) == set(ten_tasks.TASKS) - set(ten_tasks.HEAVY)


def test_lines_are_those_of_the_body_and_its_helpers():
    assert ten_tasks.lines(ours, "load_and_step") == 5
    assert ten_tasks.lines(ours, "gradient_of_a_landing") == 2 + 4


def test_a_task_that_is_wrong_misses_its_bar():
    found = ten_tasks.study(0.1)["diffsim_ros"]
    for task, value in (("fit_of_friction", [0.31, 4e-4]), ("custom_force", [6.5]),
                        ("soft_body", "InputError: no")):  # fmt: skip
        with pytest.raises(AssertionError):
            ten_tasks.check({**found, task: {**found[task], "result": value}})
