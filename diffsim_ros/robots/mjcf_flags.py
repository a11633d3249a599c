"""The flags of an MJCF's <option> that change the motion, as MuJoCo acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DISABLED = {
    "constraint": 1 << 0, "equality": 1 << 1, "frictionloss": 1 << 2, "limit": 1 << 3,
    "contact": 1 << 4, "spring": 1 << 5, "damper": 1 << 6, "gravity": 1 << 7,
    "clampctrl": 1 << 8, "filterparent": 1 << 10, "actuation": 1 << 11, "refsafe": 1 << 12,
}  # fmt: skip
"""mjtDisableBit of what is read here."""
NO_EFFECT = {
    "warmstart": 1 << 9, "sensor": 1 << 13, "midphase": 1 << 14, "eulerdamp": 1 << 15,
    "autoreset": 1 << 16, "nativeccd": 1 << 17, "island": 1 << 18, "multiccd": 1 << 19,
}  # fmt: skip
"""mjtDisableBit of how MuJoCo computes, not what: solver, collision search, integrator."""
ENABLED = {
    "override": 1 << 0, "energy": 1 << 1, "fwdinv": 1 << 2, "invdiscrete": 1 << 3, "sleep": 1 << 4,
    "diagexact": 1 << 5, "ipc": 1 << 6, "speculative": 1 << 7,
}  # fmt: skip
"""mjtEnableBit."""
ENABLED_NAMED = ("override", "sleep", "ipc")
"""Those of ENABLED that change a motion: laws of contact, bodies that fall asleep."""


@dataclass(frozen=True)
class Flags:
    """What acts: True unless a flag disables it.

    passive  gravity compensation and the medium's forces, which MuJoCo leaves out, too, where
             both springs and dampers are disabled
    groups   bits of the groups of actuators that are disabled
    left     words of flags that nothing here acts on
    """

    gravity: bool
    equality: bool
    frictionloss: bool
    limit: bool
    contact: bool
    spring: bool
    damper: bool
    passive: bool
    actuation: bool
    clampctrl: bool
    refsafe: bool
    filterparent: bool
    groups: int
    left: tuple[str, ...]

    @property
    def of_contact(self) -> tuple[str, ...]:
        """Words of the flags that act where a file's contact does."""
        words = ("contact", "filterparent")
        return tuple(f'{word}="disable"' for word in words if not getattr(self, word))

    def actuates(self, group: int) -> bool:
        """Whether actuators of a group act."""
        return self.actuation and not (0 <= group < 31 and self.groups >> group & 1)


def flags_of(model: Any) -> Flags:
    """Of a compiled model."""
    off, on = int(model.opt.disableflags), int(model.opt.enableflags)
    acts = {word: not off & bit for word, bit in DISABLED.items()}
    for word in ("equality", "frictionloss", "limit", "contact"):
        acts[word] &= acts["constraint"]
    left = [f'{word}="enable"' for word in ENABLED_NAMED if on & ENABLED[word]]
    known = {"disable": (off, DISABLED | NO_EFFECT), "enable": (on, ENABLED)}
    for what, (bits, words) in known.items():
        beyond = bits & ~sum(words.values())
        left += [f'bit {k}="{what}"' for k in range(beyond.bit_length()) if beyond >> k & 1]
    del acts["constraint"]
    return Flags(
        **acts,
        passive=acts["spring"] or acts["damper"],
        groups=int(model.opt.disableactuator),
        left=tuple(left),
    )
