// Poses of links and screw axes, as Articulation::place and screws, for rollouts: what parameters
// say of joints is looked up once, and hinges and sliders need no walk along their steps.
#pragma once

#include <array>

#include "../scene.hpp"

namespace diffsim {

class LinkKinematics {
 public:
  using Axes = Articulation::Axes;
  explicit LinkKinematics(const Scene& scene);

  /// Does nothing where p is that of the last call; for both others.
  void set_parameters(const VectorXd& p);
  /// Moves dependent frames to where the coordinates and the other frames of `s` have them.
  void place(State& s) const;
  /// Screw axes about `origin` of every step of the articulation, where place() has been.
  void screws(const State& s, const Vector3d& origin, std::vector<Axes>& S) const;

 private:
  struct Link {
    int node, frame, carrier, carrier_frame;  // carrier: node of body a, -1: the world
    int step, axis, coordinate;               // of the one step; -1: it is welded
    bool turns;
    double ratio, shift;
  };
  static constexpr int kWeld = -1;

  const Scene* scene_;
  const Articulation* at_;
  bool walk_ = false;  // there are other joints
  std::vector<Link> links_;
  VectorXd p_;
  std::vector<std::array<JointPlace, 2>> places_;
  mutable std::vector<Vector6> rates_;  // unused, of Articulation::screws
};

}  // namespace diffsim
