"""Hard contact of the velocity stepper: its laws, closed forms, derivatives, and beside penalties.

Problems of contact are random: Delassus matrices of a few bodies with redundant contacts, in both
friction cones. Derivatives are checked by the implicit function theorem and by going back through
the sweeps [Qa Alg. 1], with the CPU time of each; those of motions over random scenes (boxes and
chains of boxes thrown onto the ground and onto each other) against central differences on the same
branches, by the bars of the other studies.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.rotation import quat_exp

from .common import judged

G, HALF, MASS = 9.81, 0.05, 0.4
CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T.astype(float)
LAW = {"k_n": 2e5, "c_n": 0, "k_t": 50.0}  # of the implicit stepper
EPSILONS = 10.0 ** np.arange(-4, -8.1, -0.5)


def options(step: float, **more):
    """Of the velocity stepper, with the branches of every contact."""
    return _engine.Options(step=step, stepper="velocity", record_modes=True, **more)


def run(scene, steps: int, how, **more):
    """A rollout that must succeed."""
    return at(scene, scene.values, steps, how, **more)


def at(scene, p, steps: int, how, **more):
    """The same of these parameters."""
    r = _engine.rollout(scene, p, steps, how, **more)
    assert r.ok, r.message
    return r


def add_box(scene, name: str, position, inset: float = 0.0, **start) -> None:
    """A cube of 0.1 m with a contact point in every corner, `inset` to the sides."""
    moment = MASS * (2 * HALF) ** 2 / 6
    scene.add_rigid_body(name, mass=MASS, inertia=[moment] * 3 + [0] * 3, radius=HALF,
                         position=position, **start)  # fmt: skip
    scene.add_points(f"{name}_corners", bodies=[name] * 8,
                     local=CORNERS * (np.array([HALF] * 3) - [inset, inset, 0]))  # fmt: skip


def add_ball(scene, name: str, position, **start) -> None:
    """A ball of 0.1 m."""
    scene.add_rigid_body(name, mass=MASS, inertia=[0.4 * MASS * HALF**2] * 3 + [0] * 3,
                         position=position, radius=HALF, **start)  # fmt: skip
    scene.add_points(f"{name}_centre", bodies=[name], local=np.zeros((1, 3)), radius=HALF)


def random_problem(rng, cone: str):
    """A body or two with up to six contacts."""
    bodies, contacts = rng.integers(1, 3), rng.integers(1, 7)
    J = rng.normal(size=(3 * contacts, 6 * bodies))
    root = rng.normal(size=(6 * bodies, 6 * bodies))
    W = J @ np.linalg.solve(root @ root.T + np.eye(6 * bodies), J.T)
    return _engine.ContactProblem(
        W, J @ rng.normal(size=6 * bodies), np.zeros(contacts), rng.uniform(0, 1, contacts),
        np.full(contacts, 1e-7), cone=cone,
    ), W  # fmt: skip


def contact_problems(count: int, seed: int) -> dict:
    """How far solutions are from the laws, and both gradients beside differences."""
    rng = np.random.default_rng([seed, 1])
    residual, failed, implicit, swept, cost = [], 0, [], [], np.zeros(2)
    sweeps = 300
    for k in range(count):
        problem, _ = random_problem(rng, ("cone", "pyramid")[k % 2])
        if not problem.solve():
            failed += 1
            continue
        residual.append(problem.residual())
        bar = rng.normal(size=len(problem.impulses))
        begin = time.process_time()
        _, exact = problem.gradient(bar)
        cost[0] += time.process_time() - begin
        begin = time.process_time()
        _, back = problem.sweep_gradient(sweeps, bar)
        cost[1] += time.process_time() - begin
        direction = rng.normal(size=len(bar))
        slope = _difference(problem, direction, bar)
        if slope is None:
            continue
        size = max(abs(slope), 1e-3 * np.linalg.norm(exact) * np.linalg.norm(direction), 1e-12)
        implicit.append(abs(exact @ direction - slope) / size)
        swept.append(abs(back @ direction - slope) / size)
    return {
        "problems": count, "not_solved": failed, "largest_residual": float(max(residual)),
        "residual_of_95_percent": _p95(residual),
        "compared_with_differences": len(implicit),
        "implicit_error": {"median": float(np.median(implicit)), "p95": _p95(implicit)},
        "sweeps_error": {"median": float(np.median(swept)), "p95": _p95(swept)},
        "sweeps": sweeps, "cost_of_sweeps_over_implicit": float(cost[1] / cost[0]),
    }  # fmt: skip


def _p95(values) -> float:
    return float(np.quantile(values, 0.95))


def _difference(problem, direction, bar) -> float | None:
    """Central difference of bar . impulses by c0, where the modes stay."""
    start, modes = problem.impulses.copy(), problem.modes.copy()
    found = None
    for eps in (1e-4, 1e-5, 1e-6):
        ends = []
        for sign in (1, -1):
            problem.shift(sign * eps * direction)
            ok = problem.solve() and np.array_equal(problem.modes, modes)
            ends.append(problem.impulses @ bar if ok else np.nan)
            problem.shift(-sign * eps * direction)
        if np.isfinite(ends).all():
            found = (ends[0] - ends[1]) / (2 * eps)
    problem.impulses = start
    problem.solve()
    return found


def incline(angle: float, c_f: float):
    """A box on a plane inclined about y, and the direction down it."""
    scene = _engine.Scene()
    n = np.array([np.sin(angle), 0, np.cos(angle)])
    add_box(scene, "box", HALF * n, orientation=quat_exp(np.array([0, angle, 0])))
    scene.add_contact("floor", points="box_corners", sdf=_engine.Plane(list(n), 0), c_f=c_f, **LAW)
    return scene, np.array([np.cos(angle), 0, -np.sin(angle)])


def closed_forms() -> dict:
    """Sliding, standing, a stack of ten, impacts."""
    slides, stands = [], []
    for angle in (0.2, 0.4, 0.7):
        for share in (0.3, 0.9, 1.1, 2.0):
            c_f = share * np.tan(angle)
            scene, down = incline(angle, c_f)
            r = run(scene, 200, options(2e-3))
            a = max(0.0, G * (np.sin(angle) - c_f * np.cos(angle)))
            error = np.abs(r.velocity[:, 0] @ down - a * r.time).max()
            (slides if a > 0 else stands).append(error / (G * r.time[-1]))
    r = run(stack(10), 500, options(2e-3))
    loads = [r.contact_force[-1][8 * k : 8 * k + 8, 2].sum() for k in range(10)]
    right = MASS * G * np.arange(10, 0, -1)
    ratios = [found for e in (0.3, 0.6, 0.9) for found in restitution_errors(e, 1e-3, 500)]
    return {
        "slides_error": float(max(slides)), "stands_error": float(max(stands)),
        "stack_speed": float(np.abs(r.velocity[-1]).max()),
        "stack_load_error": float(np.abs(np.array(loads) / right - 1).max()),
        "restitution_error": float(max(ratios)),
    }  # fmt: skip


def restitution_errors(e: float, h: float, steps: int) -> list[float]:
    """Of a dropped ball's impacts, the velocities taken to the time of impact within the step."""
    r = run(ball(e, 0.4), steps, options(h))
    z, v = r.position[:, 0, 2] - HALF, r.velocity[:, 0, 2]
    found = []
    for i in np.flatnonzero((v[:-1] < -0.5) & (v[1:] > 0)):
        # ((h + s) (v - g s) - (h - s) v)/2 = -z: where it is after s
        b = v[i] - G * h / 2
        s = (b + np.sqrt(b * b + 2 * G * z[i])) / G
        # velocities are those of half a step before
        found.append(abs((v[i + 1] + G * (h / 2 - s)) / (G * (s + h / 2) - v[i]) - e))
    return found


