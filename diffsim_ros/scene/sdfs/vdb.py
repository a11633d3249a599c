"""A level set in a .vdb file, and what level sets of files share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.mesh_files import suffix_of
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.sdfs.surface import Named, Sdf
from diffsim_ros.scene.vdb_file import load_level_set


@part
class LevelSetFile(Sdf):
    """A level set has the box of its grid."""

    def bounds(self, named: Named):
        sdf = self.engine(named)
        return np.array(sdf.low), np.array(sdf.high)


@part
class VdbSdf(LevelSetFile):
    WORD = "vdb"
    file: str = key("text", "a .vdb that diffsim wrote", default=REQUIRED)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values["file"] = absolute(reader, values["file"])
        suffix_of(Path(values["file"]), (".vdb",), reader.place, join(key, "file"))

    def engine(self, named: Named) -> Any:
        return load_level_set(self.file)
