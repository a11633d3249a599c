#include "../velocity/contact_problem.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

ContactProblem make(const MatrixXd& W, const VectorXd& c0, const VectorXd& bound,
                    const VectorXd& mu, const VectorXd& compliance, const std::string& cone) {
  ContactProblem problem;
  const Eigen::Index n = bound.size();
  if (W.rows() != 3 * n || W.cols() != 3 * n || c0.size() != 3 * n || mu.size() != n ||
      compliance.size() != n) {
    refuse("ContactProblem",
           "W must be (3 n, 3 n), c0 (3 n,), bound, mu and compliance (n,) for n contacts",
           W.rows());
  }
  if (cone != "cone" && cone != "pyramid") {
    refuse("ContactProblem: cone", "must be cone or pyramid", "'" + cone + "'");
  }
  if (!(mu.array() >= 0).all()) refuse("ContactProblem: mu", "must be >= 0", mu.transpose());
  problem.W = W;
  problem.c0 = c0;
  problem.cone = cone == "cone" ? FrictionCone::cone : FrictionCone::pyramid;
  for (Eigen::Index i = 0; i < n; ++i) {
    ContactProblem::Contact contact;
    contact.bound = bound[i];
    contact.mu = mu[i];
    contact.compliance = compliance[i];
    problem.contacts.push_back(contact);
  }
  problem.lambda.setZero(3 * n);
  return problem;
}

}  // namespace

void bind_velocity(py::module_& m) {
  py::class_<ContactProblem>(
      m, "ContactProblem",
      "Hard contacts of one step (docs/explanation/velocity_stepper.md): velocities c = W lambda + "
      "c0 in axes (n, t1, t2) per contact, 0 <= lambda_n complementary to c_n - bound >= 0, "
      "Coulomb's friction.")
      .def(py::init(&make), py::arg("W"), py::arg("c0"), py::arg("bound"), py::arg("mu"),
           py::arg("compliance"), py::arg("cone") = "cone")
      .def("solve", &ContactProblem::solve, py::arg("sweeps") = 2000,
           "Impulses, to rounding; False where they are not found.")
      .def("sweep", &ContactProblem::sweep, py::arg("sweeps"),
           "Projected Gauss-Seidel from the impulses there are.")
      .def("residual", &ContactProblem::residual, "Largest violation of the laws, as a velocity.")
      .def(
          "shift", [](ContactProblem& c, const VectorXd& by) { c.c0 += by; }, py::arg("by"),
          "Adds (3 n,) to c0.")
      .def_readwrite("impulses", &ContactProblem::lambda, "(3 n,) [N s].")
      .def_property_readonly(
          "modes",
          [](const ContactProblem& c) {
            Eigen::VectorXi modes(c.contacts.size());
            for (std::size_t i = 0; i < c.contacts.size(); ++i) {
              modes[static_cast<Eigen::Index>(i)] = static_cast<int>(c.contacts[i].mode);
            }
            return modes;
          },
          "Per contact: 0 open, 1 sticking, 2 slipping.")
      .def(
          "gradient",
          [](const ContactProblem& c, const VectorXd& bar) {
            MatrixXd W;
            VectorXd c0;
            c.gradient(bar, W, c0);
            return std::pair(W, c0);
          },
          py::arg("impulses_bar"),
          "Gradients by W and c0 of a number, from that by the impulses, by the implicit function.")
      .def(
          "sweep_gradient",
          [](const ContactProblem& c, int sweeps, const VectorXd& bar) {
            MatrixXd W;
            VectorXd c0;
            c.sweep_adjoint(sweeps, bar, W, c0);
            return std::pair(W, c0);
          },
          py::arg("sweeps"), py::arg("impulses_bar"),
          "The same of `sweeps` sweeps from zero, by going back through them [Qa Alg. 1].");
}

}  // namespace diffsim
