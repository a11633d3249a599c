"""Starts of a plan side by side: the same digits as one after the other."""

import pytest

from diffsim_ros.cli import main
from diffsim_ros.executors import InProcess, Processes, executor_of
from diffsim_ros.output import write_yaml
from diffsim_ros.planning import load_plan, plan
from tests.planning.test_plan import changed

SEARCH = {"starts": 5, "iterations": 20}


def ends(result):
    """What the candidates are, but the time that they took."""
    return [{k: v for k, v in one.plain().items() if k != "seconds"} for one in result.candidates]


def test_every_executor_gives_the_candidates_of_the_loop(tmp_path):
    config = load_plan({**changed(goals=[{"body": "ball", "at": 0.6, "position": [0.8, 0, 0.2]}]),
                        "search": SEARCH})  # fmt: skip
    expected = plan(config)
    for executor in (InProcess(2), Processes(1)):
        found = plan(config, executor=executor)
        assert ends(found) == ends(expected) and found.status == expected.status
        assert (found.best.motion.position == expected.best.motion.position).all()
    seen = []
    kept = plan(config, folder=tmp_path)
    again = plan(config, folder=tmp_path, progress=lambda *now: seen.append(now))
    assert ends(again) == ends(kept) == ends(expected)
    assert [now[:2] for now in seen if now[3] != now[3]] == []  # nothing was searched again


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_candidates_of_the_loop():
    pytest.importorskip("ray")
    config = load_plan({**changed(), "search": SEARCH})
    with executor_of("local", 2) as executor:
        assert ends(plan(config, executor=executor)) == ends(plan(config))


def test_options_that_do_nothing_are_refused(tmp_path, capsys):
    write_yaml(tmp_path / "plan.yaml", {**changed(), "search": SEARCH})
    assert main(["plan", str(tmp_path / "plan.yaml"), "--ray", "nowhere"]) == 2
    assert "HOST:PORT" in capsys.readouterr().err
    run = ["plan", str(tmp_path / "plan.yaml"), "--out", str(tmp_path / "out")]
    assert main([*run, "--resume", str(tmp_path / "kept")]) == 0
    assert len(list((tmp_path / "kept").iterdir())) == 1
