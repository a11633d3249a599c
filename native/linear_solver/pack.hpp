// A fixed number of numbers that are calculated with together, in the widest registers there are.
#pragma once

#include <algorithm>
#include <cstring>

#include "../inline.hpp"

namespace diffsim {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int count>
struct Pack {
  static constexpr int lanes = std::min<int>(count, kVectorBytes / sizeof(T));
  static constexpr int parts = count / lanes;
  using Part [[gnu::vector_size(lanes * sizeof(T))]] = T;

  Part part[parts];

  DIFFSIM_INLINE static Pack load(const T* at) {
    Pack p;
    std::memcpy(&p, at, sizeof p);
    return p;
  }
  DIFFSIM_INLINE void store(T* at) const { std::memcpy(at, this, sizeof *this); }
  DIFFSIM_INLINE static Pack all(T value) {
    Pack p;
    for (Part& x : p.part) x = Part{} + value;
    return p;
  }
  DIFFSIM_INLINE T operator[](int i) const { return part[i / lanes][i % lanes]; }
  DIFFSIM_INLINE void set(int i, T value) { part[i / lanes][i % lanes] = value; }

  DIFFSIM_INLINE Pack& operator+=(const Pack& o) {
    for (int i = 0; i < parts; ++i) part[i] += o.part[i];
    return *this;
  }
  DIFFSIM_INLINE Pack& operator-=(const Pack& o) {
    for (int i = 0; i < parts; ++i) part[i] -= o.part[i];
    return *this;
  }
  DIFFSIM_INLINE Pack& operator*=(const Pack& o) {
    for (int i = 0; i < parts; ++i) part[i] *= o.part[i];
    return *this;
  }
  DIFFSIM_INLINE friend Pack operator+(Pack a, const Pack& b) { return a += b; }
  DIFFSIM_INLINE friend Pack operator-(Pack a, const Pack& b) { return a -= b; }
  DIFFSIM_INLINE friend Pack operator*(Pack a, const Pack& b) { return a *= b; }
  DIFFSIM_INLINE friend Pack operator*(T s, Pack a) {
    for (Part& x : a.part) x *= s;
    return a;
  }
  DIFFSIM_INLINE Pack operator-() const {
    Pack p;
    for (int i = 0; i < parts; ++i) p.part[i] = -part[i];
    return p;
  }
};

}  // namespace diffsim
