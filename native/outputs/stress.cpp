#include "stress.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "point_rows.hpp"

namespace diffsim {
namespace {

using Matrix63 = Eigen::Matrix<double, 6, 3>;

/// xx yy zz xy xz yz.
Vector6 six(const Matrix3d& S) {
  Vector6 v;
  v << S(0, 0), S(1, 1), S(2, 2), S(0, 1), S(0, 2), S(1, 2);
  return v;
}

// Of the shear modulus: a stress below it is that of rounded positions, and has no direction.
constexpr double kStressRounding = 1e-10;

const Vector6 kIdentity = six(Matrix3d::Identity());

double von_mises(const Vector6& s) {
  const double a = s[0] - s[1], b = s[1] - s[2], c = s[2] - s[0];
  return std::sqrt((a * a + b * b + c * c) / 2 + 3 * s.tail<3>().squaredNorm());
}

/// Its derivative; 0 where there is no stress but for rounding, where it has a kink.
Vector6 von_mises_slope(const Vector6& s, double rounding) {
  const double size = von_mises(s);
  if (!(size > rounding)) return Vector6::Zero();
  const double mean = s.head<3>().sum() / 3;
  Vector6 by;
  by << 1.5 * (s.head<3>() - Vector3d::Constant(mean)), 3 * s.tail<3>();
  return by / size;
}

/// One lane's moduli.
struct OneModuli {
  double mu, viscosity;
  Moduli wide;
  OneModuli(const SolidMaterial& material, const VectorXd& p, int element, int by = -1) {
    LaneIndex lanes;
    lanes.fill(element);
    wide = by < 0 ? ModuliView(material, p)(lanes)
                  : ModuliView(material, p, static_cast<MaterialPart>(by))(lanes);
    mu = wide.mu[0];
    viscosity = wide.viscosity[0];
  }
};

/// Deformation of one sample: what its stress is made of.
struct Deformation {
  Matrix3d F, rate, cof;
  double J;

  Matrix3d left() const { return F * F.transpose(); }
  Matrix3d M(ViscosityModel viscosity) const {
    if (viscosity == ViscosityModel::linear) {
      return (rate + rate.transpose()) * F.transpose() / 2;
    }
    return left() * rate * F.transpose();
  }
};

/// The part of the stress that a sample answers by itself.
Matrix3d sample_stress(const Deformation& d, const StressLaw& law, const OneModuli& m) {
  Matrix3d S = m.mu / d.J * d.left() + law.shear(wide(d.J), m.wide).q[0] * Matrix3d::Identity();
  if (m.viscosity != 0) {
    const Matrix3d M = d.M(law.viscosity);
    S += m.viscosity / d.J * (M + M.transpose());
  }
  return S;
}

/// Its derivatives by a point's place and velocity, whose gradient is b.
std::pair<Matrix63, Matrix63> sample_slopes(const Deformation& d, const StressLaw& law,
                                            const OneModuli& m, const Vector3d& b) {
  std::pair<Matrix63, Matrix63> by{Matrix63::Zero(), Matrix63::Zero()};
  const Vector3d Fb = d.F * b, cof_b = d.cof * b, rate_b = d.rate * b;
  const Matrix3d left = d.left(), A = d.rate * d.F.transpose();
  const bool viscous = m.viscosity != 0, linear = law.viscosity == ViscosityModel::linear;
  const Volumetric vol = law.shear(wide(d.J), m.wide);
  Matrix3d over_J = m.mu / d.J * left;  // what is divided by J
  if (viscous) {
    const Matrix3d M = d.M(law.viscosity);
    over_J += m.viscosity / d.J * (M + M.transpose());
  }
  for (int i = 0; i < 3; ++i) {
    const Vector3d e = Vector3d::Unit(i);
    const Matrix3d dleft = e * Fb.transpose() + Fb * e.transpose();  // dF = e b^T
    Matrix3d dx = m.mu / d.J * dleft - cof_b[i] / d.J * over_J;
    dx.diagonal().array() += vol.slope[0] * cof_b[i];
    if (viscous) {
      Matrix3d Mx, Mv;  // dF' = e b^T
      if (linear) {
        Mx = (rate_b + d.rate.transpose() * b) * e.transpose() / 2;
        Mv = (e * Fb.transpose() + b * d.F.col(i).transpose()) / 2;
      } else {
        Mx = dleft * A + left * rate_b * e.transpose();
        Mv = left * e * Fb.transpose();
      }
      dx += m.viscosity / d.J * (Mx + Mx.transpose());
      by.second.col(i) = six(m.viscosity / d.J * (Mv + Mv.transpose()));
    }
    by.first.col(i) = six(dx);
  }
  return by;
}

/// A tetrahedron's mean and, where asked, its derivatives.
struct CellRows {
  Vector6 value = Vector6::Zero();
  double rounding = 0;                                    // of a stress [Pa]
  std::map<int, std::pair<Matrix63, Matrix63>> by_point;  // place, velocity
  std::vector<std::pair<int, Vector6>> by_parameter;

