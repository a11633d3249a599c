// Segment: a few steps of many motions at once, each from where it stands and with parameters of
// its own, to what it reports at the end. Learning steps its environments so; a motion is a row of
// segments, and its gradient goes back through them one after the other.
#pragma once

#include "batch.hpp"

namespace diffsim {

class Segment {
 public:
  /// from: where each motion stands; P: its parameters, a row each; active: those by which
  /// gradients are wanted; mode none, store or checkpoint. A motion that fails ends where it
  /// began (`failure` says why), and its gradient is zero.
  Segment(const Scene& scene, const std::vector<Snapshot>& from, const MatrixXd& P, int steps,
          const Options& options, const std::vector<int>& active, GradientMode mode, int threads,
          CancelToken* cancel, const std::vector<std::string>& outputs);

  int count() const { return static_cast<int>(from_.size()); }
  /// Why a motion stopped early, "" where it did not.
  std::string failure(int motion) const;
  bool ok(int motion) const { return runs_[motion]->status == Status::converged; }
  Snapshot end(int motion) const { return ok(motion) ? runs_[motion]->end() : from_[motion]; }
  /// Outputs at the end (motions, outputs); of a motion that failed, at its start.
  MatrixXd outputs() const;
  const OutputList& output_list() const { return list_; }

  /// dO/dP (motions, active) from dO/d(outputs) (motions, outputs). `cotangents`, one per motion:
  /// of end(), in which those of `from` are left.
  MatrixXd gradient(const MatrixXd& gy, std::vector<SnapshotCotangents>& cotangents, int threads,
                    const CancelToken* cancel = nullptr);

 private:
  const Scene* scene_;
  std::vector<Snapshot> from_;
  std::vector<std::unique_ptr<Rollout>> runs_;
  OutputList list_;
  int active_;
};

/// Where a scene starts, with chosen coordinates of joints in reduced coordinates: name ->
/// (coordinate [rad or m], rate). Refuses other joints and unknown names.
Snapshot start_snapshot(const Scene& scene, const VectorXd& p,
                        const std::vector<std::pair<std::string, Eigen::Vector2d>>& joints);

/// Degrees of freedom that say where a scene stands: those of bodies that are neither driven nor
/// carried by a joint in reduced coordinates, and the coordinates of such joints. Refuses
/// constrained joints, whose bodies are not free to move by each of these.
std::vector<int> state_dofs(const Scene& scene);

/// Cotangents of a snapshot by state_dofs alone: those of bodies that joints carry are brought to
/// the joints' coordinates and rates.
void pull_to_state_dofs(const Scene& scene, const VectorXd& p, const Snapshot& at,
                        SnapshotCotangents& cotangents);

/// Outputs there, as of a rollout's first frame.
VectorXd outputs_at(const Scene& scene, const Snapshot& at, const VectorXd& p,
                    const std::vector<std::string>& outputs, const Options& options);

}  // namespace diffsim
