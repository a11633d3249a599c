#include <algorithm>
#include <ctime>

#include "../linear_solver/linear_solver.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

double thread_ms() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

// Least processor time of `repeat` calls [ms].
template <class F>
double clock_ms(int repeat, F work) {
  double least = 1e300;
  for (int k = 0; k < repeat; ++k) {
    const double start = thread_ms();
    work();
    least = std::min(least, thread_ms() - start);
  }
  return least;
}

const std::vector<std::pair<std::string, LinearSolver::Method>>& methods() {
  using Method = LinearSolver::Method;
  static const std::vector<std::pair<std::string, Method>> known{{"automatic", Method::automatic},
                                                                 {"krylov", Method::krylov},
                                                                 {"lagged", Method::lagged},
                                                                 {"direct", Method::direct}};
  return known;
}

LinearSolver::Method method_of(const std::string& name) {
  for (const auto& [known, method] : methods()) {
    if (known == name) return method;
  }
  refuse("linear_solve: method", "must be 'automatic', 'krylov', 'lagged' or 'direct'",
         "'" + name + "'");
}

std::string name_of(LinearSolver::Method method) {
  for (const auto& [name, known] : methods()) {
    if (known == method) return name;
  }
  return "";
}

/// A solver kept over several matrices of one pattern, as a rollout keeps it.
class PyLinearSolver {
 public:
  PyLinearSolver(const std::vector<int>& sizes, const std::vector<std::pair<int, int>>& pairs,
                 const std::string& method)
      : pattern_(checked(sizes, pairs), pairs),
        symbolic_(std::make_shared<LinearPattern>(pattern_)),
        solver_(symbolic_, method_of(method)) {
    A_.reset(pattern_);
  }

  bool factor(const VectorXd& values, bool symmetric, int repeat, bool transposed, bool kept) {
    set_values("LinearSolver.factor", values);
    factor_ms_ =
        clock_ms(repeat, [&] { regular_ = solver_.factor(A_, symmetric, transposed, kept); });
    return regular_;
  }

  py::dict solve(const MatrixXd& rhs, double tolerance, bool transposed, int repeat) {
    if (rhs.rows() != pattern_.ndof) {
      refuse("LinearSolver.solve: rhs", "must have " + std::to_string(pattern_.ndof) + " rows",
             rhs.rows());
    }
    MatrixXd x = rhs;
    SolveReport report{false, 0, 1};
    double took = 0;
    if (regular_) {
      auto once = [&] {
        x = rhs;
        report = transposed ? solver_.solve_transposed(A_, x, tolerance)
                            : solver_.solve(A_, x, tolerance);
      };
      if (repeat > 1) once();  // what is made on first use
      took = clock_ms(repeat, once);
    }
    return result(x, report, took);
  }

  py::dict solve_positive(const VectorXd& values, const VectorXd& rhs, bool symmetric,
                          double tolerance) {
    set_values("LinearSolver.solve_positive", values);
    if (rhs.size() != pattern_.ndof) {
      refuse("LinearSolver.solve_positive: rhs",
             "must be " + std::to_string(pattern_.ndof) + " long", rhs.size());
    }
    MatrixXd x = rhs;
    const SolveReport report = solver_.solve_positive(A_, symmetric, x, tolerance);
    return result(x, report, 0);
  }

 private:
  static const std::vector<int>& checked(const std::vector<int>& sizes,
                                         const std::vector<std::pair<int, int>>& pairs) {
    const int nodes = static_cast<int>(sizes.size());
    if (nodes < 1) refuse("LinearSolver: sizes", "must be of at least one node", nodes);
    for (int size : sizes) {
      if (size != 3 && size != 6)
        refuse("LinearSolver: sizes", "need nodes of 3 or 6 degrees of freedom", size);
    }
    for (const auto& [i, j] : pairs) {
      const int least = std::min(i, j), most = std::max(i, j);
      if (least >= 0 && most < nodes) continue;
      refuse("LinearSolver: pairs", "must name nodes 0 to " + std::to_string(nodes - 1),
             least < 0 ? least : most);
    }
    return sizes;
  }

  void set_values(const std::string& place, const VectorXd& values) {
    if (values.size() != pattern_.values) {
      refuse(place + ": values", "must be " + std::to_string(pattern_.values) + " long",
             values.size());
    }
    A_.values = values;
  }

  py::dict result(const MatrixXd& x, const SolveReport& report, double took) const {
    py::dict out;
    out["x"] = x;
    out["regular"] = regular_;
    out["reached"] = report.reached;
    out["products"] = report.products;
    out["residual"] = report.residual;
    out["indefinite"] = report.indefinite;
    out["method"] = name_of(solver_.active());
    out["factor_ms"] = factor_ms_;
    out["solve_ms"] = took;
    return out;
  }

  BlockPattern pattern_;
  std::shared_ptr<const LinearPattern> symbolic_;
  LinearSolver solver_;
  BlockMatrix A_;
  bool regular_ = false;
  double factor_ms_ = 0;
};

}  // namespace

void bind_linear_solver(py::module_& m) {
  py::class_<PyLinearSolver>(m, "LinearSolver",
                             "Solver of systems of node blocks; for tests and benchmarks.")
      .def(py::init<const std::vector<int>&, const std::vector<std::pair<int, int>>&,
                    const std::string&>(),
           py::arg("sizes"), py::arg("pairs"), py::arg("method") = "automatic")
      .def("factor", &PyLinearSolver::factor, py::arg("values"), py::arg("symmetric") = false,
           py::arg("repeat") = 1, py::arg("transposed") = false, py::arg("kept") = false,
           "kept: all but diagonal blocks are those of the last matrix.")
      .def("solve", &PyLinearSolver::solve, py::arg("rhs"), py::arg("tolerance") = 1e-8,
           py::arg("transposed") = false, py::arg("repeat") = 1)
      .def("solve_positive", &PyLinearSolver::solve_positive, py::arg("values"), py::arg("rhs"),
           py::arg("symmetric"), py::arg("tolerance") = 1e-3,
           "One column by the Krylov member; not reached where it meets negative curvature.");
  m.def(
      "linear_solve",
      [](const std::vector<int>& sizes, const std::vector<std::pair<int, int>>& pairs,
         const VectorXd& values, const MatrixXd& rhs, const std::string& method, bool transposed,
         double tolerance, bool symmetric, int repeat) {
        PyLinearSolver solver(sizes, pairs, method);
        solver.factor(values, symmetric, repeat, transposed, false);
        return solver.solve(rhs, tolerance, transposed, repeat);
      },
      py::arg("sizes"), py::arg("pairs"), py::arg("values"), py::arg("rhs"),
      py::arg("method") = "automatic", py::arg("transposed") = false, py::arg("tolerance") = 1e-8,
      py::arg("symmetric") = false, py::arg("repeat") = 1, "One system; see LinearSolver.");
}

}  // namespace diffsim
