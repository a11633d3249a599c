#include "legged_model.hpp"

#include "../articulated/centroidal.hpp"

namespace diffsim {
namespace {

Vector3d perpendicular(const Vector3d& axis) {
  int least = 0;
  axis.cwiseAbs().minCoeff(&least);
  return axis.cross(Vector3d(Vector3d::Unit(least))).normalized();
}

void check(const Tree& tree, const EndEffector& one) {
  const std::string place = "end effector '" + one.name + "'";
  if (one.link < 0 || one.link >= tree.size()) {
    refuse(place + ": link", "an index in [0, " + std::to_string(tree.size()) + ")", one.link);
  }
  if (one.is_wheel() ? !(one.radius > 0) : one.radius != 0) {
    refuse(place + ": radius", one.is_wheel() ? "> 0 [m] of a wheel" : "0 of a point", one.radius);
  }
  if (std::abs(one.axis.norm() - 1) > 1e-6) {
    refuse(place + ": axis", "a unit vector, to 1e-6", one.axis.norm());
  }
  if (!(one.resistance >= 0 && one.resistance < 1)) {
    refuse(place + ": resistance", "in [0, 1)", one.resistance);
  }
  if (!(one.speed > 0)) refuse(place + ": speed", "> 0 [rad/s]", one.speed);
}

}  // namespace

EndEffectorKind end_effector_kind(const std::string& name) {
  if (name == "point") return EndEffectorKind::point;
  if (name == "welded") return EndEffectorKind::welded;
  if (name == "passive") return EndEffectorKind::passive;
  if (name == "actuated") return EndEffectorKind::actuated;
  refuse("end effector: kind", "point, welded, passive or actuated", "'" + name + "'");
}

LeggedModel::LeggedModel(std::shared_ptr<const ArticulatedModel> model,
                         std::vector<EndEffector> effectors, std::vector<JointRange> ranges,
                         VectorXd stance, std::vector<ClearPoint> clear)
    : model_(std::move(model)),
      effectors_(std::move(effectors)),
      ranges_(std::move(ranges)),
      clear_(std::move(clear)),
      stance_(std::move(stance)) {
  const Tree& tree = model_->tree;
  if (tree.size() < 2 || tree.joint(0).type != JointType::translation ||
      tree.joint(1).type != JointType::spherical || tree.joint(1).parent != 0) {
    refuse("legged model: tree", "a floating base: a translation, then a spherical joint",
           tree.size() ? joint_type_name(tree.joint(0).type) : "no joint");
  }
  if (effectors_.empty()) refuse("legged model: end effectors", "at least one", 0);
  for (const ClearPoint& one : clear_) {
    if (one.link < 0 || one.link >= tree.size() || !one.position.allFinite()) {
      refuse("clear point: link, position", "a link of the tree, finite numbers", one.link);
    }
  }
  for (const EndEffector& one : effectors_) {
    check(tree, one);
    references_.push_back(perpendicular(one.axis));
  }
  const int joints = tree.velocity_size() - kBase;
  if (static_cast<int>(ranges_.size()) != joints) {
    refuse("legged model: ranges", std::to_string(joints) + ", one a joint coordinate",
           ranges_.size());
  }
  if (stance_.size() != tree.position_size() || !stance_.allFinite()) {
    refuse("legged model: stance", "q, " + std::to_string(tree.position_size()) + " finite numbers",
           stance_.size());
  }
  for (const TreeBody& body : bodies().bodies) mass_ += body.mass;
  gravity_ = tree.gravity().norm();
  if (tree.gravity().head<2>().norm() > 1e-12 * gravity_ || !(tree.gravity().z() < 0)) {
    refuse("legged model: gravity", "along -z", tree.gravity().transpose());
  }
  DynamicsWorkspace work(bodies());
  LeggedKinematics at;
  place(stance_.data(), false, work, at);
  const RigidInertia& whole = work.composites[0].I;
  const Vector3d com = whole.h / whole.m;
  inertia_ = at.R.transpose() * (whole.I.matrix() + whole.m * skew(com) * skew(com)) * at.R;
  double lowest = at.com.z();
  for (int j = 0; j < effector_count(); ++j) {
    const Vector3d& a = at.effectors[j].axis;
    const double drop = effectors_[j].radius * std::sqrt(std::max(0., 1 - a.z() * a.z()));
    lowest = std::min(lowest, at.effectors[j].position.z() - drop);
  }
  height_ = at.com.z() - lowest;
  if (!(height_ > 1e-3)) {
    refuse("legged model: stance", "the centre of mass above the feet [m]", height_);
  }
}

void LeggedModel::place(const double* q, bool slopes, DynamicsWorkspace& work,
                        LeggedKinematics& out) const {
  const TreeBodies& tree = bodies();
  const int n = tree.coordinates();
  out.effectors.resize(effectors_.size());
  place_composites(tree, work, q);
  const RigidInertia& whole = work.composites[0].I;  // the base carries all
  const Vector3d com = whole.h / whole.m;
  out.com = com + work.origin;
  out.R = work.states[1].R;
  if (slopes) {
    out.com_by_q.setZero(3, n);
    for (const TreeBody& body : tree.bodies) {
      const RigidInertia& I = work.composites[&body - tree.bodies.data()].I;
      for (int k = 0; k < body.count; ++k) {
        const MotionVector& S = work.coordinates[body.first + k].S;
        out.com_by_q.col(body.velocity_at + k) = (I.m * S.v + S.w.cross(I.h)) / whole.m;
      }
    }
  }
  out.clear.resize(clear_.size());
  for (std::size_t k = 0; k < clear_.size(); ++k) {
    const LinkPlace& place = tree.places[clear_[k].link];
    const BodyState& state = work.states[place.body];
    const Vector3d p = state.R * (place.pose.E * clear_[k].position + place.pose.r) + state.r;
    out.clear[k].position = p + work.origin;
    if (!slopes) continue;
    Matrix3X& J = out.clear[k].position_by_q;
    J.setZero(3, n);
    visit_motions(tree, work, place.body,
                  [&](int column, const MotionVector& S) { J.col(column) = S.v + S.w.cross(p); });
  }
  for (std::size_t j = 0; j < effectors_.size(); ++j) {
    LeggedKinematics::Effector& at = out.effectors[j];
    const LinkPlace& place = tree.places[effectors_[j].link];
    const BodyState& state = work.states[place.body];
    const Matrix3d R = state.R * place.pose.E;
    const Vector3d p = state.R * (place.pose.E * effectors_[j].position + place.pose.r) + state.r;
    at.position = p + work.origin;
    at.axis = R * effectors_[j].axis;
    at.reference = R * references_[j];
    if (!slopes) continue;
    for (Matrix3X* J : {&at.position_by_q, &at.axis_by_q, &at.reference_by_q}) J->setZero(3, n);
    visit_motions(tree, work, place.body, [&](int column, const MotionVector& S) {
      at.position_by_q.col(column) = S.v + S.w.cross(p);
      at.axis_by_q.col(column) = S.w.cross(at.axis);
      at.reference_by_q.col(column) = S.w.cross(at.reference);
    });
  }
}

}  // namespace diffsim
