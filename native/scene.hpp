// Scene: the model r(q, q', q'', p). Built once, then const; any number of threads may roll it out.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bodies/point_set.hpp"
#include "bodies/rigid_body.hpp"
#include "elements/contact.hpp"

namespace diffsim {

struct SpringBatch {
  std::string points_a, points_b;
  std::vector<int> index_a, index_b;
  double stiffness, damping, rest_length;
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

class Scene {
 public:
  Scene();
  void set_gravity(const Vector3d& g);
  void add_rigid_body(const std::string& name, double mass, const Vector6& inertia,
                      const RigidBodyStart& start, double radius);
  void add_particle(const std::string& name, double mass, const Vector3d& position,
                    const Vector3d& velocity);
  /// bodies: one name per point, "" = world. inset may be empty (zero).
  void add_points(const std::string& name, const std::vector<std::string>& bodies,
                  const Matrix3X& local, const Matrix3X& inset, double radius, double scale);
  void add_springs(const std::string& name, const SpringBatch& batch);
  void add_contact(const std::string& name, const ContactSet& set);

  /// Makes elements and sparsity; called by every rollout, does nothing the second time.
  void finalize();

  const ParameterTable& parameters() const { return table_; }
  VectorXd values() const { return table_.values(); }
  void check(const VectorXd& p) const;  // refuses what no simulation may run with

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<Body>>& bodies() const { return bodies_; }
  const std::vector<std::unique_ptr<Element>>& elements() const { return elements_; }
  const std::vector<const Contact*>& contacts() const { return contacts_; }
  const BlockPattern& pattern() const { return pattern_; }
  const BlockPattern& diagonal() const { return diagonal_; }
  const BlockSymbolic& symbolic() const { return symbolic_; }
  const VectorXd& residual_scale() const { return scale_; }  // 1, or 1/radius for torques
  int ndof() const { return ndof_; }
  int contact_points() const;
  int node_of(const std::string& body) const;  // refuses an unknown name
  double total_mass(const VectorXd& p) const;
  State start(const VectorXd& p) const;
  std::string dof_name(int dof) const;

 private:
  void add_node(NodeKind kind);
  const PointSet& point_set(const std::string& name) const;
  void check_new(const std::string& kind, const std::string& name) const;

  ParameterTable table_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::deque<PointSet> sets_;  // stable addresses
  std::vector<std::unique_ptr<Element>> forces_, elements_;
  std::vector<const Contact*> contacts_;
  BlockPattern pattern_, diagonal_;
  BlockSymbolic symbolic_;
  VectorXd scale_;
  int ndof_ = 0, frames_ = 0, p_gravity_ = 0;
  bool final_ = false;
};

}  // namespace diffsim