def stack(count: int):
    """Boxes on each other, on the ground."""
    scene = _engine.Scene()
    for k in range(count):
        add_box(scene, f"b{k}", [0, 0, HALF * (1 + 2 * k)], inset=0.005)
        sdf = _engine.Box([HALF] * 3) if k else _engine.Plane([0, 0, 1], 0)
        on = {"carrier": f"b{k - 1}"} if k else {}
        scene.add_contact(f"c{k}", points=f"b{k}_corners", sdf=sdf, c_f=0.5, **LAW, **on)
    return scene


def ball(e: float, height: float, **start):
    """A ball above the ground."""
    scene = _engine.Scene()
    add_ball(scene, "ball", [0, 0, HALF + height], **start)
    scene.add_contact("floor", points="ball_centre", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3,
                      restitution=e, **LAW)  # fmt: skip
    return scene


def random_scene(seed: int):
    """Boxes, free or in a chain of hinges and balls, thrown onto the ground and each other."""
    rng = np.random.default_rng([seed, 2])
    scene = _engine.Scene()
    count = int(rng.integers(1, 4))
    joined = rng.random() < 0.6
    height = 0.1
    for k in range(count):
        turn = quat_exp(rng.normal(size=3) * 0.5)
        velocity = [*rng.normal(size=2), -rng.uniform(0.5, 2)]
        add_box(scene, f"b{k}", [0.14 * k * joined, 0, height + 0.15 * k * (not joined)],
                orientation=turn, velocity=velocity,
                angular_velocity=2 * rng.normal(size=3))  # fmt: skip
        scene.add_contact(f"g{k}", points=f"b{k}_corners", sdf=_engine.Plane([0, 0, 1], 0),
                          c_f=rng.uniform(0.1, 0.8), restitution=rng.choice([0.0, 0.5]),
                          **LAW)  # fmt: skip
        if k and joined:
            kind = str(rng.choice(["hinge", "ball"]))
            axis = {"axis": [0, 1, 0]} if kind == "hinge" else {}
            scene.add_joint(f"j{k}", kind=kind, body_a=f"b{k - 1}", body_b=f"b{k}",
                            position=[0.14 * k - 0.07, 0, height], reduced=True,
                            friction_damping=0.002, **axis)  # fmt: skip
        elif k:
            scene.add_contact(f"on{k}", points=f"b{k}_corners", sdf=_engine.Box([HALF] * 3),
                              carrier=f"b{k - 1}", c_f=0.4, restitution=0.2, **LAW)  # fmt: skip
    return scene, rng


