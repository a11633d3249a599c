#include "vdb.hpp"

#ifdef DIFFSIM_OPENVDB
#include <openvdb/openvdb.h>
#include <openvdb/tools/SignedFloodFill.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace diffsim {
namespace {

using openvdb::Coord;
using openvdb::FloatGrid;

constexpr char kSurface[] = "surface";

void insert(FloatGrid& grid, const char* name, double value) {
  grid.insertMeta(name, openvdb::DoubleMetadata(value));
}

void insert(FloatGrid& grid, const char* name, const Vector3d& v) {
  grid.insertMeta(name, openvdb::Vec3DMetadata(openvdb::Vec3d(v.x(), v.y(), v.z())));
}

Vector3d vector_of(const FloatGrid& grid, const char* name) {
  const auto v = grid.metaValue<openvdb::Vec3d>(name);
  return {v.x(), v.y(), v.z()};
}

FloatGrid::Ptr surface_grid(const LevelSetValues& values) {
  const float background = static_cast<float>(values.band * values.voxel);
  FloatGrid::Ptr grid = FloatGrid::create(background);
  grid->setName(kSurface);
  grid->setGridClass(openvdb::GRID_LEVEL_SET);
  grid->setTransform(openvdb::math::Transform::createLinearTransform(values.voxel));
  for (const auto& block : values.fine) {
    const Coord origin(block.origin[0], block.origin[1], block.origin[2]);
    auto* leaf = grid->tree().touchLeaf(origin);
    for (int i = 0; i < 512; ++i) {
      if (block.known[i]) leaf->setValueOn(i, block.value[i]);
    }
  }
  openvdb::tools::signedFloodFill(grid->tree(), false);
  grid->insertMeta("diffsim_format", openvdb::Int32Metadata(kVdbFormat));
  insert(*grid, "voxel", values.voxel);
  insert(*grid, "band", values.band);
  insert(*grid, "smoothing", values.smoothing);
  insert(*grid, "thickness", values.thickness);
  insert(*grid, "low", values.low);
  insert(*grid, "high", values.high);
  return grid;
}

std::string far_name(std::size_t k) { return "far_" + std::to_string(k); }

FloatGrid::Ptr far_grid(const LevelSetValues::Grid& values, std::size_t k) {
  FloatGrid::Ptr grid = FloatGrid::create();
  grid->setName(far_name(k));
  grid->setTransform(openvdb::math::Transform::createLinearTransform(values.spacing));
  insert(*grid, "spacing", values.spacing);
  auto accessor = grid->getAccessor();
  std::size_t at = 0;
  for (int i = 0; i < values.size[0]; ++i) {
    for (int j = 0; j < values.size[1]; ++j) {
      for (int k = 0; k < values.size[2]; ++k) {
        accessor.setValueOn(Coord(i + values.origin[0], j + values.origin[1], k + values.origin[2]),
                            values.value[at++]);
      }
    }
  }
  return grid;
}

void read_surface(const FloatGrid& grid, LevelSetValues& out) {
  out.voxel = grid.metaValue<double>("voxel");
  out.band = static_cast<int>(grid.metaValue<double>("band"));
  out.smoothing = grid.metaValue<double>("smoothing");
  out.thickness = grid.metaValue<double>("thickness");
  out.low = vector_of(grid, "low");
  out.high = vector_of(grid, "high");
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
    out.fine.emplace_back();
    auto& block = out.fine.back();
    const Coord origin = leaf->origin();
    block.origin = {origin.x(), origin.y(), origin.z()};
    for (int i = 0; i < 512; ++i) {
      block.known[i] = leaf->isValueOn(i);
      block.value[i] = block.known[i] ? leaf->getValue(i) : 0;
    }
  }
}

LevelSetValues::Grid read_far(const FloatGrid& grid) {
  LevelSetValues::Grid out;
  out.spacing = grid.metaValue<double>("spacing");
  const auto box = grid.evalActiveVoxelBoundingBox();
  const Coord low = box.min(), size = box.dim();
  out.origin = {low.x(), low.y(), low.z()};
  out.size = {size.x(), size.y(), size.z()};
  // It was written dense: a box of another size belongs to a damaged file, and may be endless.
  double voxels = 1;
  for (int axis = 0; axis < 3; ++axis) voxels *= size[axis];
  if (voxels != static_cast<double>(grid.tree().activeLeafVoxelCount())) {
    throw std::runtime_error("a grid with holes");
  }
  auto accessor = grid.getConstAccessor();
  for (int i = 0; i < size.x(); ++i) {
    for (int j = 0; j < size.y(); ++j) {
      for (int k = 0; k < size.z(); ++k) {
        out.value.push_back(accessor.getValue(low.offsetBy(i, j, k)));
      }
    }
  }
  return out;
}

FloatGrid::Ptr grid_named(openvdb::io::File& file, const std::string& name) {
  if (!file.hasGrid(name)) return nullptr;
  return openvdb::gridPtrCast<FloatGrid>(file.readGrid(name));
}

}  // namespace

bool has_openvdb() { return true; }

void write_vdb(const LevelSetValues& values, const std::string& path) {
  openvdb::initialize();
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::error_code error;
  try {
    openvdb::io::File file(temporary);
    openvdb::GridCPtrVec grids{surface_grid(values)};
    for (std::size_t k = 0; k < values.coarse.size(); ++k) {
      grids.push_back(far_grid(values.coarse[k], k));
    }
    file.write(grids);
    file.close();
    std::filesystem::rename(temporary, path);
  } catch (const std::exception& e) {
    std::filesystem::remove(temporary, error);
    refuse(path, "must be a place where a .vdb file can be written", e.what());
  }
}

LevelSetValues read_vdb(const std::string& path) {
  openvdb::initialize();
  LevelSetValues out;
  int format = 0;
  try {
    openvdb::io::File file(path);
    file.open(false);  // not lazily: the file may be replaced while it is in use
    const FloatGrid::Ptr surface = grid_named(file, kSurface);
    if (surface && (*surface)["diffsim_format"]) {
      format = surface->metaValue<openvdb::Int32>("diffsim_format");
    }
    if (format == kVdbFormat) {
      read_surface(*surface, out);
      while (auto far = grid_named(file, far_name(out.coarse.size()))) {
        out.coarse.push_back(read_far(*far));
      }
    }
  } catch (const std::exception& e) {
    refuse(path, "must be a readable .vdb file", e.what());
  }
  if (format != kVdbFormat) {
    refuse(path, "must be a .vdb file written by diffsim, format " + std::to_string(kVdbFormat),
           format == 0 ? "another program's" : "format " + std::to_string(format),
           "make it again from the mesh");
  }
  return out;
}

}  // namespace diffsim

#else  // built without OpenVDB

namespace diffsim {
namespace {

[[noreturn]] void refuse_absent(const std::string& path) {
  refuse(path, "needs an engine built with OpenVDB", "one built without",
         "install libopenvdb-dev and build again");
}

}  // namespace

bool has_openvdb() { return false; }
void write_vdb(const LevelSetValues&, const std::string& path) { refuse_absent(path); }
LevelSetValues read_vdb(const std::string& path) { refuse_absent(path); }

}  // namespace diffsim

#endif
