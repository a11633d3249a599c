"""Section `data`: which recordings are trained on, and which are predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from ..fields import Reader
from .options import DataOptions, FilesOptions, read_options


@dataclass(frozen=True)
class Recordings:
    """Recordings of a role, training or validation; nothing is opened before they are read.

    place, key  the YAML and the key in it, for messages
    files       absolute paths
    """

    place: str
    key: str
    files: tuple[Path, ...]

    data: ClassVar[type[DataOptions]] = DataOptions
    section: ClassVar[type[FilesOptions]] = FilesOptions
    accepted: ClassVar[str] = "a file"

    @classmethod
    def roles(cls, reader: Reader, value: object, base: Path) -> tuple[Self, Self | None]:
        """Those to train on and, unless there are none, to validate on."""
        data = read_options(cls.data, reader, value, "data")
        train = cls.role(reader, data.train, base, "data.train", data)
        if data.validate is None:
            return train, None
        return train, cls.role(reader, data.validate, base, "data.validate", data)

    @classmethod
    def role(cls, reader: Reader, value: object, base: Path, key: str, data: Any) -> Self:
        """One checked role; InputError on files that are none, and what `details` refuses."""
        options = read_options(cls.section, reader, value, key)
        for i, name in enumerate(options.files):
            if not isinstance(name, str):
                raise reader.error(f"{key}.files[{i}]", name, f"the path of {cls.accepted}")
        if not options.files:
            rule = f"at least one {cls.accepted.split(' ', 1)[1]}"
            raise reader.error(f"{key}.files", [], rule)
        files = tuple(base / name for name in options.files)
        return cls(reader.place, key, files, **cls.details(reader, options, base, key, data))

    @classmethod
    def details(
        cls, reader: Reader, options: Any, base: Path, key: str, data: Any
    ) -> dict[str, Any]:
        """Further fields, from the role's options and those of `data`."""
        return {}

    def others(self, key: str, files: Sequence[str | Path]) -> tuple[Self, dict[str, Any]]:
        """All that is in other files, and the keys of the YAML for it.

        Relative paths start from the current folder.
        """
        paths = tuple(Path(file).resolve() for file in files)
        changes, words = self.whole()
        found = replace(self, key=key, files=paths, **changes)
        return found, {"files": [str(path) for path in paths], **words}

    def whole(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Fields that do not apply when other files are read, and their values then."""
        return {}, {}
