// A deformable body: many point nodes that start from a rigid motion.
//
//   x_i = c + R X_i,  v_i = v + omega x (R X_i) + R V_i,  R = exp([rotation]x);  m_i = share_i
//   p[mass]
// X are the rest places and V is 0 unless a deformed start is given.
// Solids (shares: nodal volumes, p: density), cloth and strings (shares sum to 1, p: mass).
#pragma once

#include "body.hpp"
#include "rigid_body.hpp"

namespace diffsim {

class DeformableBody : public Body {
 public:
  struct Matter {
    std::string name, unit;  // "density" [kg/m^3] or "mass" [kg]
    double value;
    VectorXd share;  // per node
  };
  /// X (3, nodes): rest places about the point that `start` places in the world [m].
  DeformableBody(const std::string& name, int first, ParameterTable& table, Matrix3X X,
                 Matter matter, const RigidBodyStart& start);
  std::vector<NodeMass> masses() const override;
  void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const override;
  void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const override;
  int mass_parameter() const { return mass_; }
  /// Starts from nodes at these places and velocities (3, nodes), world frame, where the body's
  /// pose and velocities are those of p.
  void set_start(const VectorXd& p, const Matrix3X& position, const Matrix3X& velocity);

 private:
  Matrix3X X_, V_;
  VectorXd share_;
  int mass_, position_, rotation_, velocity_, angular_velocity_;
};

}  // namespace diffsim
