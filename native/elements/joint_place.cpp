// Where a joint is in its bodies, and derivatives by that.
#include "../rotation.hpp"
#include "joint.hpp"

namespace diffsim {
namespace {

Vector3d three(const VectorXd& p, int first, const Vector3d& without) {
  return first < 0 ? without : Vector3d(p.segment<3>(first));
}

}  // namespace

std::array<JointPlace, 2> Joint::place(const VectorXd& p) const {
  const Vector3d zero = Vector3d::Zero(), a = start_.axes[0].col(2);
  const Vector3d theta = three(p, params_.axis_rotation, zero);
  const Vector3d moved = three(p, params_.position, start_.position) - start_.position;
  std::array<JointPlace, 2> at;
  if (theta.isZero(0) && moved.isZero(0)) {  // as in the file: this is asked several times a step
    for (int m = 0; m < 2; ++m) at[m] = {three(p, params_.anchor[m], zero), start_.own_axes[m]};
    return at;
  }
  const Matrix3d turn = exp_rotation(theta);
  for (int m = 0; m < 2; ++m) {
    const Matrix3d inverse = start_.R[m].transpose();
    const Vector3d slid = m == 1 ? Vector3d(start_.displacement * (turn * a - a)) : zero;
    at[m] = {three(p, params_.anchor[m], zero) + inverse * (moved + slid),
             inverse * (turn * start_.axes[m])};
  }
  return at;
}

Matrix12 Joint::place_by_parameters(const State& s, const VectorXd& p) const {
  const Vector3d theta = three(p, params_.axis_rotation, Vector3d::Zero());
  const Vector3d slid = start_.displacement * (exp_rotation(theta) * start_.axes[0].col(2));
  const Matrix3d by_theta = left_jacobian(theta);
  Matrix12 Y = Matrix12::Zero();
  for (int m = 0; m < 2; ++m) {
    const Matrix3d R = nodes_.pose(m, s).R, since = R * start_.R[m].transpose();
    Y.block<3, 3>(6 * m, 0) = since;
    Y.block<3, 3>(6 * m, 3 + 3 * m) = R;
    Y.block<3, 3>(6 * m + 3, 9) = since * by_theta;
    if (m == 1) Y.block<3, 3>(6, 9) = -since * skew(slid) * by_theta;
  }
  return Y;
}

bool Joint::place_is_active(const ParameterColumns& out) const {
  for (const int first :
       {params_.position, params_.anchor[0], params_.anchor[1], params_.axis_rotation}) {
    for (int i = 0; first >= 0 && i < 3; ++i) {
      if (out.column(first + i) >= 0) return true;
    }
  }
  return false;
}

CoordinateSlopes Joint::coordinate_by_place(const State& s, const VectorXd& p) const {
  const JointPose j(nodes_, place(p), s);
  CoordinateSlopes by = kind_.coordinate == JointKind::Coordinate::angle
                            ? joint_angle_place(joint_angle(j))
                            : joint_displacement_place(j);
  const Matrix12 Y = place_by_parameters(s, p);
  return {Y.transpose() * by.q, Y.transpose() * by.rate, by.g * Y};
}

int Joint::place_parameter(int k) const {
  const int first[] = {params_.position, params_.anchor[0], params_.anchor[1],
                       params_.axis_rotation};
  return first[k / 3] < 0 ? -1 : first[k / 3] + k % 3;
}

void Joint::add_place_slopes(int row, const MatrixXd& dy, OutputJacobian& by) const {
  for (int k = 0; k < 12; ++k) by.add_p(row, place_parameter(k), dy.col(k));
}

void Joint::add_place_columns(const Matrix12& df, ParameterColumns& out) const {
  for (int k = 0; k < 12; ++k) {
    const int column = out.column(place_parameter(k));
    if (column >= 0) nodes_.add(Vector12(df.col(k)), column, out);
  }
}

void Joint::add_coordinate_force(const State& s, const VectorXd& p, const JointCoordinate& at,
                                 double phi, double by_q, double by_rate,
                                 const Assembly& out) const {
  if (acts_on_freedom()) return add_freedom_force(freedom_, phi, by_q, by_rate, out);
  diffsim::add_coordinate_force(nodes_, at, phi, by_q, by_rate, out);
  if (!out.columns || !place_is_active(*out.columns)) return;
  const CoordinateSlopes by = coordinate_by_place(s, p);
  const Vector12 by_phi = by_q * by.q + by_rate * by.rate;
  add_place_columns(at.g * by_phi.transpose() + phi * by.g, *out.columns);
}

JointCoordinate Joint::driven_coordinate(const State& s, const VectorXd& p) const {
  if (!acts_on_freedom()) return coordinate(s, p);
  JointCoordinate at;
  at.q = freedom_.q(s);
  at.rate = freedom_.rate(s);
  return at;
}

void Joint::add_coordinate_column(const JointCoordinate& at, double dphi, int parameter,
                                  ParameterColumns& out) const {
  if (acts_on_freedom()) return add_freedom_column(freedom_, dphi, parameter, out);
  const int column = out.column(parameter);
  if (column >= 0) nodes_.add(dphi * at.g, column, out);
}

void Joint::add_coordinate_slopes(int row, const State& s, const VectorXd& p,
                                  const JointCoordinate& at, double by_q, double by_rate,
                                  OutputJacobian& by) const {
  if (acts_on_freedom()) {
    using Number = Eigen::Matrix<double, 1, 1>;
    by.add_x(row, freedom_.dof, Number(freedom_.ratio * by_q));
    by.add_v(row, freedom_.dof, Number(freedom_.ratio * by_rate));
    return;
  }
  nodes_.each_part(by_q * at.g + by_rate * at.rate_x,
                   [&](int dof, const auto& J) { by.add_x(row, dof, J.eval()); });
  nodes_.each_part(by_rate * at.g, [&](int dof, const auto& J) { by.add_v(row, dof, J.eval()); });
  const CoordinateSlopes place = coordinate_by_place(s, p);
  add_place_slopes(row, (by_q * place.q + by_rate * place.rate).transpose(), by);
}

}  // namespace diffsim
