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

}  // namespace diffsim
