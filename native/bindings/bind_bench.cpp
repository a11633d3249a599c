#include <ctime>

#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// CPU seconds per call of one element's `add` at the scene's start: (residual alone, with K and
/// B).
py::tuple time_element(Scene& scene, const std::string& name, const VectorXd& p, int calls) {
  scene.finalize();
  if (calls < 1) refuse("time_element: calls", "must be >= 1", calls);
  scene.check(p);
  const State now = scene.start(p);
  const Window window{{&now, &now, nullptr}, TimeScheme::bdf(1, 1. / 240)};
  VectorXd r = VectorXd::Zero(scene.ndof());
  BlockMatrix K, B;
  K.reset(scene.pattern());
  B.reset(scene.pattern());
  const Assembly outs[2] = {{&r}, {&r, &K, &B}};
  for (const auto& e : scene.elements()) {
    if (e->name() != name) continue;
    double seconds[2];
    for (int with_blocks = 0; with_blocks < 2; ++with_blocks) {
      const double begin = thread_seconds();
      for (int i = 0; i < calls; ++i) e->add(window, p, outs[with_blocks]);
      seconds[with_blocks] = (thread_seconds() - begin) / calls;
    }
    return py::make_tuple(seconds[0], seconds[1]);
  }
  refuse("time_element: name", "must be an element of the scene", "'" + name + "'");
}

}  // namespace

void bind_bench(py::class_<Scene>& scene) {
  scene.def(
      "time_element", &time_element, py::arg("name"), py::arg("p"), py::arg("calls") = 100,
      "CPU seconds per evaluation of one element at the start: (residual, residual with K and B).");
}

}  // namespace diffsim
