// Where the residual of a step is but the rounding of its positions and velocities.
#include "newton.hpp"

namespace diffsim {
namespace {

// ||r|| is rounding below so many units in the last place of the positions and velocities through
// the diagonal blocks of K and B. Measured 0.03 to 1 of 1: solids of every element, springs, joints
// and contacts, of 1e5 to 2e11 Pa, at the origin to 100 m from it.
constexpr double kRounding = 2;
constexpr double kSurely = 4;  // factor on what the joined blocks say of it

// Sum of the squares of what each of x alone does through a block, rows weighted.
template <int N>
double effect(const double* block, const Eigen::Matrix<double, N, 1>& weight,
              const Eigen::Matrix<double, N, 1>& x) {
  const Eigen::Map<const Eigen::Matrix<double, N, N>> M(block);
  return (weight.asDiagonal() * M * x.asDiagonal()).squaredNorm();
}

}  // namespace

double Newton::rounding(const Window& window, const VectorXd& p, double norm) {
  const State& s = window.now();
  double sum = 0;
  if (blocks_ == Blocks::joined) {
    const double alpha = window.scheme.alpha;
    for (int i = 0; i < A_.pattern->nodes(); ++i) {
      const double place = s.c.col(i).squaredNorm() / (alpha * alpha);
      sum += Eigen::Map<const Matrix3d>(A_.block(i)).squaredNorm() *
             (place + s.v.col(i).squaredNorm());
    }
    const double most =
        kSurely * kRounding * std::numeric_limits<double>::epsilon() * std::sqrt(sum);
    if (norm > most) return 0;
    blocks_ = Blocks::apart;
    evaluate(window, p, blocks_);
    sum = 0;
  }
  for (int i = 0; i < K_.pattern->nodes(); ++i) {
    const Node& n = scene_->nodes()[i];
    if (!n.has_place()) continue;
    const BlockMatrix &K = n.dependent ? K_ : this->K(), &B = n.dependent ? B_ : this->B();
    if (n.kind == NodeKind::point) {
      sum += effect<3>(K.block(i), Vector3d::Ones(), s.c.col(i)) +
             effect<3>(B.block(i), Vector3d::Ones(), s.v.col(i));
      continue;
    }
    const Vector6 weight = scene_->residual_scale().segment<6>(n.dof);
    Vector6 place, rate;
    place << s.c.col(i), Vector3d::Ones();  // rotations have the last place of 1
    rate << s.v.col(i), s.w[n.frame];
    sum += effect<6>(K.block(i), weight, place) + effect<6>(B.block(i), weight, rate);
  }
  const BlockPattern& P = *K_.pattern;
  for (int b = P.multipliers.empty() ? P.blocks() : P.nodes(); b < P.blocks(); ++b) {
    const int row = P.row[b], column = P.col[b], size = P.size[column];
    if (!scene_->nodes()[row].multipliers) continue;
    VectorXd place = VectorXd::Ones(size);
    place.head<3>() = s.c.col(column);
    const Eigen::Map<const MatrixXd> by(K_.block(b), P.size[row], size);
    const auto weight = scene_->residual_scale().segment(P.dof[row], P.size[row]);
    sum += (weight.asDiagonal() * by * place.asDiagonal()).squaredNorm();
  }
  return kRounding * std::numeric_limits<double>::epsilon() * std::sqrt(sum);
}

}  // namespace diffsim
