"""The demo: four processes, real messages, one report; and nothing left behind on Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from diffsim_ros.nodes import demo_cube as demo
from diffsim_ros.nodes.convert import Answer, flat_metrics

SMALL = ("fit.starts=1", "fit.iterations=2", "fit.search_evaluations=0")


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def test_the_whole_way_from_recorded_poses_to_a_report(tmp_path, capsys):
    out = tmp_path / "out"
    code = demo.main(["--out", str(out), "--train", "2", "--validate", "2", "--set", *SMALL])
    printed = capsys.readouterr()
    assert code in (0, 3), printed.err
    assert not children(os.getpid())
    for words in ("friction", "±", "position [mm]", "rotation [deg]", "rviz2 -d"):
        assert words in printed.out
    assert "0 were lost" in printed.out and "iteration" in printed.err
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["validate"]["recordings"] == 2
    always = ("result.yaml", "report.html", "motion.mcap", "cubes.png", demo.PICTURE)
    for name in (*always, *demo.RECORDED.values()):
        assert (out / name).stat().st_size > 0, name
    again = demo.main(["--out", str(out)])
    assert again == 2 and "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes(tmp_path, number):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "diffsim_ros.nodes.demo_cube", "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(demo.__file__).parents[2],
    )
    try:
        line = process.stderr.readline()
        assert "starting replay" in line
        end, pause = time.monotonic() + 30.0, threading.Event()
        while len(started := children(process.pid)) < 4 and time.monotonic() < end:
            pause.wait(0.02)
        assert len(started) == 4
        process.send_signal(number)
        while process.poll() is None and time.monotonic() < end:
            pause.wait(0.1)
            process.send_signal(number)  # who has no patience, until the very end
        rest = process.communicate(timeout=30.0)[1]
        assert process.returncode == 130 and "stopped; all nodes have ended" in rest
        assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
        assert not (out / "result.yaml").exists()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_node_that_dies_is_named_with_its_last_words(tmp_path):
    from diffsim_ros.errors import InputError
    from diffsim_ros.nodes.processes import NodeProcesses

    with NodeProcesses(tmp_path / "logs") as processes:
        processes.start("replay", {"data": "/no/such.npz"})
        processes.running["replay"].wait(30.0)
        with pytest.raises(InputError, match=r"node replay.*exit code 2.*such\.npz"):
            processes.check()


def test_the_table_has_mean_errors_and_their_intervals():
    figures = {
        "recordings": 60, "position_error_m": 0.01253, "position_error_m_interval": [0.011, 0.0141],
        "rotation_error_deg": 14.04, "rotation_error_deg_interval": [10.0, 18.06],
    }  # fmt: skip
    lines = demo.error_table(dict(flat_metrics({"validate": figures}))).splitlines()
    assert lines[0].startswith("error over 60 tosses not trained on")
    assert lines[1].split() == ["position", "[mm]", "12.5", "11.0", "to", "14.1"]
    assert lines[2].split() == ["rotation", "[deg]", "14.0", "10.0", "to", "18.1"]


def test_parameters_are_printed_with_sigma():
    unknown = {"unit": "N/m", "note": "held"}
    parameters = [
        SimpleNamespace(name="friction", value=0.18371, std_dev=0.005, unit="1", note=""),
        SimpleNamespace(name="k", value=30000.0, std_dev=float("nan"), **unknown),
    ]
    text = demo.parameter_table(Answer("SUCCESS", parameters=parameters))
    assert "0.1837 ± 0.0050" in text and "30000" in text
