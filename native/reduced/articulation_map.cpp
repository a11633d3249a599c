#include "articulation_map.hpp"

#include <optional>

#include "twist.hpp"

namespace diffsim {

void ArticulationMap::evaluate(const Articulation& at, const std::vector<Node>& nodes,
                               const VectorXd& p, const State& s) {
  at_ = &at;
  nodes_ = &nodes;
  const auto& steps = at.steps();
  V_.resize(steps.size());
  T_.resize(steps.size());
  links_.resize(at.links().size());
  origin_ = s.c.col(at.links()[0].node);
  at.screws(p, s, origin_, S_, rate_);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    V_[k] = rate_[k];
    if (steps[k].parent >= 0) V_[k] += V_[steps[k].parent];
    for (int i = 0; i < steps[k].columns(); ++i) T_[k].col(i) = cross(V_[k], S_[k].col(i));
  }
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Articulation::Link& link = at.links()[l];
    links_[l].arm = s.c.col(link.node) - origin_;
    links_[l].w = s.w[link.frame];
    links_[l].V = link.step >= 0 ? V_[link.step] : Vector6(Vector6::Zero());
  }
}

const std::vector<Vector6>& ArticulationMap::wrenches(const Eigen::Ref<const VectorXd>& r) const {
  std::vector<Vector6>& F = F_;
  F.assign(S_.size(), Vector6::Zero());
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Articulation::Link& link = at_->links()[l];
    if (link.step < 0) continue;
    const auto own = r.segment<6>((*nodes_)[link.node].dof);
    const Vector3d f = own.head<3>();
    F[link.step].head<3>() += own.tail<3>() + links_[l].arm.cross(f);
    F[link.step].tail<3>() += f;
  }
  for (int k = static_cast<int>(F.size()) - 1; k >= 0; --k) {
    const int parent = at_->steps()[k].parent;
    if (parent >= 0) F[parent] += F[k];
  }
  return F;
}

void ArticulationMap::reduce(Eigen::Ref<MatrixXd> rows) const {
  for (Eigen::Index c = 0; c < rows.cols(); ++c) {
    auto own = rows.col(c);
    const std::vector<Vector6>& F = wrenches(own);
    for (const Articulation::Link& link : at_->links()) {
      own.segment<6>((*nodes_)[link.node].dof).setZero();
    }
    for (std::size_t k = 0; k < F.size(); ++k) {
      const Articulation::Step& step = at_->steps()[k];
      for (int i = 0; i < step.columns() && !step.driven; ++i) {
        own[step.dof + i] += S_[k].col(i).dot(F[k]);
      }
    }
  }
}

void ArticulationMap::displace(const Displacement& by, std::vector<Vector6>& before_step,
                               std::vector<Vector6>& of_link) const {
  const auto& steps = at_->steps();
  before_step.assign(steps.size(), Vector6::Zero());
  of_link.assign(links_.size(), Vector6::Zero());
  std::vector<Vector6> behind(steps.size());
  const auto advance = [&](int k, Vector6& xi) {
    before_step[k] = xi;
    for (int i = 0; by.rows && i < steps[k].columns(); ++i) {
      if (!by.held || !steps[k].driven) xi += S_[k].col(i) * by.rows[steps[k].dof + i];
    }
    behind[k] = xi;
  };
  for (int k = 0; k < static_cast<int>(steps.size()); ++k) {
    if (steps[k].base < 0) continue;
    Vector6 xi = Vector6::Zero();
    if (steps[k].parent >= 0) xi = behind[steps[k].parent];
    advance(k, xi);
  }
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Articulation::Link& link = at_->links()[l];
    Vector6& xi = of_link[l];
    if (link.carrier_link >= 0) {
      xi = of_link[link.carrier_link];
    } else if (link.carrier_step >= 0) {
      xi = behind[link.carrier_step];
    }
    for (const auto& [twist, share] : by.places) {
      if (twist->link == static_cast<int>(l)) xi += share * twist->before;
    }
    for (int k = link.first; k < link.last; ++k) advance(k, xi);
    for (const auto& [twist, share] : by.places) {
      if (twist->link == static_cast<int>(l)) xi += share * twist->after;
    }
  }
}

