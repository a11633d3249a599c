"""Exports of other programs: every dialect of one truth is read as that truth, or is refused in one
sentence that names the next step."""

import warnings

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing.playback import read_playlist
from diffsim_ros.sensing.read import read, read_kind, read_trials
from diffsim_ros.sensing.tosses import read_tosses
from validation.export_dialects import (
    c3d_bytes,
    dialects,
    differences,
    drawn,
    several,
    write,
)

EVERY = list(dialects())
FORMATS = sorted({one.name for one in EVERY})


@pytest.mark.parametrize("name", FORMATS)
def test_every_dialect_of_a_format_is_read_as_its_truth(tmp_path, name):
    wrong = {}
    for seed, dialect in enumerate(one for one in EVERY if one.name == name):
        truth = drawn(seed)
        found = read(write(truth, dialect, tmp_path))
        off = differences(truth, dialect, found)
        if off:
            wrong[dialect.words] = off
    assert not wrong


BODIES = ("Motive", "QTM 6D", "echo", "PlotJuggler")


@pytest.mark.parametrize("name", BODIES)
def test_of_several_bodies_each_is_a_stream_and_one_is_chosen_by_its_name(tmp_path, name):
    truth = several(drawn(5, samples=90))
    for dialect in EVERY:
        if dialect.name != name or dialect.kind != "poses":
            continue
        if dialect.options.get("layout") in ("PoseStamped", "TransformStamped"):
            continue
        path = write(truth, dialect, tmp_path)
        assert differences(truth, dialect, read(path)) == [], dialect.words
    assert read_kind(path, "poses", "Lid").names == ("Lid",)
    with pytest.raises(InputError, match=r"Box.*Lid.*exactly one body"):
        read_kind(path, "poses")
    with pytest.raises(InputError, match=r"Box.*Lid"):
        read_tosses(path)


def test_long_blank_stretches_part_trials_and_short_ones_are_lost_samples(tmp_path):
    t = np.arange(400) / 100.0
    place = np.stack([t, 0 * t, 1 + 0 * t], axis=1)
    lost = (t >= 1.0) & (t < 2.0) | (t >= 2.5) & (t < 2.53) | (t >= 3.9)
    rows = [
        f"{a:.2f},,,,,,," if b else f"{a:.2f},{x},{y},{z},0,0,0,1"
        for a, b, (x, y, z) in zip(t, lost, place, strict=True)
    ]
    path = tmp_path / "t.csv"
    path.write_text("t,px,py,pz,qx,qy,qz,qw\n" + "\n".join(rows) + "\n")
    (poses,) = read(path)
    assert len(poses) == 290 and int(np.isnan(poses.position[:, 0, 0]).sum()) == 3
    assert "110 blank samples" in poses.notes[-1] and "1 stretch" in poses.notes[-1]
    assert [len(one) for one in read_tosses(path)] == [100, 187]


def flat(names, rows=30, step=0.01, suffix=".csv", sign=","):
    """A table of so many columns whose first has times."""
    lines = [sign.join(names)] if names else []
    count = len(names) if names else rows
    for k in range(30):
        lines.append(sign.join([f"{step * k:.9g}", *[f"{0.1 * j:g}" for j in range(1, count)]]))
    return "\n".join(lines) + "\n"


POSE = ["t", "px", "py", "pz", "qx", "qy", "qz", "qw"]
JOINTS = ["t", "a.position", "b.position"]
MARKERS = ["t", "m_x", "m_y", "m_z"]
WRENCH = ["t", "fx", "fy", "fz", "tx", "ty", "tz"]


