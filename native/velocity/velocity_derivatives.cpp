// Derivatives of the velocity step, by the implicit function theorem.
//
// Of the free motion's equations (free_motion.cpp) and of those with contacts, P = B lambda,
//   M (u' - u) + h (c(q, (u + u_f)/2) + r(q, u) + phi(q + h u', u')) - J^T P = 0:
//   (M + h phi_u') du' = M du - h (f_q dq + r_u du + c_u (du + du_f)/2 + f_p dp)
//                        + d(J^T P) at fixed lambda + J^T B dlambda
// where f is all of what h multiplies and M's change, and of each contact's law
// (contact_problem.hpp) in its own axes, c = B^T J u'.
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

// Adds a block (independent nodes) to the rows and columns of an island.
void scatter(const BlockMatrix& from, const Multibody& model, int index, MatrixXd& to) {
  const BlockPattern& P = *from.pattern;
  for (int b = 0; b < P.blocks(); ++b) {
    const int rows = P.size[P.row[b]], columns = P.size[P.col[b]];
    if (rows == 0 || columns == 0) continue;
    const int row = P.dof[P.row[b]], column = P.dof[P.col[b]];
    if (model.island_of(row) != index) continue;
    to.block(model.place_of(row), model.place_of(column), rows, columns) +=
        Eigen::Map<const MatrixXd>(from.block(b), rows, columns);
  }
}

}  // namespace

void VelocityStepper::evaluate_forces(const Window& start, const VectorXd& p,
                                      ParameterColumns& columns) {
  K_.reset(scene_->pattern());
  B_.reset(scene_->pattern());
  written_.setZero();
  Assembly out;
  out.r = &written_;
  out.K = &K_;
  out.B = &B_;
  out.columns = &columns;
  bool compressed = false;
  out.compressed = &compressed;
  if (impact_) return;  // forces do nothing at one instant
  for (const Element* e : model_->forces()) e->add(start, p, out);
}

void VelocityStepper::add_loads(const Window& start) {
  for (const Island& island : islands_) {
    for (std::size_t i = 0; i < island.touches.size(); ++i) {
      if (island.problem.contacts[i].mode == ContactProblem::Mode::open) continue;
      const Touch& touch = island.touches[i];
      add_load(touch, touch.B * island.problem.lambda.segment<3>(3 * static_cast<int>(i)) / h_,
               start.now());
    }
  }
}

void VelocityStepper::reduce_forces(const Window& start, const VectorXd& p) {
  if (!scene_->articulation()) return;
  map_.evaluate(*scene_->articulation(), scene_->nodes(), p, start.now());
  scene_->reduced().reduce(map_, written_, K_, B_, reduced_K_, reduced_B_);
}

