#include "articulation.hpp"

#include <cmath>

#include "../scene.hpp"
#include "start_coordinates.hpp"
#include "twist.hpp"

namespace diffsim {
namespace {

using StepKind = Articulation::StepKind;

constexpr int kMostTogether = 6;  // the linear solvers' largest block of a fixed size

// Kinds and axes of the steps of a kind of joint.
std::vector<std::pair<StepKind, int>> steps_of(const JointKind& kind) {
  const std::string name = kind.name;
  if (name == "hinge") return {{StepKind::turn, 2}};
  if (name == "slider") return {{StepKind::slide, 2}};
  if (name == "planar") return {{StepKind::slide, 0}, {StepKind::slide, 1}, {StepKind::turn, 2}};
  if (name == "universal") return {{StepKind::turn, 2}, {StepKind::turn, 0}};
  if (name == "ball") return {{StepKind::turns, 0}};
  return {};  // weld
}

}  // namespace

Articulation::Articulation(const std::vector<const Joint*>& joints, std::vector<Node>& nodes,
                           int& ndof, int& frames)
    : step_of_(nodes.size(), -1), link_of_(nodes.size(), -1) {
  std::vector<Group> groups;
  // Joints stand in any order: carriers first.
  std::vector<const Joint*> left = joints;
  while (!left.empty()) {
    std::vector<const Joint*> later;
    for (const Joint* joint : left) {
      const int a = joint->nodes().node(0);
      const bool ready = a < 0 || !nodes[a].dependent || link_of_[a] >= 0;
      ready ? add_joint(*joint, nodes, groups) : later.push_back(joint);
    }
    if (later.size() == left.size()) {
      refuse("joint '" + later[0]->name() + "': coordinates",
             "joints in reduced coordinates must form trees", "a loop",
             "leave one joint of the loop in maximal coordinates");
    }
    left = later;
  }
  add_nodes(groups, nodes, ndof, frames);
  follow_others();
}

int Articulation::base_step(int node, const std::vector<Node>& nodes) {
  if (node < 0) return -1;
  if (step_of_[node] >= 0 || nodes[node].dependent) return step_of_[node];
  for (const StepKind kind : {StepKind::slides, StepKind::turns}) {
    const int offset = kind == StepKind::slides ? 0 : 3;
    steps_.push_back({kind, offset == 0 ? -1 : static_cast<int>(steps_.size()) - 1, 0, node, offset,
                      nodes[node].dof + offset, node, nodes[node].driven});
    first_.push_back(nodes[node].frame);
  }
  return step_of_[node] = static_cast<int>(steps_.size()) - 1;
}

void Articulation::add_joint(const Joint& joint, const std::vector<Node>& nodes,
                             std::vector<Group>& groups) {
  const int a = joint.nodes().node(0), b = joint.nodes().node(1);
  const int carrier = base_step(a, nodes), first = static_cast<int>(steps_.size());
  Link link{b, nodes[b].frame, a < 0 ? -1 : link_of_[a], carrier, first, first, carrier, &joint};
  const auto kinds = steps_of(joint.kind());
  if (joint.mimic().joint) {  // whose coordinate it has, see follow_others()
    steps_.push_back({kinds[0].first, carrier, kinds[0].second, -1, 0, -1});
    steps_.back().ratio = joint.mimic().ratio;
    steps_.back().shift = joint.mimic().shift;
    first_.push_back(-1);
    link.step = first;
  } else if (!kinds.empty()) {
    const int count = static_cast<int>(kinds.size());
    const bool turns = kinds[0].first == StepKind::turns;
    // Coordinates along a branch of the tree stand together, as a dense block.
    int group = carrier >= 0 && steps_[carrier].base < 0 ? steps_[carrier].node : -1;
    if (group < 0 || turns || groups[group].turns || groups[group].last != carrier ||
        groups[group].count + count > kMostTogether) {
      group = static_cast<int>(groups.size());
      groups.push_back({turns, 0, -1});
    }
    for (const auto& [kind, axis] : kinds) {
      groups[group].last = static_cast<int>(steps_.size());
      steps_.push_back({kind, link.step, axis, group, groups[group].count++, -1});
      first_.push_back(-1);
      link.step = groups[group].last;
    }
  }
  link.last = static_cast<int>(steps_.size());
  step_of_[b] = link.step;
  link_of_[b] = static_cast<int>(links_.size());
  links_.push_back(link);
}

void Articulation::add_nodes(const std::vector<Group>& groups, std::vector<Node>& nodes, int& ndof,
                             int& frames) {
  const int before = static_cast<int>(nodes.size());
  int coordinates = 0;
  for (const Group& group : groups) {
    Node node{group.turns ? NodeKind::rotation : NodeKind::coordinates, ndof, -1};
    if (group.turns) {
      node.frame = frames++;
    } else {
      node.first = coordinates;
      node.count = group.count;
      coordinates += group.count;
    }
    ndof += node.size();
    nodes.push_back(node);
  }
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    Step& step = steps_[k];
    if (step.base >= 0 || step.node < 0) continue;
    step.node += before;
    const Node& node = nodes[step.node];
    step.dof = node.dof + step.offset;
    first_[k] = node.turns() ? node.frame : node.first + step.offset;
  }
}

