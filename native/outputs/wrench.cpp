#include "wrench.hpp"

#include <algorithm>

#include "../momentum_rate.hpp"

namespace diffsim {
namespace {

/// A wrench at one state: what a node's rows of r add to it, (3, node size) each.
class WrenchAt {
 public:
  WrenchAt(const Scene& scene, const WrenchSpec& spec, WrenchPart part, const State& s,
           const VectorXd& p)
      : scene_(scene), spec_(spec), part_(part), of_node_(scene.nodes().size(), -1) {
    Vector3d about = Vector3d::Zero();
    for (int node : spec.nodes) about += s.c.col(node) / static_cast<double>(spec.nodes.size());
    if (in_first()) about = s.c.col(spec.nodes[0]);
    const Node& first = scene.nodes()[spec.nodes[0]];
    if (first.kind == NodeKind::frame && spec.point) rho_ = s.R[first.frame] * spec.point(p);
    for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
      of_node_[spec.nodes[i]] = static_cast<int>(i);
      Matrix36 G = Matrix36::Zero();
      if (part == WrenchPart::force) {
        G.leftCols<3>() = -spec.sign * Matrix3d::Identity();
      } else {
        G.leftCols<3>() = -spec.sign * skew(s.c.col(spec.nodes[i]) - about - rho_);
        G.rightCols<3>() = -spec.sign * Matrix3d::Identity();
      }
      gather_.push_back(G);
    }
  }

  Vector3d value(const VectorXd& r) const {
    Vector3d y = Vector3d::Zero();
    for (std::size_t i = 0; i < gather_.size(); ++i) {
      const Node& n = scene_.nodes()[spec_.nodes[i]];
      y += gather_[i].leftCols(n.size()) * r.segment(n.dof, n.size());
    }
    return y;
  }

  /// Hands (dof, d value) of every block in the body's rows to `add`.
  template <class F>
  void each_block(const BlockMatrix& M, F&& add) const {
    const BlockPattern& P = *M.pattern;
    for (int b = 0; b < P.blocks(); ++b) {
      const int i = of_node_[P.row[b]];
      if (i < 0) continue;
      const int rows = P.size[P.row[b]], columns = P.size[P.col[b]];
      const Eigen::Map<const MatrixXd> block(M.block(b), rows, columns);
      add(P.dof[P.col[b]], MatrixXd(gather_[i].leftCols(rows) * block));
    }
  }

  void add_columns(const ParameterColumns& columns, MatrixXd& by_column) const {
    std::vector<int> of_row(scene_.ndof(), -1);
    for (std::size_t i = 0; i < gather_.size(); ++i) {
      const Node& n = scene_.nodes()[spec_.nodes[i]];
      for (int row = 0; row < n.size(); row += 3) of_row[n.dof + row] = static_cast<int>(i);
    }
    for (const auto& e : columns.entries()) {
      const int i = of_row[e.row];
      if (i < 0) continue;
      const int within = e.row - scene_.nodes()[spec_.nodes[i]].dof;
      by_column.col(e.column) += gather_[i].middleCols(within, 3) * e.value;
    }
  }

  /// share times the forces of window.at[k].
  void add_forces(double share, int k, OutputJacobian& by) const {
    for (std::size_t i = 0; i < gather_.size(); ++i) {
      const Node& n = scene_.nodes()[spec_.nodes[i]];
      by.add_f(0, n.dof, Matrix36(share * gather_[i]).leftCols(n.size()), k);
    }
  }

  /// What moving arms add to a torque: d(c_i - o) x F_i.
  void add_arms(const VectorXd& r, const State& s, const VectorXd& p, OutputJacobian& by) const {
    if (part_ == WrenchPart::force) return;
    Vector3d total = Vector3d::Zero();
    for (int node : spec_.nodes) {
      total -= spec_.sign * r.segment<3>(scene_.nodes()[node].dof);
    }
    const int dof = scene_.nodes()[spec_.nodes[0]].dof,
              count = static_cast<int>(spec_.nodes.size());
    for (int i = 0; i < count; ++i) {
      const int at = scene_.nodes()[spec_.nodes[i]].dof;
      const double share = !in_first() ? 1. / count : i == 0 ? 1 : 0;  // of o
      if (count > 1) {
        by.add_x(0, at, Matrix3d(share * skew(total) + spec_.sign * skew(r.segment<3>(at))));
      }
    }
    if (!in_first()) return;
    if (!rho_.isZero(0)) by.add_x(0, dof + 3, Matrix3d(-skew(total) * skew(rho_)));
    if (spec_.add_point) spec_.add_point(s, p, skew(total), by);
  }

