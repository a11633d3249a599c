"""Forces, torques, tensions, stresses and energies of `diffsim simulate`: files, curves, topics."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.output import write_bytes, write_text
from diffsim_ros.rotation import quat_matrix

if TYPE_CHECKING:
    from diffsim_ros.sensing.bags import RecordedJoints, RecordedWrenches


def names(engine: Any, fields: bool) -> list[str]:
    """Outputs to ask a rollout for: those that are one; with `fields` also those per tetrahedron
    and per spring."""
    return [output.name for output in engine.outputs if fields or not output.items]


def write(stage: Path, engine: Any, rollout: Any) -> None:
    """Write outputs.csv, a line per recorded frame, and outputs.npz where there are fields.

    outputs.csv  t [s], then a column per number, NAME.quantity.part [unit]
    outputs.npz  t (F,) [s]; per field NAME.quantity (F, items) or (F, items, parts), SI units
    """
    head, columns, fields = ["t [s]"], [np.asarray(rollout.time)], {}
    values = rollout.outputs
    for output in _of(engine, rollout):
        value = values[output.name]
        if output.items:
            fields[output.name] = value
            continue
        head += [f"{output.name}{part} [{output.unit}]" for part in _ends(output)]
        columns += list(value.reshape(len(value), -1).T)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(np.stack(columns, axis=1).tolist())
    write_text(stage / "outputs.csv", text.getvalue())
    if fields:
        data = io.BytesIO()
        np.savez_compressed(data, t=columns[0], **fields)
        write_bytes(stage / "outputs.npz", data.getvalue())


def views(engine: Any, rollout: Any) -> list[dict[str, Any]]:
    """Curves of the report (curves.view): a group per contact, joint, motor, body."""
    from diffsim_ros.viz import curves, style

    values, groups = rollout.outputs, {}
    for output in _of(engine, rollout):
        if output.items:
            continue
        owner, _, quantity = output.name.rpartition(".")
        rows = values[output.name].reshape(len(rollout.time), -1).T
        lines = [
            curves.line(part or quantity, rollout.time, row, (style.SERIES[k], "line"))
            for k, (part, row) in enumerate(zip(output.parts or [""], rows, strict=True))
        ]
        title = f"{quantity.replace('_', ' ')} [{output.unit}]"
        groups.setdefault(owner or "scene", []).append(curves.panel(title, lines))
    return [curves.view("simulated", "time [s]", groups)]


def wrenches(model: Any, rollout: Any) -> list[RecordedWrenches]:
    """/CONTACT/wrench: what each contact exerts on its rigid body, in the body's frame of /tf."""
    from diffsim_ros.sensing.bags import RecordedWrenches

    tracks, values = [], rollout.outputs
    for contact in model.description["contact"]:
        name, body = contact["name"], contact["points"]
        if model.bodies[body].kind == "soft":
            continue
        turn = quat_matrix(rollout.orientation[:, model.engine.nodes_of(body)[0]])
        pair = (
            np.einsum("fij,fi->fj", turn, values[f"{name}.{part}"]) for part in ("force", "torque")
        )
        frame = f"{body}/simulated"
        tracks.append(RecordedWrenches(f"/{name}/wrench", frame, rollout.time, *pair))
    return tracks


def joint_states(model: Any, rollout: Any) -> list[RecordedJoints]:
    """/joint_states of the joints that motors drive; effort is the motors' torque or force."""
    from diffsim_ros.sensing.bags import RecordedJoints

    values, effort = rollout.outputs, {}
    for link in model.description["links"]:
        if link["type"] == "motor":
            name = link["name"]
            key = f"{name}.torque" if f"{name}.torque" in values else f"{name}.force"
            effort[link["joint"]] = effort.get(link["joint"], 0.0) + values[key]
    if not effort:
        return []
    engine = model.engine
    motions = [engine.joint_motion(name, engine.values, rollout) for name in effort]
    columns = [
        np.stack(parts, axis=1)
        for parts in (
            [motion["coordinate"] for motion in motions],
            [motion["rate"] for motion in motions],
            list(effort.values()),
        )
    ]
    return [RecordedJoints("/joint_states", rollout.time, list(effort), *columns)]


def _of(engine: Any, rollout: Any) -> Sequence[Any]:
    asked = rollout.outputs
    return [output for output in engine.outputs if output.name in asked]


def _ends(output: Any) -> list[str]:
    return [f".{part}" for part in output.parts] or [""]
