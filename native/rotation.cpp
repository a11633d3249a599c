#include "rotation.hpp"

#include <Eigen/Geometry>
#include <cmath>

namespace diffsim {
namespace {

// A = sin t / t, B = (1 - cos t)/t^2, C = (t - sin t)/t^3 and dB/ds, dC/ds with s = t^2.
struct Coefficients {
  double A, B, C, dB, dC;
};

constexpr double kSeriesBelow = 0.25;  // [rad^2]

Coefficients coefficients(double s) {
  if (s < kSeriesBelow) {
    // sum_k (-s)^k / (2k + j)!, j = 1, 2, 3; eight terms leave less than 1e-18.
    double a = 0, b = 0, c = 0, db = 0, dc = 0;
    double power = 1, previous = 0, factorial = 1;  // (-s)^k, (-s)^(k-1), (2k)!
    for (int k = 0; k < 8; ++k) {
      const double f1 = factorial * (2 * k + 1), f2 = f1 * (2 * k + 2), f3 = f2 * (2 * k + 3);
      a += power / f1;
      b += power / f2;
      c += power / f3;
      db -= k * previous / f2;
      dc -= k * previous / f3;
      previous = power;
      power *= -s;
      factorial = f2;
    }
    return {a, b, c, db, dc};
  }
  const double t = std::sqrt(s), A = std::sin(t) / t, B = (1 - std::cos(t)) / s,
               C = (t - std::sin(t)) / (s * t);
  return {A, B, C, (A - 2 * B) / (2 * s), (B - 3 * C) / (2 * s)};
}

}  // namespace

Matrix3d exp_rotation(const Vector3d& theta) {
  const Coefficients k = coefficients(theta.squaredNorm());
  const Matrix3d W = skew(theta);
  return Matrix3d::Identity() + k.A * W + k.B * (W * W);
}

Vector3d log_rotation(const Matrix3d& R) {
  Eigen::Quaterniond q(R);
  q.normalize();
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  const double sine = q.vec().norm();
  if (sine < 1e-9) return 2.0 * q.vec();
  return 2.0 * std::atan2(sine, q.w()) / sine * q.vec();
}

Matrix3d left_jacobian(const Vector3d& theta) {
  const Coefficients k = coefficients(theta.squaredNorm());
  const Matrix3d W = skew(theta);
  return Matrix3d::Identity() + k.B * W + k.C * (W * W);
}

Matrix3d left_jacobian_inverse(const Vector3d& theta) {
  const double s = theta.squaredNorm();
  double g;  // (1 - (t/2) cot(t/2)) / t^2
  if (s < kSeriesBelow) {
    // Bernoulli numbers: sum |B_2k| s^(k-1) / (2k)!, k = 1 ... 8.
    constexpr double c[] = {1. / 12,           1. / 720,
                            1. / 30240,        1. / 1209600,
                            1. / 47900160,     691. / 1307674368000.,
                            1. / 74724249600., 3617. / 10670622842880000.};
    g = 0;
    for (int k = 7; k >= 0; --k) g = g * s + c[k];
  } else {
    const double half = 0.5 * std::sqrt(s);
    g = (1 - half / std::tan(half)) / s;
  }
  const Matrix3d W = skew(theta);
  return Matrix3d::Identity() - 0.5 * W + g * (W * W);
}

Matrix3d left_jacobian_derivative(const Vector3d& theta, const Vector3d& u) {
  const Coefficients k = coefficients(theta.squaredNorm());
  const Vector3d a = theta.cross(u), b = theta.cross(a);
  Matrix3d D = -k.B * skew(u) + (2 * k.dB * a + 2 * k.dC * b) * theta.transpose();
  D += k.C * (theta * u.transpose() - 2 * u * theta.transpose());
  D.diagonal().array() += k.C * theta.dot(u);
  return D;
}

}  // namespace diffsim
