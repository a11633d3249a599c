#include "closure.hpp"

#include <random>

#include "../rotation.hpp"
#include "../scene.hpp"

namespace diffsim {
namespace {

constexpr double kIndependent = 1e-6;  // share of a row that others do not hold, at least
constexpr int kPoses = 3;              // beside the start, where that is asked
constexpr double kAway = 0.2;          // [rad], and of lengths: how far these are from it
constexpr int kMostCorrections = 30;
constexpr double kOnTheWay = 1e-11;  // gap [m, rad] of a pose that is closed
constexpr double kClosed = 1e-14;    // gap over lengths that is none
constexpr double kOpen = 1e-10;      // and one that is

void append(std::vector<int>& all, int count) {
  for (int i = 0; i < count; ++i) all.push_back(i);
}

// Takes what the orthonormal columns Q span out of x, twice for the sake of rounding.
void project_out(const MatrixXd& Q, int columns, VectorXd& x) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto q = Q.leftCols(columns);
    x -= q * (q.transpose() * x);
  }
}

}  // namespace

Closure::Closure(const Scene& scene, const std::vector<Joint*>& joints, const VectorXd& scale,
                 std::vector<Node>& nodes, int& ndof, int coordinates)
    : scene_(&scene), joints_(joints), nodes_(nodes), ndof_(ndof) {
  std::vector<std::vector<int>> kept(joints.size());
  const VectorXd p = scene.values();
  choose(p, scale, kept);
  for (std::size_t k = 0; k < joints.size(); ++k) {
    Joint::Multipliers at;
    at.rows = kept[k];
    const int count = static_cast<int>(at.rows.size());
    at.node = static_cast<int>(nodes.size());
    at.dof = ndof;
    at.first = coordinates;
    Node node{NodeKind::coordinates, ndof, -1};
    node.first = coordinates;
    node.count = count;
    node.multipliers = true;
    nodes.push_back(node);
    ndof += count;
    coordinates += count;
    count_ += count;
    joints_[k]->set_multipliers(at);
  }
  const State s = scene.open_start(p);
  N_ = rows(p, s).G;
  reduce(p, s, N_);
  N_ = scale.cwiseAbs2().asDiagonal() * N_;
}

Closure::Rows Closure::rows(const VectorXd& p, const State& s) const {
  int count = 0;
  for (const Joint* joint : joints_) count += static_cast<int>(joint->multipliers().rows.size());
  Rows all{VectorXd(count), VectorXd(count), MatrixXd::Zero(ndof_, count),
           MatrixXd::Zero(ndof_, count)};
  Joint::Row row[Joint::kMostRows];
  int at = 0;
  for (const Joint* joint : joints_) {
    joint->held_rows(s, p, row);
    for (int i : joint->multipliers().rows) {
      all.g[at] = row[i].at.q;
      all.rate[at] = row[i].at.rate;
      const auto into = [&](MatrixXd& M, const Vector12& by) {
        joint->nodes().each_part(by, [&](int dof, const auto& part) {
          M.col(at).segment(dof, part.size()) += part.transpose();
        });
      };
      into(all.G, row[i].at.g);
      into(all.rate_x, row[i].at.rate_x);
      ++at;
    }
  }
  return all;
}

void Closure::reduce(const VectorXd& p, const State& s, MatrixXd& G) const {
  if (const Articulation* at = scene_->articulation()) {
    ArticulationMap map;
    map.evaluate(*at, nodes_, p, s);
    map.reduce(G);
  }
  for (const Node& n : nodes_) {
    if (n.driven) G.middleRows(n.dof, n.size()).setZero();
  }
}

void Closure::displace(const VectorXd& by, const VectorXd& p, State& s) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    if (n.dependent || n.driven) continue;
    if (n.kind == NodeKind::coordinates) {
      s.q.segment(n.first, n.count) += by.segment(n.dof, n.count);
    }
    if (n.has_place()) s.c.col(static_cast<Eigen::Index>(i)) += by.segment<3>(n.dof);
    if (n.turns()) s.R[n.frame] = exp_rotation(by.segment<3>(n.turn())) * s.R[n.frame];
  }
  if (scene_->articulation()) scene_->articulation()->place(p, s);
}

