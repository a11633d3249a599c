"""Studies whose repetitions run by an executor: the same digits by each."""

import pytest

from diffsim_ros.executors import InProcess, Processes, gather
from validation import calibration, locomotion, verdicts
from validation.common import Executors, side_by_side


def test_random_robots_are_the_same_in_another_process():
    rows = [locomotion._random_row(3, k) for k in range(2)]
    found = gather(locomotion._random_row, range(2), 3, executor=Processes(1))
    for row in (*rows, *found):
        row.pop("seconds")
    assert found == rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_studies_give_the_same_digits_on_ray(monkeypatch):
    pytest.importorskip("ray")
    misfit = verdicts.MISFITS["inertia"]

    def found():
        here = InProcess(1)
        return (
            side_by_side(calibration._repetition, [5], calibration.NAMES, here=here, kept=False),
            side_by_side(verdicts._outcome, [5], misfit, here=here, kept=False),
        )

    expected = found()
    monkeypatch.setattr(Executors, "ray", "local")
    assert found() == expected
