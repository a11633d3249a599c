"""The JAX function of a rollout: its gradient is the engine's."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
jax = pytest.importorskip("jax", reason="JAX is optional: pip install 'diffsim_ros[jax]'")

import diffsim_ros as ds  # noqa: E402
from diffsim_ros import jax_layer  # noqa: E402
from tests.simulation.scenes import BALL_AND_CUBE  # noqa: E402

WRT = ["cube.velocity.y", "hard.c_f", "ball.young"]
OBSERVE = ["cube.position", "cube.orientation", "ball.velocity", "hard.force"]


@pytest.fixture(scope="module")
def scene():
    jax.config.update("jax_enable_x64", True)
    return ds.load_scene(BALL_AND_CUBE)


def test_motion_and_gradient_are_the_rollouts(scene):
    motion = jax_layer.rollout(scene, wrt=WRT, observe=OBSERVE)
    p = jax.numpy.array(scene.values.subset(WRT).array)
    own = scene.rollout(wrt=WRT, outputs=["hard.force"])
    rng = np.random.default_rng(0)
    by = {name: rng.normal(size=own.observed(name).shape) for name in OBSERVE}

    def objective(p):
        found = motion(p)
        return sum((jax.numpy.asarray(w) * found[name]).sum() for name, w in by.items())

    for function in (objective, jax.jit(objective)):
        value, gradient = jax.value_and_grad(function)(p)
        expected = sum(float((w * own.observed(name)).sum()) for name, w in by.items())
        assert float(value) == pytest.approx(expected)
        assert np.asarray(gradient) == pytest.approx(own.gradient(by).array, rel=1e-10)


def test_several_motions_and_vmap(scene):
    motion = jax_layer.rollout(scene, wrt=WRT, observe=["cube.position"], threads=2)
    P = jax.numpy.array(scene.values.subset(WRT).array) * jax.numpy.array([[1.0], [1.1]])

    def end(found):
        return (found["cube.position"][..., -1, :] ** 2).sum()

    together = jax.grad(lambda P: end(motion(P)))(P)
    each = jax.vmap(jax.grad(lambda p: end(motion(p))))(P)
    assert np.asarray(together) == pytest.approx(np.asarray(each), rel=1e-12)
    with pytest.raises(ds.InputError, match=r"shape \(3,\) or \(B, 3\)"):
        motion(P[:, :2])


def test_second_derivatives_are_refused(scene):
    motion = jax_layer.rollout(scene, wrt=WRT, observe=["cube.position"])
    p = jax.numpy.array(scene.values.subset(WRT).array)

    def height(p):
        return motion(p)["cube.position"][-1, 2]

    for second in (
        jax.hessian,
        lambda f: jax.jacrev(jax.grad(f)),
        lambda f: jax.jacfwd(jax.grad(f)),
    ):
        with pytest.raises(TypeError, match="cannot be differentiated again"):
            second(height)(p)
    mixed = jax.grad(lambda w: jax.grad(lambda p: (w * motion(p)["cube.position"][-1]).sum())(p)[0])
    with pytest.raises(TypeError, match="first derivatives alone"):
        mixed(jax.numpy.ones(3))


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "bool", "complex128"])
def test_values_are_floating_point_numbers(scene, kind):
    motion = jax_layer.rollout(scene, wrt=["cube.mass"], observe=["cube.position"])
    with pytest.raises(ds.InputError, match="floating point"):
        motion(jax.numpy.ones(1).astype(kind))
    with pytest.raises(ds.InputError, match="floating point"):
        motion(np.ones(1).astype(kind))
