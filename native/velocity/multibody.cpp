#include "multibody.hpp"

#include <algorithm>
#include <numeric>

#include "../bodies/rigid_body.hpp"
#include "../elements/armature.hpp"
#include "../elements/inertia.hpp"
#include "../elements/joint.hpp"
#include "../reduced/twist.hpp"

namespace diffsim {
namespace {

[[noreturn]] void refuse_in(const std::string& place, const std::string& what) {
  refuse(place,
         "the velocity stepper moves rigid bodies, particles and joints in reduced coordinates",
         what, "take world.stepper: implicit");
}

// Rows of a force and a torque about a node to a wrench about O.
Vector6 wrench(const Eigen::Ref<const Vector6>& r, const Vector3d& arm) {
  const Vector3d f = r.head<3>();
  return stacked(Vector3d(r.tail<3>() + arm.cross(f)), f);
}

Vector6 times(const RigidInertia& I, const Vector6& motion) {
  return (I * MotionVector(motion)).vector();
}

// xx yy zz xy xz yz in the body's axes to the world's.
Symmetric3 about_world_axes(const Vector6& I, const Matrix3d& R) {
  return congruent(R, Symmetric3{I[0], I[1], I[2], I[3], I[4], I[5]});
}

// barf(F) x = x x* F.
Matrix6 force_cross_matrix(const Vector6& F) {
  Matrix6 out = Matrix6::Zero();
  out.topLeftCorner<3, 3>() = -skew(F.head<3>());
  out.topRightCorner<3, 3>() = out.bottomLeftCorner<3, 3>() = -skew(F.tail<3>());
  return out;
}

// Wrenches on joints' own coordinates, and armatures.
void add_coordinates(const Multibody& model, const VectorXd& p, const VectorXd* udot,
                     const VectorXd* on_nodes, VectorXd& r) {
  const auto& nodes = model.scene().nodes();
  for (std::size_t i = model.bodies().size(); on_nodes && i < nodes.size(); ++i) {
    const int first = nodes[i].dof, count = nodes[i].size();
    r.segment(first, count) += on_nodes->segment(first, count);
  }
  for (const auto& a : model.armatures()) {
    if (udot) r[a.dof] += a.ratio * a.ratio * p[a.parameter] * (*udot)[a.dof];
  }
}

}  // namespace

Multibody::Multibody(const Scene& scene) : scene_(&scene), step_of_(scene.nodes().size(), -1) {
  for (const auto& body : scene.bodies()) {
    if (body->count() > 1) refuse_in("body '" + body->name() + "'", "a deformable body");
  }
  if (const Articulation* at = scene.articulation()) {
    for (const Articulation::Step& step : at->steps()) {
      if (step.driven) {
        refuse_in("joint coordinates", "a joint on a body whose motion is prescribed");
      }
      steps_.push_back({step.parent, step.dof, step.columns()});
      if (step.base >= 0) step_of_[step.base] = static_cast<int>(steps_.size()) - 1;
    }
    for (const Articulation::Link& link : at->links()) step_of_[link.node] = link.step;
  }
  tree_steps_ = static_cast<int>(steps_.size());
  add_free_bodies();
  sort_elements();
  find_islands();
  joint_forces_.take(scene, forces_, island_of_, islands_.size());
}

void Multibody::add_free_bodies() {
  int node = 0;
  const VectorXd p = scene_->values();
  for (const auto& body : scene_->bodies()) {
    const NodeMass mass = body->masses()[0];
    const Node& n = scene_->nodes()[node];
    if (!n.dependent && step_of_[node] < 0) {
      steps_.push_back({-1, n.dof, 3, node, false, n.driven});
      if (n.kind == NodeKind::frame) {
        steps_.push_back({static_cast<int>(steps_.size()) - 1, n.dof + 3, 3, node, true, n.driven});
      }
      step_of_[node] = static_cast<int>(steps_.size()) - 1;
    }
    bodies_.push_back({node, step_of_[node], mass.mass, mass.inertia});
    inverse_mass_.push_back(mass.mass < 0 ? 0 : 1 / p[mass.mass]);
    ++node;
  }
}

void Multibody::sort_elements() {
  for (const auto& e : scene_->elements()) {
    const std::string place = "'" + e->name() + "'";
    if (dynamic_cast<const ContactElement*>(e.get()) || dynamic_cast<const Inertia*>(e.get())) {
      continue;
    }
    if (const auto* joint = dynamic_cast<const Joint*>(e.get())) {
      if (joint->constrained()) refuse_in("joint " + place, "a loop closed by constraint rows");
      if (!joint->reduced()) refuse_in("joint " + place, "a joint in maximal coordinates");
    }
    if (const auto* armature = dynamic_cast<const diffsim::Armature*>(e.get())) {
      const CoordinateFreedom& at = armature->joint().freedom();
      armatures_.push_back({at.dof, armature->parameter(), at.ratio});
      continue;
    }
    if (e->has_momentum()) refuse_in("element " + place, "a mass beside those of its bodies");
    forces_.push_back(e.get());
  }
}

void Multibody::find_islands() {
  const auto& nodes = scene_->nodes();
  const BlockPattern& P = scene_->solved_pattern();
  std::vector<int> root(nodes.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (int b = 0; b < P.blocks(); ++b) root[find(P.row[b])] = find(P.col[b]);
  island_of_.assign(scene_->ndof(), -1);
  place_of_.assign(scene_->ndof(), -1);
  driven_.assign(scene_->ndof(), false);
  std::vector<int> island(nodes.size(), -1), sizes, dofs;
  std::vector<std::vector<int>> members;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[i];
    node_of_.resize(n.dof + n.size(), i);
    sizes.push_back(n.dependent ? 0 : n.size());
    dofs.push_back(n.dof);
    if (n.dependent) continue;
    int& at = island[find(i)];
    if (at < 0) {
      at = static_cast<int>(islands_.size());
      islands_.emplace_back();
      members.emplace_back();
    }
    members[at].push_back(i);
    for (int k = 0; k < n.size(); ++k) {
      island_of_[n.dof + k] = at;
      driven_[n.dof + k] = n.driven;
      place_of_[n.dof + k] = static_cast<int>(islands_[at].dofs.size());
      islands_[at].dofs.push_back(n.dof + k);
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (const auto& all : members) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) pairs.emplace_back(all[i], all[j]);
    }
  }
  pattern_ = BlockPattern(sizes, pairs, dofs);
  find_parents();
}

