// What forces of the ground there can be [G (2.5)-(2.7)], in units of the weight.
#include "../motion_term.hpp"

namespace diffsim {
namespace {

// Calls use(i, j) for every end effector in contact.
template <class Use>
void each_contact(const Evaluation& at, const Use& use) {
  for (int i = 0; i < at.samples(); ++i) {
    for (int j = 0; j < at.model.effector_count(); ++j) {
      if (at.touches(i, j)) use(i, j);
    }
  }
}

// Nothing pushes in the air. These forces are no unknowns: the rows tell of a plan that has some.
class Airborne : public MotionTerm {
 public:
  explicit Airborne(const LeggedModel& model)
      : MotionTerm("airborne", Kind::constraint, kConstraintWeight, "N", model.weight(),
                   1e-6 * model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (at.touches(i, j)) continue;
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = at.plan().samples[i].f[j];
        r.by(at.layout.f(i, j), Matrix3d(Matrix3d::Identity()));
        rows.equal();
      }
    }
  }
};

class Pushes : public MotionTerm {
 public:
  explicit Pushes(const LeggedModel& model)
      : MotionTerm("pushes", Kind::constraint, kConstraintWeight, "N", model.weight(),
                   1e-3 * model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    each_contact(at, [&](int i, int j) {
      const GroundFrame& ground = at.ground(i, j);
      const Vector3d& f = at.plan().samples[i].f[j];
      MotionRows& r = rows.begin(1, i, j);
      r.value[0] = -f.dot(ground.n);
      r.by(at.layout.f(i, j), (-ground.n.transpose()).eval());
      if (!ground.flat) r.by(at.layout.e(i, j), (-f.transpose() * ground.n_by_e).eval());
      rows.below(0.01);
    });
  }
};

class CoulombCone : public MotionTerm {
 public:
  explicit CoulombCone(const LeggedModel& model)
      : MotionTerm("friction", Kind::constraint, kConstraintWeight, "N", model.weight(),
                   1e-3 * model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double mu = at.task.friction;
    constexpr double kRound = 1e-3;  // the cone's tip is rounded inwards
    each_contact(at, [&](int i, int j) {
      const GroundFrame& ground = at.ground(i, j);
      const Vector3d& f = at.plan().samples[i].f[j];
      const double fn = f.dot(ground.n);
      const Vector3d ft = f - fn * ground.n;
      const double size = std::sqrt(ft.squaredNorm() + kRound * kRound);
      MotionRows& r = rows.begin(1, i, j);
      r.value[0] = size - mu * fn;
      r.by(at.layout.f(i, j), (ft / size - mu * ground.n).transpose().eval());
      if (!ground.flat) {
        const Vector3d by_n = -(fn * ft / size) - mu * f;
        r.by(at.layout.e(i, j), (by_n.transpose() * ground.n_by_e).eval());
      }
      rows.below(0.01);
    });
  }
};

// A wheel that turns freely pushes along its rolling direction by its rolling resistance alone
// ((2.6) has none): against its motion, in proportion to the load.
class PassiveWheel : public MotionTerm {
 public:
  explicit PassiveWheel(const LeggedModel& model)
      : MotionTerm("passive_wheel", Kind::constraint, kConstraintWeight, "N", model.weight(),
                   1e-3 * model.weight()) {}

  static constexpr double kCrawl = 0.02;  // [m/s] at which rolling resistance is three quarters

  void add(const Evaluation& at, RowSink& rows) const override {
    each_contact(at, [&](int i, int j) {
      if (at.model.effectors()[j].kind != EndEffectorKind::passive) return;
      const WheelFrame& wheel = at.wheel(i, j);
      const GroundFrame& ground = at.ground(i, j);
      const EndEffector& one = at.model.effectors()[j];
      const Vector3d& f = at.plan().samples[i].f[j];
      const double speed = one.radius * at.plan().samples[i].spin[j] / kCrawl;
      const double share = one.resistance * std::tanh(speed);
      MotionRows& r = rows.begin(1, i, j);
      r.value[0] = f.dot(wheel.t) + share * f.dot(ground.n);
      if (r.slopes()) {
        r.by(at.layout.f(i, j), (wheel.t + share * ground.n).transpose().eval());
        r.by(at.layout.yaw(i, j), f.dot(wheel.t_by_yaw));
        const double slope = (one.resistance - share * std::tanh(speed)) * one.radius / kCrawl;
        r.by(at.layout.spin(i, j), slope * f.dot(ground.n));
        if (!ground.flat) {
          r.by(at.layout.e(i, j), (f.transpose() * (wheel.t_by_e + share * ground.n_by_e)).eval());
        }
      }
      rows.equal();
    });
  }
};

}  // namespace

void add_forces(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<Airborne>(model));
  terms.push_back(std::make_unique<Pushes>(model));
  terms.push_back(std::make_unique<CoulombCone>(model));
  terms.push_back(std::make_unique<PassiveWheel>(model));
}

}  // namespace diffsim