VelocityStepper::Equations VelocityStepper::equations(int index, const JointForces::Rows& joint,
                                                      const MatrixXd& by_p,
                                                      const std::vector<int>& columns) {
  const auto& dofs = model_->islands()[index].dofs;
  const auto n = static_cast<Eigen::Index>(dofs.size());
  Equations to{MatrixXd::Zero(n, n), MatrixXd::Zero(n, n), MatrixXd::Zero(n, n), {}};
  at_.inertia_derivatives(index, to.q, to.terms);
  to.terms *= h_ / 2;
  const bool reduced = scene_->articulation() != nullptr;
  scatter(reduced ? reduced_K_ : K_, *model_, index, to.q);
  scatter(reduced ? reduced_B_ : B_, *model_, index, to.u);
  for (Eigen::Index k = 0; k < n; ++k) {
    to.q(k, k) += joint.by_pose[dofs[k]];
    to.u(k, k) += joint.slope[dofs[k]];  // M is that of the factor less these
  }
  to.p.resize(n, static_cast<Eigen::Index>(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (Eigen::Index k = 0; k < n; ++k) {
      to.p(k, static_cast<Eigen::Index>(c)) = by_p(dofs[k], columns[c]);
    }
  }
  return to;
}

// With A = M~ + h/2 dc/du, M~ = M + h dphi/du': A du_f = (M - h/2 dc/du) du - ..., and
// M - h/2 dc/du = A - h (dc/du + dphi/du').
VelocityStepper::Slopes VelocityStepper::free_slopes(int index, const Equations& of) const {
  Slopes to{-h_ * of.q, -2 * of.terms - h_ * of.u, -h_ * of.p, {}};
  for (MatrixXd* X : {&to.q, &to.u, &to.p}) {
    clear_driven(*model_, index, *X);
    solve_free_slopes(index, *X);
  }
  to.u.diagonal().array() += 1;
  return to;
}

VelocityStepper::Slopes VelocityStepper::pressed_slopes(int index, const Equations& of,
                                                        const Slopes* free) const {
  Slopes to{-h_ * of.q, -of.terms - h_ * of.u, -h_ * of.p, {}};
  if (free) {
    to.q -= of.terms * free->q;
    to.u -= of.terms * free->u;
    to.p -= of.terms * free->p;
  }
  for (MatrixXd* X : {&to.q, &to.u, &to.p}) {
    clear_driven(*model_, index, *X);
    islands_[index].M.solve(*X);
  }
  to.u.diagonal().array() += 1;
  return to;
}

std::vector<int> VelocityStepper::felt_columns(int index, const MatrixXd& by_p,
                                               const MatrixXd& free_by_p) const {
  std::vector<int> felt;
  for (Eigen::Index c = 0; c < by_p.cols(); ++c) {
    bool any = contact_columns_[c];
    for (const int dof : model_->islands()[index].dofs) {
      any = any || by_p(dof, c) != 0 || free_by_p(dof, c) != 0;
    }
    if (any) felt.push_back(static_cast<int>(c));
  }
  return felt;
}

MatrixXd VelocityStepper::by_parameters(const Window& start, const VectorXd& p, const VectorXd& u,
                                        const VectorXd& udot, const ParameterColumns& written,
                                        const ActiveColumns& active) const {
  MatrixXd by_p =
      MatrixXd::Zero(scene_->ndof(), static_cast<Eigen::Index>(active.columns().size()));
  for (const auto& e : written.entries()) {
    for (int i = 0; i < 3; ++i) {
      if (e.value[i] != 0) at_.add_force(e.row + i, e.value[i], by_p.col(e.column));
    }
  }
  ParameterColumns of_inertia(active.column_of());
  at_.inertia_columns(udot, of_inertia);
  for (const auto& e : of_inertia.entries()) by_p.block<3, 1>(e.row, e.column) += e.value;
  if (!joints_act_) return by_p;
  const ParameterColumns listed(active.column_of());
  model_->joint_forces().each_column(whole_step(start), h_, p, u,
                                     [&](int dof, int parameter, double value) {
                                       const int column = listed.column(parameter);
                                       if (column >= 0) by_p(dof, column) += value;
                                     });
  return by_p;
}

void VelocityStepper::differentiate(const Window& window, const VectorXd& p, ActiveColumns& active,
                                    bool fresh, StepDerivatives& step) {
  const Stopwatch watch(timing_, &Timing::jacobian);
  const State& prev = *window.at[1];
  const Window start{{&prev, &prev, nullptr}, window.scheme, window.t};
  if (window.now().split) {
    if (!fresh) step_again(window, p);
    return differentiate_parts(window, p, active, step);
  }
  whole_ = window.scheme.h;
  impacts_ = splits_ ? Impacts::split : Impacts::stepped;
  if (!fresh) solve(prev, start, p);
  joints_act_ = true;
  linearize(start, p);
  step.moved = false;
  step.map = StepMap(scene_->nodes(), window);
  step.scheme = window.scheme;
  step.symmetric = false;
  active.select(window.t);
  step.columns = active.columns();
  write(window, p, active, slopes(start, p, active), step);
}

std::vector<VelocityStepper::Slopes> VelocityStepper::slopes(const Window& start, const VectorXd& p,
                                                             const ActiveColumns& active) {
  const State& prev = start.now();
  ParameterColumns written(active.column_of());
  evaluate_forces(start, p, written);
  // At mid-step, of what leads to the rates u; all equations by parameters.
  const auto accelerate = [&](const VectorXd& u) {
    change_ = (u - start_rates_) / h_;
    at_.accelerate(&change_);
    bias_.setZero();
    at_.add_inertia(p, &change_, nullptr, bias_);
    at_.sum_composites();
    return by_parameters(start, p, u, change_, written, active);
  };
  find_contact_columns(prev, p, active);
  if (impact_) {
    at_.move(VectorXd::Zero(start_rates_.size()));
  } else {
    set_free_slopes(p);
  }
  const MatrixXd by_p = accelerate(rates_), free_by_p = impact_ ? by_p : accelerate(free_);
  const int count = static_cast<int>(islands_.size());
  std::vector<Slopes> slopes(count);
  std::vector<std::vector<int>> columns;
  reduce_forces(start, p);
  for (int i = 0; i < count; ++i) {
    columns.push_back(felt_columns(i, by_p, free_by_p));
    if (!impact_) slopes[i] = free_slopes(i, equations(i, joint_free_, free_by_p, columns[i]));
    slopes[i].columns = columns[i];
  }
  add_loads(start);
  reduce_forces(start, p);
  if (!impact_) accelerate(rates_);
  for (int i = 0; i < count; ++i) {
    if (!impact_ && !presses(islands_[i])) continue;
    slopes[i] =
        pressed_slopes(i, equations(i, joint_, by_p, columns[i]), impact_ ? nullptr : &slopes[i]);
    slopes[i].columns = columns[i];
  }
  std::vector<PressedRows> pressed;
  at_.move(start_rates_);
  for (int i = 0; i < count; ++i) {
    pressed.push_back(rows_before(i, prev, p, active, slopes[i].columns));
  }
  at_.move(rates_);
  for (int i = 0; i < count; ++i) {
    add_rows_after(i, prev, p, active, pressed[i]);
    eliminate(i, pressed[i], slopes[i]);
  }
  return slopes;
}

void VelocityStepper::write(const Window& window, const VectorXd& p, const ActiveColumns& active,
                            const std::vector<Slopes>& slopes, StepDerivatives& step) const {
  const BlockPattern& solved = scene_->solved_pattern();
  step.K.reset(solved);
  step.B.reset(solved);
  for (int i = 0; i < solved.nodes(); ++i) {
    const int size = solved.size[i];
    for (int k = 0; k < size; ++k) step.B.block(i)[k * (size + 1)] = 1;
  }
  const BlockPattern& past = model_->pattern();
  step.past_K[0].reset(past);
  step.past_B[0].reset(past);
  for (int b = 0; b < past.blocks(); ++b) {
    const int rows = past.size[past.row[b]], columns = past.size[past.col[b]];
    // Driven nodes do not follow from the past.
    if (rows == 0 || columns == 0 || scene_->nodes()[past.row[b]].driven) continue;
    const int row = past.dof[past.row[b]], column = past.dof[past.col[b]];
    const Slopes& own = slopes[model_->island_of(row)];
    const int i = model_->place_of(row), j = model_->place_of(column);
    Eigen::Map<MatrixXd>(step.past_K[0].block(b), rows, columns) =
        -own.q.block(i, j, rows, columns);
    Eigen::Map<MatrixXd>(step.past_B[0].block(b), rows, columns) =
        -own.u.block(i, j, rows, columns);
  }
  ParameterColumns by_p(active.column_of(), std::move(step.dr_dp));
  VectorXd column(scene_->ndof());
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const auto& dofs = model_->islands()[i].dofs;
    for (std::size_t c = 0; c < slopes[i].columns.size(); ++c) {
      column.setZero();
      for (std::size_t k = 0; k < dofs.size(); ++k) {
        column[dofs[k]] = -slopes[i].p(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(c));
      }
      by_p.add(slopes[i].columns[c], column);
    }
  }
  if (scene_->articulation()) {
    step.articulation.evaluate(*scene_->articulation(), scene_->nodes(), p, window.now());
    step.places.clear();
  }
  VectorXd unused = VectorXd::Zero(scene_->ndof());
  Assembly driven;
  driven.r = &unused;
  driven.K = &step.K;
  driven.B = &step.B;
  driven.columns = &by_p;
  scene_->drive(window, p, driven);
  step.dr_dp = by_p.take();
}

}  // namespace diffsim
