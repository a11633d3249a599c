"""Against Pinocchio's SE3, Motion, Force, Inertia and MuJoCo's velocities, forces, inertias."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import spatial as sp
from diffsim_ros.errors import InputError
from tests.spatial.exact import BOUND, rotation

SEEDS = range(8)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=BOUND * max(1.0, np.abs(b).max()))


@pytest.fixture(scope="module")
def pin():
    return pytest.importorskip("pinocchio")


@pytest.mark.parametrize("seed", SEEDS)
def test_pinocchio_transforms_are_plxb(pin, seed):
    """SE3(R, p) is Plxb(R, p); its act is apply_inverse, its actInv is apply."""
    rng = np.random.default_rng(seed)
    (R1, R2), (p1, p2) = (rotation(rng), rotation(rng)), rng.normal(size=(2, 3))
    M1, M2, Y1, Y2 = pin.SE3(R1, p1), pin.SE3(R2, p2), sp.Plxb(R1, p1), sp.Plxb(R2, p2)
    product = M1 * M2
    same((Y1 * Y2).E, product.rotation)
    same((Y1 * Y2).r, product.translation)
    same(Y1.inverse().E, M1.inverse().rotation)
    same(Y1.inverse().r, M1.inverse().translation)
    same(sp.swap_blocks(Y1.inverse().motion_matrix()), M1.action)
    same(sp.swap_blocks(Y1.motion_matrix()), M1.actionInverse)
    same(sp.swap_blocks(Y1.inverse().force_matrix()), M1.dualAction)
    m, f = rng.normal(size=(2, 6))
    motion, force = pin.Motion(sp.to_linear_first(m)), pin.Force(sp.to_linear_first(f))
    same(motion.angular, m[:3])
    same(force.linear, f[3:])
    same(Y1.apply_inverse(m), sp.from_linear_first(M1.act(motion).vector))
    same(Y1.apply(m), sp.from_linear_first(M1.actInv(motion).vector))
    same(Y1.apply_transpose(f), sp.from_linear_first(M1.act(force).vector))
    same(Y1.apply_inverse_transpose(f), sp.from_linear_first(M1.actInv(force).vector))


@pytest.mark.parametrize("seed", SEEDS)
def test_pinocchio_products_and_inertias(pin, seed):
    rng = np.random.default_rng(seed)
    m, other, f = rng.normal(size=(3, 6))
    motion, force = pin.Motion(sp.to_linear_first(m)), pin.Force(sp.to_linear_first(f))
    crossed = motion.cross(pin.Motion(sp.to_linear_first(other)))
    same(sp.crossm(m, other), sp.from_linear_first(crossed.vector))
    same(sp.crossf(m, f), sp.from_linear_first(motion.cross(force).vector))
    same(sp.swap_blocks(sp.crossm_matrix(m)), motion.action)
    a, center, mass = rng.normal(size=(3, 3)), rng.normal(size=3), rng.uniform(0.5, 2)
    peer, b = pin.Inertia(mass, center, a @ a.T), sp.RigidInertia(mass, center, a @ a.T)
    same(sp.swap_blocks(b.matrix()), peer.matrix())
    same(b.multiply(m), sp.from_linear_first((peer * motion).vector))
    R, p = rotation(rng), rng.normal(size=3)
    M, Y = pin.SE3(R, p), sp.Plxb(R, p)
    same(sp.swap_blocks(Y.apply_transpose(b).matrix()), M.act(peer).matrix())
    same(sp.swap_blocks(Y.apply_inverse_transpose(b).matrix()), M.actInv(peer).matrix())
    order = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]  # Pinocchio's is xx xy yy xz yz zz
    same(b.parameters, peer.toDynamicParameters()[order])
    same(m @ b.multiply(m) / 2, peer.vtiv(motion) / 2)


def test_pinocchio_frames_of_reference(pin):
    """LOCAL is here; LOCAL_WORLD_ALIGNED and WORLD by from_world_axes."""
    rng = np.random.default_rng(3)
    model = pin.buildSampleModelManipulator()
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model) + 0.3, rng.normal(size=model.nv))
    joint = model.njoints - 1
    R, p = data.oMi[joint].rotation, data.oMi[joint].translation
    frames = pin.ReferenceFrame
    local, aligned, world = (
        sp.from_linear_first(pin.getVelocity(model, data, joint, frame).vector)
        for frame in (frames.LOCAL, frames.LOCAL_WORLD_ALIGNED, frames.WORLD)
    )
    same(sp.from_world_axes(aligned, R), local)
    same(sp.from_world_axes(world, R, p), local)
    same(sp.to_world_axes(local, R), aligned)
    same(sp.to_world_axes(local, R, p), world)
    same(sp.Plxb(R, p).apply(world), local)
    force = rng.normal(size=6)
    same(sp.to_world_axes(force, R, p, force=True), sp.Plxb(R, p).apply_transpose(force))
    back = sp.from_world_axes(sp.to_world_axes(force, R, p, force=True), R, p, force=True)
    same(back, force)


MJCF = """
<mujoco><worldbody>
  <body pos=".1 .2 .3"><freejoint/>
    <inertial pos=".1 -.2 .05" quat=".9 .1 .3 -.2" mass="1.3" diaginertia=".05 .04 .03"/>
    <body name="arm" pos=".2 0 .1" quat=".8 .1 .2 .5"><joint axis="0 1 0"/>
      <inertial pos="0 .1 .2" quat=".7 .5 -.3 .2" mass=".7" diaginertia=".02 .03 .04"/>
    </body>
  </body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def mujoco():
    return pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def scene(mujoco):
    """A free body that carries an arm, in motion, with a wrench on the arm."""
    rng = np.random.default_rng(1)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    q = rng.normal(size=4)
    data.qpos[:] = np.concatenate([rng.normal(size=3), q / np.linalg.norm(q), [0.4]])
    data.qvel[:] = rng.normal(size=model.nv)
    data.xfrc_applied[2] = rng.normal(size=6)
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    return model, data


