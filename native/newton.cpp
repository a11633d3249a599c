#include "newton.hpp"

#include <cmath>

#include "blame.hpp"
#include "momentum_rate.hpp"

namespace diffsim {
namespace {

constexpr int kMaxBacktracks = 10;
constexpr int kFreeSteps = 8;            // full steps taken even when ||r|| rises: contact forces
                                         // switch on within an iteration, which a line search
                                         // would answer with crawling
constexpr double kMaxStepRotation = 2.;  // [rad]; a step turning further is not a step

constexpr int kMostTrials = 7;       // of a search along a correction
constexpr double kWorkLeft = 0.5;    // share of r's work along it above which to go on,
constexpr double kWorkBeyond = 0.9;  // and below which, negative, to go back
constexpr double kFarthest = 8;      // corrections

constexpr double kStalled = 0.1;  // fall of ||r|| that shows a rough r to be at its end

constexpr double kReuseBelow = 0.02;  // fall of ||r|| after which the last Jacobian serves again

constexpr double kNear = 1e4;  // times the end: from there the first correction is asked to do

// Where contacts are still being found, the blocks of all else may be those of a step before.
constexpr double kFar = 0.02;  // share of the forces above which ||r|| is that of contacts
constexpr double kPoor = 0.5;  // fall of ||r|| that is little
constexpr int kMostPoor = 2;   // such falls in a step, after which nothing lags
constexpr int kDistrust = 8;   // steps after that which begin with blocks of their own
constexpr int kPatience = 10;  // iterations of a step that is solved with what may mislead

constexpr double kNoCorrection = 0.1;      // share of r that a correction of use leaves at most
constexpr double kBestCorrection = 1e-12;  // and least share to ask for

// Which steps are taken, by the norms ||r|| so far: whether ||r|| must fall, and how much of a
// correction is tried first.
struct Globalisation {
  double previous = std::numeric_limits<double>::infinity(), before = previous;

  // Whether ||r|| must fall in this iteration. A search that crawls along a kink is left again.
  static bool must_fall(int iteration) {
    return iteration >= kFreeSteps && (iteration - kFreeSteps) % 16 < 8;
  }

  // Share of a step to take. Where two steps have not halved ||r||, full steps go to and fro across
  // a kink; shares change there, so that no cycle fits them.
  double share(int iteration, double norm) const {
    constexpr double share[] = {0.5, 1, 0.7, 0.3, 1, 0.6, 0.15, 0.9};
    return norm > 0.5 * before ? share[iteration % 8] : 1;
  }

  // Whether the last Jacobian serves again.
  bool may_reuse(double norm) const { return norm < kReuseBelow * previous; }

  void accept(double norm) {
    before = previous;
    previous = norm;
  }
};

bool usable(const State& s) {
  if (!s.c.allFinite() || !s.v.allFinite()) return false;
  for (const Vector3d& theta : s.theta) {
    if (!(theta.norm() < kMaxStepRotation)) return false;
  }
  return true;
}

// Of one node.
bool usable(const State& s, const Node& n, int node) {
  if (!n.has_place()) return true;
  const bool finite = s.c.col(node).allFinite() && s.v.col(node).allFinite();
  return finite && (n.frame < 0 || s.theta[n.frame].norm() < kMaxStepRotation);
}

}  // namespace

// Where the solve is: ||r|| is `norm`, was `previous`, shall be `end` and is but rounding below
// `rounding`.
struct Newton::Convergence {
  double norm, previous, end, rounding, reference;
  bool evaluated;  // the blocks are made already
  bool small;      // the scene: always solved by elimination
  bool exact;      // derivative tests: by elimination
  bool buckling;   // springs are compressed
  bool reached() const { return norm <= end; }
  bool rough() const { return !reached() && norm <= rounding; }  // can hardly fall

