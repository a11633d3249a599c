"""Real clouds: every file and bag read as an independent reader has it; planes and clusters.

Runs over the excerpts in data/ and, where the environment variable DIFFSIM_RECORDINGS names a
folder, over the whole recordings in it.  The independent reader is a few lines of NumPy on raw
bytes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import read_cloud
from diffsim_ros.sensing.clouds.follow import clusters
from diffsim_ros.sensing.clouds.options import read_cloud_options
from diffsim_ros.sensing.clouds.pipeline import CloudPipeline, stage_table
from diffsim_ros.sensing.read import read_kind

from .common import ROOT

EXCERPTS = ROOT / "data"
WHOLE = os.environ.get("DIFFSIM_RECORDINGS", "")
REPEATS = 5  # timed runs of the pipeline per cloud
UP = {"capture": [0, -1, 0], "milk_cartoon": [0, 1, 0]}  # of optical frames: y down, y up


def raw_points(path: Path) -> np.ndarray:
    """(n, 3) finite points of a PCD or PLY whose first three fields are x, y, z FLOAT32."""
    raw = path.read_bytes()
    if path.suffix == ".ply":
        count = int(raw.split(b"element vertex ")[1].split()[0])
        body = raw[raw.index(b"end_header\n") + 11 :]
        table = np.frombuffer(body, "<f4", 3 * count).reshape(-1, 3)
    else:
        kind = raw.split(b"\nDATA ")[1].split(b"\n")[0]
        body = raw[raw.index(b"\nDATA ") + 7 + len(kind) :]
        if kind == b"ascii":
            table = np.array([line.split()[:3] for line in body.splitlines() if line], np.float32)
        else:
            fields = len(raw.split(b"\nFIELDS ")[1].split(b"\n")[0].split())
            table = np.frombuffer(body, "<f4").reshape(-1, fields)[:, :3]
    return table[np.isfinite(table).all(axis=1)].astype(np.float64)


def check_file(path: Path) -> dict:
    """Read a file and hold it against `raw_points`."""
    begin = time.perf_counter()
    cloud = read_cloud(path)
    ms = 1e3 * (time.perf_counter() - begin)
    np.testing.assert_array_equal(cloud.points, raw_points(path), err_msg=str(path))
    figures = {
        "points": len(cloud), "dropped": dict(cloud.dropped), "shape": cloud.shape,
        "colour": cloud.colour is not None, "read_ms": ms,
    }  # fmt: skip
    if cloud.shape:
        assert len(cloud) + sum(cloud.dropped.values()) == np.prod(cloud.shape)
    return figures


def check_colour(path: Path) -> None:
    """Packed rgb as a UINT32: red in bits 16 to 23."""
    raw = path.read_bytes()
    table = np.frombuffer(raw[raw.index(b"DATA binary\n") + 12 :], "<u4").reshape(-1, 4)
    finite = np.isfinite(table[:, :3].copy().view(np.float32)).all(axis=1)
    bits = table[finite, 3]
    wanted = np.stack([(bits >> s) & 255 for s in (16, 8, 0)], axis=1) / 255
    np.testing.assert_allclose(read_cloud(path).colour, wanted, atol=1e-6)


def check_bag(path: Path) -> dict:
    """Every message of a bag against its bytes read as FLOAT32 by hand."""
    from rosbags.highlevel import AnyReader

    clouds = read_kind(path, "clouds").clouds
    with AnyReader([path]) as reader:
        messages = [
            (reader.deserialize(raw, c.msgtype), stamp) for c, stamp, raw in reader.messages()
        ]
    for cloud, (message, _) in zip(clouds, messages, strict=True):
        table = message.data.view("<f4").reshape(-1, message.point_step // 4)[:, :3]
        finite = table[np.isfinite(table).all(axis=1)]
        np.testing.assert_array_equal(cloud.points, finite.astype(np.float64))
        assert cloud.frame == message.header.frame_id
        assert (
            abs(cloud.stamp - message.header.stamp.sec - 1e-9 * message.header.stamp.nanosec) < 1e-6
        )
    rate = (len(clouds) - 1) / (clouds[-1].stamp - clouds[0].stamp) if len(clouds) > 1 else None
    return {
        "clouds": len(clouds), "points": [len(c) for c in clouds[:3]], "frame": clouds[0].frame,
        "rate_hz": rate,
    }  # fmt: skip


def segmented(cloud: Cloud, up, distance: float, count: int) -> dict:
    """Planes with sigmas, clusters of what stands before them, and ms of each stage."""
    options = read_cloud_options({
        "planes": {"count": count, "distance": distance, "frames": 1, "up": up},
        "voxel": 0.01, "outliers": {"radius": 0.03, "least": 5},
    }, cloud.source)  # fmt: skip
    pipeline = CloudPipeline(options)
    pipeline.process(cloud)
    frames = [pipeline.process(cloud) for _ in range(REPEATS)]
    left = frames[-1].cloud.points
    parts = [left[k] for k in clusters(left, 0.03, 10) if len(k) >= 50]
    return {
        "planes": {
            p.name: {
                "normal": p.normal.tolist(), "offset_m": p.offset, "points": p.inliers,
                "rms_mm": 1e3 * p.rms, "sigma_deg": float(np.degrees(p.sigma_normal)),
                "sigma_height_mm": 1e3 * p.sigma_height(),
            }
            for p in pipeline.planes
        },
        "clusters": [
            {"points": len(part), "middle": part.mean(axis=0).tolist(),
             "extent": np.ptp(part, axis=0).tolist()}
            for part in parts
        ],
        "stages": stage_table(frames),
        "ms_per_frame": float(np.median([1e3 * frame.seconds for frame in frames])),
    }  # fmt: skip


def check_indoor(cloud: Cloud) -> dict:
    """A room: its floor stands square to every wall that is upright."""
    found = segmented(cloud, UP["capture"], 0.02, 4)
    floor = np.array(found["planes"]["floor"]["normal"])
    walls = [np.array(p["normal"]) for name, p in found["planes"].items() if "wall" in name]
    angles = [float(np.degrees(np.arcsin(abs(wall @ floor)))) for wall in walls]
    found["walls_off_square_deg"] = angles
    assert min(angles) < 3, f"no wall is square to the floor: {angles}"
    assert 0.7 < -found["planes"]["floor"]["offset_m"] < 1.0, "the camera stands below its floor"
    return found


def check_table(cloud: Cloud) -> dict:
    """A table top that most points lie on, and three things on it."""
    found = segmented(cloud, [0, 0.82, 0.57], 0.02, 1)
    plane = found["planes"]["floor"]
    assert plane["points"] > 0.2 * len(cloud) and plane["rms_mm"] < 8, plane
    things = [c for c in found["clusters"] if max(c["extent"]) > 0.1]
    found["things"] = len(things)
    assert len(things) >= 3, f"three things stand on the table, found {len(things)}"
    for thing in things[:3]:
        height = np.array(plane["normal"]) @ thing["middle"] - plane["offset_m"]
        assert 0.02 < height < 0.3, f"a thing {height:.3f} m above the table"
    return found


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All files and bags; a fraction reads the excerpts alone."""
    roots = [EXCERPTS] + ([Path(WHOLE)] if fraction >= 1 and WHOLE else [])
    figures: dict = {"whole_recordings": len(roots) > 1, "files": {}, "bags": {}, "scenes": {}}
    for root in roots:
        where = "excerpt" if root is EXCERPTS else "whole"
        for path in sorted((root / "kinect_clouds").glob("*.p[cl][dy]")):
            figures["files"][f"{where}/{path.name}"] = check_file(path)
            if "rgb" in path.name:
                check_colour(path)
            if path.name.startswith("capture"):
                figures["scenes"][f"{where}/{path.name}"] = check_indoor(read_cloud(path))
            elif path.name.startswith("milk_cartoon"):
                figures["scenes"][f"{where}/{path.name}"] = check_table(read_cloud(path))
        for path in sorted((root / "ros2_bags").iterdir()):
            if path.is_dir() and not path.name.startswith("cube"):
                figures["bags"][f"{where}/{path.name}"] = check_bag(path)
    return figures
