// How Python names the options and gradient modes of rollouts.
#pragma once

#include "../rollout.hpp"
#include "bindings.hpp"

namespace diffsim {

inline GradientMode gradient_mode(const std::string& place, const std::string& mode) {
  if (mode == "none") return GradientMode::none;
  if (mode == "sensitivity") return GradientMode::sensitivity;
  if (mode == "store") return GradientMode::store;
  if (mode == "checkpoint") return GradientMode::checkpoint;
  refuse(place + ": mode", "must be none, sensitivity, store or checkpoint", "'" + mode + "'");
}

/// The options given, else those that the scene was given (`Scene.options`), else the defaults.
inline Options options_of(const pybind11::object& scene, const std::optional<Options>& given) {
  if (given) return *given;
  const pybind11::object own = pybind11::getattr(scene, "options", pybind11::none());
  return own.is_none() ? Options() : own.cast<Options>();
}

}  // namespace diffsim
