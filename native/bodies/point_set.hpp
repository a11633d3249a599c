// PointSet: a batch of material points fixed to nodes, the only thing forces on matter see.
//
// A point on a frame node has the body-frame place xhat = scale * local + radius * inset and
//   x = c + rho, rho = R xhat,   xdot = v + omega x rho,
//   J = d xdot/d(v, omega) = (I, -[rho]x);   J^T f = (f, rho x f)  [G A.1.3].
// A point on a point node is the node itself (J = I); node = -1 is the world (J = 0).
// A force may act at a moment arm rho_c = rho + o(x) away from x (the surface of a contact sphere).
#pragma once

#include <string>
#include <vector>

#include "../elements/element.hpp"

namespace diffsim {

class Scene;

struct PointSet {
  std::string name;
  std::vector<Node> nodes;          // the scene's nodes, copied when the set is made
  std::vector<int> node;            // per point; -1 = world
  Matrix3X local, inset;            // [m], [-]
  int p_scale = -1, p_radius = -1;  // -1: scale 1, radius 0, neither a parameter

  int size() const { return static_cast<int>(node.size()); }
  bool on_frame(int i) const { return node[i] >= 0 && nodes[node[i]].kind == NodeKind::frame; }
  int dof(int i) const { return nodes[node[i]].dof; }
  double radius(const VectorXd& p) const { return p_radius < 0 ? 0 : p[p_radius]; }

  Vector3d moment_arm(int i, const State& s, const VectorXd& p) const;  // rho [m]
  Vector3d position(int i, const State& s, const VectorXd& p) const;    // x [m]
  /// Velocity of the material at the moment arm rho_c [m/s].
  Vector3d velocity(int i, const State& s, const Vector3d& arm) const;
  /// Acceleration of the material point from the node's a and alpha [m/s^2].
  Vector3d acceleration(int i, const State& s, const Vector3d& arm, const Vector3d& a,
                        const Vector3d& alpha) const;
  /// d rho/d scale or d rho/d radius at fixed R [m/m].
  Vector3d arm_by_scale(int i, const State& s) const;
  Vector3d arm_by_radius(int i, const State& s) const;
};

/// Jacobians of one point's place, moment arm and velocity in its node's (x, v); 3 x node size.
struct PointJacobian {
  Matrix36 X;  // dx/d(c, psi)
  Matrix36 G;  // d rho_c/d(c, psi)
  Matrix36 W;  // dw/d(v, omega), w = material velocity at rho_c; also the transpose of J^T f
  Matrix36 Q;  // dw/d(c, psi)
};

/// lever_slope = do/dx: how the offset from x to the point of action moves with x; null = not at
/// all.
PointJacobian point_jacobian(const PointSet& set, int i, const State& s, const Vector3d& rho,
                             const Vector3d& rho_c, const Matrix3d* lever_slope = nullptr);

/// r -= J^T f.
void add_force(const PointSet& set, int i, const Vector3d& f, const Vector3d& rho_c, VectorXd& r);

/// df by one point's node: df = x d(c, psi) + v d(v, omega); 3 x node size, the rest is unused.
struct ForceJacobian {
  Matrix36 x, v;
};
/// From df = F_x dx + F_w dw.
ForceJacobian force_jacobian(const PointSet& set, int i, const PointJacobian& J,
                             const Matrix3d& F_x, const Matrix3d& F_w);

/// Adds sign times the derivative of -J_i^T f to block `block` = (i's node, the node of `df`).
void add_force_jacobian(const PointSet& rows, int i, const Vector3d& rho_c, bool frame_column,
                        const ForceJacobian& df, double sign, int block, const Assembly& out);

/// Adds the part of d(-J_i^T f) that comes from the moving moment arm: f x d rho_c, to block (i,
/// i).
void add_arm_jacobian(const PointSet& set, int i, const PointJacobian& J, const Vector3d& f,
                      int block, const Assembly& out);

/// Adds d(-J^T f)/dp for df and d rho_c to column `column` of dr/dp.
void add_force_column(const PointSet& set, int i, const Vector3d& f, const Vector3d& df,
                      const Vector3d& rho_c, const Vector3d& drho_c, int column,
                      ParameterColumns& out);

/// Points named `name` at scale * local + radius * inset (3, n) of the body named per point, "" =
/// the world; inset may be empty (zero).
void add_points(Scene& scene, const std::string& name, const std::vector<std::string>& bodies,
                const Matrix3X& local, const Matrix3X& inset, double radius, double scale);

/// Points `index` of the set `from` again, as contact spheres of their own radius [m].
void add_subset(Scene& scene, const std::string& name, const std::string& from,
                const std::vector<int>& index, double radius);

}  // namespace diffsim
