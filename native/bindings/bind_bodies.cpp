#include <Eigen/Geometry>

#include "../bodies/kinematic_body.hpp"
#include "../bodies/particle.hpp"
#include "../bodies/rigid_body.hpp"
#include "../elements/payload.hpp"
#include "../rotation.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

void bind_rigid(py::class_<Scene>& scene) {
  const Eigen::Vector4d upright(0, 0, 0, 1);
  const Vector3d zero = Vector3d::Zero();
  scene
      .def(
          "add_rigid_body",
          [](Scene& s, const std::string& name, double mass, const Vector6& inertia,
             const Vector3d& position, const Eigen::Vector4d& orientation, const Vector3d& velocity,
             const Vector3d& angular_velocity, double radius) {
            const Vector3d rotation =
                rotation_vector("rigid body '" + name + "': orientation", orientation);
            add_rigid_body(s, name, mass, inertia, {position, rotation, velocity, angular_velocity},
                           radius);
          },
          py::arg("name"), py::kw_only(), py::arg("mass"), py::arg("inertia"),
          py::arg("position") = zero, py::arg("orientation") = upright, py::arg("velocity") = zero,
          py::arg("angular_velocity") = zero, py::arg("radius"),
          "inertia: xx yy zz xy xz yz [kg m^2], body frame about the centre of mass; orientation "
          "(x, y, z, w); velocities in the world frame; radius [m] compares torques with forces.")
      .def(
          "add_payload",
          [](Scene& s, const std::string& name, const std::string& body, double mass,
             const Vector3d& first_moment,
             const Vector6& inertia) { add_payload(s, name, {body, mass, first_moment, inertia}); },
          py::arg("name"), py::kw_only(), py::arg("body"), py::arg("mass"), py::arg("first_moment"),
          py::arg("inertia"),
          "Mass that a rigid body carries besides its own: first moment (mass times centre) [kg m] "
          "and inertia xx yy zz xy xz yz about the body's own centre of mass [kg m^2], body frame. "
          "Parameters NAME.mass, .moment.x, .inertia.xx ...")
      .def("add_particle", &add_particle, py::arg("name"), py::kw_only(), py::arg("mass"),
           py::arg("position") = zero, py::arg("velocity") = zero)
      .def(
          "add_kinematic_body",
          [](Scene& s, const std::string& name, double interval, const Points& position,
             const py::object& rotation, double radius) {
            PrescribedMotion motion{interval, position.transpose(), columns(rotation)};
            if (rotation.is_none()) motion.rotation.setZero(3, motion.position.cols());
            add_kinematic_body(s, name, motion, radius);
          },
          py::arg("name"), py::kw_only(), py::arg("interval"), py::arg("position"),
          py::arg("rotation") = py::none(), py::arg("radius") = 1.,
          "A frame driven through keys `interval` seconds apart: position (keys, 3) [m] and "
          "rotation vectors (keys, 3) [rad], world, linear in between; every key is a parameter.");
}

}  // namespace

Vector3d rotation_vector(const std::string& place, const Eigen::Vector4d& orientation) {
  if (!orientation.allFinite() || orientation.norm() < 1e-9) {
    refuse(place, "must be a finite, non-zero quaternion (x, y, z, w)", orientation.transpose());
  }
  return log_rotation(Eigen::Quaterniond(orientation).normalized().toRotationMatrix());
}

Matrix3X columns(const py::object& points) {
  if (points.is_none()) return Matrix3X(3, 0);
  return points.cast<Points>().transpose();
}

void bind_bodies(py::class_<Scene>& scene) {
  bind_rigid(scene);
  scene
      .def(
          "add_points",
          [](Scene& s, const std::string& name, const std::vector<std::string>& bodies,
             const py::object& local, const py::object& inset, double radius, double scale) {
            add_points(s, name, bodies, columns(local), columns(inset), radius, scale);
          },
          py::arg("name"), py::kw_only(), py::arg("bodies"), py::arg("local"),
          py::arg("inset") = py::none(), py::arg("radius") = 0., py::arg("scale") = 1.,
          "Points at scale * local + radius * inset (n, 3) [m] of the body named per point, \"\" = "
          "the world; radius [m] is also that of the contact spheres around them.")
      .def("add_subset", &add_subset, py::arg("name"), py::kw_only(), py::arg("points"),
           py::arg("index"), py::arg("radius") = 0.,
           "Points `index` of another set again, as contact spheres of their own radius [m]. A "
           "deformable body's nodes are the set of its own name.");
}

}  // namespace diffsim
