#include "../robots/inverse_kinematics.hpp"
#include "../robots/smooth_path.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

// Poses (m, 4, 4), as Python holds them.
std::vector<LinkPose> link_poses(const Array& given) {
  if (given.ndim() != 3 || given.shape(1) != 4 || given.shape(2) != 4) {
    refuse("poses", "an array (m, 4, 4)", given.ndim());
  }
  std::vector<LinkPose> found(given.shape(0));
  const auto at = given.unchecked<3>();
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) found[k].turn(i, j) = at(k, i, j);
      found[k].at[i] = at(k, i, 3);
    }
  }
  return found;
}

Chain make_chain(const Array& origins, const Points& axes, const std::vector<bool>& turns,
                 const Array& tip) {
  const std::vector<LinkPose> frames = link_poses(origins), last = link_poses(tip);
  if (static_cast<std::size_t>(axes.rows()) != frames.size() || turns.size() != frames.size() ||
      last.size() != 1) {
    refuse("chain", "as many axes and kinds as origins, and one tip", axes.rows());
  }
  std::vector<ChainJoint> joints;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    joints.push_back({frames[i], axes.row(i).transpose(), turns[i]});
  }
  return {joints, last[0]};
}

PoseTask make_task(const std::string& orientation, const Vector3d& axis, double length) {
  PoseTask task;
  using Orientation = PoseTask::Orientation;
  if (orientation != "full" && orientation != "axis" && orientation != "free") {
    refuse("orientation", "full, axis or free", orientation);
  }
  task.orientation = orientation == "full"   ? Orientation::full
                     : orientation == "axis" ? Orientation::axis
                                             : Orientation::free;
  task.axis = axis.normalized();
  task.length = length;
  return task;
}

void check_columns(const Chain& chain, const Rows& q) {
  if (q.cols() != chain.size()) {
    refuse("q", std::to_string(chain.size()) + " columns", q.cols());
  }
}

py::tuple poses(const Chain& chain, const Rows& q) {
  check_columns(chain, q);
  const py::ssize_t n = chain.size();
  py::array_t<double> pose({py::ssize_t{q.rows()}, py::ssize_t{4}, py::ssize_t{4}});
  py::array_t<double> slope({py::ssize_t{q.rows()}, py::ssize_t{6}, n});
  auto P = pose.mutable_unchecked<3>();
  auto S = slope.mutable_unchecked<3>();
  ChainJacobian J;
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const LinkPose found = chain.pose(q.row(k).transpose(), &J);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 3; ++j) P(k, i, j) = i < 3 ? found.turn(i, j) : 0;
      P(k, i, 3) = i < 3 ? found.at[i] : 1;
    }
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < n; ++j) S(k, i, j) = J(i, j);
    }
  }
  return py::make_tuple(pose, slope);
}

py::tuple reach_all(const Chain& chain, const PoseTask& task, const Array& wants, const Rows& q,
                    int iterations) {
  check_columns(chain, q);
  const std::vector<LinkPose> keys = link_poses(wants);
  if (iterations < 0) refuse("reach: iterations", "must be >= 0", iterations);
  if (keys.size() != 1 && static_cast<Eigen::Index>(keys.size()) != q.rows()) {
    refuse("reach: poses", "one, or one per start", keys.size());
  }
  Rows found = q;
  VectorXd errors(q.rows());
  Solving how;
  how.iterations = iterations;
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    JointValues here = q.row(k).transpose();
    errors[k] = reach(chain, task, keys[keys.size() == 1 ? 0 : k], how, here);
    found.row(k) = here.transpose();
  }
  return py::make_tuple(found, errors);
}

py::dict follow_one(const Chain& chain, const PoseTask& task, const Array& wants, int begin,
                    const VectorXd& q) {
  if (q.size() != chain.size() || chain.size() > task.rows()) {
    refuse("follow", "one value per joint, and no joint to spare", q.size());
  }
  const std::vector<LinkPose> keys = link_poses(wants);
  if (begin < 0 || begin >= static_cast<int>(keys.size())) {
    refuse("follow: begin", "a key, 0 to " + std::to_string(keys.size()) + " - 1", begin);
  }
  const FollowedPath path = follow(chain, task, keys, begin, q);
  py::dict found;
  found["q"] = Rows(path.q.transpose());
  found["first"] = path.first;
  found["last"] = path.last;
  found["error"] = path.error;
  found["jumped"] = path.jumped;
  return found;
}