const BlockPattern& Multibody::whole_pattern() const {
  std::call_once(whole_pattern_made_, [&] {
    std::vector<int> sizes, dofs;
    std::vector<std::pair<int, int>> pairs;
    for (const Node& n : scene_->nodes()) {
      const auto own = static_cast<int>(sizes.size());
      sizes.push_back(n.dependent ? 0 : n.size());
      dofs.push_back(n.dof);
      for (int other = 0; !n.dependent && other < own; ++other) {
        if (sizes[other] > 0) pairs.emplace_back(own, other);
      }
    }
    whole_pattern_ = BlockPattern(sizes, pairs, dofs);
  });
  return whole_pattern_;
}

void Multibody::find_parents() {
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    Island& island = islands_[island_of_[step.dof]];
    island.steps.push_back(static_cast<int>(k));
    const int place = place_of_[step.dof];
    if (step.turns && !step.driven) island.spins.push_back({step.node, place});
    for (int i = 0; step.node < 0 && i < step.columns; ++i) {
      auto& joints = island.joints;
      if (std::find(joints.begin(), joints.end(), place + i) == joints.end()) {
        joints.push_back(place + i);
      }
    }
  }
  for (std::size_t i = 0; i < armatures_.size(); ++i) {
    islands_[island_of_[armatures_[i].dof]].armatures.push_back(static_cast<int>(i));
  }
  for (Island& island : islands_) {
    constexpr int kUnknown = -2;
    std::vector<int> parents(island.dofs.size(), kUnknown);
    bool tree = true;
    for (const int k : island.steps) {
      const Step& step = steps_[k];
      int before = -1;
      if (step.parent >= 0)
        before = place_of_[steps_[step.parent].dof] + steps_[step.parent].columns - 1;
      for (int i = 0; i < step.columns; ++i) {
        const int place = place_of_[step.dof] + i;
        // Not of joints that follow others: theirs is a coordinate in two places of the tree.
        tree = tree && before < place && parents[place] == kUnknown;
        parents[place] = before;
        before = place;
      }
    }
    for (std::size_t i = 0; i < parents.size() && !tree; ++i) parents[i] = static_cast<int>(i) - 1;
    island.factor.set_pattern(parents);
  }
}

