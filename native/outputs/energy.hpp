// Energies as outputs: of the whole scene by kind, and what single elements store.
#pragma once

#include "../scene.hpp"
#include "output.hpp"

namespace diffsim {

/// `energy`: kinetic, gravity, springs, elastic, contact [J].
Output energy_of_scene(const Scene& scene);
/// NAME.energy: all that these elements store together [J].
Output energy_of(const std::string& name, std::vector<const Element*> elements);

}  // namespace diffsim
