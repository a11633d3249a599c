// The velocity stepper: semi-implicit Euler with hard contacts  [Qa].
//
// From a state (q, u) and a step h, with r = -(forces), u_f the rates without contacts:
//   M(q) (u' - u) = -h (c(q, (u + u_f)/2) + r(q, u) + phi(q + h u', u')) + J^T B lambda,
//   q' = q moved by h u'.
// Velocity terms c of inertia are those at mid-step, forces phi on joints' coordinates those at its
// end (free_motion.cpp); the impulses lambda are those of contact_problem.hpp. A point may come
// down to its obstacle but no further, c_n >= -g/h; one inside is put back on the surface, at no
// more than the speed of ten steps of fall. One with restitution that meets the obstacle faster
// than it would fall in two steps splits the step at the time of impact (impact.cpp).
//
// Derivatives are those of the solution by the implicit function theorem: contacts keep their modes
// (open, sticking, slipping). As every step is given by what it begins with, u' = Phi(x, u, p), the
// residual that S and lambda see is u' - Phi.
#pragma once

#include "../stepper.hpp"
#include "contact_problem.hpp"
#include "multibody_adjoint.hpp"
#include "velocity_options.hpp"

namespace diffsim {

class VelocityStepper : public Stepper {
 public:
  VelocityStepper(const Scene& scene, const VelocityOptions& options, Timing* timing = nullptr);

  NewtonReport step(const State& prev, const State* prev2, const TimeScheme& scheme, double t,
                    const VectorXd& p, const NewtonOptions& options) override;
  const State& state() const override { return next_; }
  void differentiate(const Window& window, const VectorXd& p, ActiveColumns& active, bool fresh,
                     StepDerivatives& out) override;
  /// Of scenes without prescribed motions (velocity_adjoint.cpp).
  bool pull(const Window& window, const VectorXd& p, ActiveColumns& active, MatrixXd& x,
            MatrixXd& v, VectorXd& held) override;
  void modes(const Window& window, const VectorXd& p,
             std::vector<std::uint16_t>& out) const override;