@pytest.mark.parametrize("names", [POSE, JOINTS, MARKERS, WRENCH])
@pytest.mark.parametrize(
    ("unit", "second"), [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)]
)
@pytest.mark.parametrize("rate", [30.0, 240.0, 1000.0])
@pytest.mark.parametrize("epoch", [0.0, 1_750_000_000.0])
def test_stamps_that_are_no_seconds_are_named_with_their_unit(
    tmp_path, names, unit, second, rate, epoch
):
    rows = [
        ",".join([repr(second * (epoch + k / rate)), *["0"] * (len(names) - 2), "1"])
        for k in range(40)
    ]
    (tmp_path / "a.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    with pytest.raises(InputError, match=f"stamps in {unit}. divide by {second:.0f}"):
        read(tmp_path / "a.csv")


def test_stamps_since_1970_and_slow_logs_of_outputs_are_seconds(tmp_path):
    for names, begin, step in ((POSE, 1.75e9, 0.01), (["t", "force [N]"], 0.0, 10.0)):
        rows = [f"{begin + step * k:.6f}," + ",".join(["0"] * (len(names) - 2) + ["1"])
                for k in range(40)]  # fmt: skip
        (tmp_path / "a.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
        assert len(read(tmp_path / "a.csv")[0]) == 40


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["time", "q1", "q2", "dq1", "dq2", "tau1"],
         r"got \['time', 'q1', 'q2', 'dq1'.*nearest: joints.*time -> t, q1 \.\.\. q2 -> "
         r"NAME.position, dq1 \.\.\. dq2 -> NAME.velocity, tau1 -> NAME.effort"),
        (["zeit", "px", "py", "pz", "qx", "qy", "qz"], r"nearest: poses.*it lacks t, qw"),
        (["time", "x", "y", "z", "w"], "nearest: poses.*time -> t"),
        (["time", "force_x", "force_y"], "nearest: wrenches.*force_x -> fx.*lacks fz"),
        (list("01230001"), r"the first line is numbers.*\(t,px,py,pz,qx,qy,qz,qw\)"),
        (["a", "b", "c"], "the first line names the columns"),
    ],
)  # fmt: skip
def test_a_refusal_shows_the_header_in_its_order_and_what_to_rename(tmp_path, names, says):
    (tmp_path / "a.csv").write_text(flat(names))
    with pytest.raises(InputError, match=says):
        read(tmp_path / "a.csv")


def test_arrays_of_a_joint_log_of_another_name_are_renamed(tmp_path):
    t = np.arange(20) / 100
    np.savez(
        tmp_path / "a.npz", time=t, dof_pos=np.zeros((20, 2)), joint_order=np.array(["a", "b"])
    )
    with pytest.raises(InputError, match="time -> t, dof_pos -> q, joint_order -> joints"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("throw.bag", b"#ROSBAG V2.0\n", "a ROS 1 bag, or one of RealSense.*rosbags-convert"),
        ("throw.dat", b"#ROSBAG V2.0\n", "a ROS 1 bag.*rosbags-convert --src"),
        ("a.tak", b"x", "a take of Motive.*export it as CSV"),
        ("a.qtm", b"x", "a capture of QTM.*TSV or C3D"),
        ("a.xlsx", b"PK", "a workbook.*as CSV"),
        ("a.trc", b"PathFileType", "a TRC file.*C3D or CSV"),
    ],
)
def test_files_of_other_programs_are_named_with_the_next_step(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t;px;py;pz;qx;qy;qz;qw\n" + "0,1;0.5;0;0;0;0;0;1\n" * 3, "decimal points, or decimal"),
        ("t,px,py,pz,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n0.1,O,0,0,0,0,0,1\n", "line 3: got '0.1,O"),
        ("t,px,py,pz,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n0.1,0,0,0\n", "line 3: got '4 cells'"),
        ("time [h],x,y,z,qx,qy,qz,qw\n" + "0,0,0,0,0,0,0,1\n" * 3, "got 'h'"),
        ("t,px [foot],py [foot],pz [foot],qx,qy,qz,qw\n" + "0,0,0,0,0,0,0,1\n" * 3, "'foot'"),
        ("t,px [mm],py [mm],pz [m],qx,qy,qz,qw\n" + "0,0,0,0,0,0,0,1\n" * 3, "'several'"),
    ],
)
def test_what_is_no_number_or_unit_is_named(tmp_path, text, says):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=says):
        read(tmp_path / "a.csv")


