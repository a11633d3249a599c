// Element: one batch of forces. The only interface a new force implements.
//
// The residual is r = d/dt(momentum) - forces, per node in world-frame force [N] and torque about
// the node [N m]. An element adds its part of r and, when asked, of
//   K = dr/dx  (x: node positions c and WORLD rotation vectors psi, delta R = [delta psi]x R),
//   B = dr/dv  (v: node velocities and world angular velocities),
//   dr/dp      (columns of the active parameters).
// Coordinates, time scheme and chart are the stepper's affair (bodies/kinematics.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "block_matrix.hpp"
#include "outputs/output.hpp"
#include "parameter_columns.hpp"
#include "state.hpp"

namespace diffsim {

class Scene;

/// Where an element writes. K and B are null for Need = residual; columns only for Need = param.
/// Elements that can (Element::joins) add alpha K + B to A in their place, where A is not null.
struct Assembly {
  VectorXd* r = nullptr;
  BlockMatrix* K = nullptr;
  BlockMatrix* B = nullptr;
  BlockMatrix* A = nullptr;
  double alpha = 0;  // [s]
  ParameterColumns* columns = nullptr;
  bool* symmetric = nullptr;  // set false by elements whose K or B is far from symmetric
  // Compressed springs have a negative stiffness across them: set true where there is any, and the
  // share of it that K keeps, below 1 for Newton's search direction only.
  bool* compressed = nullptr;
  double compression = 1;
};

/// Mechanical energy that is stored, by kind [J].
struct Energy {
  enum Kind { kKinetic, kGravity, kSprings, kElastic, kContact };
  double kinetic = 0, gravity = 0, springs = 0, elastic = 0, contact = 0;
};

class Element {
 public:
  explicit Element(std::string name) : name_(std::move(name)) {}
  virtual ~Element() = default;
  const std::string& name() const { return name_; }

  /// Node pairs whose blocks this element fills (diagonal blocks always exist).
  virtual std::vector<std::pair<int, int>> couplings() const { return {}; }
  /// Called once when the scene's patterns are known, to look block indices up: of K and B, and of
  /// the history blocks of elements that look back.
  virtual void bind(const BlockPattern& /*pattern*/, const BlockPattern& /*past*/) {}

  virtual void add(const Window& window, const VectorXd& p, const Assembly& out) const = 0;
  /// Whether add() heeds Assembly::A. Only asked where all nodes are points.
  virtual bool joins() const { return false; }

  /// Adds what this element stores in a state: its forces derive from it, damping and friction
  /// aside.
  virtual void add_energy(const State&, const VectorXd& /*p*/, Energy& /*to*/) const {}

  /// The derivatives of that, in row Energy::Kind. Those by poses are minus the forces at rest
  /// wherever the forces derive from what is stored: add_rest_forces().
  virtual void add_energy_slopes(const State&, const VectorXd& /*p*/,
                                 OutputJacobian& /*by*/) const {}

  /// What a motion can be asked for of this element, as NAME.quantity (outputs/output.hpp).
  virtual void list_outputs(const Scene&, OutputList& /*to*/) const {}

  /// dr_n/dx_{n-k}, dr_n/dv_{n-k} for k = 1, 2 where the element looks back: inertia, and contact,
  /// whose forces are integrated over the step.
  virtual bool looks_back() const { return false; }
  /// Whether its part of r is a rate of momentum.
  virtual bool has_momentum() const { return looks_back(); }
  /// Whether it differences past states by scheme.rate, as what is no momentum: its forces at the
  /// start are not known then.
  virtual bool differences() const { return false; }
  virtual void add_history(const Window&, int /*k*/, const VectorXd& /*p*/, BlockMatrix& /*K*/,
                           BlockMatrix& /*B*/) const {}

  /// Branches taken at this state, one code per contact point, joint limit ...; two motions with
  /// equal codes are on the same smooth piece. See contact.hpp for the code of contact points.
  virtual int mode_count() const { return 0; }
  virtual void modes(const Window&, const VectorXd& /*p*/, std::uint16_t* /*out*/) const {}

 protected:
  void add_rest_forces(const State& s, const VectorXd& p, Energy::Kind kind,
                       OutputJacobian& by) const;

 private:
  std::string name_;
};

}  // namespace diffsim
