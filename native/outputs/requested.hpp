// The outputs that a rollout was asked for, stacked in one vector y, and their derivatives.
#pragma once

#include "../scene.hpp"
#include "output.hpp"

namespace diffsim {

/// Everything that the scene's elements can report; looked at while the scene lives.
OutputList all_outputs(const Scene& scene);

class RequestedOutputs {
 public:
  RequestedOutputs() = default;
  /// Of all_outputs and motion_outputs. Refuses names that the scene has not, and repeated ones.
  RequestedOutputs(const Scene& scene, const std::vector<std::string>& names);

  const OutputList& list() const { return list_; }
  int size() const { return size_; }
  /// First row of y of output i.
  int first(std::size_t i) const { return first_[i]; }

  /// y at window.now(), and its derivatives where `by` is not null.
  VectorXd evaluate(const Window& window, const VectorXd& p, OutputJacobian* by = nullptr) const;

 private:
  OutputList list_;
  std::vector<int> first_;
  int size_ = 0;
};

}  // namespace diffsim
