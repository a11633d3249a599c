// Forces of steps in which contact begins or ends, or passes between sticking and sliding.
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

/// before: gap at the step's start [m], <= 0 where contact goes on; h: step [s], 0: without (12b).
NormalForce onset_force(const ContactLaw& law, double d, double rate, double before, double h);

/// Which step takes what a touch's last step leaves of friction over: the next one, or the last
/// itself, which sees the end coming.
enum class FrictionEnd { after, ahead };

/// Friction of a step in which contact begins, or passes between sticking and sliding. Below, q is
/// k_t |v_t|, L* the limit of a sampled normal force, L that of (12a). A force that sticks
/// jumps where contact begins, as far as the growing limit lets it, and has a kink where it passes
/// to sliding. Linear friction's sum is its integral with engine.md (12c)
///   q (S - (S - L/L*) q/L*),  S = 1/2 + x in the first step, 1 later                     q <= L*
///   L                                                                                    q > L*
/// and where q - L* changes its sign in a step, with more by E = a b / (2 (a + b)), a = |q - L*|,
/// b = |q' - L*'|, q' and L*' when the step began: (12d)
///   E q / min(q', L*) when it sticks at last, E when it slides.
/// What slides is faster than what k_t would have held until then: a is then that of the speed
/// which the point would have if it stuck, by its mobility.
/// FrictionEnd::ahead (12f): L is that of (12b) too, S has y - 1/2 more where y = d / (h |d'|) < 1,
/// E when it slides is E min(1, y) with a = q - L*, and a step with 1 < y < 2 sees that it will
/// slide in the next, and takes 2 - y of that step's E. So the sum has no jump where a touch gains
/// or loses a step. tanh friction is scaled by L/L*.
struct TouchedStep {
  double before, d, rate, h;
  double sampled, limit;  // L*, L [N]
  FrictionEnd end;
  bool passes = false;                   // whether it passes between sticking and sliding
  double past_pull = 0, past_limit = 0;  // q', L*' [N], if it does
  double mobility = 0;                   // change of |v_t| in the step by a force [m/s/N]
};
/// The slope s and what FrictionSlope has not: derivatives of s by L*, d, d', before, q', L*'.
struct TouchedSlope {
  FrictionSlope slope;
  double by_sampled = 0, by_d = 0, by_rate = 0, by_before = 0, by_past_pull = 0, by_past_limit = 0;
};
TouchedSlope touched_slope(double k_t, Friction law, double speed, const TouchedStep& step);

/// Linear friction is not there any more in the step after its last: it acts on a share y = d / (d
/// + gap) of that step, d the last depth, and half a step of the last force is behind it. So (12e)
///   q (y - 1/2 - y q / (2 L))  where it stuck,   (y - 1) / 2 L  where it slid
/// is left to that step, q and L the last ones: L falls to 0, and friction is min(q, L). The step
/// before cannot take it: what sticks would give way to a force of the next step.
struct LeftSlope {
  FrictionSlope slope;  // by_limit is 0
  double by_limit, by_d, by_gap;
};
LeftSlope left_slope(double k_t, double speed, double limit, double d, double gap);

}  // namespace diffsim