def derivatives(count: int, seed: int) -> dict:
    """Directions over random scenes: S against lambda, and against differences."""
    errors, pairs, shaken, none, touched = [], [], [], 0, 0
    for k in range(count):
        scene, rng = random_scene(1000 * seed + k)
        p = scene.values
        for i, one in enumerate(scene.parameters):
            if one.name.endswith("surface_offset"):  # at 0 a box's pieces meet where points touch
                p[i] = 1e-5
        without = ("k_n", "k_t", "c_n", "anchor", "axis_rotation", "j1.position", "j2.position")
        active = [
            i for i, one in enumerate(scene.parameters)
            if one.lower < p[i] < one.upper and not any(word in one.name for word in without)
        ]  # fmt: skip
        how = options(1e-3)
        r = at(scene, p, 80, how, active=active, mode="sensitivity")
        touched += bool(r.modes.any())
        g = np.zeros((len(r.time), scene.ndof))
        offsets = [scene.dof_offset(name) for name in scene.body_names]
        for o in offsets:
            g[-1, o : o + 3] = rng.normal(size=3)
        exact = np.einsum("fd,fda->a", g, r.dx)
        back = at(scene, p, 80, how, active=active, mode="checkpoint").gradient(g, 0 * g)
        pairs.append(np.abs(back - exact).max() / np.abs(exact).max())
        # Redundant contacts: S itself feels the last digits of what it follows from.
        q = p * (1 + 1e-15 * np.random.default_rng(k).normal(size=len(p)))
        near = _engine.rollout(scene, q, 80, how, active=active, mode="sensitivity")
        moved = np.einsum("fd,fda->a", g, near.dx) - exact
        shaken.append(np.abs(moved).max() / np.abs(exact).max())
        unit = np.maximum(np.abs(p[active]), 0.1)
        for _ in range(3):
            d = rng.normal(size=len(active))
            d /= np.linalg.norm(d)
            found = []
            for eps in EPSILONS:
                ends = []
                for sign in (1, -1):
                    q = p.copy()
                    q[active] += sign * eps * unit * d
                    m = _engine.rollout(scene, q, 80, how)
                    same = m.ok and m.mode_hash == r.mode_hash
                    value = sum(g[-1, o : o + 3] @ m.position[-1, i]
                                for i, o in enumerate(offsets)) if same else np.nan  # fmt: skip
                    ends.append(value)
                found.append((ends[0] - ends[1]) / (2 * eps))
            slope = (exact * unit) @ d
            size = max(abs(slope), 1e-3 * np.linalg.norm(exact * unit))
            clean = np.array(found)[np.isfinite(found)]
            if len(clean) < 3:
                none += 1
                continue
            windows = np.lib.stride_tricks.sliding_window_view(clean, 3)
            best = windows[np.argmin(np.ptp(windows, axis=1))]
            errors.append((abs(np.median(best) - slope) / size, np.ptp(best) / size))
    errors = np.array(errors)
    passed = errors[:, 0] <= np.maximum(1e-6, 3 * errors[:, 1])
    return {
        "scenes": count, "scenes_with_contact": touched, "directions": len(errors),
        "without_plateau": none, "within_1e-6": int((errors[:, 0] <= 1e-6).sum()),
        "failed": int((~passed | (errors[:, 0] > 1e-4)).sum()),
        "largest_error": float(errors[:, 0].max()), "median_error": float(np.median(errors[:, 0])),
        "S_against_lambda": {"median": float(np.median(pairs)), "largest": float(max(pairs))},
        "S_at_parameters_1e-15_away": {
            "median": float(np.median(shaken)), "largest": float(max(shaken)),
        },
    }  # fmt: skip


