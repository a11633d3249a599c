// Output: what a motion is asked for beside its poses: forces, torques, tensions, stresses.
//
//   y = y(x_n, v_n, x_{n-1}, v_{n-1}, F_{n-1}, ..., p)
// at a converged state n, with all its partial derivatives. Sensitivities and adjoint know no more
// of it [engine.md (17), (18)]:
//   dy/dp = sum_k (dy/dx_{n-k} S^x_{n-k} + dy/dv_{n-k} S^v_{n-k}) + explicit dy/dp
// and, of what looks back on forces (momentum_rate.hpp), dy/dF_{n-k} S^F_{n-k}.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../state.hpp"

namespace diffsim {

/// Partial derivatives of rows of outputs, as lists; entries of one place add up.
class OutputJacobian {
 public:
  struct Entry {
    int row, column;
    double value;
  };
  using Entries = std::vector<Entry>;

  /// column_of: parameter -> column, -1 where it is not active.
  explicit OutputJacobian(const std::vector<int>& column_of) : column_of_(&column_of) {}
  const std::vector<int>& column_of() const { return *column_of_; }
  /// Rows that follow are counted from here.
  void begin(int first_row) {
    first_ = first_row;
    fold_ = false;
  }
  /// All rows that follow add to the first one.
  void fold() { fold_ = true; }

  /// J of rows from `row` on by (c, psi), (v, omega) of window.at[k] from degree of freedom `dof`.
  template <class Block>
  void add_x(int row, int dof, const Block& J, int k = 0) {
    add(x_[k], row, dof, J);
  }
  template <class Block>
  void add_v(int row, int dof, const Block& J, int k = 0) {
    add(v_[k], row, dof, J);
  }
  /// By the forces of window.at[k] (State::force) from degree of freedom `dof`, where steps look
  /// back on them.
  template <class Block>
  void add_f(int row, int dof, const Block& J, int k) {
    add(f_[k], row, dof, J);
  }
  /// By a parameter; nothing where it is not active.
  template <class Column>
  void add_p(int row, int parameter, const Column& J) {
    const int column = parameter < 0 ? -1 : (*column_of_)[parameter];
    if (column >= 0) add(p_, row, column, J);
  }
  void add_p(int row, int parameter, double J) {
    add_p(row, parameter, Eigen::Matrix<double, 1, 1>(J));
  }

  /// y += J s of states k steps back, and by active parameters (rows of `s` by column).
  void push_x(int k, const MatrixXd& s, MatrixXd& y) const { push(x_[k], s, y); }
  void push_v(int k, const MatrixXd& s, MatrixXd& y) const { push(v_[k], s, y); }
  void push_f(int k, const MatrixXd& s, MatrixXd& y) const { push(f_[k], s, y); }
  void push_p(const MatrixXd& s, MatrixXd& y) const { push(p_, s, y); }
  /// The same of the active parameters themselves.
  void push_p(MatrixXd& y) const {
    for (const Entry& e : p_) y(e.row, e.column) += e.value;
  }
  /// The transposes: cotangents += J^T of those of y.
  void pull_x(int k, const VectorXd& of_y, MatrixXd& to) const { pull(x_[k], of_y, to); }
  void pull_v(int k, const VectorXd& of_y, MatrixXd& to) const { pull(v_[k], of_y, to); }
  void pull_f(int k, const VectorXd& of_y, MatrixXd& to) const { pull(f_[k], of_y, to); }
  void pull_p(const VectorXd& of_y, MatrixXd& to) const { pull(p_, of_y, to); }

 private:
  template <class Block>
  void add(Entries& to, int row, int column, const Block& J) {
    for (Eigen::Index j = 0; j < J.cols(); ++j) {
      for (Eigen::Index i = 0; i < J.rows(); ++i) {
        if (J(i, j) == 0) continue;
        to.push_back({first_ + (fold_ ? 0 : row + static_cast<int>(i)),
                      column + static_cast<int>(j), J(i, j)});
      }
    }
  }
  static void push(const Entries& J, const MatrixXd& s, MatrixXd& y) {
    for (const Entry& e : J) y.row(e.row) += e.value * s.row(e.column);
  }
  static void pull(const Entries& J, const VectorXd& of_y, MatrixXd& to) {
    for (const Entry& e : J) to(e.column, 0) += e.value * of_y[e.row];
  }

  const std::vector<int>* column_of_;
  int first_ = 0;
  bool fold_ = false;
  Entries x_[3], v_[3], f_[3], p_;
};

struct Output {
  std::string name, unit;
  std::vector<std::string> parts;  // x, y, z and so on; none: a number
  int items;                       // 0: one, without an axis of items
  /// Sets y (size() numbers, items after each other) and adds to `by` where it is not null.
  std::function<void(const Window&, const VectorXd& p, double* y, OutputJacobian* by)> evaluate;

  int width() const { return parts.empty() ? 1 : static_cast<int>(parts.size()); }
  int size() const { return (items == 0 ? 1 : items) * width(); }
};
using OutputList = std::vector<Output>;

inline std::vector<std::string> xyz() { return {"x", "y", "z"}; }

}  // namespace diffsim
