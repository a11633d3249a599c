#include <ctime>

#include "../linear_solver/krylov_solver.hpp"
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

py::dict linear_solve(const std::vector<int>& sizes, const std::vector<std::pair<int, int>>& pairs,
                      const VectorXd& values, const MatrixXd& rhs, const std::string& method,
                      bool transposed, double tolerance, bool symmetric, int repeat) {
  const BlockPattern pattern(sizes, pairs);
  if (values.size() != pattern.values || rhs.rows() != pattern.ndof) {
    refuse("linear_solve", "values and rhs must fit the pattern", values.size());
  }
  const BlockMatrix A{&pattern, values};
  KrylovSolver solver(std::make_shared<const SweepPattern>(pattern));
  bool regular = true;
  MatrixXd x;
  SolveReport report;
  const double prepare = clock_ms(repeat, [&] { regular = solver.prepare(A, symmetric); });
  if (regular && transposed) solver.solve_transposed(A, x = rhs, 0.5);
  const double solve = !regular ? 0 : clock_ms(repeat, [&] {
    x = rhs;
    report = transposed ? solver.solve_transposed(A, x, tolerance) : solver.solve(A, x, tolerance);
  });
  py::dict out;
  out["x"] = x;
  out["reached"] = regular && report.reached;
  out["regular"] = regular;
  out["products"] = report.products;
  out["residual"] = report.residual;
  out["prepare_ms"] = prepare;
  out["solve_ms"] = solve;
  return out;
}

}  // namespace

void bind_linear_solver(py::module_& m) {
  m.def("linear_solve", &linear_solve, py::arg("sizes"), py::arg("pairs"), py::arg("values"),
        py::arg("rhs"), py::arg("method") = "krylov", py::arg("transposed") = false,
        py::arg("tolerance") = 1e-8, py::arg("symmetric") = false, py::arg("repeat") = 1,
        "Solves one system of node blocks; for tests and benchmarks of the linear solvers.");
}

}  // namespace diffsim
