"""`diffsim statics` and `diffsim modes`: files, tables, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main

SCENES = Path(__file__).resolve().parents[2] / "config" / "scenes"


def beam(folder, **changes):
    """A coarser cantilever."""
    scene = yaml.safe_load((SCENES / "cantilever.yaml").read_text())
    scene["bodies"]["beam"]["shape"]["box"]["cells"] = [3, 1, 1]
    scene["bodies"]["beam"] |= changes
    path = folder / "beam.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    return path


def test_statics_writes_where_the_scene_rests(tmp_path, capsys):
    scene, out = beam(tmp_path), tmp_path / "out"
    assert main(["statics", str(scene), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "farthest node" in shown and "beam" in shown and "results in" in shown
    assert {p.name for p in out.iterdir()} == {
        "result.yaml", "metrics.json", "scene.yaml", "pose.npz", "equilibrium.png"
    }  # fmt: skip
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert result["stable"] and result["free_directions"] == 0
    body = result["bodies"]["beam"]
    assert body["moved"][2] < -0.01 and body["moved_most"] > -2 * body["moved"][2]
    by = result["derivatives"]["beam"]
    assert by["beam.young"][2] > 0 > by["beam.density"][2]
    assert result["energy"]["elastic"] > 0
    with np.load(out / "pose.npz") as pose:
        assert pose["position"].shape == (len(pose["orientation"]), 3)
    again = {**yaml.safe_load(scene.read_text()), "start": str(out / "pose.npz")}
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(again))
    assert main(["statics", str(tmp_path / "again.yaml"), "--out", str(tmp_path / "again")]) == 0
    moved = yaml.safe_load((tmp_path / "again" / "result.yaml").read_text())["bodies"]["beam"]
    assert moved["moved_most"] < 1e-9
    assert moved["position"] == pytest.approx(body["position"], abs=1e-9)
    assert (out / "equilibrium.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["statics", str(scene), "--out", str(out)]) == 2
    assert "never overwritten" in capsys.readouterr().err


def test_modes_writes_frequencies_and_their_derivatives(tmp_path, capsys):
    scene, out = beam(tmp_path), tmp_path / "out"
    assert main(["modes", str(scene), "--count", "3", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "frequency [Hz]" in shown and "beam.young +0.4" in shown
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert [mode["kind"] for mode in result["modes"]] == ["vibration"] * 3
    first = result["modes"][0]
    share = first["derivatives"]["beam.density"] * 1070 / first["frequency"]
    assert share == pytest.approx(-0.45, abs=0.05)
    with np.load(out / "modes.npz") as saved:
        assert saved["frequency"][0] == first["frequency"]
        assert saved["shape"].shape == (3, len(saved["position"]), 3)
    assert (out / "modes.png").read_bytes()[:4] == b"\x89PNG"
    page = (out / "report.html").read_text()
    data = page.partition('id="motions" type="application/json">')[2].partition("</script>")[0]
    motions = json.loads(data)
    assert [m["name"].split(":")[0] for m in motions] == ["mode 1", "mode 2", "mode 3"]
    first = motions[0]
    places = np.array(first["bodies"][0]["v"])
    assert first["loop"] and np.all(places[0] == places[-1])  # one cycle
    swing, back = places[6] - places[0], places[18] - places[0]  # a quarter, three quarters
    assert swing == pytest.approx(-back, abs=2e-4) and np.abs(swing).max() > 5e-3
    assert "http" not in data and "beam.young +0.4" in page


def test_modes_about_the_start_are_those_of_the_straight_beam(tmp_path):
    scene = beam(tmp_path)
    assert main(["modes", str(scene), "--at", "start", "--out", str(tmp_path / "a")]) == 0
    result = yaml.safe_load((tmp_path / "a" / "result.yaml").read_text())
    slopes = result["modes"][0]["derivatives"]
    assert slopes["beam.young"] * 1e6 / result["modes"][0]["frequency"] == pytest.approx(0.5)
    assert result["about"] == "start"


def test_a_block_that_slides_exits_3_and_names_it(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["statics", str(SCENES / "incline.yaml"), "--out", str(out)]) == 3
    error = capsys.readouterr().err
    assert "'block'" in error and error.count("not converged") == 1
    assert not out.exists()


def test_unusable_input_names_the_scene_and_exits_2(tmp_path, capsys):
    scene = yaml.safe_load((SCENES / "cube_toss.yaml").read_text())
    scene["contact"][0] |= {"friction": "hybrid"}
    path = tmp_path / "hybrid.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    assert main(["statics", str(path), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "hybrid.yaml" in error and "friction" in error and "linear or tanh" in error
    assert main(["modes", str(path), "--count", "0"]) == 2
    assert "--count" in capsys.readouterr().err


def test_a_cube_on_the_ground_has_free_directions_and_rigid_modes(tmp_path, capsys):
    scene = SCENES / "cube_toss.yaml"
    assert main(["statics", str(scene), "--out", str(tmp_path / "s")]) == 0
    assert "3 free directions" in capsys.readouterr().out
    result = yaml.safe_load((tmp_path / "s" / "result.yaml").read_text())
    assert "gravity.x" in result["undefined_derivatives"]
    assert main(["modes", str(scene), "--out", str(tmp_path / "m")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("rigid") == 3 and "equal: 5, 6" in shown
