#include "glue.hpp"

#include "../rotation.hpp"
#include "../scene.hpp"

namespace diffsim {
namespace {

int frame_node(const Scene& scene, const std::string& place, const std::string& carrier) {
  const int node = scene.node_of(carrier);
  if (scene.nodes()[node].kind != NodeKind::frame) {
    refuse(place + ": glued", "must name rigid bodies or handles", "'" + carrier + "'");
  }
  return node;
}

}  // namespace

GluedVertices glued_vertices(const Scene& scene, const std::string& place, const std::string& name,
                             const Matrix3X& X, const RigidBodyStart& start, const Glue& glue) {
  const auto n = static_cast<int>(X.cols());
  const Matrix3X x = (exp_rotation(start.rotation) * X).colwise() + start.position;
  const State s = scene.start(scene.values());
  GluedVertices out;
  out.points.name = name;
  out.points.node.assign(n, -1);
  out.points.local = out.points.inset = Matrix3X::Zero(3, n);
  for (const auto& [carrier, vertices] : glue) {
    const int node = frame_node(scene, place, carrier);
    for (int v : vertices) {
      const std::string here = place + ": glued to '" + carrier + "'";
      if (v < 0 || v >= n) {
        refuse(here, "vertices must be in [0, " + std::to_string(n - 1) + "]", v);
      }
      if (out.points.node[v] >= 0) {
        refuse(here, "vertices must have one carrier", "vertex " + std::to_string(v) + " twice");
      }
      out.points.node[v] = node;
      out.points.local.col(v) =
          s.R[scene.nodes()[node].frame].transpose() * (x.col(v) - s.c.col(node));
    }
  }
  int node = scene.next_node();
  for (int v = 0; v < n; ++v) {
    if (out.points.node[v] >= 0) continue;
    out.points.node[v] = node++;
    out.free.push_back(v);
  }
  if (out.free.empty()) refuse(place + ": glued", "must leave a free vertex", "all glued");
  return out;
}

}  // namespace diffsim
