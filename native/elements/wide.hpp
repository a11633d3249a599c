// Eight doubles at a time: GCC's and Clang's vector extension, whatever registers there are.
//
// One lane is one element of a batch; all operations are lane by lane, so results do not depend on
// the width of the machine's registers.
#pragma once

#include <cstdint>
#include <limits>

namespace diffsim {

constexpr int kLanes = 8;
typedef double Wide __attribute__((vector_size(8 * kLanes)));
typedef std::int64_t WideInt __attribute__((vector_size(8 * kLanes)));

/// A 3-vector per lane.
struct Wide3 {
  Wide x, y, z;
  Wide& operator[](int i) { return (&x)[i]; }
  const Wide& operator[](int i) const { return (&x)[i]; }
};

inline Wide wide(double a) { return Wide{a, a, a, a, a, a, a, a}; }
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

/// Eight numbers, or 3-vectors, that lie at the given offsets of `from`.
inline Wide gather(const double* from, const int* at) {
  return Wide{from[at[0]], from[at[1]], from[at[2]], from[at[3]],
              from[at[4]], from[at[5]], from[at[6]], from[at[7]]};
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
#ifdef DIFFSIM_SHUFFLES
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

}  // namespace diffsim