 private:
  struct Touch {  // a gap that may close in the step
    Gap gap;
    const ContactElement* element;
    Matrix3d B;  // columns n, t_1, t_2
    double mu, restitution;
    bool bounces;      // whether its bound is that of restitution
    bool deep;         // whether it is that of the fastest way out
    double by_gap;     // of its bound [1/s]
    Vector3d before;   // its velocity against the obstacle when the step begins
    double share = 1;  // of its own restitution, in `restitution`: see Island
    Vector3d place() const { return gap.x - gap.radius * gap.n; }
  };
  struct Slopes;  // of an island, below
  // What becomes of contacts with restitution that approach fast.
  enum class Impacts {
    split,    // left out: where one passes its surface, the step ends in an impact
    stepped,  // they leave with their restitution within the step
    none      // no contact acts at all
  };
  // Gap at which it strikes: so small that it does not matter, and large enough for a point to be
  // outside to rounding, where surfaces have other pieces within [m].
  static constexpr double kTouchingGap = 1e-10;
  struct Aside {  // one that was left out
    const ContactElement* element;
    int point;
    double g;  // to that gap
  };
  struct Part {  // of a split step
    enum class Kind { step, impact, kick } kind;
    double length;  // of a step, of the forces' action in a kick; 1 of an impact [s]
    const ContactElement* element = nullptr;  // whose gap closes at its end
    int point = -1;
    State end;
    std::vector<bool> kicked = {};    // islands
    std::vector<double> shares = {};  // of islands, of an impact: Island::share
  };
  struct Closing {  // how that gap moves: by poses (ndof), by parameters
    VectorXd by_pose;
    std::vector<std::pair<int, double>> by_p;
  };
  struct Island {
    // Of the mass matrix with h times the slopes of joints' forces, at the end of the step; of the
    // free motion, where that is another (`apart`).
    TreeFactor M, free;
    bool apart = false;
    // Of the velocity terms, h/2 dc/du at mid-step: of bodies that are free, by M^-1 and 1 added;
    // of trees, of whose coordinates alone they are.
    std::vector<Matrix3d> spin_terms, spin_inverses;
    MatrixXd tree_terms;
    Eigen::PartialPivLU<MatrixXd> tree_slopes;
    bool newton = false;  // scratch of free motion, as the next
    bool moving = false;
    double last = 0;
    std::vector<Touch> touches;
    // Columns: velocities of all touches against their obstacles, in their own axes, by the rates
    // of the island: J^T; L^-T J^T, with M = L^T L.
    MatrixXd J, H;
    ContactProblem problem;
    double share = 1;  // of all restitutions in an impact, with which it gains no energy
    VectorXd rates;    // scratch
    std::vector<ContactProblem::Law> laws;  // of derivatives backwards
    std::vector<Vector3d> law_weights;
  };
  /// Sets rates_ to u' of the step from `prev`; the name of a contact that is not solved, or "".
  std::string solve(const State& prev, const Window& start, const VectorXd& p);
  /// Loads of all forces about nodes into written_.
  void load_nodes(const Window& start, const VectorXd& p);
  /// Sets free_ to the rates u_f without contacts; the name of what does not converge, or "".
  std::string solve_free(const Window& start, const VectorXd& p);
  /// bias_: of the free motion's equations at free_, over h.
  void free_residual(const Window& start, const VectorXd& p, bool first);
  /// A Newton step of an island; false where it diverges.
  bool improve_free(int index, const Window& start, const VectorXd& p, int iteration);
  double noise(int index, const Window& start) const;
  /// Sets worst_dof_ to an island's largest step; the name of the force that moves it, or its own.
  std::string name_fastest(int index, const Window& start, const VectorXd& p);
  std::string name_moved(int dof, const Window& start, const VectorXd& p);
  /// Sets worst_dof_ by the contact that works most; its name.
  std::string name_pressed(const Island& island);
  bool set_free_step(int index, const VectorXd& p, int iteration);
  /// Share of a step du (ndof) of an island that does not overshoot where joints' forces bend.
  double share_of(int index, const Window& start, const VectorXd& p, const VectorXd& u,
                  const VectorXd& du) const;
  /// Whether joints' forces of an island have other slopes at free_ than at rates_.
  bool bends_apart(int index, const Window& window, const VectorXd& p) const;
  /// Contacts of an island, with joints' forces where they end.
  bool solve_pressed(int index, const Window& start, const VectorXd& p);
  /// M of an island with slopes of joints' forces (ndof), to be factored.
  bool factor(int index, const VectorXd& p, const VectorXd& slopes, TreeFactor& M) const;
  /// Sets joints' forces and factors to those at free_ and rates_.
  void linearize(const Window& start, const VectorXd& p);
  /// Slopes of velocity terms, from free_; moves at_.
  void set_free_slopes(const VectorXd& p);
  void set_tree_slopes(int index);
  void set_mid_step(const VectorXd& p);  // the same of bodies that are free alone
  /// The free motion's X <- (M + h/2 dc/du)^-1 X.
  void solve_free_slopes(int index, MatrixXd& X) const;
  void solve_velocity_terms(int index, MatrixXd& X) const;  // the same after M^-1
  /// h/2 (dc/du) x.
  VectorXd velocity_terms(int index, const VectorXd& x) const;
  /// Motors' targets are those of whole steps.
  Window whole_step(const Window& start) const;
  const TreeFactor& free_factor(const Island& island) const {
    return island.apart ? island.free : island.M;
  }
  /// Sets rates_ and islands to those of an impact at `s`, as solve().
  std::string solve_impact(const State& s, const VectorXd& p);
  /// solve_contacts() of an impact, with as much of the restitution as gives no energy.
  bool solve_limited(Island& island, int index);
  /// du'/dshare of an island whose restitution is limited, and that of the energy it gains.
  VectorXd slopes_by_share(const Island& island, double& energy) const;
  /// Cotangents of that energy, at fixed u': adds to poses, velocities and what parameters get, by
  /// place in S. Returns that of u' (ndof). at_ and adjoint_ are used.
  VectorXd pull_energy(int index, const VectorXd& p, const ActiveColumns& active, VectorXd& x,
                       VectorXd& v, VectorXd& held);
  /// Adds what the share changes to derivatives at a fixed one.
  void add_share(int index, const VectorXd& p, const ActiveColumns& active, Slopes& to);
  bool limited(const Island& island) const { return island.share > 0 && island.share < 1; }
  /// Places and contacts of an impact at `s`.
  void begin_impact(const State& s, const VectorXd& p);
  /// The impact at `from`, with kicks before and after, into parts_; as solve().
  std::string add_impact(const State& from, const Window& start, const VectorXd& p);
  void add_kick(const State& from, const Window& start, const VectorXd& p, double length,
                const std::vector<bool>& kicked);
  /// next_ from rates_.
  void move_to_next(const State& prev, const Window& start, const VectorXd& p);
  /// What solve() found, as `to` reports it; `h`: 1 of an impact, whose forces are impulses.
  void report_contacts(double h, State& to) const;
  /// Of a part of length s: `out` from rates_, which solve() has found.
  void move_part(const State& from, double s, State& out);
  /// Displacements D of a part are by_end_ u' - by_start_ u.
  void weigh_part(double s);
  bool presses(const Island& island) const;
  /// The least gap, to kTouchingGap, of what was left out; its place in aside_.
  double least_gap(const State& s, const VectorXd& p, std::size_t& which);
  /// Into parts_ and next_, where a step as a whole takes a point through its surface.
  std::string split(const State& prev, const Window& start, const VectorXd& p);
  /// Length of the part from `from` at whose end the first gap closes; `rest`: one that is too
  /// long, whose least gap is `gap`.
  double time_of_impact(const State& from, const Window& start, const VectorXd& p, double rest,
                        double gap, Part& part);
  void join_parts(const State& prev);
  /// The split step that led to window.now(), whose parts are not kept.
  void step_again(const Window& window, const VectorXd& p);
  void recover_part(const Part& part, const State& from, double t, const VectorXd& p);
  Closing closing(const Part& part, const VectorXd& p, const ActiveColumns& active);
  /// du'/ds and the motion of what follows, dx'/ds, by the length of a step that recover_part()
  /// set.
  void slopes_by_length(const Part& part, const VectorXd& p, VectorXd& by_v, VectorXd& by_x);
  void pull_parts(const Window& window, const VectorXd& p, ActiveColumns& active, MatrixXd& x,
                  MatrixXd& v, VectorXd& held);
  /// Back through a part's displacement: u_ becomes the cotangent of u'; returns that of u.
  VectorXd pull_displacement(const Part& part, MatrixXd& x, const MatrixXd& v);
  void pull_impact(const State& from, const VectorXd& p, ActiveColumns& active, MatrixXd& x,
                   MatrixXd& v, VectorXd& held);
  void differentiate_parts(const Window& window, const VectorXd& p, ActiveColumns& active,
                           StepDerivatives& step);
  void write_parts(const Window& window, const VectorXd& p, const ActiveColumns& active,
                   MatrixXd& X, const MatrixXd& V, StepDerivatives& step);
  /// `pressing`, unless null: of those alone.
  void find_touches(const State& prev, double h, const VectorXd& p,
                    const std::vector<HardContact>* pressing);
  /// Sets an island's J, H and its problem's W.
  void set_jacobian(Island& island, int index);
  /// Adds a touch's part of J.
  void add_axes(const Touch& touch, int node, double sign, Eigen::Index column, MatrixXd& J) const;
  Vector3d relative_velocity(const Touch& touch) const;  // by the last at_.move()
  /// prev: whose impulses are a guess; null: those of the problem.
  bool solve_contacts(Island& island, int index, const State* prev, double h);
  static void clear_driven(const Multibody& model, int index, MatrixXd& rows);

