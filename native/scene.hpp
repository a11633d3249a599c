// Scene: the model r(q, q', q'', p). Built once, then const; any number of threads may roll it out.
//
// Bodies, point sets and elements are added by the builder that stands beside each of them
// (add_rigid_body, add_springs, add_contact ...); the scene knows none of their kinds.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodies/body.hpp"
#include "bodies/point_set.hpp"
#include "elements/contact_element.hpp"
#include "linear_solver/linear_solver.hpp"
#include "reduced/closure.hpp"
#include "reduced/reduced_pattern.hpp"

namespace diffsim {

class Multibody;

class Scene {
 public:
  Scene();
  void set_gravity(const Vector3d& g);

  // --- for builders
  /// Refuses a name without characters or with a dot, and a scene that has been rolled out.
  void check_new(const std::string& kind, const std::string& name) const;
  ParameterTable& table() { return table_; }
  int next_node() const { return static_cast<int>(nodes_.size()); }
  /// Adds the body's nodes (from next_node()).
  void add_body(std::unique_ptr<Body> body);
  const PointSet* add_point_set(PointSet set);
  void add_element(std::unique_ptr<Element> element);
  void add_contact(std::unique_ptr<ContactElement> contact);
  /// Lets a joint in reduced coordinates, an element of the scene, carry its body b.
  void add_reduced(Joint* joint);
  /// Lets a joint, an element of the scene, hold by constraint rows.
  void add_constrained(Joint* joint) { constrained_joints_.push_back(joint); }

  /// Counts the angle of a joint, an element of the scene, by its bodies' poses: its place in
  /// State::angles.
  int add_counted(const Joint* joint) {
    counted_joints_.push_back(joint);
    return static_cast<int>(counted_joints_.size()) - 1;
  }

  /// Makes sparsity; called by every rollout, does nothing the second time.
  void finalize();

  const ParameterTable& parameters() const { return table_; }
  VectorXd values() const { return table_.values(); }
  void set_value(int index, double value) { table_.assign(index, value); }
  void check(const VectorXd& p) const;  // refuses what no simulation may run with

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<Body>>& bodies() const { return bodies_; }
  const std::vector<const Body*>& driven() const { return driven_; }
  const std::vector<std::unique_ptr<Element>>& elements() const { return elements_; }
  const std::vector<ContactElement*>& contacts() const { return contacts_; }  // of elements()
  const BlockPattern& pattern() const { return pattern_; }  // of what elements write
  /// Of what is solved for: the same, but where joints are in reduced coordinates.
  const BlockPattern& solved_pattern() const {
    return articulation_ ? reduced_.pattern() : pattern_;
  }
  /// Null where no joint is in reduced coordinates.
  const Articulation* articulation() const { return articulation_.get(); }
  const ReducedPattern& reduced() const { return reduced_; }
  /// Null where no joint is constrained.
  const Closure* closure() const { return closure_.get(); }
  /// Number of nodes that are bodies'; those of joint coordinates come behind.
  int body_nodes() const { return body_nodes_; }
  int body_ndof() const { return body_ndof_; }  // theirs
  /// As the velocity stepper sees the scene; refuses one that it cannot move.
  const Multibody& multibody() const;
  int gravity_parameter() const { return p_gravity_; }                // the first of three
  const BlockPattern& past_pattern() const { return past_pattern_; }  // of dr/d(past states)
  const std::shared_ptr<const LinearPattern>& linear_pattern() const { return linear_; }
  const VectorXd& residual_scale() const { return scale_; }  // 1, or 1/radius for torques
  int ndof() const { return ndof_; }
  bool points_only() const { return frames_ == 0; }
  /// Whether all blocks of couplings are of elements that join K and B (Assembly::A).
  bool joins() const { return joins_; }
  int contact_count() const;
  int stick_count() const { return stick_count_; }
  int mode_count() const;
  const Body& body(const std::string& name) const;           // refuses an unknown name
  int node_of(const std::string& body) const;                // and a body of several nodes
  const PointSet& point_set(const std::string& name) const;  // refuses an unknown name
  double total_mass(const VectorXd& p) const;
  State start(const VectorXd& p) const;
  /// Where bodies start by themselves, before joints in reduced coordinates place those they carry.
  State free_start(const VectorXd& p) const;
  /// Where these have placed them, before constrained joints are closed.
  State open_start(const VectorXd& p) const;
  /// d(start pose)/dp and d(start velocity)/dp, (ndof, active). column_of: parameter -> column.
  void start_sensitivity(const VectorXd& p, const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const;
  std::string dof_name(int dof) const;
  /// Of an accepted state: whole turns of joints' angles are counted from here on.
  void count_angles(const VectorXd& p, State& s) const;
  int angle_count() const { return static_cast<int>(counted_joints_.size()); }

  /// Puts the rows of driven bodies in place of what elements wrote there.
  void drive(const Window& window, const VectorXd& p, const Assembly& out) const;
  /// Clears those rows.
  void release(const Assembly& out) const;
  /// The same for derivatives by the past: a driven pose has none.
  void drive_history(BlockMatrix& past) const;

 private:
  std::vector<std::vector<int>> driven_blocks(const BlockPattern& pattern) const;
  void add_coordinates();
  void set_scale();

  ParameterTable table_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::vector<const Body*> driven_;
  std::vector<std::vector<int>> driven_blocks_, driven_past_;  // per driven body: its rows
  std::deque<PointSet> sets_;                                  // stable addresses
  std::vector<std::unique_ptr<Element>> elements_;
  std::vector<ContactElement*> contacts_;
  std::vector<const Joint*> counted_joints_;
  std::vector<Joint*> reduced_joints_, constrained_joints_;
  std::unique_ptr<Articulation> articulation_;
  std::unique_ptr<Closure> closure_;
  BlockPattern pattern_, past_pattern_;
  ReducedPattern reduced_;
  std::shared_ptr<const LinearPattern> linear_;
  mutable std::mutex multibody_mutex_;
  mutable std::shared_ptr<const Multibody> multibody_;  // made when it is first asked for
  VectorXd scale_;
  std::vector<NodeMass> masses_;  // per node
  int ndof_ = 0, frames_ = 0, body_nodes_ = 0, body_ndof_ = 0, p_gravity_ = 0, stick_count_ = 0;
  bool joins_ = false, final_ = false;
};

}  // namespace diffsim