void Articulation::follow_others() {
  for (const Link& link : links_) {
    if (!link.joint->mimic().joint) continue;
    for (const Link& other : links_) {
      if (other.joint != link.joint->mimic().joint) continue;
      Step& step = steps_[link.first];
      const Step& of = steps_[other.first];
      step.node = of.node;
      step.offset = of.offset;
      step.dof = of.dof;
      first_[link.first] = first_[other.first];
    }
  }
}

template <class Visit>
void Articulation::walk(const Link& link, const State& s, Matrix3d& M, Vector3d& x,
                        Visit&& visit) const {
  for (int k = link.first; k < link.last; ++k) {
    const Step& step = steps_[k];
    if (step.kind == StepKind::turns) {
      visit(k, Vector3d(Vector3d::Zero()), 0.);
      M = M * s.R[first_[k]];
      continue;
    }
    const double q = step.ratio * s.q[first_[k]] + step.shift;
    const Vector3d axis = M.col(step.axis);
    visit(k, axis, q);
    if (step.kind == StepKind::slide) {
      x += q * axis;
    } else {
      turn_about(step.axis, q, M);
    }
  }
}

void Articulation::place(const VectorXd& p, State& s) const {
  for (const Link& link : links_) {
    const NodePair::Pose a = link.joint->nodes().pose(0, s);
    const auto at = link.joint->place(p);
    Matrix3d M = a.R * at[0].axes;
    const Vector3d arm = a.R * at[0].point;
    Vector3d x = a.c + arm, v = a.v + a.w.cross(arm), w = a.w;
    walk(link, s, M, x, [&](int k, const Vector3d& axis, double q) {
      const Step& step = steps_[k];
      if (step.kind == StepKind::turns) {
        w += M * s.w[first_[k]];
        return;
      }
      const double rate = step.ratio * s.qdot[first_[k]];
      if (step.kind == StepKind::slide) {
        v += rate * axis + w.cross(q * axis);
      } else {
        w += rate * axis;
      }
    });
    s.R[link.frame] = M * at[1].axes.transpose();
    const Vector3d back = s.R[link.frame] * at[1].point;
    s.c.col(link.node) = x - back;
    s.v.col(link.node) = v - w.cross(back);
    s.w[link.frame] = w;
  }
}

void Articulation::screws(const VectorXd& p, const State& s, const Vector3d& origin,
                          std::vector<Axes>& S, std::vector<Vector6>& rate) const {
  S.assign(steps_.size(), Axes::Zero());
  rate.assign(steps_.size(), Vector6::Zero());
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    if (step.base < 0) continue;
    if (step.kind == StepKind::slides) {
      S[k].bottomRows<3>().setIdentity();
      rate[k].tail<3>() = s.v.col(step.base);
    } else {
      S[k].topRows<3>().setIdentity();
      S[k].bottomRows<3>() = skew(s.c.col(step.base) - origin);
      rate[k] = S[k] * s.w[first_[k]];
    }
  }
  for (const Link& link : links_) {
    if (link.first == link.last) continue;
    const NodePair::Pose a = link.joint->nodes().pose(0, s);
    const JointPlace at = link.joint->place(p)[0];
    Matrix3d M = a.R * at.axes;
    Vector3d x = a.c + a.R * at.point - origin;
    walk(link, s, M, x, [&](int k, const Vector3d& axis, double) {
      const Step& step = steps_[k];
      if (step.kind == StepKind::turns) {
        S[k].topRows<3>() = M;
        S[k].bottomRows<3>().noalias() = skew(x) * M;
        rate[k] = S[k] * s.w[first_[k]];
        return;
      }
      if (step.kind == StepKind::slide) {
        S[k].col(0).tail<3>() = step.ratio * axis;
      } else {
        S[k].col(0).head<3>() = step.ratio * axis;
        S[k].col(0).tail<3>() = step.ratio * x.cross(axis);
      }
      rate[k] = S[k].col(0) * s.qdot[first_[k]];
    });
  }
}

