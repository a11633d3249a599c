#include "requested.hpp"

#include <algorithm>

#include "energy.hpp"
#include "motion.hpp"

namespace diffsim {

OutputList all_outputs(const Scene& scene) {
  OutputList all{energy_of_scene(scene)};
  for (const auto& e : scene.elements()) e->list_outputs(scene, all);
  return all;
}

RequestedOutputs::RequestedOutputs(const Scene& scene, const std::vector<std::string>& names) {
  if (names.empty()) return;
  OutputList all = all_outputs(scene);
  const OutputList motion = motion_outputs(scene);
  all.insert(all.end(), motion.begin(), motion.end());
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const Output& o) { return o.name == *name; });
    if (at == all.end()) {
      std::string known;
      for (const Output& o : all) known += (known.empty() ? "" : ", ") + o.name;
      refuse("rollout: outputs", "must be some of [" + known + "]", "'" + *name + "'");
    }
    if (std::find(names.begin(), name, *name) != name) {
      refuse("rollout: outputs", "must be named once each", "'" + *name + "' twice");
    }
    first_.push_back(size_);
    size_ += at->size();
    list_.push_back(*at);
  }
}

VectorXd RequestedOutputs::evaluate(const Window& window, const VectorXd& p,
                                    OutputJacobian* by) const {
  VectorXd y = VectorXd::Zero(size_);
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (by) by->begin(first_[i]);
    list_[i].evaluate(window, p, y.data() + first_[i], by);
  }
  return y;
}

}  // namespace diffsim
