// The robot's pose agrees with its centroidal frame, contact points and wheels [G (2.11)-(2.15)].
#include "../motion_term.hpp"

namespace diffsim {
namespace {

using Seen = Evaluation::Seen;
using Effector = LeggedKinematics::Effector;

class CentreOfMass : public MotionTerm {
 public:
  explicit CentreOfMass(const LeggedModel& model)
      : MotionTerm("centre_of_mass", Kind::constraint, kConstraintWeight, "m", model.height(),
                   5e-4) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      const LeggedKinematics& pose = at.kinematics(i);
      MotionRows& r = rows.begin(3, i);
      r.value.head<3>() = (pose.com - at.plan().samples[i].x) / scale;
      if (r.slopes()) {
        r.by(at.layout.q(i), pose.com_by_q / scale);
        r.by(at.layout.x(i), Matrix3d(Matrix3d::Identity() / -scale));
      }
      rows.equal();
    }
  }
};

class Orientation : public MotionTerm {
 public:
  explicit Orientation(const LeggedModel&)
      : MotionTerm("orientation", Kind::constraint, kConstraintWeight, "rad", 1, 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      const Matrix3d& base = at.kinematics(i).R;
      const Vector3d turn = log_rotation(base.transpose() * at.plan().samples[i].R);
      MotionRows& r = rows.begin(3, i);
      r.value.head<3>() = turn;
      if (r.slopes()) {
        r.by(at.layout.R(i), left_jacobian_inverse(-turn));
        Matrix3X by_q = Matrix3X::Zero(3, at.layout.q_size());
        by_q.middleCols<3>(3) = -left_jacobian_inverse(turn);
        r.by(at.layout.q(i), by_q);
      }
      rows.equal();
    }
  }
};

class WheelAxis : public MotionTerm {
 public:
  explicit WheelAxis(const LeggedModel&)
      : MotionTerm("wheel_axis", Kind::constraint, kConstraintWeight, "rad", 1, 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (!at.model.effectors()[j].is_wheel()) continue;
        const Effector& seen = at.kinematics(i).effectors[j];
        const WheelFrame& wheel = at.wheel(i, j);
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = seen.axis - wheel.a;
        if (r.slopes()) {
          r.by(at.layout.q(i), seen.axis_by_q);
          r.by(at.layout.yaw(i, j), (-wheel.a_by_yaw).eval());
          r.by(at.layout.tilt(i, j), (-wheel.a_by_tilt).eval());
          if (!at.ground(i, j).flat) r.by(at.layout.e(i, j), (-wheel.a_by_e).eval());
        }
        rows.equal();
      }
    }
  }
};

class ContactPoint : public MotionTerm {
 public:
  explicit ContactPoint(const LeggedModel& model)
      : MotionTerm("contact_point", Kind::constraint, kConstraintWeight, "m", model.height(),
                   5e-4) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    const Matrix3d one = Matrix3d::Identity() / scale;
    for (int i = 0; i < at.samples(); ++i) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        const Effector& seen = at.kinematics(i).effectors[j];
        MotionRows& r = rows.begin(3, i, j);
        r.value.head<3>() = (seen.position - at.plan().samples[i].e[j]) / scale;
        if (r.slopes()) {
          r.by(at.layout.q(i), seen.position_by_q / scale);
          r.by(at.layout.e(i, j), Matrix3d(-one));
        }
        if (at.model.effectors()[j].is_wheel()) {
          const WheelFrame& wheel = at.wheel(i, j);
          r.value.head<3>() += wheel.rho / scale;
          if (r.slopes()) {
            r.by(at.layout.yaw(i, j), wheel.rho_by_yaw / scale);
            r.by(at.layout.tilt(i, j), wheel.rho_by_tilt / scale);
            if (!at.ground(i, j).flat) r.by(at.layout.e(i, j), wheel.rho_by_e / scale);
          }
        }
        rows.equal();
      }
    }
  }
};

// A welded wheel rolls with its link only: the angle of a vector of the link in the wheel's plane,
// from t towards a x t, grows by the spin. [G (2.15)] has cross products of such vectors, which do
// not tell a large turn from a small one.
class WeldedWheel : public MotionTerm {
 public:
  explicit WeldedWheel(const LeggedModel&)
      : MotionTerm("welded_wheel", Kind::constraint, kConstraintWeight, "rad", 1, 1e-3) {}

  void add(const Evaluation& at, RowSink& rows) const override {
    for (int s = 0; s < at.intervals(); ++s) {
      for (int j = 0; j < at.model.effector_count(); ++j) {
        if (at.model.effectors()[j].kind != EndEffectorKind::welded) continue;
        const Seen seen[2] = {at.seen(s), at.seen(s + 1)};
        if (!at.touches(seen[0].i, j) || !at.touches(seen[1].i, j)) continue;
        MotionRows& r = rows.begin(1, seen[0].i, j);
        double turned = 0;
        for (int k = 0; k < 2; ++k) turned += add_end(at, seen[k].i, j, k ? 1 : -1, r);
        turned = std::remainder(turned, 2 * M_PI);
        for (int k = 0; k < 2; ++k) {
          turned -= 0.5 * at.task.step * at.plan().samples[seen[k].i].spin[j];
          r.by(at.layout.spin(seen[k].i, j), -0.5 * at.task.step);
        }
        r.value[0] = turned;
        rows.equal();
      }
    }
  }

 private:
  // Angles within the wheel's plane do not know of the turn of a period.
  static double add_end(const Evaluation& at, int i, int j, int sign, MotionRows& r) {
    const Effector& seen = at.kinematics(i).effectors[j];
    const WheelFrame& wheel = at.wheel(i, j);
    const Vector3d& w = seen.reference;
    const Vector3d up = wheel.a.cross(wheel.t);
    const double c = w.dot(wheel.t), d = w.dot(up), size = c * c + d * d;
    if (r.slopes()) {
      // d angle = (c dd - d dc) / (c^2 + d^2)
      const auto slope = [&](double by_c, double by_d) {
        return sign * (c * by_d - d * by_c) / size;
      };
      const Vector3d by_w = sign * (c * up - d * wheel.t) / size;
      r.by(at.layout.q(i), (by_w.transpose() * seen.reference_by_q).eval());
      const Vector3d up_by_yaw = wheel.a_by_yaw.cross(wheel.t) + wheel.a.cross(wheel.t_by_yaw);
      r.by(at.layout.yaw(i, j), slope(w.dot(wheel.t_by_yaw), w.dot(up_by_yaw)));
      r.by(at.layout.tilt(i, j), slope(0, w.dot(wheel.a_by_tilt.cross(wheel.t))));
      if (!at.ground(i, j).flat) {
        const Matrix3d up_by_e = skew(wheel.a) * wheel.t_by_e - skew(wheel.t) * wheel.a_by_e;
        const RowVector3d by_e =
            sign / size * (c * w.transpose() * up_by_e - d * w.transpose() * wheel.t_by_e);
        r.by(at.layout.e(i, j), by_e);
      }
    }
    return sign * std::atan2(d, c);
  }
};

}  // namespace

void add_pose(const LeggedModel& model, MotionTerms& terms) {
  terms.push_back(std::make_unique<CentreOfMass>(model));
  terms.push_back(std::make_unique<Orientation>(model));
  terms.push_back(std::make_unique<WheelAxis>(model));
  terms.push_back(std::make_unique<ContactPoint>(model));
  terms.push_back(std::make_unique<WeldedWheel>(model));
}

}  // namespace diffsim
