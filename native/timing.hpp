// Where a rollout's time goes (Options::profile).
#pragma once

#include <chrono>

namespace diffsim {

/// Wall seconds spent in each part, and how often.
struct Timing {
  struct Part {
    double seconds = 0;
    long count = 0;
  };
  Part residual;    // r alone
  Part jacobian;    // r with its Jacobian blocks, and dr/dp
  Part prepare;     // A from its blocks; preconditioner or factorization
  Part correction;  // Newton's linear solves
  Part derivative;  // linear solves for S and lambda
  Part total;       // rollout and gradient; the rest is what the others leave
};

/// Adds its own lifetime to a part of `timing`, unless that is null.
class Stopwatch {
 public:
  Stopwatch(Timing* timing, Timing::Part Timing::* part)
      : part_(timing ? &(timing->*part) : nullptr) {
    if (part_) begin_ = Clock::now();
  }
  ~Stopwatch() {
    if (!part_) return;
    part_->seconds += std::chrono::duration<double>(Clock::now() - begin_).count();
    ++part_->count;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Timing::Part* part_;
  Clock::time_point begin_;
};

}  // namespace diffsim