MultibodyState::MultibodyState(const Multibody& model)
    : model_(&model),
      links_(model.scene()),
      S_(model.steps().size(), Axes::Zero()),
      V_(model.steps().size()),
      A_(model.steps().size()),
      parent_V_(model.steps().size()),
      rate_(model.steps().size()),
      inertia_(model.bodies().size()),
      orientation_(model.bodies().size(), Matrix3d::Identity()),
      arm_(model.bodies().size()),
      own_(model.steps().size()),
      I_(model.steps().size()),
      loads_(model.steps().size()),
      F_(model.steps().size()) {}

void MultibodyState::place(const VectorXd& p, const State& s) {
  const Scene& scene = model_->scene();
  origin_ = s.c.col(0);
  std::size_t first = 0;
  if (const Articulation* at = scene.articulation()) {
    links_.set_parameters(p);
    links_.screws(s, origin_, S_);
    first = at->steps().size();
  }
  for (std::size_t k = first; k < S_.size(); ++k) {
    const Multibody::Step& step = model_->steps()[k];
    S_[k].setZero();
    if (step.turns) {
      S_[k].topRows<3>().setIdentity();
      S_[k].bottomRows<3>() = skew(s.c.col(step.node) - origin_);
    } else {
      S_[k].bottomRows<3>().setIdentity();
    }
  }
  for (auto& I : own_) I = {};
  for (std::size_t b = 0; b < inertia_.size(); ++b) {
    const Multibody::Body& body = model_->bodies()[b];
    arm_[b] = s.c.col(body.node) - origin_;
    if (body.mass < 0) continue;
    inertia_[b] = {p[body.mass], p[body.mass] * arm_[b], {}};
    if (body.inertia >= 0) {
      orientation_[b] = s.R[scene.nodes()[body.node].frame];
      inertia_[b].I = about_world_axes(p.segment<6>(body.inertia), orientation_[b]);
    }
    inertia_[b].I.add_parallel_axis(arm_[b], inertia_[b].h);
    if (body.step >= 0) own_[body.step] += inertia_[b];
  }
  I_ = own_;
  for (int k = static_cast<int>(I_.size()) - 1; k >= 0; --k) {
    const int parent = model_->steps()[k].parent;
    if (parent >= 0) I_[parent] += I_[k];
  }
}

void MultibodyState::move(const VectorXd& u) {
  for (std::size_t k = 0; k < V_.size(); ++k) {
    const Multibody::Step& step = model_->steps()[k];
    Vector6& rate = rate_[k];
    rate = S_[k].col(0) * u[step.dof];
    for (int i = 1; i < step.columns; ++i) rate += S_[k].col(i) * u[step.dof + i];
    parent_V_[k].setZero();
    if (step.parent >= 0) parent_V_[k] = V_[step.parent];
    V_[k] = parent_V_[k] + rate;
  }
}

void MultibodyState::accelerate(const VectorXd* udot) {
  for (std::size_t k = 0; k < A_.size(); ++k) {
    const Multibody::Step& step = model_->steps()[k];
    const MotionVector A = crossm(MotionVector(parent_V_[k]), MotionVector(rate_[k]));
    A_[k] = stacked(A.w, A.v);
    if (step.parent >= 0) A_[k] += A_[step.parent];
    for (int i = 0; udot && i < step.columns; ++i) A_[k] += S_[k].col(i) * (*udot)[step.dof + i];
  }
}

void MultibodyState::mass_matrix(int island, const VectorXd& p, TreeFactor& M) const {
  const Multibody::Island& own = model_->islands()[island];
  M.set_zero();
  const auto& steps = model_->steps();
  for (const int k : own.steps) {
    const Multibody::Step& step = steps[k];
    const int place = model_->place_of(step.dof);
    if (step.driven) {
      for (int i = 0; i < 3; ++i) M.entry(place + i, place + i) = 1;
      continue;
    }
    for (int i = 0; i < step.columns; ++i) {
      const MotionVector own_axis(Vector6(S_[k].col(i)));
      const ForceVector T = I_[k] * own_axis;
      const auto product = [&](int l, int j) {
        const auto S = S_[l].col(j);
        return S[0] * T.n[0] + S[1] * T.n[1] + S[2] * T.n[2] + S[3] * T.f[0] + S[4] * T.f[1] +
               S[5] * T.f[2];
      };
      const int row = place + i;
      for (int j = 0; j <= i; ++j) M.entry(row, place + j) += product(k, j);
      for (int l = step.parent; l >= 0; l = steps[l].parent) {
        const int before = model_->place_of(steps[l].dof);
        for (int j = 0; j < steps[l].columns; ++j) {
          const int column = before + j;
          const double value = product(l, j);
          if (row > column) {
            M.entry(row, column) += value;
          } else {  // joints that follow others have their coordinates
            M.entry(column, row) += row == column ? 2 * value : value;
          }
        }
      }
    }
  }
  for (const int i : own.armatures) {
    const Multibody::Armature& a = model_->armatures()[i];
    const int at = model_->place_of(a.dof);
    M.entry(at, at) += a.ratio * a.ratio * p[a.parameter];
  }
}

