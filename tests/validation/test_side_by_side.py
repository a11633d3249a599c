"""Studies whose repetitions run by an executor: the same digits by each."""

from dataclasses import asdict

import pytest

from diffsim_ros.executors import InProcess, Processes, gather
from diffsim_ros.executors.plain import from_line, to_line
from diffsim_ros.inverse.one_sided import Bound
from diffsim_ros.real2sim.results import ParameterResult
from validation import __main__, calibration, halves, locomotion, one_sided, verdicts
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

    def found():
        here = InProcess(1)
        return repr(
            (  # NaN among them
                side_by_side(calibration._repetition, [5], calibration.NAMES, here=here),
                side_by_side(verdicts._outcome, [("inertia", 5)], here=here),
            )
        )

    expected = found()
    monkeypatch.setattr(Executors, "ray", "local")
    assert found() == expected


def refused(*_, **__):
    raise AssertionError("it was done already")


def test_a_stopped_study_goes_on_case_by_case(monkeypatch, tmp_path):
    """Finished cases are kept as they are done, and read back with every digit."""
    monkeypatch.setattr(Executors, "resume", tmp_path)
    calibration.coverage(1, seed=4, names=("friction",))
    found = calibration.coverage(2, seed=4, names=("friction",))
    (kept,) = tmp_path.iterdir()
    assert len(kept.read_text().splitlines()) == 1 + 2
    monkeypatch.setattr(calibration, "repetition", refused)
    assert calibration.coverage(2, seed=4, names=("friction",)) == found
    with pytest.raises(AssertionError, match="done already"):
        calibration.coverage(3, seed=4, names=("friction",))


def test_rows_of_studies_come_back_from_a_folder():
    bound = Bound("lower", 0.3, 0.95)
    parameters = (
        ParameterResult("friction", "1", 0.4, None, 0.1, 2.0, True, False, bound=bound),
        ParameterResult("damping", "s/m", 0.5, 0.1, None, None, True, False, "a note"),
    )
    fitted = halves.Fitted(parameters, {"status": "converged", "halves": None})
    row = from_line(to_line(asdict(fitted)))
    assert halves.of_row(row) == fitted
    verdict = verdicts.Outcome("good", "converged", {"friction": 0.1}, ("free c_f",))
    assert verdicts.Outcome(**from_line(to_line(vars(verdict)))) == verdict
    outcome = one_sided.Outcome(0.3, 0.4, None, ("lower", 0.2), "good")
    assert one_sided.Outcome(**from_line(to_line(vars(outcome)))) == outcome


def test_control_c_says_what_is_kept(monkeypatch, tmp_path, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "_studies", stopped)
    monkeypatch.setattr("sys.argv", ["validate", "locomotion", "--resume", str(tmp_path)])
    monkeypatch.setattr(Executors, "resume", None)
    assert __main__.main() == 130
    assert f"what is done is in {tmp_path}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_used_is_one_line(monkeypatch, tmp_path, capsys):
    (tmp_path / "kept").write_text("a file")

    def study():
        return side_by_side(locomotion._random_row, [0], 3, here=InProcess(1))

    monkeypatch.setattr(locomotion, "study", study)
    monkeypatch.setattr("sys.argv", ["validate", "locomotion", "--resume", str(tmp_path / "kept")])
    monkeypatch.setattr(Executors, "resume", None)
    assert __main__.main() == 2
    assert "a folder that can be written" in capsys.readouterr().err
