#include <cmath>

#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "../scene.hpp"
#include "point_masses.hpp"

namespace diffsim {
namespace {

constexpr int kFree = -2;

// Per vertex: kFree, or the node it is glued to (-1: the world).
std::vector<int> hosts(const Scene& scene, const std::string& place, const DeformableSpec& spec) {
  const auto n = static_cast<int>(spec.vertices.cols());
  std::vector<int> host(n, kFree);
  for (const Glue& glue : spec.glued) {
    const int node = glue.body.empty() ? -1 : scene.node_of(glue.body);
    if (node >= 0 && scene.nodes()[node].kind != NodeKind::frame) {
      refuse(place + ": glued", "must be to rigid bodies, kinematic bodies or the world (\"\")",
             "'" + glue.body + "'", "use a spring");
    }
    for (int v : glue.vertices) {
      if (v < 0 || v >= n) {
        refuse(place + ": glued", "vertex must be in [0, " + std::to_string(n - 1) + "]", v);
      }
      if (host[v] != kFree) {
        refuse(place + ": glued", "must name a vertex once",
               "vertex " + std::to_string(v) + " again");
      }
      host[v] = node;
    }
  }
  return host;
}

// Where the vertices are at the start, in the frame of their host.
Matrix3X local_places(const Scene& scene, const DeformableSpec& spec,
                      const std::vector<int>& host) {
  const State start = scene.start(scene.parameters().values());
  Matrix3X local = Matrix3X::Zero(3, spec.vertices.cols());
  const Matrix3d R = exp_rotation(spec.start.rotation);
  for (std::size_t v = 0; v < host.size(); ++v) {
    if (host[v] == kFree) continue;
    const Vector3d x = spec.start.position + R * spec.vertices.col(v);
    local.col(v) = x;
    if (host[v] < 0) continue;
    const Matrix3d& frame = start.R[scene.nodes()[host[v]].frame];
    local.col(v) = frame.transpose() * (x - start.c.col(host[v]));
  }
  return local;
}

bool driven(const Scene& scene, int node) {
  for (const Body* b : scene.driven()) {
    if (b->node() == node) return true;
  }
  return false;
}

}  // namespace

const PointSet* add_deformable(Scene& scene, const std::string& place, const std::string& name,
                               const DeformableSpec& spec) {
  const std::vector<int> host = hosts(scene, place, spec);
  PointSet points;
  points.name = name;
  points.local = local_places(scene, spec, host);
  points.inset = Matrix3X::Zero(3, spec.vertices.cols());
  const int first = scene.next_node();
  std::vector<int> free, weighing;
  for (int v = 0; v < static_cast<int>(host.size()); ++v) {
    points.node.push_back(host[v] == kFree ? first + static_cast<int>(free.size()) : host[v]);
    if (host[v] == kFree) free.push_back(v);
    if (host[v] >= 0 && !driven(scene, host[v])) weighing.push_back(v);
  }
  if (free.empty()) refuse(place + ": glued", "must leave a vertex free", "none");
  DeformableBody::Matter matter = spec.matter;
  matter.share = spec.matter.share(free);
  for (DeformableBody::Patch& patch : matter.patches) patch.part = patch.part(free).eval();
  auto body = std::make_unique<DeformableBody>(name, first, scene.table(),
                                               spec.vertices(Eigen::all, free), matter, spec.start);
  std::vector<NodeMass> carried;
  for (int v : weighing) carried.push_back(body->mass_of(spec.matter, v));
  scene.add_body(std::move(body));
  const PointSet* set = scene.add_point_set(std::move(points));
  if (weighing.empty()) return set;
  scene.add_element(std::make_unique<PointMasses>(
      name + " (glued)", set, weighing, std::move(carried), scene.table().index("gravity.x")));
  return set;
}

void set_start(Scene& scene, const std::string& name, const Matrix3X& position,
               const Matrix3X& velocity) {
  const std::string place = "start of '" + name + "'";
  DeformableBody* body = nullptr;
  for (const auto& b : scene.bodies()) {
    if (b->name() == name) body = dynamic_cast<DeformableBody*>(b.get());
  }
  if (!body) refuse(place, "must be of a solid, cloth or string", "'" + name + "'");
  for (const Matrix3X* given : {&position, &velocity}) {
    if (given->cols() != body->count()) {
      refuse(place, "must have " + std::to_string(body->count()) + " rows, one per free vertex",
             given->cols());
    }
    if (!given->allFinite()) refuse(place, "must be finite", "nan or inf");
  }
  body->set_start(scene.values(), position, velocity);
}

void add_mass_points(Scene& scene, const std::string& name, DeformableSpec spec) {
  scene.check_new("mass points", name);
  const std::string place = "mass points '" + name + "'";
  const Eigen::Index n = spec.vertices.cols();
  if (n == 0) refuse(place + ": vertices", "must hold at least one", 0);
  if (!spec.vertices.allFinite()) refuse(place + ": vertices", "must be finite [m]", "nan or inf");
  VectorXd& share = spec.matter.share;
  if (share.size() == 0) share = VectorXd::Constant(n, 1. / static_cast<double>(n));
  if (share.size() != n) {
    refuse(place + ": shares", "must be one per vertex (" + std::to_string(n) + ")", share.size());
  }
  if (!(share.minCoeff() > 0) || !(std::abs(share.sum() - 1) < 1e-9)) {
    refuse(place + ": shares", "must be > 0 and sum to 1", share.sum());
  }
  for (const DeformableBody::Patch& patch : spec.matter.patches) {
    const VectorXd& part = patch.part;
    if (part.size() == n && part.allFinite() && part.minCoeff() >= 0 && part.sum() > 0 &&
        (share - part).minCoeff() >= -1e-12) {
      continue;
    }
    refuse(place + ": patches", "must have (factor, parts of the shares, one per vertex)",
           part.transpose());
  }
  add_deformable(scene, place, name, spec);
}

}  // namespace diffsim