def events() -> dict:
    """dz(T)/dh of a ball that lands, discrete beside the motion's own, over phases of a step."""
    found = {}
    for e in (0.0, 0.8):
        slopes = []
        for h in np.linspace(0.2, 0.2 + 0.002, 7):
            scene = ball(e, float(h))
            index = scene.index("ball.position.z")
            slopes.append(
                run(scene, 300, options(1e-3), active=[index], mode="sensitivity").dx[-1, 2, 0]
            )
        # z = e v t - g t^2/2 after the impact, v = (2 g h)^(1/2), dt/dh = -1/v, dv/dh = g/v
        v, t = np.sqrt(2 * G * 0.2), 0.3 - np.sqrt(2 * 0.2 / G)
        right = e * G * t / v - e + G * t / v if e else 0.0
        found[f"restitution_{e}"] = {"discrete": [float(min(slopes)), float(max(slopes))],
                                     "motion": float(right)}  # fmt: skip
    return found


SPUN = {"z": 0.2, "vz": 0.3, "vx": 0.7, "wy": 3.0}  # of a ball, [m, m/s, rad/s]
STARTS = ("ball.position.z", "ball.velocity.z", "ball.velocity.x", "ball.angular_velocity.y",
          "floor.restitution", "floor.c_f")  # fmt: skip


def bounce(start, duration: float) -> np.ndarray:
    """Closed form: (x, z, HALF wy) of a ball after `duration` [s], of z, vz, vx, wy, e, c_f."""
    z, vz, vx, wy, e, c_f = start
    x, left = 0.0, duration
    while True:
        fall = (vz + np.sqrt(vz * vz + 2 * G * z)) / G
        if fall > left:
            return np.array([x + vx * left, z + vz * left - G * left**2 / 2, HALF * wy])
        x, z, vz, left = x + vx * fall, 0.0, vz - G * fall, left - fall
        slip = vx - HALF * wy
        change = -np.clip(slip * 2 / 7, c_f * (1 + e) * vz, -c_f * (1 + e) * vz)
        vx, wy, vz = vx + change, wy - change / (0.4 * HALF), -e * vz


def bounces() -> dict:
    """A spinning ball's place after bounces, and its derivatives, beside the closed form."""
    found = {}
    for name, duration, c_f in (("one_rolls_off", 0.35, 0.3), ("one_slips", 0.35, 0.02),
                                ("three", 0.925, 0.3)):  # fmt: skip
        rows = {}
        for steps in (240, 480, 960):
            rows[f"h_1/{steps}"] = _bounce_errors(duration, c_f, 1 / steps)
        own = [row["relative_error"] for row in rows.values()]
        rows["order"] = [float(np.log2(a / b)) for a, b in itertools.pairwise(own)]
        found[name] = rows
    return found


