// Forces of a step in which contact begins or ends, or passes between sticking and sliding.
//
// BDF adds forces up by the rectangle rule. Where a force of slope s begins a share x of a step
// before the step's end, the sum of its samples exceeds its integral by s h^2 x (1 - x) / 2. That
// is O(h^2), as the scheme's own error, but its derivative by the instant of touchdown is O(h) and
// changes its sign within a step: derivatives of the motion scatter with the phase of touchdown.
// With the normal force f of a depth d in place of its sample
//   f / 2 + x A,    x = d / (d + before)               in the first step            engine.md (12a)
//   f (1 + y) / 2,  y = f / (h |df/dd d'|) < 1         in the last one, d' < 0      engine.md (12b)
// the sum is the integral up to O(h^3). A is the mean of f over depths from 0 to d (f / 2 where f
// is in proportion to d), `before` the gap when the step began.
#pragma once

#include "contact_law.hpp"

namespace diffsim {

/// before: gap at the step's start [m], <= 0 where contact goes on; h: step [s].
NormalForce onset_force(const ContactLaw& law, double d, double rate, double before, double h);

/// Factor on k_t: a sticking force does not begin and end with the normal force, it jumps. Such a
/// force's sum is its integral with the factors, y = d / (h |d'|),
///   1/2 + x in the first step;  3 y / 2 in the last step, 2 - y / 2 in the one before       (12c).
struct StickShare {
  double value = 1, by_d = 0, by_rate = 0, by_before = 0;
};
StickShare stick_share(const ContactLaw& law, double d, double rate, double before, double h);

/// Where linear friction passes between sticking and sliding in a step, q = k_t |v_t| - L changes
/// its sign and the force has a kink of the slope of q. Its sum is its integral with
///   |f_t| = min(k_t |v_t|, L) + E,   E = |q q'| / (2 |q - q'|),   q' = q when the step began
///   (12d).
/// On a sticking point, whose v_t may vanish, E has the direction and the share k_t v_t / L.
/// Returns ds/dq', 0 where nothing changes.
double add_transition(FrictionSlope& s, double k_t, double speed, double limit, double q_before);

}  // namespace diffsim
