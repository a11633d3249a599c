// Forces on joints' own coordinates q, taken where a velocity step ends:
//   phi = phi(q + h u', u'),
// those of motors, limits, dry friction and damping. Each is a function of one coordinate, so that
// their derivatives by u' are a diagonal beside the mass matrix, which keeps its pattern.
//
// Values are of the residual r, the sign turned: `value` adds to M (u' - u)/h, `slope` is its
// derivative by u' (h times stiffnesses, and dampings), `by_pose` that by q at fixed u'.
#pragma once

#include "../elements/coordinate_force.hpp"
#include "../scene.hpp"

namespace diffsim {

class JointForces {
 public:
  struct Rows {  // (ndof), zero where no such force acts
    VectorXd value, slope, by_pose;
  };

  /// Takes those of `forces` that are such.
  void take(const Scene& scene, std::vector<const Element*>& forces,
            const std::vector<int>& island_of, std::size_t islands);
  bool any(int island) const { return any_[island]; }
  /// Whether any of an island's is not linear.
  bool bends(int island) const { return bends_[island]; }
  bool any_bends() const { return any_bends_; }
  const std::vector<int>& dofs() const { return dofs_; }
  static Rows rows(Eigen::Index ndof);

  /// Of a step of length h from window.now() with rates u (ndof) at its end.
  void evaluate(const Window& window, double h, const VectorXd& p, const VectorXd& u,
                Rows& to) const;
  /// The same from `linear`, the part of forces that are linear at rates u_0.
  void evaluate_from(const Rows& linear, const VectorXd& u_0, const Window& window, double h,
                     const VectorXd& p, const VectorXd& u, Rows& to) const;
  /// Of those forces alone that are linear.
  void evaluate_linear(const Window& window, double h, const VectorXd& p, const VectorXd& u,
                       Rows& to) const;
  /// Whether no force of an island bends between two rates: limits open at both, motors that are
  /// within their limits, or at the same one, at both.
  bool straight(int island, const Window& window, double h, const VectorXd& p, const VectorXd& u,
                const VectorXd& to) const;
  /// du . (values at u + share du, less those by the slopes at u).
  double bend(int island, const Window& window, double h, const VectorXd& p, const VectorXd& u,
              const VectorXd& du, double share) const;
  /// f(dof, parameter, derivative of its value by that).
  template <class F>
  void each_column(const Window& window, double h, const VectorXd& p, const VectorXd& u,
                   F&& f) const {
    CoordinateForce::ByParameter by;
    for (const Force& force : forces_) {
      by.clear();
      phi(force, window, h, p, u[force.dof], &by);
      for (const auto& [parameter, slope] : by) {
        if (parameter >= 0) f(force.dof, parameter, -force.ratio * slope);
      }
    }
  }
  /// An element that acts on a degree of freedom; "": none does.
  std::string name_on(int dof) const;

 private:
  static constexpr int kNone = -1;
  struct Force {
    const CoordinateForce* element;  // null: damping, by the parameter
    int damping, island, dof;
    int first;  // of the coordinate in State::q; kNone: a rotation's rate
    double ratio, shift;
    bool bends() const { return element && !element->linear(); }
  };
  void add(const CoordinateForce* element, int damping, const CoordinateFreedom& at,
           const std::vector<int>& island_of);
  void add_damping(const Joint& joint, const Scene& scene, const std::vector<int>& island_of);
  void add_to(const Force& force, const Window& window, double h, const VectorXd& p,
              const VectorXd& u, Rows& to) const;
  CoordinateForce::Phi phi(const Force& force, const Window& window, double h, const VectorXd& p,
                           double u, CoordinateForce::ByParameter* by) const;

  std::vector<Force> forces_;
  std::vector<bool> any_, bends_;
  bool any_bends_ = false;
  std::vector<int> dofs_;
};

}  // namespace diffsim
