// As many doubles at a time as a register holds: GCC's and Clang's vector extension.
//
// One lane is one element of a batch. Vectors wider than the registers would live in memory.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "../inline.hpp"

namespace diffsim {

#ifdef __AVX512F__
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using LaneIndex = std::array<int, kLanes>;
typedef double Wide __attribute__((vector_size(8 * kLanes)));
typedef double WideAnywhere __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));
typedef std::int64_t WideInt __attribute__((vector_size(8 * kLanes)));

/// A 3-vector per lane.
struct Wide3 {
  Wide x, y, z;
  Wide& operator[](int i) { return (&x)[i]; }
  const Wide& operator[](int i) const { return (&x)[i]; }
};

inline Wide wide(double a) { return Wide{} + a; }
/// Sum of the first `lanes`.
inline double sum_of(const Wide& a, int lanes) {
  double sum = 0;
  for (int lane = 0; lane < lanes; ++lane) sum += a[lane];
  return sum;
}
inline Wide3 operator+(const Wide3& a, const Wide3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Wide3 operator-(const Wide3& a, const Wide3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Wide3 operator-(const Wide3& a) { return {-a.x, -a.y, -a.z}; }
inline Wide3 operator*(const Wide& s, const Wide3& a) { return {s * a.x, s * a.y, s * a.z}; }
inline Wide dot(const Wide3& a, const Wide3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Wide3 cross(const Wide3& a, const Wide3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// Numbers, or 3-vectors, that lie at the given offsets of `from`.
inline Wide gather(const double* from, const int* at) {
#ifdef __AVX512F__
  return Wide{from[at[0]], from[at[1]], from[at[2]], from[at[3]],
              from[at[4]], from[at[5]], from[at[6]], from[at[7]]};
#else
  return Wide{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
#endif
}
inline Wide3 gather3(const double* from, const int* at) {
  return {gather(from, at), gather(from + 1, at), gather(from + 2, at)};
}

/// Natural logarithm, below 1 unit in the last place (fdlibm's reduction and polynomial, e_log.c);
/// NaN where x is not a positive normal number, so that an inverted element is noticed.
inline Wide log(const Wide& x) {
  const WideInt proper =
      (x >= std::numeric_limits<double>::min()) & (x <= std::numeric_limits<double>::max());
  // Vector casts keep the bits; those of other numbers could overflow below.
  const WideInt bits = (WideInt)(proper ? x : wide(1.0));
  const std::int64_t root_half = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
  const WideInt exponent = (bits - root_half) >> 52;
  const WideInt mantissa = bits - (exponent << 52);  // x = 2^exponent m, m in [sqrt(1/2), sqrt(2))
  const Wide k = __builtin_convertvector(exponent, Wide);
  const Wide f = (Wide)mantissa - 1.0;
  const Wide s = f / (2.0 + f), z = s * s, w = z * z;
  const Wide odd = z * (6.666666666666735130e-01 +
                        w * (2.857142874366239149e-01 +
                             w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const Wide even = w * (3.999999999940941908e-01 +
                         w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const Wide half = 0.5 * f * f;
  const Wide low = s * (half + odd + even) + k * 1.90821492927058770002e-10;
  const Wide y = k * 6.93147180369123816490e-01 - ((half - low) - f);
  return proper ? y : wide(std::numeric_limits<double>::quiet_NaN());
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define DIFFSIM_SHUFFLES
#endif
#endif

/// rows[i][lane] -> rows[lane][i].
inline void transpose(Wide rows[kLanes]) {
#if defined(DIFFSIM_SHUFFLES) && defined(__AVX512F__)
  Wide a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    a[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      b[i + k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      b[i + k + 2] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int k = 0; k < 4; ++k) {
    rows[k] = __builtin_shufflevector(b[k], b[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[k + 4] = __builtin_shufflevector(b[k], b[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#elif defined(DIFFSIM_SHUFFLES)
  const Wide a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
  const Wide b = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const Wide c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
  const Wide d = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
#else
  for (int i = 0; i < kLanes; ++i) {
    for (int k = i + 1; k < kLanes; ++k) {
      const double held = rows[i][k];
      rows[i][k] = rows[k][i];
      rows[k][i] = held;
    }
  }
#endif
}

/// Column-major 3x3 block in registers: eight numbers and a ninth.
struct Block {
  static constexpr int parts = 8 / kLanes;
  Wide eight[parts];
  double ninth;

  Block transposed() const {
#if defined(DIFFSIM_SHUFFLES) && defined(__AVX512F__)
    return {{__builtin_shufflevector(eight[0], eight[0], 0, 3, 6, 1, 4, 7, 2, 5)}, ninth};
#elif defined(DIFFSIM_SHUFFLES)
    return {{__builtin_shufflevector(eight[0], eight[1], 0, 3, 6, 1),
             __builtin_shufflevector(eight[0], eight[1], 4, 7, 2, 5)},
            ninth};
#else
    Block b{{}, ninth};
    for (int i = 0; i < 8; ++i) {
      const int from = 3 * (i % 3) + i / 3;
      b.eight[i / kLanes][i % kLanes] = eight[from / kLanes][from % kLanes];
    }
    return b;
#endif
  }
  static Block load(const double* nine) {
    Block b;
    for (int i = 0; i < parts; ++i) b.eight[i] = eight_at(nine, i);
    b.ninth = nine[8];
    return b;
  }
  void add_to(double* nine) const {
    for (int i = 0; i < parts; ++i) eight_at(nine, i) += eight[i];
    nine[8] += ninth;
  }
  void subtract_from(double* nine) const {
    for (int i = 0; i < parts; ++i) eight_at(nine, i) -= eight[i];
    nine[8] -= ninth;
  }

 private:
  static WideAnywhere& eight_at(double* nine, int part) {
    return *reinterpret_cast<WideAnywhere*>(nine + part * kLanes);
  }
  static const WideAnywhere& eight_at(const double* nine, int part) {
    return *reinterpret_cast<const WideAnywhere*>(nine + part * kLanes);
  }
};

/// Hands (lane, block) to use: blocks come as nine numbers with a lane per block.
template <class Use>
DIFFSIM_INLINE void each_block(const Wide nine[9], int lanes, Use use) {
  Wide rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = nine[i];
  for (int part = 0; part < Block::parts; ++part) transpose(rows + part * kLanes);
  const auto all = [&](int count) {
    for (int lane = 0; lane < count; ++lane) {
      Block b;
      for (int part = 0; part < Block::parts; ++part) b.eight[part] = rows[part * kLanes + lane];
      b.ninth = nine[8][lane];
      use(lane, b);
    }
  };
  lanes == kLanes ? all(kLanes) : all(lanes);
}

}  // namespace diffsim
