#include "link_kinematics.hpp"

#include <cstring>

#include "../reduced/twist.hpp"

namespace diffsim {

using StepKind = Articulation::StepKind;

LinkKinematics::LinkKinematics(const Scene& scene) : scene_(&scene), at_(scene.articulation()) {
  if (!at_) return;
  const auto& nodes = scene.nodes();
  for (const Articulation::Link& link : at_->links()) {
    const int carrier = link.joint->nodes().node(0);
    Link own{link.node, link.frame, carrier, carrier < 0 ? -1 : nodes[carrier].frame, kWeld, 0, 0,
             false,     1,          0};
    if (link.last > link.first) {
      const Articulation::Step& step = at_->steps()[link.first];
      if (link.last > link.first + 1 || step.columns() > 1) walk_ = true;
      own.step = link.first;
      own.axis = step.axis;
      own.turns = step.kind == StepKind::turn;
      own.coordinate = nodes[step.node].first + step.offset;
      own.ratio = step.ratio;
      own.shift = step.shift;
    }
    links_.push_back(own);
  }
}

void LinkKinematics::set_parameters(const VectorXd& p) {
  const auto bytes = static_cast<std::size_t>(p.size()) * sizeof(double);
  if (!at_ || (p_.size() == p.size() && std::memcmp(p_.data(), p.data(), bytes) == 0)) return;
  p_ = p;
  places_.clear();
  for (const Articulation::Link& link : at_->links()) places_.push_back(link.joint->place(p));
}

void LinkKinematics::place(State& s) const {
  if (!at_) return;
  if (walk_) return at_->place(p_, s);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Link& link = links_[l];
    const JointPlace &a = places_[l][0], &b = places_[l][1];
    Matrix3d M = a.axes;
    Vector3d x = a.point, v = Vector3d::Zero(), w = v;
    if (link.carrier >= 0) {
      const Matrix3d& R = s.R[link.carrier_frame];
      M = R * a.axes;
      const Vector3d arm = R * a.point;
      w = s.w[link.carrier_frame];
      x = s.c.col(link.carrier) + arm;
      v = s.v.col(link.carrier) + w.cross(arm);
    }
    if (link.step != kWeld) {
      const double q = link.ratio * s.q[link.coordinate] + link.shift,
                   rate = link.ratio * s.qdot[link.coordinate];
      const Vector3d axis = M.col(link.axis);
      if (link.turns) {
        turn_about(link.axis, q, M);
        w += rate * axis;
      } else {
        x += q * axis;
        v += rate * axis + w.cross(q * axis);
      }
    }
    Matrix3d& R = s.R[link.frame];
    R.noalias() = M * b.axes.transpose();
    const Vector3d back = R * b.point;
    s.c.col(link.node) = x - back;
    s.v.col(link.node) = v - w.cross(back);
    s.w[link.frame] = w;
  }
}

void LinkKinematics::screws(const State& s, const Vector3d& origin, std::vector<Axes>& S) const {
  if (walk_) {
    std::vector<Axes> own;
    at_->screws(p_, s, origin, own, rates_);
    std::copy(own.begin(), own.end(), S.begin());
    return;
  }
  const auto& steps = at_->steps();
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].base < 0) continue;
    S[k].setZero();
    if (steps[k].kind == StepKind::slides) {
      S[k].bottomRows<3>().setIdentity();
    } else {
      S[k].topRows<3>().setIdentity();
      S[k].bottomRows<3>() = skew(s.c.col(steps[k].base) - origin);
    }
  }
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Link& link = links_[l];
    if (link.step == kWeld) continue;
    const JointPlace& b = places_[l][1];  // its axis stands still in both bodies
    const Matrix3d& R = s.R[link.frame];
    const Vector3d axis = link.ratio * (R * b.axes.col(link.axis));
    if (link.turns) {
      const Vector3d x = s.c.col(link.node) + R * b.point - origin;
      S[link.step].col(0) = stacked(axis, x.cross(axis));
    } else {
      S[link.step].col(0) = stacked(Vector3d::Zero(), axis);
    }
  }
}

}  // namespace diffsim
