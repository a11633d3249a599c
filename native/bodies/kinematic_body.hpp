// A kinematic body: a frame whose pose is prescribed by keys, one parameter each.
//
// Between keys (every `interval` seconds) position and rotation vector are linear in time; after
// the last key the kinematic body rests; it starts with the velocity of its first piece. Its rows
// of the residual are
//   r = weight (c - c*(t), log(R R*(t)^T)),
// so it is where it must be in every step, its velocity follows through the scheme's beta, and what
// is glued to it is driven by elimination. Forces on it are reactions and move nothing.
#pragma once

#include "../keys.hpp"
#include "body.hpp"

namespace diffsim {

class Scene;

struct PrescribedMotion {
  double interval;              // between keys [s]
  Matrix3X position, rotation;  // (3, keys) [m], [rad], world
};

class KinematicBody : public Body {
 public:
  KinematicBody(const std::string& name, int node, ParameterTable& table,
                const PrescribedMotion& motion, double radius);
  double radius() const override { return radius_; }
  std::vector<NodeMass> masses() const override { return {NodeMass{}}; }  // its mass moves nothing
  void check(const VectorXd& p) const override;
  void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const override;
  void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const override;
  bool driven() const override { return true; }
  void predict(const State& prev, const TimeScheme& scheme, double t, const VectorXd& p,
               const std::vector<Node>& nodes, VectorXd& u) const override;
  void add_rows(const Window& window, const VectorXd& p, const std::vector<Node>& nodes,
                double weight, const Assembly& out) const override;

 private:
  Keys position_, rotation_;  // c*, theta* with R* = exp([theta*]x)
  double radius_;
};

void add_kinematic_body(Scene& scene, const std::string& name, const PrescribedMotion& motion,
                        double radius);

}  // namespace diffsim
