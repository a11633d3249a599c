// ContactElement: an element that touches, and so decides on branches that Newton cannot find
// alone.
#pragma once

#include "element.hpp"

namespace diffsim {

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

  /// Warning about points that may have passed through an obstacle in this step, or "".
  virtual std::string tunnelling(const Window& window, const VectorXd& p) const = 0;

 private:
  int first_stick_ = 0, first_point_ = 0;
};

}  // namespace diffsim