def pose(data, body):
    return data.xmat[body].reshape(3, 3), data.xpos[body]


def center(model, data, body):
    return data.subtree_com[model.body_rootid[body]]


def test_mujoco_velocities(mujoco, scene):
    model, data = scene
    for body in (1, 2):
        R, p = pose(data, body)
        found = sp.from_mujoco_com(data.cvel[body], R, p, center(model, data, body))
        measured = np.zeros(6)  # of the body's frame, in its axes
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, measured, 1)
        same(found, measured)
        same(sp.to_mujoco_com(found, R, p, center(model, data, body)), data.cvel[body])
    free = sp.from_mujoco_free(data.qvel[:6], pose(data, 1)[0])
    same(free, sp.from_mujoco_com(data.cvel[1], *pose(data, 1), center(model, data, 1)))
    same(sp.to_mujoco_free(free, pose(data, 1)[0]), data.qvel[:6])
    q = sp.from_scalar_first(data.qpos[3:7])
    same(Rotation.from_quat(q).as_matrix(), pose(data, 1)[0])
    same(sp.to_scalar_first(q), data.qpos[3:7])


def test_mujoco_forces(scene):
    """xfrc_applied: force first, about the centre of mass; cfrc_ext: moment first, as cvel."""
    model, data = scene
    R, p = pose(data, 2)
    applied = sp.from_linear_first(data.xfrc_applied[2])
    found = sp.from_world_axes(applied, R, p - data.xipos[2], force=True)
    same(found, sp.from_mujoco_com(data.cfrc_ext[2], R, p, center(model, data, 2), force=True))
    back = sp.to_mujoco_com(found, R, p, center(model, data, 2), force=True)
    same(back, data.cfrc_ext[2])
    motion = sp.from_mujoco_com(data.cvel[2], R, p, center(model, data, 2))
    same(found @ motion, data.cfrc_ext[2] @ data.cvel[2])  # power


def test_mujoco_inertias(scene):
    model, data = scene
    for body in (1, 2):
        R, p = pose(data, body)
        axes = Rotation.from_quat(sp.from_scalar_first(model.body_iquat[body])).as_matrix()
        about = axes @ np.diag(model.body_inertia[body]) @ axes.T
        b = sp.RigidInertia(model.body_mass[body], model.body_ipos[body], (about + about.T) / 2)
        Y = sp.Plxb(R, p - center(model, data, body))
        same(Y.apply_transpose(b).parameters, sp.from_mujoco_cinert(data.cinert[body]))


def test_conversions_broadcast(scene):
    rng = np.random.default_rng(2)
    R = np.stack([rotation(rng) for _ in range(6)]).reshape(2, 3, 3, 3)
    x, offset = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3, 3))
    for force in (False, True):
        moved = sp.from_world_axes(x, R, offset, force=force)
        assert moved.shape == (2, 3, 6)
        same(moved[1, 2], sp.from_world_axes(x[1, 2], R[1, 2], offset[1, 2], force=force))
        same(sp.to_world_axes(moved, R, offset, force=force), x)


def test_bad_conversions_are_refused():
    with pytest.raises(InputError, match=r"from_linear_first: x: .*shape \(\.\.\., 6\)"):
        sp.from_linear_first(np.zeros(5))
    with pytest.raises(InputError, match=r"from_mujoco_free: R: .*rotations.*from_matrix"):
        sp.from_mujoco_free(np.zeros(6), 1.1 * np.eye(3))
    with pytest.raises(InputError, match=r"to_world_axes: offset: .*finite"):
        sp.to_world_axes(np.zeros(6), np.eye(3), [0, 0, np.inf])
    with pytest.raises(InputError, match="swap_blocks: matrix"):
        sp.swap_blocks(np.eye(5))
    with pytest.raises(InputError, match="from_mujoco_cinert: cinert"):
        sp.from_mujoco_cinert(np.zeros(9))
