// What a motion is for: travel, turn, height, places; where a periodic one begins; how one ends.
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// Of motions that do not repeat, goals count from where the first sample is held, or from where
// `Begin` wants it: at the origin, heading along x.
bool begins_free(const Evaluation& at) { return !at.periodic() && at.task.fixed == 0; }

Seen last(const Evaluation& at) { return at.seen(at.periodic() ? at.samples() : at.samples() - 1); }

class TravelGoal : public MotionTerm {
 public:
  TravelGoal(const LeggedModel& model, Eigen::Vector2d wanted)
      : MotionTerm("travel", Kind::objective, kObjectiveWeight, "m", model.height()),
        wanted_(std::move(wanted)) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    MotionRows& r = rows.begin(2, 0);
    const Vector3d x0 = begins_free(at) ? Vector3d::Zero().eval() : at.plan().samples[0].x;
    const Seen end = last(at);
    const Vector3d x1 = at.point(at.plan().samples[end.i].x, end);
    r.value.head<2>() = ((x1 - x0).head<2>() - wanted_) / scale;
    const Eigen::Matrix<double, 2, 3> by = Eigen::Matrix<double, 2, 3>::Identity() / scale;
    at.by_point(r, at.layout.x(end.i), end, by, x1);
    if (at.periodic()) r.by(at.layout.x(0), Eigen::Matrix<double, 2, 3>(-by));
    rows.equal();
  }

 private:
  Eigen::Vector2d wanted_;
};

// Yaw of R: of its first axis.
double yaw_of(const Matrix3d& R, RowVector3d& by) {
  const Vector3d a = R.col(0);
  const double size = a.head<2>().squaredNorm();
  const RowVector3d by_a(-a.y() / size, a.x() / size, 0);
  by = -by_a * R * skew(Vector3d::UnitX());  // R exp(d) e1 = R e1 - R [e1]x d
  return std::atan2(a.y(), a.x());
}

class TurnGoal : public MotionTerm {
 public:
  explicit TurnGoal(double wanted)
      : MotionTerm("turn", Kind::objective, kObjectiveWeight, "rad", 1), wanted_(wanted) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    MotionRows& r = rows.begin(1, 0);
    if (at.periodic()) {
      r.value[0] = at.plan().travel.yaw - wanted_;
      r.by(at.layout.travel() + 3, 1.);
    } else {
      const int end = at.samples() - 1;
      RowVector3d by_first, by_end;
      const double first = begins_free(at) ? 0 : yaw_of(at.plan().samples[0].R, by_first);
      r.value[0] =
          std::remainder(yaw_of(at.plan().samples[end].R, by_end) - first - wanted_, 2 * M_PI);
      r.by(at.layout.R(end), by_end);
    }
    rows.equal();
  }

 private:
  double wanted_;
};

// A motion whose first sample is free begins at the origin, heading along x.
class Begin : public MotionTerm {
 public:
  explicit Begin(const LeggedModel& model)
      : MotionTerm("begin", Kind::objective, kObjectiveWeight, "m", model.height()) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const MotionSample& first = at.plan().samples[0];
    MotionRows& r = rows.begin(3, 0);
    RowVector3d by_R;
    r.value.head<2>() = first.x.head<2>() / scale;
    r.value[2] = yaw_of(first.R, by_R);
    Matrix3d J = Matrix3d::Zero();
    J(0, 0) = J(1, 1) = 1 / scale;
    r.by(at.layout.x(0), J);
    Matrix3d K = Matrix3d::Zero();
    K.row(2) = by_R;
    r.by(at.layout.R(0), K);
    rows.equal();
  }
};

class BodyHeight : public MotionTerm {
 public:
  BodyHeight(const LeggedModel& model, double wanted)
      : MotionTerm("body_height", Kind::objective, 0.1 * kObjectiveWeight, "m", model.height()),
        wanted_(wanted) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      const GroundFrame ground = at.ground_at(at.plan().samples[i].x);
      MotionRows& r = rows.begin(1, i);
      r.value[0] = (ground.gap - wanted_) / scale;
      r.by(at.layout.x(i), (ground.n.transpose() / scale).eval());
      rows.equal();
    }
  }

 private:
  double wanted_;
};

