// What a joint reports: the force and torque by which it holds body b, at its point.
#include "../elements/joint.hpp"
#include "energy.hpp"
#include "wrench.hpp"

namespace diffsim {

void Joint::list_outputs(const Scene& scene, OutputList& to) const {
  const int end = nodes_.node(1) >= 0 ? 1 : 0;
  WrenchSpec spec{{this}, {nodes_.node(end)}, end == 1 ? 1. : -1.};
  if (reduced()) {
    // What all that it carries gains in momentum and is not given by other forces.
    if (!scene.articulation()) return;
    spec.elements.clear();
    for (const auto& e : scene.elements()) spec.elements.push_back(e.get());
    spec.nodes = scene.articulation()->carried_by(*this);
    spec.sign = -1;
    spec.balance = true;
  }
  spec.point = [this, end](const VectorXd& p) { return place(p)[end].point; };
  spec.add_point = [this, end](const State& s, const VectorXd& p, const Matrix3d& by_point,
                               OutputJacobian& by) {
    add_place_slopes(0, by_point * place_by_parameters(s, p).middleRows<3>(6 * end), by);
  };
  to.push_back(wrench(name() + ".force", scene, WrenchPart::force, spec));
  to.push_back(wrench(name() + ".torque", scene, WrenchPart::torque, spec));
  if (maximal()) to.push_back(energy_of(name(), {this}));
}

}  // namespace diffsim
