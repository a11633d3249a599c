// One instant of the motion, and the window of instants a time scheme looks at.
//
// A node is a block of degrees of freedom: a point (3: c), a frame (6: c and a rotation R), or, of
// joints in reduced coordinates, some coordinates q or one rotation R (3). A frame that such
// joints carry depends on them (reduced/articulation.hpp). Multipliers of a constrained joint
// (reduced/closure.hpp) are the rates of coordinates without inertia: q is their impulse. Bodies
// own nodes; elements and the solver see nodes and points only, never bodies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "math.hpp"

namespace diffsim {

enum class NodeKind : unsigned char { point, frame, rotation, coordinates };

struct Node {
  NodeKind kind;
  int dof;                   // first degree of freedom
  int frame;                 // index among rotations, -1 where it has none
  bool driven = false;       // its motion is prescribed
  bool dependent = false;    // its motion follows from joints in reduced coordinates
  int first = 0;             // of coordinates: index in State::q
  int count = 0;             // of coordinates
  bool multipliers = false;  // coordinates whose rates are forces that hold a joint
  int size() const {
    return kind == NodeKind::coordinates ? count : kind == NodeKind::frame ? 6 : 3;
  }
  bool has_place() const { return kind == NodeKind::point || kind == NodeKind::frame; }
  bool turns() const { return kind == NodeKind::frame || kind == NodeKind::rotation; }
  /// First of the three degrees of freedom of its rotation.
  int turn() const { return kind == NodeKind::frame ? dof + 3 : dof; }
};

/// A hard contact that pressed in the step that led to a state (velocity/).
struct HardContact {
  int point;              // of all contact points (ContactElement::first_point)
  Vector3d force, place;  // on the point's body, world [N], [m]
  Vector3d normal;        // the force's part along the normal [N]
  std::uint16_t code;     // as Element::modes has them
};

struct State {
  Matrix3X c, v;                          // positions [m], velocities [m/s], world (3, nodes)
  std::vector<Matrix3d> R;                // body to world (frames); of a joint, b's axes in a's
  std::vector<Vector3d> w;                // angular velocity omega [rad/s], in the same axes
  VectorXd q, qdot, dq;                   // joint coordinates, their rates, increments as dc
  Matrix3X dc;                            // increment of c in the step that led here [m]
  std::vector<Vector3d> theta, thetadot;  // that step's theta (chart centred at its start), rate
  std::vector<std::uint8_t> stick;  // StickState per point of hybrid friction in the last step
  // Force and torque about each node here (ndof) [N, N m], world, 0 for driven nodes; empty where
  // none is needed or known. Generalized-alpha looks back on it.
  VectorXd force;
  // ContactMode of each contact point here, open, sticking or sliding, where it is known.
  std::vector<std::uint8_t> touching;
  bool hard_contacts = false;  // of a motion whose contacts are hard:
  std::vector<HardContact> hard;
  // Of each joint whose angle is counted by poses (Scene::count_angles): the angle [rad] that its
  // whole turns are counted from, that of the last accepted state. Empty: as the scene starts.
  VectorXd angles;
  bool split = false;  // the step that led here was split at impacts (velocity/impact.cpp)
};

/// A linear two-step method, sum_k gamma[k] y_{n-k} = sum_k lag[k] ydot_{n-k} with lag[0] = 1, on
/// (q, momentum): q_n = q_{n-1} + alpha (u + lag[1] qdot_{n-1} + lag[2] qdot_{n-2}) +
/// carry (q_{n-1} - q_{n-2}), u = qdot_n.  BDF [G 4.3.1] has no lag.
struct TimeScheme {
  double h;      // step [s]
  int order;     // 1 or 2: how many past states enter
  double alpha;  // dq_n/dqdot_n [s]
  double carry;
  double gamma[3];  // [1/s]
  double rate[3];   // of the rate at n of what is no momentum and has no lag: BDF's gamma [1/s]
  double lag[3] = {1., 0., 0.};
  bool keeps_force = false;  // states carry their forces, for steps with a lag
  bool lags() const { return lag[1] != 0; }
  TimeScheme plain() const { return bdf(order, h); }  // of driven nodes

  static TimeScheme bdf(int order, double h) {
    if (order == 1) return {h, 1, h, 0., {1 / h, -1 / h, 0.}, {1 / h, -1 / h, 0.}};
    return {h, 2, 2 * h / 3, 1. / 3, {1.5 / h, -2 / h, 0.5 / h}, {1.5 / h, -2 / h, 0.5 / h}};
  }

  /// Generalized-alpha for equations of first order [Jansen, Whiting, Hulbert 2000] as a two-step
  /// method; rho in [0, 1] is the spectral radius at infinite frequency. 1 is the trapezoidal rule,
  /// which looks back one state only: `order` 1 will do for it.
  static TimeScheme generalized_alpha(double rho, int order, double h) {
    TimeScheme s = bdf(order, h);
    const double a = rho < 1 ? (3 - rho) * (1 + rho) / 2 : 2;
    const double b = rho < 1 ? (1 + rho) * (1 - 3 * rho) / 2 : 0;
    const double gamma[] = {a / h, -(a + b) / h, b / h};
    const double lag[] = {1, rho < 1 ? 2 * rho : 1, rho < 1 ? rho * rho : 0};
    std::copy_n(gamma, 3, s.gamma);
    std::copy_n(lag, 3, s.lag);
    s.alpha = h / a;
    s.carry = b / a;
    s.keeps_force = true;
    return s;
  }
};

/// The states a step looks at, newest first; at[2] is null where the scheme's order is 1.
struct Window {
  const State* at[3];
  TimeScheme scheme;
  double t = 0;  // of the newest state [s]
  const State& now() const { return *at[0]; }
  int depth() const { return scheme.order; }  // how many past states enter
};

}  // namespace diffsim
