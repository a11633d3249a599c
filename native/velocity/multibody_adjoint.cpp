#include "multibody_adjoint.hpp"

namespace diffsim {

void MultibodyAdjoint::move(const VectorXd& u, std::vector<MotionVector>& V) const {
  for (std::size_t k = 0; k < V.size(); ++k) {
    const Multibody::Step& step = model_->steps()[k];
    V[k] = step.parent >= 0 ? V[step.parent] : MotionVector();
    for (int i = 0; i < step.columns; ++i) {
      const auto S = at_->axes(static_cast<int>(k)).col(i);
      V[k].w += S.head<3>() * u[step.dof + i];
      V[k].v += S.tail<3>() * u[step.dof + i];
    }
  }
}

void MultibodyAdjoint::begin(const MultibodyState& at, const VectorXd& u, const VectorXd& w) {
  at_ = &at;
  rates_ = 2;
  const std::size_t count = model_->steps().size();
  for (auto& V : twist_) V.resize(count);
  move(u, twist_[start]);
  move(w, twist_[weights]);
  for (auto& F : velocity_) F.assign(count, ForceVector());
  for (auto* F : {&pose_, &X_, &Y_}) F->assign(count, ForceVector());
}

void MultibodyAdjoint::begin(const MultibodyState& at, const VectorXd& u, const VectorXd& w,
                             const VectorXd& end, const VectorXd& loads) {
  begin(at, u, w);
  rates_ = 4;
  move(end, twist_[Rates::end]);
  move(loads, twist_[Rates::loads]);
}

void MultibodyAdjoint::add_pose(int node, const Vector3d& x, const Vector3d& force,
                                const Vector3d& moment) {
  const int step = node < 0 ? -1 : model_->step_of(node);
  if (step >= 0) pose_[step] += about_origin(x, force, moment);
}

void MultibodyAdjoint::add_velocity(Rates of, int node, const Vector3d& x, const Vector3d& force,
                                    const Vector3d& moment) {
  const int step = node < 0 ? -1 : model_->step_of(node);
  if (step < 0) return;
  const ForceVector F = about_origin(x, force, moment);
  velocity_[of][step] += F;
  pose_[step] += crossf(twist_[of][step], F);  // it moves by S x (V - V_k), this is S x V
}

void MultibodyAdjoint::velocity_terms(const MultibodyState& at, const VectorXd& w, VectorXd& to) {
  at_ = &at;
  const auto& steps = model_->steps();
  twist_[weights].resize(steps.size());
  move(w, twist_[weights]);
  for (auto* F : {&X_, &Y_}) F->assign(steps.size(), ForceVector());
  add_inertia();
  for (int k = static_cast<int>(steps.size()) - 1; k >= 0; --k) {
    ForceVector by_rate = X_[k] - crossf(MotionVector(at.twist(k)), Y_[k]);
    by_rate -= crossf(MotionVector(at.twist_before(k)), Y_[k]);
    for (int i = 0; i < steps[k].columns; ++i) {
      const auto S = at.axes(k).col(i);
      to[steps[k].dof + i] += S.head<3>().dot(by_rate.n) + S.tail<3>().dot(by_rate.f);
    }
    if (steps[k].parent < 0) continue;
    X_[steps[k].parent] += X_[k];
    Y_[steps[k].parent] += Y_[k];
  }
}

void MultibodyAdjoint::add_inertia() {
  for (int k = 0; k < static_cast<int>(model_->steps().size()); ++k) {
    const RigidInertia& I = at_->inertia(k);
    if (I.m == 0) continue;
    const MotionVector V(at_->twist(k)), &W = twist_[weights][k];
    const ForceVector by_A = I * W;
    Y_[k] += by_A;
    X_[k] += crossf(V, by_A) - I * crossm(V, W) - crossf(W, I * V);
  }
}

void MultibodyAdjoint::add_momentum(const MultibodyState& at, const VectorXd& w, const VectorXd& du,
                                    Eigen::Ref<VectorXd> x) {
  at_ = &at;
  const auto& steps = model_->steps();
  const auto count = static_cast<int>(steps.size());
  auto &W = twist_[weights], &A = twist_[end];
  auto &Y = Y_, &F = pose_;  // I W, I A
  for (auto* to : {&W, &A}) to->resize(count);
  for (auto* to : {&Y, &F}) to->resize(count);
  move(w, W);
  move(du, A);
  for (int k = 0; k < count; ++k) {
    Y[k] = at.inertia(k) * W[k];
    F[k] = at.inertia(k) * A[k];
  }
  for (int k = count - 1; k >= 0; --k) {
    const ForceVector by_pose = crossf(A[k], Y[k]) + crossf(W[k], F[k]);
    for (int i = 0; i < steps[k].columns; ++i) {
      const auto S = at.axes(k).col(i);
      x[steps[k].dof + i] -= S.head<3>().dot(by_pose.n) + S.tail<3>().dot(by_pose.f);
    }
    if (steps[k].parent < 0) continue;
    Y[steps[k].parent] += Y[k];
    F[steps[k].parent] += F[k];
  }
}

void MultibodyAdjoint::finish(Eigen::Ref<VectorXd> x, Eigen::Ref<VectorXd> v) {
  const auto& steps = model_->steps();
  for (int k = static_cast<int>(steps.size()) - 1; k >= 0; --k) {
    const Multibody::Step& step = steps[k];
    const MotionVector V(at_->twist(k)), A(at_->acceleration(k)), before(at_->twist_before(k));
    const ForceVector carried = crossf(V, Y_[k]);
    ForceVector by_pose = pose_[k] - crossf(A, Y_[k]) + crossf(V, carried - X_[k]);
    by_pose -= crossf(twist_[weights][k], ForceVector(at_->load(k)));
    for (int of = 0; of < rates_; ++of) by_pose -= crossf(twist_[of][k], velocity_[of][k]);
    ForceVector by_rate = velocity_[start][k] + X_[k] - carried - crossf(before, Y_[k]);
    for (int i = 0; i < step.columns; ++i) {
      const auto S = at_->axes(k).col(i);
      x[step.dof + i] += S.head<3>().dot(by_pose.n) + S.tail<3>().dot(by_pose.f);
      v[step.dof + i] += S.head<3>().dot(by_rate.n) + S.tail<3>().dot(by_rate.f);
    }
    if (step.parent < 0) continue;
    for (int of = 0; of < rates_; ++of) velocity_[of][step.parent] += velocity_[of][k];
    for (auto* F : {&pose_, &X_, &Y_}) (*F)[step.parent] += (*F)[k];
  }
}

}  // namespace diffsim