void Closure::choose(const VectorXd& p, const VectorXd& scale,
                     std::vector<std::vector<int>>& kept) const {
  // All rows of all joints, at the start and at closed poses about it: a row is left out where it
  // depends on those before at every one of them.
  std::vector<int> counts;
  for (Joint* joint : joints_) {
    Joint::Row row[Joint::kMostRows];
    Joint::Multipliers all;
    append(all.rows, joint->held_rows(scene_->open_start(p), p, row));
    counts.push_back(static_cast<int>(all.rows.size()));
    joint->set_multipliers(all);
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-kAway, kAway);
  std::vector<MatrixXd> gradients;
  VectorXd sizes;  // of rows by the poses of free bodies
  for (int pose = 0; pose <= kPoses; ++pose) {
    State s = scene_->open_start(p);
    VectorXd by = VectorXd::Zero(ndof_);
    for (double& x : by) x = pose > 0 ? uniform(random) : 0;
    MatrixXd G;
    double open = 0;
    for (int k = 0; k < kMostCorrections; ++k) {
      displace(by.cwiseProduct(scale), p, s);
      const Rows now = rows(p, s);
      G = now.G;
      sizes = (scale.asDiagonal() * G).colwise().norm();
      reduce(p, s, G);
      G = scale.asDiagonal() * G;
      // Where rows depend on others, Gauss and Newton's step is damped [Levenberg, Marquardt].
      MatrixXd across = G.transpose() * G;
      open = now.g.norm();
      if (open < kOnTheWay) break;
      across.diagonal().array() += open;
      by = -G * across.ldlt().solve(now.g);
    }
    if (pose == 0 || open < kOpen) gradients.push_back(G);
  }
  std::vector<MatrixXd> basis(gradients.size(), MatrixXd(ndof_, gradients[0].cols()));
  int at = 0, rank = 0;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const std::string place = "joint '" + joints_[k]->name() + "': coordinates";
    for (int i = 0; i < counts[k]; ++i, ++at) {
      const double least = kIndependent * sizes[at];
      std::vector<VectorXd> left;
      double most = 0;
      for (std::size_t pose = 0; pose < gradients.size(); ++pose) {
        left.emplace_back(gradients[pose].col(at));
        project_out(basis[pose], rank, left[pose]);
        most = std::max(most, left[pose].norm());
      }
      if (!(most > least)) continue;
      if (!(left[0].norm() > least)) {
        refuse(place, "what constrained joints hold must be independent of each other at the start",
               "a singular pose, where it can go on in more than one way", "start in another pose");
      }
      for (std::size_t pose = 0; pose < gradients.size(); ++pose) {
        // At a pose where it happens to depend on others, it adds nothing.
        const double norm = left[pose].norm();
        basis[pose].col(rank) = norm > least ? VectorXd(left[pose] / norm) : VectorXd::Zero(ndof_);
      }
      kept[k].push_back(i);
      ++rank;
    }
    if (kept[k].empty()) {
      refuse(place, "a constrained joint must hold what no other holds",
             "one that holds nothing more", "leave it out");
    }
  }
}

Eigen::Vector4d Closure::gap(const Joint& joint, const State& s, const VectorXd& p) {
  Joint::Row row[Joint::kMostRows];
  Eigen::Vector4d sum = Eigen::Vector4d::Zero();
  const int count = joint.held_rows(s, p, row);
  for (int i = 0; i < count; ++i) {
    sum[row[i].turns ? 1 : 0] += row[i].at.q * row[i].at.q;
    sum[row[i].turns ? 3 : 2] += row[i].at.rate * row[i].at.rate;
  }
  return sum.cwiseSqrt();
}

MatrixXd Closure::pulls(const VectorXd& moved) const {
  MatrixXd P = N_;
  for (const Node& n : nodes_) {
    if (!n.turns() || n.dependent || n.driven) continue;
    P.middleRows<3>(n.turn()) =
        left_jacobian(moved.segment<3>(n.turn())) * N_.middleRows<3>(n.turn());
  }
  return P;
}