 private:
  bool in_first() const { return spec_.nodes.size() == 1 || spec_.point; }

  const Scene& scene_;
  const WrenchSpec& spec_;
  WrenchPart part_;
  std::vector<int> of_node_;  // place among the body's nodes, -1: not of it
  std::vector<Matrix36> gather_;
  Vector3d rho_ = Vector3d::Zero();
};

// What elements write. Where the motion begins there is no rate of momentum yet.
void add_elements(const WrenchSpec& spec, const Window& window, const VectorXd& p,
                  const Assembly& out) {
  for (const Element* e : spec.elements) {
    const auto* contact = dynamic_cast<const ContactElement*>(e);
    if (contact && window.now().hard_contacts) {
      contact->add_hard(window.now(), !spec.absent.empty(), *out.r);
    } else if (window.at[1] || !e->has_momentum()) {
      e->add(window, p, out);
    }
  }
  if (spec.balance && window.at[1]) add_past_forces(window, *out.r);
}

void evaluate(const Scene& scene, const WrenchSpec& spec, WrenchPart part, const Window& window,
              VectorXd p, double* y, OutputJacobian* by) {
  for (int i : spec.absent) p[i] = 0;
  const WrenchAt at(scene, spec, part, window.now(), p);
  VectorXd r = VectorXd::Zero(scene.ndof());
  Assembly out;
  out.r = &r;
  if (!by) {
    add_elements(spec, window, p, out);
    Vector3d::Map(y) = at.value(r);
    return;
  }
  BlockMatrix K, B;
  K.reset(scene.pattern());
  B.reset(scene.pattern());
  std::vector<int> column_of = by->column_of();
  for (int i : spec.absent) column_of[i] = -1;
  ParameterColumns columns(column_of);
  out.K = &K;
  out.B = &B;
  out.columns = &columns;
  add_elements(spec, window, p, out);
  Vector3d::Map(y) = at.value(r);
  at.each_block(K, [&](int dof, const MatrixXd& J) { by->add_x(0, dof, J); });
  at.each_block(B, [&](int dof, const MatrixXd& J) { by->add_v(0, dof, J); });
  at.add_arms(r, window.now(), p, *by);
  const int count = *std::max_element(column_of.begin(), column_of.end()) + 1;
  MatrixXd by_column = MatrixXd::Zero(3, count);
  at.add_columns(columns, by_column);
  for (std::size_t i = 0; i < column_of.size(); ++i) {
    if (column_of[i] >= 0) by->add_p(0, static_cast<int>(i), by_column.col(column_of[i]));
  }
  for (int k = 1; k <= window.depth() && window.at[k]; ++k) {
    K.reset(scene.past_pattern());
    B.reset(scene.past_pattern());
    for (const Element* e : spec.elements) {
      if (e->looks_back()) e->add_history(window, k, p, K, B);
    }
    at.each_block(K, [&](int dof, const MatrixXd& J) { by->add_x(0, dof, J, k); });
    at.each_block(B, [&](int dof, const MatrixXd& J) { by->add_v(0, dof, J, k); });
    if (spec.balance && window.scheme.lags()) at.add_forces(-window.scheme.lag[k], k, *by);
  }
}

}  // namespace

Output wrench(std::string name, const Scene& scene, WrenchPart part, WrenchSpec spec) {
  const char* unit = part == WrenchPart::force ? "N" : "N m";
  return {
      std::move(name), unit, xyz(), 0,
      [&scene, part, spec](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
        evaluate(scene, spec, part, window, p, y, by);
      }};
}

}  // namespace diffsim