Matrix3d MultibodyState::own_inertia(const VectorXd& p, int body) const {
  return about_world_axes(p.segment<6>(model_->bodies()[body].inertia), orientation_[body])
      .matrix();
}

void MultibodyState::add_axes_of(int count, VectorXd& r) {
  const auto& steps = model_->steps();
  for (int k = count - 1; k >= 0; --k) {
    for (int i = 0; i < steps[k].columns; ++i) r[steps[k].dof + i] += S_[k].col(i).dot(F_[k]);
    if (steps[k].parent >= 0) F_[steps[k].parent] += F_[k];
  }
}

void MultibodyState::add_inertia(const VectorXd& p, const VectorXd* udot, const VectorXd* on_nodes,
                                 VectorXd& r) {
  const auto& nodes = model_->scene().nodes();
  for (auto& W : loads_) W = {};
  for (std::size_t b = 0; on_nodes && b < inertia_.size(); ++b) {
    const Multibody::Body& body = model_->bodies()[b];
    if (body.step < 0) continue;
    const Node& n = nodes[body.node];
    const Vector3d f = on_nodes->segment<3>(n.dof);
    loads_[body.step] += {arm_[b].cross(f), f};
    if (n.kind == NodeKind::frame) loads_[body.step].n += on_nodes->segment<3>(n.dof + 3);
  }
  for (std::size_t k = 0; k < F_.size(); ++k) F_[k] = wrench_of(static_cast<int>(k)).vector();
  add_axes_of(static_cast<int>(F_.size()), r);
  add_coordinates(*model_, p, udot, on_nodes, r);
}

ForceVector MultibodyState::wrench_of(int step) const {
  const MotionVector V(V_[step]), A(A_[step]);
  return own_[step] * A + crossf(V, own_[step] * V) + loads_[step];
}

void MultibodyState::add_tree_inertia(const VectorXd& p, const VectorXd& u, const VectorXd& udot,
                                      const VectorXd& nodes, VectorXd& r) {
  for (int k = 0; k < model_->tree_steps(); ++k) {
    const Multibody::Step& step = model_->steps()[k];
    rate_[k] = A_[k] = parent_V_[k] = Vector6::Zero();
    for (int i = 0; i < step.columns; ++i) {
      rate_[k] += S_[k].col(i) * u[step.dof + i];
      A_[k] += S_[k].col(i) * udot[step.dof + i];
    }
    if (step.parent >= 0) {
      parent_V_[k] = V_[step.parent];
      A_[k] += A_[step.parent] + cross(parent_V_[k], rate_[k]);
    }
    V_[k] = parent_V_[k] + rate_[k];
    F_[k] = wrench_of(k).vector();
  }
  add_axes_of(model_->tree_steps(), r);
  add_coordinates(*model_, p, &udot, &nodes, r);
}

