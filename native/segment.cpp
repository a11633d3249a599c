#include "segment.hpp"

#include "elements/joint.hpp"

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
                           int threads) {
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
    found.row(i) = runs_[i]->gradient(none, none, at, cotangents[i]);
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

VectorXd outputs_at(const Scene& scene, const Snapshot& at, const VectorXd& p,
                    const std::vector<std::string>& outputs, const Options& options) {
  check_snapshot(scene, at);
  scene.check(p);
  options.check();
  const TimeScheme scheme = TimeScheme::bdf(1, options.step);
  const Window window{{at.now.get(), at.before.get(), nullptr}, scheme, at.t};
  return RequestedOutputs(scene, outputs).evaluate(window, p);
}

}  // namespace diffsim
