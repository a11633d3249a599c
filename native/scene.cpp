#include "scene.hpp"

#include <algorithm>
#include <cmath>

#include "bodies/kinematics.hpp"
#include "bodies/particle.hpp"
#include "elements/gravity.hpp"
#include "elements/inertia.hpp"
#include "elements/spring.hpp"

namespace diffsim {

Scene::Scene() { p_gravity_ = table_.add3("gravity", "m/s^2", Vector3d(0, 0, -9.81), false); }

void Scene::set_gravity(const Vector3d& g) {
  if (!g.allFinite()) refuse("gravity", "must be finite [m/s^2]", g.transpose());
  for (int i = 0; i < 3; ++i) table_.set(p_gravity_ + i, g[i]);
}

void Scene::check_new(const std::string& kind, const std::string& name) const {
  if (final_)
    refuse(kind + " '" + name + "'", "must be added before the first rollout", "a new one");
  if (name.empty() || name.find('.') != std::string::npos) {
    refuse(kind, "names must not be empty or hold a dot", "'" + name + "'");
  }
}

void Scene::add_node(NodeKind kind) {
  nodes_.push_back({kind, ndof_, kind == NodeKind::frame ? frames_++ : -1});
  ndof_ += nodes_.back().size();
}

void Scene::add_rigid_body(const std::string& name, double mass, const Vector6& inertia,
                           const RigidBodyStart& start, double radius) {
  check_new("rigid body", name);
  bodies_.push_back(std::make_unique<RigidBody>(name, static_cast<int>(nodes_.size()), table_, mass,
                                                inertia, start, radius));
  add_node(NodeKind::frame);
}

void Scene::add_particle(const std::string& name, double mass, const Vector3d& position,
                         const Vector3d& velocity) {
  check_new("particle", name);
  bodies_.push_back(std::make_unique<Particle>(name, static_cast<int>(nodes_.size()), table_, mass,
                                               position, velocity));
  add_node(NodeKind::point);
}

int Scene::node_of(const std::string& body) const {
  for (const auto& b : bodies_) {
    if (b->name() == body) return b->node();
  }
  std::string known;
  for (const auto& b : bodies_) known += (known.empty() ? "" : ", ") + b->name();
  refuse("body", "must be one of [" + known + "]", "'" + body + "'");
}

const PointSet& Scene::point_set(const std::string& name) const {
  for (const PointSet& s : sets_) {
    if (s.name == name) return s;
  }
  std::string known;
  for (const PointSet& s : sets_) known += (known.empty() ? "" : ", ") + s.name;
  refuse("points", "must be one of [" + known + "]", "'" + name + "'");
}

void Scene::add_points(const std::string& name, const std::vector<std::string>& bodies,
                       const Matrix3X& local, const Matrix3X& inset, double radius, double scale) {
  check_new("points", name);
  const std::string place = "points '" + name + "'";
  if (local.cols() == 0) refuse(place + ": local", "must hold at least one point", 0);
  if (static_cast<Eigen::Index>(bodies.size()) != local.cols()) {
    refuse(place + ": bodies",
           "must name one body per point (" + std::to_string(local.cols()) + ")", bodies.size());
  }
  if (inset.cols() != 0 && inset.cols() != local.cols()) {
    refuse(place + ": inset", "must be empty or of the size of local", inset.cols());
  }
  if (!local.allFinite() || !inset.allFinite()) refuse(place, "must be finite [m]", "nan or inf");
  PointSet set;
  set.name = name;
  for (const std::string& b : bodies) set.node.push_back(b.empty() ? -1 : node_of(b));
  set.nodes = nodes_;
  set.local = local;
  set.inset = inset.cols() ? inset : Matrix3X::Zero(3, local.cols());
  set.p_scale = table_.add(name + ".scale", "1", scale, 1e-9, kInfinity);
  set.p_radius = table_.add(name + ".radius", "m", radius, 0, kInfinity);
  sets_.push_back(std::move(set));
}

void Scene::add_springs(const std::string& name, const SpringBatch& batch) {
  check_new("springs", name);
  const std::string place = "springs '" + name + "'";
  const PointSet* sets[2] = {&point_set(batch.points_a), &point_set(batch.points_b)};
  const std::vector<int>* index[2] = {&batch.index_a, &batch.index_b};
  std::vector<Springs::End> ends[2];
  if (batch.index_a.empty() || batch.index_a.size() != batch.index_b.size()) {
    refuse(place, "index_a and index_b must have the same, non-zero length",
           batch.index_a.size() != batch.index_b.size() ? "different lengths" : "none");
  }
  for (int m = 0; m < 2; ++m) {
    for (int i : *index[m]) {
      if (i < 0 || i >= sets[m]->size()) {
        refuse(place + ": point index",
               "must be in [0, " + std::to_string(sets[m]->size() - 1) + "]", i);
      }
      ends[m].push_back({m, i});
    }
  }
  SpringParameters params;
  params.stiffness = table_.add(name + ".stiffness", "N/m", batch.stiffness, 0, kInfinity);
  params.damping = table_.add(name + ".damping", "N s/m", batch.damping, 0, kInfinity);
  params.rest_length = table_.add(name + ".rest_length", "m", batch.rest_length, 0, kInfinity);
  forces_.push_back(std::make_unique<Springs>(name, std::vector<const PointSet*>{sets[0], sets[1]},
                                              ends[0], ends[1], params));
}

void Scene::add_contact(const std::string& name, const ContactSet& set) {
  check_new("contact", name);
  const std::string place = "contact '" + name + "'";
  const PointSet& points = point_set(set.points);
  if (!set.sdf) refuse(place + ": sdf", "must be given", "none");
  if (std::count(points.node.begin(), points.node.end(), -1) > 0) {
    refuse(place + ": points", "must all be on bodies", "points fixed to the world");
  }
  VectorXd weights = set.weights;
  if (weights.size() == 0) weights = VectorXd::Constant(points.size(), 1. / points.size());
  if (weights.size() != points.size() || !weights.allFinite() || weights.minCoeff() < 0 ||
      std::abs(weights.sum() - 1) > 1e-9) {
    refuse(place + ": weights",
           "must be " + std::to_string(points.size()) + " numbers >= 0 with sum 1",
           weights.transpose());
  }
  ContactParameters params;
  params.k_n = table_.add(name + ".k_n", "N/m", set.k_n, 0, kInfinity);
  params.k_t = table_.add(name + ".k_t", "N s/m", set.k_t, 0, kInfinity);
  const bool continuous = set.law == Damping::continuous;
  params.damping = table_.add(name + (continuous ? ".c_n" : ".k_d"), continuous ? "s/m" : "N s/m",
                              set.damping, 0, kInfinity);
  if (set.law == Damping::ramped) {
    params.d_0 = table_.add(name + ".d_0", "m", set.d_0, 1e-9, kInfinity);
  }
  params.c_f = table_.add(name + ".c_f", "1", set.c_f, 0, kInfinity);
  if (set.f_0 > 0) {
    params.c_s = table_.add(name + ".c_s", "1", set.c_s, 0, kInfinity);
    params.f_0 = table_.add(name + ".f_0", "N", set.f_0, 1e-9, kInfinity);
  }
  params.friction = set.friction;
  params.law = set.law;
  auto contact = std::make_unique<Contact>(name, &points, set.sdf, weights, params);
  contacts_.push_back(contact.get());
  forces_.push_back(std::move(contact));
}

void Scene::finalize() {
  if (final_) return;
  if (nodes_.empty()) refuse("scene", "must hold at least one body", "none");
  std::vector<NodeMass> masses;
  for (const auto& b : bodies_) masses.push_back(b->mass());
  elements_.push_back(std::make_unique<Inertia>(nodes_, masses));
  elements_.push_back(std::make_unique<Gravity>(nodes_, masses, p_gravity_));
  for (auto& f : forces_) elements_.push_back(std::move(f));
  forces_.clear();

  std::vector<int> sizes;
  for (const Node& n : nodes_) sizes.push_back(n.size());
  std::vector<std::pair<int, int>> pairs;
  for (const auto& e : elements_) {
    const auto more = e->couplings();
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
  pattern_ = BlockPattern(sizes, pairs);
  diagonal_ = BlockPattern(sizes, {});
  symbolic_ = BlockSymbolic(pattern_);
  for (const auto& e : elements_) e->bind(pattern_);
  scale_.setOnes(ndof_);
  for (const auto& b : bodies_) {
    if (b->kind() == NodeKind::frame) {
      scale_.segment<3>(nodes_[b->node()].dof + 3).setConstant(1 / b->radius());
    }
  }
  final_ = true;
}

void Scene::check(const VectorXd& p) const {
  table_.check(p);
  for (const auto& b : bodies_) b->check(p);
}

int Scene::contact_points() const {
  int n = 0;
  for (const Contact* c : contacts_) n += c->mode_count();
  return n;
}

double Scene::total_mass(const VectorXd& p) const {
  double m = 0;
  for (const auto& b : bodies_) m += p[b->mass().mass];
  return m;
}

State Scene::start(const VectorXd& p) const {
  State s = make_state(nodes_);
  for (const auto& b : bodies_) b->start(p, nodes_[b->node()], s);
  return s;
}

std::string Scene::dof_name(int dof) const {
  const char* part[] = {".position.x", ".position.y", ".position.z",
                        ".rotation.x", ".rotation.y", ".rotation.z"};
  for (const auto& b : bodies_) {
    const Node& n = nodes_[b->node()];
    if (dof >= n.dof && dof < n.dof + n.size()) return b->name() + part[dof - n.dof];
  }
  return "none";
}

}  // namespace diffsim
