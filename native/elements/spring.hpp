// Springs with damping between pairs of points.
//
//   f_a = T d / l,  f_b = -f_a,  d = x_b - x_a, l = |d|    with T(l, l') of tension.hpp
//   f_a = k d + c d'                                       for a scalar l_0 = 0
// The zero-length spring is linear in all directions, so it has no singular length. A batch may
// give every spring its own natural length (l_0 = rest_scale natural_i) and a factor on k, and on
// the c of the linear law. Springs between point nodes (cloth, strings) take a path without moment
// arms.
#pragma once

#include <array>

#include "../bodies/point_set.hpp"
#include "tension.hpp"
#include "wide_springs.hpp"

namespace diffsim {

struct SpringParameters {
  int stiffness, damping;  // [N/m], [N s/m] or, tension only, [s/m]
  int rest;                // rest_length [m], or rest_scale [-] of natural lengths
};

struct SpringBatch {
  std::string points_a, points_b;
  std::vector<int> index_a, index_b;
  double stiffness, damping, rest_length;
  VectorXd natural_lengths;  // empty: rest_length for all [m]
  VectorXd factors;          // empty: 1
  bool tension_only = false;
};

class Springs : public Element {
 public:
  struct End {
    int set, point;
  };
  /// natural, factors: empty or one per spring.
  Springs(std::string name, std::vector<const PointSet*> sets, std::vector<End> a,
          std::vector<End> b, SpringParameters params, VectorXd natural, VectorXd factors,
          bool tension_only);
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  bool joins() const override { return true; }
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  /// NAME.tension: one per spring; negative where it pushes.
  void list_outputs(const Scene&, OutputList& to) const override;
  /// One per string (tension_only): 0 slack, 1 taut, 5 taut with its damping clamped.
  int mode_count() const override { return tension_only_ ? static_cast<int>(a_.size()) : 0; }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;

 private:
  struct Stencil;
  struct Law;
  struct Plain {  // a spring between two point nodes
    int spring, node_a, node_b, dof_a, dof_b;
    std::array<int, 4> block;  // aa, ab, ba, bb
  };
  Law law(const VectorXd& p) const;
  template <bool Slopes>
  void evaluate(const Law& law, int i, Stencil& t) const;
  Stencil stencil(const Law& law, int i, const State& s, const VectorXd& p) const;
  void tension(const Law& law, int i, const State& s, const VectorXd& p, double& T,
               OutputJacobian* by) const;
  template <bool Slopes>
  void add_plain(const Law& law, const State& s, const Assembly& out) const;
  void add_plain_columns(const Law& law, const State& s, ParameterColumns& out) const;
  void add_jacobian(int i, const Stencil& t, const State& s, const Assembly& out) const;
  void add_columns(int i, const Stencil& t, const State& s, ParameterColumns& out) const;
  int node(const End& e) const { return sets_[e.set]->node[e.point]; }
  bool plain(const End& e) const {
    return node(e) >= 0 && sets_[e.set]->nodes[node(e)].kind == NodeKind::point;
  }

  std::vector<const PointSet*> sets_;
  std::vector<End> a_, b_;
  SpringParameters params_;
  VectorXd natural_, factors_;
  bool tension_only_;
  std::vector<Plain> plain_;
  WideSprings wide_;          // the same ones, where they push and pull and have a natural length
  std::vector<int> general_;  // the other springs ...
  std::vector<std::array<int, 4>> blocks_;  // ... and their aa, ab, ba, bb; -1: the world
};

void add_springs(Scene& scene, const std::string& name, const SpringBatch& batch);

}  // namespace diffsim