def _bounce_errors(duration: float, c_f: float, h: float, phases: int = 16) -> dict:
    """Largest over phases of the first impact within a step."""
    place, height, relative, differences, between = [], [], [], [], []
    for z in SPUN["z"] + np.arange(phases) / phases * h * 2.0:  # it falls at 2 m/s
        start = np.array([z, SPUN["vz"], SPUN["vx"], SPUN["wy"], 0.8, c_f])
        right = np.array([
            (bounce(start + d, duration) - bounce(start - d, duration)) / 2e-7
            for d in 1e-7 * np.eye(6)
        ]).T  # fmt: skip
        r, slopes = _bounced(start, duration, h, "sensitivity")
        place.append(np.abs(r - bounce(start, duration)).max())
        height.append(abs(slopes[1, 0] - right[1, 0]))
        relative.append(np.linalg.norm(slopes - right) / np.linalg.norm(right))
        by_differences = np.array([
            (_bounced(start + d, duration, h)[0] - _bounced(start - d, duration, h)[0]) / 2e-6
            for d in 1e-6 * np.eye(6)
        ]).T  # fmt: skip
        differences.append(np.abs(slopes - by_differences).max())
    # The start at which the first impact passes into the next step: both sides of it.
    low, high = SPUN["z"], SPUN["z"] + h * 2.0
    first = _impact_step([low, *start[1:]], duration, h)
    while high - low > 2e-12:
        z = (low + high) / 2
        low, high = (z, high) if _impact_step([z, *start[1:]], duration, h) == first else (low, z)
    ends = [_bounced([side, *start[1:]], duration, h)[0] for side in (low, high)]
    between = float(np.abs(ends[1] - ends[0]).max())
    return {
        "place": float(max(place)), "dz_dz0": float(max(height)),
        "relative_error": float(max(relative)), "against_differences": float(max(differences)),
        "jump_where_the_step_of_impact_changes": between,
    }  # fmt: skip


def _bounced(start, duration: float, h: float, mode: str = "none"):
    """(x, z, HALF wy) at the end, and by STARTS."""
    z, vz, vx, wy, e, c_f = start
    scene = ball(e, z, velocity=[vx, 0, vz], angular_velocity=[0, wy, 0])
    p = scene.values
    p[scene.index("floor.c_f")] = c_f
    active = [scene.index(name) for name in STARTS]
    r = at(scene, p, round(duration / h), options(h), mode=mode,
           active=active if mode != "none" else [])  # fmt: skip
    end = np.array([r.position[-1, 0, 0], r.position[-1, 0, 2] - HALF,
                    HALF * r.angular_velocity[-1, 0, 1]])  # fmt: skip
    if mode == "none":
        return end, r
    return end, np.array([r.dx[-1, 0], r.dx[-1, 2], HALF * r.dv[-1, 4]])


def _impact_step(start, duration: float, h: float) -> int:
    v = _bounced(start, duration, h)[1].velocity[:, 0, 2]
    return int(np.flatnonzero(np.diff(v) > 0)[0])


def energy() -> dict:
    """Largest gain of energy of thrown cubes and balls over 2 s, of their first energy."""
    gains = {}
    for e, c_f in ((0.5, 0.0), (1.0, 0.0), (0.5, 0.3), (1.0, 0.3)):
        worst = 0.0
        for seed in range(10):
            rng = np.random.default_rng([seed, 3])
            for add in (add_box, add_ball):
                scene = _engine.Scene()
                add(scene, "body", [0, 0, 0.3], velocity=[*rng.normal(size=2), -1.0],
                    orientation=quat_exp(rng.normal(size=3)),
                    angular_velocity=3 * rng.normal(size=3))  # fmt: skip
                points = "body_corners" if add is add_box else "body_centre"
                scene.add_contact("floor", points=points, sdf=_engine.Plane([0, 0, 1], 0),
                                  c_f=c_f, restitution=e, **LAW)  # fmt: skip
                h = 1 / 240
                r = run(scene, round(2 / h), options(h))
                # velocities are those of half a step before: in free flight, of the next instant
                v = r.velocity[:, 0] - [0, 0, G * h / 2]
                moment = MASS * (2 * HALF) ** 2 / 6 if add is add_box else 0.4 * MASS * HALF**2
                E = (MASS * (v**2).sum(1) / 2 + moment * (r.angular_velocity[:, 0] ** 2).sum(1) / 2
                     + MASS * G * r.position[:, 0, 2])  # fmt: skip
                worst = max(worst, float((E - np.minimum.accumulate(E)).max() / E[0]))
        gains[f"restitution_{e:g}_c_f_{c_f:g}"] = worst
    return gains


