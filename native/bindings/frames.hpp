// The recorded frames of a motion, as Python holds them, and as the states that elements look at.
#pragma once

#include <pybind11/numpy.h>

#include "../scene.hpp"
#include "bindings.hpp"

namespace diffsim {

class Frames {
 public:
  /// Of a rollout, or of anything with its arrays; refuses one of another scene in `place`'s name.
  Frames(const Scene& scene, const std::string& place, const pybind11::object& rollout);
  pybind11::ssize_t count() const { return count_; }
  /// p: where joints in reduced coordinates are in their bodies.
  State at(pybind11::ssize_t frame, const VectorXd& p) const;

 private:
  using Array = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;
  const Scene& scene_;
  Array x_, q_, v_, w_;
  pybind11::ssize_t count_;
};

}  // namespace diffsim