class Places : public MotionTerm {
 public:
  Places(const LeggedModel& model, std::vector<PlaceGoal> wanted)
      : MotionTerm("places", Kind::objective, kObjectiveWeight, "m", model.height()),
        wanted_(std::move(wanted)) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (const PlaceGoal& goal : wanted_) {
      const MotionSample& sample = at.plan().samples[goal.sample];
      const bool body = goal.effector < 0;
      const Vector3d& place = body ? sample.x : sample.e[goal.effector];
      MotionRows& r = rows.begin(3, goal.sample, goal.effector);
      Matrix3d J = Matrix3d::Zero();
      for (int k = 0; k < 3; ++k) {
        if (std::isnan(goal.place[k])) continue;
        r.value[k] = (place[k] - goal.place[k]) / scale;
        J(k, k) = 1 / scale;
      }
      r.by(body ? at.layout.x(goal.sample) : at.layout.e(goal.sample, goal.effector), J);
      rows.equal();
    }
  }

 private:
  std::vector<PlaceGoal> wanted_;
};

class Ceilings : public MotionTerm {
 public:
  Ceilings(const LeggedModel& model, std::vector<HeightLimit> limits)
      : MotionTerm("ceiling", Kind::constraint, kConstraintWeight, "m", model.height(), 1e-3),
        limits_(std::move(limits)) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (const HeightLimit& limit : limits_) {
      for (int i = limit.first; i <= limit.last; ++i) {
        MotionRows& r = rows.begin(1, i);
        r.value[0] = (at.plan().samples[i].x.z() - limit.height) / scale;
        r.by(at.layout.x(i), RowVector3d(0, 0, 1 / scale));
        rows.below(0.02);
      }
    }
  }

 private:
  std::vector<HeightLimit> limits_;
};

// The last two samples are one: the robot has come to rest, its wheels stand.
class Rest : public MotionTerm {
 public:
  explicit Rest(const LeggedModel& model)
      : MotionTerm("rest", Kind::constraint, kConstraintWeight, "m or rad", model.height(), 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const int b = at.samples() - 1, a = b - 1;
    const MotionSample &before = at.plan().samples[a], &end = at.plan().samples[b];
    MotionRows& moved = rows.begin(3, b);
    moved.value.head<3>() = (end.x - before.x) / scale;
    moved.by(at.layout.x(b), Matrix3d(Matrix3d::Identity() / scale));
    moved.by(at.layout.x(a), Matrix3d(Matrix3d::Identity() / -scale));
    rows.equal();
    const Vector3d turn = log_rotation(before.R.transpose() * end.R);
    MotionRows& turned = rows.begin(3, b);
    turned.value.head<3>() = turn;
    turned.by(at.layout.R(b), left_jacobian_inverse(-turn));
    turned.by(at.layout.R(a), Matrix3d(-left_jacobian_inverse(turn)));
    rows.equal();
    for (int k = 7; k < at.model.position_size(); ++k) {  // joints: after place and quaternion
      MotionRows& r = rows.begin(1, b);
      r.value[0] = end.q[k] - before.q[k];
      r.by(at.layout.q(b) + k - 1, 1.);
      r.by(at.layout.q(a) + k - 1, -1.);
      rows.equal();
    }
    for (int j = 0; j < at.model.effector_count(); ++j) {
      if (!at.model.effectors()[j].is_wheel()) continue;
      MotionRows& r = rows.begin(1, b, j);
      r.value[0] = at.task.step * end.spin[j];
      r.by(at.layout.spin(b, j), at.task.step);
      rows.equal();
    }
  }
};

// Joints of the last sample are those of the stance: what comes next may begin from there.
class EndsInStance : public MotionTerm {
 public:
  explicit EndsInStance(const LeggedModel&)
      : MotionTerm("stance", Kind::constraint, kConstraintWeight, "rad", 1, 2e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const int end = at.samples() - 1;
    for (int k = 7; k < at.model.position_size(); ++k) {
      MotionRows& r = rows.begin(1, end);
      r.value[0] = at.plan().samples[end].q[k] - at.model.stance()[k];
      r.by(at.layout.q(end) + k - 1, 1.);
      rows.equal();
    }
  }
};

}  // namespace

void add_ends(const LeggedModel& model, const MotionTask& task, MotionTerms& terms) {
  if (task.end == PlanEnd::rest) terms.push_back(std::make_unique<Rest>(model));
  if (task.stance) terms.push_back(std::make_unique<EndsInStance>(model));
  if (task.fixed == 0) terms.push_back(std::make_unique<Begin>(model));
}

void add_goals(const LeggedModel& model, const MotionTask& task, MotionTerms& terms) {
  if (task.travel) terms.push_back(std::make_unique<TravelGoal>(model, *task.travel));
  if (task.turn) terms.push_back(std::make_unique<TurnGoal>(*task.turn));
  if (task.height) terms.push_back(std::make_unique<BodyHeight>(model, *task.height));
  if (!task.places.empty()) terms.push_back(std::make_unique<Places>(model, task.places));
  if (!task.ceilings.empty()) terms.push_back(std::make_unique<Ceilings>(model, task.ceilings));
}

}  // namespace diffsim
