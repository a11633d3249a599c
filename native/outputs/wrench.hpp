// Wrench: force and torque that elements exert on a body, from their part of the residual.
//
//   F = -sum_i r_i,   T = -sum_i ((c_i - o) x r_i + r_i^psi)
// over the body's nodes i, about o: a point fixed in the first of them, or the nodes' mean.
// Derivatives are the elements' own: K, B, dr/dp, and those by past states.
#pragma once

#include <functional>

#include "../scene.hpp"
#include "output.hpp"

namespace diffsim {

struct WrenchSpec {
  std::vector<const Element*> elements;
  std::vector<int> nodes;        // of the body, or of several
  double sign = 1;               // -1: the reaction of what is on these nodes
  bool balance = false;          // elements are all of them: less what their steps look back on
  std::vector<int> absent = {};  // parameters that are taken as 0
  /// o in the frame of the first node [m]; null: the nodes' mean.
  std::function<Vector3d(const VectorXd& p)> point = nullptr;
  /// Adds by_point times o's derivatives by parameters, at fixed poses.
  std::function<void(const State&, const VectorXd& p, const Matrix3d& by_point, OutputJacobian&)>
      add_point = nullptr;
};

enum class WrenchPart { force, torque };

/// The scene is looked at when the output is evaluated, and must live as long.
Output wrench(std::string name, const Scene& scene, WrenchPart part, WrenchSpec spec);

}  // namespace diffsim
