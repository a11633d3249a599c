#include "revolved.hpp"

#include <cmath>

namespace diffsim {
namespace {

void check_length(const char* place, double value) {
  if (!(value > 0) || !std::isfinite(value)) refuse(place, "must be > 0 and finite [m]", value);
}

// A meridian profile at one point: value, first and second derivatives.
struct Profile {
  double g = 0, by_rho = 0, by_z = 0, rho_rho = 0, rho_z = 0, zz = 0;
};

// Distance to the point of the meridian plane that lies (a, b) away, less `radius`.
Profile round_profile(double a, double b, double radius) {
  Profile f;
  const double q = std::hypot(a, b);
  f.g = q - radius;
  if (!(q > 0)) {  // on the core: any direction will do, deterministically
    f.by_z = 1;
    return f;
  }
  f.by_rho = a / q;
  f.by_z = b / q;
  f.rho_rho = b * b / (q * q * q);
  f.rho_z = -a * b / (q * q * q);
  f.zz = a * a / (q * q * q);
  return f;
}

// e_rho (unit in the xy plane; x on the axis) and rho.
struct Meridian {
  Vector3d e_rho = Vector3d::UnitX();
  double rho = 0;
  explicit Meridian(const Vector3d& x) : rho(std::hypot(x.x(), x.y())) {
    if (rho > 0) e_rho = Vector3d(x.x() / rho, x.y() / rho, 0);
  }
};

SdfSample revolve(const Meridian& m, const Profile& f, int region) {
  const Vector3d e_z = Vector3d::UnitZ(), e_phi(-m.e_rho.y(), m.e_rho.x(), 0);
  SdfSample s;
  s.g = f.g;
  s.n = f.by_rho * m.e_rho + f.by_z * e_z;
  const Vector3d zr = f.rho_rho * m.e_rho + f.rho_z * e_z, zz = f.rho_z * m.e_rho + f.zz * e_z;
  s.kappa = zr * m.e_rho.transpose() + zz * e_z.transpose();
  // Towards the axis f_rho / rho -> f_rho,rho for a smooth profile (a pole); else it is a kink.
  double about = m.rho > 0 ? f.by_rho / m.rho : f.rho_rho;
  if (!std::isfinite(about)) about = 0;
  s.kappa += about * e_phi * e_phi.transpose();
  s.region = region;
  return s;
}

// By a radius, and by a length of which `out` lies beyond the middle, that shift the profile.
SizeSlope by_radius(const Vector3d& x, const SdfSample& s) {
  const Vector3d e_rho = Meridian(x).e_rho;
  return {-s.n.dot(e_rho), -s.kappa * e_rho};
}

SizeSlope by_length(double out, const SdfSample& s) {
  return {-out * s.n.z(), -out * s.kappa.col(2)};
}

}  // namespace

Capsule::Capsule(double half_length, double radius) {
  if (!(half_length >= 0) || !std::isfinite(half_length)) {
    refuse("capsule: half_length", "must be >= 0 and finite [m]", half_length);
  }
  check_length("capsule: radius", radius);
  add_size("length", 2 * half_length, 0);
  add_size("radius", radius);
}

SdfSample Capsule::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  const SdfSample s = Sdf::slopes(x, sizes, by);
  by[0] = by_length((s.region - 1) / 2., s);
  by[1] = {-1, Vector3d::Zero()};
  return s;
}

void Capsule::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  const double half_length = sizes[0] / 2, radius = sizes[1];
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) {
    const Meridian m(x.col(i));
    const double z = x(2, i);
    const int part = z > half_length ? 2 : (z < -half_length ? 0 : 1);
    if (part != 1) {
      out[i] = revolve(m, round_profile(m.rho, z - (part - 1) * half_length, radius), part);
    } else {
      Profile f;
      f.g = m.rho - radius;
      f.by_rho = 1;
      out[i] = revolve(m, f, part);
    }
  }
}

Cylinder::Cylinder(double half_height, double radius) {
  check_length("cylinder: half_height", half_height);
  check_length("cylinder: radius", radius);
  add_size("height", 2 * half_height);
  add_size("radius", radius);
}

SdfSample Cylinder::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  const SdfSample s = Sdf::slopes(x, sizes, by);
  by[0] = by_length(x.z() < 0 ? -0.5 : 0.5, s);
  by[1] = by_radius(x, s);
  return s;
}

void Cylinder::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  const double half_height = sizes[0] / 2, radius = sizes[1];
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) {
    const Meridian m(x.col(i));
    const double sign = x(2, i) < 0 ? -1 : 1;
    const double a = m.rho - radius, b = std::abs(x(2, i)) - half_height;
    Profile f;
    int region = 0;
    if (a > 0 && b > 0) {
      f = round_profile(a, b, 0);
      f.by_z *= sign;
      f.rho_z *= sign;
      region = sign < 0 ? 3 : 4;
    } else if (a > b) {
      f.g = a;
      f.by_rho = 1;
    } else {
      f.g = b;
      f.by_z = sign;
      region = sign < 0 ? 1 : 2;
    }
    out[i] = revolve(m, f, region);
  }
}

Torus::Torus(double ring_radius, double tube_radius) {
  check_length("torus: ring_radius", ring_radius);
  check_length("torus: tube_radius", tube_radius);
  if (!(tube_radius < ring_radius)) {
    refuse("torus: tube_radius", "must be less than ring_radius [m]", tube_radius,
           "a torus without a hole has no exact distance inside");
  }
  add_size("ring_radius", ring_radius);
  add_size("tube_radius", tube_radius);
}

SdfSample Torus::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  const SdfSample s = Sdf::slopes(x, sizes, by);
  by[0] = by_radius(x, s);
  by[1] = {-1, Vector3d::Zero()};
  return s;
}

void Torus::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) {
    const Meridian m(x.col(i));
    out[i] = revolve(m, round_profile(m.rho - sizes[0], x(2, i), sizes[1]), 0);
  }
}

}  // namespace diffsim
