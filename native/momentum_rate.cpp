#include "momentum_rate.hpp"

#include <algorithm>

namespace diffsim {
namespace {

// The same step without momentum: elements are affine in gamma.
Window without_momentum(Window window) {
  std::fill_n(window.scheme.gamma, 3, 0.);
  return window;
}

}  // namespace

void add_past_forces(const Window& window, VectorXd& r) {
  for (int k = 1; window.scheme.lags() && k <= window.depth(); ++k) {
    if (window.scheme.lag[k] != 0) r -= window.scheme.lag[k] * window.at[k]->force;
  }
}

VectorXd force(const Scene& scene, const Window& window, const VectorXd& p) {
  VectorXd with = VectorXd::Zero(scene.ndof()), without = with;
  Assembly to;
  for (const auto& e : scene.elements()) {
    if (!e->has_momentum()) continue;
    to.r = &with;
    e->add(window, p, to);
    to.r = &without;
    e->add(without_momentum(window), p, to);
  }
  VectorXd F = with - without;
  add_past_forces(window, F);
  to.r = &F;
  scene.release(to);
  return F;
}

void MomentumRate::evaluate(const Scene& scene, const Window& window, const VectorXd& p,
                            const std::vector<int>& column_of) {
  const Window still = without_momentum(window);
  BlockMatrix K0, B0;
  for (int k = 0; k <= window.depth(); ++k) {
    for (BlockMatrix* M : {&K[k], &B[k], &K0, &B0}) M->reset(scene.past_pattern());
    for (const auto& e : scene.elements()) {
      if (!e->has_momentum()) continue;
      e->add_history(window, k, p, K[k], B[k]);
      e->add_history(still, k, p, K0, B0);
    }
    K[k].values -= K0.values;
    B[k].values -= B0.values;
    scene.drive_history(K[k]);
    scene.drive_history(B[k]);
  }
  VectorXd r = VectorXd::Zero(scene.ndof());
  ParameterColumns with(column_of), without(column_of);
  Assembly to;
  to.r = &r;
  for (const auto& e : scene.elements()) {
    if (!e->has_momentum()) continue;
    to.columns = &with;
    e->add(window, p, to);
    to.columns = &without;
    e->add(still, p, to);
  }
  for (const auto& e : without.take()) with.add(e.row, e.column, -e.value);
  to.columns = &with;
  scene.release(to);
  by_p = with.take();
}

}  // namespace diffsim
