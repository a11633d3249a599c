#include "joint_limit.hpp"

#include "../scene.hpp"

namespace diffsim {

struct JointLimit::Press {
  double d, side;  // depth; +1 beyond upper, -1 beyond lower, 0 free
  double grip;     // 1 + c s d', or 0 where that is negative
  double rate;     // d'
  double share;    // s = w / (w + d)
  double by_d;     // ds/dd
  double by_w;     // ds/dw
  bool clamped;
};

JointLimit::Press JointLimit::press(const JointCoordinate& at, const VectorXd& p) const {
  const double lower = params_.lower >= 0 ? p[params_.lower] : -kInfinity;
  const double upper = params_.upper >= 0 ? p[params_.upper] : kInfinity;
  Press press{0, 0, 0, 0, 1, 0, 0, false};
  if (at.q > upper) {
    press.side = 1;
    press.d = at.q - upper;
  } else if (at.q < lower) {
    press.side = -1;
    press.d = lower - at.q;
  } else {
    return press;
  }
  press.rate = press.side * at.rate;
  if (params_.damping_depth >= 0) {
    const double w = p[params_.damping_depth], sum = w + press.d;
    press.share = w / sum;
    press.by_d = -w / (sum * sum);
    press.by_w = press.d / (sum * sum);
  }
  press.grip = 1 + p[params_.damping] * press.share * press.rate;
  press.clamped = press.grip < 0;
  if (press.clamped) press.grip = 0;
  return press;
}

CoordinateForce::Phi JointLimit::phi(const Window&, const VectorXd& p, const JointCoordinate& at,
                                     ByParameter* by) const {
  const Press press = this->press(at, p);
  if (press.side == 0) return {};
  const double k = p[params_.stiffness], c = press.clamped ? 0 : p[params_.damping];
  // phi = -side k d grip, with dd = side dq and dd' = side dq'
  const Phi phi{-press.side * k * press.d * press.grip,
                -k * (press.grip + press.d * c * press.by_d * press.rate),
                -k * press.d * c * press.share};
  if (by) {
    const double pressed = -press.side * k * press.d * press.rate;
    *by = {{params_.stiffness, -press.side * press.d * press.grip},
           {params_.damping, press.clamped ? 0 : pressed * press.share},
           {params_.damping_depth, pressed * c * press.by_w},
           {press.side > 0 ? params_.upper : params_.lower, -phi.by_q}};
  }
  return phi;
}

void JointLimit::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  const Press at = press(joint_->driven_coordinate(window.now(), p), p);
  int code = at.side == 0 ? 0 : at.side > 0 ? 1 : 2;
  if (at.clamped) code += 4;
  *out = static_cast<std::uint16_t>(code);
}

void add_joint_limit(Scene& scene, const std::string& name, const JointLimitSpec& spec) {
  scene.check_new("joint limit", name);
  const std::string place = "joint limit '" + name + "'";
  const Joint& joint = driven_joint(scene, place, spec.joint);
  const bool turns = joint.kind().coordinate == JointKind::Coordinate::angle;
  if (!spec.lower && !spec.upper) refuse(place, "needs lower or upper", "neither");
  if (spec.lower && spec.upper) {
    const double range = *spec.upper - *spec.lower;
    if (!(range > 0)) refuse(place, "lower must be below upper", range, "swap them");
  }
  ParameterTable& table = scene.table();
  const std::string unit = turns ? "rad" : "m";
  JointLimit::Parameters params{-1, -1, -1, -1, -1};
  if (spec.lower) {
    params.lower = table.add(name + ".lower", unit, *spec.lower, -kInfinity, kInfinity);
  }
  if (spec.upper) {
    params.upper = table.add(name + ".upper", unit, *spec.upper, -kInfinity, kInfinity);
  }
  params.stiffness =
      table.add(name + ".stiffness", turns ? "N m/rad" : "N/m", spec.stiffness, 0, kInfinity);
  params.damping = table.add(name + ".damping", "s/" + unit, spec.damping, 0, kInfinity);
  if (spec.damping_depth) {
    if (!(*spec.damping_depth > 0)) {
      refuse(place, "damping_depth must be positive", *spec.damping_depth, "leave it out");
    }
    params.damping_depth =
        table.add(name + ".damping_depth", unit, *spec.damping_depth, 0, kInfinity);
  }
  scene.add_element(std::make_unique<JointLimit>(name, &joint, params));
}

}  // namespace diffsim
