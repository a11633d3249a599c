// Level sets as OpenVDB files. Only vdb.cpp sees OpenVDB's headers.
//
// A file holds float grids: "surface", a level set (its active values are those of LevelSetValues;
// the rest is flood-filled with +- the band, as OpenVDB's tools expect), and "far_0", "far_1", ...,
// the coarse ones. Metadata of "surface": diffsim_format, voxel, band, smoothing, thickness, low,
// high.
#pragma once

#include <string>

#include "level_set.hpp"

namespace diffsim {

/// Whether the engine was built with OpenVDB; without it the two functions below refuse.
bool has_openvdb();
/// Written to a temporary file beside it, then renamed.
void write_vdb(const LevelSetValues& values, const std::string& path);
/// Refused: files that cannot be read, were not written by write_vdb, or by another version of it.
LevelSetValues read_vdb(const std::string& path);

/// Raised whenever the sampled values or their meaning change: old caches are then not read.
constexpr int kVdbFormat = 1;

}  // namespace diffsim
