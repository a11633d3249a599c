// What is left free: smooth motions near the stance, forces shared out evenly.
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

constexpr double kStep = 0.1;  // [s] at which weights are [G]'s

// Second differences of q, as a mean of squared accelerations over time.
class Smooth : public MotionTerm {
 public:
  explicit Smooth(const LeggedModel&)
      : MotionTerm("smooth", Kind::regularizer, kRegularizerWeight, "rad", 1) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double h = at.task.step, per = std::pow(kStep / h, 1.5);
    constexpr double kFactors[3] = {1, -2, 1};
    const int joints = at.layout.q_size() - LeggedModel::kBase;
    for (int s = at.first_inner(); s <= at.last_inner(); ++s) {
      const Seen seen[3] = {at.seen(s - 1 < 0 ? 0 : s - 1), at.seen(s), at.seen(s + 1)};
      base(at, seen, per, rows);
      for (int k = 0; k < joints; ++k) {
        MotionRows& r = rows.begin(1, seen[1].i);
        for (int m = 0; m < 3; ++m) {
          r.value[0] += per * kFactors[m] * at.plan().samples[seen[m].i].q[7 + k];
          r.by(at.layout.q(seen[m].i) + LeggedModel::kBase + k, per * kFactors[m]);
        }
        rows.equal();
      }
    }
  }

 private:
  static void base(const Evaluation& at, const Seen (&seen)[3], double per, RowSink& rows) {
    Matrix3d R[3];
    for (int k = 0; k < 3; ++k) R[k] = at.rotation(at.plan().samples[seen[k].i].R, seen[k]);
    const Vector3d before = log_rotation(R[0].transpose() * R[1]);
    const Vector3d after = log_rotation(R[1].transpose() * R[2]);
    MotionRows& r = rows.begin(3, seen[1].i);
    r.value.head<3>() = per * (after - before);
    if (r.slopes()) {
      const Matrix3d J[3] = {per * left_jacobian_inverse(before),
                             -per * (left_jacobian_inverse(after) + left_jacobian_inverse(-before)),
                             per * left_jacobian_inverse(-after)};
      for (int k = 0; k < 3; ++k) at.by_rotation(r, at.layout.R(seen[k].i), seen[k], J[k], R[k]);
    }
    rows.equal();
    constexpr double kFactors[3] = {1, -2, 1};
    const double length = per / at.model.height();
    MotionRows& moved = rows.begin(3, seen[1].i);
    for (int k = 0; k < 3; ++k) {
      const Vector3d x = at.point(at.plan().samples[seen[k].i].q.head<3>(), seen[k]);
      moved.value.head<3>() += length * kFactors[k] * x;
      at.by_point(moved, at.layout.q(seen[k].i), seen[k],
                  Matrix3d(length * kFactors[k] * Matrix3d::Identity()), x);
    }
    rows.equal();
  }
};

class Posture : public MotionTerm {
 public:
  explicit Posture(const LeggedModel&)
      : MotionTerm("posture", Kind::regularizer, 0.05 * kRegularizerWeight, "rad", 1) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const int joints = at.layout.q_size() - LeggedModel::kBase;
    for (int i = 0; i < at.samples(); ++i) {
      for (int k = 0; k < joints; ++k) {
        MotionRows& r = rows.begin(1, i);
        r.value[0] = at.plan().samples[i].q[7 + k] - at.model.stance()[7 + k];
        r.by(at.layout.q(i) + LeggedModel::kBase + k, 1.);
        rows.equal();
      }
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.model.effectors()[j].is_wheel()) continue;
        MotionRows& r = rows.begin(1, i, j);
        r.value[0] = 0.1 * kStep * at.plan().samples[i].spin[j];
        r.by(at.layout.spin(i, j), 0.1 * kStep);
        rows.equal();
      }
    }
  }
};

class EvenForces : public MotionTerm {
 public:
  explicit EvenForces(const LeggedModel& model)
      : MotionTerm("even_forces", Kind::regularizer, 0.1 * kRegularizerWeight, "N",
                   model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.touches(i, j)) continue;
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = at.plan().samples[i].f[j];
        r.by(at.layout.f(i, j), Matrix3d(Matrix3d::Identity()));
        rows.equal();
      }
    }
  }
};

// Loads do not jump while an end effector stays in contact.
class SteadyForces : public MotionTerm {
 public:
  explicit SteadyForces(const LeggedModel& model)
      : MotionTerm("steady_forces", Kind::regularizer, kRegularizerWeight, "N", model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int s = 0; s < at.intervals(); ++s) {
      const Seen seen[2] = {at.seen(s), at.seen(s + 1)};
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.touches(seen[0].i, j) || !at.touches(seen[1].i, j)) continue;
        MotionRows& r = rows.begin(3, seen[0].i, j);
        for (const int k : {0, 1}) {
          const double sign = k ? 1 : -1;
          const Vector3d f = at.direction(at.plan().samples[seen[k].i].f[j], seen[k]);
          r.value.head<3>() += sign * f;
          at.by_direction(r, at.layout.f(seen[k].i, j), seen[k],
                          Matrix3d(sign * Matrix3d::Identity()), f);
        }
        rows.equal();
      }
    }
  }
};

}  // namespace

void add_regularizers(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<Smooth>(model));
  terms.push_back(std::make_unique<Posture>(model));
  terms.push_back(std::make_unique<EvenForces>(model));
  terms.push_back(std::make_unique<SteadyForces>(model));
}

}  // namespace diffsim
