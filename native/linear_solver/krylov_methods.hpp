// Conjugate gradients and BiCGSTAB in single precision on (1 + L)^-1 (1 + L + U) (1 + U)^-1.
#pragma once

#include <algorithm>
#include <cmath>

#include "sweep_matrix.hpp"

namespace diffsim {

enum class KrylovEnd { reached, stagnated, indefinite, out_of_iterations };

/// Vectors of one solve; K is OneColumn or EightColumns. Start: r the preconditioned residual,
/// x zero. End: x the solution of the system scaled from the left and the right.
template <class K>
struct KrylovVectors {
  using Cells = std::vector<typename K::Cell>;
  Cells x, r, p, t, y, v, r0, s, z;

  void resize(int groups) {
    for (Cells* cells : {&x, &r, &p, &t, &y, &v, &r0, &s, &z}) cells->resize(groups + 1);
  }
  void start() {
    for (Cells* cells : {&x, &p, &v}) std::fill(cells->begin(), cells->end(), typename K::Cell{});
  }
};

template <class K>
class KrylovMethods {
 public:
  using V = typename K::V;
  using Cell = typename K::Cell;
  using Scalars = typename K::Scalars;
  using Cells = std::vector<Cell>;

  KrylovMethods(const SweepPattern& pattern, const SweepMatrix& matrix, KrylovVectors<K>& vectors,
                int& products, int limit, bool positive)
      : P_(pattern),
        A_(matrix),
        w_(vectors),
        products_(products),
        limit_(limit),
        positive_(positive) {}

  /// Both go on until the residual, not preconditioned, is at most `eta` per column (it starts
  /// at 1).
  KrylovEnd conjugate_gradients(const Scalars& eta);
  KrylovEnd bicgstab(const Scalars& eta);

  /// r <- (1 + L)^-1 S r.
  void precondition();

 private:
  static constexpr int N = K::per_group;

  /// t = (1 + U)^-1 of the vectors that rhs(group, out) makes.
  template <class Rhs>
  void backward(Cells& t, Rhs rhs) const;
  /// y = (1 + L)^-1 (b - t); use(group, A b) with the product t + y.
  template <class Use>
  void forward(const Cells& b, const Cells& t, Cells& y, Use use) const;
  /// Squared norms of the residual that belongs to the preconditioned r.
  Scalars unpreconditioned() const;
  /// Whether all columns are done; tightens the bounds of those that are not.
  bool done(const Scalars& rr, const Scalars& eta);
  KrylovEnd watch(const Scalars& rr);

