#include "deformable.hpp"

#include "../rotation.hpp"

namespace diffsim {

DeformableBody::DeformableBody(const std::string& name, int first, ParameterTable& table,
                               Matrix3X X, Matter matter, const RigidBodyStart& start)
    : Body(name, NodeKind::point, first, static_cast<int>(X.cols())),
      X_(std::move(X)),
      V_(Matrix3X::Zero(3, X_.cols())),
      matter_(std::move(matter)) {
  mass_ = table.add(name + "." + matter_.name, matter_.unit, matter_.value, 1e-12, kInfinity);
  first_factor_ = table.size();
  for (const Patch& patch : matter_.patches) {
    const std::string place = ".patches[" + std::to_string(table.size() - first_factor_) + "]";
    table.add(name + place + ".factor", "1", patch.factor, 1e-9, kInfinity);
  }
  position_ = table.add3(name + ".position", "m", start.position, true);
  rotation_ = table.add3(name + ".rotation", "rad", start.rotation, true);
  velocity_ = table.add3(name + ".velocity", "m/s", start.velocity, true);
  angular_velocity_ = table.add3(name + ".angular_velocity", "rad/s", start.angular_velocity, true);
}

std::vector<NodeMass> DeformableBody::masses() const {
  std::vector<NodeMass> all;
  for (int i = 0; i < count(); ++i) all.push_back(mass_of(matter_, i));
  return all;
}

NodeMass DeformableBody::mass_of(const Matter& matter, int i) const {
  NodeMass mass{mass_, -1, matter.share[i]};
  for (int k = 0; k < static_cast<int>(matter.patches.size()); ++k) {
    const double part = matter.patches[k].part[i];
    if (part > 0) mass.patches.emplace_back(first_factor_ + k, part);
  }
  return mass;
}

void DeformableBody::check(const VectorXd& p) const {
  if (matter_.patches.empty()) return;
  for (const NodeMass& mass : masses()) {
    if (mass.value(p) > 0) continue;
    refuse("'" + name() + "': factors of patches", "must leave every vertex a mass > 0",
           mass.value(p), "factors below 1 of patches that overlap add up");
  }
}

void DeformableBody::start(const VectorXd& p, const std::vector<Node>&, State& s) const {
  const Matrix3X arm = exp_rotation(p.segment<3>(rotation_)) * X_;
  const Vector3d c = p.segment<3>(position_), v = p.segment<3>(velocity_);
  const Vector3d w = p.segment<3>(angular_velocity_);
  s.c.middleCols(node(), count()) = arm.colwise() + c;
  s.v.middleCols(node(), count()) =
      (skew(w) * arm + exp_rotation(p.segment<3>(rotation_)) * V_).colwise() + v;
}

void DeformableBody::set_start(const VectorXd& p, const Matrix3X& position,
                               const Matrix3X& velocity) {
  const Matrix3d back = exp_rotation(p.segment<3>(rotation_)).transpose();
  const Vector3d w = p.segment<3>(angular_velocity_);
  const Matrix3X arm = position.colwise() - Vector3d(p.segment<3>(position_));
  X_ = back * arm;
  V_ = back * ((velocity - skew(w) * arm).colwise() - Vector3d(p.segment<3>(velocity_)));
}

void DeformableBody::start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                                       const std::vector<int>& column_of, MatrixXd& X,
                                       MatrixXd& V) const {
  const Matrix3d R = exp_rotation(p.segment<3>(rotation_));
  const Matrix3d J = left_jacobian(p.segment<3>(rotation_));
  const Matrix3d W = skew(p.segment<3>(angular_velocity_));
  for (int i = 0; i < count(); ++i) {
    const int dof = nodes[node() + i].dof;
    const Matrix3d minus_hat = -skew(R * X_.col(i));  // d(R X) = -[R X]x d psi
    const Matrix3d by_turn = W * minus_hat - skew(R * V_.col(i));
    for (int a = 0; a < 3; ++a) {
      if (const int c = column_of[position_ + a]; c >= 0) X(dof + a, c) = 1;
      if (const int c = column_of[velocity_ + a]; c >= 0) V(dof + a, c) = 1;
      if (const int c = column_of[rotation_ + a]; c >= 0) {
        X.block<3, 1>(dof, c) = minus_hat * J.col(a);
        V.block<3, 1>(dof, c) = by_turn * J.col(a);
      }
      if (const int c = column_of[angular_velocity_ + a]; c >= 0) {
        V.block<3, 1>(dof, c) = minus_hat.col(a);
      }
    }
  }
}

}  // namespace diffsim
