// A scene of rigid bodies, particles and joints in reduced coordinates as one forest of steps, for
// the velocity stepper: mass matrix, forces and their derivatives by composite bodies.
//
// Every degree of freedom is a screw axis S of a step (reduced/articulation.hpp); free bodies are
// steps, too: three slides and, of frames, three turns. Twists (omega, v), wrenches (n, f) and
// spatial accelerations A are about one point O, in world axes. With V, A those behind a step,
//   V = sum S q',   A = sum S q'' + V_before x S q',   W = I A + V x* I V  of a body,
// and the equations of motion are S_k . F_k = 0, F_k the sum of W less all other wrenches behind k.
#pragma once

#include <mutex>
#include <vector>

#include "../reduced/articulation_map.hpp"
#include "../scene.hpp"
#include "../spatial/inertia.hpp"
#include "joint_forces.hpp"
#include "link_kinematics.hpp"
#include "tree_factor.hpp"

namespace diffsim {

/// What does not change along a motion.
class Multibody {
 public:
  /// Refuses what a velocity stepper cannot move, by name.
  explicit Multibody(const Scene& scene);

  struct Step {
    int parent;  // -1: none
    int dof;     // of the first axis in the motion
    int columns;
    int node = -1;        // of a free body that is no step of the articulation
    bool turns = false;   // that body's
    bool driven = false;  // its motion is prescribed
  };
  struct Body {
    int node, step;     // step -1: fixed to the world
    int mass, inertia;  // in p; inertia -1: a point; mass -1: none, it is driven
  };
  struct Island {  // independent nodes that forces or contacts may couple
    std::vector<int> dofs;
    std::vector<int> steps, armatures;
    std::vector<int> joints;  // places of the coordinates of trees
    struct Spin {             // the turns of a body that is free: its first place
      int node, place;
    };
    std::vector<Spin> spins;
    TreeFactor factor;  // of its pattern, to copy
  };
  struct Armature {
    int dof, parameter;
    double ratio;
  };

  const Scene& scene() const { return *scene_; }
  const std::vector<Step>& steps() const { return steps_; }  // parents come first
  /// Steps of joints and of bodies with joints, before those of bodies that are free.
  int tree_steps() const { return tree_steps_; }
  const std::vector<Body>& bodies() const { return bodies_; }
  const std::vector<Island>& islands() const { return islands_; }
  const std::vector<Armature>& armatures() const { return armatures_; }
  /// But for inertia, contact and those on joints' coordinates.
  const std::vector<const Element*>& forces() const { return forces_; }
  const JointForces& joint_forces() const { return joint_forces_; }
  /// Step that moves a node, -1: none.
  int step_of(int node) const { return step_of_[node]; }
  int node_of(int dof) const { return node_of_[dof]; }
  /// Whether forces move it: neither the world, nor fixed to it, nor driven.
  bool moves(int node) const {
    return node >= 0 && step_of_[node] >= 0 && !steps_[step_of_[node]].driven;
  }
  int island_of(int dof) const { return island_of_[dof]; }
  int place_of(int dof) const { return place_of_[dof]; }  // in its island
  /// Of a body by the scene's own values [1/kg]: a scale that no parameter moves. 0: of none.
  double inverse_mass(int node) const { return node < 0 ? 0 : inverse_mass_[node]; }
  bool driven(int dof) const { return driven_[dof]; }
  const BlockPattern& pattern() const { return pattern_; }  // every block of an island
  /// Every block: of steps that impacts split, whose time all islands feel.
  const BlockPattern& whole_pattern() const;

 private:
  void add_free_bodies();
  void find_islands();
  void find_parents();
  void sort_elements();

  const Scene* scene_;
  std::vector<Step> steps_;
  int tree_steps_ = 0;
  std::vector<Body> bodies_;
  std::vector<Island> islands_;
  std::vector<Armature> armatures_;
  std::vector<const Element*> forces_;
  JointForces joint_forces_;
  std::vector<int> step_of_, node_of_, island_of_, place_of_;
  std::vector<bool> driven_;
  std::vector<double> inverse_mass_;
  BlockPattern pattern_;
  mutable BlockPattern whole_pattern_;  // made when it is first asked for
  mutable std::once_flag whole_pattern_made_;
};

/// All of that at one state, of steps with rates of their own.
class MultibodyState {
 public:
  using Axes = Articulation::Axes;
  explicit MultibodyState(const Multibody& model);

