"""The PyTorch function of a rollout: its gradient is the engine's."""

from dataclasses import replace

import numpy as np
import pytest

_engine = pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
torch = pytest.importorskip("torch", reason="PyTorch is optional: pip install 'diffsim_ros[torch]'")

from diffsim_ros import torch_layer  # noqa: E402
from diffsim_ros.errors import InputError, NotConverged  # noqa: E402
from diffsim_ros.simulation import load_scene  # noqa: E402
from tests.simulation.scenes import BALL_AND_CUBE  # noqa: E402

ALL = ("position", "velocity", "orientation", "angular_velocity")


@pytest.fixture(scope="module")
def model():
    return load_scene(BALL_AND_CUBE)


def call(model, p, **options):
    return torch_layer.rollout(model, p, **options)


def test_the_motion_and_its_gradient_are_the_engines(model):
    p = torch.tensor(model.engine.values, requires_grad=True)
    position, velocity = call(model, p)
    run = _engine.rollout(
        model.engine, model.engine.values, model.steps, model.options,
        active=list(range(len(p))), mode="store",
    )  # fmt: skip
    assert np.array_equal(position.detach().numpy(), run.position)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=position.shape), rng.normal(size=velocity.shape)
    ((torch.tensor(a) * position).sum() + (torch.tensor(b) * velocity).sum()).backward()
    gx, gv = np.zeros((len(run.time), model.engine.ndof)), None
    gv = gx.copy()
    for name in model.engine.body_names:
        first, count = model.engine.nodes_of(name)
        dof = model.engine.dof_offset(name)
        for i in range(count):
            gx[:, dof + 3 * i : dof + 3 * i + 3] = a[:, first + i]
            gv[:, dof + 3 * i : dof + 3 * i + 3] = b[:, first + i]
    exact = run.gradient(gx, gv)
    assert p.grad.numpy() == pytest.approx(exact, rel=1e-12, abs=1e-12 * np.abs(exact).max())


def test_every_observable_agrees_with_differences(model):
    rng = np.random.default_rng(1)
    names = ["ball.young", "ball.velocity.x", "ball.rotation.y", "cube.rotation.x", "cube.mass",
             "cube.angular_velocity.z", "hard.k_n", "hard.c_f", "gravity.z"]  # fmt: skip
    index = [model.engine.index(name) for name in names]
    p = torch.tensor(model.engine.values[index], requires_grad=True)
    found = call(model, p, observe=ALL, wrt=names)
    weights = [torch.tensor(rng.normal(size=x.shape)) for x in found]
    sum((w * x).sum() for w, x in zip(weights, found, strict=True)).backward()

    def objective(values):
        moved = call(model, torch.tensor(values[index]), observe=ALL, wrt=names)
        return sum(float((w * x).sum()) for w, x in zip(weights, moved, strict=True))

    for k, i in enumerate(index):
        size = max(abs(model.engine.values[i]), 1.0)
        best = np.inf
        for epsilon in (1e-5, 1e-6, 1e-7):
            shift = np.zeros(len(model.values))
            shift[i] = epsilon * size
            up, down = (objective(model.engine.values + s * shift) for s in (1, -1))
            slope = (up - down) / (2 * epsilon * size)
            best = min(best, abs(slope - float(p.grad[k])) * size)
        scale = np.abs(p.grad.numpy() * np.maximum(np.abs(model.engine.values[index]), 1)).max()
        assert best < 1e-6 * scale, model.engine.parameters[i].name


def test_batches_and_types(model):
    base = torch.tensor(model.engine.values)
    P = torch.stack([base, base * 1.01]).requires_grad_()
    (position,) = call(model, P, observe=["position"], threads=2)
    position[:, -1].square().sum().backward()
    for i in range(2):
        p = P[i].detach().clone().requires_grad_()
        (one,) = call(model, p, observe=["position"])
        one[-1].square().sum().backward()
        assert torch.equal(one, position[i])
        assert torch.equal(P.grad[i], p.grad)
    (single,) = call(model, base.float(), observe=["position"])
    assert single.dtype == torch.float32 and not single.requires_grad


def test_what_is_wrong_is_said(model):
    p = torch.tensor(model.engine.values)
    with pytest.raises(InputError, match=r"did you mean 'cube\.position'"):
        call(model, p, observe=["positon"])
    with pytest.raises(InputError, match="shape"):
        call(model, p[:-1])
    with pytest.raises(InputError, match=r"ball\.young"):
        call(model, p[:1], wrt=["ball.yung"])
    with pytest.raises(InputError, match="load_scene"):
        torch_layer.rollout(model.engine, p)
    hard = _engine.Options(step=0.004, max_iterations=1, max_halvings=0, tolerance=1e-14)
    with pytest.raises(NotConverged, match="motion 0: max_iterations: step"):
        call(replace(model, options=hard), p)


