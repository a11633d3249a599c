// Pinocchio's recursive dynamics on states from a file: CPU microseconds per call.
//
// Compiled by dynamics.py against the headers and the library of the PyPI package `pin`.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <string>
#include <vector>

namespace pin = pinocchio;

static Eigen::VectorXd vector(std::ifstream& in, int size) {
  Eigen::VectorXd found(size);
  for (int i = 0; i < size; ++i) in >> found[i];
  return found;
}

static Eigen::Matrix3d matrix(std::ifstream& in) {
  const Eigen::VectorXd v = vector(in, 9);
  return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(v.data());
}

static pin::JointModel joint(const std::string& kind, const Eigen::Vector3d& axis) {
  if (kind == "JointModelRX") return pin::JointModelRX();
  if (kind == "JointModelRY") return pin::JointModelRY();
  if (kind == "JointModelRZ") return pin::JointModelRZ();
  if (kind == "JointModelPX") return pin::JointModelPX();
  if (kind == "JointModelPY") return pin::JointModelPY();
  if (kind == "JointModelPZ") return pin::JointModelPZ();
  if (kind == "JointModelFreeFlyer") return pin::JointModelFreeFlyer();
  return pin::JointModelRevoluteUnaligned(axis);
}

static pin::Model read(std::ifstream& in) {
  pin::Model model;
  int count;
  in >> count;
  for (int i = 1; i < count; ++i) {
    int parent;
    std::string kind;
    in >> parent >> kind;
    const Eigen::Vector3d axis = vector(in, 3);
    const Eigen::Matrix3d R = matrix(in);
    const Eigen::Vector3d r = vector(in, 3);
    const double mass = vector(in, 1)[0];
    const Eigen::Vector3d com = vector(in, 3);
    const Eigen::Matrix3d inertia = matrix(in);
    model.addJoint(parent, joint(kind, axis), pin::SE3(R, r), "j" + std::to_string(i));
    model.appendBodyToJoint(i, pin::Inertia(mass, com, inertia));
  }
  return model;
}

static double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int main(int, char** arguments) {
  std::ifstream in(arguments[1]);
  const pin::Model model = read(in);
  pin::Data data(model);
  int count, repeats;
  in >> count >> repeats;
  std::vector<Eigen::VectorXd> q, v, t;
  for (int i = 0; i < count; ++i) {
    q.push_back(vector(in, model.nq));
    v.push_back(vector(in, model.nv));
    t.push_back(vector(in, model.nv));
  }
  const auto time = [&](const char* name, auto work) {
    double best = 1e9;
    for (int r = 0; r < repeats; ++r) {
      const double begin = now();
      for (int i = 0; i < count; ++i) work(q[i], v[i], t[i]);
      best = std::min(best, (now() - begin) / count);
    }
    std::printf("%s %.9g\n", name, 1e6 * best);
  };
  using V = const Eigen::VectorXd&;
  time("inverse_dynamics", [&](V a, V b, V c) { pin::rnea(model, data, a, b, c); });
  time("mass_matrix", [&](V a, V, V) { pin::crba(model, data, a); });
  time("forward_dynamics",
       [&](V a, V b, V c) { pin::aba(model, data, a, b, c, pin::Convention::WORLD); });
  time("forward_dynamics_local",
       [&](V a, V b, V c) { pin::aba(model, data, a, b, c, pin::Convention::LOCAL); });
  time("inverse_dynamics_derivatives",
       [&](V a, V b, V c) { pin::computeRNEADerivatives(model, data, a, b, c); });
  time("forward_dynamics_derivatives",
       [&](V a, V b, V c) { pin::computeABADerivatives(model, data, a, b, c); });
}
