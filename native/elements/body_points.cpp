#include "body_points.hpp"

namespace diffsim {

BodyPoints::BodyPoints(const PointSet* set) : set_(set) {
  for (int i = 0; i < size(); ++i) {
    if (!is_node(i)) glued_.push_back(i);
  }
  if (!all_nodes()) return;
  first_node_ = set->node[0];  // a body's nodes follow each other
  first_dof_ = set->dof(0);
}

BodyPoints::View BodyPoints::open(const State& s, const VectorXd& p, double* r) const {
  if (all_nodes()) {
    return {s.c.data() + 3 * first_node_, s.v.data() + 3 * first_node_, r + first_dof_};
  }
  thread_local Matrix3X x, v, f;
  if (x.cols() < size()) {
    for (Matrix3X* m : {&x, &v, &f}) m->resize(3, size());
  }
  for (int i = 0; i < size(); ++i) {
    if (is_node(i)) {
      x.col(i) = s.c.col(set_->node[i]);
      v.col(i) = s.v.col(set_->node[i]);
    } else {
      const Vector3d rho = set_->moment_arm(i, s, p);
      x.col(i) = set_->position(i, s, p);
      v.col(i) = set_->velocity(i, s, rho);
    }
  }
  f.leftCols(size()).setZero();
  return {x.data(), v.data(), f.data()};
}

void BodyPoints::add(int i, const Vector3d& f, const State& s, const VectorXd& p, double* r) const {
  if (set_->node[i] < 0) return;
  Vector3d::Map(r + set_->dof(i)) += f;
  if (set_->on_frame(i)) Vector3d::Map(r + set_->dof(i) + 3) += set_->moment_arm(i, s, p).cross(f);
}

void BodyPoints::add(int i, const Vector3d& f, const State& s, const VectorXd& p, int column,
                     ParameterColumns& out) const {
  if (set_->node[i] < 0) return;
  out.add(set_->dof(i), column, f);
  if (set_->on_frame(i)) out.add(set_->dof(i) + 3, column, set_->moment_arm(i, s, p).cross(f));
}

void BodyPoints::close(const View& view, const State& s, const VectorXd& p, double* r) const {
  if (all_nodes()) return;
  for (int i = 0; i < size(); ++i) add(i, Vector3d::Map(view.r + 3 * i), s, p, r);
}

}  // namespace diffsim