void MultibodyState::inertia_derivatives(int island, MatrixXd& D_q, MatrixXd& D_u) const {
  const auto& steps = model_->steps();
  for (const int k : model_->islands()[island].steps) {
    if (steps[k].driven) continue;
    for (int i = 0; i < steps[k].columns; ++i) {
      const Vector6 S = S_[k].col(i);
      const int own = model_->place_of(steps[k].dof + i);
      // Of its own motion: on what it moves, felt by itself and by all before it.
      const Vector6 by_q =
          cross_force(S, F_[k]) + B_[k] * T_[k].col(i) + times(I_[k], Q_[k].col(i));
      const Vector6 by_u = B_[k] * S + times(I_[k], P_[k].col(i));
      // Rows of this axis by those before it: what it moves turns with them, so that only rates
      // and accelerations count.
      const Vector6 of_B = B_[k].transpose() * S, of_I = times(I_[k], S);
      for (int j = 0; j < steps[k].columns; ++j) {
        const int row = model_->place_of(steps[k].dof + j);
        D_q(row, own) += S_[k].col(j).dot(by_q);
        D_u(row, own) += S_[k].col(j).dot(by_u);
      }
      for (int l = steps[k].parent; l >= 0; l = steps[l].parent) {
        for (int j = 0; j < steps[l].columns; ++j) {
          const Vector6 before = S_[l].col(j);
          const int other = model_->place_of(steps[l].dof + j);
          D_q(other, own) += before.dot(by_q);
          D_u(other, own) += before.dot(by_u);
          D_q(own, other) += of_B.dot(T_[l].col(j)) + of_I.dot(Q_[l].col(j));
          D_u(own, other) += of_B.dot(before) + of_I.dot(P_[l].col(j));
        }
      }
    }
  }
}

void MultibodyState::sum_composites() {
  for (auto* axes : {&T_, &P_, &Q_}) axes->resize(S_.size(), Axes::Zero());
  B_.resize(S_.size());
  for (std::size_t k = 0; k < S_.size(); ++k) {
    for (int i = 0; i < model_->steps()[k].columns; ++i) {
      const Vector6 S = S_[k].col(i), T = cross(V_[k], S);
      T_[k].col(i) = T;
      P_[k].col(i) = T + cross(parent_V_[k], S);
      Q_[k].col(i) = cross(A_[k], S) + cross(V_[k], T);
    }
  }
  for (auto& B : B_) B.setZero();
  for (std::size_t b = 0; b < inertia_.size(); ++b) {
    const int step = model_->bodies()[b].step;
    if (step < 0 || model_->bodies()[b].mass < 0) continue;
    const Matrix6 I = matrix(inertia_[b]), V = cross_matrix(V_[step]);
    B_[step] += force_cross_matrix(times(inertia_[b], V_[step])) - V.transpose() * I - I * V;
  }
  for (int k = static_cast<int>(B_.size()) - 1; k >= 0; --k) {
    const int parent = model_->steps()[k].parent;
    if (parent >= 0) B_[parent] += B_[k];
  }
}

void MultibodyState::add_force(int dof, double value, Eigen::Ref<VectorXd> rows) const {
  const int node = model_->node_of(dof);
  if (node >= static_cast<int>(inertia_.size())) {
    rows[dof] += value;
    return;
  }
  const Node& n = model_->scene().nodes()[node];
  Vector6 own = Vector6::Zero();
  own[dof - n.dof] = value;
  const Vector6 W = wrench(own, arm_[node]);
  each_axis_of(node, [&](int at, const Vector6& S, int) { rows[at] += S.dot(W); });
}

Symmetric3 MultibodyState::inertia_slope(int body, int entry) const {
  return about_world_axes(Vector6::Unit(entry), orientation_[body]);
}

void MultibodyState::inertia_columns(const VectorXd& udot, ParameterColumns& columns) const {
  const Scene& scene = model_->scene();
  VectorXd rows(scene.ndof());
  const auto add = [&](int column, const RigidInertia& I, int step) {
    const Vector6 W = times(I, A_[step]) + cross_force(V_[step], times(I, V_[step]));
    rows.setZero();
    each_axis(step, [&](int at, const Vector6& S, int) { rows[at] += S.dot(W); });
    columns.add(column, rows);
  };
  for (std::size_t b = 0; b < inertia_.size(); ++b) {
    const Multibody::Body& body = model_->bodies()[b];
    if (body.step < 0 || body.mass < 0) continue;
    if (const int c = columns.column(body.mass); c >= 0) {
      RigidInertia I{1, arm_[b], {}};
      I.I.add_parallel_axis(arm_[b], arm_[b]);
      add(c, I, body.step);
    }
    for (int e = 0; body.inertia >= 0 && e < 6; ++e) {
      const int c = columns.column(body.inertia + e);
      if (c < 0) continue;
      add(c, {0, Vector3d::Zero(), inertia_slope(static_cast<int>(b), e)}, body.step);
    }
  }
  for (const auto& a : model_->armatures()) {
    const int c = columns.column(a.parameter);
    if (c < 0) continue;
    rows.setZero();
    rows[a.dof] = a.ratio * a.ratio * udot[a.dof];
    columns.add(c, rows);
  }
}

}  // namespace diffsim
