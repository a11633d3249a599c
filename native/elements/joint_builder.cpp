#include <cmath>

#include "../rotation.hpp"
#include "../scene.hpp"
#include "joint.hpp"

namespace diffsim {
namespace {

using Pairs = JointKind::Pairs;
using FreeCoordinate = JointKind::Coordinate;

// Held translations, held (damped) rotations, then where friction_damping acts.
const JointKind kKinds[] = {
    {"ball", {1, 0}, {0, 0}, {0, 0}, {1, 0}, Pairs::none, FreeCoordinate::none},
    {"hinge", {1, 0}, {1, -1}, {0, 0}, {0, 1}, Pairs::axis, FreeCoordinate::angle},
    {"slider", {1, -1}, {1, 0}, {0, 1}, {0, 0}, Pairs::all, FreeCoordinate::displacement},
    {"weld", {1, 0}, {1, 0}, {0, 0}, {0, 0}, Pairs::all, FreeCoordinate::none},
    {"planar", {0, 1}, {1, -1}, {0, 0}, {0, 1}, Pairs::axis, FreeCoordinate::angle},
    {"universal", {1, 0}, {0, 0}, {0, 0}, {1, 0}, Pairs::cross, FreeCoordinate::none}};

constexpr double kOpening = 1e-4;       // [m] at most ...
constexpr double kLoads = 10;           // ... at so many weights of the heavier link ...
constexpr double kReserve = 2;          // ... with this factor in hand
constexpr double kEarthGravity = 9.81;  // [m/s^2]

const JointKind& kind_named(const std::string& place, const std::string& name) {
  std::string known;
  for (const JointKind& kind : kKinds) {
    if (name == kind.name) return kind;
    known += (known.empty() ? "'" : ", '") + std::string(kind.name) + "'";
  }
  refuse(place + ": kind", "must be one of " + known, "'" + name + "'");
}

struct JointEnd {
  int node = -1;                // -1: the world
  double mass = 0, radius = 0;  // mass 0: the world or a kinematic body
};

JointEnd end_of(const Scene& scene, const std::string& place, const std::string& body,
                const JointKind& kind) {
  if (body.empty()) return {};
  JointEnd end;
  end.node = scene.node_of(body);
  const Body& b = scene.body(body);
  const bool point = b.kind() == NodeKind::point;
  if (point && (kind.pairs != Pairs::none || kind.free_slide.beta != 0)) {
    refuse(place, std::string("a ") + kind.name + " joins frames only", "particle '" + body + "'",
           "use kind 'ball', or a rigid body");
  }
  const NodeMass mass = b.masses()[0];
  if (mass.mass >= 0) end.mass = mass.value(scene.values());
  if (!point) end.radius = b.radius();
  return end;
}

Vector3d unit(const std::string& place, const Vector3d& axis) {
  if (!axis.allFinite() || axis.norm() < 1e-9) {
    refuse(place, "must be a finite, non-zero direction", axis.transpose());
  }
  return axis.normalized();
}

// The joint's axes in the world at the start: the third is its axis, the first the second_axis.
Matrix3d axes_of(const std::string& place, const JointKind& kind, const JointSpec& spec) {
  if (spec.second_axis.has_value() != (kind.pairs == Pairs::cross)) {
    refuse(place + ": second_axis", "is for kind 'universal', which needs it",
           spec.second_axis ? "one" : "none");
  }
  const Vector3d z = kind.has_axis() ? unit(place + ": axis", spec.axis) : Vector3d::UnitZ();
  Vector3d x;
  if (spec.second_axis) {
    x = unit(place + ": second_axis", *spec.second_axis);
    if (std::abs(x.dot(z)) > 1e-6) {
      refuse(place + ": second_axis", "must be perpendicular to axis",
             spec.second_axis->transpose(),
             "take it from the cross product of axis and another direction");
    }
  } else {
    int least = 0;
    z.cwiseAbs().minCoeff(&least);
    x = Vector3d::Unit(least);
  }
  x = (x - x.dot(z) * z).normalized();
  Matrix3d axes;
  axes << x, z.cross(x), z;
  return axes;
}

// Body b's axes and point in the world at the start, where the coordinate is spec.coordinate.
std::pair<Matrix3d, Vector3d> start_of_b(const std::string& place, const JointKind& kind,
                                         const JointSpec& spec, const Matrix3d& axes) {
  const double q = spec.coordinate;
  if (!std::isfinite(q) || (q != 0 && kind.coordinate == FreeCoordinate::none)) {
    refuse(place + ": coordinate", "must be finite, and 0 on a joint that has none", q);
  }
  if (kind.coordinate == FreeCoordinate::displacement)
    return {axes, spec.position + q * axes.col(2)};
  return {exp_rotation(q * axes.col(2)) * axes, spec.position};
}

void add_friction(ParameterTable& table, const std::string& name, const std::string& place,
                  const JointKind& kind, const JointSpec& spec, JointParameters& params) {
  if (kind.has_friction()) {
    const bool slides = kind.free_slide.beta != 0;
    params.friction_damping = table.add(name + ".friction_damping", slides ? "N s/m" : "N m s/rad",
                                        spec.friction_damping, 0, kInfinity);
  } else if (spec.friction_damping != 0) {
    refuse(place + ": friction_damping", "a weld moves in no direction", spec.friction_damping);
  }
}

// Body b must be a rigid body of its own that nothing else carries.
void check_reduced(const Scene& scene, const std::string& place, const JointSpec& spec) {
  const std::string key = place + ": coordinates";
  const bool frame = !spec.body_b.empty() && scene.body(spec.body_b).kind() == NodeKind::frame;
  if (!frame || scene.body(spec.body_b).driven()) {
    refuse(key, "reduced ones carry body_b, which must be a rigid body", "'" + spec.body_b + "'",
           "exchange body_a and body_b");
  }
  if (scene.nodes()[scene.node_of(spec.body_b)].dependent) {
    refuse(key, "a body is carried by one joint", "'" + spec.body_b + "', which another carries",
           "leave one of its joints in maximal coordinates");
  }
  if (!spec.body_a.empty() && scene.body(spec.body_a).kind() != NodeKind::frame) {
    refuse(key, "reduced ones are between rigid bodies", "particle '" + spec.body_a + "'");
  }
}

Joint::Mimic mimic_of(const Scene& scene, const std::string& place, const JointKind& kind,
                      const JointSpec& spec) {
  const std::string key = place + ": mimic";
  const Joint& other = joint_named(scene, key, spec.mimic);
  const auto one = [](const JointKind& k) {
    return k.coordinate != FreeCoordinate::none && k.pairs != Pairs::none &&
           k.translation.beta != 1;
  };
  if (spec.coordinates != JointCoordinates::reduced || !other.reduced() || !one(kind) ||
      !one(other.kind())) {
    refuse(key, "is for hinges and sliders in reduced coordinates", "'" + spec.mimic + "'");
  }
  if (other.mimic().joint) {
    refuse(key, "must be a joint that follows no other itself", "'" + spec.mimic + "'");
  }
  if (!std::isfinite(spec.ratio) || spec.ratio == 0 || !std::isfinite(spec.shift)) {
    refuse(key, "ratio must be finite and not zero, shift finite", spec.ratio);
  }
  return {&other, spec.ratio, spec.shift};
}

JointParameters parameters(ParameterTable& table, const std::string& name, const std::string& place,
                           const JointKind& kind, const JointSpec& spec, const JointEnd end[2],
                           double arm) {
  const double m = std::max(end[0].mass, end[1].mass), other = std::min(end[0].mass, end[1].mass);
  const double reduced = other > 0 ? m * other / (m + other) : m;
  const double k = spec.stiffness.value_or(kReserve * kLoads * kEarthGravity / kOpening * m);
  const double c = spec.damping.value_or(2 * std::sqrt(std::max(k, 0.) * reduced));
  JointParameters params;
  params.coordinates = spec.coordinates;
  if (spec.coordinates != JointCoordinates::maximal) {
    if (spec.stiffness || spec.damping || spec.rotational_stiffness || spec.rotational_damping) {
      refuse(place + ": stiffness, damping", "are of joints in maximal coordinates", "a value");
    }
    add_friction(table, name, place, kind, spec, params);
    return params;
  }
  params.stiffness = table.add(name + ".stiffness", "N/m", k, 0, kInfinity);
  params.damping = table.add(name + ".damping", "N s/m", c, 0, kInfinity);
  if (kind.pairs != Pairs::none) {
    params.rotational_stiffness =
        table.add(name + ".rotational_stiffness", "N m/rad",
                  spec.rotational_stiffness.value_or(k * arm * arm), 0, kInfinity);
    params.rotational_damping =
        table.add(name + ".rotational_damping", "N m s/rad",
                  spec.rotational_damping.value_or(c * arm * arm), 0, kInfinity);
  } else if (spec.rotational_stiffness || spec.rotational_damping) {
    refuse(place + ": rotational_stiffness, rotational_damping", "a ball holds no rotation",
           "a value");
  }
  add_friction(table, name, place, kind, spec, params);
  return params;
}

}  // namespace

void add_joint(Scene& scene, const std::string& name, const JointSpec& spec) {
  scene.check_new("joint", name);
  const std::string place = "joint '" + name + "'";
  const JointKind& kind = kind_named(place, spec.kind);
  if (spec.body_a == spec.body_b) {
    refuse(place, "body_a and body_b must be two bodies, or one and the world \"\"",
           "'" + spec.body_a + "' twice");
  }
  const JointEnd end[2] = {end_of(scene, place, spec.body_a, kind),
                           end_of(scene, place, spec.body_b, kind)};
  if (end[0].mass == 0 && end[1].mass == 0) {
    refuse(place, "one end at least must be a body that moves freely",
           "'" + spec.body_a + "' and '" + spec.body_b + "'",
           "drive a kinematic body by its keys instead");
  }
  if (spec.coordinates == JointCoordinates::reduced) check_reduced(scene, place, spec);
  if (!spec.position.allFinite()) {
    refuse(place + ": position", "must be finite [m]", spec.position.transpose());
  }
  const Matrix3d axes = axes_of(place, kind, spec);
  const auto [turned, shifted] = start_of_b(place, kind, spec, axes);
  NodePair nodes(scene.nodes(), end[0].node, end[1].node);
  const State state = scene.start(scene.values());
  const bool slides = kind.coordinate == FreeCoordinate::displacement;
  JointStart start{{},
                   {axes, turned},
                   {},
                   spec.position,
                   slides ? spec.coordinate : 0,
                   slides ? 0 : spec.coordinate};
  std::array<Vector3d, 2> anchor;
  double arm = 0;
  for (int m = 0; m < 2; ++m) {
    const NodePair::Pose pose = nodes.pose(m, state);
    start.R[m] = pose.R;
    start.own_axes[m] = pose.R.transpose() * start.axes[m];
    anchor[m] = pose.R.transpose() * ((m == 0 ? spec.position : shifted) - pose.c);
    if (end[m].node >= 0) arm = std::max({arm, anchor[m].norm(), end[m].radius});
  }
  start.load = kEarthGravity * std::max(end[0].mass, end[1].mass);
  if (arm > 0) start.arm = arm;
  JointParameters params = parameters(scene.table(), name, place, kind, spec, end, arm);
  bool particle = false;  // it is its own point, and must be where the joint is
  for (int m = 0; m < 2; ++m) {
    if (end[m].node < 0 || scene.nodes()[end[m].node].kind == NodeKind::frame) {
      const std::string anchor_name = name + (m == 0 ? ".anchor_a" : ".anchor_b");
      params.anchor[m] = scene.table().add3(anchor_name, "m", anchor[m], false);
      continue;
    }
    particle = true;
    if (anchor[m].norm() > 1e-9) {
      refuse(place + ": position", "must be where its particle starts", spec.position.transpose());
    }
  }
  if (!particle)
    params.position = scene.table().add3(name + ".position", "m", spec.position, false);
  if (kind.has_axis()) {
    params.axis_rotation =
        scene.table().add3(name + ".axis_rotation", "rad", Vector3d::Zero(), false);
  }
  auto joint = std::make_unique<Joint>(name, kind, nodes, start, params);
  if (!spec.mimic.empty()) joint->set_mimic(mimic_of(scene, place, kind, spec));
  if (joint->reduced()) scene.add_reduced(joint.get());
  if (joint->constrained()) scene.add_constrained(joint.get());
  if (joint->counts()) joint->set_counted(scene.add_counted(joint.get()));
  scene.add_element(std::move(joint));
}

const Joint& joint_named(const Scene& scene, const std::string& place, const std::string& name) {
  std::string known;
  for (const auto& e : scene.elements()) {
    const auto* joint = dynamic_cast<const Joint*>(e.get());
    if (!joint) continue;
    if (joint->name() == name) return *joint;
    known += (known.empty() ? "" : ", ") + joint->name();
  }
  refuse(place + ": joint", "must be one of [" + known + "]", "'" + name + "'");
}

const Joint& driven_joint(const Scene& scene, const std::string& place, const std::string& name) {
  const Joint& joint = joint_named(scene, place, name);
  if (joint.kind().coordinate == FreeCoordinate::none) {
    refuse(place + ": joint", "must be a hinge, planar joint or slider", joint.kind().name);
  }
  return joint;
}

}  // namespace diffsim
