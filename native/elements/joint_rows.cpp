// Constraint rows of a joint that holds exactly, and the forces of their multipliers.
#include "../scene.hpp"
#include "joint.hpp"

namespace diffsim {
namespace {

constexpr double kGravity = 9.81;  // [m/s^2], of the load that rows are compared with

// Whether a kind holds displacements along one of a's axes.
bool holds(const JointKind& kind, int axis) {
  return kind.translation.alpha + (axis == 2 ? kind.translation.beta : 0) != 0;
}

// -a_i.b_k: with both axes fixed in their bodies, n = a x b, its rate is n.w.
JointCoordinate minus_cosine(const JointPose& j, int i, int k) {
  const Vector3d a = j.A.col(i), b = j.B.col(k), n = a.cross(b);
  const Matrix3x12 n_x = cross_x(a, b);
  return {-a.dot(b), n.dot(j.w), spread_torque(n), spread_torque(n_x), n_x.transpose() * j.w};
}

}  // namespace

int Joint::held_rows(const State& s, const VectorXd& p, Row out[kMostRows]) const {
  const JointPose j(nodes_, place(p), s);
  int count = 0;
  for (int i = 0; i < 3; ++i) {
    if (holds(kind_, i)) out[count++] = {joint_displacement(j, i), false, i};
  }
  const auto across = [&](int i, int k) { out[count++] = {minus_cosine(j, i, k), true, -1}; };
  switch (kind_.pairs) {
    case JointKind::Pairs::none:
      break;
    case JointKind::Pairs::axis:
      across(0, 2);
      across(1, 2);
      break;
    case JointKind::Pairs::all:
      across(1, 2);
      across(2, 0);
      across(0, 1);
      break;
    case JointKind::Pairs::cross:
      across(2, 0);
      break;
  }
  return count;
}

bool Joint::turns(int row) const {
  int slides = 0;
  for (int i = 0; i < 3; ++i) slides += holds(kind_, i);
  return row >= slides;
}

CoordinateSlopes Joint::row_by_place(const Row& row, const State& s, const VectorXd& p) const {
  const JointPose j(nodes_, place(p), s);
  const CoordinateSlopes by =
      row.turns ? joint_angle_place(row.at) : joint_displacement_place(j, row.column);
  const Matrix12 Y = place_by_parameters(s, p);
  return {Y.transpose() * by.q, Y.transpose() * by.rate, by.g * Y};
}

std::vector<std::pair<int, int>> Joint::couplings() const {
  if (acts_on_freedom()) return {};
  auto pairs = nodes_.couplings();
  for (int m = 0; constrained() && m < 2; ++m) {
    if (nodes_.node(m) >= 0) pairs.emplace_back(nodes_.node(m), multipliers_.node);
  }
  return pairs;
}

void Joint::bind(const BlockPattern& pattern, const BlockPattern&) {
  if (acts_on_freedom()) return;
  nodes_.bind(pattern);
  for (int m = 0; constrained() && m < 2; ++m) {
    const int node = nodes_.node(m);
    if (node < 0) continue;
    down_[m] = pattern.index(node, multipliers_.node);
    up_[m] = pattern.index(multipliers_.node, node);
  }
}

void Joint::add_rows(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  Row row[kMostRows];
  held_rows(s, p, row);
  // A gap costs what it takes to close it in one step, over the load's own acceleration.
  const double weight = window.scheme.gamma[0] / (window.scheme.alpha * kGravity);
  const int count = static_cast<int>(multipliers_.rows.size());
  const bool place = out.columns && place_is_active(*out.columns);
  if (out.symmetric) *out.symmetric = false;
  for (int i = 0; i < count; ++i) {
    const Row& g = row[multipliers_.rows[i]];
    const double lambda = s.qdot[multipliers_.first + i];
    nodes_.add(lambda * g.at.g, *out.r);
    (*out.r)[multipliers_.dof + i] -= weight * g.at.q;
    if (out.K) {
      nodes_.add(Matrix12(lambda * g.at.g_x), *out.K);
      for (int m = 0; m < 2; ++m) {
        if (down_[m] < 0) continue;
        const int size = out.K->pattern->size[nodes_.node(m)];
        const auto part = g.at.g.segment(6 * m, size);
        VectorXd::Map(out.B->block(down_[m]) + i * size, size) -= part;
        double* up = out.K->block(up_[m]) + i;
        for (int k = 0; k < size; ++k) up[k * count] -= weight * part[k];
      }
    }
    if (!place) continue;
    const CoordinateSlopes by = row_by_place(g, s, p);
    add_place_columns(lambda * by.g, *out.columns);
    for (int k = 0; k < 12; ++k) {
      // Entries have three rows, of which here the last one counts.
      const int column = out.columns->column(place_parameter(k));
      if (column < 0) continue;
      out.columns->add(multipliers_.dof + i - 2, column, Vector3d(0, 0, -weight * by.q[k]));
    }
  }
}

}  // namespace diffsim
