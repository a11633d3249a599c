// Closure: joints held by constraint rows with multipliers, as those that close loops.
//
// With G = dg/dx the rows of all constrained joints (elements/joint.hpp), the implicit step solves
//   rate of momentum - forces - G^T lambda = 0,   g(x_n) = 0
// at once. A multiplier is the rate of a coordinate without inertia, whose row is g. Rows that
// depend on others wherever the mechanism may be (three of a planar loop closed by a hinge) are
// left out when the scene is made.
//
// A motion starts closed: the coordinates y and velocities v of a start that is not are moved to
//   y + N mu, v + N nu   with g = 0 and G v = 0,   N = W G^T at the scene's own start,
// W the squares of lengths (Scene::residual_scale).
#pragma once

#include <vector>

#include "articulation_map.hpp"

namespace diffsim {

class Closure {
 public:
  /// Chooses rows and adds a node of multipliers for each joint, with coordinates from
  /// `coordinates` on. scale: residual scales of the nodes before. Refuses joints whose rows all
  /// depend on others', and a start where some that are kept do.
  Closure(const Scene& scene, const std::vector<Joint*>& joints, const VectorXd& scale,
          std::vector<Node>& nodes, int& ndof, int coordinates);

  const std::vector<Joint*>& joints() const { return joints_; }
  /// How far a joint is open: [m], [rad], and per second.
  static Eigen::Vector4d gap(const Joint& joint, const State& s, const VectorXd& p);
  /// Closes a start, with joints placed; what it has moved (ndof). held: degrees of freedom that
  /// stay. Refuses one that cannot be closed.
  VectorXd close(const VectorXd& p, State& s, const std::vector<int>& held = {}) const;
  /// Rows of the coordinates and free nodes in X, from where they are free to `moved` on.
  void carry(const VectorXd& moved, MatrixXd& X) const;
  /// The rest of the derivatives of close() in all rows. map: of the closed start s, null where no
  /// joint is in reduced coordinates. column_of: parameter -> column.
  void correct(const VectorXd& p, const State& s, const VectorXd& moved, const ArticulationMap* map,
               const std::vector<int>& column_of, MatrixXd& X, MatrixXd& V) const;

  void set_scale(VectorXd& scale) const;
  /// Name of a multiplier: joint and number.
  std::string name_of(int dof) const;

 private:
  struct Rows {
    VectorXd g, rate;    // of kept rows
    MatrixXd G, rate_x;  // (ndof, rows): by poses of all nodes
  };
  Rows rows(const VectorXd& p, const State& s) const;
  /// Columns by poses of all nodes to those of what moves freely.
  void reduce(const VectorXd& p, const State& s, MatrixXd& G) const;
  void displace(const VectorXd& by, const VectorXd& p, State& s) const;
  MatrixXd pulls(const VectorXd& moved) const;
  void choose(const VectorXd& p, const VectorXd& scale, std::vector<std::vector<int>>& kept) const;

  const Scene* scene_;
  std::vector<Joint*> joints_;
  std::vector<Node> nodes_;  // before those of the multipliers
  int ndof_ = 0, count_ = 0;
  MatrixXd N_;  // (ndof, rows)
};

}  // namespace diffsim