  struct Moves {    // of a touch by the poses of its island, at fixed rates: columns
    MatrixXd n, w;  // its normal, its velocity
    Eigen::RowVectorXd g;
  };
  Moves moves(const Touch& touch) const;
  void add_relative(int node, double sign, const Vector3d& x, const Vector3d& x_c, MatrixXd& at_x,
                    MatrixXd& turn, MatrixXd& dw) const;
  /// Forces of all elements into written_, K_, B_ and columns, at fixed loads of contacts.
  void evaluate_forces(const Window& start, const VectorXd& p, ParameterColumns& columns);
  /// Adds those of contacts.
  void add_loads(const Window& start);
  void add_load(const Touch& touch, const Vector3d& f, const State& s);
  /// A touch by a parameter of its shape, where the bodies stay: gap, normal, place of contact, and
  /// what its velocity changes by that place.
  struct ShapeMotion {
    double g;
    Vector3d n, place, velocity;
  };
  /// turning: angular velocity of its body against the obstacle's.
  ShapeMotion shape_motion(const Gap& gap, const GapSlope& by, const Vector3d& turning) const;
  Vector3d turning(const Gap& gap) const;  // by the last at_.move()
  struct Slopes {                          // of an island: u' by poses, rates and parameters
    MatrixXd q, u, p;
    std::vector<int> columns;  // of p: columns of active parameters
  };
  /// Parameters that an island feels.
  std::vector<int> felt_columns(int index, const MatrixXd& by_p, const MatrixXd& free_by_p) const;
  /// Those that contacts feel, of any island.
  void find_contact_columns(const State& prev, const VectorXd& p, const ActiveColumns& active);
  /// Of h/2 dc/du and of others, over h: an island's equations at the state of at_, by poses, by
  /// rates where a step begins, and by parameters.
  struct Equations {
    MatrixXd terms, q, u, p;
  };
  Equations equations(int index, const JointForces::Rows& joint, const MatrixXd& by_p,
                      const std::vector<int>& columns);
  Slopes free_slopes(int index, const Equations& of) const;
  /// Where contacts press, whose impulses stay; null: in an impact.
  Slopes pressed_slopes(int index, const Equations& of, const Slopes* free) const;
  /// Of all equations by parameters, at the end rates u, at accelerations udot.
  MatrixXd by_parameters(const Window& start, const VectorXd& p, const VectorXd& u,
                         const VectorXd& udot, const ParameterColumns& written,
                         const ActiveColumns& active) const;
  void reduce_forces(const Window& start, const VectorXd& p);
  /// The laws of the contacts that press, by what a step begins with at fixed u', and their loads
  /// by parameters.
  struct PressedRows {
    std::vector<int> touches;
    MatrixXd q, u, p, load;
    std::vector<int> local;  // column of an active parameter -> of p, load; -1: none
  };
  PressedRows rows_before(int index, const State& prev, const VectorXd& p,
                          const ActiveColumns& active, const std::vector<int>& columns) const;
  void add_rows_after(int index, const State& prev, const VectorXd& p, const ActiveColumns& active,
                      PressedRows& to) const;
  void add_moment(int node, const Vector3d& moment, int column, MatrixXd& load) const;
  /// Adds what impulses change, by the laws.
  void eliminate(int index, PressedRows& pressed, Slopes& to);
  /// Of all islands, from what solve() or recover() has set.
  std::vector<Slopes> slopes(const Window& start, const VectorXd& p, const ActiveColumns& active);
  void write(const Window& window, const VectorXd& p, const ActiveColumns& active,
             const std::vector<Slopes>& slopes, StepDerivatives& step) const;