void ArticulationMap::spread(MatrixXd& rows) const {
  std::vector<Vector6> before, xi;
  for (Eigen::Index c = 0; c < rows.cols(); ++c) {
    displace({rows.col(c).data(), true, {}}, before, xi);
    for (std::size_t l = 0; l < links_.size(); ++l) {
      auto own = rows.col(c).segment<6>((*nodes_)[at_->links()[l].node].dof);
      const Vector3d w = xi[l].head<3>();
      own.head<3>() = xi[l].tail<3>() + w.cross(links_[l].arm);
      own.tail<3>() = w;
    }
  }
}

void ArticulationMap::expand(const PlaceTwists& twists, const MatrixXd& place, MatrixXd& X,
                             MatrixXd& V) const {
  const auto& steps = at_->steps();
  std::vector<Vector6> before, xi, dV(steps.size());
  for (Eigen::Index c = 0; c < X.cols(); ++c) {
    Displacement by{X.col(c).data(), false, {}};
    for (std::size_t t = 0; t < twists.size(); ++t) {
      const double share = place(static_cast<Eigen::Index>(t), c);
      if (share != 0) by.places.push_back({&twists[t], share});
    }
    displace(by, before, xi);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      dV[k] = cross(before[k], rate_[k]);
      if (steps[k].parent >= 0) dV[k] += dV[steps[k].parent];
      for (int i = 0; i < steps[k].columns(); ++i) {
        dV[k] += S_[k].col(i) * V(steps[k].dof + i, c);
      }
    }
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const Articulation::Link& link = at_->links()[l];
      const int dof = (*nodes_)[link.node].dof;
      const Vector3d &arm = links_[l].arm, turn = xi[l].head<3>();
      const Vector3d moved = xi[l].tail<3>() + turn.cross(arm);
      const Vector6 change = link.step >= 0 ? dV[link.step] : Vector6(Vector6::Zero());
      const Vector3d w = change.head<3>();
      X.col(c).segment<3>(dof) = moved;
      X.col(c).segment<3>(dof + 3) = turn;
      V.col(c).segment<3>(dof) = change.tail<3>() + w.cross(arm) + links_[l].w.cross(moved);
      V.col(c).segment<3>(dof + 3) = w;
    }
  }
}

