"""Small sound files of every format that the package reads: what hostile cases are made from.

`SEEDS` maps a name to (kind of reader, file name, function that makes the bytes). The kinds are
those of `hostile.READERS`.
"""

from __future__ import annotations

import io
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .common import ROOT

CUBE = np.array([[x, y, z] for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1)])
FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
    [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
])  # fmt: skip
TETS = np.array(
    [[0, 4, 6, 7], [0, 4, 7, 5], [0, 6, 2, 7], [0, 2, 3, 7], [0, 3, 1, 7], [0, 1, 5, 7]]
)


class Seed(NamedTuple):
    """kind: of the reader; name: of the file; make: its bytes."""

    kind: str
    name: str
    make: Callable[[], bytes]


def _config(folder: str, name: str) -> bytes:
    return (ROOT / "config" / folder / f"{name}.yaml").read_bytes()


def scene() -> bytes:
    return _config("scenes", "bouncing_cube")


def estimation() -> bytes:
    return _config("estimation", "cube_toss").replace(b"../../data", str(ROOT / "data").encode())


def arm() -> bytes:
    return _config("robots", "ur5").replace(b"../../urdf", str(ROOT / "urdf").encode())


def twin() -> bytes:
    return _config("twin", "ball").replace(b"../robots", str(ROOT / "config/robots").encode())


def plan() -> bytes:
    return _config("planning", "throw_one_bounce")


def trajectory() -> bytes:
    return b"""joints: [a, b]
times: [0.0, 0.5, 1.0]
positions: [[0.0, 0.1], [0.1, 0.2], [0.2, 0.3]]
velocities: [[0.0, 0.0], [0.1, 0.1], [0.0, 0.0]]
release: 0.5
"""


def result() -> bytes:
    return b"""name: x
status: converged
parameters:
  friction: {value: 0.2, unit: '1', std_dev: 0.01, bounds: [0.1, 0.9]}
scene: {table.c_f: 0.2}
"""


def transform() -> bytes:
    return (
        b"parent_frame: world\nchild_frame: camera\nposition: [0, 0, 1]\n"
        b"orientation: [0, 0, 0, 1]\n"
    )


def urdf() -> bytes:
    return b"""<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0 0 0.1"/><mass value="1.0"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.2"/></geometry></visual>
    <collision><geometry><cylinder radius="0.05" length="0.2"/></geometry></collision>
  </link>
  <joint name="j" type="revolute">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 0.1" rpy="0 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
</robot>
"""


# ---------------------------------------------------------------------------- tables


def _npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def tosses() -> bytes:
    state = np.zeros((40, 13))
    state[:, 2], state[:, 3] = np.linspace(1.0, 0.1, 40), 1.0
    return _npz(
        toss_id=np.array([1, 2]), start=np.array([0, 20]), length=np.array([20, 20]),
        state=state, dt=np.array(0.01),
    )  # fmt: skip


def joint_log() -> bytes:
    t = np.arange(20) * 0.01
    return _npz(t=t, joints=np.array(["a", "b"]), q=np.stack([t, -t], axis=1))


def cloud_sequence() -> bytes:
    points = np.random.default_rng(0).normal(size=(30, 3))
    return _npz(points=points, count=np.array([10, 10, 10]), t=np.arange(3.0))


def marker_csv() -> bytes:
    rows = [f"{0.01 * i},{0.1 * i},0.2,0.3,1.0,{0.05 * i},0.1" for i in range(30)]
    return ("t,a_x,a_y,a_z,b_x,b_y,b_z\n" + "\n".join(rows) + "\n").encode()


def joint_csv() -> bytes:
    rows = [f"{0.01 * i},{0.001 * i},{-0.001 * i}" for i in range(30)]
    return ("t,a.position,b.position\n" + "\n".join(rows) + "\n").encode()


def pose_csv() -> bytes:
    rows = [f"{0.01 * i},0,0,{1 - 0.01 * i},0,0,0,1" for i in range(30)]
    return ("t,px,py,pz,qx,qy,qz,qw\n" + "\n".join(rows) + "\n").encode()


