// Builders of contacts: names, refusals and parameters.
#include <algorithm>
#include <cmath>

#include "../bodies/rigid_body.hpp"
#include "../scene.hpp"
#include "contact.hpp"

namespace diffsim {
namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

Carrier carrier_of(const Scene& scene, const std::string& place, const std::string& carrier) {
  if (carrier.empty()) return {};
  const Body& body = scene.body(carrier);
  if (body.kind() != NodeKind::frame) {
    refuse(place + ": carrier", "must be a rigid body or a kinematic body", quoted(carrier),
           "obstacles do not deform: contact between two deformable bodies, or of one with "
           "itself, is not modelled");
  }
  const Node& node = scene.nodes()[body.node()];
  return {body.node(), node.dof, node.frame};
}

void check_points(const std::string& place, const ContactSet& set, const PointSet& points,
                  int carrier) {
  if (carrier < 0 && std::count(points.node.begin(), points.node.end(), -1) > 0) {
    refuse(place + ": points", "must all be on bodies", "points fixed to the world",
           "only an sdf with a carrier can meet those");
  }
  if (carrier < 0) return;
  const auto own = std::find(points.node.begin(), points.node.end(), carrier);
  if (own != points.node.end()) {
    refuse(place + ": carrier", "must not carry points of the set itself",
           "point " + std::to_string(own - points.node.begin()) + " of " + quoted(set.points) +
               " on " + quoted(set.carrier),
           "leave such points out (add_subset)");
  }
}

VectorXd weights_of(const std::string& place, const VectorXd& given, int count) {
  if (given.size() == 0) return VectorXd::Constant(count, 1. / count);
  if (given.size() != count || !given.allFinite() || given.minCoeff() < 0 ||
      std::abs(given.sum() - 1) > 1e-9) {
    refuse(place + ": weights", "must be " + std::to_string(count) + " numbers >= 0 with sum 1",
           given.transpose());
  }
  return given;
}

/// The slope of rolling friction, 0 where there is none. Limits that are given as 0 are parameters
/// too, with the torque's derivative by them; where no sphere could have that torque they are none.
double rolling_slope_of(const std::string& place, const ContactLaw& law, const PointSet& points,
                        const VectorXd& p) {
  const bool zero = law.c_roll == 0 && law.c_spin == 0;
  if (!law.rolls) {
    if (law.k_roll == 0) return 0;
    refuse(place + ": k_roll", "goes with c_roll or c_spin only", law.k_roll);
  }
  for (int i = 0; i < points.size(); ++i) {
    if (points.on_frame(i)) continue;
    if (zero) return 0;
    refuse(place + ": c_roll, c_spin", "need points on rigid bodies or kinematic bodies",
           "point " + std::to_string(i) + " of " + quoted(points.name) + ", which cannot turn");
  }
  const double radius = points.radius(p);
  const double slope = law.k_roll != 0 ? law.k_roll : law.k_t * radius * radius;
  if (slope > 0 || zero) return slope;
  refuse(place + ": k_roll", "must be > 0 [N m s] where k_t radius^2 is 0", slope);
}

/// Mass [kg] that friction at each point has to stop, of both ends; 0 where both are driven. With
/// `turning` what the point itself feels, on average over the directions of surface and slip:
/// bodies of frames also turn.
VectorXd masses_of(const Scene& scene, const PointSet& points, int carrier, bool turning) {
  const VectorXd p = scene.values();
  const double radius = points.radius(p);
  std::vector<double> inverse, turn;  // per node: 1/m, tr(I^-1)/3; 0 = driven
  for (const auto& body : scene.bodies()) {
    for (const NodeMass& m : body->masses()) {
      inverse.push_back(m.mass < 0 ? 0 : 1 / m.value(p));
      const bool frame = m.inertia >= 0 && turning;
      turn.push_back(frame ? inertia_matrix(p.segment<6>(m.inertia)).inverse().trace() / 3 : 0);
    }
  }
  const State start = scene.start(p);
  VectorXd mass(points.size());
  for (int i = 0; i < points.size(); ++i) {
    const Vector3d x = points.position(i, start, p);
    double both = 0;
    for (const int node : {points.node[i], carrier}) {
      if (node < 0) continue;
      const double arm = (x - start.c.col(node)).squaredNorm();
      both += inverse[node] + turn[node] * (arm * 2 / 3 + (node == carrier ? 0 : radius * radius));
    }
    mass[i] = both > 0 ? 1 / both : 0;
  }
  return mass;
}

/// Nodes of soft bodies touch for a few steps only and move with their neighbours, so that a force
/// after a touch errs by more than one that sees its end.
FrictionEnd friction_end(const Scene& scene, const PointSet& points) {
  for (const auto& body : scene.bodies()) {
    const int first = body->node(), end = first + body->count();
    const auto inside = [&](int node) { return node >= first && node < end; };
    if (body->count() > 1 && std::any_of(points.node.begin(), points.node.end(), inside)) {
      return FrictionEnd::ahead;
    }
  }
  return FrictionEnd::after;
}

/// The checked direction of a contact that carries `share` of its law.
struct Direction {
  const PointSet* points;
  Carrier carrier;
  VectorXd weights, mass;
  FrictionEnd end;
};

Direction direction(const Scene& scene, const std::string& place, const ContactSet& set,
                    double share, Friction friction) {
  const PointSet& points = scene.point_set(set.points);
  if (!set.sdf) refuse(place + ": sdf", "must be given", "none");
  const Carrier carrier = carrier_of(scene, place, set.carrier);
  check_points(place, set, points, carrier.node);
  return {&points, carrier, share * weights_of(place, set.weights, points.size()),
          masses_of(scene, points, carrier.node, friction != Friction::hybrid),
          friction_end(scene, points)};
}

SurfaceParameters add_surface(ParameterTable& table, const std::string& name, const Sdf& sdf) {
  const int first = table.add(name + ".surface_offset", "m", 0, -kInfinity, kInfinity);
  table.add(name + ".surface_scale", "1", 1, 1e-9, kInfinity);
  for (const SdfSize& size : sdf.sizes()) {
    table.add(name + ".surface." + size.name, "m", size.value, size.lower, kInfinity);
  }
  return {first, 2 + static_cast<int>(sdf.sizes().size())};
}

}  // namespace

