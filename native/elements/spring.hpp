// Linear springs with damping between pairs of points.
//
//   f_a = (k (l - l_0) + c l') d / l,   f_b = -f_a,   d = x_b - x_a, l = |d|     for l_0 > 0
//   f_a = k d + c d'                                                          for l_0 = 0
// The zero-length spring is linear in all directions, so it has no singular length.
#pragma once

#include <array>

#include "../bodies/point_set.hpp"

namespace diffsim {

struct SpringParameters {
  int stiffness, damping, rest_length;  // [N/m], [N s/m], [m]
};

struct SpringBatch {
  std::string points_a, points_b;
  std::vector<int> index_a, index_b;
  double stiffness, damping, rest_length;
};

class Springs : public Element {
 public:
  struct End {
    int set, point;
  };
  Springs(std::string name, std::vector<const PointSet*> sets, std::vector<End> a,
          std::vector<End> b, SpringParameters params)
      : Element(std::move(name)),
        sets_(std::move(sets)),
        a_(std::move(a)),
        b_(std::move(b)),
        params_(params) {}
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  struct Stencil;
  Stencil stencil(int i, const State& s, const VectorXd& p) const;
  void add_jacobian(int i, const Stencil& t, const State& s, const Assembly& out) const;
  void add_columns(int i, const Stencil& t, const State& s, const VectorXd& p,
                   ParameterColumns& out) const;
  int node(const End& e) const { return sets_[e.set]->node[e.point]; }

  std::vector<const PointSet*> sets_;
  std::vector<End> a_, b_;
  SpringParameters params_;
  std::vector<std::array<int, 4>> blocks_;  // aa, ab, ba, bb; -1 where an end is the world
};

void add_springs(Scene& scene, const std::string& name, const SpringBatch& batch);

}  // namespace diffsim
