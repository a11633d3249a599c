// Body: where degrees of freedom come from, and where a motion starts.
#pragma once

#include <string>
#include <vector>

#include "../elements/element.hpp"
#include "../parameters.hpp"

namespace diffsim {

/// Mass parameters of one node: indices into p. A point has no inertia (-1).
struct NodeMass {
  int mass = -1;
  int inertia = -1;  // first of xx yy zz xy xz yz, body frame about the centre of mass [kg m^2]
};

class Body {
 public:
  Body(std::string name, int node) : name_(std::move(name)), node_(node) {}
  virtual ~Body() = default;
  const std::string& name() const { return name_; }
  int node() const { return node_; }
  virtual NodeKind kind() const = 0;
  virtual double radius() const = 0;  // [m], to compare torques with forces
  virtual NodeMass mass() const = 0;
  /// Refuses what a bound per parameter cannot express (an unphysical inertia).
  virtual void check(const VectorXd&) const {}
  virtual void start(const VectorXd& p, const Node& node, State& s) const = 0;
  /// Adds d(start pose)/dp to X and d(start velocity)/dp to V, both (ndof, active).
  virtual void start_sensitivity(const VectorXd& p, const Node& node,
                                 const std::vector<int>& column_of, MatrixXd& X,
                                 MatrixXd& V) const = 0;

 private:
  std::string name_;
  int node_;
};

}  // namespace diffsim
