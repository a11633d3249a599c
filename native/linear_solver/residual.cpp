#include "residual.hpp"

#include <cstring>

#include "pack.hpp"

namespace diffsim {
namespace {

using Source = SweepPattern::Source;
using Pack4d = Pack<double, 4>;
using Pack8d = Pack<double, 8>;

constexpr int kFront = 8;  // zeros before the first slot, so that shifted loads stay inside

// The parts that slot s couples with: work(source, slot of x), its own first.
template <bool transposed, class Work>
void row(const SweepPattern& P, int s, Work work) {
  work(P.diagonal[s], s);
  for (const auto* triangle : {&P.lower, &P.upper}) {
    const Source* source = (transposed ? triangle->mirrored : triangle->direct).data();
    const int* slot = triangle->slot.data();
    const int stop = 4 * triangle->begin[s / 4 + 1];
    for (int k = 4 * triangle->begin[s / 4] + s % 4; k < stop; k += 4) work(source[k], slot[k]);
  }
}

}  // namespace

void Residual::pack(const SweepPattern& P, const MatrixXd& x, Eigen::Index first, int columns,
                    int places) {
  x_.resize(kFront + (4 * P.groups + 1) * 4 * places);
  x_.head(kFront).setZero();
  x_.tail(4 * places).setZero();
  double* to = x_.data() + kFront;
  for (int s = 0; s < 4 * P.groups; ++s, to += 4 * places) {
    std::memset(to, 0, 4 * places * sizeof(double));
    if (P.dof[s] < 0) continue;
    for (int c = 0; c < columns; ++c) {
      const double* from = x.data() + (first + c) * x.rows() + P.dof[s];
      for (int i = 0; i < 3; ++i) to[i * places + c] = from[i];
    }
  }
}

// Columns of a part are read four wide, the third one place early: nothing outside the block is
// touched, and rows of the third product sit one place further on.
template <bool transposed>
void Residual::one(const SweepPattern& P, const double* values, double* r) {
  const double* x = x_.data() + kFront;
  for (int s = 0; s < 4 * P.groups; ++s) {
    if (P.dof[s] < 0) continue;
    Pack4d a{}, b{}, c{};
    row<transposed>(P, s, [&](const Source& source, int slot) {
      const double* m = values + source.offset;
      const double* xj = x + 4 * slot;
      const Pack4d m0 = Pack4d::load(m), m1 = Pack4d::load(m + source.stride),
                   m2 = Pack4d::load(m + 2 * source.stride - 1);
      if (transposed) {
        const Pack4d node = Pack4d::load(xj);
        a += m0 * node;
        b += m1 * node;
        c += m2 * Pack4d::load(xj - 1);
      } else {
        a += xj[0] * m0;
        b += xj[1] * m1;
        c += xj[2] * m2;
      }
    });
    double* ri = r + P.dof[s];
    if (transposed) {
      ri[0] -= a[0] + a[1] + a[2];
      ri[1] -= b[0] + b[1] + b[2];
      ri[2] -= c[1] + c[2] + c[3];
    } else {
      for (int i = 0; i < 3; ++i) ri[i] -= a[i] + b[i] + c[i + 1];
    }
  }
}

template <bool transposed>
void Residual::eight(const SweepPattern& P, const double* values, int columns, Eigen::Index ld,
                     double* r) {
  const double* x = x_.data() + kFront;
  for (int s = 0; s < 4 * P.groups; ++s) {
    if (P.dof[s] < 0) continue;
    Pack8d sum[3] = {};
    row<transposed>(P, s, [&](const Source& source, int slot) {
      const double* m = values + source.offset;
      const double* xj = x + 32 * slot;
      const int along = transposed ? 1 : source.stride, across = transposed ? source.stride : 1;
      for (int c = 0; c < 3; ++c) {
        const Pack8d node = Pack8d::load(xj + 8 * c);
        for (int i = 0; i < 3; ++i) sum[i] += m[c * along + i * across] * node;
      }
    });
    for (int c = 0; c < columns; ++c) {
      for (int i = 0; i < 3; ++i) r[c * ld + P.dof[s] + i] -= sum[i][c];
    }
  }
}

void Residual::subtract_product(const SweepPattern& P, const VectorXd& values, bool transposed,
                                const MatrixXd& x, MatrixXd& r) {
  const double* A = values.data();
  for (Eigen::Index first = 0; first < x.cols();) {
    const int columns = static_cast<int>(std::min<Eigen::Index>(8, x.cols() - first));
    double* at = r.data() + first * r.rows();
    pack(P, x, first, columns, columns == 1 ? 1 : 8);
    if (columns == 1) {
      transposed ? one<true>(P, A, at) : one<false>(P, A, at);
    } else {
      transposed ? eight<true>(P, A, columns, r.rows(), at)
                 : eight<false>(P, A, columns, r.rows(), at);
    }
    first += columns;
  }
}

}  // namespace diffsim
