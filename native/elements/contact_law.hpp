// The law of frictional contact at one point: parameters, forces and their derivatives, no
// geometry.
#pragma once

#include <cstdint>
#include <vector>

#include "../parameters.hpp"

namespace diffsim {

class ParameterTable;

enum class Friction { linear, tanh, hybrid };
enum class Damping { continuous, ramped, thesis };

/// What a step takes for the normal force where contact begins or ends within it
/// (contact_onset.hpp).
enum class Onset { integrated, sampled };

/// What stands for a parameter that a law has not: 0, or no index into p.
template <class T>
constexpr T kAbsent = 0;
template <>
inline constexpr int kAbsent<int> = -1;

/// Parameters of the law: of a whole contact or of one point's share of it (ContactLaw), or where
/// they stand in p (ContactParameters).
template <class T>
struct LawParameters {
  T k_n = kAbsent<T>;          // normal stiffness [N/m]
  T k_t = kAbsent<T>;          // tangential damping [N s/m]
  T c_n = kAbsent<T>;          // normal damping, continuous [s/m]
  T k_d = kAbsent<T>;          // normal damping, ramped and thesis [N s/m]
  T d_0 = kAbsent<T>;          // depth over which the ramped law switches its damping on [m]
  T c_f = kAbsent<T>;          // friction, at high load where f_0 > 0 [-]
  T c_s = kAbsent<T>;          // friction at no load [-]
  T f_0 = kAbsent<T>;          // load at one point over which it falls [N]; 0: c_f at any load
  T c_roll = kAbsent<T>;       // largest rolling torque by normal force [m]; points on frames only
  T c_spin = kAbsent<T>;       // largest torque about the normal by normal force [m]
  T k_roll = kAbsent<T>;       // slope of both by angular velocity [N m s]
  T restitution = kAbsent<T>;  // speeds after and before an impact, of hard contacts [-]
  Friction friction = Friction::linear;
  Damping damping = Damping::continuous;
  Onset onset = Onset::integrated;
  bool rolls = false;    // c_roll or c_spin was given: both are parameters, 0 or not
  bool bounces = false;  // restitution was given: it is a parameter, 0 or not
};
using ContactLaw = LawParameters<double>;
using ContactParameters = LawParameters<int>;

/// What scenes say of one parameter.
struct LawParameter {
  const char* name;
  const char* unit;
  bool required;
  double lower;
  double ContactLaw::* value;
  int ContactParameters::* index;
  bool (*used)(const ContactLaw&);  // whether a law has it
  double upper = kInfinity;
};
const std::vector<LawParameter>& law_parameters();

/// Refuses values that do not go together, as c_n with damping ramped.
void check_law(const std::string& place, const ContactLaw& law);

/// Adds those that the law has, as NAME.k_n and so on.
ContactParameters add_law(ParameterTable& table, const std::string& name, const ContactLaw& law);

/// The law of a point with this weight: it has that share of k_n, k_t, k_d and k_roll.
inline ContactLaw law_at(const ContactParameters& at, const VectorXd& p, double weight) {
  const auto optional = [&](int parameter) { return parameter < 0 ? 0. : p[parameter]; };
  return {p[at.k_n] * weight,
          p[at.k_t] * weight,
          optional(at.c_n),
          optional(at.k_d) * weight,
          optional(at.d_0),
          p[at.c_f],
          optional(at.c_s),
          optional(at.f_0),
          optional(at.c_roll),
          optional(at.c_spin),
          optional(at.k_roll) * weight,
          optional(at.restitution),
          at.friction,
          at.damping,
          at.onset};
}

enum ContactMode : unsigned {
  kOpen = 0,
  kStick = 1,
  kSlip = 2,
  kStatic = 3,
  kClamped = 4,
  kRolls = 8,    // against the full rolling friction
  kLimited = 8,  // hard contacts, which do not roll: leaves slower than by its restitution
  kSpins = 16,   // against the full spinning friction
  kOnset = 32,   // contact began in this step, or ends within the next
  kRegion = 64   // times 1 + the sdf's smooth piece
};

/// Normal force f_n >= 0 [N] for depth d = max(-g, 0) and approach speed d'.
/// continuous: f_n = k_n d max(0, 1 + c_n d')         (default; continuous at d = 0)
/// thesis:     f_n = max(0, k_n d + k_d d') for d > 0  [G 4.12, 4.5.2]; jumps at d = 0.
/// ramped:     f_n = max(0, k_n d + k_d d' d/(d + d_0)): the thesis' dashpot, made continuous: the
///             continuous law with c_n = k_d/(k_n d_0) while d << d_0, the thesis' once d >> d_0.
struct NormalForce {
  double f, by_d, by_rate, by_k_n, by_c_n, by_k_d, by_d_0;
  bool clamped;
  double by_before = 0;  // by the gap when the step began, where contact began in it
  bool onset = false;    // contact began in this step, or ends within the next
};
NormalForce normal_force(const ContactLaw& law, double d, double rate);

/// Coulomb's limit [N]: c_f f_n, or with f_0 > 0 the load-dependent
/// (c_f + (c_s - c_f) exp(-f_n/f_0)) f_n: c_s sliding under its weight, c_f in hard impacts.
struct FrictionLimit {
  double f, by_fn, by_cf, by_cs, by_f0;
};
FrictionLimit friction_limit(const ContactLaw& law, double f_n);

/// Friction f_t = -s v_t with the slope s(|v_t|, limit) [N s/m].
/// linear: s = min(k_t, limit / |v_t|) [G 4.13];  tanh: s |v_t| = limit tanh(k_t |v_t| / limit)
/// [G 4.14];  hybrid, whose sticking is a constraint, slides as linear does.
/// by_speed is ds/d|v_t| divided by |v_t| (finite at rest).
struct FrictionSlope {
  double s, by_speed, by_limit, by_kt;
  bool slip;
};
FrictionSlope friction_slope(double k_t, Friction law, double speed, double limit);

/// Hybrid friction [G 4.4.3]: f_t = -v_t limit / max(|v_t|, kStickSpeed). A point that sticks
/// has w_t = 0 as a constraint with the compliance kStickSpeed / limit: it creeps
/// with at most kStickSpeed at Coulomb's limit, and where rows are redundant (a rigid body's feet)
/// every foot is loaded in proportion to what its own normal force can hold.
constexpr double kStickSpeed = 3e-8;  // [m/s]
FrictionSlope stick_slope(double limit);

/// Stick state of a point of hybrid friction in a step's search for that law, which Newton alone
/// would not find: free, under the linear law, which is right once the point slides; or sticking at
/// any speed, which is right up to kStickSpeed. A free point that comes to rest sticks next; a
/// sticking one that is loaded too much is released, to a linear law kStiffening times as steep and
/// at last to the law itself: so the search ends.
class StickState {
 public:
  explicit StickState(std::uint8_t code = 0) : code_(code) {}
  bool sticks() const { return code_ % 2 == 1; }
  int releases() const { return code_ / 2; }
  bool binds() const { return sticks() || releases() >= kMostReleases; }  // at rest by the law
  std::uint8_t next() const { return code_ + 1; }

 private:
  static constexpr int kMostReleases = 4;
  std::uint8_t code_;
};
constexpr double kStiffening = 100;

/// The linear law's k_t is at first at least kSlipMass times the mass that the point stops per
/// step: with less, Newton would find a body that Coulomb friction stops creeping far from where it
/// stops.
constexpr double kSlipMass = 10;

}  // namespace diffsim
