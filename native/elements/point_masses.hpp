// Masses of points that are glued to a frame: they move with it and weigh on it.
//
//   r += J^T m (sum_k gamma_k xdot_{n-k} - g),   J = (I, -[rho]x),   BDF's gamma: TimeScheme::rate
// Momentum of the frame's own mass is differenced by Inertia; this differences each point's
// velocity, as Inertia does for a point that is a node.
#pragma once

#include "../bodies/deformable.hpp"
#include "../bodies/point_set.hpp"

namespace diffsim {

class PointMasses : public Element {
 public:
  /// Points `index` of `points`, all on frames, and their masses; p_gravity: gravity.x.
  PointMasses(std::string name, const PointSet* points, std::vector<int> index,
              std::vector<NodeMass> masses, int p_gravity)
      : Element(std::move(name)),
        points_(points),
        index_(std::move(index)),
        masses_(std::move(masses)),
        p_gravity_(p_gravity) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  bool looks_back() const override { return true; }
  bool differences() const override { return true; }
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

 private:
  void add_columns(int n, const Vector3d& acceleration, const Vector3d& rho, const VectorXd& p,
                   ParameterColumns& out) const;
  const PointSet* points_;
  std::vector<int> index_;
  std::vector<NodeMass> masses_;
  int p_gravity_;
};

/// Vertices that move with a body, "" = the world, from the start.
struct Glue {
  std::string body;  // a rigid body, a kinematic body, or ""
  std::vector<int> vertices;
};

struct DeformableSpec {
  Matrix3X vertices;              // (3, n) [m]
  DeformableBody::Matter matter;  // a share per vertex
  RigidBodyStart start;           // of the vertices' origin; spin about it
  std::vector<Glue> glued;
};

/// Makes the body of the free vertices, the points `name` of all of them, and the element that
/// carries the glued ones' masses; `place` is what errors call it.
const PointSet* add_deformable(Scene& scene, const std::string& place, const std::string& name,
                               const DeformableSpec& spec);

/// Starts a deformable body's nodes at these places and velocities (3, nodes), world frame; what is
/// glued stays where its carrier has it, and the rest shape as it is.
void set_start(Scene& scene, const std::string& name, const Matrix3X& position,
               const Matrix3X& velocity);

/// Cloth, strings: mass points without forces of their own; `shares` sum to 1, empty = alike.
void add_mass_points(Scene& scene, const std::string& name, DeformableSpec spec);

}  // namespace diffsim
