// Angular momentum of a robot whose limbs move, beyond that of the rigid body of [G (2.4)].
#pragma once

#include "legged_model.hpp"
#include "motion_plan.hpp"

namespace diffsim {

/// At one q: L = by_rates v about the centre of mass, in axes of the world, of rates v (n) of q's
/// tangent, and how that moves with q, for the rates after and before. Places of the base do not
/// count.
struct MomentumAt {
  Matrix3X by_rates, after_by_q, before_by_q;
};

/// What is between two samples: L less R_mid I0 phi / h with I0 the inertia in the stance.
struct LimbMomentum {
  Vector3d L = Vector3d::Zero();
  Matrix3X by_first, by_second;  // by the tangents of both q
  Vector3d by_turn;              // by the yaw of the second
};

/// R_mid I0 phi / h, phi = log(first^T second), and how it moves with increments of both in their
/// own axes.
struct RigidSpin {
  Vector3d L;
  Matrix3d by_first, by_second;
};
RigidSpin rigid_spin(const Matrix3d& I0, const Matrix3d& first, const Matrix3d& second, double h,
                     bool slopes);

/// Mean rates of q's tangent from one sample to the next [rad/s, m/s]; those of the base's place
/// are 0. R: of both bases, the second turned already.
VectorXd mean_rates(const VectorXd& first, const VectorXd& second, const Matrix3d& R_first,
                    const Matrix3d& R_second, double h);

/// by_rates, and the slopes where rates are given (null: not).
void momentum_at(const LeggedModel& model, const VectorXd& q, const VectorXd* after,
                 const VectorXd* before, DynamicsWorkspace& work, MomentumAt& out);

/// turned: the second sample's turn about z. R: of both bases, the second turned already.
LimbMomentum limb_momentum(const LeggedModel& model, const MomentumAt& first,
                           const MomentumAt& second, const VectorXd& rates, const Matrix3d& R_first,
                           const Matrix3d& R_second, const Matrix3d& turned, double h, bool slopes);

}  // namespace diffsim
