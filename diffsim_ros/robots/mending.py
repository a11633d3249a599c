"""Inertias of published URDFs that no body has, but nearly: mended, and named."""

from __future__ import annotations

import numpy as np

from diffsim_ros.errors import InputError

LIGHT = 1e-3
"""Mass [kg] up to which a link is negligible: its inertia is mended, however wrong it is."""
SLIGHT = 0.05
"""Share of the largest second moment by which the least of a heavier link may be below zero."""
NO_INERTIA = 1e-15
"""Moments [kg m^2] up to which they are rounding of zero."""
RULE = "principal moments >= 0, none above the sum of the others [kg m^2]"


def physical_inertia(
    place: str, key: str, mass: float, inertia: np.ndarray, *, far: bool = False
) -> tuple[np.ndarray, str]:
    """Inertia (3, 3) [kg m^2] about the centre of mass that a body can have, and what was mended.

    With second moments S = tr(I)/2 1 - I, which are >= 0 for every mass distribution: I itself and
    "" where S >= 0; where S is slightly below, or the mass negligible, or `far`, the nearest: the
    inertia of S with its negative eigenvalues at zero, and a sentence.  InputError naming `place`
    and `key` for others, with what is wrong and the nearest.
    """
    if not np.all(np.isfinite(inertia)):
        raise InputError(place, key, np.round(inertia, 9).tolist(), RULE)
    if np.abs(inertia).max() <= NO_INERTIA:
        return np.zeros((3, 3)), f"{key}: a point mass" if inertia.any() else ""
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] >= 0 and moments[-1] <= moments[:-1].sum() * (1 + 1e-6) + 1e-12:
        return inertia, ""
    second, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    kept = axes @ np.diag(np.maximum(second, 0.0)) @ axes.T
    found = np.trace(kept) * np.eye(3) - kept
    before, after = ("[" + ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(one)) + "]"
                     for one in (inertia, found))  # fmt: skip
    slight = mass <= LIGHT or second[0] >= -SLIGHT * max(second[-1], 0.0)
    if not slight and not (far and found.any()):
        raise InputError(place, key, f"principal moments {before}", RULE, _offer(found))
    return found, (
        f"{key}: no body has the principal moments {before} kg m^2: taken as {after} "
        f"(mass {mass:.6g} kg)"
    )


def _offer(inertia: np.ndarray) -> str:
    """An inertia (3, 3) as a URDF has it."""
    if not inertia.any():
        return "none is near: moments below zero; take that of the link's shape"
    pairs = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    numbers = " ".join(f'i{name}="{inertia[at]:.6g}"' for name, at in pairs.items())
    return f"`inertia: mend`, which takes the nearest that a body can have: {numbers}"
