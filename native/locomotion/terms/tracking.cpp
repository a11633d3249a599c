// Nearness to a reference: what model predictive control asks of a motion [G 3.6.1].
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

constexpr double kTrackingStep = 0.1;  // [s] at which weights count as they are given
// Turns beside shifts over the height of the centre of mass: a body that leans takes hips away from
// feet that stand.
constexpr double kTurn = 1.5;

// Weights are of a mean over time, whatever the step; samples that are held have nothing to follow.
class Tracking : public MotionTerm {
 public:
  Tracking(std::string name, double weight, const MotionTask& task, std::string unit, double scale)
      : MotionTerm(std::move(name), Kind::objective, weight * task.step / kTrackingStep,
                   std::move(unit), scale),
        reference_(task.reference) {}

 protected:
  const MotionSample& wanted(int i) const { return reference_->samples[i]; }
  static int first(const Evaluation& at) { return at.task.fixed; }

 private:
  std::shared_ptr<const MotionPlan> reference_;
};

class TrackBody : public Tracking {
 public:
  TrackBody(const LeggedModel& model, const MotionTask& task)
      : Tracking("track_body", task.tracking.body, task, "m or rad", model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = first(at); i < at.samples(); ++i) {
      const MotionSample& s = at.plan().samples[i];
      MotionRows& moved = rows.begin(3, i);
      moved.value.head<3>() = (s.x - wanted(i).x) / scale;
      moved.by(at.layout.x(i), Matrix3d(Matrix3d::Identity() / scale));
      rows.equal();
      const Vector3d turn = log_rotation(wanted(i).R.transpose() * s.R);
      MotionRows& turned = rows.begin(3, i);
      turned.value.head<3>() = kTurn * turn;
      turned.by(at.layout.R(i), Matrix3d(kTurn * left_jacobian_inverse(-turn)));
      rows.equal();
    }
  }
};

// Differences of samples beside the reference's, over the step; speeds in units of sqrt(g height).
class TrackVelocity : public Tracking {
 public:
  TrackVelocity(const LeggedModel& model, const MotionTask& task)
      : Tracking("track_velocity", task.tracking.velocity, task, "m/s or rad/s",
                 std::sqrt(model.gravity() * model.height())),
        rate_(std::sqrt(model.height() / model.gravity())) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const double linear = 1 / (at.task.step * scale), angular = rate_ / at.task.step;
    const double turning = kTurn * angular;
    const int joints = at.layout.q_size() - LeggedModel::kBase;
    for (int a = std::max(0, first(at) - 1); a + 1 < at.samples(); ++a) {
      const int b = a + 1;
      const MotionSample &s = at.plan().samples[a], &next = at.plan().samples[b];
      MotionRows& moved = rows.begin(3, b);
      moved.value.head<3>() = linear * (next.x - s.x - wanted(b).x + wanted(a).x);
      moved.by(at.layout.x(b), Matrix3d(linear * Matrix3d::Identity()));
      moved.by(at.layout.x(a), Matrix3d(-linear * Matrix3d::Identity()));
      rows.equal();
      const Vector3d turn = log_rotation(s.R.transpose() * next.R);
      MotionRows& turned = rows.begin(3, b);
      turned.value.head<3>() =
          turning * (turn - log_rotation(wanted(a).R.transpose() * wanted(b).R));
      turned.by(at.layout.R(b), Matrix3d(turning * left_jacobian_inverse(-turn)));
      turned.by(at.layout.R(a), Matrix3d(-turning * left_jacobian_inverse(turn)));
      rows.equal();
      for (int k = 0; k < joints; ++k) {
        MotionRows& r = rows.begin(1, b);
        r.value[0] = kJoints * angular *
                     (next.q[7 + k] - s.q[7 + k] - wanted(b).q[7 + k] + wanted(a).q[7 + k]);
        r.by(at.layout.q(b) + LeggedModel::kBase + k, kJoints * angular);
        r.by(at.layout.q(a) + LeggedModel::kBase + k, -kJoints * angular);
        rows.equal();
      }
    }
  }

 private:
  static constexpr double kJoints = 0.1;  // beside the body
  double rate_;
};

class TrackContacts : public Tracking {
 public:
  TrackContacts(const LeggedModel& model, const MotionTask& task)
      : Tracking("track_contacts", task.tracking.contacts, task, "m", model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = first(at); i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = (at.plan().samples[i].e[j] - wanted(i).e[j]) / scale;
        r.by(at.layout.e(i, j), Matrix3d(Matrix3d::Identity() / scale));
        rows.equal();
      }
    }
  }
};

class TrackPosture : public Tracking {
 public:
  TrackPosture(const LeggedModel&, const MotionTask& task)
      : Tracking("track_posture", task.tracking.posture, task, "rad", 1) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const int joints = at.layout.q_size() - LeggedModel::kBase;
    for (int i = first(at); i < at.samples(); ++i) {
      const MotionSample& s = at.plan().samples[i];
      for (int k = 0; k < joints; ++k) {
        MotionRows& r = rows.begin(1, i);
        r.value[0] = s.q[7 + k] - wanted(i).q[7 + k];
        r.by(at.layout.q(i) + LeggedModel::kBase + k, 1.);
        rows.equal();
      }
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.model.effectors()[j].is_wheel()) continue;
        MotionRows& r = rows.begin(1, i, j);
        r.value[0] = 0.1 * kTrackingStep * (s.spin[j] - wanted(i).spin[j]);
        r.by(at.layout.spin(i, j), 0.1 * kTrackingStep);
        rows.equal();
      }
    }
  }
};

class TrackForces : public Tracking {
 public:
  TrackForces(const LeggedModel& model, const MotionTask& task)
      : Tracking("track_forces", task.tracking.forces, task, "N", model.weight()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = std::max(0, first(at) - 1); i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.touches(i, j)) continue;
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = at.plan().samples[i].f[j] - wanted(i).f[j];
        r.by(at.layout.f(i, j), Matrix3d(Matrix3d::Identity()));
        rows.equal();
      }
    }
  }
};

}  // namespace

void add_tracking(const LeggedModel& model, const MotionTask& task, MotionTerms& terms) {
  terms.push_back(std::make_unique<TrackBody>(model, task));
  terms.push_back(std::make_unique<TrackVelocity>(model, task));
  terms.push_back(std::make_unique<TrackContacts>(model, task));
  terms.push_back(std::make_unique<TrackPosture>(model, task));
  terms.push_back(std::make_unique<TrackForces>(model, task));
}

}  // namespace diffsim
