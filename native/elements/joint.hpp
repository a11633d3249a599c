// Joints by penalty between two rigid bodies, or one and the world  [G 4.5.4].
//
// With a the axis (fixed in body a), d and e of joint_pose.hpp and w = omega_b - omega_a:
//   G   = P(k d + c e) + c_free (a.e) a,      P = alpha I + beta a a^T: the held translations
//   tau = Q c_r w + c_free Q' w - sum_i E_i'(s_i) a_i x b_i,   E_i = -share_i k_r s_i, s_i =
//   a_i.b_i
// G acts on a and -G on b, both at x_b; tau on a and -tau on b: no net force, no net torque. The
// stiffness parts come from the energy k d.P d/2 + sum_i E_i (+ const). A hinge's E = k_r (1 -
// a_3.b_3) is [G]'s constraint |a_3 - b_3|^2 k_r/2; a weld has three pairs with half of k_r each,
// together k_r (1 - cos angle); a universal joint has E = k_r s^2/2 between its two axes.
//
// A constrained joint holds the same exactly: rows g_i(x) = 0 at the end of a step, each with a
// multiplier whose force is lambda_i dg_i/dx (joint_rows.cpp, reduced/closure.hpp).
#pragma once

#include <optional>

#include "joint_pose.hpp"

namespace diffsim {

class Scene;

/// What a kind of joint holds and what it leaves free.
struct JointKind {
  /// (alpha I + beta a a^T).
  struct Along {
    double alpha, beta;
    Vector3d operator()(const Vector3d& a, const Vector3d& x) const {
      return alpha * x + beta * a.dot(x) * a;
    }
    Matrix3d matrix(const Vector3d& a) const {
      return alpha * Matrix3d::Identity() + beta * a * a.transpose();
    }
  };
  enum class Pairs : unsigned char { none, axis, all, cross };
  enum class Coordinate : unsigned char { none, angle, displacement };
  const char* name;
  Along translation, rotation;      // held directions (rotation: those damped)
  Along free_slide, free_rotation;  // where friction_damping acts
  Pairs pairs;
  Coordinate coordinate;
  bool has_axis() const { return pairs == Pairs::cross || coordinate != Coordinate::none; }
  bool has_friction() const {
    return free_slide.beta != 0 || free_rotation.alpha != 0 || free_rotation.beta != 0;
  }
};

/// By stiff springs between bodies with coordinates of their own; by the joint's own coordinates,
/// which carry body b; or by constraint rows with multipliers.
enum class JointCoordinates : unsigned char { maximal, reduced, constrained };

struct JointParameters {
  JointCoordinates coordinates = JointCoordinates::maximal;
  // Of joints that hold exactly there are none of the first four.
  int stiffness = -1, damping = -1;                        // [N/m], [N s/m]
  int rotational_stiffness = -1, rotational_damping = -1;  // [N m/rad], [N m s/rad]
  int friction_damping = -1;                               // [N s/m] or [N m s/rad]
  // First of x, y, z; -1: a particle's place, or a kind whose axes do not matter.
  int position = -1, anchor[2] = {-1, -1}, axis_rotation = -1;  // [m], [m], [rad]
};

/// A joint as its scene starts: frames of both bodies, the joint's axes in each, world frame.
struct JointStart {
  std::array<Matrix3d, 2> R, axes, own_axes;  // axes in the world, and in their bodies
  Vector3d position;
  double displacement;  // of b along the axis
  double angle = 0;     // about it; where poses are looked at alone, angles are the nearest to it
  double load = 1, arm = 1;
};

/// A joint as it stands at one instant, for reports.
struct JointReport {
  double q, rate;          // coordinate; nan where it has none
  double opening, tilt;    // |held d| [m]; held rotation [rad]
  Vector3d force, torque;  // on body b, at x_b [N], [N m]
  double energy;           // stored in the penalties [J]
};

class Joint : public Element {
 public:
  Joint(std::string name, const JointKind& kind, NodePair nodes, JointStart start,
        JointParameters params)
      : Element(std::move(name)),
        kind_(kind),
        nodes_(std::move(nodes)),
        start_(std::move(start)),
        params_(params) {}
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern&) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  /// NAME.force, NAME.torque on body b, at x_b.
  void list_outputs(const Scene& scene, OutputList& to) const override;

