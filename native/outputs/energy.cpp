#include "energy.hpp"

namespace diffsim {
namespace {

using Elements = std::vector<const Element*>;

Energy stored(const Elements& elements, const State& s, const VectorXd& p, OutputJacobian* by) {
  Energy energy;
  for (const Element* e : elements) {
    e->add_energy(s, p, energy);
    if (by) e->add_energy_slopes(s, p, *by);
  }
  return energy;
}

}  // namespace

Output energy_of_scene(const Scene& scene) {
  Elements elements;
  for (const auto& e : scene.elements()) elements.push_back(e.get());
  return {"energy",
          "J",
          {"kinetic", "gravity", "springs", "elastic", "contact"},
          0,
          [elements](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
            const Energy e = stored(elements, window.now(), p, by);
            y[Energy::kKinetic] = e.kinetic;
            y[Energy::kGravity] = e.gravity;
            y[Energy::kSprings] = e.springs;
            y[Energy::kElastic] = e.elastic;
            y[Energy::kContact] = e.contact;
          }};
}

Output energy_of(const std::string& name, Elements elements) {
  return {name + ".energy",
          "J",
          {},
          0,
          [elements](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
            if (by) by->fold();
            const Energy e = stored(elements, window.now(), p, by);
            *y = e.kinetic + e.gravity + e.springs + e.elastic + e.contact;
          }};
}

}  // namespace diffsim
