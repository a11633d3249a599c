#include "scene.hpp"

#include <algorithm>

#include "bodies/kinematics.hpp"
#include "elements/gravity.hpp"
#include "elements/inertia.hpp"
#include "velocity/multibody.hpp"

namespace diffsim {
namespace {

template <class Named>
std::string names_of(const Named& all) {
  std::string known;
  for (const auto& one : all) known += (known.empty() ? "" : ", ") + one;
  return "must be one of [" + known + "]";
}

}  // namespace

Scene::Scene() { p_gravity_ = table_.add3("gravity", "m/s^2", Vector3d(0, 0, -9.81), false); }

void Scene::set_gravity(const Vector3d& g) {
  if (!g.allFinite()) refuse("gravity", "must be finite [m/s^2]", g.transpose());
  for (int i = 0; i < 3; ++i) table_.set(p_gravity_ + i, g[i]);
}

void Scene::check_new(const std::string& kind, const std::string& name) const {
  if (final_) {
    refuse(kind + " '" + name + "'", "must be added before the first rollout", "a new one");
  }
  if (name.empty() || name.find('.') != std::string::npos) {
    refuse(kind, "names must not be empty or hold a dot", "'" + name + "'");
  }
}

void Scene::add_body(std::unique_ptr<Body> body) {
  for (int i = 0; i < body->count(); ++i) {
    nodes_.push_back(
        {body->kind(), ndof_, body->kind() == NodeKind::frame ? frames_++ : -1, body->driven()});
    ndof_ += nodes_.back().size();
  }
  for (const NodeMass& m : body->masses()) masses_.push_back(m);
  body_nodes_ = next_node();
  body_ndof_ = ndof_;
  if (body->driven()) driven_.push_back(body.get());
  bodies_.push_back(std::move(body));
}

const PointSet* Scene::add_point_set(PointSet set) {
  set.nodes = nodes_;
  sets_.push_back(std::move(set));
  return &sets_.back();
}

void Scene::add_element(std::unique_ptr<Element> element) {
  elements_.push_back(std::move(element));
}

void Scene::add_contact(std::unique_ptr<ContactElement> contact) {
  contacts_.push_back(contact.get());
  add_element(std::move(contact));
}

void Scene::add_reduced(Joint* joint) {
  nodes_[joint->nodes().node(1)].dependent = true;
  reduced_joints_.push_back(joint);
}

const Body& Scene::body(const std::string& name) const {
  std::vector<std::string> known;
  for (const auto& b : bodies_) {
    if (b->name() == name) return *b;
    known.push_back(b->name());
  }
  refuse("body", names_of(known), "'" + name + "'");
}

int Scene::node_of(const std::string& name) const {
  const Body& b = body(name);
  if (b.count() != 1) {
    refuse("body '" + name + "'", "must be a rigid body, particle or kinematic body here",
           "a deformable body", "name its points instead");
  }
  return b.node();
}

const PointSet& Scene::point_set(const std::string& name) const {
  std::vector<std::string> known;
  for (const PointSet& s : sets_) {
    if (s.name == name) return s;
    known.push_back(s.name);
  }
  refuse("points", names_of(known), "'" + name + "'");
}

void Scene::finalize() {
  if (final_) return;
  if (nodes_.empty()) refuse("scene", "must hold at least one body", "none");
  add_coordinates();
  elements_.insert(elements_.begin(), std::make_unique<Gravity>(nodes_, masses_, p_gravity_));
  elements_.insert(elements_.begin(), std::make_unique<Inertia>(nodes_, masses_));

  std::vector<int> sizes;
  for (const Node& n : nodes_) sizes.push_back(n.size());
  std::vector<std::pair<int, int>> pairs, past;
  joins_ = points_only();
  for (const auto& e : elements_) {
    const auto more = e->couplings();
    joins_ = joins_ && (more.empty() || e->joins());
    pairs.insert(pairs.end(), more.begin(), more.end());
    if (e->looks_back()) past.insert(past.end(), more.begin(), more.end());
  }
  pattern_ = BlockPattern(sizes, pairs);
  for (int i = 0; i < next_node(); ++i) {
    if (nodes_[i].multipliers) pattern_.multipliers.push_back(i);
  }
  past_pattern_ = BlockPattern(sizes, past);
  for (const auto& e : elements_) {
    e->bind(pattern_, past_pattern_);
  }
  int points = 0;
  for (ContactElement* contact : contacts_) {
    contact->set_first_stick(stick_count_);
    stick_count_ += contact->stick_count();
    contact->set_first_point(points);
    points += contact->contact_count();
  }
  if (articulation_) reduced_ = ReducedPattern(*articulation_, nodes_, pattern_);
  linear_ = std::make_shared<const LinearPattern>(solved_pattern(), stick_count_ > 0);
  driven_blocks_ = driven_blocks(solved_pattern());
  driven_past_ = driven_blocks(past_pattern_);
  final_ = true;
}

const Multibody& Scene::multibody() const {
  const std::lock_guard<std::mutex> lock(multibody_mutex_);
  if (!multibody_) multibody_ = std::make_shared<const Multibody>(*this);
  return *multibody_;
}

void Scene::add_coordinates() {
  if (!reduced_joints_.empty()) {
    const std::vector<const Joint*> joints(reduced_joints_.begin(), reduced_joints_.end());
    articulation_ = std::make_unique<Articulation>(joints, nodes_, ndof_, frames_);
    for (Joint* joint : reduced_joints_) joint->set_freedom(articulation_->freedom(*joint, nodes_));
  }
  set_scale();
  if (!constrained_joints_.empty()) {
    int coordinates = 0;
    for (const Node& n : nodes_) coordinates += n.count;
    closure_ =
        std::make_unique<Closure>(*this, constrained_joints_, scale_, nodes_, ndof_, coordinates);
    set_scale();
    closure_->set_scale(scale_);
  }
  masses_.resize(nodes_.size());
}

void Scene::set_scale() {
  scale_.setOnes(ndof_);
  for (const auto& b : bodies_) {
    if (b->kind() == NodeKind::frame) {
      scale_.segment<3>(nodes_[b->node()].dof + 3).setConstant(1 / b->radius());
    }
  }
  if (articulation_) articulation_->set_scale(*this, scale_);
}

std::vector<std::vector<int>> Scene::driven_blocks(const BlockPattern& pattern) const {
  std::vector<std::vector<int>> blocks(driven_.size());
  for (std::size_t d = 0; d < driven_.size(); ++d) {
    for (int b = 0; b < pattern.blocks(); ++b) {
      if (pattern.row[b] == driven_[d]->node()) blocks[d].push_back(b);
    }
  }
  return blocks;
}

void Scene::drive_history(BlockMatrix& past) const {
  for (const auto& blocks : driven_past_) {
    for (int b : blocks) {
      const int values =
          past_pattern_.size[past_pattern_.row[b]] * past_pattern_.size[past_pattern_.col[b]];
      VectorXd::Map(past.block(b), values).setZero();
    }
  }
}

void Scene::release(const Assembly& out) const {
  const BlockPattern& pattern = solved_pattern();
  for (std::size_t d = 0; d < driven_.size(); ++d) {
    const Node& n = nodes_[driven_[d]->node()];
    out.r->segment(n.dof, n.size()).setZero();
    for (BlockMatrix* M : {out.K, out.B}) {
      if (!M) continue;
      for (int b : driven_blocks_[d]) {
        VectorXd::Map(M->block(b), n.size() * pattern.size[pattern.col[b]]).setZero();
      }
    }
    if (out.columns) out.columns->clear(n.dof, n.size());
  }
}

void Scene::drive(const Window& window, const VectorXd& p, const Assembly& out) const {
  if (driven_.empty()) return;
  // Any positive weight is right; this one keeps the rows comparable with inertia's.
  const double weight = total_mass(p) * window.scheme.gamma[0] / window.scheme.alpha;
  release(out);
  for (const Body* body : driven_) body->add_rows(window, p, nodes_, weight, out);
}

void Scene::check(const VectorXd& p) const {
  table_.check(p);
  for (const auto& b : bodies_) b->check(p);
}

int Scene::contact_count() const {
  int n = 0;
  for (const ContactElement* contact : contacts_) n += contact->contact_count();
  return n;
}

int Scene::mode_count() const {
  int n = 0;
  for (const auto& e : elements_) n += e->mode_count();
  return n;
}

double Scene::total_mass(const VectorXd& p) const {
  double total = 0;
  for (const NodeMass& m : masses_) {
    if (m.mass >= 0) total += m.value(p);
  }
  return total > 0 ? total : 1;  // nothing but kinematic bodies: 1 kg stands for the scale
}

State Scene::free_start(const VectorXd& p) const {
  State s = make_state(nodes_);
  for (const auto& b : bodies_) b->start(p, nodes_, s);
  return s;
}

State Scene::open_start(const VectorXd& p) const {
  State s = free_start(p);
  if (articulation_) articulation_->start(p, s);
  return s;
}

State Scene::start(const VectorXd& p) const {
  State s = open_start(p);
  if (closure_) closure_->close(p, s);
  return s;
}

void Scene::start_sensitivity(const VectorXd& p, const std::vector<int>& column_of, MatrixXd& X,
                              MatrixXd& V) const {
  for (const auto& b : bodies_) b->start_sensitivity(p, nodes_, column_of, X, V);
  if (!articulation_ && !closure_) return;
  State s = open_start(p);
  VectorXd moved;
  if (closure_) moved = closure_->close(p, s);
  if (!articulation_) {
    closure_->carry(moved, X);
    closure_->correct(p, s, moved, nullptr, column_of, X, V);
    return;
  }
  articulation_->start_sensitivity(p, free_start(p), nodes_, column_of, X, V);
  if (closure_) closure_->carry(moved, X);
  ArticulationMap map;
  map.evaluate(*articulation_, nodes_, p, s);
  const auto twists = map.place_twists(p, s, column_of);
  MatrixXd place = MatrixXd::Zero(static_cast<Eigen::Index>(twists.size()), X.cols());
  for (std::size_t t = 0; t < twists.size(); ++t) {
    place(static_cast<Eigen::Index>(t), column_of[twists[t].parameter]) = 1;
  }
  map.expand(twists, place, X, V);
  if (closure_) closure_->correct(p, s, moved, &map, column_of, X, V);
}

void Scene::count_angles(const VectorXd& p, State& s) const {
  if (counted_joints_.empty()) return;
  VectorXd angles(angle_count());
  for (int i = 0; i < angle_count(); ++i) angles[i] = counted_joints_[i]->coordinate(s, p).q;
  s.angles = std::move(angles);
}

std::string Scene::dof_name(int dof) const {
  const char* part[] = {".position.x", ".position.y", ".position.z",
                        ".rotation.x", ".rotation.y", ".rotation.z"};
  for (const auto& b : bodies_) {
    for (int i = 0; i < b->count(); ++i) {
      const Node& n = nodes_[b->node() + i];
      if (dof < n.dof || dof >= n.dof + n.size()) continue;
      return b->name() + (b->count() > 1 ? "[" + std::to_string(i) + "]" : "") + part[dof - n.dof];
    }
  }
  const std::string multiplier = closure_ ? closure_->name_of(dof) : "";
  if (!multiplier.empty()) return multiplier;
  return articulation_ ? articulation_->name_of(dof) : "none";
}

}  // namespace diffsim
