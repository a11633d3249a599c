// The velocity stepper: semi-implicit Euler with hard contacts  [Qa].
//
// From a state (q, u) and forces there, of a step h,
//   M(q) (u' - u) = h (tau - C(q, u)) + J^T B lambda,   q' = q moved by h u',
// with the impulses lambda of contact_problem.hpp. A point may come down to its obstacle but no
// further, c_n >= -g/h; one inside is put back on the surface, at no more than the speed of ten
// steps of fall. One that meets the obstacle faster than it would fall in two steps leaves with c_n
// >= -restitution c_n(u).
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
    bool bounces;     // whether its bound is that of restitution
    bool deep;        // whether it is that of the fastest way out
    double by_gap;    // of its bound [1/s]
    Vector3d before;  // its velocity against the obstacle when the step begins
    Vector3d place() const { return gap.x - gap.radius * gap.n; }
  };
  struct Island {
    TreeFactor M;
    std::vector<Touch> touches;
    // Columns: velocities of all touches against their obstacles, in their own axes, by the rates
    // of the island: J^T; L^-T J^T, with M = L^T L.
    MatrixXd J, H;
    ContactProblem problem;
    VectorXd rates;                         // scratch
    std::vector<ContactProblem::Law> laws;  // of derivatives backwards
    std::vector<Vector3d> law_weights;
  };
  /// Sets rates_ to u' of the step from `prev`; the name of a contact that is not solved, or "".
  std::string solve(const State& prev, const Window& start, const VectorXd& p);
  /// `pressing`, unless null: of those alone.
  void find_touches(const State& prev, double h, const VectorXd& p,
                    const std::vector<HardContact>* pressing);
  /// Sets an island's J, H and its problem's W.
  void set_jacobian(Island& island, int index);
  /// Adds a touch's part of J.
  void add_axes(const Touch& touch, int node, double sign, Eigen::Index column, MatrixXd& J) const;
  Vector3d relative_velocity(const Touch& touch) const;  // by the last at_.move()
  bool solve_contacts(Island& island, int index, const State& prev, double h);
  static void clear_driven(const Multibody& model, int index, MatrixXd& rows);

  struct Moves {    // of a touch by the poses of its island, at fixed rates: columns
    MatrixXd n, w;  // its normal, its velocity
    Eigen::RowVectorXd g;
  };
  Moves moves(const Touch& touch) const;
  void add_relative(int node, double sign, const Vector3d& x, const Vector3d& x_c, MatrixXd& at_x,
                    MatrixXd& turn, MatrixXd& dw) const;
  /// Forces and their derivatives by poses, of all elements and contacts, at the step's beginning.
  /// Forces of all elements into written_, K_, B_ and columns, at fixed loads of contacts.
  void evaluate_forces(const Window& start, const VectorXd& p, ParameterColumns& columns);
  void add_loads(const Window& start, const VectorXd& p, ParameterColumns& columns);
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
  std::vector<int> felt_columns(int index, const MatrixXd& by_p) const;
  /// Those that contacts feel, of any island.
  void find_contact_columns(const State& prev, const VectorXd& p, const ActiveColumns& active);
  /// Without contacts, whose impulses stay.
  Slopes smooth_slopes(int index, const MatrixXd& by_p);
  MatrixXd columns_by_parameters(const VectorXd& udot, const ParameterColumns& written,
                                 const ActiveColumns& active) const;
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
  void write(const Window& window, const VectorXd& p, const ActiveColumns& active,
             const std::vector<Slopes>& slopes, StepDerivatives& step) const;

  /// What a step that has been taken knew of its contacts when they were solved.
  void recover(const State& prev, const State& now, const VectorXd& p);
  /// Cotangents of u' from those at the end; x becomes that of where the step began, at fixed u'.
  void pull_motion(const State& now, MatrixXd& x, const MatrixXd& v, VectorXd& u) const;
  /// Through the contacts and M^-1: from the cotangent of u' to that of M u', and weights of the
  /// contacts' laws.
  void pull_impulses(Island& island, int index, VectorXd& u, VectorXd& w);
  void pull_forces(const Window& start, const VectorXd& p, ActiveColumns& active, MatrixXd& x,
                   MatrixXd& v, VectorXd& held);
  void pull_contact(const Island& island, int i, const State& prev, const VectorXd& p,
                    const ActiveColumns& active, VectorXd& held);
  /// Of a number that moves with the normal and the velocity of a touch, and with its gap.
  struct TouchWeights {
    Vector3d normal, velocity;
    double gap;
  };
  void pull_touch(const Touch& touch, MultibodyAdjoint::Rates rates, const TouchWeights& by);
  void pull_inertia_columns(const ActiveColumns& active, const VectorXd& udot, const VectorXd& w,
                            VectorXd& held) const;

  const Scene* scene_;
  VelocityOptions options_;
  Timing* timing_;
  const Multibody* model_;
  MultibodyState at_;
  std::vector<Island> islands_;
  VectorXd start_rates_, rates_, bias_, written_, u_;
  double h_ = 0, gravity_ = 0;
  std::vector<bool> contact_columns_;
  MultibodyAdjoint adjoint_;
  std::vector<int> all_;
  std::vector<GapSlope> shape_;
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
