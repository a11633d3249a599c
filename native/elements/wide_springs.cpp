#include "wide_springs.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

inline Wide root(const Wide& x) {
  Wide y;
  for (int i = 0; i < kLanes; ++i) y[i] = std::sqrt(x[i]);
  return y;
}

// Column-major 3x3 blocks, one per lane: aa, bb += F and ab, ba -= F.
void add_pairs(const Wide F[9], const LaneIndex& aa, const LaneIndex& bb, const LaneIndex& ab,
               const LaneIndex& ba, int lanes, double* to) {
  each_block(F, lanes, [&](int lane, const Block& b) {
    b.add_to(to + aa[lane]);
    b.add_to(to + bb[lane]);
    b.subtract_from(to + ab[lane]);
    b.subtract_from(to + ba[lane]);
  });
}

}  // namespace

void WideSprings::bind(const std::vector<Spring>& springs, const BlockPattern& pattern) {
  batches_.clear();
  const int count = static_cast<int>(springs.size());
  for (int begin = 0; begin < count; begin += kLanes) {
    Batch b;
    b.lanes = std::min(kLanes, count - begin);
    for (int lane = 0; lane < kLanes; ++lane) {
      const Spring& s = springs[begin + std::min(lane, b.lanes - 1)];
      b.natural[lane] = s.natural;
      b.factor[lane] = s.factor;
      b.from_a[lane] = 3 * s.a;
      b.from_b[lane] = 3 * s.b;
      b.to_a[lane] = pattern.dof[s.a];
      b.to_b[lane] = pattern.dof[s.b];
      b.aa[lane] = pattern.offset[pattern.index(s.a, s.a)];
      b.ab[lane] = pattern.offset[pattern.index(s.a, s.b)];
      b.ba[lane] = pattern.offset[pattern.index(s.b, s.a)];
      b.bb[lane] = pattern.offset[pattern.index(s.b, s.b)];
    }
    batches_.push_back(b);
  }
}

void WideSprings::add(const Law& law, const State& s, const Assembly& out) const {
  if (out.K) {
    add_all<true>(law, s, out);
  } else {
    add_all<false>(law, s, out);
  }
}

template <bool Slopes>
void WideSprings::add_all(const Law& law, const State& s, const Assembly& out) const {
  const double *x = s.c.data(), *v = s.v.data();
  double* r = out.r->data();
  bool compressed = false;
  for (const Batch& b : batches_) {
    const Wide3 d = gather3(x, b.from_b.data()) - gather3(x, b.from_a.data());
    const Wide3 e = gather3(v, b.from_b.data()) - gather3(v, b.from_a.data());
    const Wide l = root(dot(d, d));
    // Two ends in one place leave the direction open; no force is the symmetric choice.
    const Wide inverse = l > 0 ? 1 / l : wide(0);
    const Wide3 u = inverse * d;
    const Wide k = law.k * b.factor, c = law.c * b.factor, rate = dot(u, e);
    const Wide T = k * (l - law.rest * b.natural) + c * rate;
    const Wide3 f = T * u;
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int i = 0; i < 3; ++i) {
        r[b.to_a[lane] + i] -= f[i][lane];
        r[b.to_b[lane] + i] += f[i][lane];
      }
    }
    if constexpr (!Slopes) continue;
    const Wide bend = T * inverse, kept = bend < 0 ? out.compression * bend : bend;
    for (int lane = 0; lane < kLanes; ++lane) compressed |= bend[lane] < 0;
    Wide3 by_d = (k - kept) * u + (c * inverse) * (e - rate * u);
    Wide on_diagonal = kept;
    if (out.A) {
      by_d = wide(out.alpha) * by_d + c * u;
      on_diagonal *= out.alpha;
    }
    Wide F[9];
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) F[3 * j + i] = u[i] * by_d[j];
      F[4 * j] += on_diagonal;
    }
    BlockMatrix& to = out.A ? *out.A : *out.K;
    add_pairs(F, b.aa, b.bb, b.ab, b.ba, b.lanes, to.values.data());
    if (out.A || law.c == 0) continue;
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) F[3 * j + i] = c * u[i] * u[j];
    }
    add_pairs(F, b.aa, b.bb, b.ab, b.ba, b.lanes, out.B->values.data());
  }
  if (compressed && out.compressed) *out.compressed = true;
}

}  // namespace diffsim
