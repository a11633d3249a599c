#include "armature.hpp"

#include "../scene.hpp"

namespace diffsim {

double Armature::rate(const State& s, const VectorXd& p) const {
  return joint_->reduced() ? joint_->freedom().rate(s) : joint_->coordinate(s, p).rate;
}

void Armature::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  if (joint_->reduced()) {
    double acceleration = 0;
    for (int k = 0; k <= window.depth(); ++k) {
      acceleration += window.scheme.rate[k] * rate(*window.at[k], p);
    }
    const CoordinateFreedom& at = joint_->freedom();
    add_freedom_force(at, -p[inertia_] * acceleration, 0, -p[inertia_] * window.scheme.rate[0],
                      out);
    if (out.columns) add_freedom_column(at, -acceleration, inertia_, *out.columns);
    return;
  }
  const JointCoordinate at = joint_->coordinate(window.now(), p);
  const double inertia = p[inertia_];
  double acceleration = window.scheme.rate[0] * at.rate;
  for (int k = 1; k <= window.depth(); ++k) {
    acceleration += window.scheme.rate[k] * joint_->coordinate(*window.at[k], p).rate;
  }
  const NodePair& nodes = joint_->nodes();
  add_coordinate_force(nodes, at, -inertia * acceleration, 0, -inertia * window.scheme.rate[0],
                       out);
  if (!out.columns) return;
  const int column = out.columns->column(inertia_);
  if (column >= 0) nodes.add(-acceleration * at.g, column, *out.columns);
  if (!joint_->place_is_active(*out.columns)) return;
  const CoordinateSlopes by = joint_->coordinate_by_place(window.now(), p);
  Vector12 by_acceleration = window.scheme.rate[0] * by.rate;
  for (int k = 1; k <= window.depth(); ++k) {
    by_acceleration += window.scheme.rate[k] * joint_->coordinate_by_place(*window.at[k], p).rate;
  }
  joint_->add_place_columns(-inertia * (at.g * by_acceleration.transpose() + acceleration * by.g),
                            *out.columns);
}

void Armature::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  const double rate = this->rate(s, p);
  to.kinetic += p[inertia_] * rate * rate / 2;
}

void Armature::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  if (joint_->reduced()) {
    const double rate = this->rate(s, p);
    by.add_v(Energy::kKinetic, joint_->freedom().dof,
             Eigen::Matrix<double, 1, 1>(p[inertia_] * rate * joint_->freedom().ratio));
    by.add_p(Energy::kKinetic, inertia_, rate * rate / 2);
    return;
  }
  const JointCoordinate at = joint_->coordinate(s, p);
  const double momentum = p[inertia_] * at.rate;
  const NodePair& nodes = joint_->nodes();
  nodes.each_part(momentum * at.rate_x,
                  [&](int dof, const auto& J) { by.add_x(Energy::kKinetic, dof, J.eval()); });
  nodes.each_part(momentum * at.g,
                  [&](int dof, const auto& J) { by.add_v(Energy::kKinetic, dof, J.eval()); });
  by.add_p(Energy::kKinetic, inertia_, at.rate * at.rate / 2);
  const CoordinateSlopes place = joint_->coordinate_by_place(s, p);
  joint_->add_place_slopes(Energy::kKinetic, momentum * place.rate.transpose(), by);
}

void Armature::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                           BlockMatrix& B) const {
  if (joint_->reduced()) {
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
