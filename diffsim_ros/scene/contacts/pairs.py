"""Contact of bodies with each other: `pairs` of a contact, as single contacts.

Each body's contact spheres touch the surface of the other one's shape, with half of k_n and k_t on
either side; a body whose contact points are all there is of it (a sphere, a particle, vertices of a
soft body) touches with the whole, and its surface is touched by no others. Points of a kinematic
body come in addition, with the whole: those of the body that moves share nothing with them.
Values of two materials are combined as springs in series are, and friction as Drake combines it:

    k_n = k_a k_b/(k_a + k_b),  c_n = (k_b c_a + k_a c_b)/(k_a + k_b),  c_f = 2 c_a c_b/(c_a + c_b)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from diffsim_ros.errors import listed
from diffsim_ros.fields import REQUIRED, Field, Section, join, present
from diffsim_ros.scene.bodies import Body
from diffsim_ros.scene.contacts import Contact
from diffsim_ros.scene.materials import NO_MATERIAL, ContactValues, Material
from diffsim_ros.scene.parts import Parts

MOST_NAMES = 6
"""Of bodies in a warning."""
OF_CONTACT = Contact.section()
LIST = Field("list", "pairs of bodies")
PAIRS: Section = {
    "pairs": Field(
        "any",
        "instead of points and against: bodies that touch each other, [[a, b], ...], or `all`: "
        "every two with a shape that joints do not connect",
        default=REQUIRED,
    ),
    **ContactValues.section(),
    **{word: OF_CONTACT[word] for word in ("friction", "damping", "onset")},
}
TABLES: dict[str, Section] = {"contact[i] (pairs)": PAIRS}


def expanded(parts: Parts, value: object, key: str, links: list) -> list[dict]:
    """The contacts, as a file has them, that an entry of `contact` stands for.

    links  of the file, of which joints keep their two bodies out of `all`.  Raises InputError.
    """
    reader = parts.reader
    given = reader.mapping(value, key)
    if "pairs" not in given:
        return [given]
    read = reader.section(PAIRS, given, key)
    law = {word: read[word] for word in PAIRS if word in given and word != "pairs"}
    place, found = join(key, "pairs"), []
    for a, b in _pairs(parts, read["pairs"], place, links):
        found += _contacts(parts, a, b, law, place)
    return found


def _pairs(parts: Parts, given: object, key: str, links: list) -> list[tuple[Body, Body]]:
    reader = parts.reader
    if given == "all":
        joints = [one for one in links if isinstance(one, Mapping) and one.get("type") == "joint"]
        joined = [{joint.get("body_a"), joint.get("body_b")} for joint in joints]
        _warn_of_left_out(parts, key)
        pairs = combinations(parts.bodies.values(), 2)
        return [(a, b) for a, b in pairs if _ways(a, b) and {a.name, b.name} not in joined]
    found, seen = [], []
    for i, pair in enumerate(reader.value(LIST, given, key)):
        place = f"{key}[{i}]"
        words = isinstance(pair, list) and all(isinstance(name, str) for name in pair)
        if not words or len(pair) != 2 or pair[0] == pair[1]:
            raise reader.error(place, pair, "two different names of `bodies`")
        if set(pair) in seen:
            raise reader.error(place, pair, "every pair once")
        seen.append(set(pair))
        a, b = (parts.body(name, place) for name in pair)
        if not _ways(a, b):
            rule = "two bodies, of which one moves, one has contact spheres and the other a shape"
            remedy = "soft bodies do not touch each other" if a.SOFT and b.SOFT else ""
            raise reader.error(place, pair, rule, remedy)
        found.append((a, b))
    return found


def _warn_of_left_out(parts: Parts, key: str) -> None:
    """Name the bodies that `all` cannot make touch, once."""
    bodies = parts.bodies.values()
    bare = [
        body.name for body in bodies
        if not body.touches and body.surface() is None and getattr(body, "picture", None) != []
    ]  # fmt: skip
    soft = [body.name for body in bodies if body.SOFT]
    left = []
    if bare:
        left.append(f"{listed(bare, MOST_NAMES)}: without a shape or contact_spheres")
    if len(soft) > 1:
        left.append(
            f"{listed(soft, MOST_NAMES)} with each other: soft bodies do not touch soft ones"
        )
    for text in left:
        message = f"{parts.reader.place}: {key}: all leaves out {text}"
        warnings.warn(message, UserWarning, stacklevel=2)


def _ways(a: Body, b: Body) -> list[tuple[Body, Body]]:
    """(points, surface): both ways round, or the one whose points are all of a body."""
    if not (a.MOVES or b.MOVES):
        return []
    ways = [(x, y) for x, y in ((a, b), (b, a)) if x.touches and y.surface() is not None]
    whole = [
        way for way in ways if way[0].SOFT or set(way[0].contact_spheres) <= {"sphere", "point"}
    ]
    return sorted(whole, key=lambda way: not way[0].MOVES)[:1] or ways


def _contacts(parts: Parts, a: Body, b: Body, law: dict, key: str) -> list[dict]:
    ways = _ways(a, b)
    law = _combined(parts, a, b, law)
    sharing = sum(points.MOVES for points, _ in ways) or 1
    for word in ("k_n", "k_t"):
        if word in law:
            law[word] /= sharing
    return [
        {"name": f"{points.name}_{surface.name}", "points": points.name, "carrier": surface.name,
         "against": surface.surface(), **law}
        for points, surface in ways
    ]  # fmt: skip


def _combined(parts: Parts, a: Body, b: Body, given: dict) -> dict[str, Any]:
    """The law given, completed by the two materials."""
    pair = [_material(parts, body) for body in (a, b)]

    def both(word: str) -> dict[int, float]:
        return present({i: getattr(material, word) for i, material in enumerate(pair)})

    law, k = dict(given), both("k_n")
    if "k_n" not in law and k:
        law["k_n"] = k[0] * k[1] / (k[0] + k[1]) if len(k) == 2 else sum(k.values())
    c = both("c_n")
    if c and "c_n" not in law and law.get("damping", "continuous") == "continuous":
        k_a, k_b = (k[0], k[1]) if len(k) == 2 else (1.0, 1.0)
        law["c_n"] = (k_b * c[0] + k_a * c[1]) / (k_a + k_b) if len(c) == 2 else sum(c.values())
    f = both("c_f")
    if f and "c_f" not in law:
        total = sum(f.values())
        law["c_f"] = 2 * f[0] * f[1] / total if len(f) == 2 and total else total
    return law


def _material(parts: Parts, body: Body) -> Material:
    return parts.materials.get(getattr(body, "material", None), NO_MATERIAL)
