// Vector and matrix aliases, and the one way the engine refuses bad input.
#pragma once

#include <Eigen/Dense>
#include <sstream>
#include <stdexcept>
#include <string>

namespace diffsim {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::RowVector3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Matrix36 = Eigen::Matrix<double, 3, 6>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Matrix3X = Eigen::Matrix<double, 3, Eigen::Dynamic>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

/// Thrown for anything the caller can put right: place, rule, what was got, remedy.
struct InvalidInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class Got>
[[noreturn]] void refuse(const std::string& place, const std::string& rule, const Got& got,
                         const std::string& remedy = "") {
  std::ostringstream text;
  text << place << ": " << rule << ", got " << got;
  if (!remedy.empty()) text << "; " << remedy;
  throw InvalidInput(text.str());
}

/// Cross-product matrix: skew(a) b = a x b.
inline Matrix3d skew(const Vector3d& a) {
  Matrix3d m;
  m << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return m;
}

}  // namespace diffsim
