// CoordinateForce: an element that acts with one generalized force phi on a joint's coordinate q.
//
//   f = phi g,  g = dq/dx: on body b along the coordinate, and as its reaction on body a.
#pragma once

#include "joint.hpp"

namespace diffsim {

class CoordinateForce : public Element {
 public:
  CoordinateForce(std::string name, const Joint* joint) : Element(std::move(name)), joint_(joint) {}
  std::vector<std::pair<int, int>> couplings() const override { return joint_->couplings(); }
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  /// NAME.torque, or NAME.force of a slider: phi.
  void list_outputs(const Scene&, OutputList& to) const override;

  using ByParameter = std::vector<std::pair<int, double>>;  // parameter (-1: none), dphi/dp
  struct Phi {
    double value = 0, by_q = 0, by_rate = 0;
  };
  /// phi where the coordinate and its rate are those of `at`; `by`, unless null: by parameters.
  virtual Phi phi(const Window& window, const VectorXd& p, const JointCoordinate& at,
                  ByParameter* by) const = 0;
  /// Whether phi is linear in the coordinate and its rate.
  virtual bool linear() const { return false; }
  const Joint& joint() const { return *joint_; }

 protected:
  bool turns() const { return joint_->kind().coordinate == JointKind::Coordinate::angle; }

  const Joint* joint_;
};

}  // namespace diffsim
