// End effectors in the air, between the ends of their contacts half a step after the last sample on
// the ground and half a step before the next one: forces act as long.
#include "../motion_term.hpp"
#include "../wheel_velocity.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;
using Matrix23 = Eigen::Matrix<double, 2, 3>;

// Their acceleration over the ground, as a mean of squares over time; height is a constraint. A
// limb that begins and ends its swing gently changes its momentum where the ground's forces can.
class Swing : public MotionTerm {
 public:
  explicit Swing(const LeggedModel& model)
      : MotionTerm("swing", Kind::regularizer, kRegularizerWeight, "m", model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int s = at.first_inner(); s <= at.last_inner(); ++s) {
      const Seen seen[3] = {at.seen(s - 1 < 0 ? 0 : s - 1), at.seen(s), at.seen(s + 1)};
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (at.touches(seen[1].i, j)) continue;
        const bool lifted = at.touches(seen[0].i, j), lands = at.touches(seen[2].i, j);
        const double before = lifted ? 2 : 1, after = lands ? 2 : 1;  // steps per interval
        const double root = std::sqrt(0.5 / before + 0.5 / after);
        MotionRows& r = rows.begin(2, seen[1].i, j);
        add_rate(at, seen[0], seen[1], j, lifted, false, -before / root, r);
        add_rate(at, seen[1], seen[2], j, false, lands, after / root, r);
        rows.equal();
        if (lifted) {
          MotionRows& first = rows.begin(2, seen[1].i, j);
          add_rate(at, seen[0], seen[1], j, true, false, 2 * before, first);
          add_rolling(at, seen[0], j, -2, first);
          rows.equal();
        }
        if (lands) {
          MotionRows& last = rows.begin(2, seen[1].i, j);
          add_rate(at, seen[1], seen[2], j, false, true, -2 * after, last);
          add_rolling(at, seen[2], j, 2, last);
          rows.equal();
        }
      }
    }
  }

 private:
  static double per(const Evaluation& at, double factor) {
    constexpr double kStep = 0.1;  // [s], as of the joints' accelerations
    return factor * std::pow(kStep / at.task.step, 1.5) / at.model.height();
  }

  // factor times the displacement from one sample to the next, or from and to the ends of contacts.
  static void add_rate(const Evaluation& at, Seen from, Seen to, int j, bool lifted, bool lands,
                       double factor, MotionRows& r) {
    for (const int k : {0, 1}) {
      const Seen seen = k ? to : from;
      const double by = per(at, k ? factor : -factor);
      const Vector3d e = at.point(at.plan().samples[seen.i].e[j], seen);
      r.value.head<2>() += by * e.head<2>();
      at.by_point(r, at.layout.e(seen.i, j), seen, Matrix23(by * Matrix23::Identity()), e);
    }
    if (lifted) add_rolling(at, from, j, -0.5 * factor, r);
    if (lands) add_rolling(at, to, j, -0.5 * factor, r);
  }

  // factor times the displacement of a wheel that rolls for a step.
  static void add_rolling(const Evaluation& at, Seen seen, int j, double factor, MotionRows& r) {
    add_wheel_velocity<2>(at, seen, j, per(at, factor) * at.task.step * Matrix23::Identity(), r);
  }
};

}  // namespace

void add_swing(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<Swing>(model));
}

}  // namespace diffsim