MOTIVE = (
    "Format Version,1.23,Export Frame Rate,100,Rotation Type,{turn},Length Units,{unit},"
    "Coordinate Space,{space}\n\n,Type,Rigid Body,Rigid Body,Rigid Body,Rigid Body,Rigid Body,"
    "Rigid Body\n,Name,A,A,A,A,A,A\n,ID,1,1,1,1,1,1\n,,Rotation,Rotation,Rotation,Position,"
    "Position,Position\nFrame,Time (Seconds),X,Y,Z,X,Y,Z\n0,0.00,0,0,0,0,0,0\n1,0.01,0,0,0,0,0,1\n"
)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"unit": "Furlongs"}, "Length Units: got 'Furlongs'; accepted: Meters"),
        ({"unit": ""}, "export with Header Information"),
        ({"turn": "Quaternion"}, "Rotation Type: got 'Quaternion'.*an order of Euler angles"),
        ({"space": "Local"}, "Coordinate Space: got 'Local'"),
    ],
)
def test_a_motive_header_that_is_not_known_is_refused(tmp_path, change, says):
    header = {"turn": "XYZ", "unit": "Meters", "space": "Global"}
    (tmp_path / "a.csv").write_text(MOTIVE.format(**header))
    assert len(read(tmp_path / "a.csv")[0]) == 2
    (tmp_path / "a.csv").write_text(MOTIVE.format(**header | change))
    with pytest.raises(InputError, match=says):
        read(tmp_path / "a.csv")


def test_markers_of_a_rigid_body_are_named_and_not_used_beside_its_pose(tmp_path):
    truth = drawn(3)
    body, markers = (
        next(one for one in EVERY if (one.name, one.kind, one.unit) == ("Motive", kind, "m"))
        for kind in ("poses", "markers")
    )
    left = write(truth, body, tmp_path).read_text().splitlines()
    right = write(truth, markers, tmp_path).read_text().splitlines()
    lines = [left[0], ""]
    for one, other in zip(left[2:], right[2:], strict=True):
        lines.append(",".join([one, *other.split(",")[2:]]))
    path = tmp_path / "both.csv"
    path.write_text("\n".join(lines) + "\n")
    (poses,) = read(path)
    assert any("4 markers of rigid bodies" in note for note in poses.notes)
    path.write_text(path.read_text().replace("Box:c", "Cloth:c"))
    poses, found = read(path)
    assert (poses.kind, found.kind, found.names) == ("poses", "markers", ("c1", "c2", "c3", "c4"))


def test_a_cut_last_line_is_left_out_with_a_note(tmp_path):
    text = MOTIVE.format(turn="XYZ", unit="Meters", space="Global") + "2,0.02,0,0"
    (tmp_path / "a.csv").write_text(text)
    (poses,) = read(tmp_path / "a.csv")
    assert len(poses) == 2 and any("is cut and left out" in note for note in poses.notes)


