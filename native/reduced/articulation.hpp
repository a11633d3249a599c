// Articulation: frames carried by joints in reduced coordinates  [Qs 4].
//
// A reduced joint holds body b exactly: b's pose follows from body a's and from the joint's
// coordinates q, which are degrees of freedom of their own,
//   R_b = R_a A M(q) B^T,   c_b = c_a + R_a (p_a + A d(q)) - R_b p_b,
// with the joint's point p and axes A, B in its bodies (elements/joint.hpp) and
//   hinge M = R_z(q), slider d = q e_z, planar d = q_1 e_x + q_2 e_y, M = R_z(q_3),
//   universal M = R_z(q_1) R_x(q_2), ball M = any rotation, weld neither.
// Elements go on to see the frames; what they write is brought to the coordinates by
// articulation_map.hpp. Joints in reduced coordinates form trees: loops are closed by others.
//
// A joint is a chain of steps, each one screw axis (a turn or a slide) or three (a ball's turns);
// a free frame that carries others is two steps, its three slides and its three turns.
#pragma once

#include <vector>

#include "../elements/joint.hpp"

namespace diffsim {

class Articulation {
 public:
  enum class StepKind : unsigned char { turn, slide, turns, slides };  // the last two: three axes
  struct Step {
    StepKind kind;
    int parent;           // the step before, -1: none
    int axis;             // turn, slide: column of the joint's axes as the steps before have them
    int node, offset;     // its coordinates: rows of this node, from `offset` on
    int dof;              // the first of them in the motion
    int base = -1;        // slides, and turns of a free frame: that frame's node
    bool driven = false;  // its motion is prescribed
    double ratio = 1, shift = 0;  // of a joint that mimics another: of its coordinate
    int columns() const { return kind == StepKind::turn || kind == StepKind::slide ? 1 : 3; }
  };
  struct Link {  // a frame that depends on joints
    int node, frame;
    int carrier_link;  // body a among the links, -1: it is none
    int carrier_step;  // what moves body a, -1: nothing
    int first, last;   // its joint's steps are [first, last); none: a weld
    int step;          // what moves it, -1: nothing
    const Joint* joint;
  };

  /// Joints in reduced coordinates of a scene and its nodes, to which those of the coordinates are
  /// added from `ndof` on, with rotations from `frames` on.
  Articulation(const std::vector<const Joint*>& joints, std::vector<Node>& nodes, int& ndof,
               int& frames);

  using Axes = Eigen::Matrix<double, 6, 3>;  // screw axes, one or three

  const std::vector<Step>& steps() const { return steps_; }  // those before come first
  const std::vector<Link>& links() const { return links_; }  // carriers come first
  /// Moves dependent frames to where the coordinates and the other frames of `s` have them.
  void place(const VectorXd& p, State& s) const;
  /// Screw axes (omega, v) about `origin` of every step, and their sum weighted by its rates.
  void screws(const VectorXd& p, const State& s, const Vector3d& origin, std::vector<Axes>& S,
              std::vector<Vector6>& rate) const;
  /// Sets the coordinates to what they are between the frames of `s`.
  void read(const VectorXd& p, State& s) const;
  /// The same; then places the frames.
  void start(const VectorXd& p, State& s) const;
  /// The rows of the coordinates in d(start pose)/dp and d(start velocity)/dp, from those of the
  /// frames of `free`, where the bodies start before they are placed. column_of: parameter ->
  /// column.
  void start_sensitivity(const VectorXd& p, const State& free, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X, MatrixXd& V) const;
  /// Where the coordinate stands that motors and limits of a joint act on, if it has one.
  CoordinateFreedom freedom(const Joint& joint, const std::vector<Node>& nodes) const;
  /// Nodes of the bodies behind a joint, its own body b first.
  std::vector<int> carried_by(const Joint& joint) const;
  /// Residual scale of the coordinates (Scene::residual_scale).
  void set_scale(const Scene& scene, VectorXd& scale) const;
  /// Name of a coordinate: joint and number.
  std::string name_of(int dof) const;

 private:
  struct Group {  // of coordinates, to be one node
    bool turns;
    int count, last;  // number of coordinates, the last step
  };
  /// Along a joint from its axes M and point x in body a to those in body b; before each step
  /// visit(step, its axis, its coordinate), which are zero of a ball's turns.
  template <class Visit>
  void walk(const Link& link, const State& s, Matrix3d& M, Vector3d& x, Visit&& visit) const;
  void add_joint(const Joint& joint, const std::vector<Node>& nodes, std::vector<Group>& groups);
  void follow_others();
  int base_step(int node, const std::vector<Node>& nodes);
  void add_nodes(const std::vector<Group>& groups, std::vector<Node>& nodes, int& ndof,
                 int& frames);

  std::vector<Step> steps_;
  std::vector<Link> links_;
  std::vector<int> step_of_, link_of_;  // per node: what moves it, which link it is; -1: none
  std::vector<int> first_;  // per step: index of its coordinate in State::q, or of its rotation
};

}  // namespace diffsim