  const JointKind& kind() const { return kind_; }
  bool maximal() const { return params_.coordinates == JointCoordinates::maximal; }
  bool reduced() const { return params_.coordinates == JointCoordinates::reduced; }
  bool constrained() const { return params_.coordinates == JointCoordinates::constrained; }
  const NodePair& nodes() const { return nodes_; }
  /// Angle or displacement, where the kind has one, by the poses of both bodies: an angle with
  /// the whole turns that the motion has made since its start (State::angles).
  JointCoordinate coordinate(const State& s, const VectorXd& p) const;
  /// An angle that poses leave open by whole turns, nearest to that at the scene's start.
  double from_start(double angle) const { return nearest_turn(angle, start_.angle); }
  bool counts() const {
    return kind_.coordinate == JointKind::Coordinate::angle && !acts_on_freedom();
  }
  void set_counted(int place) { counted_ = place; }
  /// In reduced coordinates, once the scene is complete: that coordinate itself.
  bool acts_on_freedom() const {
    return reduced() && kind_.coordinate != JointKind::Coordinate::none;
  }
  const CoordinateFreedom& freedom() const { return freedom_; }
  void set_freedom(const CoordinateFreedom& freedom) { freedom_ = freedom; }
  /// Another joint in reduced coordinates whose coordinate this one's follows; null: none.
  struct Mimic {
    const Joint* joint = nullptr;
    double ratio = 1, shift = 0;
  };
  const Mimic& mimic() const { return mimic_; }
  void set_mimic(const Mimic& mimic) { mimic_ = mimic; }
  /// Where the joint is in both bodies: its parameters' twelve numbers are the file's position,
  /// moved in both bodies alike, an anchor in each, and a rotation vector of the axes in both.
  std::array<JointPlace, 2> place(const VectorXd& p) const;
  int place_parameter(int k) const;  // of the twelve; -1: none
  /// The twelve directions of joint_pose.hpp by those numbers.
  Matrix12 place_by_parameters(const State& s, const VectorXd& p) const;
  bool place_is_active(const ParameterColumns& out) const;
  CoordinateSlopes coordinate_by_place(const State& s, const VectorXd& p) const;
  /// df: derivatives of the generalized force by those numbers.
  void add_place_columns(const Matrix12& df, ParameterColumns& out) const;
  /// The same of rows of outputs, (rows, 12).
  void add_place_slopes(int row, const MatrixXd& dy, OutputJacobian& by) const;
  /// The coordinate as motors, limits and friction act on it: in reduced coordinates its value and
  /// rate, which are degrees of freedom themselves, and nothing else of it.
  JointCoordinate driven_coordinate(const State& s, const VectorXd& p) const;
  /// A generalized force phi on it and, when asked, the columns of the joint's place.
  void add_coordinate_force(const State& s, const VectorXd& p, const JointCoordinate& at,
                            double phi, double by_q, double by_rate, const Assembly& out) const;
  /// dphi/dp of a parameter of that force.
  void add_coordinate_column(const JointCoordinate& at, double dphi, int parameter,
                             ParameterColumns& out) const;
  /// What a number by q and by its rate is by poses, velocities and the joint's place.
  void add_coordinate_slopes(int row, const State& s, const VectorXd& p, const JointCoordinate& at,
                             double by_q, double by_rate, OutputJacobian& by) const;
  JointReport report(const State& s, const VectorXd& p) const;

  /// What it holds exactly when constrained, one row g = 0 each: a_i.d [m] of a direction of body
  /// a, or minus the cosine between an axis of a and one of b across it [rad].
  static constexpr int kMostRows = 6;
  struct Row {
    JointCoordinate at;  // g, its rate, derivatives by poses
    bool turns;
    int column;  // of a's axes, where it does not turn
  };
  int held_rows(const State& s, const VectorXd& p, Row out[kMostRows]) const;
  /// Whether that row is a rotation's.
  bool turns(int row) const;
  CoordinateSlopes row_by_place(const Row& row, const State& s, const VectorXd& p) const;
  /// Of a constrained joint: the rows that are kept, whose multipliers [N, N m] are the rates of
  /// the coordinates of `node`, from `first` on in State::q.
  struct Multipliers {
    std::vector<int> rows;
    int node = -1, dof = 0, first = 0;
  };
  const Multipliers& multipliers() const { return multipliers_; }
  void set_multipliers(const Multipliers& multipliers) { multipliers_ = multipliers; }
  double load() const { return start_.load; }  // weight of the heavier body [N]
  double arm() const { return start_.arm; }    // the longest of both [m]

 private:
  struct Pair;  // one term E_i at a state
  struct Values;
  Values values(const VectorXd& p) const;
  int pairs(const JointPose& j, const Values& v, Pair out[3]) const;
  Matrix12 force_change(const JointPose& j, const Values& v, const Pair* pair, int count,
                        const Matrix3x12& d_x, const Matrix3x12& e_x,
                        const Matrix12& spread_x) const;
  void add_jacobian(const JointPose& j, const Values& v, const Vector3d& G, const Pair* pair,
                    int count, const Assembly& out) const;
  void add_columns(const JointPose& j, const Pair* pair, int count, ParameterColumns& out) const;
  void add_rows(const Window& window, const VectorXd& p, const Assembly& out) const;

  JointKind kind_;
  NodePair nodes_;
  JointStart start_;
  JointParameters params_;
  CoordinateFreedom freedom_;
  Mimic mimic_;
  Multipliers multipliers_;
  int counted_ = -1;                              // place in State::angles
  std::array<int, 2> down_{-1, -1}, up_{-1, -1};  // blocks (body, multipliers) and back
};

struct JointSpec {
  std::string kind, body_a, body_b;     // "" = the world
  Vector3d position, axis;              // world, at the scene's start pose
  std::optional<Vector3d> second_axis;  // universal: fixed in b, perpendicular to axis
  std::optional<double> stiffness, damping, rotational_stiffness, rotational_damping;
  double friction_damping = 0;
  double coordinate = 0;        // angle or displacement that the start pose has
  std::string mimic = {};       // reduced: another joint whose coordinate this one's follows,
  double ratio = 1, shift = 0;  // ratio times it plus shift [rad or m]
  JointCoordinates coordinates = JointCoordinates::maximal;
};

/// Defaults, evaluated once and written as parameters (m: the larger of the two masses, m_r the
/// reduced mass, l: the longest of moment arm and body radii):
///   stiffness = 2 * 10 m 9.81 / 1e-4 m: ten times the link's weight opens the joint by 0.5e-4 m;
///   rotational_stiffness = stiffness l^2: and, at the moment arm l, tilts it by 0.5e-4 m / l;
///   damping = 2 sqrt(stiffness m_r) (critical), rotational_damping = damping l^2.
void add_joint(Scene& scene, const std::string& name, const JointSpec& spec);

/// The scene's joint of this name; refuses an unknown one. `place` says who asks.
const Joint& joint_named(const Scene& scene, const std::string& place, const std::string& name);
/// And one that has neither angle nor displacement.
const Joint& driven_joint(const Scene& scene, const std::string& place, const std::string& name);

}  // namespace diffsim
