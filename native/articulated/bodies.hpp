// A tree as recursive dynamics read it: the bodies that move, depth first, each turning about or
// sliding along its own z.
#pragma once

#include <vector>

#include "../spatial/spatial.hpp"
#include "tree.hpp"

namespace diffsim {

/// One body with all that is fixed to it. Its frame is that of its link, turned so that the axis of
/// a revolute or prismatic joint is z.
struct TreeBody {
  JointType type;
  int parent;                    // body; -1: the world
  int first, count;              // its coordinates in the order of bodies
  int position_at, velocity_at;  // and in the tree's q and qd
  int end;                       // one after the last body, and
  int end_coordinate;            // one after the last coordinate, that it carries
  Matrix3d R;                    // joint in the parent's body frame
  Vector3d r;
  double armature;
  double mass = 0;
  Vector3d com = Vector3d::Zero();
  Symmetric3 inertia;  // about com
};

/// Where a link is: x_body = pose.E x_link + pose.r; body -1 is the world.
struct LinkPlace {
  int body;
  Plxb pose;
};

class TreeBodies {
 public:
  /// merge: links behind fixed joints join their carrier; else every link is a body.
  explicit TreeBodies(const Tree& tree, bool merge = true);

  int size() const { return static_cast<int>(bodies.size()); }
  int coordinates() const { return static_cast<int>(above.size()); }

  std::vector<TreeBody> bodies;
  std::vector<LinkPlace> places;    // of every link
  std::vector<int> above;           // coordinate before this one on its branch, -1: none
  std::vector<int> velocity_index;  // of coordinates in the tree's qd
  bool in_order = true;             // velocity_index is 0, 1, 2, ...
  bool may_lock = false;            // M may have no inverse somewhere: bodies without some inertia
  Vector3d gravity;
};

}  // namespace diffsim
