// A deformable body: many point nodes that start from a rigid motion.
//
//   x_i = c + R X_i,  v_i = v + omega x (R X_i) + R V_i,  R = exp([rotation]x)
//   m_i = (share_i + sum_k part_ik (p[factor_k] - 1)) p[mass]
// X are the rest places and V is 0 unless a deformed start is given.
// Solids (shares: nodal volumes, p: density), cloth and strings (shares sum to 1, p: mass; factors
// of patches that are heavier or lighter).
#pragma once

#include "body.hpp"
#include "rigid_body.hpp"

namespace diffsim {

class DeformableBody : public Body {
 public:
  struct Patch {
    double factor;
    VectorXd part;  // of the shares, per node
  };
  struct Matter {
    std::string name, unit;  // "density" [kg/m^3] or "mass" [kg]
    double value;
    VectorXd share;  // per node
    std::vector<Patch> patches = {};
  };
  /// X (3, nodes): rest places about the point that `start` places in the world [m].
  DeformableBody(const std::string& name, int first, ParameterTable& table, Matrix3X X,
                 Matter matter, const RigidBodyStart& start);
  std::vector<NodeMass> masses() const override;
  void check(const VectorXd& p) const override;
  void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const override;
  void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const override;
  /// Of a node whose shares are those of `matter` at i: its own, or one that is glued elsewhere.
  NodeMass mass_of(const Matter& matter, int i) const;
  /// Starts from nodes at these places and velocities (3, nodes), world frame, where the body's
  /// pose and velocities are those of p.
  void set_start(const VectorXd& p, const Matrix3X& position, const Matrix3X& velocity);

 private:
  Matrix3X X_, V_;
  Matter matter_;
  int mass_, first_factor_, position_, rotation_, velocity_, angular_velocity_;
};

}  // namespace diffsim
