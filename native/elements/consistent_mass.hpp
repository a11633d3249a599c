// What the consistent mass matrix of a solid has more than its lumped one:
//
//   r_i += sum_j (M - M_lumped)_ij (sum_k gamma_k xdot_j,n-k - g),   M_ij = density int N_i N_j dV
// Lumped masses are those of the body's nodes (Inertia, Gravity, PointMasses). Where lumping keeps
// the rows' sums, as for linear tetrahedra, gravity has no part in it. Between free points this is
// a momentum; what has a part in glued ones takes TimeScheme::rate.
#pragma once

#include "body_points.hpp"

namespace diffsim {

class ConsistentMass : public Element {
 public:
  struct Entry {
    int i, j;      // points
    double share;  // of the density [m^3]
  };
  /// All entries of M - M_lumped, (i, j) and (j, i).
  ConsistentMass(std::string name, const PointSet* points, std::vector<Entry> entries,
                 int p_density, int p_gravity);
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  bool looks_back() const override { return true; }
  bool differences() const override { return !points_.glued().empty(); }
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

 private:
  Matrix3X acceleration(const Window& window, const VectorXd& p, const double* gamma) const;
  /// Adds the derivative by the velocities k states ago; rows act at window.now().
  void add_rates(const Window& window, int k, const VectorXd& p, const std::vector<int>& block,
                 const Assembly& out) const;
  bool free(const Entry& e) const { return points_.is_node(e.i) && points_.is_node(e.j); }

  BodyPoints points_;
  std::vector<Entry> entries_;
  VectorXd row_;  // sums of the rows
  int p_density_, p_gravity_;
  std::vector<int> block_, past_block_;  // per entry, -1: none
};

}  // namespace diffsim