  static constexpr double kTakeBack = 10;  // at most the speed of that many steps of fall

  /// What a step that has been taken knew of its contacts when they were solved.
  void recover(const State& prev, const State& now, double t, const VectorXd& p);
  void recover_free(const Window& start, const VectorXd& p);
  /// Cotangents of u' from those at the end; x becomes that of where the step began, at fixed u'.
  void pull_motion(const State& now, MatrixXd& x, const MatrixXd& v, VectorXd& u) const;
  /// Through the contacts and M^-1: from the cotangent of u' to that of M u', and weights of the
  /// contacts' laws.
  void pull_impulses(Island& island, int index, VectorXd& u, VectorXd& w);
  /// Of all islands: from u_, the cotangent of u', to that of u as far as it follows from the
  /// equations of the step by M, and their weights: end_weights_, and free_weights_ of u_f.
  void pull_rates(const VectorXd& p, const std::vector<bool>* kicked);
  void pull_trees(const std::vector<bool>* kicked);
  void pull_joint_forces(const Window& start, const VectorXd& p, const ActiveColumns& active,
                         MatrixXd& x, VectorXd& held);
  void pull_forces(const Window& start, const VectorXd& p, ActiveColumns& active, MatrixXd& x,
                   MatrixXd& v, VectorXd& held);
  void pull_pressed_inertia(const ActiveColumns& active, MatrixXd& x, VectorXd& held);
  void pull_contacts(const State& prev, const VectorXd& p, const ActiveColumns& active,
                     VectorXd& held);
  void pull_contact(const Island& island, int i, const State& prev, const VectorXd& p,
                    const ActiveColumns& active, VectorXd& held);
  /// Of a number that moves with the normal and the velocity of a touch, and with its gap.
  struct TouchWeights {
    Vector3d normal, velocity;
    double gap;
  };
  void pull_touch(const Touch& touch, MultibodyAdjoint::Rates rates, const TouchWeights& by);
  bool wants_inertia(const ActiveColumns& active) const;
  void pull_inertia_columns(const ActiveColumns& active, const VectorXd& udot, const VectorXd& w,
                            VectorXd& held) const;

