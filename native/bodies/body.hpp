// Body: where degrees of freedom come from, and where a motion starts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../elements/element.hpp"
#include "../parameters.hpp"

namespace diffsim {

/// Mass of one node, m = (share + sum_k part_k (p[factor_k] - 1)) p[mass], and its inertia: indices
/// into p. A point has no inertia.
struct NodeMass {
  int mass = -1;
  int inertia = -1;  // first of xx yy zz xy xz yz, body frame about the centre of mass [kg m^2]
  double share = 1;  // 1, or a node's volume [m^3] where p[mass] is a density
  std::vector<std::pair<int, double>> patches = {};  // (factor, part of the share that it scales)
  double shares(const VectorXd& p) const {
    double all = share;
    for (const auto& [factor, part] : patches) all += part * (p[factor] - 1);
    return all;
  }
  double value(const VectorXd& p) const { return shares(p) * p[mass]; }
  /// f(parameter, dm/d parameter) of all that it depends on.
  template <class F>
  void for_each_slope(const VectorXd& p, F&& f) const {
    f(mass, shares(p));
    for (const auto& [factor, part] : patches) f(factor, part * p[mass]);
  }
};

class Body {
 public:
  /// Owns `count` nodes of the scene from `first`, all of one kind.
  Body(std::string name, NodeKind kind, int first, int count = 1)
      : name_(std::move(name)), kind_(kind), first_(first), count_(count) {}
  virtual ~Body() = default;
  const std::string& name() const { return name_; }
  NodeKind kind() const { return kind_; }
  int node() const { return first_; }  // the first node
  int count() const { return count_; }
  /// [m], to compare torques with forces; bodies of points have none to compare.
  virtual double radius() const { return 1; }
  /// One entry per node, in order.
  virtual std::vector<NodeMass> masses() const = 0;
  /// Refuses what a bound per parameter cannot express (an unphysical inertia).
  virtual void check(const VectorXd&) const {}
  virtual void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const = 0;
  /// Adds d(start pose)/dp to X and d(start velocity)/dp to V, both (ndof, active).
  virtual void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                                 const std::vector<int>& column_of, MatrixXd& X,
                                 MatrixXd& V) const = 0;
  /// A driven body's motion is prescribed (kinematic_body.hpp): its rows of the residual say how
  /// far it is from where it must be, and forces on it are reactions.
  virtual bool driven() const { return false; }
  /// Its rows of u that lead there from prev.
  virtual void predict(const State& /*prev*/, const TimeScheme&, double /*t*/, const VectorXd&,
                       const std::vector<Node>&, VectorXd& /*u*/) const {}
  /// Its rows of r, K, dr/dp times `weight` [N/m]; they are zero when called.
  virtual void add_rows(const Window&, const VectorXd&, const std::vector<Node>&, double /*weight*/,
                        const Assembly&) const {}

 private:
  std::string name_;
  NodeKind kind_;
  int first_, count_;
};

}  // namespace diffsim