def test_nexus_without_trajectories_and_qtm_angles_alone_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("Devices\n1000\n,,F\nFrame,Sub Frame,Fx\n,,N\n1,0,2.5\n")
    with pytest.raises(InputError, match="a section Trajectories"):
        read(tmp_path / "a.csv")
    lines = ["NO_OF_FRAMES\t2", "NO_OF_BODIES\t1", "FREQUENCY\t100", "DATA_INCLUDED\t6D",
             "BODY_NAMES\tA", *["1\t2\t3\t4\t5\t6"] * 2]  # fmt: skip
    (tmp_path / "a.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="export with the rotation matrix"):
        read(tmp_path / "a.tsv")


# ---------------------------------------------------------------------------- joints, wrenches


def joint_values():
    t = np.arange(40) / 125.0
    return t, np.stack([np.sin(t), np.cos(t)], axis=1), np.stack([np.cos(t), -np.sin(t)], axis=1)


@pytest.mark.parametrize("order", ["/joint_states/{s}/{j}", "/joint_states/{j}/{s}"])
def test_joints_of_plotjuggler_keep_their_names_and_rows(tmp_path, order):
    t, q, qd = joint_values()
    names = [order.format(s=s, j=j) for s in ("position", "velocity") for j in ("elbow", "wrist_1")]
    names += ["/command/position/elbow", "/command/position/wrist_1"]
    lines = [",".join(["__time", *names, "/battery"])]
    for k, time in enumerate(t):
        lines.append(f"{1.75e9 + time - 0.001:.6f},,,,,{q[k, 0] + 1:.8f},{q[k, 1] + 1:.8f},")
        cells = ",".join(f"{x:.8f}" for x in (*q[k], *qd[k]))
        lines.append(f"{1.75e9 + time:.6f},{cells},,,12.5")
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    (log,) = read(tmp_path / "a.csv")
    assert log.names == ("elbow", "wrist_1") and any("/battery" in note for note in log.notes)
    np.testing.assert_allclose(log.values["position"], q, atol=1e-8)
    np.testing.assert_allclose(log.values["velocity"], qd, atol=1e-8)
    np.testing.assert_allclose(log.command["position"], q + 1, atol=1e-8)
    np.testing.assert_allclose(log.t - log.t[0], t, atol=2e-6)


def test_two_topics_of_measured_joints_are_refused_by_name(tmp_path):
    names = ["__time", "/a/position/j", "/b/position/j"]
    (tmp_path / "a.csv").write_text(flat(names))
    with pytest.raises(InputError, match=r"got 'a, b'.*one topic of measured joints"):
        read(tmp_path / "a.csv")


def test_joints_of_rtde_have_the_names_of_a_ur(tmp_path):
    names = ["timestamp"] + [f"{s}_{k}" for s in ("actual_q", "actual_qd", "actual_current",
                             "target_q") for k in range(6)]  # fmt: skip
    (tmp_path / "robot_data.csv").write_text(flat(names, sign=" "))
    (log,) = read(tmp_path / "robot_data.csv")
    assert log.names[:3] == ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
    assert set(log.values) == {"position", "velocity", "effort", "command_position"}
    assert any("motor currents" in note for note in log.notes)


def test_echoed_joints_and_wrenches_are_read_by_their_columns(tmp_path):
    t, q, qd = joint_values()
    rows = [f"{1750000000},{round(1e9 * time)},base,elbow,wrist,{a},{b},{c},{d},nan,nan"
            for time, (a, b), (c, d) in zip(t, q, qd, strict=True)]  # fmt: skip
    (tmp_path / "j.csv").write_text("\n".join(rows) + "\n")
    (log,) = read(tmp_path / "j.csv")
    assert log.names == ("elbow", "wrist") and set(log.values) == {"position", "velocity"}
    np.testing.assert_allclose(log.values["velocity"], qd)
    np.testing.assert_allclose(log.t, t, atol=1e-9)
    rows = [f"1750000000,{10**7 * k},tool,1,2,{k},4,5,6" for k in range(30)]
    (tmp_path / "w.csv").write_text("\n".join(rows) + "\n")
    (wrench,) = read(tmp_path / "w.csv")
    assert wrench.kind == "wrench" and wrench.frame == "tool"
    np.testing.assert_array_equal(wrench.values["force"][:, 0, 2], np.arange(30))


def test_markers_are_not_made_of_the_columns_of_a_pose(tmp_path):
    """pos_x and quat_x end as the columns of markers do."""
    names = ["t", "pos_x", "pos_y", "pos_z", "quat_x", "quat_y", "quat_z", "quat_w"]
    rows = [f"{0.01 * k},1,2,3,0,0,0,1" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    (found,) = read(tmp_path / "a.csv")
    assert found.kind == "poses" and found.position[0, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("prefixes", "names"),
    [
        (["/vrpn_mocap/cube/pose/pose/"], ["cube"]),
        (["/a/box/pose/", "/b/box/pose/"], ["a/box", "b/box"]),
        (["/tf/world/box_2/", "/tf/world/lid/"], ["box_2", "lid"]),
        (["box_2_", "lid_"], ["box_2", "lid"]),
        (["box.", "lid."], ["box", "lid"]),
    ],
)
def test_bodies_keep_the_names_that_columns_give_them(tmp_path, prefixes, names):
    parts = [f"position_{a}" for a in "xyz"] + [f"orientation_{a}" for a in "xyzw"]
    if "/" in prefixes[0]:
        parts = [part.replace("_", "/") for part in parts]
    header = ["time", *(prefix + part for prefix in prefixes for part in parts)]
    cells = ",".join(["1,2,3,0,0,0,1"] * len(prefixes))
    rows = [f"{0.01 * k:.2f},{cells}" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join([",".join(header), *rows]) + "\n")
    assert [one.names[0] for one in read(tmp_path / "a.csv")] == names


def test_a_spreadsheet_of_decimal_commas_may_have_points_in_its_header(tmp_path):
    text = MOTIVE.format(turn="XYZ", unit="Meters", space="Global").replace(",", ";")
    head, frames = text.split("Frame;")
    (tmp_path / "a.csv").write_text(head + "Frame;" + frames.replace(".", ","))
    assert len(read(tmp_path / "a.csv")[0]) == 2


# ---------------------------------------------------------------------------- C3D


@pytest.mark.parametrize(("first", "last"), [(0, 39), (0, 40), (1, 40), (101, 140)])
def test_frames_are_numbered_from_anywhere(tmp_path, first, last):
    path = c3d_file(tmp_path, points(), ["A", "B", "C"], 100.0, first=first, trial=False)
    data = bytearray(path.read_bytes())
    data[8:10] = last.to_bytes(2, "little")
    path.write_bytes(bytes(data))
    (found,) = read(path)
    assert len(found) == 40 and found.t[0] == 0.0 and np.isfinite(found.position).all()


def test_a_measured_place_at_the_origin_is_no_lost_sample(tmp_path):
    where = points()
    where[:, 0] = 0.0
    (found,) = read(c3d_file(tmp_path, where, ["A", "B", "C"], 100.0, integer=True))
    assert np.isfinite(found.position).all()


def points(count=3, frames=40):
    rng = np.random.default_rng(0)
    return 100.0 * rng.standard_normal((1, count, 3)) + rng.standard_normal((frames, count, 3))


def c3d_file(folder, *args, **options):
    path = folder / "a.c3d"
    path.write_bytes(c3d_bytes(*args, **options))
    return path


def test_labels_beyond_255_are_those_of_labels2(tmp_path):
    where = points(300, 25)
    labels = [f"M{k}" for k in range(300)]
    (found,) = read(c3d_file(tmp_path, where, labels, 100.0))
    assert found.names == tuple(name.lower() for name in labels)
    np.testing.assert_allclose(found.position, 1e-3 * where, atol=1e-7)
    with pytest.raises(InputError, match="300 points but 299 labels"):
        read(c3d_file(tmp_path, where, labels[:-1], 100.0))


def test_fragments_and_model_outputs_are_left_out_with_a_note(tmp_path):
    labels = ["A", "*6", "B", "LKneeAngles", "LKneePower"]
    groups = {"ANGLES": ["LKneeAngles"], "TYPE_GROUPS": ["ANGLES", "WATTS"],
              "WATTS": ["LKneePower"]}  # fmt: skip
    (found,) = read(c3d_file(tmp_path, points(5), labels, 100.0, groups=groups))
    assert found.names == ("a", "b")
    notes = " ".join(found.notes)
    assert "2 outputs of a model are left out: LKneeAngles, LKneePower" in notes
    assert "1 fragments without a label are left out: *6" in notes


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["Tip-1", "Tip 1", "C"], "'Tip-1'.*'Tip 1'.*both are 'tip1'"),
        (["A", "", ""], r"point 2 \(''\), point 3 \(''\)"),
        (["*1", "*2", "*3"], "3 paths without a label"),
    ],
)
def test_labels_that_name_no_marker_are_refused(tmp_path, labels, says):
    with pytest.raises(InputError, match=says):
        read(c3d_file(tmp_path, points(), labels, 100.0))


