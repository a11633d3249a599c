// Single precision arithmetic on four nodes at once, for one right-hand side or for eight.
#pragma once

#include <array>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace diffsim {

using V4 [[gnu::vector_size(16)]] = float;
using V8 [[gnu::vector_size(32)]] = float;
using V16 [[gnu::vector_size(64)]] = float;

inline V4 load4(const float* at) { return *reinterpret_cast<const V4*>(at); }

#ifdef __AVX512F__
inline V16 join(V4 a, V4 b, V4 c, V4 d) {
  __m512 v = _mm512_castps128_ps512(reinterpret_cast<__m128>(a));
  v = _mm512_insertf32x4(v, reinterpret_cast<__m128>(b), 1);
  v = _mm512_insertf32x4(v, reinterpret_cast<__m128>(c), 2);
  return reinterpret_cast<V16>(_mm512_insertf32x4(v, reinterpret_cast<__m128>(d), 3));
}
/// Component c of every lane in all four places of the lane.
template <int c>
V16 component(V16 x) {
  return reinterpret_cast<V16>(_mm512_permute_ps(reinterpret_cast<__m512>(x), 0x55 * c));
}
#else
inline V16 join(V4 a, V4 b, V4 c, V4 d) {
  return V16{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3],
             c[0], c[1], c[2], c[3], d[0], d[1], d[2], d[3]};
}
template <int c>
V16 component(V16 x) {
  return V16{x[c],     x[c],     x[c],     x[c],     x[4 + c],  x[4 + c],  x[4 + c],  x[4 + c],
             x[8 + c], x[8 + c], x[8 + c], x[8 + c], x[12 + c], x[12 + c], x[12 + c], x[12 + c]};
}
#endif

/// Four 3x3 blocks side by side: lane k of column c is (A_0c, A_1c, A_2c, 0) of block k.
struct FourBlocks {
  V16 column[3];
};

inline const float* lane(const FourBlocks& m, int c, int k) {
  return reinterpret_cast<const float*>(&m.column[c]) + 4 * k;
}

/// What a sweep carries for a group of four nodes: one right-hand side, a node per lane as
/// (x, y, z, 0).
struct OneColumn {
  using V = V16;
  static constexpr int columns = 1, per_group = 1;
  struct Cell {
    V v[per_group];
  };
  using Scalars = std::array<float, columns>;

  static float& at(Cell& cell, int k, int row, int) {
    return reinterpret_cast<float*>(&cell)[4 * k + row];
  }
  static Scalars reduce(V sum) {
    V8 half;
    V4 quarter;
    for (int i = 0; i < 8; ++i) half[i] = sum[i] + sum[i + 8];
    for (int i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
    return {(quarter[0] + quarter[1]) + (quarter[2] + quarter[3])};
  }
  static V spread(const Scalars& s) { return V{} + s[0]; }

  static V gather(const int* slot, const Cell* x) {
    const float* base = reinterpret_cast<const float*>(x);
    return join(load4(base + 4 * slot[0]), load4(base + 4 * slot[1]), load4(base + 4 * slot[2]),
                load4(base + 4 * slot[3]));
  }
  /// out = sum over steps of blocks times the nodes in their slots.
  static void products(const FourBlocks* m, const int* slots, int steps, const Cell* x, V* out) {
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

/// Likewise eight right-hand sides: vector 3 k + row holds them for one row of node k.
struct EightColumns {
  using V = V8;
  static constexpr int columns = 8, per_group = 12;
  struct Cell {
    V v[per_group];
  };
  using Scalars = std::array<float, columns>;

  static float& at(Cell& cell, int k, int row, int column) {
    return reinterpret_cast<float*>(&cell)[(3 * k + row) * columns + column];
  }
  static Scalars reduce(V sum) {
    Scalars s;
    for (int i = 0; i < columns; ++i) s[i] = sum[i];
    return s;
  }
  static V spread(const Scalars& s) {
    V v;
    for (int i = 0; i < columns; ++i) v[i] = s[i];
    return v;
  }
  static void add_product(const FourBlocks& m, int k, const V* x, V* out) {
    for (int c = 0; c < 3; ++c) {
      const float* column = lane(m, c, k);
      out[0] += column[0] * x[c];
      out[1] += column[1] * x[c];
      out[2] += column[2] * x[c];
    }
  }
  static void products(const FourBlocks* m, const int* slots, int steps, const Cell* x, V* out) {
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
