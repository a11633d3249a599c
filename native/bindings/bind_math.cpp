#include "../rotation.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {

void bind_math(py::module_& m) {
  m.def("exp_rotation", &exp_rotation, py::arg("theta"),
        "R = exp([theta]x), (3, 3), of a rotation vector [rad]  [G 4.6.1].");
  m.def("log_rotation", &log_rotation, py::arg("R"),
        "Rotation vector (3,) [rad], length <= pi, of a rotation matrix.");
  m.def("left_jacobian", &left_jacobian, py::arg("theta"),
        "J_l(theta), (3, 3): world angular velocity = J_l theta_dot  [G A.1.1.1].");
  m.def("left_jacobian_inverse", &left_jacobian_inverse, py::arg("theta"),
        "J_l(theta)^-1, (3, 3), finite for |theta| < 2 pi.");
  m.def("left_jacobian_derivative", &left_jacobian_derivative, py::arg("theta"), py::arg("u"),
        "d(J_l(theta) u)/d theta, (3, 3), for constant u.");
}

}  // namespace diffsim
