// How end effectors move on and above the ground [G (2.8)-(2.10)].
#include "../motion_term.hpp"
#include "../wheel_velocity.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// A foot in contact stays; a wheel's contact point moves by r w t. The mean of both ends: a wheel
// that turns about the vertical goes along the chord of its arc.
class Rolling : public MotionTerm {
 public:
  explicit Rolling(const LeggedModel& model)
      : MotionTerm("rolling", Kind::constraint, kConstraintWeight, "m", model.height(), 5e-4) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int s = 0; s < at.intervals(); ++s) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        const Seen seen[2] = {at.seen(s), at.seen(s + 1)};
        if (!at.touches(seen[0].i, j) || !at.touches(seen[1].i, j)) continue;
        MotionRows& r = rows.begin(3, seen[0].i, j);
        for (int k = 0; k < 2; ++k) add_end(at, seen[k], j, k ? 1 : -1, r);
        rows.equal();
      }
    }
  }

 private:
  void add_end(const Evaluation& at, Seen seen, int j, int sign, MotionRows& r) const {
    const Vector3d e = at.point(at.plan().samples[seen.i].e[j], seen);
    r.value.head<3>() += sign / scale * e;
    at.by_point(r, at.layout.e(seen.i, j), seen, Matrix3d(sign / scale * Matrix3d::Identity()), e);
    const double half = -0.5 * at.task.step / scale;
    add_wheel_velocity<3>(at, seen, j, half * Matrix3d::Identity(), r);
  }
};

// On the ground in contact, at the wanted height in the air; a periodic motion's end, too.
class Height : public MotionTerm {
 public:
  explicit Height(const LeggedModel& model)
      : MotionTerm("height", Kind::constraint, kConstraintWeight, "m", model.height(), 5e-4) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        // Where a reference is followed, swings are its own: a state that is measured may lie
        // beside.
        if (at.task.reference && !at.touches(i, j)) continue;
        const double wanted = at.touches(i, j) ? 0 : at.task.swing_height(i, j);
        const GroundFrame& ground = at.ground(i, j);
        MotionRows& r = rows.begin(1, i, j);
        r.value[0] = (ground.gap - wanted) / scale;
        r.by(at.layout.e(i, j), (ground.n.transpose() / scale).eval());
        rows.equal();
      }
    }
    if (!at.periodic()) return;
    for (int j = 0; j < at.model.effector_count(); ++j) {
      const Seen seen{0, 1};
      const double wanted = at.touches(0, j) ? 0 : at.task.swing_height(0, j);
      const Vector3d e = at.point(at.plan().samples[0].e[j], seen);
      const GroundFrame ground = at.ground_at(e);
      MotionRows& r = rows.begin(1, 0, j);
      r.value[0] = (ground.gap - wanted) / scale;
      at.by_point(r, at.layout.e(0, j), seen, (ground.n.transpose() / scale).eval(), e);
      rows.equal();
    }
  }
};

class Apart : public MotionTerm {
 public:
  explicit Apart(const LeggedModel& model)
      : MotionTerm("apart", Kind::constraint, kConstraintWeight, "m", model.height(), 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const std::vector<EndEffector>& all = at.model.effectors();
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        for (int k = 0; k < j; ++k) {
          if (all[j].leg == all[k].leg) continue;
          const double least = all[j].radius + all[k].radius + at.task.apart;
          const Vector3d d = at.plan().samples[i].e[j] - at.plan().samples[i].e[k];
          // The difference of squares, as a length where they are nearly equal.
          const double by = 1 / (2 * least * scale), gap = by * (least * least - d.squaredNorm());
          MotionRows& r = rows.begin(1, i, j);
          r.value[0] = gap;
          r.by(at.layout.e(i, j), (-2 * by * d.transpose()).eval());
          r.by(at.layout.e(i, k), (2 * by * d.transpose()).eval());
          rows.below(0.02);
        }
      }
    }
  }
};

// Nothing but end effectors touches the ground.
class Clearance : public MotionTerm {
 public:
  explicit Clearance(const LeggedModel& model)
      : MotionTerm("clearance", Kind::constraint, kConstraintWeight, "m", model.height(), 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (const LeggedKinematics::Point& point : at.kinematics(i).clear) {
        const GroundFrame ground = at.ground_at(point.position);
        MotionRows& r = rows.begin(1, i);
        r.value[0] = -ground.gap / scale;
        if (r.slopes()) {
          r.by(at.layout.q(i), (-ground.n.transpose() * point.position_by_q / scale).eval());
        }
        rows.below(0.01);
      }
    }
  }
};

}  // namespace

void add_contacts(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<Rolling>(model));
  terms.push_back(std::make_unique<Height>(model));
  terms.push_back(std::make_unique<Apart>(model));
  if (!model.clear().empty()) terms.push_back(std::make_unique<Clearance>(model));
}

}  // namespace diffsim
