// Single precision arithmetic on four nodes at once, for one right-hand side or for eight.
#pragma once

#include <array>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "pack.hpp"

namespace diffsim {

using Four = Pack<float, 4>;        // one node as (x, y, z, 0)
using FourNodes = Pack<float, 16>;  // four of them, a node per lane

DIFFSIM_INLINE FourNodes join(const Four& a, const Four& b, const Four& c, const Four& d) {
#if defined(__AVX512F__)
  __m512 v = _mm512_castps128_ps512(reinterpret_cast<__m128>(a.part[0]));
  v = _mm512_insertf32x4(v, reinterpret_cast<__m128>(b.part[0]), 1);
  v = _mm512_insertf32x4(v, reinterpret_cast<__m128>(c.part[0]), 2);
  v = _mm512_insertf32x4(v, reinterpret_cast<__m128>(d.part[0]), 3);
  return {{reinterpret_cast<FourNodes::Part>(v)}};
#elif defined(__AVX__)
  const __m256 low =
      _mm256_set_m128(reinterpret_cast<__m128>(b.part[0]), reinterpret_cast<__m128>(a.part[0]));
  const __m256 high =
      _mm256_set_m128(reinterpret_cast<__m128>(d.part[0]), reinterpret_cast<__m128>(c.part[0]));
  return {{reinterpret_cast<FourNodes::Part>(low), reinterpret_cast<FourNodes::Part>(high)}};
#else
  return {{a.part[0], b.part[0], c.part[0], d.part[0]}};
#endif
}

/// Component c of every lane in all four places of the lane.
template <int c>
DIFFSIM_INLINE FourNodes component(FourNodes x) {
  for (FourNodes::Part& p : x.part) {
#if defined(__AVX512F__)
    p = reinterpret_cast<FourNodes::Part>(
        _mm512_maskz_permute_ps(0xffff, reinterpret_cast<__m512>(p), 0x55 * c));
#elif defined(__AVX__)
    p = reinterpret_cast<FourNodes::Part>(_mm256_permute_ps(reinterpret_cast<__m256>(p), 0x55 * c));
#else
    p = FourNodes::Part{p[c], p[c], p[c], p[c]};
#endif
  }
  return x;
}

/// Four 3x3 blocks side by side: lane k of column c is (A_0c, A_1c, A_2c, 0) of block k.
struct FourBlocks {
  FourNodes column[3];
};

inline const float* lane(const FourBlocks& m, int c, int k) {
  return reinterpret_cast<const float*>(&m.column[c]) + 4 * k;
}

/// What a sweep carries for a group of four nodes: one right-hand side.
struct OneColumn {
  using V = FourNodes;
  static constexpr int columns = 1, per_group = 1;
  struct Cell {
    V v[per_group];
  };
  using Scalars = std::array<float, columns>;

  static float& at(Cell& cell, int k, int row, int) {
    return reinterpret_cast<float*>(&cell)[4 * k + row];
  }
  static Scalars reduce(const V& sum) {
    float quarter[4];
    for (int i = 0; i < 4; ++i) quarter[i] = (sum[i] + sum[i + 8]) + (sum[i + 4] + sum[i + 12]);
    return {(quarter[0] + quarter[1]) + (quarter[2] + quarter[3])};
  }
  static V spread(const Scalars& s) { return V::all(s[0]); }

  DIFFSIM_INLINE static V gather(const int* slot, const Cell* x) {
    const float* base = reinterpret_cast<const float*>(x);
    return join(Four::load(base + 4 * slot[0]), Four::load(base + 4 * slot[1]),
                Four::load(base + 4 * slot[2]), Four::load(base + 4 * slot[3]));
  }
  /// out = sum over steps of blocks times the nodes in their slots.
  DIFFSIM_INLINE static void products(const FourBlocks* m, const int* slots, int steps,
                                      const Cell* x, V* out) {
    V a{}, b{}, c{};
    for (int k = 0; k < steps; ++k, ++m, slots += 4) {
      const V nodes = gather(slots, x);
      a += m->column[0] * component<0>(nodes);
      b += m->column[1] * component<1>(nodes);
      c += m->column[2] * component<2>(nodes);
    }
    out[0] = a + b + c;
  }
  /// out = each lane's block times its own node.
  static void transform(const FourBlocks& m, const Cell& x, V* out) {
    out[0] = m.column[0] * component<0>(x.v[0]) + m.column[1] * component<1>(x.v[0]) +
             m.column[2] * component<2>(x.v[0]);
  }
};

/// Likewise eight right-hand sides: pack 3 k + row holds them for one row of node k.
struct EightColumns {
  using V = Pack<float, 8>;
  static constexpr int columns = 8, per_group = 12;
  struct Cell {
    V v[per_group];
  };
  using Scalars = std::array<float, columns>;

  static float& at(Cell& cell, int k, int row, int column) {
    return reinterpret_cast<float*>(&cell)[(3 * k + row) * columns + column];
  }
  static Scalars reduce(const V& sum) {
    Scalars s;
    sum.store(s.data());
    return s;
  }
  static V spread(const Scalars& s) { return V::load(s.data()); }

  DIFFSIM_INLINE static void add_product(const FourBlocks& m, int k, const V* x, V* out) {
    for (int c = 0; c < 3; ++c) {
      const float* column = lane(m, c, k);
      for (int i = 0; i < 3; ++i) out[i] += column[i] * x[c];
    }
  }
  DIFFSIM_INLINE static void products(const FourBlocks* m, const int* slots, int steps,
                                      const Cell* x, V* out) {
    V sum[per_group] = {};
    const V* nodes = x->v;
    for (int k = 0; k < steps; ++k, ++m, slots += 4) {
      add_product(*m, 0, nodes + 3 * slots[0], sum);
      add_product(*m, 1, nodes + 3 * slots[1], sum + 3);
      add_product(*m, 2, nodes + 3 * slots[2], sum + 6);
      add_product(*m, 3, nodes + 3 * slots[3], sum + 9);
    }
    for (int i = 0; i < per_group; ++i) out[i] = sum[i];
  }
  static void transform(const FourBlocks& m, const Cell& x, V* out) {
    for (int i = 0; i < per_group; ++i) out[i] = V{};
    for (int k = 0; k < 4; ++k) add_product(m, k, x.v + 3 * k, out + 3 * k);
  }
};

}  // namespace diffsim
