#include "segment.hpp"

#include "elements/joint.hpp"
#include "reduced/articulation_map.hpp"

namespace diffsim {

Segment::Segment(const Scene& scene, const std::vector<Snapshot>& from, const MatrixXd& P,
                 int steps, const Options& options, const std::vector<int>& active,
                 GradientMode mode, int threads, CancelToken* cancel,
                 const std::vector<std::string>& outputs)
    : scene_(&scene), from_(from), active_(static_cast<int>(active.size())) {
  if (steps < 1) refuse("segment: steps", "must be >= 1", steps);
  if (P.rows() != static_cast<Eigen::Index>(from.size())) {
    refuse("segment: P", "must have a row per snapshot, " + std::to_string(from.size()), P.rows());
  }
  if (from.empty()) refuse("segment: from", "must hold a snapshot", 0);
  Options ends = options;
  ends.record_every = steps;
  runs_ = rollout_batch(scene, P, {steps}, ends, active, mode, threads, cancel, {}, outputs, from);
  list_ = runs_[0]->outputs().list();
}

std::string Segment::failure(int motion) const {
  if (ok(motion)) return "";
  return std::string(to_string(runs_[motion]->status)) + ": " + runs_[motion]->message;
}

MatrixXd Segment::outputs() const {
  MatrixXd y(count(), runs_[0]->outputs().size());
  for (int i = 0; i < count(); ++i) y.row(i) = runs_[i]->frames.back().y;
  return y;
}

MatrixXd Segment::gradient(const MatrixXd& gy, std::vector<SnapshotCotangents>& cotangents,
                           int threads, const CancelToken* cancel) {
  const int ny = runs_[0]->outputs().size();
  if (gy.rows() != count() || gy.cols() != ny) {
    refuse("segment: dO/d(outputs)",
           "must have shape (motions, outputs) = (" + std::to_string(count()) + ", " +
               std::to_string(ny) + ")",
           gy.size());
  }
  if (static_cast<int>(cotangents.size()) != count()) {
    refuse("segment: cotangents", "must be one per motion", cotangents.size());
  }
  MatrixXd found = MatrixXd::Zero(count(), active_);
  const MatrixXd none = MatrixXd::Zero(scene_->ndof(), 2);
  in_parallel(count(), threads, [&](int i) {
    if (!ok(i)) {
      cotangents[i] = MatrixXd::Zero(scene_->ndof(), 4);
      return;
    }
    MatrixXd at = MatrixXd::Zero(ny, 2);  // frames: the start, the end
    at.col(1) = gy.row(i);
    found.row(i) = runs_[i]->gradient(none, none, at, cotangents[i], cancel);
  });
  return found;
}

Snapshot start_snapshot(const Scene& scene, const VectorXd& p,
                        const std::vector<std::pair<std::string, Eigen::Vector2d>>& joints) {
  scene.check(p);
  auto state = std::make_shared<State>(scene.start(p));
  std::vector<int> held;
  for (const auto& [name, value] : joints) {
    const Joint& joint = joint_named(scene, "start", name);
    if (!joint.acts_on_freedom() || joint.mimic().joint) {
      refuse("start: joint '" + name + "'",
             "must be a hinge or slider in reduced coordinates that follows no other", "another");
    }
    if (!value.allFinite()) refuse("start: joint '" + name + "'", "must be finite", value[0]);
    const CoordinateFreedom& at = joint.freedom();
    held.push_back(at.dof);
    state->q[at.first] = value[0];
    state->qdot[at.first] = value[1];
  }
  if (scene.articulation()) scene.articulation()->place(p, *state);
  if (scene.closure()) scene.closure()->close(p, *state, held);
  return {state, nullptr, 0, 0};
}

std::vector<int> state_dofs(const Scene& scene) {
  if (scene.closure()) {
    refuse("state_dofs", "needs a scene without constrained joints", "one that has some");
  }
  std::vector<bool> free(scene.ndof(), false);
  for (const auto& body : scene.bodies()) {
    for (int node = body->node(); node < body->node() + body->count(); ++node) {
      const Node& at = scene.nodes()[node];
      std::fill_n(free.begin() + at.dof, at.frame >= 0 ? 6 : 3, !body->driven());
    }
  }
  if (const Articulation* joints = scene.articulation()) {
    for (const auto& link : joints->links()) {
      std::fill_n(free.begin() + scene.nodes()[link.node].dof, 6, false);
    }
    for (const auto& step : joints->steps()) {
      if (!step.driven) std::fill_n(free.begin() + step.dof, step.columns(), true);
    }
  }
  std::vector<int> dofs;
  for (int dof = 0; dof < scene.ndof(); ++dof) {
    if (free[dof]) dofs.push_back(dof);
  }
  return dofs;
}

void pull_to_state_dofs(const Scene& scene, const VectorXd& p, const Snapshot& at,
                        SnapshotCotangents& cotangents) {
  check_snapshot(scene, at);
  scene.check(p);
  if (cotangents.rows() != scene.ndof() || cotangents.cols() != 4) {
    refuse("cotangents", "must have 4 columns of the scene's degrees of freedom",
           cotangents.size());
  }
  if (!scene.articulation()) return;
  const State* states[] = {at.now.get(), at.before.get()};
  for (int k = 0; k < 2; ++k) {
    if (!states[k]) continue;
    ArticulationMap map;
    map.evaluate(*scene.articulation(), scene.nodes(), p, *states[k]);
    MatrixXd x = cotangents.col(2 * k), v = cotangents.col(2 * k + 1);
    map.pull({}, x, v);
    cotangents.col(2 * k) = x;
    cotangents.col(2 * k + 1) = v;
  }
}

VectorXd outputs_at(const Scene& scene, const Snapshot& at, const VectorXd& p,
                    const std::vector<std::string>& outputs, const Options& options) {
  check_snapshot(scene, at);
  scene.check(p);
  options.check();
  const TimeScheme scheme = TimeScheme::bdf(1, options.step);
  State start;  // before its first step a motion of hard contacts does not know that it is one
  const State* now = at.now.get();
  if (options.velocity && !now->hard_contacts) {
    start = *now;
    start.hard_contacts = true;
    now = &start;
  }
  const Window window{{now, at.before.get(), nullptr}, scheme, at.t};
  return RequestedOutputs(scene, outputs).evaluate(window, p);
}

}  // namespace diffsim
