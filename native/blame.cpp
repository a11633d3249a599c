#include "blame.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

namespace diffsim {
namespace {

// Rows of the node that dof is of: the first, and how many. Of joints' coordinates and multipliers
// all: elements write their forces into the rows of bodies.
std::pair<int, int> rows_of(const Scene& scene, int dof) {
  for (const Node& n : scene.nodes()) {
    const bool own = dof >= n.dof && dof < n.dof + n.size();
    if (own && n.kind != NodeKind::coordinates) return {n.dof, n.size()};
  }
  return {0, scene.ndof()};
}

bool acts_always(const std::string& name) { return name == "inertia" || name == "gravity"; }

// The element of the largest share; the first whose share is no number.
class Largest {
 public:
  void offer(const std::string& name, double share) {
    if (done_) return;
    done_ = !std::isfinite(share);
    const bool plain = acts_always(name);
    const bool better = name_.empty() || (plain == plain_ ? share > share_ : plain_);
    if (!done_ && !(share > 0 && better)) return;
    name_ = name;
    share_ = share;
    plain_ = plain;
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  double share_ = 0;
  bool plain_ = true, done_ = false;
};

int not_finite_row(const BlockMatrix& A) {
  if (!A.pattern || A.values.allFinite()) return -1;
  const BlockPattern& at = *A.pattern;
  for (int b = 0; b < at.blocks(); ++b) {
    const int rows = at.size[at.row[b]], count = rows * at.size[at.col[b]];
    for (int k = 0; k < count; ++k) {
      if (!std::isfinite(A.block(b)[k])) return at.dof[at.row[b]] + k % rows;
    }
  }
  return -1;
}

// Largest entry of rows [first, first + count), or one that is not finite.
double largest_entry(const BlockMatrix& A, int first, int count) {
  const BlockPattern& at = *A.pattern;
  double most = 0;
  for (int b = 0; b < at.blocks(); ++b) {
    const int row = at.dof[at.row[b]];
    if (row < first || row >= first + count) continue;
    for (int k = 0; k < at.size[at.row[b]] * at.size[at.col[b]]; ++k) {
      const double entry = std::abs(A.block(b)[k]);
      if (!std::isfinite(entry)) return entry;
      most = std::max(most, entry);
    }
  }
  return most;
}

}  // namespace

std::vector<const Element*> elements_of(const Scene& scene) {
  std::vector<const Element*> all;
  for (const auto& e : scene.elements()) all.push_back(e.get());
  return all;
}

int row_beyond(const MatrixXd& M) {
  int worst = -1;
  double most = kBeyond;
  for (int row = 0; row < M.rows(); ++row) {
    for (Eigen::Index c = 0; c < M.cols(); ++c) {
      const double size = std::abs(M(row, c));
      if (!std::isfinite(size)) return row;
      if (size <= most) continue;
      worst = row;
      most = size;
    }
  }
  return worst;
}

int singular_row(const Scene& scene, const BlockMatrix& A) {
  if (const int row = not_finite_row(A); row >= 0 || !A.pattern) return row;
  const BlockPattern& at = *A.pattern;
  int worst = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < at.nodes(); ++i) {
    const int size = at.size[i], dof = at.dof[i];
    const bool free =
        std::find(at.multipliers.begin(), at.multipliers.end(), i) != at.multipliers.end();
    if (size == 0 || free) continue;
    const VectorXd scale = scene.residual_scale().segment(dof, size);
    const MatrixXd D =
        scale.asDiagonal() * MatrixXd::Map(A.block(i), size, size) * scale.asDiagonal();
    const Eigen::JacobiSVD<MatrixXd> svd(D, Eigen::ComputeThinU);
    const double most = svd.singularValues()[0];
    const double rest = most > 0 ? svd.singularValues()[size - 1] / most : 0;
    if (!(rest < least)) continue;
    least = rest;
    Eigen::Index row = 0;
    svd.matrixU().col(size - 1).cwiseAbs().maxCoeff(&row);
    worst = dof + static_cast<int>(row);
  }
  return worst;
}

int singular_row(const Scene& scene, const LinearizedStep& step,
                 const std::vector<const MatrixXd*>& carried) {
  const StepDerivatives& d = step.d;
  for (const BlockMatrix* M : {&step.A, &d.K, &d.B}) {
    if (const int row = not_finite_row(*M); row >= 0) return row;
  }
  for (const auto& entry : d.dr_dp) {
    for (int k = 0; k < 3; ++k) {
      if (!std::isfinite(entry.value[k])) return std::min(entry.row + k, scene.ndof() - 1);
    }
  }
  for (const auto* past : {&d.past_K, &d.past_B}) {
    for (int k = 0; k < d.scheme.order; ++k) {
      if (const int row = not_finite_row((*past)[k]); row >= 0) return row;
    }
  }
  for (const MatrixXd* M : carried) {
    if (const int row = row_beyond(*M); row >= 0) return row;
  }
  return singular_row(scene, step.A);
}

std::string stiffest(const Scene& scene, const std::vector<const Element*>& elements,
                     const Window& window, const VectorXd& p, int dof) {
  const auto [first, count] = rows_of(scene, dof);
  Largest here;
  VectorXd r(scene.ndof());
  BlockMatrix K, B;
  bool symmetric = true, compressed = false;
  Assembly out;
  out.r = &r;
  out.K = &K;
  out.B = &B;
  out.symmetric = &symmetric;
  out.compressed = &compressed;
  for (const Element* e : elements) {
    r.setZero();
    K.reset(scene.pattern());
    B.reset(scene.pattern());
    e->add(window, p, out);
    const double damping = largest_entry(B, first, count) / window.scheme.h;
    here.offer(e->name(), largest_entry(K, first, count) + damping);
  }
  return here.name();
}

std::string strongest(const Scene& scene, const std::vector<const Element*>& elements,
                      const Window& window, const VectorXd& p, int dof) {
  const auto [first, count] = rows_of(scene, dof);
  Largest here;
  VectorXd r(scene.ndof());
  Assembly out;
  out.r = &r;
  bool compressed = false;
  out.compressed = &compressed;
  for (const Element* e : elements) {
    r.setZero();
    e->add(window, p, out);
    const auto scale = scene.residual_scale().segment(first, count);
    here.offer(e->name(), r.segment(first, count).cwiseProduct(scale).norm());
  }
  return here.name();
}

std::string owner_of(const Scene& scene, int dof) {
  const std::string coordinate = scene.dof_name(dof);
  return coordinate.substr(0, coordinate.find_first_of(".["));
}

std::string worst_text(const Scene& scene, const std::string& element, int dof) {
  const std::string name = element.empty() ? owner_of(scene, dof) : element;
  return "; worst element '" + name + "', worst dof " + scene.dof_name(dof);
}

}  // namespace diffsim
