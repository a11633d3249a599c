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
  // What is quick and may mislead. Such a solve is given up early: its caller tries a safe one.
  bool lag = false;   // contacts may be found with the blocks that other elements had before
  bool bold = false;  // u was told by a polynomial of higher degree than 1
};

struct NewtonReport {
  Status status = Status::converged;
  int iterations = 0;
  bool lagged = false;                 // blocks did (NewtonOptions::lag)
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
  const BlockMatrix& K() const { return scene_->articulation() ? reduced_K_ : K_; }
  const BlockMatrix& B() const { return scene_->articulation() ? reduced_B_ : B_; }
  /// As elements write them, by the poses and velocities of all nodes.
  const BlockMatrix& written_K() const { return K_; }
  const BlockMatrix& written_B() const { return B_; }
  bool symmetric() const { return symmetric_; }  // whether they are, nearly

  /// Sets the worst of the balances, and which element has the largest share of it.
  void find_worst(const Window& window, const VectorXd& p, NewtonReport& report);

 private:
  /// Which blocks to make: none, K_ and B_, or A_ at once (of K_ and B_ what is on the diagonal and
  /// of elements that do not join them), or in that of contacts alone beside noted ones.
  enum class Blocks { none, apart, joined, contacts };
  /// The state that u leads to.
  void move(const Window& window, const VectorXd& p, const VectorXd& u, State& now) const {
    advance(scene_->nodes(), window, u, now);
    if (scene_->articulation()) scene_->articulation()->place(p, now);
  }
  /// Scaled ||r||; fills r_ and the blocks.
  double evaluate(const Window& window, const VectorXd& p, Blocks blocks);
  /// A_ of K_ and B_.
  void combine(const Window& window);
  /// Notes what is in A_ when all but the contacts are.
  void note_smooth(double alpha);
  bool try_step(const Window& window, const VectorXd& p, const VectorXd& u0, double norm,
                bool must_fall, Blocks blocks, double t, VectorXd& u, State& now, double& reached);
  /// Sets du_ to the correction; with a fresh Jacobian unless `reuse`. kept: of the last one only
  /// diagonal blocks have changed.
  bool correct(const Window& window, bool reuse, bool exact, double tolerance, bool kept = false);
  struct Convergence;
  struct Lag {                   // of blocks, in one step
    bool may = false;            // be
    bool used = false;           // was
    bool near = false;           // all have been made
    Blocks last = Blocks::none;  // made
    int poor = 0;                // corrections by those of contacts that were of little use
  };
  Lag begin(const VectorXd& p, const NewtonOptions& options);
  /// Blocks to make for the next correction: all, or those of contacts as long as that serves.
  Blocks choose(const Convergence& convergence, double alpha, Lag& lag);
  /// Sets du_ at `now` with a fresh Jacobian: where compressed springs give it negative curvature,
  /// with less of that.
  bool direct(const Window& window, const VectorXd& p, const Convergence& convergence, Lag& lag);
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
  /// After a solve that failed: the next one begins with blocks of its own.
  void begin_anew(const NewtonReport& report);

  const Scene* scene_;
  Timing* timing_;
  VectorXd r_, part_;
  std::vector<double> part_norm_;
  double reference_ = 0, floor_ = 0;
  BlockMatrix K_, B_;
  ArticulationMap map_;
  BlockMatrix reduced_K_, reduced_B_;  // where there is an articulation
  BlockMatrix A_;
  std::vector<const Element*> order_;  // elements, contacts last
  std::vector<int> rank_;              // their places among the scene's
  std::size_t smooth_count_ = 0;       // of those that are no contacts
  VectorXd smooth_;                    // their share of A_'s diagonal blocks, the others are in A_
  double smooth_alpha_ = 0;            // of the time scheme then [s]; 0: not noted
  bool smooth_symmetric_ = false;
  int distrust_ = 0;   // steps to come that begin with blocks of their own
  bool anew_ = false;  // the next one is expected to, so they are made with its first residual
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
