// One instant of the motion, and the window of instants a time scheme looks at.
//
// A node is a block of degrees of freedom: a point (3: c) or a frame (6: c and a rotation R).
// Bodies own nodes; elements and the solver see nodes and points only, never bodies.
#pragma once

#include <cstdint>
#include <vector>

#include "math.hpp"

namespace diffsim {

enum class NodeKind : unsigned char { point = 3, frame = 6 };

struct Node {
  NodeKind kind;
  int dof;    // first degree of freedom
  int frame;  // index among frames, -1 for a point
  int size() const { return static_cast<int>(kind); }
};

struct State {
  Matrix3X c, v;                          // positions [m], velocities [m/s], world (3, nodes)
  std::vector<Matrix3d> R;                // body to world (frames)
  std::vector<Vector3d> w;                // angular velocity omega, world [rad/s] (frames)
  Matrix3X dc;                            // increment of c in the step that led here [m]
  std::vector<Vector3d> theta, thetadot;  // that step's theta (chart centred at its start), rate
  std::vector<std::uint8_t> stick;  // StickState per point of hybrid friction in the last step
  // ContactMode of each contact point here, open, sticking or sliding, where it is known.
  std::vector<std::uint8_t> touching;
};

/// BDF on (q, qdot): q_n = q_{n-1} + alpha u + carry (q_{n-1} - q_{n-2}), u = qdot_n, and the rate
/// of any function m of the state is sum_k gamma[k] m_{n-k}  [G 4.3.1].
struct TimeScheme {
  double h;      // step [s]
  int order;     // 1 or 2
  double alpha;  // dq_n/dqdot_n [s]
  double carry;
  double gamma[3];  // [1/s]

  static TimeScheme bdf(int order, double h) {
    if (order == 1) return {h, 1, h, 0., {1 / h, -1 / h, 0.}};
    return {h, 2, 2 * h / 3, 1. / 3, {1.5 / h, -2 / h, 0.5 / h}};
  }
};

/// The states a step looks at, newest first; at[2] is null for BDF1.
struct Window {
  const State* at[3];
  TimeScheme scheme;
  double t = 0;  // of the newest state [s]
  const State& now() const { return *at[0]; }
  int depth() const { return scheme.order; }  // how many past states enter
};

}  // namespace diffsim
