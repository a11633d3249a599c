// Newton's method for one implicit step, on the residual norm, with a line search.
#pragma once

#include <algorithm>

#include "bodies/kinematics.hpp"
#include "scene.hpp"
#include "timing.hpp"

namespace diffsim {

enum class Status {
  converged,
  max_iterations,
  line_search_stalled,
  singular,
  non_finite,
  cancelled
};
const char* to_string(Status status);

struct NewtonOptions {
  double tolerance = 1e-8;  // on ||r|| / max(sum over elements ||f_e||, f_0)
  int max_iterations = 50;
  bool stagnate = false;      // go on until ||r|| falls no further (derivative tests)
  bool keep_jacobian = true;  // leave K and B of the converged state behind
};

struct NewtonReport {
  Status status = Status::converged;
  int iterations = 0;
  double residual = 0, reference = 0;  // [N]
  int worst_dof = -1;
  std::string worst_element;
};

/// `exact`: by elimination whatever the size (derivative tests).
inline LinearSolver::Method method(bool exact) {
  return exact ? LinearSolver::Method::direct : LinearSolver::Method::automatic;
}

/// Share of the negative stiffness across compressed springs that K keeps: less of it where the
/// linear solver has met negative curvature, more again where one has served.
class StiffnessContinuation {
 public:
  double share() const { return share_; }
  bool whole() const { return share_ == 1; }
  bool gone() const { return share_ == 0; }
  void lower() { share_ = share_ > 0.3 ? 0.5 * share_ : 0; }
  void raise() { share_ = std::min(1., std::max(0.25, 2 * share_)); }
  void restore() { share_ = 1; }

 private:
  double share_ = 1;
};

/// One step's Newton solve with its scratch. Not for use by two threads at once.
class Newton {
 public:
  explicit Newton(const Scene& scene, Timing* timing = nullptr);
  /// Finds window.at[0] (writable as `now`) with r = 0, starting from rates u.
  NewtonReport solve(const Window& window, const VectorXd& p, const NewtonOptions& options,
                     VectorXd& u, State& now);
  /// Jacobian blocks at the converged state (keep_jacobian).
  const BlockMatrix& K() const { return K_; }
  const BlockMatrix& B() const { return B_; }
  bool symmetric() const { return symmetric_; }  // whether they are, nearly

 private:
  /// Which blocks to make: none, K_ and B_, or A_ at once (of K_ and B_ what is on the diagonal and
  /// of elements that do not join them).
  enum class Blocks { none, apart, joined };
  /// Scaled ||r||; fills r_ and the blocks.
  double evaluate(const Window& window, const VectorXd& p, Blocks blocks);
  /// A_ of K_ and B_.
  void combine(const Window& window);
  bool try_step(const Window& window, const VectorXd& p, const VectorXd& u0, double norm,
                bool must_fall, Blocks blocks, double t, VectorXd& u, State& now, double& reached);
  /// Sets du_ to the correction; with a fresh Jacobian unless `reuse`.
  bool correct(const Window& window, bool reuse, bool exact, double tolerance);
  struct Convergence;
  /// Sets du_ at `now` with a fresh Jacobian: where compressed springs give it negative curvature,
  /// with less of that.
  bool direct(const Window& window, const VectorXd& p, const Convergence& convergence);
  /// From u0 along du_ to where r has lost most of its work along it; `full`: the full step may be
  /// put right by limit_step(). Sets u, now and the norm reached.
  bool search(const Window& window, const VectorXd& p, const VectorXd& u0, bool full, VectorXd& u,
              State& now, double& norm);
  /// Lets elements put back what the full step from from_ to now has jumped over.
  bool limit_step(const Window& window, const VectorXd& p, VectorXd& u);
  /// Whether the correction du_ is below the last digits of the velocities it corrects.
  bool negligible(const Window& window, const VectorXd& u) const;
  /// ||r|| below which it is but the rounding of positions and velocities; 0 where `norm` is far
  /// above. Where K_ and B_ are joined and it is not, they are made apart from then on.
  double rounding(const Window& window, const VectorXd& p, double norm);
  void find_worst(NewtonReport& report) const;

  const Scene* scene_;
  Timing* timing_;
  VectorXd r_, part_;
  std::vector<double> part_norm_;
  double reference_ = 0, floor_ = 0;
  BlockMatrix K_, B_;
  BlockMatrix A_;
  LinearSolver solver_, exact_;    // exact_: derivative tests
  Blocks blocks_ = Blocks::apart;  // in this step
  bool symmetric_ = false;
  bool compressed_ = false;  // some springs are, with negative stiffness across them
  StiffnessContinuation compression_;
  MatrixXd du_;
  State from_;
  std::vector<unsigned char> limited_;  // per node, in this step
};

}  // namespace diffsim
