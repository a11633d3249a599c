// Newton and Euler for the centroidal frame [G (2.3), (2.4)].
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// The robot's acceleration less gravity's, and the forces on it, in units of g and of the weight.
class NewtonEquation : public MotionTerm {
 public:
  explicit NewtonEquation(const LeggedModel& model)
      : MotionTerm("newton", Kind::constraint, kConstraintWeight, "N", model.weight(),
                   1e-3 * model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double per = 1 / (at.task.step * at.task.step * at.model.gravity());
    for (int s = at.first_inner(); s <= at.last_inner(); ++s) {
      const Seen seen[3] = {at.seen(s - 1 < 0 ? 0 : s - 1), at.seen(s), at.seen(s + 1)};
      MotionRows& r = rows.begin(3, seen[1].i);
      r.value[2] = 1;
      constexpr double kFactors[3] = {1, -2, 1};
      for (int k = 0; k < 3; ++k) {
        const Vector3d x = at.point(at.plan().samples[seen[k].i].x, seen[k]);
        r.value.head<3>() += per * kFactors[k] * x;
        at.by_point(r, at.layout.x(seen[k].i), seen[k],
                    Matrix3d(per * kFactors[k] * Matrix3d::Identity()), x);
      }
      for (int j = 0; j < at.model.effector_count(); ++j) {
        const Vector3d f = at.direction(at.plan().samples[seen[1].i].f[j], seen[1]);
        r.value.head<3>() -= f;
        at.by_direction(r, at.layout.f(seen[1].i, j), seen[1], Matrix3d(-Matrix3d::Identity()), f);
      }
      rows.equal();
    }
  }
};

// Angular momentum L = R_mid I0 phi / h between two samples, phi = log(R^T R_next) in the body's
// axes, and how it moves with both.
struct Spin {
  Vector3d L;
  Matrix3d by_first, by_second;
};

Spin spin_between(const Matrix3d& I, const Matrix3d& first, const Matrix3d& second, double h,
                  bool slopes) {
  const Vector3d phi = log_rotation(first.transpose() * second), momentum = I * phi / h;
  const Matrix3d middle = first * exp_rotation(0.5 * phi);
  Spin out{middle * momentum, {}, {}};
  if (!slopes) return out;
  const Matrix3d by_second = left_jacobian_inverse(-phi), by_first = -left_jacobian_inverse(phi);
  const Matrix3d half = 0.5 * left_jacobian(-0.5 * phi);  // right Jacobian
  const Matrix3d turn = -skew(momentum);
  out.by_second = middle * (turn * half * by_second + I / h * by_second);
  out.by_first = middle * (turn * (exp_rotation(-0.5 * phi) + half * by_first) + I / h * by_first);
  return out;
}

// Moments about the centre of mass, in units of the weight times its height.
class EulerEquation : public MotionTerm {
 public:
  explicit EulerEquation(const LeggedModel& model)
      : MotionTerm("euler", Kind::constraint, kConstraintWeight, "N m",
                   model.weight() * model.height(), 1e-3 * model.weight() * model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double h = at.task.step, per = 1 / (h * scale), arm = 1 / at.model.height();
    for (int s = at.first_inner(); s <= at.last_inner(); ++s) {
      const Seen seen[3] = {at.seen(s - 1 < 0 ? 0 : s - 1), at.seen(s), at.seen(s + 1)};
      MotionRows& r = rows.begin(3, seen[1].i);
      Matrix3d R[3];
      for (int k = 0; k < 3; ++k) R[k] = at.rotation(at.plan().samples[seen[k].i].R, seen[k]);
      const Spin before = spin_between(at.model.inertia(), R[0], R[1], h, r.slopes());
      const Spin after = spin_between(at.model.inertia(), R[1], R[2], h, r.slopes());
      r.value.head<3>() = per * (after.L - before.L);
      if (r.slopes()) {
        const Matrix3d J[3] = {-per * before.by_first, per * (after.by_first - before.by_second),
                               per * after.by_second};
        for (int k = 0; k < 3; ++k) at.by_rotation(r, at.layout.R(seen[k].i), seen[k], J[k], R[k]);
      }
      const MotionSample& own = at.plan().samples[seen[1].i];
      const Vector3d x = at.point(own.x, seen[1]);
      Vector3d total = Vector3d::Zero();
      for (int j = 0; j < at.model.effector_count(); ++j) {
        const Vector3d e = at.point(own.e[j], seen[1]), f = at.direction(own.f[j], seen[1]);
        r.value.head<3>() -= arm * (e - x).cross(f);
        total += f;
        const Matrix3d by_e = arm * skew(f);
        at.by_point(r, at.layout.e(seen[1].i, j), seen[1], by_e, e);
        const Matrix3d by_f = -arm * skew(e - x);
        at.by_direction(r, at.layout.f(seen[1].i, j), seen[1], by_f, f);
      }
      const Matrix3d by_x = -arm * skew(total);
      at.by_point(r, at.layout.x(seen[1].i), seen[1], by_x, x);
      rows.equal();
    }
  }
};

}  // namespace

void add_dynamics(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<NewtonEquation>(model));
  terms.push_back(std::make_unique<EulerEquation>(model));
}

}  // namespace diffsim
