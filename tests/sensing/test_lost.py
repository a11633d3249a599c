"""Lost samples: every defect of every thing at every rate is found, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.sensing import lost
from diffsim_ros.sensing.check import check, examine
from diffsim_ros.sensing.lost import without_lost
from diffsim_ros.sensing.observation import Observation
from diffsim_ros.sensing.tosses import read_tosses
from validation.recording_defects import DEFECTS, RATES, THINGS, made

FOUND = {
    "zeros": {lost.ZERO}, "identity": {lost.IDENTITY, lost.ZERO}, "fixed pose": {lost.FIXED},
    "freeze": {lost.FROZEN}, "flip": {lost.FLIPPED}, "doubled": {lost.TWICE},
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("thing", THINGS)
def test_every_defect_is_found_and_nothing_else(thing, defect):
    for rate in RATES:
        for seed in (1, 2):
            one = made(thing, rate, defect, seed)
            stream = without_lost(one.stream)
            where = thing, rate, defect, seed, stream.lost
            if defect == "doubled":
                assert len(stream) == np.sum(~one.lost), where
            if defect in ("none", "nan", "drift") or (defect == "flip" and thing == "beam"):
                assert not stream.lost, where
                continue
            assert {each.reason for each in stream.lost} <= FOUND[defect], where
            counted = sum(each.count for each in stream.lost)
            assert counted == pytest.approx(one.lost.sum(), rel=0.02), where
            if defect in ("zeros", "identity", "fixed pose", "freeze"):
                missing = np.isnan(stream.position[:, 0]).any(axis=1)
                assert np.mean(missing == one.lost) > 0.998, where
            sentences = [f.text for f in examine(stream, assess=False).found if f.about == "lost"]
            assert len(sentences) == len(stream.lost) and f"{counted} of" in " ".join(sentences)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_rests_without_noise_is_no_freeze(seed):
    for thing in THINGS:
        one = made(thing, 240.0, "none", seed, noise=0.0)
        assert not without_lost(one.stream).lost


@pytest.mark.parametrize("defect", ["zeros", "identity", "fixed pose", "doubled", "nan", "flip"])
def test_a_rest_without_noise_beside_lost_samples_is_kept(defect):
    """Its one value occurs often too, and begins or ends at a gap."""
    for thing in THINGS:
        if defect == "flip" and thing == "beam":
            continue
        for rate, seed in ((75.0, 3), (150.0, 8), (333.0, 5)):
            one = made(thing, rate, defect, seed, noise=0.0)
            found = without_lost(one.stream).lost
            assert {each.reason for each in found} <= FOUND.get(defect, set()), (thing, rate)
            wanted = 0 if defect == "nan" else one.lost.sum()
            assert sum(each.count for each in found) == pytest.approx(wanted, rel=0.02)


def test_a_body_at_the_origin_is_measured_there():
    t = np.arange(200) / 100.0
    p = np.zeros((200, 1, 3))
    p[50:, 0, 0] = 0.5 * 0.2 * (t[50:] - t[50]) ** 2
    q = np.tile([0.0, 0.0, 0.0, 1.0], (200, 1, 1))
    stream = Observation(
        kind="poses", t=t, names=("body",), values={"position": p, "orientation": q}, source="a"
    )
    assert not without_lost(stream).lost


def test_zeros_count_for_no_ground_and_all_readers_agree(tmp_path):
    one = made("cube", 120.0, "zeros", 3)
    path = tmp_path / "cube.csv"
    table = np.column_stack([one.stream.t, one.stream.value])
    np.savetxt(path, table, delimiter=",", header="t,px,py,pz,qx,qy,qz,qw", comments="", fmt="%.8f")
    (examined,), unreadable = check([path])
    assert not unreadable and examined.refusal is None
    assert examined.heights.min() > 0.04
    (toss,) = read_tosses(path)
    assert len(toss) == np.sum(~one.lost)


def test_marker_without_any_number_is_left_out_by_name():
    one = made("beam", 120.0, "none", 1).stream
    values = {"position": np.concatenate([one.position, np.full_like(one.position, np.nan)], 1)}
    stream = without_lost(replace(one, names=("tip", "gone"), values=values))
    assert stream.names == ("tip",)
    assert [(each.reason, each.name) for each in stream.lost] == [(lost.NEVER, "gone")]


def test_two_publishers_of_joints_are_named():
    t = np.repeat(np.arange(40) / 125.0, 2)
    q = np.sin(t)[:, None] * [1.0, 0.5] + 0.3
    effort = np.ones_like(q)
    q[1::2], effort[1::2] = 0.0, np.nan
    stream = Observation(
        kind="joints", t=t, names=("a", "b"), values={"position": q, "effort": effort},
        source="bag", sensor="/joint_states",
    )  # fmt: skip
    with pytest.raises(InputError, match=r"two publishers on /joint_states.*positions of 0 and no"):
        without_lost(stream)


def test_zeros_of_joints_and_of_a_wrench_are_left_out():
    draw = np.random.default_rng(1)
    t = np.arange(400) / 125.0
    q = np.sin(t)[:, None] * [1.0, 0.5] + 0.7
    q[100:120] = 0.0
    log = Observation(kind="joints", t=t, names=("a", "b"), values={"position": q}, source="log")
    found = without_lost(log)
    assert len(found) == 380 and found.lost[0].count == 20
    force, torque = draw.normal(5.0, 0.1, (400, 1, 3)), draw.normal(0.0, 0.01, (400, 1, 3))
    force[50:60], torque[50:60] = 0.0, 0.0
    force[80:90] = np.nan
    wrench = Observation(
        kind="wrench", t=t, names=("sensor",), values={"force": force, "torque": torque}, source="w"
    )
    found = without_lost(wrench)
    assert len(found) == 380
    assert {each.reason: each.count for each in found.lost} == {lost.BLANK: 10, lost.ZERO: 10}
