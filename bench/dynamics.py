"""Recursive dynamics beside Pinocchio: CPU microseconds per call, one thread, one run.

UR5, Solo12 and a humanoid at random states, each function called for one state after the other in
compiled code; the least of many rounds, ours and Pinocchio's in turn.  Pinocchio is that of the
PyPI package `pin`: its headers are compiled here around its library (some minutes, once), with the
instructions that the library was compiled for.  Without compiler or `pin` it is left out.

    growth   exponent of the time over the number of links, chains of 8 to 64 hinges
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.robots.tree import load_tree

from .chain import growth

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = {  # file, whether its base floats
    "ur5": (ROOT / "urdf" / "ur5.urdf", False),
    "solo12": (ROOT / "data" / "robots" / "solo12.urdf", True),
    "humanoid": (ROOT / "data" / "robots" / "simple_humanoid.urdf", True),
}
FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics",
             "inverse_dynamics_derivatives", "forward_dynamics_derivatives")  # fmt: skip
LENGTHS = (8, 16, 32, 64)
DEFINES = ("BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
           "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_FUSION_INVOKE_MAX_ARITY=12",
           "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION")  # fmt: skip
"""What `pin` was compiled with."""


def states(model, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q (count, position_size), qd and tau (count, n)."""
    rng = np.random.default_rng(seed)
    n = model.velocity_size
    q = [model.moved(model.neutral(), rng.uniform(-1, 1, n)) for _ in range(count)]
    return (np.array(q), *rng.uniform(-1, 1, (2, count, n)))


def ours(model, given, repeats: int) -> dict[str, float]:
    """Least microseconds per call of every function."""
    return {name: 1e6 * min(model.seconds(name, *given) for _ in range(repeats))
            for name in FUNCTIONS}  # fmt: skip


def chain(count: int):
    """Hinges about random axes, one link on the other."""
    rng = np.random.default_rng(count)
    joints, links = [], []
    for i in range(count):
        axis = rng.normal(size=3)
        joints.append(_engine.TreeJoint(f"j{i}", "revolute", i - 1, r=rng.uniform(-0.2, 0.2, 3),
                                        axis=axis / np.linalg.norm(axis)))  # fmt: skip
        links.append(_engine.TreeLink(f"l{i}", 1.0, rng.uniform(-0.1, 0.1, 3), 0.01 * np.eye(3)))
    return _engine.ArticulatedModel(joints, links)


def compile_peer(folder: Path) -> Path | None:
    """Pinocchio's side of the benchmark; None where it cannot be compiled."""
    try:
        import pinocchio
    except ImportError as error:
        print(f"dynamics: pinocchio is left out: {error}", file=sys.stderr, flush=True)
        return None
    prefix = next(p for p in Path(pinocchio.__file__).parents if p.name == "cmeel.prefix")
    program = folder / "dynamics_pinocchio"
    eigen = next((p for p in ("/usr/include/eigen3", "/usr/local/include/eigen3")
                  if Path(p, "Eigen").is_dir()), "/usr/include/eigen3")  # fmt: skip
    command = ["g++", "-std=c++17", "-O2", "-w", "-DNDEBUG", *(f"-D{d}" for d in DEFINES),
               f"-I{prefix / 'include'}", f"-I{eigen}",
               str(Path(__file__).with_name("dynamics_pinocchio.cpp")), "-o", str(program),
               f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}",
               "-lpinocchio_default"]  # fmt: skip
    print("dynamics: compiling Pinocchio's side, some minutes", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        print(f"dynamics: pinocchio is left out: {error}", file=sys.stderr, flush=True)
        return None
    if done.returncode:
        print(f"dynamics: pinocchio is left out: {done.stderr[-500:]}", file=sys.stderr, flush=True)
        return None
    return program


def peer(program: Path, path: Path, floats: bool, given, repeats: int) -> dict[str, float]:
    """Least microseconds per call of Pinocchio's functions; it reads the URDF by itself."""
    import pinocchio as pin

    free = (pin.JointModelFreeFlyer(),) if floats else ()
    model = pin.buildModelFromUrdf(str(path), *free)
    rows = [[model.njoints]]
    for i in range(1, model.njoints):
        joint, place, body = model.joints[i], model.jointPlacements[i], model.inertias[i]
        kind = joint.shortname()
        axis = joint.extract().axis if "Unaligned" in kind else np.zeros(3)
        rows.append([model.parents[i], kind, *axis, *place.rotation.ravel(), *place.translation,
                     body.mass, *body.lever, *body.inertia.ravel()])  # fmt: skip
    q = given[0]
    if (q.shape[1], given[1].shape[1]) != (model.nq, model.nv):
        raise RuntimeError(f"{path}: Pinocchio reads {model.nq} positions, ours are {q.shape[1]}")
    rows.append([len(q), repeats])
    rows += [[*a, *b, *c] for a, b, c in zip(*given, strict=True)]
    text = "\n".join(" ".join(x if isinstance(x, str) else repr(float(x)) if isinstance(x, float)
                              else str(int(x)) for x in row) for row in rows)  # fmt: skip
    file = program.with_suffix(".txt")
    file.write_text(text)
    done = subprocess.run([program, file], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def main(out: Path | None = None, *, count: int = 200, repeats: int = 100) -> dict:
    """Figures by robot, and growth."""
    figures: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        program = compile_peer(Path(folder))
        for name, (path, floats) in ROBOTS.items():
            model = load_tree(path, floating_base=floats).model
            given = states(model, count)
            found = {"us": ours(model, given, repeats)}
            if program is not None:
                found["pinocchio_us"] = peer(program, path, floats, given, repeats)
                again = ours(model, given, repeats)  # the machine may have been busy
                found["us"] = {key: min(value, again[key]) for key, value in found["us"].items()}
                wanted = found["pinocchio_us"]
                wanted["forward_dynamics"] = min(wanted["forward_dynamics"],
                                                 wanted.pop("forward_dynamics_local"))  # fmt: skip
                found["ratio"] = {key: found["us"][key] / wanted[key] for key in FUNCTIONS}
            figures[name] = found
    times = []
    for length in LENGTHS:
        model = chain(length)
        times.append(ours(model, states(model, 20), repeats)["forward_dynamics"])
    figures["growth"] = {
        "us": dict(zip(map(str, LENGTHS), times, strict=True)),
        "exponent": float(growth(LENGTHS, times)),
    }
    return figures


if __name__ == "__main__":
    print(main())
