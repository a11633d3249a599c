// Derivatives of the velocity step that come of its contacts: their loads, and their laws.
#include "../reduced/twist.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {

Matrix3d turn_of_axes(const Matrix3d& B) {
  const Vector3d n = B.col(0);
  Eigen::Index least;
  n.cwiseAbs().minCoeff(&least);
  const double along = n[least], across = std::sqrt(1 - along * along);
  return skew(n) - along / across * n * B.col(2).transpose();
}

void VelocityStepper::add_load(const Touch& touch, const Vector3d& f, const State& s) {
  const Gap& gap = touch.gap;
  const Vector3d x_c = touch.place();
  const Matrix3d turn = -skew(f) * turn_of_axes(touch.B);  // df = turn dn
  const auto& nodes = scene_->nodes();
  struct Side {
    int node, size;
    double sign;
    Vector3d arm;       // to x_c
    Matrix36 at_x, dn;  // of the node's material at x; of the normal, by its pose
  };
  Side sides[2];
  int count = 0;
  for (const auto& [node, sign] : {std::pair{gap.node, 1.}, std::pair{gap.carrier, -1.}}) {
    if (node < 0) continue;
    Side side{
        node, nodes[node].size(), sign, x_c - s.c.col(node), Matrix36::Zero(), Matrix36::Zero()};
    side.at_x.leftCols<3>().setIdentity();
    side.at_x.rightCols<3>() = -skew(gap.x - s.c.col(node));
    side.dn = sign * gap.n_x * side.at_x;
    if (sign < 0) side.dn.rightCols<3>() -= skew(gap.n);
    sides[count++] = side;
  }
  for (int a = 0; a < count; ++a) {
    const Side& row = sides[a];
    Vector6 force = stacked(f, row.arm.cross(f));
    written_.segment(nodes[row.node].dof, row.size) -= row.sign * force.head(row.size);
    for (int b = 0; b < count; ++b) {
      const Side& column = sides[b];
      const Matrix36 df = turn * column.dn;
      Matrix36 arm = -gap.radius * column.dn;
      if (column.sign > 0) arm += column.at_x;
      if (a == b) arm.leftCols<3>() -= Matrix3d::Identity();
      Matrix6 d;
      d.topRows<3>() = df;
      d.bottomRows<3>() = skew(row.arm) * df - skew(f) * arm;
      const int block = K_.pattern->index(row.node, column.node);
      Eigen::Map<MatrixXd>(K_.block(block), row.size, column.size) -=
          row.sign * d.topLeftCorner(row.size, column.size);
    }
  }
}

void VelocityStepper::add_relative(int node, double sign, const Vector3d& x, const Vector3d& x_c,
                                   MatrixXd& at_x, MatrixXd& turn, MatrixXd& dw) const {
  const Vector3d arm = x - at_.origin(), arm_c = x_c - at_.origin();
  const Vector6 V = at_.twist_of(node);
  at_.each_axis_of(node, [&](int dof, const Vector6& S, int k) {
    const Vector6 dV = cross(S, V - at_.twist(k));
    const Vector3d w = S.head<3>(), dw_angular = dV.head<3>();
    const int at = model_->place_of(dof);
    at_x.col(at) += sign * (S.tail<3>() + w.cross(arm));
    turn.col(at) += w;
    dw.col(at) += sign * (dV.tail<3>() + dw_angular.cross(arm_c));
  });
}

// At the rates of the last at_.move().
VelocityStepper::Moves VelocityStepper::moves(const Touch& touch) const {
  const Gap& gap = touch.gap;
  const int node = model_->moves(gap.node) ? gap.node : gap.carrier;
  const int index = model_->island_of(model_->steps()[model_->step_of(node)].dof);
  const auto n = static_cast<Eigen::Index>(model_->islands()[index].dofs.size());
  const Vector3d x_c = touch.place();
  MatrixXd at_x = MatrixXd::Zero(3, n), own = at_x, carrier = at_x, dw = at_x;
  add_relative(gap.node, 1, gap.x, x_c, own, at_x, dw);
  at_x.setZero();
  add_relative(gap.carrier, -1, gap.x, x_c, carrier, at_x, dw);  // at_x: turns of the carrier
  Moves to;
  to.n = gap.n_x * (own + carrier) - skew(gap.n) * at_x;
  to.g = gap.slope.transpose() * (own + carrier);
  to.w = dw + skew(turning(gap)) * (own - gap.radius * to.n);
  return to;
}