@cache
def c3d() -> bytes:
    """Two markers over 30 frames, by hand: header, parameters, floating-point points."""

    def parameter(group: int, name: str, kind: int, dims: list[int], data: bytes, last=False):
        body = struct.pack("<bB", kind, len(dims)) + bytes(dims) + data + b"\0"
        following = 0 if last else len(body) + 2
        return struct.pack("<bb", len(name), group) + name.encode() + struct.pack(
            "<h", following) + body  # fmt: skip

    def group(number: int, name: str) -> bytes:
        return struct.pack("<bb", len(name), -number) + name.encode() + struct.pack("<hB", 3, 0)

    labels = b"A   B   "
    content = group(1, "POINT") + b"".join([
        parameter(1, "USED", 2, [], struct.pack("<h", 2)),
        parameter(1, "FRAMES", 2, [], struct.pack("<h", 30)),
        parameter(1, "SCALE", 4, [], struct.pack("<f", -1.0)),
        parameter(1, "RATE", 4, [], struct.pack("<f", 100.0)),
        parameter(1, "DATA_START", 2, [], struct.pack("<h", 3)),
        parameter(1, "UNITS", -1, [2], b"mm"),
        parameter(1, "LABELS", -1, [4, 2], labels, last=True),
    ])  # fmt: skip
    content = struct.pack("<BBBB", 1, 0x50, 1, 84) + content
    head = struct.pack("<BBHHHHHfHHf", 2, 0x50, 2, 0, 1, 30, 10, -1.0, 3, 0, 100.0)
    data = b"".join(
        struct.pack("<4f", 10.0 * i + k, 20.0, 30.0, 0.0) for i in range(30) for k in range(2)
    )
    return head.ljust(512, b"\0") + content.ljust(512, b"\0") + data.ljust(1024, b"\0")


# ---------------------------------------------------------------------------- clouds, meshes


def pcd(kind: str = "ascii") -> bytes:
    points = np.random.default_rng(0).normal(size=(20, 3)).astype("<f4")
    head = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
        f"WIDTH 20\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 20\nDATA {kind}\n"
    ).encode()
    if kind == "ascii":
        return head + "\n".join(" ".join(map(str, p)) for p in points.tolist()).encode() + b"\n"
    if kind == "binary":
        return head + points.tobytes()
    raw = points.T.tobytes()  # one LZF literal run of at most 32 bytes after the other
    packed = b"".join(
        bytes([len(raw[i : i + 32]) - 1]) + raw[i : i + 32] for i in range(0, len(raw), 32)
    )
    return head + struct.pack("<II", len(packed), len(raw)) + packed


def ply(kind: str = "ascii", faces: bool = False) -> bytes:
    head = f"ply\nformat {kind} 1.0\nelement vertex 8\n" + "".join(
        f"property float {axis}\n" for axis in "xyz"
    )
    if faces:
        head += "element face 12\nproperty list uchar int vertex_indices\n"
    head += "end_header\n"
    if kind == "ascii":
        body = "".join(f"{x} {y} {z}\n" for x, y, z in CUBE + 0.1)
        body += "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES) if faces else ""
        return (head + body).encode()
    body = (CUBE + 0.1).astype("<f4").tobytes()
    if faces:
        body += b"".join(struct.pack("<Biii", 3, *face) for face in FACES.tolist())
    return head.encode() + body


def obj() -> bytes:
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE)
    return (text + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)).encode()


def stl() -> bytes:
    body = b"".join(
        struct.pack("<12fH", 0, 0, 0, *CUBE[face].ravel().tolist(), 0) for face in FACES
    )
    return b"solid cube in bytes".ljust(80, b" ") + struct.pack("<I", len(FACES)) + body


