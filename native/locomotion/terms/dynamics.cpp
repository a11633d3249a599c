// Newton and Euler for the centroidal frame [G (2.3), (2.4)]; limbs have momentum of their own.
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// A sample's forces act from half a step before it to half a step after it. Places that obey them
// have second differences of h^2 times these shares of the accelerations.
constexpr double kShares[3] = {0.125, 0.75, 0.125};

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
      for (int k = 0; k < 3; ++k) {
        for (int j = 0; j < at.model.effector_count(); ++j) {
          if (!at.touches(seen[k].i, j)) continue;
          const Vector3d f = at.direction(at.plan().samples[seen[k].i].f[j], seen[k]);
          r.value.head<3>() -= kShares[k] * f;
          at.by_direction(r, at.layout.f(seen[k].i, j), seen[k],
                          Matrix3d(-kShares[k] * Matrix3d::Identity()), f);
        }
      }
      rows.equal();
    }
  }
};

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
      const RigidSpin before = rigid_spin(at.model.inertia(), R[0], R[1], h, r.slopes());
      const RigidSpin after = rigid_spin(at.model.inertia(), R[1], R[2], h, r.slopes());
      r.value.head<3>() = per * (after.L - before.L);
      if (r.slopes()) {
        const Matrix3d J[3] = {-per * before.by_first, per * (after.by_first - before.by_second),
                               per * after.by_second};
        for (int k = 0; k < 3; ++k) at.by_rotation(r, at.layout.R(seen[k].i), seen[k], J[k], R[k]);
      }
      add_limbs(at, s - 1, -per, r);
      add_limbs(at, s, per, r);
      for (int k = 0; k < 3; ++k) add_moments(at, seen[k], -arm * kShares[k], r);
      rows.equal();
    }
  }

 private:
  // factor times the moments of the ground's forces at a sample.
  static void add_moments(const Evaluation& at, Seen seen, double factor, MotionRows& r) {
    const MotionSample& sample = at.plan().samples[seen.i];
    const Vector3d x = at.point(sample.x, seen);
    Vector3d total = Vector3d::Zero();
    for (int j = 0; j < at.model.effector_count(); ++j) {
      if (!at.touches(seen.i, j)) continue;
      const Vector3d e = at.point(sample.e[j], seen), f = at.direction(sample.f[j], seen);
      r.value.head<3>() += factor * (e - x).cross(f);
      total += f;
      at.by_point(r, at.layout.e(seen.i, j), seen, Matrix3d(-factor * skew(f)), e);
      at.by_direction(r, at.layout.f(seen.i, j), seen, Matrix3d(factor * skew(e - x)), f);
    }
    at.by_point(r, at.layout.x(seen.i), seen, Matrix3d(factor * skew(total)), x);
  }

  // Of the interval that begins with sample s; none beyond the ends of a motion.
  static void add_limbs(const Evaluation& at, int s, double factor, MotionRows& r) {
    if (!at.periodic() && (s < 0 || s >= at.intervals())) return;
    const Seen from = at.seen(s), to = at.seen(s + 1);
    const LimbMomentum& limbs = at.limbs(from.i);
    const Vector3d L = at.direction(limbs.L, from);
    r.value.head<3>() += factor * L;
    if (!r.slopes()) return;
    const Matrix3d turned = factor * (from.turn ? at.turned() : Matrix3d::Identity());
    r.by(at.layout.q(from.i), (turned * limbs.by_first).eval());
    r.by(at.layout.q(to.i), (turned * limbs.by_second).eval());
    if (from.turn) {
      r.by(at.layout.travel() + 3, (factor * Vector3d::UnitZ().cross(L)).eval());
    } else if (to.turn) {
      r.by(at.layout.travel() + 3, (factor * limbs.by_turn).eval());
    }
  }
};

}  // namespace

void add_dynamics(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<NewtonEquation>(model));
  terms.push_back(std::make_unique<EulerEquation>(model));
}

}  // namespace diffsim
