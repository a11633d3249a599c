// Frictional contact of a weighted set of points or spheres against a signed distance function.
//
// The sphere of radius r around x touches where x_c = x - r n; gap g(x) - r, depth d = max(-gap,
// 0), d' = -n . w with w the material velocity at x_c. The force f = f_n n + f_t acts at x_c. A
// set's k_n and k_t are totals; point i carries w_i of them (DESIGN: weights sum to 1).
#pragma once

#include "../bodies/point_set.hpp"
#include "../sdf/sdf.hpp"
#include "contact_law.hpp"

namespace diffsim {

struct ContactParameters {
  int k_n, k_t, damping, c_f;        // indices into p
  int d_0 = -1, c_s = -1, f_0 = -1;  // likewise; -1 where the law has none
  Friction friction = Friction::linear;
  Damping law = Damping::continuous;
};

struct ContactSet {
  std::string points;
  SdfPtr sdf;
  VectorXd weights;  // empty = equal
  double k_n, k_t, c_f, damping;
  double d_0;       // ramped damping only [m]
  double c_s, f_0;  // load-dependent friction where f_0 > 0 [N]
  Friction friction;
  Damping law;
};

class Contact : public Element {
 public:
  Contact(std::string name, const PointSet* points, SdfPtr sdf, VectorXd weights,
          ContactParameters params)
      : Element(std::move(name)),
        points_(points),
        sdf_(std::move(sdf)),
        weights_(std::move(weights)),
        params_(params) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

  /// Code per point: mode (ContactMode bits) + 8 * (1 + region) while in contact, 0 while open.
  int mode_count() const override { return points_->size(); }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;

  /// A node whose tangential velocity passed through the sticking range, or that has just met the
  /// obstacle, goes on from zero tangential velocity: full steps overshoot there (SOLVER study).
  bool guard(const State& from, const State& to, const VectorXd& p, VectorXd& u,
             std::vector<unsigned char>& used) const override;

  /// Force on the body and point of action, world, per point; zero force and x while open.
  int contact_count() const override { return points_->size(); }
  void forces(const State& s, const VectorXd& p, Matrix3X& force, Matrix3X& place) const override;

 private:
  struct Touch;  // one point in contact
  bool touch(int i, const State& s, const VectorXd& p, const Vector3d& x, const SdfSample& sample,
             Touch& t) const;
  ContactStiffness stiffness(int i, const VectorXd& p) const;
  void add_jacobian(const Touch& t, const State& s, const Assembly& out) const;
  void add_columns(const Touch& t, const State& s, ParameterColumns& out) const;
  void add_shape_column(const Touch& t, const State& s, const Vector3d& drho, double dradius,
                        int column, ParameterColumns& out) const;
  template <class F>
  void for_each_touch(const State& s, const VectorXd& p, F&& f) const;

  const PointSet* points_;
  SdfPtr sdf_;
  VectorXd weights_;
  ContactParameters params_;
};

void add_contact(Scene& scene, const std::string& name, const ContactSet& set);

}  // namespace diffsim