def stl_text() -> bytes:
    lines = ["solid cube"]
    for face in FACES:
        corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in CUBE[face])
        lines.append(f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet")
    return ("\n".join(lines) + "\nendsolid cube\n").encode()


@cache
def _tets(suffix: str) -> bytes:
    import meshio

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mesh{suffix}"
        kind = "gmsh" if suffix == ".msh" else None
        meshio.Mesh(CUBE, [("tetra", TETS)]).write(path, file_format=kind)
        return path.read_bytes()


@cache
def vdb() -> bytes:
    from diffsim_ros import _engine

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cube.vdb"
        _engine.LevelSet(_engine.TriangleMesh(CUBE, FACES), 0.02, band=5).save(str(path))
        return path.read_bytes()


# ---------------------------------------------------------------------------- bags


def _track():
    from diffsim_ros.sensing.bags import RecordedPoses

    t = np.arange(30) * 0.01
    position = np.stack([t, 0 * t, 1 - t], axis=1)
    return RecordedPoses("/cube", "world", t, position, np.tile([0.0, 0, 0, 1], (30, 1)))


@cache
def mcap() -> bytes:
    from diffsim_ros.sensing.bags import write_motion

    with tempfile.TemporaryDirectory() as folder:
        return write_motion(Path(folder) / "poses.mcap", [_track()]).read_bytes()


@cache
def cloud_mcap() -> bytes:
    from diffsim_ros.sensing.bags import RecordedClouds, write_motion
    from diffsim_ros.sensing.clouds.cloud import Cloud

    rng = np.random.default_rng(0)
    clouds = [Cloud(rng.normal(size=(20, 3)), frame="camera") for _ in range(3)]
    track = RecordedClouds("/points", "camera", [0.0, 0.1, 0.2], clouds)
    with tempfile.TemporaryDirectory() as folder:
        return write_motion(Path(folder) / "c.mcap", [], clouds=[track]).read_bytes()


@cache
def messages() -> tuple[tuple[int, bytes], ...]:
    """(stamp [ns], CDR) of the poses in `mcap`."""
    from diffsim_ros.sensing.bags import read_raw

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "poses.mcap"
        path.write_bytes(mcap())
        return tuple((m.stamp, m.data) for m in read_raw(path, "/cube"))


def db3(statements: str = "", rows: list | None = None, data: bytes | None = None) -> bytes:
    """The same poses as sqlite3 (schema 3); further statements are run at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "poses.db3"
        base = sqlite3.connect(path)
        base.executescript(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
            " serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);"
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,"
            " timestamp INTEGER NOT NULL, data BLOB NOT NULL);"
        )
        base.execute(
            "INSERT INTO topics VALUES (1, '/cube', 'geometry_msgs/msg/PoseStamped', 'cdr', '')"
        )
        for stamp, content in rows or messages():
            base.execute(
                "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)",
                (stamp, content if data is None else data),
            )
        base.executescript(statements)
        base.commit()
        base.close()
        return path.read_bytes()


def metadata(file: str = "poses.db3", **changes: str) -> bytes:
    """metadata.yaml of a bag folder with that file."""
    keys = {
        "version": "5", "storage_identifier": "sqlite3" if file.endswith("db3") else "mcap",
        "duration": "{nanoseconds: 290000000}",
        "starting_time": "{nanoseconds_since_epoch: 1700000000000000000}", "message_count": "30",
        "topics_with_message_count":
            "[{topic_metadata: {name: /cube, type: geometry_msgs/msg/PoseStamped, "
            "serialization_format: cdr, offered_qos_profiles: ''}, message_count: 30}]",
        "compression_format": "''", "compression_mode": "''", "relative_file_paths": f"[{file}]",
    } | changes  # fmt: skip
    lines = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    return f"rosbag2_bagfile_information:\n{lines}".encode()


def packed(data: bytes) -> bytes:
    """zlib's, for VTU."""
    return zlib.compress(data)


SEEDS = {
    "scene": Seed("scene", "scene.yaml", scene),
    "estimation": Seed("estimation", "estimation.yaml", estimation),
    "arm": Seed("arm", "arm.yaml", arm),
    "twin": Seed("twin", "twin.yaml", twin),
    "plan": Seed("plan", "plan.yaml", plan),
    "trajectory": Seed("trajectory", "trajectory.yaml", trajectory),
    "result": Seed("result", "result.yaml", result),
    "transform": Seed("transform", "transform.yaml", transform),
    "urdf": Seed("urdf", "arm.urdf", urdf),
    "tosses": Seed("tosses", "tosses.npz", tosses),
    "joint log": Seed("joints", "log.npz", joint_log),
    "cloud npz": Seed("recording", "clouds.npz", cloud_sequence),
    "marker csv": Seed("markers", "markers.csv", marker_csv),
    "joint csv": Seed("joints", "log.csv", joint_csv),
    "pose csv": Seed("tosses", "poses.csv", pose_csv),
    "c3d": Seed("markers", "markers.c3d", c3d),
    "pcd ascii": Seed("cloud", "cloud.pcd", pcd),
    "pcd binary": Seed("cloud", "cloud.pcd", lambda: pcd("binary")),
    "pcd compressed": Seed("cloud", "cloud.pcd", lambda: pcd("binary_compressed")),
    "ply ascii": Seed("cloud", "cloud.ply", ply),
    "ply binary": Seed("cloud", "cloud.ply", lambda: ply("binary_little_endian")),
    "ply mesh": Seed("triangles", "mesh.ply", lambda: ply("ascii", faces=True)),
    "ply mesh binary": Seed(
        "triangles", "mesh.ply", lambda: ply("binary_little_endian", faces=True)
    ),
    "obj": Seed("triangles", "mesh.obj", obj),
    "stl": Seed("triangles", "mesh.stl", stl),
    "stl text": Seed("triangles", "mesh.stl", stl_text),
    "msh": Seed("tets", "mesh.msh", lambda: _tets(".msh")),
    "medit": Seed("tets", "mesh.mesh", lambda: _tets(".mesh")),
    "vtk": Seed("tets", "mesh.vtk", lambda: _tets(".vtk")),
    "vtu": Seed("tets", "mesh.vtu", lambda: _tets(".vtu")),
    "vdb": Seed("vdb", "cube.vdb", vdb),
    "mcap": Seed("recording", "poses.mcap", mcap),
    "cloud mcap": Seed("recording", "clouds.mcap", cloud_mcap),
    "db3": Seed("recording", "poses.db3", db3),
}
