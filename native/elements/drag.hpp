// Drag on points moving through a medium that moves at `wind`:
//
//   f_i = -share_i (c_linear + c_quadratic |u|) u,   u = xdot_i - wind
// shares are 1/n each (c_* are then totals of the set) or given: areas make c_quadratic a pressure
// coefficient rho c_d / 2.
#pragma once

#include "../bodies/point_set.hpp"

namespace diffsim {

struct DragSpec {
  std::string points;
  std::vector<int> index;  // empty: all points
  VectorXd shares;         // empty: 1/n each
  double c_linear = 0, c_quadratic = 0;
  Vector3d wind = Vector3d::Zero();
};

class Drag : public Element {
 public:
  struct Parameters {
    int c_linear, c_quadratic, wind;  // [N s/m], [N s^2/m^2], [m/s]
  };
  Drag(std::string name, const PointSet* points, std::vector<int> index, VectorXd shares,
       Parameters params)
      : Element(std::move(name)),
        points_(points),
        index_(std::move(index)),
        shares_(std::move(shares)),
        params_(params) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  struct Stencil;
  void add_jacobian(int i, const Stencil& t, const State& s, const Assembly& out) const;
  void add_columns(int i, const Stencil& t, const State& s, ParameterColumns& out) const;

  const PointSet* points_;
  std::vector<int> index_;
  VectorXd shares_;
  Parameters params_;
};

void add_drag(Scene& scene, const std::string& name, const DragSpec& spec);

}  // namespace diffsim
