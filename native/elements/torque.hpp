// A torque given by keys over time on a rigid body: world-fixed tau = T(t) or body-fixed R T(t).
#pragma once

#include "../keys.hpp"
#include "element.hpp"

namespace diffsim {

class Scene;

struct TorqueSpec {
  std::string body;
  bool body_fixed = false;
  KeyValues torque;  // (3, keys) [N m]
};

class Torque : public Element {
 public:
  Torque(std::string name, const Node& node, int index, bool body_fixed, Keys torque)
      : Element(std::move(name)),
        node_(node),
        index_(index),
        body_fixed_(body_fixed),
        torque_(torque) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  Node node_;
  int index_;  // of the node
  bool body_fixed_;
  Keys torque_;
};

void add_torque(Scene& scene, const std::string& name, const TorqueSpec& spec);

}  // namespace diffsim