def test_threads_change_nothing_and_batches_are_the_engines(model):
    base, rng = torch.tensor(model.engine.values), np.random.default_rng(2)
    rows = [base * (1 + 0.01 * k) for k in range(5)]
    found, weights = {}, None
    for threads in (1, 0, 3):
        P = torch.stack(rows).requires_grad_()
        (x,) = call(model, P, observe=["position"], threads=threads)
        weights = torch.tensor(rng.normal(size=x.shape)) if weights is None else weights
        (weights * x).sum().backward()
        found[threads] = P.grad.numpy()
    assert np.array_equal(found[1], found[0]) and np.array_equal(found[1], found[3])
    active = list(range(len(base)))
    runs = _engine.rollout_batch(
        model.engine, torch.stack(rows).numpy(), model.steps, model.options,
        active=active, mode="checkpoint", threads=2,
    )  # fmt: skip
    for run, own, slope in zip(runs, weights.numpy(), found[1], strict=True):
        gx = np.zeros((len(run.time), model.engine.ndof))
        gx[:, model.tangents.dof] = own
        assert np.array_equal(run.gradient(gx, 0 * gx), slope)


def test_the_soft_minimum_is_that_of_goals(model):
    from diffsim_ros.inverse.goals import Goal
    from diffsim_ros.inverse.simulation_problem import body_slots

    p = torch.tensor(model.engine.values)
    (x,) = call(model, p, observe=["position"])
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    rows, target = np.arange(3, 9), np.array([0.9, 0.1, 0.05])
    slot = body_slots(model.engine)["cube"]
    term = Goal("cube", rows, target, 1.0, softness=0.07).term(run, slot, {})
    own = (x[:, slot.index] - torch.tensor(target)).requires_grad_()
    mask = torch.zeros(len(own), dtype=bool)
    mask[rows] = True
    found = torch_layer.soft_minimum(own, 0.07, mask)
    assert found.detach().numpy() == pytest.approx(term.residual[0], rel=1e-12)
    for i in range(3):
        (slope,) = torch.autograd.grad(found[i], own, retain_graph=True)
        assert slope.numpy()[rows] == pytest.approx(term.jx[0, :, i, :3], rel=1e-9, abs=1e-12)
        assert not slope.numpy()[~mask.numpy()].any()
    with pytest.raises(InputError, match="at least one of each"):
        torch_layer.soft_minimum(own, 0.07, mask & False)
    with pytest.raises(InputError, match="softness"):
        torch_layer.soft_minimum(own, 0.0)
    with pytest.raises(InputError, match="threads"):
        call(model, p, threads=-1)


def test_second_derivatives_are_refused(model):
    """They were zero, or lacked the simulator's part, without a word."""
    names = ["cube.velocity.y", "cube.mass"]
    p = torch.tensor([model.values[name] for name in names], dtype=torch.float64)

    def height(p):
        return call(model, p, wrt=names, observe="cube.position")[0][-1, 2]

    def squared(p):
        return (call(model, p, wrt=names, observe="cube.position")[0][-1] ** 2).sum()

    def mixed(w, p):
        return (w * call(model, p, wrt=names, observe="cube.position")[0][-1]).sum()

    for function in (height, squared, lambda p: height(p) * p[0]):
        with pytest.raises(TypeError, match="cannot be differentiated again"):
            torch.autograd.functional.hessian(function, p)
    for create in (False, True):
        with pytest.raises(TypeError, match="first derivatives alone"):
            w = torch.ones(3, dtype=torch.float64)
            torch.autograd.functional.hessian(mixed, (w, p), create_graph=create)
    own = p.clone().requires_grad_()
    (first,) = torch.autograd.grad(height(own), own, create_graph=True)
    (plain,) = torch.autograd.grad(height(own), own)
    assert torch.equal(first.detach(), plain) and plain.abs().max() > 0  # the first are given
    with pytest.raises(TypeError):
        first.sum().backward()


@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.uint8, torch.bool, torch.cdouble])
def test_values_are_floating_point_numbers(model, kind):
    with pytest.raises(InputError, match=r"floating point.*p\.double\(\)"):
        call(model, torch.ones(1).to(kind), wrt=["cube.mass"])
    with pytest.raises(InputError, match="a tensor"):
        call(model, [0.3], wrt=["cube.mass"])


def test_the_mass_of_a_uniform_body_is_its_inertia_too(model):
    """As in a file: the derivative is that of motions whose mass is given by name."""
    p = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    options = {"wrt": ["cube.mass"], "observe": ["cube.orientation"], "duration": 0.12}
    (turned,) = call(model, p, **options)
    turned[-1, 0].backward()
    ends = [
        model.rollout({"cube.mass": m}, duration=0.12)["cube"].orientation[-1, 0]
        for m in (0.3 + 1e-6, 0.3 - 1e-6)
    ]
    assert p.grad[0].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-7)
    every = torch.tensor(model.values.array, requires_grad=True)  # all numbers: each is its own
    call(model, every, observe=["cube.orientation"], duration=0.12)[0][-1, 0].backward()
    values = model.values
    total = sum(
        every.grad[values.index(f"cube.inertia.{k}")].item() * values[f"cube.inertia.{k}"] / 0.3
        for k in ("xx", "yy", "zz")
    )
    whole = every.grad[values.index("cube.mass")].item() + total
    assert whole == pytest.approx(p.grad[0].item(), rel=1e-8, abs=1e-12)