VectorXd Closure::close(const VectorXd& p, State& s, const std::vector<int>& held) const {
  const State start = s;
  MatrixXd N = N_;
  for (int dof : held) N.row(dof).setZero();
  VectorXd mu = VectorXd::Zero(count_), moved = VectorXd::Zero(ndof_);
  double length = 1, before = std::numeric_limits<double>::infinity();
  for (const Joint* joint : joints_) length = std::max(length, joint->arm());
  for (int k = 0;; ++k) {
    const Rows now = rows(p, s);
    const double open = now.g.norm();
    MatrixXd G = now.G;
    reduce(p, s, G);
    if (k > 0 || open <= kClosed * length) {
      const bool stalls = !(open < 0.5 * before);
      if (open <= kClosed * length || (stalls && open < kOpen * length)) {
        // Velocities, which rates are linear in.
        const VectorXd nu = (G.transpose() * N).partialPivLu().solve(-now.rate);
        const VectorXd dv = N * nu;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
          const Node& n = nodes_[i];
          if (n.dependent || n.driven) continue;
          if (n.kind == NodeKind::coordinates) {
            s.qdot.segment(n.first, n.count) += dv.segment(n.dof, n.count);
          }
          if (n.has_place()) s.v.col(static_cast<Eigen::Index>(i)) += dv.segment<3>(n.dof);
          if (n.turns()) s.w[n.frame] += dv.segment<3>(n.turn());
        }
        if (scene_->articulation()) scene_->articulation()->place(p, s);
        if (!dv.allFinite()) break;
        return moved;
      }
    }
    before = open;
    MatrixXd P = pulls(moved);
    for (int dof : held) P.row(dof).setZero();
    mu -= (G.transpose() * P).partialPivLu().solve(now.g);
    moved = N * mu;
    if (k == kMostCorrections || !moved.allFinite()) break;
    s = start;
    displace(moved, p, s);
  }
  const Joint* widest = joints_[0];
  for (const Joint* joint : joints_) {
    if (gap(*joint, start, p).head<2>().norm() > gap(*widest, start, p).head<2>().norm()) {
      widest = joint;
    }
  }
  refuse("joint '" + widest->name() + "': coordinates",
         "a constrained joint must be closed at the start, or nearly",
         "a gap of " + std::to_string(gap(*widest, start, p)[0]) + " m that cannot be closed",
         "move its bodies, or the joints that carry them, to where it is closed");
}

void Closure::carry(const VectorXd& moved, MatrixXd& X) const {
  for (const Node& n : nodes_) {
    if (!n.turns() || n.dependent || n.driven) continue;
    X.middleRows<3>(n.turn()) =
        (exp_rotation(moved.segment<3>(n.turn())) * X.middleRows<3>(n.turn())).eval();
  }
}

void Closure::correct(const VectorXd& p, const State& s, const VectorXd& moved,
                      const ArticulationMap* map, const std::vector<int>& column_of, MatrixXd& X,
                      MatrixXd& V) const {
  const Eigen::Index all = X.rows();
  const auto expand = [&](MatrixXd& x, MatrixXd& v) {
    if (map) map->expand({}, MatrixXd(0, x.cols()), x, v);
  };
  MatrixXd moves = MatrixXd::Zero(all, count_), speeds = moves, still = moves, drags = moves;
  moves.topRows(ndof_) = pulls(moved);
  speeds.topRows(ndof_) = N_;
  expand(moves, drags);
  expand(still, speeds);
  const Rows now = rows(p, s);
  MatrixXd dg = now.G.transpose() * X.topRows(ndof_);
  MatrixXd drate = MatrixXd::Zero(dg.rows(), dg.cols());
  Joint::Row row[Joint::kMostRows];
  int at = 0;
  for (const Joint* joint : joints_) {
    joint->held_rows(s, p, row);
    for (int i : joint->multipliers().rows) {
      const CoordinateSlopes by = joint->row_by_place(row[i], s, p);
      for (int k = 0; k < 12; ++k) {
        const int parameter = joint->place_parameter(k);
        if (parameter < 0 || column_of[parameter] < 0) continue;
        dg(at, column_of[parameter]) += by.q[k];
        drate(at, column_of[parameter]) += by.rate[k];
      }
      ++at;
    }
  }
  const auto G = now.G.transpose();
  const MatrixXd mu = -(G * moves.topRows(ndof_)).partialPivLu().solve(dg);
  X += moves * mu;
  V += drags * mu;
  drate += now.rate_x.transpose() * X.topRows(ndof_) + G * V.topRows(ndof_);
  V += speeds * -(G * speeds.topRows(ndof_)).partialPivLu().solve(drate);
}

void Closure::set_scale(VectorXd& scale) const {
  for (const Joint* joint : joints_) {
    const Joint::Multipliers& at = joint->multipliers();
    for (std::size_t i = 0; i < at.rows.size(); ++i) {
      const double per_arm = joint->turns(at.rows[i]) ? joint->arm() : 1;
      scale[at.dof + static_cast<int>(i)] = joint->load() * per_arm;
    }
  }
}

std::string Closure::name_of(int dof) const {
  for (const Joint* joint : joints_) {
    const Joint::Multipliers& at = joint->multipliers();
    const int i = dof - at.dof;
    if (i < 0 || i >= static_cast<int>(at.rows.size())) continue;
    return joint->name() + ".multiplier[" + std::to_string(i) + "]";
  }
  return "";
}

}  // namespace diffsim
