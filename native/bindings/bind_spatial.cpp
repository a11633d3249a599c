#include "../spatial/inertia_adjoint.hpp"
#include "../spatial/quaternion.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

void check_finite(const std::string& place, const std::string& key, const MatrixXd& value) {
  if (!value.allFinite()) refuse(place, key + " must be finite", value.transpose());
}

void check_rotation(const std::string& place, const Matrix3d& E) {
  check_finite(place, "E", E);
  const double error = (E * E.transpose() - Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (error > 1e-9 || E.determinant() < 0)
    refuse(place, "E must be a rotation matrix, E E^T = 1 within 1e-9 and det E = 1",
           "an error of " + std::to_string(error) + " and det " + std::to_string(E.determinant()),
           "scipy's Rotation.from_matrix gives the nearest rotation");
}

template <class Transform>
Transform checked(const std::string& place, const Matrix3d& E, const Vector3d& r) {
  check_rotation(place, E);
  check_finite(place, "r", r);
  return {E, r};
}

RigidInertia checked_inertia(double mass, const Vector3d& center, const Matrix3d& inertia) {
  const std::string place = "RigidInertia";
  if (!(mass >= 0) || !std::isfinite(mass))
    refuse(place, "mass must be finite and not negative", mass);
  check_finite(place, "center", center);
  check_finite(place, "inertia", inertia);
  const double skewness = (inertia - inertia.transpose()).cwiseAbs().maxCoeff();
  if (skewness > 1e-12 * inertia.cwiseAbs().maxCoeff())
    refuse(place, "inertia must be symmetric", "a difference of " + std::to_string(skewness));
  return RigidInertia::about_center(mass, center, inertia);
}

ArticulatedInertia checked_articulated(const Matrix6& A) {
  check_finite("ArticulatedInertia", "matrix", A);
  const double skewness = (A - A.transpose()).cwiseAbs().maxCoeff();
  if (skewness > 1e-12 * A.cwiseAbs().maxCoeff())
    refuse("ArticulatedInertia", "matrix must be symmetric",
           "a difference of " + std::to_string(skewness));
  return ArticulatedInertia::upper(A);
}

/// Vectors and gradients as Python has them.
Vector6 plain(const MotionVector& m) { return m.vector(); }
Vector6 plain(const ForceVector& f) { return f.vector(); }
Vector10 plain(const Vector10& p) { return p; }
Matrix6 plain(const Matrix6& M) { return M; }
py::tuple plain(const TransformGradient& g) { return py::make_tuple(g.E, g.r); }
template <class A, class B>
py::tuple plain(const std::pair<A, B>& both) {
  return py::make_tuple(plain(both.first), plain(both.second));
}
using Parts = std::pair<Matrix3d, Vector3d>;
TransformGradient transform_gradient(const Parts& bar) { return {bar.first, bar.second}; }

using Six = Vector6;  // as an argument: a motion or a force

template <class Transform>
void bind_actions(py::class_<Transform>& t) {
  using X = Transform;
  t.def(
       "apply", [](const X& x, const Six& m) { return plain(apply(x, MotionVector(m))); },
       py::arg("motion"), "A motion (omega, v), (6,), from A to B: X m  [Qa (28)].")
      .def(
          "apply_inverse",
          [](const X& x, const Six& m) { return plain(apply_inverse(x, MotionVector(m))); },
          py::arg("motion"), "A motion (6,) from B to A: X^-1 m  [Qa (30)].")
      .def(
          "apply_transpose",
          [](const X& x, const Six& f) { return plain(apply_transpose(x, ForceVector(f))); },
          py::arg("force"), "A force (n, f), (6,), from B to A: X^T f  [Qa (32)].")
      .def(
          "apply_inverse_transpose",
          [](const X& x, const Six& f) {
            return plain(apply_inverse_transpose(x, ForceVector(f)));
          },
          py::arg("force"), "A force (6,) from A to B: X^-T f  [Qa (34), E for its E^T].")
      .def(
          "apply_transpose",
          [](const X& x, const RigidInertia& b) { return apply_transpose(x, b); },
          py::arg("inertia"), "A rigid inertia from B to A: X^T I X.")
      .def(
          "apply_inverse_transpose",
          [](const X& x, const RigidInertia& b) { return apply_inverse_transpose(x, b); },
          py::arg("inertia"), "A rigid inertia from A to B: X^-T I X^-1.")
      .def(
          "apply_transpose",
          [](const X& x, const ArticulatedInertia& A) { return apply_transpose(x, A); },
          py::arg("inertia"), "An articulated inertia from B to A: X^T A X  [Qa (52)].")
      .def(
          "apply_inverse_transpose",
          [](const X& x, const ArticulatedInertia& A) { return apply_inverse_transpose(x, A); },
          py::arg("inertia"), "An articulated inertia from A to B: X^-T A X^-1.");
}

template <class Transform>
void bind_vector_adjoints(py::class_<Transform>& t) {
  using X = Transform;
  t.def(
       "apply_adjoint",
       [](const X& x, const Six& m, const Six& bar) {
         return plain(apply_adjoint(x, MotionVector(m), ForceVector(bar)));
       },
       py::arg("motion"), py::arg("bar"), "((E, r), motion) gradients of `apply`  [Qa (29)].")
      .def(
          "apply_inverse_adjoint",
          [](const X& x, const Six& m, const Six& bar) {
            return plain(apply_inverse_adjoint(x, MotionVector(m), ForceVector(bar)));
          },
          py::arg("motion"), py::arg("bar"),
          "((E, r), motion) gradients of `apply_inverse`  [Qa (31)].")
      .def(
          "apply_transpose_adjoint",
          [](const X& x, const Six& f, const Six& bar) {
            return plain(apply_transpose_adjoint(x, ForceVector(f), MotionVector(bar)));
          },
          py::arg("force"), py::arg("bar"),
          "((E, r), force) gradients of `apply_transpose`  [Qa (33)].")
      .def(
          "apply_inverse_transpose_adjoint",
          [](const X& x, const Six& f, const Six& bar) {
            return plain(apply_inverse_transpose_adjoint(x, ForceVector(f), MotionVector(bar)));
          },
          py::arg("force"), py::arg("bar"),
          "((E, r), force) gradients of `apply_inverse_transpose`  [Qa (35)].")
      .def(
          "multiply_adjoint",
          [](const X& a, const X& b, const Parts& bar) {
            return plain(multiply_adjoint(a, b, transform_gradient(bar)));
          },
          py::arg("other"), py::arg("bar"),
          "Gradients (E, r) of `self * other` by both, for its (E, r)  [Qa (37)].")
      .def(
          "inverse_adjoint",
          [](const X& x, const Parts& bar) {
            return plain(inverse_adjoint(x, transform_gradient(bar)));
          },
          py::arg("bar"), "Gradient (E, r) of `inverse` for its (E, r).")
      .def(
          "motion_matrix_adjoint",
          [](const X& x, const Matrix6& bar) { return plain(motion_matrix_adjoint(x, bar)); },
          py::arg("bar"), "Gradient (E, r) of `motion_matrix`, bar (6, 6)  [Qa (51)].")
      .def(
          "on_displacement",
          [](const X& x, const Parts& bar) {
            return plain(on_displacement(x, transform_gradient(bar)));
          },
          py::arg("bar"),
          "Gradient (6,) by a displacement of frame B (rotation vector, translation; axes of B), "
          "from the gradient (E, r).");
}

template <class Transform>
void bind_inertia_adjoints(py::class_<Transform>& t) {
  using X = Transform;
  t.def(
       "apply_transpose_adjoint",
       [](const X& x, const RigidInertia& b, const Vector10& bar) {
         return plain(apply_transpose_adjoint(x, b, bar));
       },
       py::arg("inertia"), py::arg("bar"), "((E, r), (10,)) gradients, bar (10,) by parameters.")
      .def(
          "apply_inverse_transpose_adjoint",
          [](const X& x, const RigidInertia& b, const Vector10& bar) {
            return plain(apply_inverse_transpose_adjoint(x, b, bar));
          },
          py::arg("inertia"), py::arg("bar"), "((E, r), (10,)) gradients.")
      .def(
          "apply_transpose_adjoint",
          [](const X& x, const ArticulatedInertia& A, const Matrix6& bar) {
            return plain(apply_transpose_adjoint(x, A, bar));
          },
          py::arg("inertia"), py::arg("bar"), "((E, r), (6, 6)) gradients, symmetric bar (6, 6).")
      .def(
          "apply_inverse_transpose_adjoint",
          [](const X& x, const ArticulatedInertia& A, const Matrix6& bar) {
            return plain(apply_inverse_transpose_adjoint(x, A, bar));
          },
          py::arg("inertia"), py::arg("bar"), "((E, r), (6, 6)) gradients.");
}

template <class Transform>
py::class_<Transform> bind_transform(py::module_& m, const char* name, const char* doc) {
  using X = Transform;
  const std::string place = name;
  py::class_<X> t(m, name, doc);
  t.def(py::init([place](const Matrix3d& E, const Vector3d& r) { return checked<X>(place, E, r); }),
        py::arg("E") = Matrix3d(Matrix3d::Identity()), py::arg("r") = Vector3d(Vector3d::Zero()),
        "Refuses an E that is no rotation, and what is not finite.")
      .def_static(
          "unchecked", [](const Matrix3d& E, const Vector3d& r) { return X{E, r}; }, py::arg("E"),
          py::arg("r"), "With any E: derivatives by its nine entries are of this.")
      .def_property_readonly(
          "E", [](const X& x) { return x.E; }, "(3, 3)")
      .def_property_readonly(
          "r", [](const X& x) { return x.r; }, "(3,), origin of B in A [m]")
      .def(
          "__mul__", [](const X& a, const X& b) { return a * b; }, py::is_operator())
      .def(
          "inverse", [](const X& x) { return inverse(x); }, "^A X_B.")
      .def(
          "motion_matrix", [](const X& x) { return motion_matrix(x); }, "X, (6, 6)  [Qa (50)].")
      .def(
          "force_matrix", [](const X& x) { return force_matrix(x); }, "X^-T, (6, 6).")
      .def("__repr__",
           [place](const X& x) { return place + std::string(py::str(py::make_tuple(x.E, x.r))); });
  bind_actions(t);
  bind_vector_adjoints(t);
  bind_inertia_adjoints(t);
  return t;
}

void bind_inertias(py::module_& m) {
  py::class_<RigidInertia>(m, "RigidInertia",
                           "Spatial inertia of a rigid body: mass, m c and inertia about the "
                           "frame's origin, linear in these ten.")
      .def(py::init(&checked_inertia), py::arg("mass"), py::arg("center"), py::arg("inertia"),
           "mass [kg], centre of mass (3,) [m] and inertia about it (3, 3) [kg m^2], in the frame.")
      .def_static("from_parameters", &RigidInertia::from_parameters, py::arg("parameters"),
                  "From m, m c (3), I xx yy zz xy xz yz about the origin, (10,), unchecked.")
      .def_property_readonly("parameters", &RigidInertia::parameters,
                             "m, m c (3), I xx yy zz xy xz yz about the origin, (10,)")
      .def(
          "matrix", [](const RigidInertia& b) { return matrix(b); }, "(6, 6)")
      .def(
          "multiply",
          [](const RigidInertia& b, const Six& motion) { return plain(b * MotionVector(motion)); },
          py::arg("motion"), "Momentum (6,) of a motion (6,).")
      .def(
          "multiply_adjoint",
          [](const RigidInertia& b, const Six& motion, const Six& bar) {
            return plain(multiply_adjoint(b, MotionVector(motion), MotionVector(bar)));
          },
          py::arg("motion"), py::arg("bar"),
          "Gradients by the parameters (10,) and the motion (6,).")
      .def(
          "__add__", [](RigidInertia a, const RigidInertia& b) { return a += b; },
          py::is_operator());
  py::class_<ArticulatedInertia>(m, "ArticulatedInertia",
                                 "Symmetric spatial inertia [I, H; H^T, M] of an articulated body.")
      .def(py::init(&checked_articulated), py::arg("matrix"), "From a symmetric matrix (6, 6).")
      .def(py::init<const RigidInertia&>(), py::arg("rigid"))
      .def(
          "matrix", [](const ArticulatedInertia& A) { return matrix(A); }, "(6, 6)")
      .def(
          "multiply",
          [](const ArticulatedInertia& A, const Six& motion) {
            return plain(A * MotionVector(motion));
          },
          py::arg("motion"), "Force (6,) of an acceleration (6,).")
      .def(
          "multiply_adjoint",
          [](const ArticulatedInertia& A, const Six& motion, const Six& bar) {
            return plain(multiply_adjoint(A, MotionVector(motion), MotionVector(bar)));
          },
          py::arg("motion"), py::arg("bar"),
          "Symmetric gradient (6, 6) by the inertia, and that by the motion (6,).")
      .def(
          "add_square",
          [](ArticulatedInertia A, const Six& U, double s) {
            return A.add_square(ForceVector(U), s);
          },
          py::arg("force"), py::arg("factor"), "A + factor U U^T.")
      .def(
          "__add__", [](ArticulatedInertia a, const ArticulatedInertia& b) { return a += b; },
          py::is_operator())
      .def(
          "__add__", [](ArticulatedInertia a, const RigidInertia& b) { return a += b; },
          py::is_operator());
}

void bind_products(py::module_& m) {
  m.def(
      "crossm",
      [](const Six& a, const Six& b) { return plain(crossm(MotionVector(a), MotionVector(b))); },
      py::arg("m1"), py::arg("m2"), "m1 x m2, (6,), of motions  [Qa (38)].");
  m.def(
      "crossf",
      [](const Six& a, const Six& f) { return plain(crossf(MotionVector(a), ForceVector(f))); },
      py::arg("motion"), py::arg("force"), "m x* f, (6,)  [Qa (40)].");
  m.def(
      "crossm_matrix", [](const Six& a) { return crossm_matrix(MotionVector(a)); },
      py::arg("motion"), "(6, 6): m x.");
  m.def(
      "crossf_matrix", [](const Six& a) { return crossf_matrix(MotionVector(a)); },
      py::arg("motion"), "(6, 6): m x* = -(m x)^T.");
  m.def(
      "crossm_adjoint",
      [](const Six& a, const Six& b, const Six& bar) {
        return plain(crossm_adjoint(MotionVector(a), MotionVector(b), ForceVector(bar)));
      },
      py::arg("m1"), py::arg("m2"), py::arg("bar"), "Gradients by m1 and m2  [Qa (39)].");
  m.def(
      "crossf_adjoint",
      [](const Six& a, const Six& f, const Six& bar) {
        return plain(crossf_adjoint(MotionVector(a), ForceVector(f), MotionVector(bar)));
      },
      py::arg("motion"), py::arg("force"), py::arg("bar"),
      "Gradients by the motion and the force  [Qa (41)].");
  m.def(
      "inertia_rate",
      [](const Six& a, const Matrix6& A) { return inertia_rate(MotionVector(a), A); },
      py::arg("motion"), py::arg("inertia"),
      "m x* I - I m x, (6, 6): the rate of an inertia (6, 6) that moves with m.");
}

void bind_dyads(py::module_& m) {
  m.def(
      "dyad_multiply",
      [](const Matrix6& M, const Six& a) { return plain(multiply(M, MotionVector(a))); },
      py::arg("dyad"), py::arg("motion"), "M m, (6,)  [Qa (42)].");
  m.def(
      "dyad_multiply_adjoint",
      [](const Matrix6& M, const Six& a, const Six& bar) {
        return plain(multiply_adjoint(M, MotionVector(a), MotionVector(bar)));
      },
      py::arg("dyad"), py::arg("motion"), py::arg("bar"), "Gradients (6, 6), (6,)  [Qa (43)].");
  m.def(
      "dyad_multiply_transpose",
      [](const Matrix6& M, const Six& a) { return plain(multiply_transpose(M, MotionVector(a))); },
      py::arg("dyad"), py::arg("motion"), "M^T m, (6,)  [Qa (44), corrected].");
  m.def(
      "dyad_multiply_transpose_adjoint",
      [](const Matrix6& M, const Six& a, const Six& bar) {
        return plain(multiply_transpose_adjoint(M, MotionVector(a), MotionVector(bar)));
      },
      py::arg("dyad"), py::arg("motion"), py::arg("bar"),
      "Gradients (6, 6), (6,)  [Qa (45), corrected].");
  m.def(
      "dyad_outer",
      [](const Six& f, const Six& g) { return outer(ForceVector(f), ForceVector(g)); },
      py::arg("f"), py::arg("g"), "f g^T, (6, 6)  [Qa (46)].");
  m.def(
      "dyad_outer_adjoint",
      [](const Six& f, const Six& g, const Matrix6& bar) {
        return plain(outer_adjoint(ForceVector(f), ForceVector(g), bar));
      },
      py::arg("f"), py::arg("g"), py::arg("bar"), "Gradients (6,), (6,)  [Qa (47)].");
  m.def("dyad_shift", &shift, py::arg("X"), py::arg("dyad"), "X^T M X, (6, 6)  [Qa (52)].");
  m.def(
      "dyad_shift_adjoint",
      [](const Plx& X, const Matrix6& M, const Matrix6& bar) {
        return plain(shift_adjoint(X, M, bar));
      },
      py::arg("X"), py::arg("dyad"), py::arg("bar"), "Gradients (E, r), (6, 6).");
}

void check_product(const std::string& place, const MatrixXd& a, const MatrixXd& b) {
  if (a.cols() != b.rows())
    refuse(place, "columns of a must be as many as rows of b",
           std::to_string(a.cols()) + " and " + std::to_string(b.rows()));
}
void check_shape(const std::string& place, const MatrixXd& bar, Eigen::Index rows,
                 Eigen::Index cols) {
  if (bar.rows() != rows || bar.cols() != cols)
    refuse(
        place,
        "bar must have the output's shape, " + std::to_string(rows) + " x " + std::to_string(cols),
        std::to_string(bar.rows()) + " x " + std::to_string(bar.cols()));
}

void bind_matrix_adjoints(py::module_& m) {
  m.def(
      "product_adjoint",
      [](const MatrixXd& a, const MatrixXd& b, const MatrixXd& bar) {
        check_product("product_adjoint", a, b);
        check_shape("product_adjoint", bar, a.rows(), b.cols());
        return product_adjoint(a, b, bar);
      },
      py::arg("a"), py::arg("b"), py::arg("bar"), "Gradients of a b  [Qa (20)-(22)].");
  m.def(
      "congruence_adjoint",
      [](const MatrixXd& a, const MatrixXd& b, const MatrixXd& bar) {
        check_product("congruence_adjoint", b, a);
        check_product("congruence_adjoint", a.transpose(), b);
        check_shape("congruence_adjoint", bar, a.cols(), a.cols());
        return congruence_adjoint(a, b, bar);
      },
      py::arg("a"), py::arg("b"), py::arg("bar"), "Gradients of a^T b a  [Qa (23)].");
  m.def(
      "matrix_inverse_adjoint",
      [](const MatrixXd& inverse, const MatrixXd& bar) -> MatrixXd {
        check_shape("matrix_inverse_adjoint", inverse, inverse.rows(), inverse.rows());
        check_shape("matrix_inverse_adjoint", bar, inverse.rows(), inverse.rows());
        return matrix_inverse_adjoint(inverse, bar);
      },
      py::arg("inverse"), py::arg("bar"),
      "Gradient by a of a^-1, from the inverse itself  [Qa (24)].");
  m.def(
      "triple_product_adjoint",
      [](const MatrixXd& a, const MatrixXd& b, const MatrixXd& c, const MatrixXd& bar) {
        check_product("triple_product_adjoint", a, b);
        check_product("triple_product_adjoint", b, c);
        check_shape("triple_product_adjoint", bar, a.rows(), c.cols());
        return triple_product_adjoint(a, b, c, bar);
      },
      py::arg("a"), py::arg("b"), py::arg("c"), py::arg("bar"), "Gradients of a b c  [Qa (25)].");
  m.def("cross_adjoint", &cross_adjoint, py::arg("a"), py::arg("b"), py::arg("bar"),
        "Gradients (3,) of a x b  [Qa (26)].");
  m.def("norm_adjoint", &norm_adjoint, py::arg("b"), py::arg("bar"),
        "Gradient (3,) of |b|, b not zero  [Qa (27)].");
  m.def("skew_adjoint", &skew_adjoint, py::arg("bar"),
        "Gradient (3,) by a of its cross-product matrix, bar (3, 3)  [Qa (48)].");
  m.def("quat_multiply_adjoint", &quat_multiply_adjoint, py::arg("a"), py::arg("b"), py::arg("bar"),
        "Gradients (4,) of the product a b, (x, y, z, w)  [Qa (57), (58)].");
  m.def("quat_times_vector", &quat_times_vector, py::arg("q"), py::arg("v"),
        "q (v, 0), (4,)  [Qa (53)].");
  m.def("quat_times_vector_adjoint", &quat_times_vector_adjoint, py::arg("q"), py::arg("v"),
        py::arg("bar"), "Gradients (4,), (3,) of q (v, 0)  [Qa (54), (55)].");
}

}  // namespace

void bind_spatial(py::module_& engine) {
  py::module_ m = engine.def_submodule(
      "spatial",
      "Spatial algebra: motions (omega, v), forces (n, f), transforms (E, r), inertias; each with "
      "its adjoint. docs/explanation/spatial_algebra.md.");
  bind_inertias(m);
  auto plx = bind_transform<Plx>(
      m, "Plx",
      "^B X_A = plx(E, r), left-associative [S]: E takes coordinates in A to those in B, r is B's "
      "origin in A [m]. ^C X_B * ^B X_A = ^C X_A.");
  auto plxb = bind_transform<Plxb>(m, "Plxb",
                                   "plxb(E, r), right-associative [S]: the pose of B in A, x_A = E "
                                   "x_B + r. Pose of B in A times "
                                   "pose of C in B is the pose of C in A.");
  plx.def("to_plxb", [](const Plx& X) { return to_plxb(X); }, "plxb(E^T, r), the same change.");
  plxb.def("to_plx", [](const Plxb& Y) { return to_plx(Y); }, "plx(E^T, r), the same change.");
  bind_products(m);
  bind_dyads(m);
  bind_matrix_adjoints(m);
}

}  // namespace diffsim
