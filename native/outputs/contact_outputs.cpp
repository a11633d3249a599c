// What a contact reports: force and torque on the body of its points, and the normal part.
#include <algorithm>

#include "../elements/contact.hpp"
#include "energy.hpp"
#include "wrench.hpp"

namespace diffsim {
namespace {

// Nodes of the points' bodies, or none where all points are of the world.
std::vector<int> nodes_of(const PointSet& points) {
  std::vector<int> nodes;
  for (int node : points.node) {
    if (node >= 0) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

void Contact::list_outputs(const Scene& scene, OutputList& to) const {
  WrenchSpec spec{{this}, nodes_of(*points_)};
  std::string name = this->name();
  if (const auto dot = name.rfind('.'); dot != std::string::npos) {  // one of a pair
    if (name.substr(dot) != ".a") return;
    name.resize(dot);
    for (const ContactElement* other : scene.contacts()) {
      if (other->name() == name + ".b") spec.elements.push_back(other);
    }
  }
  to.push_back(energy_of(name, spec.elements));
  if (spec.nodes.empty()) {
    spec.nodes = {carrier_.node};
    spec.sign = -1;
  }
  to.push_back(wrench(name + ".force", scene, WrenchPart::force, spec));
  to.push_back(wrench(name + ".torque", scene, WrenchPart::torque, spec));
  // f_n knows no friction: without any, the force is the normal part.
  for (int i : {law_.k_t, law_.c_f, law_.c_s, law_.c_roll, law_.c_spin, law_.k_roll}) {
    if (i >= 0) spec.absent.push_back(i);
  }
  to.push_back(wrench(name + ".normal_force", scene, WrenchPart::force, spec));
}

}  // namespace diffsim
