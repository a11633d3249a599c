// What motors can do: ranges and speeds of joints, speeds of wheels.
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;

// Place of joint coordinate k (after the base) in the tree's q.
std::vector<int> positions(const LeggedModel& model) {
  const Tree& tree = model.tree();
  std::vector<int> found;
  for (int joint = 2; joint < tree.size(); ++joint) {
    const JointType type = tree.joint(joint).type;
    if (type == JointType::revolute || type == JointType::prismatic) {
      const int k = tree.velocity_at(joint) - LeggedModel::kBase;
      found.resize(std::max<std::size_t>(found.size(), k + 1), -1);
      found[k] = tree.position_at(joint);
    }
  }
  return found;
}

class JointRanges : public MotionTerm {
 public:
  explicit JointRanges(const LeggedModel& model)
      : MotionTerm("joint_range", Kind::constraint, kConstraintWeight, "rad", 1, 2e-3),
        at_(positions(model)) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const std::vector<JointRange>& ranges = at.model.ranges();
    for (int i = 0; i < at.samples(); ++i) {
      const VectorXd& q = at.plan().samples[i].q;
      for (int k = 0; k < static_cast<int>(at_.size()); ++k) {
        if (at_[k] < 0) continue;
        for (const double sign : {1., -1.}) {
          const double limit = sign > 0 ? ranges[k].upper : ranges[k].lower;
          if (!std::isfinite(limit)) continue;
          MotionRows& r = rows.begin(1, i);
          r.value[0] = sign * (q[at_[k]] - limit);
          r.by(at.layout.q(i) + LeggedModel::kBase + k, sign);
          rows.below(0.05);
        }
      }
    }
  }

 private:
  std::vector<int> at_;
};

class JointSpeeds : public MotionTerm {
 public:
  explicit JointSpeeds(const LeggedModel& model)
      : MotionTerm("joint_speed", Kind::constraint, kConstraintWeight, "of the limit", 1, 5e-3),
        at_(positions(model)) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const std::vector<JointRange>& ranges = at.model.ranges();
    for (int s = 0; s < at.intervals(); ++s) {
      const int first = at.seen(s).i, second = at.seen(s + 1).i;
      for (int k = 0; k < static_cast<int>(at_.size()); ++k) {
        if (at_[k] < 0 || !std::isfinite(ranges[k].speed)) continue;
        const double per = 1 / (at.task.step * ranges[k].speed);
        const double share =
            per * (at.plan().samples[second].q[at_[k]] - at.plan().samples[first].q[at_[k]]);
        for (const double sign : {1., -1.}) {
          MotionRows& r = rows.begin(1, first);
          r.value[0] = sign * share - 1;
          r.by(at.layout.q(second) + LeggedModel::kBase + k, sign * per);
          r.by(at.layout.q(first) + LeggedModel::kBase + k, -sign * per);
          rows.below(0.1);  // [G 2.4.2]: a tenth of the largest speed
        }
      }
    }
  }

 private:
  std::vector<int> at_;
};

class WheelSpeeds : public MotionTerm {
 public:
  explicit WheelSpeeds(const LeggedModel&)
      : MotionTerm("wheel_speed", Kind::constraint, kConstraintWeight, "of the limit", 1, 5e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        const EndEffector& one = at.model.effectors()[j];
        if (one.kind != EndEffectorKind::actuated || one.speed >= EndEffector::kNoLimit) continue;
        for (const double sign : {1., -1.}) {
          MotionRows& r = rows.begin(1, i, j);
          r.value[0] = sign * at.plan().samples[i].spin[j] / one.speed - 1;
          r.by(at.layout.spin(i, j), sign / one.speed);
          rows.below(0.1);
        }
      }
    }
  }
};

}  // namespace

void add_limits(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<JointRanges>(model));
  terms.push_back(std::make_unique<JointSpeeds>(model));
  terms.push_back(std::make_unique<WheelSpeeds>(model));
}

}  // namespace diffsim
