#include "armature.hpp"

#include "../scene.hpp"

namespace diffsim {

void Armature::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& now = window.now();
  const JointCoordinate at = joint_->driven_coordinate(now, p);
  const double* gamma = window.scheme.rate;
  const double inertia = p[inertia_];
  double acceleration = gamma[0] * at.rate;
  for (int k = 1; k <= window.depth(); ++k) {
    acceleration += gamma[k] * joint_->driven_coordinate(*window.at[k], p).rate;
  }
  joint_->add_coordinate_force(now, p, at, -inertia * acceleration, 0, -inertia * gamma[0], out);
  if (!out.columns) return;
  joint_->add_coordinate_column(at, -acceleration, inertia_, *out.columns);
  if (joint_->acts_on_freedom() || !joint_->place_is_active(*out.columns)) return;
  Vector12 by_past = Vector12::Zero();  // of the acceleration
  for (int k = 1; k <= window.depth(); ++k) {
    by_past += gamma[k] * joint_->coordinate_by_place(*window.at[k], p).rate;
  }
  joint_->add_place_columns(-inertia * at.g * by_past.transpose(), *out.columns);
}

void Armature::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  const double rate = joint_->driven_coordinate(s, p).rate;
  to.kinetic += p[inertia_] * rate * rate / 2;
}

void Armature::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  const JointCoordinate at = joint_->driven_coordinate(s, p);
  joint_->add_coordinate_slopes(Energy::kKinetic, s, p, at, 0, p[inertia_] * at.rate, by);
  by.add_p(Energy::kKinetic, inertia_, at.rate * at.rate / 2);
}

void Armature::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                           BlockMatrix& B) const {
  if (joint_->acts_on_freedom()) {
    const CoordinateFreedom& at = joint_->freedom();
    const double inertia = at.ratio * at.ratio * p[inertia_];
    B.block(at.node)[at.offset * (at.size + 1)] += inertia * window.scheme.rate[k];
    return;
  }
  const JointCoordinate now = joint_->coordinate(window.now(), p);
  const JointCoordinate then = joint_->coordinate(*window.at[k], p);
  const double weight = p[inertia_] * window.scheme.rate[k];
  past_.add(Matrix12(-weight * now.g * then.rate_x.transpose()), K);
  past_.add(Matrix12(-weight * now.g * then.g.transpose()), B);
}

void add_armature(Scene& scene, const std::string& name, const std::string& joint, double inertia) {
  scene.check_new("armature", name);
  const Joint& driven = driven_joint(scene, "armature '" + name + "'", joint);
  const bool turns = driven.kind().coordinate == JointKind::Coordinate::angle;
  const int index =
      scene.table().add(name + ".inertia", turns ? "kg m^2" : "kg", inertia, 0, kInfinity);
  scene.add_element(std::make_unique<Armature>(name, &driven, index));
}

}  // namespace diffsim
