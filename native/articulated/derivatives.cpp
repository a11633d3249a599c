#include "derivatives.hpp"

#include <algorithm>

namespace diffsim {
namespace {

// B S of a composite, and B^T S, whose linear part is 0.
DIFFSIM_INLINE ForceVector coriolis(const Composite& c, const Vector3d& angular) {
  return {c.K * angular, angular.cross(c.p)};
}
DIFFSIM_INLINE Vector3d coriolis_transposed(const Composite& c, const MotionVector& S) {
  return c.K.transpose() * S.w + c.p.cross(S.v);
}

// K and p of one body: Q = v h^T + [w]x P, with second moments P = tr(I)/2 1 - I.
DIFFSIM_INLINE void begin_composite(const BodyState& state, Composite& c) {
  const Symmetric3& I = state.I.I;
  const Vector3d &w = state.v.w, &v = state.v.v, &h = state.I.h;
  const double half = 0.5 * (I.xx + I.yy + I.zz);
  const Vector3d x(half - I.xx, -I.xy, -I.xz), y(-I.xy, half - I.yy, -I.yz);
  const Vector3d z(-I.xz, -I.yz, half - I.zz);
  c.K.col(0) = -2 * (h.x() * v + w.cross(x));
  c.K.col(1) = -2 * (h.y() * v + w.cross(y));
  c.K.col(2) = -2 * (h.z() * v + w.cross(z));
  const double trace = 2 * h.dot(v);
  for (int k = 0; k < 3; ++k) c.K(k, k) += trace;
  c.p = 2 * (state.I.m * v + w.cross(h));
  c.f = state.f;
}

DIFFSIM_INLINE void add(Composite& to, const Composite& c) {
  to.f += c.f;
  to.K += c.K;
  to.p += c.p;
}

// Of body i: how its unit motions change the velocities and accelerations of what they carry.
DIFFSIM_INLINE void begin_slopes(const TreeBodies& tree, int i, DynamicsWorkspace& work) {
  const TreeBody& body = tree.bodies[i];
  MotionVector v, a;
  carried(tree, body, work, v, a);
  for (int k = body.first; k < body.first + body.count; ++k) {
    const MotionVector& S = work.coordinates[k].S;
    Slopes& s = work.slopes[k];
    s.first = crossm(v, S);
    s.second = crossm(a, S) + crossm(v, s.first);
    // A spherical joint's axes turn with the child.
    s.sum = s.first + (body.count == 1 ? s.first : crossm(work.states[i].v, S));
  }
}

// Forces by unit motions of body i: its composite is summed.
DIFFSIM_INLINE void end_slopes(const TreeBody& body, const Composite& c, DynamicsWorkspace& work) {
  for (int k = body.first; k < body.first + body.count; ++k) {
    const MotionVector& S = work.coordinates[k].S;
    Slopes& s = work.slopes[k];
    s.F = c.I * s.second + coriolis(c, s.first.w) + crossf(S, c.f);
    s.G = c.I * s.sum + coriolis(c, S.w);
    s.W = coriolis_transposed(c, S);
  }
}

// Rows and columns of body's coordinates: equations (3) to (5). T is known.
DIFFSIM_INLINE void add_pairs(const TreeBody& body, DynamicsWorkspace& work, double* by_q,
                              double* by_qd, int stride) {
  const int* above = work.above.data();
  for (int i = body.first; i < body.first + body.count; ++i) {
    const Slopes s = work.slopes[i];
    double *row_q = by_q + i * stride, *row_qd = by_qd + i * stride;
    for (int j = body.first; j < body.first + body.count; ++j) {
      const Slopes& other = work.slopes[j];
      row_q[j] = dot(other.second, s.T) + s.W.dot(other.first.w);
      row_qd[j] = dot(other.sum, s.T) + s.W.dot(work.coordinates[j].S.w);
    }
    for (int j = above[body.first]; j >= 0; j = above[j]) {
      const Slopes& other = work.slopes[j];
      const MotionVector& S = work.coordinates[j].S;
      row_q[j] = dot(other.second, s.T) + s.W.dot(other.first.w);
      row_qd[j] = dot(other.sum, s.T) + s.W.dot(S.w);
      by_q[j * stride + i] = dot(S, s.F);
      by_qd[j * stride + i] = dot(S, s.G);
    }
  }
}

// T, and the mass matrix's rows, of body's coordinates; its composite inertia is summed.
DIFFSIM_INLINE void add_mass(const TreeBody& body, const Composite& c, DynamicsWorkspace& work) {
  const int* above = work.above.data();
  for (int i = body.first; i < body.first + body.count; ++i) {
    const ForceVector T = c.I * work.coordinates[i].S;
    work.slopes[i].T = T;
    double* row = &work.factor(i, 0);
    row[i] = dot(work.coordinates[i].S, T) + body.armature;
    for (int j = above[i]; j >= 0; j = above[j]) row[j] = dot(work.coordinates[j].S, T);
  }
}

// From the order of bodies to that of the tree.
void reorder(const TreeBodies& tree, const double* from, int stride, double* to) {
  const int n = tree.coordinates();
  if (tree.in_order) {
    for (int i = 0; i < n; ++i) std::copy(from + i * stride, from + i * stride + n, to + i * n);
    return;
  }
  for (int i = 0; i < n; ++i) {
    double* row = to + static_cast<std::ptrdiff_t>(tree.velocity_index[i]) * n;
    for (int j = 0; j < n; ++j) row[tree.velocity_index[j]] = from[i * stride + j];
  }
}

}  // namespace

void place_forces(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                  const double* qd, const double* qdd) {
  const int count = tree.size();
  for (int i = 0; i < count; ++i) {
    move_body(tree, i, work, q, qd, qdd);
    begin_composite(work.states[i], work.composites[i]);
    work.composites[i].I = work.states[i].I;
  }
  for (int i = count - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const Composite& c = work.composites[i];
    for (int k = body.first; k < body.first + body.count; ++k) {
      work.slopes[k].T = c.I * work.coordinates[k].S;
      work.slopes[k].W = coriolis_transposed(c, work.coordinates[k].S);
    }
    if (body.parent < 0) continue;
    work.composites[body.parent].I += c.I;
    add(work.composites[body.parent], c);
  }
}

void inverse_dynamics_derivatives(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                                  const double* qd, const double* qdd, double* tau, double* by_q,
                                  double* by_qd, double* M) {
  const int count = tree.size(), n = tree.coordinates(), stride = 2 * n;
  double* right = work.right.data();
  std::fill(right, right + static_cast<std::ptrdiff_t>(n) * stride, 0.0);
  for (int i = 0; i < count; ++i) {
    move_body(tree, i, work, q, qd, qdd);
    begin_slopes(tree, i, work);
    begin_composite(work.states[i], work.composites[i]);
    work.composites[i].I = work.states[i].I;
  }
  for (int i = count - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const Composite& c = work.composites[i];
    for (int k = 0; k < body.count; ++k) {
      const int at = body.velocity_at + k;
      tau[at] = dot(work.coordinates[body.first + k].S, c.f) + body.armature * qdd[at];
    }
    add_mass(body, c, work);
    end_slopes(body, c, work);
    add_pairs(body, work, right, right + n, stride);
    if (body.parent < 0) continue;
    work.composites[body.parent].I += c.I;
    add(work.composites[body.parent], c);
  }
  reorder(tree, right, stride, by_q);
  reorder(tree, right + n, stride, by_qd);
  std::fill(M, M + static_cast<std::ptrdiff_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    const int row = tree.velocity_index[i];
    for (int j = i; j >= 0; j = tree.above[j]) {
      const int column = tree.velocity_index[j];
      M[row * n + column] = M[column * n + row] = work.factor(i, j);
    }
  }
}

void forward_dynamics_derivatives(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                                  const double* qd, const double* tau, double* qdd, double* by_q,
                                  double* by_qd, double* by_tau) {
  const int count = tree.size(), n = tree.coordinates(), stride = 3 * n;
  double* right = work.right.data();
  double* found = work.values.data();
  std::fill(right, right + static_cast<std::ptrdiff_t>(n) * stride, 0.0);
  // Without joint accelerations first: M qdd = tau - S . f.
  for (int i = 0; i < count; ++i) {
    move_body(tree, i, work, q, qd, nullptr);
    work.composites[i].I = work.states[i].I;
    work.composites[i].f = work.states[i].f;
  }
  for (int i = count - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const Composite& c = work.composites[i];
    add_mass(body, c, work);
    for (int k = 0; k < body.count; ++k) {
      found[body.first + k] =
          tau[body.velocity_at + k] - dot(work.coordinates[body.first + k].S, c.f);
    }
    if (body.parent < 0) continue;
    work.composites[body.parent].I += c.I;
    work.composites[body.parent].f += c.f;
  }
  factor_mass_matrix(work);
  solve_mass_matrix(work, found, 1, 1);
  // Then with them. `more` is what they add to a body's acceleration.
  for (int i = 0; i < count; ++i) {
    const TreeBody& body = tree.bodies[i];
    BodyState& state = work.states[i];
    begin_slopes(tree, i, work);
    MotionVector& more = work.added[i];
    more = body.parent >= 0 ? work.added[body.parent] : MotionVector{};
    for (int k = body.first; k < body.first + body.count; ++k) {
      more += work.coordinates[k].S * found[k];
    }
    state.a += more;
    state.f += state.I * more;
    begin_composite(state, work.composites[i]);
  }
  for (int i = count - 1; i >= 0; --i) {
    const TreeBody& body = tree.bodies[i];
    const Composite& c = work.composites[i];
    end_slopes(body, c, work);
    add_pairs(body, work, right, right + n, stride);
    if (body.parent >= 0) add(work.composites[body.parent], c);
  }
  for (int i = 0; i < n; ++i) {
    double* row = right + static_cast<std::ptrdiff_t>(i) * stride;
    for (int j = 0; j < 2 * n; ++j) row[j] = -row[j];
    row[2 * n + i] = 1;
  }
  solve_mass_matrix(work, right, stride, stride);
  for (int i = 0; i < n; ++i) qdd[tree.velocity_index[i]] = found[i];
  reorder(tree, right, stride, by_q);
  reorder(tree, right + n, stride, by_qd);
  reorder(tree, right + 2 * n, stride, by_tau);
}

}  // namespace diffsim
