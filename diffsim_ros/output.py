"""Result files: atomic, never overwriting, checked before any work is done.

Every command writes through an `OutputFolder`.  It is made before the work starts
(so that an existing result file is refused at once) and filled at the end through `staging()`:
everything is written to a hidden folder next to its destination and moved into place file by file
when all of it is complete, so a full disk, an exception or a signal leaves no half-written file.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import yaml

from diffsim_ros.errors import InputError

STAGE_PREFIX = ".diffsim-"  # hidden folders and files with this prefix are ours and unfinished


class OutputFolder:
    """A folder for results whose `files` are known, and known not to exist yet.

    path      folder; None makes a new dated one, out/YYYY-MM-DD_HH-MM-SS_COMMAND
    files     names of the result files that will be written into it
    command   word in the name of the dated folder
    force     files of an earlier run of the same command are replaced, once the new ones are there

    Raises InputError if a result file exists already (with `force`: another command's), or the
    folder cannot be made or written to.  As a context it is removed at the end if nothing was
    written.
    """

    def __init__(
        self, path: str | Path | None, files: Iterable[str] = (), *, command: str = "result",
        force: bool = False,
    ) -> None:  # fmt: skip
        self.files, self.force = tuple(files), force
        self._made: list[Path] = []
        self._written: set[str] = set()
        if path is not None:
            self.path = Path(path)
            self._make()
        else:
            self._make_dated(command)
        if force:
            self._refuse_another(command)
        else:
            self.refuse_existing(self.files)

    def _make_dated(self, command: str) -> None:
        """Make a folder that is this object's alone, also beside others made in the same second."""
        stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        for count in itertools.count(1):
            suffix = f"_{count}" if count > 1 else ""
            self.path = Path("out") / f"{stamp}_{command}{suffix}"
            if not os.path.lexists(self.path) and self._make():
                return

    def _make(self) -> bool:
        """Make the folder; tell whether it was made here, and not found or made by another."""
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        try:
            for folder in reversed(missing):
                with contextlib.suppress(FileExistsError):  # another process was quicker
                    folder.mkdir(parents=True)
                    self._made.append(folder)
            if not self.path.is_dir():
                raise NotADirectoryError(20, "not a folder")
            with tempfile.NamedTemporaryFile(dir=self.path, prefix=STAGE_PREFIX):
                pass
        except OSError as error:
            self.discard_if_empty()
            reason = error.strerror or str(error)
            raise InputError(
                self.path, "--out", reason, "a folder that can be made and written to"
            ) from error
        return self.path in self._made

    def refuse_existing(self, names: Iterable[str]) -> None:
        """Raise InputError naming the first of `names` that is already in the folder, unless it is
        to be replaced."""
        for name in () if self.force else names:
            target = self.path / name
            if os.path.lexists(target):
                raise InputError(
                    target,
                    "--out",
                    "a file that exists already",
                    "results are never overwritten",
                    "give another --out, or --force to replace those of the same command",
                )

    def _refuse_another(self, command: str) -> None:
        """Raise InputError where the folder has the results of another command, or a folder or
        link in the place of a file."""
        made_by = "command: nothing"
        with contextlib.suppress(FileNotFoundError):
            with open(self.path / "result.yaml", encoding="utf-8", errors="replace") as file:
                made_by = file.readline(200).strip()
            if made_by != f"command: {command}":
                raise InputError(
                    self.path / "result.yaml", "--force", made_by or "an empty file",
                    f"a folder with the results of `diffsim {command}`", "give another --out",
                )  # fmt: skip
        for name in self.files:
            target = self.path / name
            if target.is_symlink() or (target.exists() and not target.is_file()):
                rule = "files, which are replaced; links and folders are not"
                raise InputError(target, "--force", "no plain file", rule, "give another --out")

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Yield a hidden folder to write into; on success its files move into place.

        On an exception (a full disk, KeyboardInterrupt) the hidden folder is removed and the
        destination is as it was.  Files that appeared meanwhile are refused (InputError).
        """
        stage = Path(tempfile.mkdtemp(prefix=STAGE_PREFIX, dir=self.path))
        try:
            yield stage
            written = sorted(p.relative_to(stage) for p in stage.rglob("*") if p.is_file())
            self.refuse_existing(str(name) for name in written)
            for name in written:
                _sync(stage / name)
            if self.force:  # an interruption leaves fewer files, never those of two runs
                for name in {*self.files, *map(str, written)} - self._written:
                    (self.path / name).unlink(missing_ok=True)
            for name in written:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                move_new(stage / name, self.path / name)
            self._written |= set(map(str, written))
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard_if_empty()

    def discard_if_empty(self) -> None:
        """Remove the folders that this object made and that hold nothing."""
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def move_new(source: Path, target: Path) -> None:
    """Move a finished file to `target`; raise FileExistsError instead of overwriting."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(17, "file exists", str(target)) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def write_bytes(path: str | Path, data: bytes, *, overwrite: bool = False) -> None:
    """Write a file at once: temporary file in the same folder, flushed, then renamed.

    Raises FileExistsError if the file exists and `overwrite` is False, OSError on a full disk;
    in both cases no partial and no temporary file is left.
    """
    path = Path(path)
    temporary = path.parent / f"{STAGE_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            move_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, overwrite: bool = False) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, text.encode(), overwrite=overwrite)


def write_json(path: str | Path, data: object, *, overwrite: bool = False) -> None:
    """Write JSON of plain finite numbers; NaN and infinities become null."""
    text = json.dumps(plain(data, undefined=None), indent=2, allow_nan=False)
    write_text(path, text + "\n", overwrite=overwrite)


def write_yaml(path: str | Path, data: object, *, overwrite: bool = False) -> None:
    """Write YAML in the order of the keys; floats keep every digit, short lists stay on a line."""
    write_text(path, yaml_text(data), overwrite=overwrite)


def yaml_text(data: object) -> str:
    """YAML text of `data` (see `write_yaml`)."""
    return yaml.dump(plain(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """SafeDumper without anchors, that writes lists of scalars on one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list) -> yaml.Node:
    flow = not any(isinstance(item, (dict, list)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)


_Dumper.add_representer(list, _represent_list)

_KEEP = object()


def plain(value: object, *, undefined: object = _KEEP) -> object:
    """Convert NumPy scalars, arrays, tuples, paths and mappings to plain Python values.

    A non-finite number becomes `undefined` if that is given.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, undefined=undefined) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), undefined=undefined)
    if isinstance(value, (list, tuple)):
        return [plain(item, undefined=undefined) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item(), undefined=undefined)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value) and undefined is not _KEEP:
        return undefined
    return value