Rows smooth(const Chain& chain, const PoseTask& task, const Array& wants, const VectorXd& times,
            const MotionLimits& limits, bool at_rest, const Rows& q, int iterations) {
  check_columns(chain, q);
  const std::vector<LinkPose> keys = link_poses(wants);
  const auto count = static_cast<Eigen::Index>(keys.size());
  if (iterations < 0) refuse("smooth: iterations", "must be >= 0", iterations);
  if (count < 2 || times.size() != count || q.rows() != count) {
    refuse("smooth", "at least two poses, and a time and a row of q for each", count);
  }
  for (Eigen::Index k = 0; k < count; ++k) {
    if (std::isfinite(times[k]) && (k == 0 || times[k] > times[k - 1])) continue;
    refuse("smooth: times", "finite and increasing [s]", times[k]);
  }
  for (const VectorXd* limit :
       {&limits.lower, &limits.upper, &limits.velocity, &limits.acceleration, &limits.jerk}) {
    if (limit->size() == chain.size()) continue;
    refuse("smooth: limits", "one per joint, " + std::to_string(chain.size()), limit->size());
  }
  return smooth_path(chain, task, keys, times, limits, at_rest, q.transpose(), iterations)
      .transpose();
}

Rows condition(const Chain& chain, const PoseTask& task, const Rows& q) {
  check_columns(chain, q);
  Rows found(q.rows(), 2);
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const auto [low, high] = singular_values(chain, task, q.row(k).transpose());
    found.row(k) << low, high;
  }
  return found;
}

}  // namespace

void bind_robots(py::module_& m) {
  py::class_<PoseTask>(m, "PoseTask", "What of a pose counts: full, axis or free orientation.")
      .def(py::init(&make_task), py::arg("orientation"), py::arg("axis"), py::arg("length"),
           "axis: of the link, turns about it are free; length [m]: error of one radian.");
  py::class_<MotionLimits>(m, "MotionLimits", "Of every joint (n,), infinite where there is none.")
      .def(py::init([](const VectorXd& lower, const VectorXd& upper, const VectorXd& velocity,
                       const VectorXd& acceleration, const VectorXd& jerk) {
             return MotionLimits{lower, upper, velocity, acceleration, jerk};
           }),
           py::arg("lower"), py::arg("upper"), py::arg("velocity"), py::arg("acceleration"),
           py::arg("jerk"));
  py::class_<Chain>(m, "Chain", "A robot's joints from its base to one link.")
      .def(py::init(&make_chain), py::arg("origins"), py::arg("axes"), py::arg("turns"),
           py::arg("tip"),
           "origins (n, 4, 4) in the frame before; unit axes (n, 3); turns: angle or shift; "
           "tip (1, 4, 4) in the last.")
      .def_property_readonly("size", &Chain::size)
      .def_property_readonly("length", &Chain::length, "Sum of the distances of its frames [m].")
      .def("poses", &poses, py::arg("q"),
           "q (m, n) -> poses (m, 4, 4) and Jacobians (m, 6, n) in the base's frame.")
      .def("reach", &reach_all, py::arg("task"), py::arg("poses"), py::arg("q"),
           py::arg("iterations") = 60,
           "Starts q (m, n), one pose or m -> joint values (m, n), errors left (m,) [m].")
      .def("follow", &follow_one, py::arg("task"), py::arg("poses"), py::arg("begin"), py::arg("q"),
           "From q (n,) at key `begin` through all keys without jumps: q (keys, n), first, last "
           "key reached, error [m] or joint that jumped at the next.")
      .def("smooth", &smooth, py::arg("task"), py::arg("poses"), py::arg("times"),
           py::arg("limits"), py::arg("at_rest"), py::arg("q"), py::arg("iterations") = 12,
           "The smoothest path (keys, n) near q that reaches all keys.")
      .def("singular_values", &condition, py::arg("task"), py::arg("q"),
           "q (m, n) -> smallest and largest singular value (m, 2) of the task's Jacobian.");
}

}  // namespace diffsim
