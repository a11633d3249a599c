// A cable: one length shared by the segments between points it passes without friction.
//
//   L = sum_j l_j, l_j = |x_{j+1} - x_j|;   f_i = -T g_i,   g_i = dL/dx_i = u_{i-1} - u_i
// with T(L, L') the tension-only law of tension.hpp. Forces derive from L alone: no net force and
// no net torque. Via points are points like any others: on bodies, nodes or the world.
#pragma once

#include "../bodies/point_set.hpp"
#include "tension.hpp"

namespace diffsim {

struct CableSpec {
  std::vector<std::string> points;  // one set for all points, or one per point
  std::vector<int> index;           // along the cable
  double stiffness, damping, rest_length;
};

class Cable : public Element {
 public:
  struct Stop {
    const PointSet* set;
    int point;
    int node() const { return set->node[point]; }
  };
  struct Parameters {
    int stiffness, damping, rest_length;  // [N/m], [s/m], [m]
  };
  Cable(std::string name, std::vector<Stop> stops, Parameters params)
      : Element(std::move(name)), stops_(std::move(stops)), params_(params) {}
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  /// NAME.tension.
  void list_outputs(const Scene&, OutputList& to) const override;
  /// Tension's mode: 0 slack, 1 taut, 5 taut with its damping clamped.
  int mode_count() const override { return 1; }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;

 private:
  struct Shape;  // kinematics, tension and derivatives at a state
  Shape shape(const State& s, const VectorXd& p) const;
  static void bend(Shape& t);
  int size() const { return static_cast<int>(stops_.size()); }
  void add_jacobian(const Shape& t, const State& s, const Assembly& out) const;
  void add_columns(const Shape& t, const State& s, ParameterColumns& out) const;

  std::vector<Stop> stops_;
  Parameters params_;
  std::vector<int> blocks_;  // (size, size): of the nodes of two stops; -1: the world
};

void add_cable(Scene& scene, const std::string& name, const CableSpec& spec);

}  // namespace diffsim