void Articulation::read(const VectorXd& p, State& s) const {
  for (const Link& link : links_) {
    if (link.first == link.last || link.joint->mimic().joint) continue;
    const StartCoordinates at(*link.joint, s, p);
    for (int k = link.first; k < link.last; ++k) {
      if (steps_[k].kind == StepKind::turns) {
        s.R[first_[k]] = at.turn.value;
        s.w[first_[k]] = at.turn.rate;
      } else {
        s.q[first_[k]] = at.scalar[k - link.first].q;
        s.qdot[first_[k]] = at.scalar[k - link.first].rate;
      }
    }
  }
}

void Articulation::start(const VectorXd& p, State& s) const {
  read(p, s);
  place(p, s);
}

void Articulation::start_sensitivity(const VectorXd& p, const State& free,
                                     const std::vector<Node>& nodes,
                                     const std::vector<int>& column_of, MatrixXd& X,
                                     MatrixXd& V) const {
  const Eigen::Index columns = X.cols();
  MatrixXd x(12, columns), v(12, columns), y(12, columns);
  for (const Link& link : links_) {
    if (link.first == link.last || link.joint->mimic().joint) continue;
    const StartCoordinates at(*link.joint, free, p);
    for (MatrixXd* M : {&x, &v, &y}) M->setZero();
    for (int m = 0; m < 2; ++m) {
      const int node = link.joint->nodes().node(m);
      if (node < 0) continue;
      x.middleRows<6>(6 * m) = X.middleRows<6>(nodes[node].dof);
      v.middleRows<6>(6 * m) = V.middleRows<6>(nodes[node].dof);
    }
    const Matrix12 by_parameters = link.joint->place_by_parameters(free, p);
    for (int k = 0; k < 12; ++k) {
      const int parameter = link.joint->place_parameter(k);
      if (parameter >= 0 && column_of[parameter] >= 0) {
        y.col(column_of[parameter]) += by_parameters.col(k);
      }
    }
    for (int k = link.first; k < link.last; ++k) {
      const int dof = steps_[k].dof;
      if (steps_[k].kind == StepKind::turns) {
        X.middleRows<3>(dof) = at.turn.by_pose * (x + y);
        V.middleRows<3>(dof) = at.turn.rate_by_pose * (x + y) + at.turn.by_pose * v;
      } else {
        const StartCoordinates::Scalar& c = at.scalar[k - link.first];
        X.row(dof) = c.by_pose.transpose() * x + c.by_place.transpose() * y;
        V.row(dof) = c.rate_by_pose.transpose() * x + c.rate_by_place.transpose() * y +
                     c.by_pose.transpose() * v;
      }
    }
  }
}

CoordinateFreedom Articulation::freedom(const Joint& joint, const std::vector<Node>& nodes) const {
  if (joint.kind().coordinate == JointKind::Coordinate::none) return {};
  for (const Link& link : links_) {
    if (link.joint != &joint) continue;
    const int k = link.last - 1;  // of a planar joint, its angle
    const Step& step = steps_[k];
    return {step.node, nodes[step.node].count, step.offset, step.dof, first_[k], step.ratio,
            step.shift};
  }
  return {};
}

std::vector<int> Articulation::carried_by(const Joint& joint) const {
  std::vector<int> nodes;
  std::vector<bool> behind(links_.size(), false);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const int carrier = links_[l].carrier_link;
    behind[l] = links_[l].joint == &joint || (carrier >= 0 && behind[carrier]);
    if (behind[l]) nodes.push_back(links_[l].node);
  }
  return nodes;
}

void Articulation::set_scale(const Scene& scene, VectorXd& scale) const {
  for (const Link& link : links_) {
    const double per_radius = scale[scene.nodes()[link.node].dof + 3];
    for (int k = link.first; k < link.last; ++k) {
      if (steps_[k].kind == StepKind::slide) continue;
      scale.segment(steps_[k].dof, steps_[k].columns()).setConstant(per_radius);
    }
  }
}

std::string Articulation::name_of(int dof) const {
  for (const Link& link : links_) {
    for (int k = link.first; k < link.last; ++k) {
      const Step& step = steps_[k];
      if (link.joint->mimic().joint || dof < step.dof || dof >= step.dof + step.columns()) continue;
      return link.joint->name() + ".coordinate[" + std::to_string(step.offset + dof - step.dof) +
             "]";
    }
  }
  return "";
}

}  // namespace diffsim