Vector3d VelocityStepper::turning(const Gap& gap) const {
  return at_.twist_of(gap.node).head<3>() - at_.twist_of(gap.carrier).head<3>();
}

VelocityStepper::ShapeMotion VelocityStepper::shape_motion(const Gap& gap, const GapSlope& by,
                                                           const Vector3d& turning) const {
  const bool turns = gap.node < 0 || scene_->nodes()[gap.node].turns();
  const Vector3d dn = by.n + gap.n_x * by.x;
  const Vector3d place = by.x - gap.radius * dn - (turns ? by.radius : 0) * gap.n;
  return {by.g + gap.slope.dot(by.x) - by.radius, dn, place, turning.cross(place)};
}

void VelocityStepper::find_contact_columns(const State& prev, const VectorXd& p,
                                           const ActiveColumns& active) {
  contact_columns_.assign(active.columns().size(), false);
  const ParameterColumns listed(active.column_of());
  const auto note = [&](int parameter) {
    const int column = listed.column(parameter);
    if (column >= 0) contact_columns_[column] = true;
  };
  std::vector<GapSlope> shape;
  for (const Island& island : islands_) {
    for (const Touch& touch : island.touches) {
      note(touch.element->friction_parameter());
      note(touch.element->restitution_parameter());
      touch.element->gap_slopes(touch.gap, prev, p, listed, shape);
    }
  }
  for (const GapSlope& by : shape) note(by.parameter);
}

// At the twists of the step's beginning: bounds that follow from velocities there.
VelocityStepper::PressedRows VelocityStepper::rows_before(int index, const State& prev,
                                                          const VectorXd& p,
                                                          const ActiveColumns& active,
                                                          const std::vector<int>& columns) const {
  const Island& island = islands_[index];
  PressedRows to;
  for (std::size_t i = 0; i < island.touches.size(); ++i) {
    if (island.problem.contacts[i].mode == ContactProblem::Mode::open) continue;
    to.touches.push_back(static_cast<int>(i));
  }
  const auto n = static_cast<Eigen::Index>(model_->islands()[index].dofs.size());
  const auto rows = static_cast<Eigen::Index>(3 * to.touches.size());
  const auto parameters = static_cast<Eigen::Index>(columns.size());
  to.local.assign(active.columns().size(), -1);
  for (std::size_t c = 0; c < columns.size(); ++c) to.local[columns[c]] = static_cast<int>(c);
  to.q.setZero(rows, n);
  to.u.setZero(rows, n);
  to.p.setZero(rows, parameters);
  to.load.setZero(n, parameters);
  const ParameterColumns listed(active.column_of());
  std::vector<GapSlope> shape;
  for (std::size_t a = 0; a < to.touches.size(); ++a) {
    const Touch& touch = island.touches[to.touches[a]];
    if (!touch.bounces) continue;
    const Gap& gap = touch.gap;
    const auto at = static_cast<Eigen::Index>(3 * a);
    const Vector3d by_bound = island.problem.law(to.touches[a]).by_bound;
    const Moves move = moves(touch);
    to.q.middleRows<3>(at) -= touch.restitution * by_bound *
                              (touch.before.transpose() * move.n + gap.n.transpose() * move.w);
    to.u.middleRows<3>(at) -=
        touch.restitution * by_bound * island.J.col(3 * to.touches[a]).transpose();
    const int bounce = listed.column(touch.element->restitution_parameter());
    if (bounce >= 0) {
      to.p.block<3, 1>(at, to.local[bounce]) -= touch.share * by_bound * gap.n.dot(touch.before);
    }
    shape.clear();
    touch.element->gap_slopes(gap, prev, p, listed, shape);
    for (const GapSlope& by : shape) {
      const ShapeMotion motion = shape_motion(gap, by, turning(gap));
      to.p.block<3, 1>(at, to.local[listed.column(by.parameter)]) -=
          touch.restitution * by_bound * (motion.n.dot(touch.before) + gap.n.dot(motion.velocity));
    }
  }
  return to;
}