  std::pair<Matrix63, Matrix63>& of(int point) {
    return by_point.try_emplace(point, Matrix63::Zero(), Matrix63::Zero()).first->second;
  }
};

class StressField {
 public:
  StressField(const PointSet* points, StressLaw law, std::function<StressLayout()> make)
      : points_(points), law_(law), make_(std::move(make)) {}

  const StressLayout& layout() {
    std::call_once(made_, [this] { layout_ = make_(); });
    return layout_;
  }

  /// All samples at a state.
  std::vector<Deformation> deform(const State& s, const VectorXd& p) {
    Matrix3X x(3, points_->size()), v(3, points_->size());
    for (int i = 0; i < points_->size(); ++i) {
      x.col(i) = points_->position(i, s, p);
      v.col(i) = points_->velocity(i, s, points_->moment_arm(i, s, p));
    }
    std::vector<Deformation> all;
    all.reserve(layout().sample.size());
    for (const StressLayout::Sample& at : layout().sample) {
      Deformation d{Matrix3d::Zero(), Matrix3d::Zero(), {}, 0};
      for (std::size_t a = 0; a < at.point.size(); ++a) {
        const Vector3d b = at.gradient.col(static_cast<Eigen::Index>(a));
        d.F += x.col(at.point[a]) * b.transpose();
        d.rate += v.col(at.point[a]) * b.transpose();
      }
      for (int i = 0; i < 3; ++i) {
        d.cof.row(i) = d.F.row((i + 1) % 3).cross(d.F.row((i + 2) % 3));
      }
      d.J = d.F.row(0).dot(d.cof.row(0));
      all.push_back(d);
    }
    return all;
  }

  CellRows stress(int c, const std::vector<Deformation>& at, const VectorXd& p, bool slopes) {
    CellRows rows;
    for (const StressLayout::Part& part : layout().cell[c].samples) {
      const Deformation& d = at[part.index];
      const OneModuli m(layout().of_samples, p, part.element);
      rows.value += part.share * six(sample_stress(d, law_, m));
      rows.rounding += part.share * kStressRounding * m.mu;
      if (!slopes) continue;
      add_material(layout().of_samples, p, part, rows,
                   [&](const OneModuli& by) { return six(sample_stress(d, law_, by)); });
      each_point(part.index, [&](int point, const Vector3d& b) {
        const auto by = sample_slopes(d, law_, m, b);
        auto& to = rows.of(point);
        to.first += part.share * by.first;
        to.second += part.share * by.second;
      });
    }
    for (const StressLayout::Part& part : layout().cell[c].volumes) {
      const StressLayout::Volume& volume = layout().volume[part.index];
      double J = 0;
      for (const auto& [sample, weight] : volume.of) J += weight * at[sample].J;
      const Volumetric vol =
          law_.volume(wide(J), OneModuli(layout().of_volumes, p, part.element).wide);
      rows.value += part.share * vol.q[0] * kIdentity;
      if (!slopes) continue;
      add_material(layout().of_volumes, p, part, rows, [&](const OneModuli& by) {
        return Vector6(law_.volume(wide(J), by.wide).q[0] * kIdentity);
      });
      for (const auto& [sample, weight] : volume.of) {
        const double scale = part.share * vol.slope[0] * weight;
        each_point(sample, [&](int point, const Vector3d& b) {
          rows.of(point).first += kIdentity * (scale * at[sample].cof * b).transpose();
        });
      }
    }
    return rows;
  }

  CellRows strain(int c, const std::vector<Deformation>& at, bool slopes) {
    CellRows rows;
    for (const StressLayout::Part& part : layout().cell[c].samples) {
      const Matrix3d& F = at[part.index].F;
      rows.value += part.share / 2 * six(F.transpose() * F - Matrix3d::Identity());
      if (!slopes) continue;
      each_point(part.index, [&](int point, const Vector3d& b) {
        for (int i = 0; i < 3; ++i) {
          const Vector3d f = F.row(i);
          rows.of(point).first.col(i) +=
              part.share / 2 * six(f * b.transpose() + b * f.transpose());
        }
      });
    }
    return rows;
  }

