#include "torque.hpp"

#include "../scene.hpp"

namespace diffsim {

void Torque::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const Keys::Piece key = torque_.at(window.t);
  Matrix3d turn = Matrix3d::Identity();
  if (body_fixed_) turn = window.now().R[node_.frame];
  const Vector3d tau = turn * key.value3(p);
  const int row = node_.dof + 3;
  out.r->segment<3>(row) -= tau;
  if (out.K && body_fixed_) {  // d tau = d psi x tau
    Eigen::Map<Matrix6>(out.K->block(index_)).bottomRightCorner<3, 3>() += skew(tau);
  }
  if (!out.columns) return;
  for (int end = 0; end < 2; ++end) {
    for (int a = 0; a < 3; ++a) {
      const int c = out.columns->column(key.first[end] + a);
      if (c >= 0) out.columns->add(row, c, -key.share[end] * turn.col(a));
    }
  }
}

void add_torque(Scene& scene, const std::string& name, const TorqueSpec& spec) {
  scene.check_new("torque", name);
  const int node = scene.node_of(spec.body);
  if (scene.nodes()[node].kind == NodeKind::point) {
    refuse("torque '" + name + "': body", "must be a rigid body", "particle '" + spec.body + "'",
           "give the particle's forces at points");
  }
  const Keys torque(scene.table(), name + ".torque", "N m", spec.torque);
  scene.add_element(
      std::make_unique<Torque>(name, scene.nodes()[node], node, spec.body_fixed, torque));
}

}  // namespace diffsim
