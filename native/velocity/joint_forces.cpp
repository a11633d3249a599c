#include "joint_forces.hpp"

#include <algorithm>

namespace diffsim {

namespace {
constexpr double kStraight = 1e-12;  // of forces: by rounding of the coordinate
}  // namespace

void JointForces::take(const Scene& scene, std::vector<const Element*>& forces,
                       const std::vector<int>& island_of, std::size_t islands) {
  any_.assign(islands, false);
  bends_.assign(islands, false);
  const auto is_ours = [&](const Element* e) {
    if (const auto* force = dynamic_cast<const CoordinateForce*>(e)) {
      if (!force->joint().acts_on_freedom()) return false;
      add(force, -1, force->joint().freedom(), island_of);
      return true;
    }
    const auto* joint = dynamic_cast<const Joint*>(e);
    if (!joint) return false;
    add_damping(*joint, scene, island_of);
    return true;
  };
  forces.erase(std::remove_if(forces.begin(), forces.end(), is_ours), forces.end());
}

void JointForces::add(const CoordinateForce* element, int damping, const CoordinateFreedom& at,
                      const std::vector<int>& island_of) {
  const int island = island_of[at.dof];
  forces_.push_back({element, damping, island, at.dof, at.first, at.ratio, at.shift});
  any_[island] = true;
  if (forces_.back().bends()) bends_[island] = any_bends_ = true;
  if (std::find(dofs_.begin(), dofs_.end(), at.dof) == dofs_.end()) dofs_.push_back(at.dof);
}

// A ball's rates and a universal joint's are about axes at right angles, as are a slider's, a
// hinge's and a planar joint's angle of one: the torque -c w has no others.
void JointForces::add_damping(const Joint& joint, const Scene& scene,
                              const std::vector<int>& island_of) {
  if (!joint.kind().has_friction()) return;  // a weld
  const int damping = scene.parameters().index(joint.name() + ".friction_damping");
  if (joint.acts_on_freedom()) return add(nullptr, damping, joint.freedom(), island_of);
  const Articulation& tree = *scene.articulation();
  for (const Articulation::Link& link : tree.links()) {
    if (link.joint != &joint) continue;
    for (int k = link.first; k < link.last; ++k) {
      for (int i = 0; i < tree.steps()[k].columns(); ++i) {
        CoordinateFreedom at;
        at.dof = tree.steps()[k].dof + i;
        at.first = kNone;
        add(nullptr, damping, at, island_of);
      }
    }
  }
}

CoordinateForce::Phi JointForces::phi(const Force& force, const Window& window, double h,
                                      const VectorXd& p, double u,
                                      CoordinateForce::ByParameter* by) const {
  JointCoordinate at;
  at.rate = force.ratio * u;
  if (!force.element) {
    if (by) by->emplace_back(force.damping, -at.rate);
    return {-p[force.damping] * at.rate, 0, -p[force.damping]};
  }
  at.q = force.ratio * (window.now().q[force.first] + h * u) + force.shift;
  return force.element->phi(window, p, at, by);
}

JointForces::Rows JointForces::rows(Eigen::Index ndof) {
  return {VectorXd::Zero(ndof), VectorXd::Zero(ndof), VectorXd::Zero(ndof)};
}

void JointForces::evaluate(const Window& window, double h, const VectorXd& p, const VectorXd& u,
                           Rows& to) const {
  for (const int dof : dofs_) to.value[dof] = to.slope[dof] = to.by_pose[dof] = 0;
  for (const Force& force : forces_) add_to(force, window, h, p, u, to);
}

void JointForces::add_to(const Force& force, const Window& window, double h, const VectorXd& p,
                         const VectorXd& u, Rows& to) const {
  const CoordinateForce::Phi f = phi(force, window, h, p, u[force.dof], nullptr);
  const double square = force.ratio * force.ratio;
  to.value[force.dof] -= force.ratio * f.value;
  to.slope[force.dof] -= square * (h * f.by_q + f.by_rate);
  to.by_pose[force.dof] -= square * f.by_q;
}

void JointForces::evaluate_linear(const Window& window, double h, const VectorXd& p,
                                  const VectorXd& u, Rows& to) const {
  for (const int dof : dofs_) to.value[dof] = to.slope[dof] = to.by_pose[dof] = 0;
  for (const Force& force : forces_) {
    if (!force.bends()) add_to(force, window, h, p, u, to);
  }
}

void JointForces::evaluate_from(const Rows& linear, const VectorXd& u_0, const Window& window,
                                double h, const VectorXd& p, const VectorXd& u, Rows& to) const {
  for (const int dof : dofs_) {
    to.value[dof] = linear.value[dof] + linear.slope[dof] * (u[dof] - u_0[dof]);
    to.slope[dof] = linear.slope[dof];
    to.by_pose[dof] = linear.by_pose[dof];
  }
  if (!any_bends_) return;
  for (const Force& force : forces_) {
    if (force.bends()) add_to(force, window, h, p, u, to);
  }
}

bool JointForces::straight(int island, const Window& window, double h, const VectorXd& p,
                           const VectorXd& u, const VectorXd& to) const {
  for (const Force& force : forces_) {
    if (force.island != island || !force.bends() || u[force.dof] == to[force.dof]) continue;
    const double from = u[force.dof], end = to[force.dof];
    const CoordinateForce::Phi f = phi(force, window, h, p, from, nullptr),
                               g = phi(force, window, h, p, end, nullptr);
    if (f.by_q != g.by_q || f.by_rate != g.by_rate) return false;
    const double rise = force.ratio * (h * f.by_q + f.by_rate) * (end - from);
    const double size = std::abs(f.value) + std::abs(g.value) + std::abs(rise);
    if (!(std::abs(g.value - f.value - rise) <= kStraight * size)) return false;
  }
  return true;
}

double JointForces::bend(int island, const Window& window, double h, const VectorXd& p,
                         const VectorXd& u, const VectorXd& du, double share) const {
  double sum = 0;
  for (const Force& force : forces_) {
    if (force.island != island || !force.bends()) continue;
    const double by = du[force.dof], from = u[force.dof];
    const CoordinateForce::Phi f = phi(force, window, h, p, from, nullptr),
                               g = phi(force, window, h, p, from + share * by, nullptr);
    sum -= by * force.ratio *
           (g.value - f.value - share * by * force.ratio * (h * f.by_q + f.by_rate));
  }
  return sum;
}

std::string JointForces::name_on(int dof) const {
  for (const Force& force : forces_) {
    if (force.dof == dof && force.element) return force.element->name();
  }
  return "";
}

}  // namespace diffsim
