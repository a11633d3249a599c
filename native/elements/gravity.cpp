#include "gravity.hpp"

namespace diffsim {

void Gravity::add(const Window&, const VectorXd& p, const Assembly& out) const {
  const Vector3d g = p.segment<3>(p_gravity_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const int dof = nodes_[i].dof;
    if (masses_[i].mass < 0) continue;
    const double m = masses_[i].value(p);
    out.r->segment<3>(dof) -= m * g;
    if (!out.columns) continue;
    masses_[i].for_each_slope(p, [&](int parameter, double dm) {
      const int c = out.columns->column(parameter);
      if (c >= 0) out.columns->add(dof, c, -dm * g);
    });
    for (int a = 0; a < 3; ++a) {
      const int c = out.columns->column(p_gravity_ + a);
      if (c >= 0) out.columns->add(dof, c, -m * Vector3d::Unit(a));
    }
  }
}

void Gravity::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  const Vector3d g = p.segment<3>(p_gravity_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (masses_[i].mass >= 0) to.gravity -= masses_[i].value(p) * g.dot(s.c.col(i));
  }
}

void Gravity::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  add_rest_forces(s, p, Energy::kGravity, by);
  const Vector3d g = p.segment<3>(p_gravity_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (masses_[i].mass < 0) continue;
    masses_[i].for_each_slope(p, [&](int parameter, double dm) {
      by.add_p(Energy::kGravity, parameter, -dm * g.dot(s.c.col(i)));
    });
    for (int a = 0; a < 3; ++a) {
      by.add_p(Energy::kGravity, p_gravity_ + a, -masses_[i].value(p) * s.c(a, i));
    }
  }
}

}  // namespace diffsim
