"""The geoms of an MJCF that touch, which pairs of them do, and by what law, as MuJoCo has it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix

from .geoms import Law, TouchingGeom, hull, law, law_of, meet
from .mjcf import Mjcf, touches
from .plain_names import plain

Array = np.ndarray
KINDS = {0: "plane", 1: "height_field", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder",
         6: "box", 7: "mesh"}  # fmt: skip


class MjcfContact:
    """Geoms by their number in the compiled model, and what MuJoCo would let touch.

    geoms    number -> TouchingGeom: its body a name of
             `mjcf.body_names`, its pose in that body's frame
    lacking  what of them has no counterpart here, in words
    """

    def __init__(self, mjcf: Mjcf) -> None:
        self.mjcf, self.model, self.lacking = mjcf, mjcf.model, []
        self.flags = mjcf.flags
        self.least_time = 2 * float(self.model.opt.timestep) if self.flags.refsafe else 0.0
        paired = {*self.model.pair_geom1.tolist(), *self.model.pair_geom2.tolist()}
        self.geoms: dict[int, TouchingGeom] = {}
        for g in range(self.model.ngeom):
            if touches(self.model, g) or g in paired:
                self._read(g)

    def _read(self, g: int) -> None:
        model = self.model
        kind = KINDS.get(int(model.geom_type[g]))
        name = plain(self.mjcf.name_of("geom", g)) or f"{kind}{g}"
        if kind is None:
            self.lacking.append(f"contact of geom {name}, a signed distance field")
            return
        b = int(model.geom_bodyid[g])
        lead, own = int(model.body_weldid[b]), np.eye(4)
        own[:3, :3] = quat_matrix(model.geom_quat[g][[1, 2, 3, 0]])
        own[:3, 3] = model.geom_pos[g]
        self.geoms[g] = TouchingGeom(
            name,
            self.mjcf.body_names[lead] if lead else None,
            self.mjcf.in_lead(b) @ own,
            kind,
            self._values(g, kind),
            int(model.geom_contype[g]),
            int(model.geom_conaffinity[g]),
            tuple(map(float, model.geom_friction[g])),
            int(model.geom_condim[g]),
            int(model.geom_priority[g]),
            float(model.geom_solmix[g]),
            tuple(map(float, model.geom_solref[g])),
            tuple(map(float, model.geom_solimp[g])),
            float(model.geom_margin[g]),
            self._mobility(lead),
            self.least_time,
        )

    def _mobility(self, lead: int) -> float:
        """By MuJoCo's approximation; of what turns about its centre alone by its mass.

        0 of the world and of mocap bodies.
        """
        if lead not in self.mjcf.inertials:
            return 0.0
        own = float(self.model.body_invweight0[lead, 0])
        return own or 1 / self.mjcf.inertials[lead].mass

    def _values(self, g: int, kind: str) -> dict[str, Any]:
        model, size = self.model, self.model.geom_size[g]
        if kind == "sphere":
            return {"radius": float(size[0])}
        if kind in ("capsule", "cylinder"):
            word = "length" if kind == "capsule" else "height"
            return {"radius": float(size[0]), word: 2 * float(size[1])}
        if kind == "box":
            return {"size": 2 * size}
        if kind == "ellipsoid":
            return {"half_axes": size.copy()}
        data = int(model.geom_dataid[g])
        if kind == "mesh":
            first, count = int(model.mesh_vertadr[data]), int(model.mesh_vertnum[data])
            return hull(np.array(model.mesh_vert[first : first + count], float))
        if kind == "height_field":
            rows, columns = int(model.hfield_nrow[data]), int(model.hfield_ncol[data])
            first, extent = int(model.hfield_adr[data]), model.hfield_size[data]
            share = np.array(model.hfield_data[first : first + rows * columns], float)
            return {"heights": extent[2] * share.reshape(rows, columns).T, "size": 2 * extent[:2]}
        return {}

    def pairs(self) -> list[tuple[int, int, Law]]:
        """Geoms that may touch, and how; each pair once."""
        if not self.flags.contact:
            return []
        found = {key: own for key in self._explicit_keys() if (own := self._explicit(*key))}
        excluded = set(self.model.exclude_signature.tolist())
        apart: dict[tuple[int, int], bool] = {}
        for g, h in combinations(sorted(self.geoms), 2):
            if (g, h) in found or not meet(self.geoms[g], self.geoms[h]):
                continue
            bodies = (int(self.model.geom_bodyid[g]), int(self.model.geom_bodyid[h]))
            if bodies not in apart:
                apart[bodies] = self._apart(*bodies, excluded)
            if not apart[bodies] and (own := law_of(self.geoms[g], self.geoms[h])):
                found[g, h] = own
        return [(*key, own) for key, own in found.items()]

    def _apart(self, a: int, b: int, excluded: set[int]) -> bool:
        """Whether MuJoCo leaves out every pair of geoms of two bodies."""
        model = self.model
        low, high = sorted((a, b))
        if (low << 16) + high in excluded or (high << 16) + low in excluded:
            return True
        one, other = int(model.body_weldid[a]), int(model.body_weldid[b])
        if one == other:
            return True
        up = [int(model.body_weldid[model.body_parentid[w]]) for w in (one, other)]
        return bool(self.flags.filterparent and one and other and (up[0] == other or up[1] == one))

    def _explicit_keys(self) -> list[tuple[int, int]]:
        ends = zip(self.model.pair_geom1.tolist(), self.model.pair_geom2.tolist(), strict=True)
        return [(min(pair), max(pair)) for pair in ends if set(pair) <= set(self.geoms)]

    def _explicit(self, g: int, h: int) -> Law | None:
        """Of a `pair`, which overrules masks, exclusions and the geoms' own laws."""
        k, model = self._explicit_keys().index((g, h)), self.model
        slide, other, spin, roll, _ = map(float, model.pair_friction[k])
        if slide != other and model.pair_dim[k] > 1:
            self.lacking.append(f"the second friction coefficient of pair {k}")
        mobility = self.geoms[g].mobility + self.geoms[h].mobility
        if not mobility:
            return None
        margin = float(model.pair_margin[k])
        return law((slide, spin, roll), int(model.pair_dim[k]),
                   tuple(map(float, model.pair_solref[k])), tuple(map(float, model.pair_solimp[k])),
                   1 / mobility, margin, self.least_time)  # fmt: skip
