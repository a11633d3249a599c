// Contact as hard contacts see it: gaps, normals and how they move with parameters of shape.
#include "contact.hpp"
#include "contact_touch.hpp"

namespace diffsim {

void Contact::check_hard() const {
  const std::string place = "contact '" + name() + "'";
  if (law_.f_0 >= 0) {
    refuse(place + ": f_0", "friction of hard contacts does not depend on the load", "f_0",
           "leave c_s and f_0 out, or take world.stepper: implicit");
  }
  if (rolls()) {
    refuse(place + ": c_roll, c_spin", "hard contacts have no rolling friction", "one",
           "leave them out, or take world.stepper: implicit");
  }
}

void Contact::gaps(const State& s, const VectorXd& p, double reach, double time,
                   std::vector<Gap>& out) const {
  const double radius = points_->radius(p);
  thread_local Near near;
  Touch t;
  for (int begin = 0; begin < points_->size(); begin += kChunk) {
    gather(begin, std::min(kChunk, points_->size() - begin), s, p, nullptr, near);
    sample(near.x, p, near.samples);
    for (std::size_t k = 0; k < near.point.size(); ++k) {
      t.point = near.point[k];
      t.sdf = near.samples[k];
      t.radius = radius;
      evaluate_geometry(s, p, t);
      const double g = t.sdf.g - radius;
      if (!(g < reach + time * t.w.norm())) continue;
      evaluate_tangent_velocity(t);
      const Vector3d x = t.rho + (t.node >= 0 ? Vector3d(s.c.col(t.node)) : Vector3d::Zero());
      out.push_back({t.point, t.node, carrier_.node, g, t.node >= 0 && !t.frame ? 0 : radius, x,
                     t.sdf.n, t.m, t.m_x, t.sdf.region});
    }
  }
}

void Contact::gap_slopes(const Gap& gap, const State& s, const VectorXd& p,
                         const ParameterColumns& active, std::vector<GapSlope>& out) const {
  const Vector3d zero = Vector3d::Zero();
  if (points_->on_frame(gap.point)) {
    if (active.column(points_->p_scale) >= 0) {
      out.push_back({points_->p_scale, 0, zero, points_->arm_by_scale(gap.point, s), 0});
    }
    if (active.column(points_->p_radius) >= 0) {
      out.push_back({points_->p_radius, 0, zero, points_->arm_by_radius(gap.point, s), 1});
    }
  } else if (active.column(points_->p_radius) >= 0) {
    out.push_back({points_->p_radius, 0, zero, zero, 1});
  }
  if (!sizes_wanted(active)) return;
  const std::vector<SizeSlope> by = surface_slopes(gap.point, s, p);
  const double length = gap.slope.norm();
  for (int k = 0; k < surface_.count; ++k) {
    if (active.column(surface_.first + k) < 0) continue;
    const Vector3d turned = (by[k].n - gap.n * gap.n.dot(by[k].n)) / length;
    out.push_back({surface_.first + k, by[k].g, turned, zero, 0});
  }
}

template <class F>
void Contact::for_each_hard(const State& s, F&& f) const {
  for (const HardContact& hard : s.hard) {
    const int i = hard.point - first_point();
    if (i >= 0 && i < points_->size()) f(i, hard);
  }
}

void Contact::add_hard(const State& s, bool normals, VectorXd& r) const {
  for_each_hard(s, [&](int i, const HardContact& hard) {
    const Vector3d f = normals ? hard.normal : hard.force;
    if (points_->node[i] >= 0) {
      add_force(*points_, i, f, hard.place - s.c.col(points_->node[i]), r);
    }
    if (carrier_.node < 0) return;
    const Vector3d arm = hard.place - s.c.col(carrier_.node);
    r.segment<3>(carrier_.dof) += f;
    r.segment<3>(carrier_.dof + 3) += arm.cross(f);
  });
}

void Contact::hard_forces(const State& s, Matrix3X& force, Matrix3X& point) const {
  for_each_hard(s, [&](int i, const HardContact& hard) {
    force.col(i) = hard.force;
    point.col(i) = hard.place;
  });
}

void Contact::hard_modes(const State& s, std::uint16_t* out) const {
  for_each_hard(s, [&](int i, const HardContact& hard) { out[i] = hard.code; });
}

}  // namespace diffsim