  /// Moves dependent frames to where the coordinates and the other frames of `s` have them, by the
  /// parameters of the last place().
  void place_links(State& s) const { links_.place(s); }
  /// Screw axes and inertias at the poses of `s`.
  void place(const VectorXd& p, const State& s);
  /// Twists of the rates u (ndof) of the independent nodes.
  void move(const VectorXd& u);
  /// Accelerations of u' (ndof), null: zero.
  void accelerate(const VectorXd* udot);
  /// The island's mass matrix, into a factor of its pattern.
  void mass_matrix(int island, const VectorXd& p, TreeFactor& M) const;
  /// Of a body about its own place, in world axes.
  Matrix3d own_inertia(const VectorXd& p, int body) const;
  /// Adds S . W of all bodies (armatures too) to r, rows of the independent nodes; call
  /// accelerate() first. `udot` as there; `nodes`, unless null: and of these wrenches on nodes
  /// (ndof, force and torque about the node).
  void add_inertia(const VectorXd& p, const VectorXd* udot, const VectorXd* nodes, VectorXd& r);
  /// The same of trees at other rates u, wrenches on nodes being those of the last add_inertia();
  /// moves trees to these rates.
  void add_tree_inertia(const VectorXd& p, const VectorXd& u, const VectorXd& udot,
                        const VectorXd& nodes, VectorXd& r);
  /// For the next one, after add_inertia().
  void sum_composites();
  /// Its derivatives by poses (tangent vectors of the independent nodes) and by rates: adds to the
  /// island's D_q, D_u.
  void inertia_derivatives(int island, MatrixXd& D_q, MatrixXd& D_u) const;
  /// Adds the columns of masses, inertias and armatures.
  void inertia_columns(const VectorXd& udot, ParameterColumns& columns) const;
  /// Adds S . F to rows, of one number of forces and torques about nodes.
  void add_force(int dof, double value, Eigen::Ref<VectorXd> rows) const;

  /// f(dof, screw axis, step) of every axis behind which step k is, its own first.
  template <class F>
  void each_axis(int k, F&& f) const {
    for (; k >= 0; k = model_->steps()[k].parent) {
      const Multibody::Step& step = model_->steps()[k];
      for (int i = 0; i < step.columns; ++i) f(step.dof + i, Vector6(S_[k].col(i)), k);
    }
  }
  /// The same of those that move a node; -1: the world.
  template <class F>
  void each_axis_of(int node, F&& f) const {
    if (node >= 0) each_axis(model_->step_of(node), f);
  }

  const Multibody& model() const { return *model_; }
  const Vector3d& origin() const { return origin_; }
  const Axes& axes(int step) const { return S_[step]; }
  const Vector6& twist(int step) const { return V_[step]; }
  const Vector6& twist_before(int step) const { return parent_V_[step]; }
  const Vector6& acceleration(int step) const { return A_[step]; }
  /// Sum of the wrenches behind a step, by the last add_inertia().
  const Vector6& load(int step) const { return F_[step]; }
  /// Of all bodies that move with a step.
  const RigidInertia& inertia(int step) const { return own_[step]; }
  const Vector3d& arm(int body) const { return arm_[body]; }
  /// Of its inertia by p[body.inertia + entry].
  Symmetric3 inertia_slope(int body, int entry) const;
  /// Of a node, by the last move(); zero where nothing moves it.
  Vector6 twist_of(int node) const {
    const int step = node < 0 ? -1 : model_->step_of(node);
    return step < 0 ? Vector6(Vector6::Zero()) : V_[step];
  }

 private:
  ForceVector wrench_of(int step) const;  // of its own bodies
  /// Sums F_ of the first steps towards the root; adds S . F_.
  void add_axes_of(int count, VectorXd& r);

  const Multibody* model_;
  LinkKinematics links_;
  Vector3d origin_ = Vector3d::Zero();
  std::vector<Axes> S_;
  // What accelerations behind a step change by its coordinate, and by its rate: with T = V x S,
  // that is S x (A - A_k) + T x (V - V_k), and S x (V - V_k) + T + V_before x S, of which these
  // depend on the step alone: Q = A x S + V x T, P = T + V_before x S.
  std::vector<Axes> T_, P_, Q_;
  std::vector<Vector6> V_, A_, parent_V_, rate_;  // per step; rate: S q'
  std::vector<RigidInertia> inertia_;             // per body, about O
  std::vector<Matrix3d> orientation_;             // body to world, where it has one
  std::vector<Vector3d> arm_;                     // from O
  std::vector<RigidInertia> own_, I_;             // per step: of its bodies, composites
  std::vector<ForceVector> loads_;                // per step: wrenches on nodes
  std::vector<Matrix6> B_;
  std::vector<Vector6> F_;
};

}  // namespace diffsim
