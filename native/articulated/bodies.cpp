#include "bodies.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>

namespace diffsim {
namespace {

// A rotation that takes z to the axis; 1 where that is z already.
Matrix3d turned_to(const TreeJoint& joint) {
  if (joint.type != JointType::revolute && joint.type != JointType::prismatic) {
    return Matrix3d::Identity();
  }
  const double cosine = joint.axis.z();
  if (cosine < -1 + 1e-12) return Vector3d(1, -1, -1).asDiagonal();
  const Matrix3d K = skew(Vector3d(-joint.axis.y(), joint.axis.x(), 0));  // z x axis
  return Matrix3d::Identity() + K + K * K / (1 + cosine);
}

void add_link(TreeBody& body, const TreeLink& link, const Plxb& pose) {
  if (link.mass == 0) return;
  const Vector3d center = pose.E * link.com + pose.r;
  const double mass = body.mass + link.mass;
  const Vector3d com = (body.mass * body.com + link.mass * center) / mass;
  Symmetric3 I = congruent(pose.E, Symmetric3::upper(link.inertia));
  const Vector3d own = center - com, before = body.com - com;
  I.add_parallel_axis(own, link.mass * own);
  if (body.mass > 0) {
    I += body.inertia;
    I.add_parallel_axis(before, body.mass * before);
  }
  body.inertia = I;
  body.mass = mass;
  body.com = com;
}

// A body of which no motion is without inertia.
bool is_solid(const TreeBody& body) {
  if (!(body.mass > 0)) return false;
  const Vector3d moments =
      Eigen::SelfAdjointEigenSolver<Matrix3d>(body.inertia.matrix(), Eigen::EigenvaluesOnly)
          .eigenvalues();
  return moments[0] > 1e-9 * moments[2];
}

// Solid bodies make M positive definite, and so does one that turns on a shift without mass.
bool may_lock(const std::vector<TreeBody>& bodies) {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (is_solid(bodies[i])) continue;
    const bool floats = bodies[i].type == JointType::translation && i + 1 < bodies.size() &&
                        bodies[i + 1].parent == static_cast<int>(i) &&
                        bodies[i + 1].type != JointType::prismatic &&
                        bodies[i + 1].type != JointType::translation && is_solid(bodies[i + 1]);
    if (!floats) return true;
  }
  return false;
}

}  // namespace

TreeBodies::TreeBodies(const Tree& tree, bool merge)
    : places(tree.size()), gravity(tree.gravity()) {
  const int n = tree.size();
  std::vector<std::vector<int>> below(n + 1);  // the last: on the world
  for (int i = 0; i < n; ++i) {
    const int parent = tree.joint(i).parent;
    below[parent < 0 ? n : parent].push_back(i);
  }
  // Links that still wait, the next last: recursion would limit the depth.
  std::vector<int> waiting(below[n].rbegin(), below[n].rend());
  while (!waiting.empty()) {
    const int i = waiting.back();
    waiting.pop_back();
    waiting.insert(waiting.end(), below[i].rbegin(), below[i].rend());
    const TreeJoint& joint = tree.joint(i);
    const LinkPlace carrier = joint.parent < 0 ? LinkPlace{-1, {}} : places[joint.parent];
    const Plxb at = carrier.pose * Plxb{joint.R, joint.r};
    if (merge && joint.type == JointType::fixed) {
      places[i] = {carrier.body, at};
      if (carrier.body >= 0) add_link(bodies[carrier.body], tree.link(i), at);
      continue;
    }
    const Matrix3d turn = turned_to(joint);
    TreeBody body;
    body.type = joint.type;
    body.parent = carrier.body;
    body.first = static_cast<int>(above.size());
    body.count = velocity_size(joint.type);
    body.position_at = tree.position_at(i);
    body.velocity_at = tree.velocity_at(i);
    body.R = at.E * turn;
    body.r = at.r;
    body.armature = joint.armature;
    places[i] = {static_cast<int>(bodies.size()), {turn.transpose(), Vector3d::Zero()}};
    add_link(body, tree.link(i), places[i].pose);
    int before = -1;  // last coordinate on the way to the root; bodies without any are skipped
    for (int b = carrier.body; b >= 0 && before < 0; b = bodies[b].parent) {
      if (bodies[b].count > 0) before = bodies[b].first + bodies[b].count - 1;
    }
    for (int k = 0; k < body.count; ++k) {
      above.push_back(k > 0 ? body.first + k - 1 : before);
      velocity_index.push_back(body.velocity_at + k);
      in_order = in_order && velocity_index.back() == body.first + k;
    }
    bodies.push_back(body);
  }
  may_lock = diffsim::may_lock(bodies);
  for (int b = size() - 1; b >= 0; --b) {
    TreeBody& body = bodies[b];
    body.end = b + 1;
    body.end_coordinate = body.first + body.count;
  }
  for (int b = size() - 1; b >= 0; --b) {
    if (const int p = bodies[b].parent; p >= 0) {
      bodies[p].end = std::max(bodies[p].end, bodies[b].end);
      bodies[p].end_coordinate = std::max(bodies[p].end_coordinate, bodies[b].end_coordinate);
    }
  }
}

}  // namespace diffsim