// At the twists of its end.
void VelocityStepper::add_rows_after(int index, const State& prev, const VectorXd& p,
                                     const ActiveColumns& active, PressedRows& to) const {
  const Island& island = islands_[index];
  const ParameterColumns listed(active.column_of());
  std::vector<GapSlope> shape;
  for (std::size_t a = 0; a < to.touches.size(); ++a) {
    const int i = to.touches[a];
    const Touch& touch = island.touches[i];
    const auto at = static_cast<Eigen::Index>(3 * a);
    const ContactProblem::Law law = island.problem.law(i);
    const Vector3d w = relative_velocity(touch);
    const Matrix3d turn = touch.B.transpose() * skew(w) * turn_of_axes(touch.B);  // dB^T w by dn
    const Moves move = moves(touch);
    to.q.middleRows<3>(at) += law.by_c * (touch.B.transpose() * move.w + turn * move.n);
    if (!touch.bounces) to.q.middleRows<3>(at) += law.by_bound * (touch.by_gap * move.g);
    const int friction = listed.column(touch.element->friction_parameter());
    if (friction >= 0) to.p.block<3, 1>(at, to.local[friction]) += law.by_mu;
    shape.clear();
    touch.element->gap_slopes(touch.gap, prev, p, listed, shape);
    const Vector3d P = touch.B * island.problem.lambda.segment<3>(3 * i);
    for (const GapSlope& by : shape) {
      const int column = to.local[listed.column(by.parameter)];
      const ShapeMotion motion = shape_motion(touch.gap, by, turning(touch.gap));
      to.p.block<3, 1>(at, column) +=
          law.by_c * (touch.B.transpose() * motion.velocity + turn * motion.n);
      if (!touch.bounces) to.p.block<3, 1>(at, column) += law.by_bound * (touch.by_gap * motion.g);
      const Vector3d turned = skew(P) * turn_of_axes(touch.B) * motion.n;
      to.load.col(column) -= island.J.middleCols<3>(3 * i) * (touch.B.transpose() * turned);
      add_moment(touch.gap.node, motion.place.cross(P), column, to.load);
      add_moment(touch.gap.carrier, -motion.place.cross(P), column, to.load);
    }
  }
}

void VelocityStepper::add_moment(int node, const Vector3d& moment, int column,
                                 MatrixXd& load) const {
  at_.each_axis_of(node, [&](int dof, const Vector6& S, int) {
    load(model_->place_of(dof), column) += S.head<3>().dot(moment);
  });
}

void VelocityStepper::eliminate(int index, PressedRows& pressed, Slopes& to) {
  if (pressed.touches.empty()) return;
  const Island& island = islands_[index];
  const ContactProblem& problem = island.problem;
  clear_driven(*model_, index, pressed.load);
  island.M.solve(pressed.load);
  to.p += pressed.load;
  const auto n = to.q.rows(), rows = pressed.q.rows(), parameters = to.p.cols();
  MatrixXd H(n, rows), J(rows, n);
  std::vector<ContactProblem::Law> laws;
  for (std::size_t a = 0; a < pressed.touches.size(); ++a) {
    const auto at = static_cast<Eigen::Index>(3 * a);
    const int i = pressed.touches[a];
    laws.push_back(problem.law(i));
    H.middleCols<3>(at) = island.H.middleCols<3>(3 * i);
    J.middleRows<3>(at) = laws[a].by_c * island.J.middleCols<3>(3 * i).transpose();
  }
  for (Eigen::Index c = 0; c < rows; ++c) island.M.solve_lower(H.col(c).data());
  MatrixXd impulse(rows, 2 * n + parameters);
  impulse.leftCols(n) = pressed.q + J * to.q;
  impulse.middleCols(n, n) = pressed.u + J * to.u;
  impulse.rightCols(parameters) = pressed.p + J * to.p;
  impulse = problem.slopes(pressed.touches, laws).partialPivLu().solve(impulse).eval();
  to.q.noalias() -= H * impulse.leftCols(n);
  to.u.noalias() -= H * impulse.middleCols(n, n);
  to.p.noalias() -= H * impulse.rightCols(parameters);
}

}  // namespace diffsim
