// Energy of the normal penalty, k_n w_i d_i^2 / 2 of every point.
#include "contact.hpp"

namespace diffsim {

void Contact::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  Near all;
  gather(0, points_->size(), s, p, nullptr, all);
  sample(all.x, p, all.samples);
  const double radius = points_->radius(p);
  for (int i = 0; i < points_->size(); ++i) {
    const double d = std::max(radius - all.samples[i].g, 0.);
    to.contact += p[law_.k_n] * weights_[i] * d * d / 2;
  }
}

void Contact::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  add_rest_forces(s, p, Energy::kContact, by);
  Near all;
  gather(0, points_->size(), s, p, nullptr, all);
  sample(all.x, p, all.samples);
  const double radius = points_->radius(p);
  for (int i = 0; i < points_->size(); ++i) {
    const double d = radius - all.samples[i].g;
    if (!(d > 0)) continue;
    Vector3d n = all.samples[i].n;
    if (carrier_.node >= 0) n = s.R[carrier_.frame] * n;
    const double push = p[law_.k_n] * weights_[i] * d;
    by.add_p(Energy::kContact, law_.k_n, weights_[i] * d * d / 2);
    by.add_p(Energy::kContact, points_->p_scale, -push * n.dot(points_->arm_by_scale(i, s)));
    if (surface_.first >= 0) {
      const std::vector<SizeSlope> slopes = surface_slopes(i, s, p);
      for (int k = 0; k < surface_.count; ++k) {
        by.add_p(Energy::kContact, surface_.first + k, -push * slopes[k].g);
      }
    }
    if (points_->p_radius < 0) continue;
    by.add_p(Energy::kContact, points_->p_radius, push * (1 - n.dot(points_->arm_by_radius(i, s))));
  }
}

}  // namespace diffsim
