#include "dynamics.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
void inverse_dynamics(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, const double* qdd, double* tau) {
  const int n = tree.size();
  for (int i = 0; i < n; ++i) move_body(tree, i, work, q, qd, qdd);
  for (int i = n - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const ForceVector& f = work.states[i].f;
    for (int k = 0; k < body.count; ++k) {
      const int at = body.velocity_at + k;
      tau[at] = dot(work.coordinates[body.first + k].S, f) + body.armature * qdd[at];
    }
    if (body.parent >= 0) work.states[body.parent].f += f;
  }
}

void forward_dynamics(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, const double* tau, double* qdd) {
  const int n = tree.size();
  for (int i = 0; i < n; ++i) {
    move_body(tree, i, work, q, qd, nullptr);
    work.articulated[i] = ArticulatedInertia(work.states[i].I);
  }
  for (int i = n - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    ArticulatedInertia& A = work.articulated[i];
    ForceVector& f = work.states[i].f;
    // A joint of several coordinates is as many joints in one place.
    for (int k = body.count - 1; k >= 0; --k) {
      Coordinate& c = work.coordinates[body.first + k];
      c.U = A * c.S;
      c.inverse = 1 / (dot(c.S, c.U) + body.armature);
      c.u = tau[body.velocity_at + k] - dot(c.S, f);
      if (body.parent < 0 && k == 0) continue;
      A.add_square(c.U, -c.inverse);
      f += c.U * (c.u * c.inverse);
    }
    if (body.parent < 0) continue;
    work.articulated[body.parent] += A;
    work.states[body.parent].f += f;
  }
  for (int i = 0; i < n; ++i) {
    const TreeBody& body = tree.bodies[i];
    // From here on `a` is what joint accelerations add.
    MotionVector a;
    if (body.parent >= 0) a = work.states[body.parent].a;
    for (int k = 0; k < body.count; ++k) {
      const Coordinate& c = work.coordinates[body.first + k];
      const double found = (c.u - dot(a, c.U)) * c.inverse;
      qdd[body.velocity_at + k] = found;
      a += c.S * found;
    }
    work.states[i].a = a;
  }
}

void place_composites(const TreeBodies& tree, DynamicsWorkspace& work, const double* q) {
  const int n = tree.size();
  for (int i = 0; i < n; ++i) {
    place_body(tree, i, q, work);
    work.composites[i].I = work.states[i].I = inertia_of(tree.bodies[i], work.states[i]);
  }
  for (int i = n - 1; i > 0; --i) {
    const int parent = tree.bodies[i].parent;
    if (parent >= 0) work.composites[parent].I += work.composites[i].I;
  }
}

void mass_matrix(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, double* M) {
  place_composites(tree, work, q);
  const int n = tree.coordinates();
  std::fill(M, M + static_cast<std::size_t>(n) * n, 0.0);
  for (int b = 0; b < tree.size(); ++b) {
    const TreeBody& body = tree.bodies[b];
    for (int k = 0; k < body.count; ++k) {
      const int i = body.first + k, row = tree.velocity_index[i];
      const ForceVector T = work.composites[b].I * work.coordinates[i].S;
      M[row * n + row] = dot(work.coordinates[i].S, T) + body.armature;
      for (int j = tree.above[i]; j >= 0; j = tree.above[j]) {
        const int column = tree.velocity_index[j];
        M[row * n + column] = M[column * n + row] = dot(work.coordinates[j].S, T);
      }
    }
  }
}

bool factor_mass_matrix(DynamicsWorkspace& work) {
  const int* above = work.above.data();
  bool positive = true;
  for (int k = static_cast<int>(work.above.size()) - 1; k >= 0; --k) {
    double* row = &work.factor(k, 0);
    const double inverse = 1 / row[k];
    positive = positive && row[k] > 0;
    work.diagonal[k] = inverse;
    for (int i = above[k]; i >= 0; i = above[i]) {
      const double share = row[i] * inverse;
      double* other = &work.factor(i, 0);
      for (int j = i; j >= 0; j = above[j]) other[j] -= share * row[j];
      row[i] = share;
    }
  }
  return positive;
}

double least_pivot(const TreeBodies& tree, DynamicsWorkspace& work, const double* q) {
  place_composites(tree, work, q);
  const int n = tree.coordinates();
  for (int b = 0; b < tree.size(); ++b) {
    const TreeBody& body = tree.bodies[b];
    for (int i = body.first; i < body.first + body.count; ++i) {
      const ForceVector T = work.composites[b].I * work.coordinates[i].S;
      work.factor(i, i) = work.values[i] = dot(work.coordinates[i].S, T) + body.armature;
      for (int j = tree.above[i]; j >= 0; j = tree.above[j]) {
        work.factor(i, j) = dot(work.coordinates[j].S, T);
      }
    }
  }
  if (!factor_mass_matrix(work)) return 0;
  double least = 1;
  for (int i = 0; i < n; ++i) {
    least = std::min(least, 1 / (work.diagonal[i] * work.values[i]));
  }
  return least;
}

void solve_mass_matrix(const DynamicsWorkspace& work, double* X, int columns, int stride) {
  const int n = static_cast<int>(work.above.size());
  const int* above = work.above.data();
  for (int i = n - 1; i >= 0; --i) {
    double* own = X + static_cast<std::ptrdiff_t>(i) * stride;
    for (int j = above[i]; j >= 0; j = above[j]) {
      const double share = work.factor(i, j);
      double* other = X + static_cast<std::ptrdiff_t>(j) * stride;
      for (int c = 0; c < columns; ++c) other[c] -= share * own[c];
    }
    for (int c = 0; c < columns; ++c) own[c] *= work.diagonal[i];
  }
  for (int i = 0; i < n; ++i) {
    double* own = X + static_cast<std::ptrdiff_t>(i) * stride;
    for (int j = above[i]; j >= 0; j = above[j]) {
      const double share = work.factor(i, j);
      const double* other = X + static_cast<std::ptrdiff_t>(j) * stride;
      for (int c = 0; c < columns; ++c) own[c] -= share * other[c];
    }
  }
}

}  // namespace diffsim