  // How well to solve for the correction (Eisenstat and Walker's second choice): no better than
  // Newton itself will do, nor than the end needs. Of a rough r, up to what the end would leave:
  // rounding fills stiff directions and hides what is left to do in soft ones.
  double linear_tolerance(bool accurate, bool reuse) const {
    if (rough()) return std::max(0.3 * end / norm, kBestCorrection);
    // A fresh solve where springs are compressed has to come upon negative curvature.
    const double first = !accurate ? 1e-1 : buckling && reuse ? 3e-2 : 1e-3;
    if (!std::isfinite(previous)) return norm < kNear * end ? 0.3 * end / norm : first;
    const double ratio = norm / previous;
    // A Jacobian used again gains what it gained last time, at best.
    const double gain = reuse ? 0.3 * ratio : 0.9 * ratio * ratio;
    return std::min(first, std::max(gain, 0.3 * end / norm));
  }
};

const char* to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::max_iterations:
      return "max_iterations";
    case Status::line_search_stalled:
      return "line_search_stalled";
    case Status::singular:
      return "singular";
    case Status::non_finite:
      return "non_finite";
    case Status::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Newton::Newton(const Scene& scene, Timing* timing)
    : scene_(&scene), timing_(timing), solver_(scene.linear_pattern()) {
  r_.resize(scene.ndof());
  part_.resize(scene.ndof());
  part_norm_.resize(scene.elements().size());
  const auto& contacts = scene.contacts();
  for (const bool touch : {false, true}) {
    for (std::size_t e = 0; e < part_norm_.size(); ++e) {
      const Element* element = scene.elements()[e].get();
      if (touch != (std::find(contacts.begin(), contacts.end(), element) != contacts.end()))
        continue;
      order_.push_back(element);
      rank_.push_back(static_cast<int>(e));
    }
    if (!touch) smooth_count_ = order_.size();
  }
}

void Newton::note_smooth(double alpha) {
  const Eigen::Index n = scene_->pattern().diagonal_values();
  smooth_ = A_.values.head(n) + alpha * K_.values.head(n) + B_.values.head(n);
  smooth_alpha_ = compressed_ ? 0 : alpha;
  smooth_symmetric_ = symmetric_;
}

double Newton::evaluate(const Window& window, const VectorXd& p, Blocks blocks) {
  const bool with_jacobian = blocks != Blocks::none;
  const Stopwatch watch(timing_, with_jacobian ? &Timing::jacobian : &Timing::residual);
  r_.setZero();
  reference_ = floor_;
  double sum = 0;
  Assembly out;
  out.r = &part_;
  const bool apart = blocks == Blocks::apart, noted = blocks == Blocks::contacts;
  if (with_jacobian) {
    symmetric_ = true;
    out.symmetric = &symmetric_;
    compressed_ = false;
    out.compressed = &compressed_;
    out.compression = compression_.share();
    for (BlockMatrix* M : {&K_, &B_}) {
      apart ? M->reset(scene_->pattern()) : M->reset_diagonal(scene_->pattern());
    }
    if (blocks == Blocks::joined) {
      A_.reset(scene_->pattern());
      out.A = &A_;
      out.alpha = window.scheme.alpha;
    }
    if (!noted) {
      out.K = &K_;
      out.B = &B_;
    }
  }
  for (std::size_t k = 0; k < order_.size(); ++k) {
    if (k == smooth_count_ && blocks == Blocks::joined) note_smooth(window.scheme.alpha);
    if (k == smooth_count_ && noted) {
      A_.values.head(smooth_.size()) = smooth_;
      symmetric_ = smooth_symmetric_;
      out.K = &K_;
      out.B = &B_;
    }
    const int e = rank_[k];
    part_.setZero();
    order_[k]->add(window, p, out);
    part_norm_[e] = part_.cwiseProduct(scene_->residual_scale()).norm();
    sum += part_norm_[e];
    r_ += part_;
  }
  if (sum > reference_) reference_ = sum;
  add_past_forces(window, r_);
  out.r = &r_;
  if (scene_->articulation()) {
    map_.evaluate(*scene_->articulation(), scene_->nodes(), p, window.now());
    if (with_jacobian) {
      scene_->reduced().reduce(map_, r_, K_, B_, reduced_K_, reduced_B_);
      out.K = &reduced_K_;
      out.B = &reduced_B_;
    }
    map_.reduce(r_);
  }
  scene_->drive(window, p, out);
  return r_.cwiseProduct(scene_->residual_scale()).norm();
}

bool Newton::limit_step(const Window& window, const VectorXd& p, VectorXd& u) {
  bool any = false;
  for (const ContactElement* e : scene_->contacts()) {
    any |= e->limit_step(from_, window, p, u, limited_);
  }
  return any;
}

void Newton::combine(const Window& window) {
  if (blocks_ == Blocks::apart) {
    StepMap(scene_->nodes(), window).combine(K(), B(), A_);
    smooth_alpha_ = 0;  // what A_ held is gone
    return;
  }
  const Eigen::Index n = scene_->pattern().diagonal_values();
  A_.values.head(n) += window.scheme.alpha * K_.values.head(n) + B_.values.head(n);
}

bool Newton::try_step(const Window& window, const VectorXd& p, const VectorXd& u0, double norm,
                      bool must_fall, Blocks blocks, double t, VectorXd& u, State& now,
                      double& reached) {
  for (int k = 0; k <= kMaxBacktracks; ++k, t *= 0.5) {
    u = u0 - t * du_.col(0);
    move(window, p, u, now);
    if (!usable(now)) continue;
    if (t == 1 && !must_fall && limit_step(window, p, u)) {
      move(window, p, u, now);
    }
    reached = evaluate(window, p, blocks);
    if (!std::isfinite(reached)) continue;
    if (!must_fall || reached <= (1 - 1e-4 * t) * norm) return true;
  }
  return false;
}

bool Newton::negligible(const Window& window, const VectorXd& u) const {
  const VectorXd& scale = scene_->residual_scale();
  VectorXd past(u.size());
  rates(scene_->nodes(), *window.at[1], past);
  const double speed = std::max(u.cwiseQuotient(scale).norm(), past.cwiseQuotient(scale).norm());
  return du_.col(0).cwiseQuotient(scale).norm() <=
         4 * std::numeric_limits<double>::epsilon() * speed;
}

bool Newton::correct(const Window& window, bool reuse, bool exact, double tolerance, bool kept) {
  if (exact && !exact_.ready()) exact_ = LinearSolver(scene_->linear_pattern(), method(true));
  LinearSolver& solver = exact ? exact_ : solver_;
  if (!reuse) {
    const Stopwatch watch(timing_, &Timing::prepare);
    combine(window);
    if (!solver.factor(A_, symmetric_, false, kept)) return false;
  }
  const Stopwatch watch(timing_, &Timing::correction);
  du_ = r_;
  const SolveReport report = solver.solve(A_, du_, tolerance);
  // Where rounding stops an elimination short of the tolerance, it is still a correction.
  return (report.reached || report.residual < kNoCorrection) && du_.allFinite();
}

Newton::Blocks Newton::choose(const Convergence& c, double alpha, Lag& lag) {
  const bool poor = lag.last == Blocks::contacts && c.norm > kPoor * c.previous;
  if (poor) ++lag.poor;
  if (lag.poor >= kMostPoor) distrust_ = kDistrust;
  const bool far = c.norm > kFar * c.reference;
  const bool may = lag.may && blocks_ == Blocks::joined && smooth_alpha_ == alpha &&
                   lag.poor < kMostPoor && !c.evaluated && !c.rough();
  const bool serves = lag.near ? !poor : far;
  lag.last = may && serves ? Blocks::contacts : blocks_;
  lag.near = lag.near || lag.last == blocks_;
  lag.used = lag.used || lag.last == Blocks::contacts;
  const bool first = std::isinf(c.previous);
  if (first) anew_ = lag.last == Blocks::joined && !(lag.may && far);
  return lag.last;
}

bool Newton::direct(const Window& window, const VectorXd& p, const Convergence& convergence,
                    Lag& lag) {
  const Blocks blocks = choose(convergence, window.scheme.alpha, lag);
  const bool exact = convergence.reached() || convergence.rough();
  if (exact) compression_.restore();
  for (bool evaluated = convergence.evaluated;; compression_.lower(), evaluated = false) {
    if (!evaluated) evaluate(window, p, blocks);
    const double goal = convergence.linear_tolerance(symmetric_ && compression_.whole(), false);
    if (convergence.small || exact || !compressed_ || compression_.gone()) {
      return correct(window, false, convergence.exact, goal, blocks == Blocks::contacts);
    }
    {
      const Stopwatch watch(timing_, &Timing::prepare);
      combine(window);
    }
    const Stopwatch watch(timing_, &Timing::correction);
    du_ = r_;
    if (solver_.solve_positive(A_, symmetric_, du_, goal).reached && du_.allFinite()) return true;
  }
}

bool Newton::search(const Window& window, const VectorXd& p, const VectorXd& u0, bool full,
                    VectorXd& u, State& now, double& norm) {
  const double start = norm, work = r_.dot(du_.col(0));
  double t = 1, near = 0, far = 0, near_work = work, far_work = 0;  // far 0: not known yet
  for (int k = 1;; ++k) {
    u = u0 - t * du_.col(0);
    move(window, p, u, now);
    double left = -std::numeric_limits<double>::infinity();
    if (usable(now)) {
      if (k == 1 && full && limit_step(window, p, u)) {
        move(window, p, u, now);
      }
      norm = evaluate(window, p, Blocks::none);
      if (norm <= 0.5 * start) return true;
      if (std::isfinite(norm)) left = r_.dot(du_.col(0));
      if (!(work > 0) && std::isfinite(left)) return true;  // nothing to judge by
    }
    const bool short_of = left > kWorkLeft * work, beyond = !(left >= -kWorkBeyond * work);
    if ((!short_of && !beyond) || k == kMostTrials) return std::isfinite(left);
    if (beyond) {
      far = t;
      far_work = left;
    } else {
      near = t;
      near_work = left;
    }
    if (far > 0) {
      const double share = std::isfinite(far_work) ? near_work / (near_work - far_work) : 0.3;
      t = near + (far - near) * std::clamp(share, 0.1, 0.9);
    } else if (t >= kFarthest) {
      return true;
    } else {
      t *= left < 0.9 * work ? std::clamp(1 / (1 - left / work), 1.5, 4.) : 4.;
    }
  }
}

Newton::Lag Newton::begin(const VectorXd& p, const NewtonOptions& options) {
  limited_.assign(scene_->nodes().size(), 0);
  floor_ = 1e-6 * scene_->total_mass(p) * 9.81;
  compression_.restore();
  compressed_ = false;
  const bool small = scene_->linear_pattern()->tree_like();
  blocks_ = !small && !options.stagnate && scene_->joins() ? Blocks::joined : Blocks::apart;
  Lag lag;
  lag.may = options.lag && !scene_->contacts().empty() && distrust_ == 0;
  if (options.lag && distrust_ > 0) --distrust_;
  return lag;
}

NewtonReport Newton::solve(const Window& window, const VectorXd& p, const NewtonOptions& options,
                           VectorXd& u, State& now) {
  NewtonReport report;
  Lag lag = begin(p, options);
  move(window, p, u, now);
  // Small scenes: residual and Jacobian together. Large ones: each state is first judged by its
  // residual alone, and a Jacobian that serves well serves again.
  const bool small = scene_->linear_pattern()->tree_like();
  const bool eliminates = small || scene_->linear_pattern()->general();
  const bool eager = small && (options.keep_jacobian || options.stagnate);
  const Blocks at_once = eager ? Blocks::apart : Blocks::none;
  const bool speculates = options.lag && blocks_ == Blocks::joined && anew_;
  double norm = evaluate(window, p, speculates ? blocks_ : at_once);
  VectorXd previous;
  Globalisation steps;
  // The blocks are those of `now`; K_ and B_ are; solver_ holds a matrix.
  bool jacobian = eager || speculates, apart = eager, prepared = false;
  bool rough = false;  // the last correction was that of a rough r
  auto finish = [&] {
    if (!prepared) anew_ = false;
    compression_.restore();
    if (options.keep_jacobian && !apart) evaluate(window, p, Blocks::apart);
    return report;
  };
  for (;; ++report.iterations) {
    report.residual = norm;
    report.reference = reference_;
    if (!std::isfinite(norm) || !usable(now)) {
      report.status = Status::non_finite;
      break;
    }
    const bool converged = norm <= options.tolerance * reference_;
    if (converged && options.stagnate && !(norm < 0.5 * steps.previous)) {
      if (norm > steps.previous) {  // the state before was better: go back to it
        u = previous;
        move(window, p, u, now);
        report.residual = evaluate(window, p, Blocks::none);
        apart = false;
      }
      return finish();
    }
    if (converged && (!options.stagnate || norm == 0)) return finish();
    const bool misled = (options.bold || lag.used) && !compressed_;
    if (report.iterations >= options.max_iterations || (misled && report.iterations >= kPatience)) {
      report.status = Status::max_iterations;
      break;
    }
    const double floor = converged || !(prepared || apart) ? 0 : rounding(window, p, norm);
    const Convergence convergence{norm,       steps.previous,   options.tolerance * reference_,
                                  floor,      reference_,       jacobian,
                                  eliminates, options.stagnate, compressed_};
    if (rough && convergence.rough() && norm > kStalled * steps.previous) return finish();
    rough = convergence.rough();
    const bool reuse = !small && prepared && !options.stagnate && !rough && steps.may_reuse(norm);
    const double again = convergence.linear_tolerance(symmetric_ && compression_.whole(), true);
    if (reuse ? !correct(window, true, false, again) : !direct(window, p, convergence, lag)) {
      report.status = Status::singular;
      break;
    }
    prepared = true;
    if (!converged && negligible(window, u)) return finish();
    from_ = now;
    previous = u;
    const bool settled = converged || rough;
    const bool must_fall = !settled && Globalisation::must_fall(report.iterations);
    const double share = must_fall || rough ? 1 : steps.share(report.iterations, norm);
    steps.accept(norm);
    const bool searched = compressed_ && !eliminates && !settled;
    if (searched ? !search(window, p, previous, !must_fall, u, now, norm)
                 : !try_step(window, p, previous, norm, must_fall, at_once, share, u, now, norm)) {
      report.status = Status::line_search_stalled;
      break;
    }
    if (norm < 0.5 * steps.previous) compression_.raise();
    jacobian = apart = eager;
  }
  report.lagged = lag.used;
  begin_anew(report);
  find_worst(window, p, report);
  return report;
}

void Newton::begin_anew(const NewtonReport& report) {
  smooth_alpha_ = 0;
  anew_ = false;
  if (report.lagged) distrust_ = kDistrust;
}

void Newton::find_worst(const Window& window, const VectorXd& p, NewtonReport& report) {
  if (report.status == Status::singular) {
    report.worst_dof = singular_row(*scene_, A_);
    report.worst_element = stiffest(*scene_, elements_of(*scene_), window, p, report.worst_dof);
    return;
  }
  double largest = -1;
  for (int i = 0; i < r_.size(); ++i) {
    const double a = std::abs(r_[i]) * scene_->residual_scale()[i];
    if (std::isfinite(a) && a <= largest) continue;
    largest = a;
    report.worst_dof = i;
    if (!std::isfinite(a)) break;
  }
  int row = report.worst_dof, rows = 1;
  for (std::size_t i = 0; i < scene_->nodes().size(); ++i) {
    const Node& n = scene_->nodes()[i];
    // r of a state that is none may be finite: the node that left, then, is the worst.
    const bool left = report.status == Status::non_finite && std::isfinite(largest) &&
                      !usable(window.now(), n, static_cast<int>(i));
    if (left) report.worst_dof = n.turns() ? n.turn() : n.dof;
    if (!left && (row < n.dof || row >= n.dof + n.size())) continue;
    row = n.dof;
    rows = n.size();
    if (left) break;
  }
  // The balance of a node always has its inertia and weight: another share of it tells more.
  Assembly out;
  out.r = &part_;
  std::size_t worst = 0;
  double share = -1;
  for (std::size_t e = 0; e < part_norm_.size(); ++e) {
    part_.setZero();
    scene_->elements()[e]->add(window, p, out);
    const auto scale = scene_->residual_scale().segment(row, rows);
    const double own = part_.segment(row, rows).cwiseProduct(scale).norm();
    const bool always =
        scene_->elements()[e]->name() == "inertia" || scene_->elements()[e]->name() == "gravity";
    if (!std::isfinite(own)) {
      worst = e;
      share = own;
      break;
    }
    if (own > 0 && !always && own > share) {
      worst = e;
      share = own;
    }
  }
  if (share < 0) {  // as of a joint's coordinate, which elements do not write: of the whole scene
    for (std::size_t e = 1; e < part_norm_.size(); ++e) {
      if (std::isfinite(part_norm_[worst]) && !(part_norm_[e] <= part_norm_[worst])) worst = e;
    }
  }
  report.worst_element = scene_->elements()[worst]->name();
}

}  // namespace diffsim