def beside_penalties() -> dict:
    """Where a sliding box stops and how high a dropped ball bounces, by both steppers."""
    found = {}
    for k_n in (2e3, 2e4, 2e5):
        ends = []
        for stepper in ("velocity", "implicit"):
            scene = _engine.Scene()
            add_box(scene, "box", [0, 0, HALF], velocity=[1.0, 0, 0])
            scene.add_contact("floor", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0),
                              c_f=0.4, k_n=k_n, k_t=k_n / 50)  # fmt: skip
            r = run(scene, 500, _engine.Options(step=1e-3, stepper=stepper))
            ends.append(r.position[-1, 0, 0])
        found[f"k_n_{k_n:g}"] = {
            "stops_at_hard": float(ends[0]),
            "stops_at_penalty": float(ends[1]),
        }
    found["closed_form"] = 1 / (2 * 0.4 * G)
    return found


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All of it; bars on what is not a comparison."""
    figures = {
        "contact_problems": contact_problems(max(20, round(1000 * fraction)), seed),
        "closed_forms": closed_forms(),
        "derivatives": derivatives(max(6, round(100 * fraction)), seed),
        "events": events(),
        "bounces": bounces(),
        "energy_gained": energy(),
        "beside_penalties": beside_penalties(),
    }
    problems, closed, slopes = (figures[k] for k in
                                ("contact_problems", "closed_forms", "derivatives"))  # fmt: skip
    missed = []
    bounced = [row for rows in figures["bounces"].values() for name, row in rows.items()
               if name != "order"]  # fmt: skip
    gained = figures["energy_gained"].values()
    bars = [
        ("problems not solved", problems["not_solved"] / problems["problems"], 0.01),
        ("residual of the laws [m/s]", problems["largest_residual"], 1e-5),
        ("the same of 95 percent", problems["residual_of_95_percent"], 1e-9),
        ("error of sliding", closed["slides_error"], 1e-6),
        ("speed of what stands", closed["stands_error"], 1e-6),
        ("loads in a stack", closed["stack_load_error"], 1e-5),
        ("restitution", closed["restitution_error"], 1e-6),
        (
            "jump where a bounce passes into the next step [m]",
            max(row["jump_where_the_step_of_impact_changes"] for row in bounced),
            1e-10,
        ),
        (
            "derivatives of bounces against differences",
            max(row["against_differences"] for row in bounced),
            1e-7,
        ),
        (
            "derivatives of bounces beside the closed form, 1/480 s",
            max(rows["h_1/480"]["relative_error"] for rows in figures["bounces"].values()),
            0.05,
        ),
        ("lack of order", 1 - min(min(r["order"]) for r in figures["bounces"].values()), 0.3),
        ("energy gained", max(gained), 1e-4),
        # a motion's own rounding, magnified by slow sliding, may look like a plateau
        ("directions that fail", slopes["failed"] / slopes["directions"], 0.01),
        ("directions beyond 1e-6", 1 - slopes["within_1e-6"] / slopes["directions"], 0.05),
        ("largest error of a direction", slopes["largest_error"], 1e-4),
        (
            "S against lambda",
            slopes["S_against_lambda"]["largest"],
            max(1e-9, 10 * slopes["S_at_parameters_1e-15_away"]["largest"]),
        ),
        ("median of S against lambda", slopes["S_against_lambda"]["median"], 1e-12),
    ]
    missed += [f"{name}: {value:.3g} above {bar:g}" for name, value, bar in bars if value > bar]
    return judged(figures, missed)
