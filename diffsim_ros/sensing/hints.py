"""What unreadable files are, and which step comes next: one sentence each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..files import is_regular
from ..tables import is_number
from .columns import column_of
from .meaning import meaning_of

MOST = 8
"""Most columns whose other names a hint gives."""
ROS1 = b"#ROSBAG V"
BAG1 = "rosbags-convert --src FILE.bag --dst FOLDER (pip install rosbags) makes a rosbag2 of it"
MESH = "a mesh is a body's shape: name it in the scene (docs/reference/scene.md)"


class What(NamedTuple):
    """Name of a kind of file, "" unknown, and what to do with one."""

    name: str
    remedy: str


SUFFIXES = {
    ".bag": What("a ROS 1 bag, or one of RealSense Viewer", BAG1),
    ".tak": What("a take of Motive", "export it as CSV (docs/how-to/motive.md)"),
    ".qtm": What("a capture of QTM", "export it as TSV or C3D (docs/how-to/qtm.md)"),
    ".trc": What("a TRC file", "export C3D or CSV from the tracker's program instead"),
    ".x2d": What("camera data of Vicon", "export C3D from Nexus (docs/how-to/nexus.md)"),
    ".x1d": What("camera data of Vicon", "export C3D from Nexus (docs/how-to/nexus.md)"),
    ".xlsx": What("a workbook", "save the sheet as CSV"),
    ".xls": What("a workbook", "save the sheet as CSV"),
    ".ods": What("a workbook", "save the sheet as CSV"),
    ".mat": What("a MATLAB file", "export TSV or C3D from the tracker, or a table by `writetable`"),
    ".npy": What("one NumPy array", "numpy.savez with named arrays makes an .npz of it"),
    ".parquet": What("a Parquet file", "write it as CSV (pandas: read_parquet, to_csv)"),
    ".json": What("a JSON file", "write it as a table with the columns of one of these"),
    ".fbx": What("an FBX file", "export CSV or C3D from the tracker's program"),
    ".bvh": What("a BVH file", "export CSV or C3D from the tracker's program"),
    ".obj": What("", MESH), ".stl": What("", MESH), ".dae": What("", MESH), ".msh": What("", MESH),
}  # fmt: skip
ARRAYS = {
    "time": "t", "dof_pos": "q", "joint_pos": "q", "positions": "q", "qpos": "q", "dof_vel": "qd",
    "joint_vel": "qd", "qvel": "qd", "dof_torque": "effort", "torque": "effort", "tau": "effort",
    "torques": "effort", "des_dof_pos": "q_command", "dof_pos_des": "q_command",
    "q_des": "q_command", "joint_order": "joints", "joint_names": "joints", "names": "joints",
}  # fmt: skip
"""What arrays of joint logs are called elsewhere."""
JOINT_WORDS = {"q": "position", "dq": "velocity", "qd": "velocity", "tau": "effort"}
SHORT = re.compile(r"(q|dq|qd|tau)_?(\d+)")
"""q1, dq1, tau1: joints without names."""


def of_file(path: Path) -> What:
    """What a file is by its first bytes and its ending."""
    if is_regular(path):
        with path.open("rb") as stream:
            if stream.read(len(ROS1)) == ROS1:
                return SUFFIXES[".bag"]
    return SUFFIXES.get(path.suffix.lower(), What("", ""))


def of_arrays(names: Sequence[str]) -> str:
    """What to rename for a joint log, where arrays have the names of one elsewhere; else ""."""
    found = {name: ARRAYS[name] for name in names if name in ARRAYS and ARRAYS[name] not in names}
    if "q" not in (*found.values(), *names) or "t" not in (*found.values(), *names):
        return ""
    renamed = ", ".join(f"{old} -> {new}" for old, new in found.items())
    return f"nearest: a joint log (docs/how-to/joints.md): rename {renamed}"


def of_columns(names: Sequence[str]) -> str:
    """The nearest format of a table by the names of its columns, and what to rename."""
    if names and all(is_number(name) for name in names):
        wanted = "t,px,py,pz,qx,qy,qz,qw" if len(names) == 8 else "t and those of one of these"
        return f"the first line is numbers: write the names of the columns above it ({wanted})"
    every = [(name, _meaning(name)) for name in names]
    kinds: dict[str, list[tuple[str, str]]] = {"joints": [], "poses": [], "wrenches": []}
    for name, (kind, wanted) in every:
        if kind in kinds and wanted != name:
            kinds[kind].append((name, wanted))
    count = {kind: sum(k == kind for _, (k, _) in every) for kind in kinds}
    kind = max(count, key=count.__getitem__)
    if not count[kind]:
        return "the first line names the columns: t [s], and those of one of these"
    time = [(name, "t") for name, (k, _) in every if k == "time" and name != "t"][:1]
    renamed = [*time, *kinds[kind]]
    parts = _grouped(renamed)
    lacks = [] if any(k == "time" for _, (k, _) in every) else ["t"]
    if kind != "joints":
        has = {wanted for _, (k, wanted) in every if k == kind}
        lacks += [one for one in COLUMNS[kind] if one not in has]
    text = f"nearest: {kind} (docs/how-to/{PAGES[kind]})"
    text += f": rename {', '.join(parts)}" if parts else ""
    return f"{text}; it lacks {', '.join(lacks)}" if lacks else text


def _grouped(renamed: Sequence[tuple[str, str]]) -> list[str]:
    """OLD -> NEW of each; of several with one new name the first and the last."""
    groups: dict[str, list[str]] = {}
    for old, new in renamed:
        groups.setdefault(new, []).append(old)
    parts = [
        f"{old[0]} -> {new}" if len(old) == 1 else f"{old[0]} ... {old[-1]} -> {new}"
        for new, old in groups.items()
    ]
    return parts[:MOST] + ([f"and {len(parts) - MOST} more"] if len(parts) > MOST else [])


COLUMNS = {
    "poses": ("px", "py", "pz", "qx", "qy", "qz", "qw"),
    "wrenches": ("fx", "fy", "fz", "tx", "ty", "tz"),
}
PAGES = {"poses": "poses.md", "wrenches": "real2sim.md", "joints": "joints.md"}


def _meaning(header: str) -> tuple[str, str]:
    """Kind and usual name of a column, ("", "") of one that says nothing."""
    for kind, columns in COLUMNS.items():
        if header in columns:
            return kind, header
    short = SHORT.fullmatch(column_of(header).name.lower())
    if short is not None:
        return "joints", f"NAME.{JOINT_WORDS[short[1]]}"
    one = meaning_of(header)
    if one.kind == "joint":
        return "joints", f"{one.component}.{one.signal}"
    if one.kind == "vector":
        return ("poses" if one.signal in "pq" else "wrenches"), one.signal + one.component
    return ("time", "t") if one.kind == "time" else ("", "")
