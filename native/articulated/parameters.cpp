// Derivatives of inverse dynamics by inertial parameters and by the places of joints.
#include <algorithm>

#include "derivatives.hpp"

namespace diffsim {
namespace {

// L(a)^T s, where I a = L(a) (xx, yy, zz, xy, xz, yz).
DIFFSIM_INLINE Vector6 inertia_row(const Vector3d& a, const Vector3d& s) {
  Vector6 row;
  row << a.x() * s.x(), a.y() * s.y(), a.z() * s.z(), a.y() * s.x() + a.x() * s.y(),
      a.z() * s.x() + a.x() * s.z(), a.z() * s.y() + a.y() * s.z();
  return row;
}

// S . (I a + v x* I v) by the ten parameters of I, all in the link's frame: the force is
// m b + dw x h + w x (w x h), the moment I dw + w x I w + h x b, with b = a.v + w x v.
Vector10 regressor_row(const MotionVector& S, const MotionVector& v, const MotionVector& a) {
  const Vector3d b = a.v + v.w.cross(v.v);
  Vector10 row;
  row[0] = S.v.dot(b);
  row.segment<3>(1) = S.v.cross(a.w) + v.w.cross(v.w.cross(S.v)) + b.cross(S.w);
  row.tail<6>() = inertia_row(a.w, S.w) + inertia_row(v.w, S.w.cross(v.w));
  return row;
}

void add_inertial(const TreeBodies& bodies, const DynamicsWorkspace& work, int link, int columns,
                  double* out) {
  const LinkPlace& place = bodies.places[link];
  const BodyState& state = work.states[place.body];
  const Plxb pose = Plxb{state.R, state.r} * place.pose;
  const MotionVector v = apply(pose, state.v), a = apply(pose, state.a);
  for (int b = place.body; b >= 0; b = bodies.bodies[b].parent) {
    const TreeBody& body = bodies.bodies[b];
    for (int k = body.first; k < body.first + body.count; ++k) {
      const Vector10 row = regressor_row(apply(pose, work.coordinates[k].S), v, a);
      double* at = out + static_cast<std::ptrdiff_t>(bodies.velocity_index[k]) * columns;
      std::copy(row.data(), row.data() + 10, at + 10 * link);
    }
  }
}

// The carrier of a joint: pose of its link, in whose axes places are, and its motion.
struct LinkCarrier {
  Plxb link;
  Vector3d joint;  // the joint frame's origin
  MotionVector v, a;
};

LinkCarrier carrier_of(const Tree& tree, const TreeBodies& bodies, const DynamicsWorkspace& work,
                       int joint) {
  LinkCarrier found;
  carried(bodies, bodies.bodies[bodies.places[joint].body], work, found.v, found.a);
  if (const int parent = tree.joint(joint).parent; parent >= 0) {
    const LinkPlace& place = bodies.places[parent];
    const BodyState& state = work.states[place.body];
    found.link = Plxb{state.R, state.r} * place.pose;
  } else {
    found.link.r = -work.origin;
  }
  found.joint = found.link.E * tree.joint(joint).r + found.link.r;
  return found;
}

// As a coordinate of a joint that stands still before this one, equations (3) and (4).
void add_place(const Tree& tree, const TreeBodies& bodies, const DynamicsWorkspace& work, int joint,
               int columns, double* out) {
  const int own = bodies.places[joint].body;
  const TreeBody& body = bodies.bodies[own];
  const Composite& c = work.composites[own];
  const LinkCarrier carrier = carrier_of(tree, bodies, work, joint);
  for (int m = 0; m < 6; ++m) {
    const Vector3d axis = carrier.link.E.col(m % 3);
    const MotionVector S = m < 3 ? MotionVector{axis, carrier.joint.cross(axis)}
                                 : MotionVector{Vector3d::Zero(), axis};
    const MotionVector first = crossm(carrier.v, S);
    const MotionVector second = crossm(carrier.a, S) + crossm(carrier.v, first);
    const ForceVector F =
        crossf(S, c.f) + c.I * second + ForceVector{c.K * first.w, first.w.cross(c.p)};
    double* column = out + 6 * joint + m;
    for (int k = body.first; k < body.end_coordinate; ++k) {
      const Slopes& s = work.slopes[k];
      column[static_cast<std::ptrdiff_t>(bodies.velocity_index[k]) * columns] =
          dot(second, s.T) + s.W.dot(first.w);
    }
    for (int b = body.parent; b >= 0; b = bodies.bodies[b].parent) {
      const TreeBody& other = bodies.bodies[b];
      for (int k = other.first; k < other.first + other.count; ++k) {
        column[static_cast<std::ptrdiff_t>(bodies.velocity_index[k]) * columns] =
            dot(work.coordinates[k].S, F);
      }
    }
  }
}

}  // namespace

void parameter_derivatives(const Tree& tree, const TreeBodies& bodies, DynamicsWorkspace& work,
                           const double* q, const double* qd, const double* qdd, double* inertial,
                           double* places, double* lengths) {
  const int n = bodies.coordinates(), links = tree.size();
  place_forces(bodies, work, q, qd, qdd);
  if (inertial) {
    std::fill(inertial, inertial + static_cast<std::ptrdiff_t>(n) * 10 * links, 0.0);
    for (int link = 0; link < links; ++link) add_inertial(bodies, work, link, 10 * links, inertial);
  }
  if (!places) return;
  std::fill(places, places + static_cast<std::ptrdiff_t>(n) * 6 * links, 0.0);
  for (int joint = 0; joint < links; ++joint) {
    add_place(tree, bodies, work, joint, 6 * links, places);
    const Vector3d& r = tree.joint(joint).r;
    const Vector3d along = r.norm() > 0 ? Vector3d(r.normalized()) : r;
    for (int i = 0; lengths && i < n; ++i) {
      const double* row = places + (static_cast<std::ptrdiff_t>(i) * links + joint) * 6;
      lengths[static_cast<std::ptrdiff_t>(i) * links + joint] =
          Eigen::Map<const Vector3d>(row + 3).dot(along);
    }
  }
}

}  // namespace diffsim
