#include "rigid_body.hpp"

#include <Eigen/Eigenvalues>

#include "../rotation.hpp"
#include "../scene.hpp"

namespace diffsim {

Matrix3d inertia_matrix(const Eigen::Ref<const Vector6>& e) {
  Matrix3d I;
  I << e[0], e[3], e[4], e[3], e[1], e[5], e[4], e[5], e[2];
  return I;
}

RigidBody::RigidBody(const std::string& name, int node, ParameterTable& table, double mass,
                     const Vector6& inertia, const RigidBodyStart& start, double radius)
    : Body(name, NodeKind::frame, node), radius_(radius) {
  if (!(radius > 0)) refuse("rigid body '" + name + "': radius", "must be > 0 [m]", radius);
  mass_ = table.add(name + ".mass", "kg", mass, 1e-12, kInfinity);
  const char* entry[] = {".xx", ".yy", ".zz", ".xy", ".xz", ".yz"};
  inertia_ = table.size();
  for (int i = 0; i < 6; ++i) {
    table.add(name + ".inertia" + entry[i], "kg m^2", inertia[i], i < 3 ? 0 : -kInfinity,
              kInfinity);
  }
  position_ = table.add3(name + ".position", "m", start.position, true);
  rotation_ = table.add3(name + ".rotation", "rad", start.rotation, true);
  velocity_ = table.add3(name + ".velocity", "m/s", start.velocity, true);
  angular_velocity_ = table.add3(name + ".angular_velocity", "rad/s", start.angular_velocity, true);
  check(table.values());
}

void RigidBody::check(const VectorXd& p) const {
  const Matrix3d I = inertia_matrix(p.segment<6>(inertia_));
  const Vector3d moments =
      Eigen::SelfAdjointEigenSolver<Matrix3d>(I, Eigen::EigenvaluesOnly).eigenvalues();
  // A real mass distribution also obeys the triangle inequality of principal moments.
  if (!(moments[0] > 0) || moments[2] > (moments[0] + moments[1]) * (1 + 1e-9)) {
    refuse("rigid body '" + name() + "': inertia",
           "principal moments must be > 0 and none larger than the sum of the others [kg m^2]",
           moments.transpose());
  }
  if (p.segment<3>(rotation_).norm() > 6.2) {
    refuse("rigid body '" + name() + "': rotation", "rotation vector must be shorter than 6.2 rad",
           p.segment<3>(rotation_).norm(), "use the equivalent vector of length <= pi");
  }
}

void RigidBody::start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const {
  const int frame = nodes[node()].frame;
  s.c.col(node()) = p.segment<3>(position_);
  s.v.col(node()) = p.segment<3>(velocity_);
  s.R[frame] = exp_rotation(p.segment<3>(rotation_));
  s.w[frame] = p.segment<3>(angular_velocity_);
}

void RigidBody::start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                                  const std::vector<int>& column_of, MatrixXd& X,
                                  MatrixXd& V) const {
  const Matrix3d J = left_jacobian(p.segment<3>(rotation_));
  const int dof = nodes[node()].dof;
  for (int i = 0; i < 3; ++i) {
    if (const int c = column_of[position_ + i]; c >= 0) X(dof + i, c) = 1;
    if (const int c = column_of[rotation_ + i]; c >= 0) X.block<3, 1>(dof + 3, c) = J.col(i);
    if (const int c = column_of[velocity_ + i]; c >= 0) V(dof + i, c) = 1;
    if (const int c = column_of[angular_velocity_ + i]; c >= 0) V(dof + 3 + i, c) = 1;
  }
}

void add_rigid_body(Scene& scene, const std::string& name, double mass, const Vector6& inertia,
                    const RigidBodyStart& start, double radius) {
  scene.check_new("rigid body", name);
  scene.add_body(std::make_unique<RigidBody>(name, scene.next_node(), scene.table(), mass, inertia,
                                             start, radius));
}

}  // namespace diffsim