  const Scene* scene_;
  VelocityOptions options_;
  Timing* timing_;
  const Multibody* model_;
  MultibodyState at_;
  std::vector<Island> islands_;
  VectorXd start_rates_, free_, rates_, bias_, written_, u_;
  JointForces::Rows joint_free_, joint_;  // at u_f, u'
  JointForces::Rows joint_linear_;        // of those that are linear, where the step begins
  VectorXd factored_, by_joints_;         // scratch: slopes in a factor; a step of trees
  bool joints_act_ = false;
  int worst_dof_ = -1;
  VectorXd mid_, change_;
  double h_ = 0, gravity_ = 0;
  double whole_ = 0;  // the step that h_ may be a part of [s]
  Impacts impacts_ = Impacts::stepped;
  bool splits_ = false;  // whether the scene's steps may
  bool impact_ = false;  // whether this is an impact, at one instant
  std::vector<Aside> aside_;
  std::vector<Part> parts_;
  VectorXd by_end_, by_start_;
  std::vector<bool> contact_columns_;
  MultibodyAdjoint adjoint_;
  std::vector<int> all_;
  std::vector<GapSlope> shape_;
  VectorXd end_weights_, free_weights_, by_terms_;
  MatrixXd lifted_, by_pose_, by_velocity_;
  std::vector<ParameterColumns::Entry> written_columns_;
  // Of derivatives: loads at nodes, what elements write, and that by independent nodes.
  BlockMatrix K_, B_, reduced_K_, reduced_B_;
  ArticulationMap map_;
  std::vector<Gap> gaps_;
  State next_;
};

/// The rotation vector of a touch's axes B, which follow from its normal, by dn.
Matrix3d turn_of_axes(const Matrix3d& B);

/// Rates of the independent nodes: velocities, angular velocities and joint rates (ndof).
void independent_rates(const std::vector<Node>& nodes, const State& s, VectorXd& u);

}  // namespace diffsim
