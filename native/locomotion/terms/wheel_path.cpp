// Paths of wheels on the ground, as far as samples show them.
#include "../motion_term.hpp"
#include "../wheel_velocity.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;
using Matrix13 = Eigen::Matrix<double, 1, 3>;
using Matrix23 = Eigen::Matrix<double, 2, 3>;

// By how much the paths that the trapezoidal rule and Simpson's give over two steps differ,
// h/6 (u- - 2 u + u+).  Rolling takes the former, which does not see a wheel that is steered to and
// fro from one sample to the next, or turns so: it would drive a robot that pushes it sideways, for
// nothing.  Of wheels with a motor this is looked at across their direction: along it they may
// start and stop.
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
        if (at.model.effectors()[j].kind != EndEffectorKind::actuated) {
          MotionRows& r = rows.begin(2, seen[1].i, j);
          for (int k = 0; k < 3; ++k) {
            const double factor = k == 1 ? -2 * by : by;
            add_wheel_velocity<2>(at, seen[k], j, factor * Matrix23::Identity(), r);
          }
        } else {
          across(at, seen, j, by, rows.begin(1, seen[1].i, j));
        }
        rows.equal();
      }
    }
  }

 private:
  static constexpr double kWeight = 100;

  // by (z x t) (u- + u+): u itself is along t.
  static void across(const Evaluation& at, const Seen (&seen)[3], int j, double by, MotionRows& r) {
    const Vector3d t = at.direction(at.wheel(seen[1].i, j).t, seen[1]);
    const Matrix13 side = by * Vector3d::UnitZ().cross(t).transpose();
    Vector3d sum = Vector3d::Zero();
    for (const int k : {0, 2}) {
      add_wheel_velocity<1>(at, seen[k], j, side, r);
      sum += wheel_velocity(at, seen[k], j);
    }
    by_wheel_direction<1>(at, seen[1], j, by * sum.cross(Vector3d::UnitZ()).transpose(), r);
  }
};

}  // namespace

void add_wheel_path(const LeggedModel& model, MotionTerms& terms) {
  for (const EndEffector& effector : model.effectors()) {
    if (effector.is_wheel()) return terms.push_back(std::make_unique<WheelPath>(model));
  }
}

}  // namespace diffsim
