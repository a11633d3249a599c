#include "limb_momentum.hpp"

namespace diffsim {
namespace {

// Changes of L with q's tangent at rates v: of a unit motion S_j that carries a subtree of inertia
// I_j and momentum H_j, on what moves with v_parent, dH = S_j x* H_j - I_j (S_j x v_parent).
void momentum_slopes(const LeggedModel& model, DynamicsWorkspace& work, const VectorXd& rates,
                     Matrix3X& out) {
  const TreeBodies& tree = model.bodies();
  for (int b = 0; b < tree.size(); ++b) {
    const TreeBody& body = tree.bodies[b];
    BodyState& state = work.states[b];
    state.v = joint_motion(body, work.coordinates.data(), rates.data());
    if (body.parent >= 0) state.v += work.states[body.parent].v;
    work.composites[b].f = state.I * state.v;
  }
  for (int b = tree.size() - 1; b > 0; --b) {
    if (tree.bodies[b].parent >= 0) {
      work.composites[tree.bodies[b].parent].f += work.composites[b].f;
    }
  }
  const RigidInertia& whole = work.composites[0].I;
  const Vector3d com = whole.h / whole.m, p = work.composites[0].f.f;
  out.setZero(3, tree.coordinates());
  for (int b = 1; b < tree.size(); ++b) {  // the first moves all alike
    const TreeBody& body = tree.bodies[b];
    const Composite& carried = work.composites[b];
    const MotionVector& v = work.states[body.parent].v;
    for (int k = 0; k < body.count; ++k) {
      const MotionVector& S = work.coordinates[body.first + k].S;
      const ForceVector lost = carried.I * crossm(S, v);
      ForceVector dH = crossf(S, carried.f);
      dH.n -= lost.n;
      dH.f -= lost.f;
      const Vector3d dcom = (carried.I.m * S.v + S.w.cross(carried.I.h)) / whole.m;
      out.col(body.velocity_at + k) = dH.n - dcom.cross(p) - com.cross(dH.f);
    }
  }
}

}  // namespace

RigidSpin rigid_spin(const Matrix3d& I0, const Matrix3d& first, const Matrix3d& second, double h,
                     bool slopes) {
  const Vector3d phi = log_rotation(first.transpose() * second), momentum = I0 * phi / h;
  const Matrix3d middle = first * exp_rotation(0.5 * phi);
  RigidSpin out{middle * momentum, {}, {}};
  if (!slopes) return out;
  const Matrix3d by_second = left_jacobian_inverse(-phi), by_first = -left_jacobian_inverse(phi);
  const Matrix3d half = 0.5 * left_jacobian(-0.5 * phi);  // right Jacobian
  const Matrix3d turn = -skew(momentum);
  out.by_second = middle * (turn * half * by_second + I0 / h * by_second);
  out.by_first = middle * (turn * (exp_rotation(-0.5 * phi) + half * by_first) + I0 / h * by_first);
  return out;
}

VectorXd mean_rates(const VectorXd& first, const VectorXd& second, const Matrix3d& R_first,
                    const Matrix3d& R_second, double h) {
  const Eigen::Index joints = first.size() - 7;
  VectorXd rates(LeggedModel::kBase + joints);
  rates.head<3>().setZero();
  rates.segment<3>(3) = log_rotation(R_first.transpose() * R_second) / h;
  rates.tail(joints) = (second - first).tail(joints) / h;
  return rates;
}

void momentum_at(const LeggedModel& model, const VectorXd& q, const VectorXd* after,
                 const VectorXd* before, DynamicsWorkspace& work, MomentumAt& out) {
  const TreeBodies& tree = model.bodies();
  place_composites(tree, work, q.data());
  const RigidInertia& whole = work.composites[0].I;
  const Vector3d com = whole.h / whole.m;
  out.by_rates.setZero(3, tree.coordinates());
  for (int b = 1; b < tree.size(); ++b) {
    const TreeBody& body = tree.bodies[b];
    for (int k = 0; k < body.count; ++k) {
      const ForceVector T = work.composites[b].I * work.coordinates[body.first + k].S;
      out.by_rates.col(body.velocity_at + k) = T.n - com.cross(T.f);
    }
  }
  if (after) momentum_slopes(model, work, *after, out.after_by_q);
  if (before) momentum_slopes(model, work, *before, out.before_by_q);
}

LimbMomentum limb_momentum(const LeggedModel& model, const MomentumAt& first,
                           const MomentumAt& second, const VectorXd& rates, const Matrix3d& R_first,
                           const Matrix3d& R_second, const Matrix3d& turned, double h,
                           bool slopes) {
  const RigidSpin rigid = rigid_spin(model.inertia(), R_first, R_second, h, slopes);
  const Matrix3X A = 0.5 * (first.by_rates + turned * second.by_rates);
  LimbMomentum out;
  out.L = A * rates - rigid.L;
  if (!slopes) return out;
  const Vector3d phi = h * rates.segment<3>(3);
  const Matrix3d by_first = -left_jacobian_inverse(phi), by_second = left_jacobian_inverse(-phi);
  out.by_first = 0.5 * first.after_by_q - A / h;
  out.by_second = 0.5 * turned * second.before_by_q + A / h;
  const auto turn = [](auto& of) { return of.template middleCols<3>(3); };
  turn(out.by_first) = 0.5 * turn(first.after_by_q) + turn(A) * by_first / h - rigid.by_first;
  turn(out.by_second) =
      0.5 * turned * turn(second.before_by_q) + turn(A) * by_second / h - rigid.by_second;
  const Vector3d up = R_second.row(2).transpose();  // z in the second's own axes
  out.by_turn = 0.5 * Vector3d::UnitZ().cross(turned * (second.by_rates * rates)) +
                turn(A) * by_second * up / h - rigid.by_second * up;
  out.by_first.leftCols<3>().setZero();
  out.by_second.leftCols<3>().setZero();
  return out;
}

}  // namespace diffsim