@pytest.mark.parametrize("trial", [True, False])
@pytest.mark.parametrize("analog", [0, 5])
def test_more_frames_than_16_bits_count_are_all_read(tmp_path, trial, analog):
    where = points(1, 66_000)
    (found,) = read(c3d_file(tmp_path, where, ["A"], 200.0, trial=trial, analog=analog))
    assert len(found) == 66_000
    np.testing.assert_allclose(found.position[:, 0], 1e-3 * where[:, 0], atol=1e-6)


def test_a_cut_c3d_is_refused_wherever_it_ends(tmp_path):
    whole = c3d_bytes(points(), ["A", "B", "C"], 100.0)
    for end in [*range(0, len(whole) - 600, 97)]:
        (tmp_path / "a.c3d").write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"a\.c3d"):
            read(tmp_path / "a.c3d")


def test_damaged_bytes_of_a_c3d_are_refused_or_read_and_never_crash(tmp_path):
    rng = np.random.default_rng(2)
    whole = np.frombuffer(c3d_bytes(points(), ["A", "B", "C"], 100.0), np.uint8)
    for _ in range(300):
        bad = whole.copy()
        at = rng.integers(0, 1200, 3)
        bad[at] = rng.integers(0, 256, 3)
        (tmp_path / "a.c3d").write_bytes(bad.tobytes())
        try:
            read(tmp_path / "a.c3d")
        except InputError as error:
            assert "\n" not in str(error)


