// ContactElement: an element that touches, and so decides on branches that Newton cannot find
// alone.
#pragma once

#include "element.hpp"

namespace diffsim {

/// A point and the obstacle as a hard contact sees them (velocity/), at one state.
struct Gap {
  int point;          // of its element
  int node, carrier;  // that move the point and the obstacle; -1: the world
  double g;           // to the sphere's surface [m]
  double radius;      // of the sphere, 0 on a point node [m]
  Vector3d x, slope;  // its centre, gradient of g
  Vector3d n;         // unit normal, x - radius n is where it touches
  Matrix3d n_x;       // dn/dx [1/m]
  int region;         // the sdf's smooth piece
};

/// How that moves with a parameter where the bodies stay.
struct GapSlope {
  int parameter;
  double g;  // where x stays
  Vector3d n, x;
  double radius;
};

class ContactElement : public Element {
 public:
  using Element::Element;
  bool has_momentum() const override { return false; }

  /// Points that report a force; `forces` gives it and its point of application, world, per point.
  virtual int contact_count() const = 0;
  virtual void forces(const Window& window, const VectorXd& p, Matrix3X& force,
                      Matrix3X& point) const = 0;

  /// Step limiter: Newton's full step from one state to window.now() may jump over a narrow regime
  /// (friction turning round). Puts rates u of point nodes back where that is; `used` counts per
  /// node. True if any.
  virtual bool limit_step(const State& from, const Window& window, const VectorXd& p, VectorXd& u,
                          std::vector<unsigned char>& used) const = 0;

  /// Stick states of static friction, one per point (State::stick, from first_stick() on), fixed
  /// while Newton runs: `begin_stick` sets those with which the step after last.now() begins,
  /// `update_stick` changes those that do not fit the solved step, stops point nodes in u that
  /// stick from now on, and returns whether any changed.
  virtual int stick_count() const = 0;
  virtual void begin_stick(const Window& last, const VectorXd& p, std::uint8_t* stick) const = 0;
  virtual bool update_stick(const Window& now, const VectorXd& p, VectorXd& u,
                            std::uint8_t* stick) const = 0;
  int first_stick() const { return first_stick_; }
  void set_first_stick(int first) { first_stick_ = first; }

  /// Sets State::touching of its contact_count() points at window.now(), from first_point() on.
  virtual void touching(const Window& now, const VectorXd& p, std::uint8_t* out) const = 0;
  int first_point() const { return first_point_; }
  void set_first_point(int first) { first_point_ = first; }

  /// For hard contacts: refuses laws that those do not have.
  virtual void check_hard() const = 0;
  /// Points whose gap is below `reach` plus `time` times their speed against the obstacle [m], [s].
  virtual void gaps(const State& s, const VectorXd& p, double reach, double time,
                    std::vector<Gap>& out) const = 0;
  /// By the active ones of parameters of its shape, and of the obstacle's.
  virtual void gap_slopes(const Gap& gap, const State& s, const VectorXd& p,
                          const ParameterColumns& active, std::vector<GapSlope>& out) const = 0;
  /// Adds State::hard of its points to r, all of their forces or what is along the normals.
  virtual void add_hard(const State& s, bool normals, VectorXd& r) const = 0;
  /// Parameters: friction coefficient; coefficient of restitution, -1: it has none.
  virtual int friction_parameter() const = 0;
  virtual int restitution_parameter() const = 0;

  /// Warning about points that may have passed through an obstacle in this step, or "".
  virtual std::string tunnelling(const Window& window, const VectorXd& p) const = 0;

 private:
  int first_stick_ = 0, first_point_ = 0;
};

}  // namespace diffsim