void add_contact(Scene& scene, const std::string& name, const ContactSet& set,
                 const ContactLaw& law) {
  const std::string place = "contact '" + name + "'";
  check_law(place, law);
  scene.check_new("contact", name);
  Direction side = direction(scene, place, set, 1, law.friction);
  ContactLaw own = law;
  own.k_roll = rolling_slope_of(place, law, *side.points, scene.values());
  const ContactParameters params = add_law(scene.table(), name, own);
  const SurfaceParameters surface = add_surface(scene.table(), name, *set.sdf);
  scene.add_contact(std::make_unique<Contact>(name, side.points, set.sdf, side.carrier,
                                              std::move(side.weights), std::move(side.mass),
                                              side.end, params, surface));
}

void add_contact_pair(Scene& scene, const std::string& name, const ContactSet& a,
                      const ContactSet& b, const ContactLaw& law) {
  check_law("contact '" + name + "'", law);
  scene.check_new("contact", name);
  const ContactSet* set[2] = {&a, &b};
  const char* end[2] = {".a", ".b"};
  Direction side[2];
  for (int m = 0; m < 2; ++m) {
    const std::string place = "contact '" + name + end[m] + "'";
    if (set[m]->carrier.empty()) {
      refuse(place + ": carrier", "must name a body", "''", "a fixed obstacle takes add_contact");
    }
    side[m] = direction(scene, place, *set[m], 0.5, law.friction);
  }
  for (int m = 0; m < 2; ++m) {
    const auto& node = side[m].points->node;
    if (std::count(node.begin(), node.end(), side[1 - m].carrier.node) != side[m].points->size()) {
      refuse("contact '" + name + end[m] + "': points",
             "must all be on " + quoted(set[1 - m]->carrier) + ", which carries the other sdf",
             quoted(set[m]->points));
    }
  }
  ContactLaw own = law;
  own.k_roll = 0;
  for (int m = 0; m < 2; ++m) {
    const std::string place = "contact '" + name + end[m] + "'";
    own.k_roll =
        std::max(own.k_roll, rolling_slope_of(place, law, *side[m].points, scene.values()));
  }
  const ContactParameters params = add_law(scene.table(), name, own);
  for (int m = 0; m < 2; ++m) {
    scene.add_contact(std::make_unique<Contact>(name + end[m], side[m].points, set[m]->sdf,
                                                side[m].carrier, std::move(side[m].weights),
                                                std::move(side[m].mass), side[m].end, params));
  }
}

}  // namespace diffsim