  const SweepPattern& P_;
  const SweepMatrix& A_;
  KrylovVectors<K>& w_;
  int& products_;
  int limit_;
  bool positive_;    // BiCGSTAB, too, ends where it meets negative curvature
  Scalars bound_{};  // on |r|^2
  float best_ = 0;
  int best_at_ = 0;
};

template <class K>
template <class Rhs>
void KrylovMethods<K>::backward(Cells& t, Rhs rhs) const {
  V b[N], sum[N];
  const auto& U = P_.upper;
  for (int g = P_.groups - 1; g >= 0; --g) {
    K::products(A_.upper.data() + U.begin[g], U.slot.data() + 4 * U.begin[g], U.steps(g), t.data(),
                sum);
    rhs(g, b);
    for (int i = 0; i < N; ++i) t[g].v[i] = b[i] + sum[i];
  }
}

template <class K>
template <class Use>
void KrylovMethods<K>::forward(const Cells& b, const Cells& t, Cells& y, Use use) const {
  V sum[N];
  const auto& L = P_.lower;
  for (int g = 0; g < P_.groups; ++g) {
    K::products(A_.lower.data() + L.begin[g], L.slot.data() + 4 * L.begin[g], L.steps(g), y.data(),
                sum);
    for (int i = 0; i < N; ++i) {
      const V ti = t[g].v[i];
      const V yi = (b[g].v[i] - ti) + sum[i];
      y[g].v[i] = yi;
      sum[i] = ti + yi;
    }
    use(g, sum);
  }
}

template <class K>
void KrylovMethods<K>::precondition() {
  V sum[N], own[N];
  const auto& L = P_.lower;
  for (int g = 0; g < P_.groups; ++g) {
    K::products(A_.lower.data() + L.begin[g], L.slot.data() + 4 * L.begin[g], L.steps(g),
                w_.r.data(), sum);
    K::transform(A_.left[g], w_.r[g], own);
    for (int i = 0; i < N; ++i) w_.r[g].v[i] = own[i] + sum[i];
  }
}

template <class K>
typename K::Scalars KrylovMethods<K>::unpreconditioned() const {
  V sum[N], own[N], total{};
  Cell cell;
  const auto& L = P_.lower;
  for (int g = 0; g < P_.groups; ++g) {
    K::products(A_.lower.data() + L.begin[g], L.slot.data() + 4 * L.begin[g], L.steps(g),
                w_.r.data(), sum);
    for (int i = 0; i < N; ++i) cell.v[i] = w_.r[g].v[i] - sum[i];
    K::transform(A_.unscale[g], cell, own);
    for (int i = 0; i < N; ++i) total += own[i] * own[i];
  }
  return K::reduce(total);
}

template <class K>
bool KrylovMethods<K>::done(const Scalars& rr, const Scalars& eta) {
  for (int c = 0; c < K::columns; ++c) {
    if (rr[c] > bound_[c]) return false;
  }
  const Scalars norms = unpreconditioned();
  bool all = true;
  for (int c = 0; c < K::columns; ++c) {
    const float wanted = eta[c] * eta[c];
    if (norms[c] <= wanted) continue;
    all = false;
    bound_[c] = rr[c] * std::min(0.5f * wanted / norms[c], 0.5f);
  }
  return all;
}

// Ends a solve that is out of products, has lost its numbers, or gains nothing any more.
template <class K>
KrylovEnd KrylovMethods<K>::watch(const Scalars& rr) {
  const int patience = std::max(60, limit_ / 4);
  float worst = 0;
  for (int c = 0; c < K::columns; ++c) {
    if (!std::isfinite(rr[c])) return KrylovEnd::stagnated;
    if (rr[c] > bound_[c]) worst = std::max(worst, rr[c] / bound_[c]);
  }
  if (best_at_ == 0 || worst < 0.25f * best_) {
    best_ = worst;
    best_at_ = products_;
  }
  if (products_ - best_at_ > patience) return KrylovEnd::stagnated;
  return products_ < limit_ ? KrylovEnd::reached : KrylovEnd::out_of_iterations;
}

template <class K>
KrylovEnd KrylovMethods<K>::conjugate_gradients(const Scalars& eta) {
  w_.start();
  V norm{};
  for (int g = 0; g < P_.groups; ++g) {
    for (int i = 0; i < N; ++i) norm += w_.r[g].v[i] * w_.r[g].v[i];
  }
  Scalars rr = K::reduce(norm), alpha{}, beta{};
  for (int c = 0; c < K::columns; ++c) bound_[c] = eta[c] * eta[c] * rr[c];
  while (!done(rr, eta)) {
    if (const KrylovEnd end = watch(rr); end != KrylovEnd::reached) return end;
    ++products_;
    const V b = K::spread(beta);
    backward(w_.t, [&](int g, V* out) {
      for (int i = 0; i < N; ++i) {
        out[i] = w_.p[g].v[i] = w_.r[g].v[i] + b * w_.p[g].v[i];
      }
    });
    V energy{};
    forward(w_.p, w_.t, w_.y, [&](int g, const V* product) {
      for (int i = 0; i < N; ++i) {
        w_.v[g].v[i] = product[i];
        energy += product[i] * w_.p[g].v[i];
      }
    });
    const Scalars pAp = K::reduce(energy);
    for (int c = 0; c < K::columns; ++c) {
      const bool active = rr[c] > bound_[c];
      if (active && !(pAp[c] > 0)) return KrylovEnd::indefinite;
      alpha[c] = active ? rr[c] / pAp[c] : 0;
    }
    const V a = K::spread(alpha);
    norm = V{};
    for (int g = 0; g < P_.groups; ++g) {
      for (int i = 0; i < N; ++i) {
        w_.x[g].v[i] += a * w_.t[g].v[i];
        const V r = w_.r[g].v[i] - a * w_.v[g].v[i];
        w_.r[g].v[i] = r;
        norm += r * r;
      }
    }
    const Scalars next = K::reduce(norm);
    for (int c = 0; c < K::columns; ++c) beta[c] = alpha[c] != 0 ? next[c] / rr[c] : 0;
    rr = next;
  }
  return KrylovEnd::reached;
}

template <class K>
KrylovEnd KrylovMethods<K>::bicgstab(const Scalars& eta) {
  w_.start();
  w_.r0 = w_.r;
  V norm{};
  for (int g = 0; g < P_.groups; ++g) {
    for (int i = 0; i < N; ++i) norm += w_.r[g].v[i] * w_.r[g].v[i];
  }
  Scalars rr = K::reduce(norm), rho = rr, alpha{}, beta{}, omega{};
  const Scalars start = rr;
  for (int c = 0; c < K::columns; ++c) bound_[c] = eta[c] * eta[c] * rr[c];
  while (!done(rr, eta)) {
    if (const KrylovEnd end = watch(rr); end != KrylovEnd::reached) return end;
    products_ += 2;
    const V b = K::spread(beta);
    V o = K::spread(omega);
    backward(w_.t, [&](int g, V* out) {
      for (int i = 0; i < N; ++i) {
        out[i] = w_.p[g].v[i] = w_.r[g].v[i] + b * (w_.p[g].v[i] - o * w_.v[g].v[i]);
      }
    });
    V shadow{};
    forward(w_.p, w_.t, w_.y, [&](int g, const V* product) {
      for (int i = 0; i < N; ++i) {
        w_.v[g].v[i] = product[i];
        shadow += product[i] * w_.r0[g].v[i];
      }
    });
    const Scalars r0v = K::reduce(shadow);
    for (int c = 0; c < K::columns; ++c) alpha[c] = rr[c] > bound_[c] ? rho[c] / r0v[c] : 0;
    const V a = K::spread(alpha);
    backward(w_.z, [&](int g, V* out) {
      for (int i = 0; i < N; ++i) out[i] = w_.s[g].v[i] = w_.r[g].v[i] - a * w_.v[g].v[i];
    });
    V along{}, square{};
    forward(w_.s, w_.z, w_.y, [&](int g, const V* product) {
      for (int i = 0; i < N; ++i) {
        w_.r[g].v[i] = product[i];  // the old residual is s + alpha v; its place is free
        along += product[i] * w_.s[g].v[i];
        square += product[i] * product[i];
      }
    });
    const Scalars qs = K::reduce(along), qq = K::reduce(square);
    for (int c = 0; c < K::columns; ++c) {
      if (positive_ && alpha[c] != 0 && !(qs[c] > 0)) return KrylovEnd::indefinite;
    }
    for (int c = 0; c < K::columns; ++c) omega[c] = alpha[c] != 0 && qq[c] > 0 ? qs[c] / qq[c] : 0;
    o = K::spread(omega);
    norm = V{};
    shadow = V{};
    for (int g = 0; g < P_.groups; ++g) {
      for (int i = 0; i < N; ++i) {
        w_.x[g].v[i] += a * w_.t[g].v[i] + o * w_.z[g].v[i];
        const V r = w_.s[g].v[i] - o * w_.r[g].v[i];
        w_.r[g].v[i] = r;
        norm += r * r;
        shadow += r * w_.r0[g].v[i];
      }
    }
    rr = K::reduce(norm);
    const Scalars next = K::reduce(shadow);
    for (int c = 0; c < K::columns; ++c) {
      // Where r has become orthogonal to r0 nothing can follow: the caller starts afresh.
      const bool over =
          rr[c] > bound_[c] && alpha[c] != 0 && next[c] * next[c] < 1e-10f * rr[c] * start[c];
      if (over) return KrylovEnd::stagnated;
      beta[c] = omega[c] != 0 ? next[c] / rho[c] * (alpha[c] / omega[c]) : 0;
      rho[c] = next[c];
    }
  }
  return KrylovEnd::reached;
}

}  // namespace diffsim