def test_the_package_c3d_reads_the_same(tmp_path):
    peer = pytest.importorskip("c3d")
    for integer in (False, True):
        where = points()
        path = c3d_file(tmp_path, where, ["A", "B", "C"], 100.0, integer=integer)
        with path.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = np.array([p[:, :3] for _, p, _ in peer.Reader(stream).read_frames()])
        np.testing.assert_allclose(read(path)[0].position, 1e-3 * theirs, atol=1e-8)


def test_the_generator_lists_a_dialect_of_every_format():
    assert len(EVERY) > 200 and len(FORMATS) == 9


def test_an_export_is_read_by_whoever_estimates_from_it(tmp_path):
    """Tosses of a take, markers of a trial; the same body by its name, whatever the format."""
    truth = several(drawn(9, samples=90))
    (motive,) = [one for one in EVERY if one.name == "Motive"][:1]
    path = write(truth, motive, tmp_path)
    (toss,) = read_tosses(path, body="Lid")
    seen = ~truth.lost
    np.testing.assert_allclose(toss.position, truth.position["Lid"][seen], atol=2e-6)
    both = read_tosses(path, body=("Box", "Lid"))[0]
    assert both.bodies == ("Box", "Lid")
    (nexus,) = [one for one in EVERY if one.name == "Nexus"][:1]
    (trial,) = read_trials(write(truth, nexus, tmp_path), "markers")
    np.testing.assert_allclose(trial.column(trial.position, "c2")[seen], truth.markers["c2"][seen],
                               atol=2e-6)  # fmt: skip
    playlist = read_playlist(path)
    assert playlist.markers is not None


def test_labels_in_windows_letters_are_read_and_bytes_that_are_no_text_refused(tmp_path):
    (nexus,) = [one for one in EVERY if one.name == "Nexus"][:1]
    path = write(drawn(2), nexus, tmp_path)
    text = path.read_text().replace("Box:c1", "Box:Häkchen")
    path.write_bytes(text.encode("cp1252"))
    (found,) = read(path)
    assert found.names[0] == "hkchen" and any("Windows-1252" in note for note in found.notes)
    path.write_bytes(text.encode() + b"\xff\xfe")
    with pytest.raises(InputError, match=r"recording\.csv"):
        read(path)
