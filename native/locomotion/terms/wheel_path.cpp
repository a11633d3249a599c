// Paths of wheels on the ground, as far as samples show them.
#include "../motion_term.hpp"
#include "../wheel_velocity.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// By how much the paths that the trapezoidal rule and Simpson's give over two steps differ,
// h/6 (u- - 2 u + u+).  Rolling takes the former, which does not see a wheel that is steered to and
// fro from one sample to the next: it would drive a robot that pushes it sideways, for nothing.
class WheelPath : public MotionTerm {
 public:
  explicit WheelPath(const LeggedModel& model)
      : MotionTerm("wheel_path", Kind::regularizer, kWeight, "m", model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double by = at.task.step / (6 * scale);
    for (int s = at.first_inner(); s <= at.last_inner(); ++s) {
      const Seen seen[3] = {at.seen(s - 1 < 0 ? 0 : s - 1), at.seen(s), at.seen(s + 1)};
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.model.effectors()[j].is_wheel()) continue;
        if (!at.touches(seen[0].i, j) || !at.touches(seen[1].i, j) || !at.touches(seen[2].i, j)) {
          continue;
        }
        MotionRows& r = rows.begin(2, seen[1].i, j);
        for (int k = 0; k < 3; ++k) add_wheel_velocity<2>(at, seen[k], j, k == 1 ? -2 * by : by, r);
        rows.equal();
      }
    }
  }

 private:
  static constexpr double kWeight = 300;
};

}  // namespace

void add_wheel_path(const LeggedModel& model, MotionTerms& terms) {
  for (const EndEffector& effector : model.effectors()) {
    if (effector.is_wheel()) return terms.push_back(std::make_unique<WheelPath>(model));
  }
}

}  // namespace diffsim
