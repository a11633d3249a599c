"""Messages out of plain data, the same for bags (rosbags) and for nodes (rclpy).

Every number goes through float() or int() here, because a message accepts a wrong type silently and
then contains garbage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .cdr import NANO
from .clouds import packed
from .clouds.cloud import Cloud
from .observation import MarkerFrame, PoseSample

Numbers = Sequence[float] | np.ndarray


class Builder:
    """Builds messages with `make`: name of a type, fields by name -> message.

    Stamps are integers of nanoseconds, places in metres, quaternions (x, y, z, w). `make` gets
    every field of a type, bytes for uint8[].
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make

    def time(self, stamp: int, kind: str = "Time") -> Any:
        """A stamp [ns]; kind: Duration instead."""
        seconds, rest = divmod(int(stamp), NANO)
        return self.make(f"builtin_interfaces/msg/{kind}", sec=seconds, nanosec=rest)

    def header(self, stamp: int, frame: str) -> Any:
        """A header; stamp [ns]."""
        return self.make("std_msgs/msg/Header", stamp=self.time(stamp), frame_id=frame)

    def point(self, values: Numbers) -> Any:
        """A point or position [m] (3,)."""
        x, y, z = map(float, values)
        return self.make("geometry_msgs/msg/Point", x=x, y=y, z=z)

    def vector(self, values: Numbers) -> Any:
        """A Vector3 (3,)."""
        x, y, z = map(float, values)
        return self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)

    def quaternion(self, values: Numbers) -> Any:
        """A quaternion (x, y, z, w)."""
        x, y, z, w = map(float, values)
        return self.make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def colour(self, values: Numbers) -> Any:
        """A colour r, g, b, a in 0 ... 1."""
        r, g, b, a = map(float, values)
        return self.make("std_msgs/msg/ColorRGBA", r=r, g=g, b=b, a=a)

    def pose(self, position: Numbers, orientation: Numbers) -> Any:
        """A pose: position [m] (3,), quaternion (x, y, z, w)."""
        place, turn = self.point(position), self.quaternion(orientation)
        return self.make("geometry_msgs/msg/Pose", position=place, orientation=turn)

    def pose_stamped(self, one: PoseSample) -> Any:
        """A sample as a tracker's driver would send it."""
        header = self.header(one.stamp, one.frame)
        pose = self.pose(one.position, one.orientation)
        return self.make("geometry_msgs/msg/PoseStamped", header=header, pose=pose)

    def wrench(self, stamp: int, frame: str, force: Numbers, torque: Numbers) -> Any:
        """A WrenchStamped: force [N] and torque [N m] (3,) in the axes of `frame`."""
        pair = {"force": self.vector(force), "torque": self.vector(torque)}
        wrench = self.make("geometry_msgs/msg/Wrench", **pair)
        header = self.header(stamp, frame)
        return self.make("geometry_msgs/msg/WrenchStamped", header=header, wrench=wrench)

    def joint_state(
        self, stamp: int, names: Iterable[str], position: Numbers, velocity: Numbers,
        effort: Numbers,
    ) -> Any:  # fmt: skip
        """A JointState: [rad or m], per second, [N m or N], one number per joint each."""
        columns = zip(("position", "velocity", "effort"), (position, velocity, effort), strict=True)
        values = {key: np.asarray(column, float) for key, column in columns}
        return self.make(
            "sensor_msgs/msg/JointState", header=self.header(stamp, ""), name=list(names), **values
        )

    def transform(self, one: PoseSample) -> Any:
        """A TransformStamped: its parent is the sample's frame, its child the body."""
        place, turn = self.vector(one.position), self.quaternion(one.orientation)
        return self.make(
            "geometry_msgs/msg/TransformStamped",
            header=self.header(one.stamp, one.frame),
            child_frame_id=one.body,
            transform=self.make("geometry_msgs/msg/Transform", translation=place, rotation=turn),
        )

    def transforms(self, samples: Iterable[PoseSample]) -> Any:
        """Samples as /tf carries them."""
        return self.make("tf2_msgs/msg/TFMessage", transforms=[*map(self.transform, samples)])

    def marker(self, marker: Any, stamp: int) -> Any:
        """A viz.markers.Marker for rviz; stamp [ns]."""
        no_image = {"header": self.header(0, ""), "format": "", "data": b""}
        return self.make(
            "visualization_msgs/msg/Marker",
            header=self.header(stamp, marker.frame_id),
            ns=marker.ns,
            id=int(marker.id),
            type=int(marker.kind),
            action=int(marker.action),
            pose=self.pose(marker.position, marker.orientation),
            scale=self.vector(marker.scale),
            color=self.colour(marker.colour),
            lifetime=self.time(round(NANO * marker.lifetime), "Duration"),
            frame_locked=False,
            points=[self.point(point) for point in marker.points],
            colors=[self.colour(colour) for colour in marker.colours],
            texture_resource="",
            texture=self.make("sensor_msgs/msg/CompressedImage", **no_image),
            uv_coordinates=[],
            text=marker.text,
            mesh_resource="",
            mesh_file=self.make("visualization_msgs/msg/MeshFile", filename="", data=b""),
            mesh_use_embedded_materials=False,
        )

    def marker_array(self, markers: Iterable[Any], stamp: int) -> Any:
        """viz.markers.Markers of one moment; stamp [ns]."""
        every = [self.marker(marker, stamp) for marker in markers]
        return self.make("visualization_msgs/msg/MarkerArray", markers=every)

    def mocap(self, frame: MarkerFrame, *, missing: bool = True) -> Any:
        """A frame of labelled markers as a motion capture driver sends it.

        missing  whether missing markers are sent, at NaN
        """
        visible = [
            self.make(
                "mocap4r2_msgs/msg/Marker",
                id_type=0, marker_index=k, marker_name=name, translation=self.point(place),
            )
            for k, (name, place) in enumerate(zip(frame.names, frame.points, strict=True))
            if missing or np.isfinite(place).all()
        ]  # fmt: skip
        header, number = self.header(frame.stamp, frame.frame), int(frame.number)
        return self.make(
            "mocap4r2_msgs/msg/Markers", header=header, frame_number=number, markers=visible
        )

    def cloud(
        self, header: Any, cloud: Cloud, columns: Mapping[str, np.ndarray] | None = None
    ) -> Any:
        """An unorganised PointCloud2 of FLOAT32 x, y, z (and rgb, and further columns)."""
        fields, data = packed.encode(cloud, columns)
        step = 4 * len(fields)
        return self.make(
            "sensor_msgs/msg/PointCloud2",
            header=header,
            height=1,
            width=len(cloud),
            fields=[self.make("sensor_msgs/msg/PointField", **one._asdict()) for one in fields],
            is_bigendian=False,
            point_step=step,
            row_step=step * len(cloud),
            data=data,
            is_dense=True,
        )
