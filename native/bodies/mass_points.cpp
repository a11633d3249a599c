#include "mass_points.hpp"

#include "../scene.hpp"
#include "deformable.hpp"

namespace diffsim {
namespace {

VectorXd checked_shares(const std::string& place, const MassPointsSpec& spec) {
  const Eigen::Index n = spec.vertices.cols();
  if (!spec.shares.size()) return VectorXd::Constant(n, 1. / static_cast<double>(n));
  if (spec.shares.size() != n) {
    refuse(place + ": shares", "must be one per vertex (" + std::to_string(n) + ")",
           spec.shares.size());
  }
  if (!spec.shares.allFinite() || spec.shares.minCoeff() <= 0) {
    refuse(place + ": shares", "must be finite and > 0", spec.shares.minCoeff());
  }
  if (std::abs(spec.shares.sum() - 1) > 1e-9) {
    refuse(place + ": shares", "must have the sum 1", spec.shares.sum());
  }
  return spec.shares;
}

}  // namespace

void add_mass_points(Scene& scene, const std::string& name, const MassPointsSpec& spec) {
  scene.check_new("mass points", name);
  const std::string place = "mass points '" + name + "'";
  if (spec.vertices.cols() == 0) refuse(place + ": vertices", "must hold at least one", 0);
  if (!spec.vertices.allFinite()) refuse(place + ": vertices", "must be finite [m]", "nan or inf");
  if (!(spec.mass > 0)) refuse(place + ": mass", "must be > 0 [kg]", spec.mass);
  const VectorXd all = checked_shares(place, spec);
  GluedVertices vertices =
      glued_vertices(scene, place, name, spec.vertices, spec.start, spec.glue);
  const auto count = static_cast<Eigen::Index>(vertices.free.size());
  Matrix3X X(3, count);
  VectorXd share(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    X.col(i) = spec.vertices.col(vertices.free[i]);
    share[i] = all[vertices.free[i]];
  }
  scene.add_body(std::make_unique<DeformableBody>(
      name, scene.next_node(), scene.table(), std::move(X),
      DeformableBody::Matter{"mass", "kg", spec.mass, share}, spec.start));
  scene.add_point_set(std::move(vertices.points));
}

}  // namespace diffsim
