// The motion itself as outputs: poses and velocities of bodies, coordinates of joints. Rollouts
// record poses anyway, so that these are not among Scene.outputs; they may be asked for by name.
#pragma once

#include "../scene.hpp"
#include "output.hpp"

namespace diffsim {

/// BODY.position, .velocity; of bodies that turn also .x_axis, .y_axis, .z_axis (the body's axes in
/// the world) and .angular_velocity; JOINT.coordinate and .rate of hinges, sliders, planar joints.
OutputList motion_outputs(const Scene& scene);

}  // namespace diffsim