  /// Adds W times the derivatives, W (n, 6), to rows of `by` from `row` on.
  template <class Weights>
  void add(const CellRows& rows, const Weights& W, int row, const State& s, const VectorXd& p,
           OutputJacobian& by) const {
    for (const auto& [point, slopes] : rows.by_point) {
      add_point_rows(*points_, point, s, p, row, W * slopes.first, W * slopes.second, by);
    }
    for (const auto& [parameter, column] : rows.by_parameter) {
      by.add_p(row, parameter, VectorXd(W * column));
    }
  }

 private:
  template <class F>
  void each_point(int sample, F&& f) {
    const StressLayout::Sample& at = layout().sample[sample];
    for (std::size_t a = 0; a < at.point.size(); ++a) {
      f(at.point[a], Vector3d(at.gradient.col(static_cast<Eigen::Index>(a))));
    }
  }

  /// Stress is linear in the moduli.
  template <class F>
  static void add_material(const SolidMaterial& material, const VectorXd& p,
                           const StressLayout::Part& part, CellRows& rows, F&& stress) {
    for (int k = 0; k < kMaterialParts; ++k) {
      const ElementParameter& parameter = material.part[k];
      const int own = parameter.per_element ? part.element : 0;
      rows.by_parameter.emplace_back(parameter.first + own,
                                     part.share * stress(OneModuli(material, p, part.element, k)));
    }
  }

  const PointSet* points_;
  StressLaw law_;
  std::function<StressLayout()> make_;
  std::once_flag made_;
  StressLayout layout_;
};

using Field = std::shared_ptr<StressField>;
using Matrix66 = Eigen::Matrix<double, 6, 6>;

void evaluate_max(StressField& field, int cells, const Window& window, const VectorXd& p, double* y,
                  OutputJacobian* by) {
  const State& s = window.now();
  const auto at = field.deform(s, p);
  int where = 0;
  for (int c = 0; c < cells; ++c) {
    const double size = von_mises(field.stress(c, at, p, false).value);
    if (c > 0 && !(size > *y)) continue;
    *y = size;
    where = c;
  }
  if (!by) return;
  const CellRows rows = field.stress(where, at, p, true);
  field.add(rows, von_mises_slope(rows.value, rows.rounding).transpose(), 0, s, p, *by);
}

}  // namespace

int StressLayout::add_tetrahedron(const Matrix3X& X, const std::array<int, 4>& point) {
  Matrix3d D;
  for (int a = 0; a < 3; ++a) D.col(a) = X.col(point[a + 1]) - X.col(point[0]);
  Sample at{{point.begin(), point.end()}, Matrix3X(3, 4)};
  at.gradient.rightCols(3) = D.inverse().transpose();
  at.gradient.col(0) = -at.gradient.rightCols(3).rowwise().sum();
  sample.push_back(std::move(at));
  return static_cast<int>(sample.size()) - 1;
}

void list_stress(const std::string& name, const PointSet* points, StressLaw law,
                 std::function<StressLayout()> layout, int cells, OutputList& to) {
  const auto field = std::make_shared<StressField>(points, law, std::move(layout));
  const std::vector<std::string> parts{"xx", "yy", "zz", "xy", "xz", "yz"};
  const auto six_numbers = [=](bool strain) {
    return [=](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
      const State& s = window.now();
      const auto at = field->deform(s, p);
      for (int c = 0; c < cells; ++c) {
        const CellRows rows = strain ? field->strain(c, at, by) : field->stress(c, at, p, by);
        Vector6::Map(y + 6 * c) = rows.value;
        if (by) field->add(rows, Matrix66::Identity(), 6 * c, s, p, *by);
      }
    };
  };
  to.push_back({name + ".stress", "Pa", parts, cells, six_numbers(false)});
  to.push_back({name + ".strain", "1", parts, cells, six_numbers(true)});
  to.push_back({name + ".von_mises",
                "Pa",
                {},
                cells,
                [=](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
                  const State& s = window.now();
                  const auto at = field->deform(s, p);
                  for (int c = 0; c < cells; ++c) {
                    const CellRows rows = field->stress(c, at, p, by);
                    y[c] = von_mises(rows.value);
                    if (by)
                      field->add(rows, von_mises_slope(rows.value, rows.rounding).transpose(), c, s,
                                 p, *by);
                  }
                }});
  to.push_back({name + ".von_mises_max",
                "Pa",
                {},
                0,
                [=](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
                  evaluate_max(*field, cells, window, p, y, by);
                }});
}

}  // namespace diffsim
