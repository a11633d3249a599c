// A rigid body: one frame node at the centre of mass.
#pragma once

#include "body.hpp"

namespace diffsim {

class Scene;

struct RigidBodyStart {
  Vector3d position;          // centre of mass, world [m]
  Vector3d rotation;          // rotation vector of body to world [rad]
  Vector3d velocity;          // world [m/s]
  Vector3d angular_velocity;  // world [rad/s]
};

class RigidBody : public Body {
 public:
  /// inertia: xx yy zz xy xz yz [kg m^2] in the body frame about the centre of mass.
  RigidBody(const std::string& name, int node, ParameterTable& table, double mass,
            const Vector6& inertia, const RigidBodyStart& start, double radius);
  double radius() const override { return radius_; }
  std::vector<NodeMass> masses() const override { return {{mass_, inertia_}}; }
  void check(const VectorXd& p) const override;
  void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const override;
  void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const override;

 private:
  int mass_, inertia_, position_, rotation_, velocity_, angular_velocity_;
  double radius_;
};

void add_rigid_body(Scene& scene, const std::string& name, double mass, const Vector6& inertia,
                    const RigidBodyStart& start, double radius);

/// Symmetric matrix of xx yy zz xy xz yz.
Matrix3d inertia_matrix(const Eigen::Ref<const Vector6>& entries);

}  // namespace diffsim