VectorXd ArticulationMap::pull(const PlaceTwists& twists, MatrixXd& x, MatrixXd& v) const {
  const auto& steps = at_->steps();
  std::vector<Vector6> xi(links_.size()), before(steps.size(), Vector6::Zero());
  std::vector<Vector6> dV(steps.size(), Vector6::Zero()), behind(before);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Articulation::Link& link = at_->links()[l];
    const int dof = (*nodes_)[link.node].dof;
    auto gx = x.col(0).segment<6>(dof), gv = v.col(0).segment<6>(dof);
    const Vector3d& arm = links_[l].arm;
    const Vector3d by_v = gv.head<3>(), moved = gx.head<3>() + by_v.cross(links_[l].w);
    xi[l].head<3>() = gx.tail<3>() + arm.cross(moved);
    xi[l].tail<3>() = moved;
    if (link.step >= 0) {
      dV[link.step].head<3>() += gv.tail<3>() + arm.cross(by_v);
      dV[link.step].tail<3>() += by_v;
    }
    gx.setZero();
    gv.setZero();
  }
  for (int k = static_cast<int>(steps.size()) - 1; k >= 0; --k) {
    // dV += before x rate
    before[k] = cross_force(rate_[k], dV[k]);
    if (steps[k].parent >= 0) dV[steps[k].parent] += dV[k];
    for (int i = 0; i < steps[k].columns(); ++i) {
      v(steps[k].dof + i, 0) += S_[k].col(i).dot(dV[k]);
    }
  }
  VectorXd places = VectorXd::Zero(static_cast<Eigen::Index>(twists.size()));
  const auto retreat = [&](int k, Vector6& of) {
    of += behind[k];
    for (int i = 0; i < steps[k].columns(); ++i) x(steps[k].dof + i, 0) += S_[k].col(i).dot(of);
    of += before[k];
  };
  for (int l = static_cast<int>(links_.size()) - 1; l >= 0; --l) {
    const Articulation::Link& link = at_->links()[l];
    Vector6& of = xi[l];
    for (std::size_t t = 0; t < twists.size(); ++t) {
      if (twists[t].link == l) places[static_cast<Eigen::Index>(t)] += twists[t].after.dot(of);
    }
    for (int k = link.last - 1; k >= link.first; --k) retreat(k, of);
    for (std::size_t t = 0; t < twists.size(); ++t) {
      if (twists[t].link == l) places[static_cast<Eigen::Index>(t)] += twists[t].before.dot(of);
    }
    if (link.carrier_link >= 0) {
      xi[link.carrier_link] += of;
    } else if (link.carrier_step >= 0) {
      behind[link.carrier_step] += of;
    }
  }
  for (int k = static_cast<int>(steps.size()) - 1; k >= 0; --k) {
    if (steps[k].base < 0) continue;
    Vector6 of = Vector6::Zero();
    retreat(k, of);
    if (steps[k].parent >= 0) behind[steps[k].parent] += of;
  }
  return places;
}

ArticulationMap::PlaceTwists ArticulationMap::place_twists(
    const VectorXd& p, const State& s, const std::vector<int>& column_of) const {
  PlaceTwists twists;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Joint& joint = *at_->links()[l].joint;
    std::optional<Matrix12> by;
    for (int k = 0; k < 12; ++k) {
      const int parameter = joint.place_parameter(k);
      if (parameter < 0 || column_of[parameter] < 0) continue;
      if (!by) by = joint.place_by_parameters(s, p);
      const NodePair::Pose a = joint.nodes().pose(0, s), b = joint.nodes().pose(1, s);
      const auto place = joint.place(p);
      const Vector3d in_a = a.c + a.R * place[0].point - origin_;
      const Vector3d in_b = b.c + b.R * place[1].point - origin_;
      const Vector12 d = by->col(k);
      // What moves the joint in b moves b the other way.
      twists.push_back({parameter, static_cast<int>(l), twist(d.segment<3>(3), in_a, d.head<3>()),
                        -twist(d.tail<3>(), in_b, d.segment<3>(6))});
    }
  }
  return twists;
}

VectorXd ArticulationMap::place_column(const PlaceTwist& twist, const VectorXd& r,
                                       const BlockMatrix& K, const BlockMatrix& B) const {
  MatrixXd X = MatrixXd::Zero(r.size(), 1), V = X, rows = X;
  expand({twist}, MatrixXd::Ones(1, 1), X, V);
  K.multiply_add(X, rows);
  B.multiply_add(V, rows);
  for (const Articulation::Link& link : at_->links()) {
    const int dof = (*nodes_)[link.node].dof;
    const Vector3d moved = X.col(0).segment<3>(dof), f = r.segment<3>(dof);
    rows.col(0).segment<3>(dof + 3) += moved.cross(f);
  }
  reduce(rows);
  std::vector<Vector6> before, of_link;
  displace({nullptr, true, {{&twist, 1.}}}, before, of_link);
  const std::vector<Vector6>& F = wrenches(r);
  for (std::size_t k = 0; k < F.size(); ++k) {
    const Articulation::Step& step = at_->steps()[k];
    for (int i = 0; i < step.columns() && !step.driven; ++i) {
      rows(step.dof + i, 0) += cross(before[k], S_[k].col(i)).dot(F[k]);
    }
  }
  return rows.col(0);
}

}  // namespace diffsim
