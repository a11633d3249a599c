// Payload: mass that a rigid body carries besides its own, by the ten numbers in which the dynamics
// are linear: mass m, first moment h = m s (s its centre from the body's node, body frame) and the
// inertia I about the NODE, body axes. So its centre of mass may be a parameter, which a body's own
// never is (its node is its centre).
//
// With rho = R h and J = R I R^T, momentum and angular momentum about the moving node are
//   P = m v + omega x rho,   L = J omega + rho x v,
//   r_c = dP/dt - m g,   r_psi = dL/dt + v x P - rho x g,   d/dt = sum_k gamma_k (.)_{n-k}
#pragma once

#include "element.hpp"

namespace diffsim {

class Scene;

struct PayloadSpec {
  std::string body;
  double mass;            // [kg]
  Vector3d first_moment;  // body frame [kg m]
  Vector6 inertia;        // xx yy zz xy xz yz about the node, body axes [kg m^2]
};

class Payload : public Element {
 public:
  struct Parameters {
    int mass, moment, inertia, gravity;  // first indices
  };
  Payload(std::string name, const Node& node, int index, Parameters params)
      : Element(std::move(name)), node_(node), index_(index), params_(params) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  bool looks_back() const override { return true; }
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

 private:
  struct Momentum;
  Momentum momentum(const State& s, const VectorXd& p) const;
  void add_columns(const Window& window, const VectorXd& p, ParameterColumns& columns) const;

  Node node_;
  int index_;  // of the node
  Parameters params_;
};

/// Parameters NAME.mass, NAME.moment.x ..., NAME.inertia.xx ...
void add_payload(Scene& scene, const std::string& name, const PayloadSpec& spec);

}  // namespace diffsim
