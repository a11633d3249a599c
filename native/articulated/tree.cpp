#include "tree.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <cmath>

#include "../rotation.hpp"
#include "../small_matrices.hpp"

namespace diffsim {
namespace {

constexpr double kUnit = 1e-9;       // by which axes and rotations may miss 1
constexpr double kSymmetric = 1e-9;  // share of the largest entry
constexpr double kPhysical = 2e-6;   // share of the largest moment: published inertias are rounded
const Eigen::IOFormat kInline(9, Eigen::DontAlignCols, ", ", ", ", "", "", "[", "]");

std::string of_joint(const TreeJoint& joint) { return "joint '" + joint.name + "'"; }
std::string of_link(const TreeLink& link) { return "link '" + link.name + "'"; }

std::string entries(const Matrix3d& I) {
  Vector6 e;
  e << I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2);
  std::ostringstream text;
  text << "xx, yy, zz, xy, xz, yz " << e.transpose().format(kInline);
  return text.str();
}

// Parents exist and come first. A cycle is told from links in the wrong order.
void check_tree(const std::vector<TreeJoint>& joints, const std::vector<TreeLink>& links) {
  const int n = static_cast<int>(joints.size());
  for (int i = 0; i < n; ++i) {
    const int parent = joints[i].parent;
    if (parent < -1 || parent >= n) {
      refuse(of_joint(joints[i]) + ": parent",
             "must be -1 (the world) or a link, 0 to " + std::to_string(n - 1), parent);
    }
  }
  for (int i = 0; i < n; ++i) {
    if (joints[i].parent < i) continue;
    std::string path = links[i].name;
    for (int at = joints[i].parent, k = 0; at >= 0 && k <= n; at = joints[at].parent, ++k) {
      path += " <- " + links[at].name;
      if (at == i) {
        refuse(of_joint(joints[i]) + ": parent", "links must form a tree", "the cycle " + path,
               "close a loop by a constraint instead");
      }
    }
    refuse(of_joint(joints[i]) + ": parent",
           "parents must come before children, as link " + std::to_string(i) + " is",
           joints[i].parent, "sort the links from the root outwards");
  }
}

void check_names(const std::vector<TreeJoint>& joints, const std::vector<TreeLink>& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (links[i].name == links[j].name) {
        refuse("link " + std::to_string(i), "names must differ", "'" + links[i].name + "' twice");
      }
      if (joints[i].name == joints[j].name) {
        refuse("joint " + std::to_string(i), "names must differ", "'" + joints[i].name + "' twice");
      }
    }
  }
}

void check_joint(const TreeJoint& joint) {
  const std::string place = of_joint(joint);
  if (!joint.r.allFinite()) refuse(place + ": r", "must be finite [m]", joint.r.transpose());
  const double off = (joint.R * joint.R.transpose() - Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!(off < kUnit) || !(joint.R.determinant() > 0)) {
    refuse(place + ": R", "must be a rotation: R R^T = 1 to 1e-9, and det R = 1",
           joint.R.reshaped<Eigen::RowMajor>().transpose().format(kInline));
  }
  const bool has_axis = joint.type == JointType::revolute || joint.type == JointType::prismatic;
  if (has_axis && !(std::abs(joint.axis.norm() - 1) < kUnit)) {
    std::ostringstream remedy;
    if (joint.axis.allFinite() && joint.axis.norm() > 0) {
      remedy << "divided by its length: " << joint.axis.normalized().transpose().format(kInline);
    }
    refuse(place + ": axis", "must be a unit vector", joint.axis.transpose().format(kInline),
           remedy.str());
  }
  if (!(joint.armature >= 0 && std::isfinite(joint.armature))) {
    refuse(place + ": armature", "must be finite and >= 0 [kg m^2 or kg]", joint.armature);
  }
}

void check_link(const TreeLink& link) {
  const std::string place = of_link(link);
  if (!(link.mass >= 0 && std::isfinite(link.mass))) {
    refuse(place + ": mass", "must be finite and >= 0 [kg]", link.mass);
  }
  if (!link.com.allFinite()) refuse(place + ": com", "must be finite [m]", link.com.transpose());
  const Matrix3d& I = link.inertia;
  if (!I.allFinite()) refuse(place + ": inertia", "must be finite [kg m^2]", entries(I));
  const double size = I.cwiseAbs().maxCoeff();
  if ((I - I.transpose()).cwiseAbs().maxCoeff() > kSymmetric * size) {
    refuse(place + ": inertia", "must be symmetric [kg m^2]",
           I.reshaped<Eigen::RowMajor>().transpose().format(kInline),
           "its symmetric part: " + entries(0.5 * (I + I.transpose())));
  }
  if (link.mass == 0 && size > 0) {
    refuse(place + ": mass", "must be > 0 where there is inertia [kg]", link.mass,
           "give a mass, or no inertia to a link that is a frame only");
  }
  const Vector3d moments = Eigen::SelfAdjointEigenSolver<Matrix3d>(I).eigenvalues();
  const double slack = kPhysical * size + 1e-12;
  if (moments[0] < -slack || moments[2] > moments[0] + moments[1] + slack) {
    std::ostringstream got;
    got << "principal moments " << moments.transpose().format(kInline);
    refuse(place + ": inertia",
           "principal moments must be >= 0 and none larger than the sum of the others [kg m^2]",
           got.str(), "the nearest that a body can have: " + entries(nearest_inertia(I)));
  }
}

// Inertia of a point at which forces act on a body with others jointed to it: 6 x 6, rotation
// first, about the frame's origin [Featherstone 2008, 7.2].
Matrix6 about_origin(const TreeLink& link) {
  const Matrix3d c = skew(link.com);
  Matrix6 I;
  I << link.inertia - link.mass * c * c, link.mass * c, -link.mass * c,
      link.mass * Matrix3d::Identity();
  return I;
}

Eigen::Matrix<double, 6, Eigen::Dynamic> motion_axes(const TreeJoint& joint) {
  Eigen::Matrix<double, 6, Eigen::Dynamic> S(6, velocity_size(joint.type));
  S.setZero();
  if (joint.type == JointType::revolute) S.topRows<3>() = joint.axis;
  if (joint.type == JointType::prismatic) S.bottomRows<3>() = joint.axis;
  if (joint.type == JointType::spherical) S.topRows<3>().setIdentity();
  if (joint.type == JointType::translation) S.bottomRows<3>().setIdentity();
  return S;
}

// Every joint must have something to move: the articulated inertia along it, at a generic position
// (at special ones, as in gimbal lock, it may vanish).
void check_moved(const std::vector<TreeJoint>& joints, const std::vector<TreeLink>& links) {
  const int n = static_cast<int>(joints.size());
  std::vector<Matrix6> articulated(n);
  for (int i = 0; i < n; ++i) articulated[i] = about_origin(links[i]);
  for (int i = n - 1; i >= 0; --i) {
    const TreeJoint& joint = joints[i];
    const auto S = motion_axes(joint);
    const double angle = 0.7 + 0.37 * i;
    Matrix6 I = articulated[i];
    if (S.cols() > 0) {
      const MatrixXd U = I * S;
      const MatrixXd D =
          S.transpose() * U + joint.armature * MatrixXd::Identity(S.cols(), S.cols());
      const double least = symmetric_eigenvalues(D)[0];
      if (!(least > 1e-12 * std::max(I.trace() / 6, joint.armature)) || !(least > 0)) {
        refuse(of_link(links[i]) + ": " + (links[i].mass > 0 ? "inertia" : "mass"),
               "what " + of_joint(joint) + " (" + joint_type_name(joint.type) +
                   ") moves must have inertia along all its coordinates [kg m^2 or kg]",
               least, "give it mass and inertia, give the joint armature, or make it fixed");
      }
      for (Eigen::Index k = 0; k < S.cols(); ++k) {  // one coordinate after the other
        const Vector6 u = I * S.col(k);
        I -= u * u.transpose() / (S.col(k).dot(u) + joint.armature);
      }
    }
    if (joint.parent < 0) continue;
    Matrix3d turn = joint.R;
    Vector3d r = joint.r;
    if (joint.type == JointType::revolute) turn = turn * exp_rotation(angle * joint.axis);
    if (joint.type == JointType::prismatic) r += joint.R * joint.axis * angle;
    if (joint.type == JointType::spherical) turn = turn * exp_rotation(Vector3d(0.3, angle, -0.4));
    if (joint.type == JointType::translation) r += joint.R * Vector3d(0.3, angle, -0.4);
    Matrix6 X;  // motion of the parent's frame -> of the child's
    X << turn.transpose(), Matrix3d::Zero(), -turn.transpose() * skew(r), turn.transpose();
    articulated[joint.parent] += X.transpose() * I * X;
  }
}

}  // namespace

int position_size(JointType type) { return type == JointType::spherical ? 4 : velocity_size(type); }

int velocity_size(JointType type) {
  switch (type) {
    case JointType::fixed:
      return 0;
    case JointType::revolute:
    case JointType::prismatic:
      return 1;
    default:
      return 3;
  }
}

const char* joint_type_name(JointType type) {
  switch (type) {
    case JointType::fixed:
      return "fixed";
    case JointType::revolute:
      return "revolute";
    case JointType::prismatic:
      return "prismatic";
    case JointType::spherical:
      return "spherical";
    default:
      return "translation";
  }
}

Tree::Tree(std::vector<TreeJoint> joints, std::vector<TreeLink> links, const Vector3d& gravity)
    : joints_(std::move(joints)), links_(std::move(links)) {
  if (joints_.empty() || joints_.size() != links_.size()) {
    refuse("tree: links",
           "at least one, and as many as joints (" + std::to_string(joints_.size()) +
               "): link i is moved by joint i",
           links_.size());
  }
  check_tree(joints_, links_);
  check_names(joints_, links_);
  for (const TreeJoint& joint : joints_) check_joint(joint);
  for (const TreeLink& link : links_) check_link(link);
  check_moved(joints_, links_);
  set_gravity(gravity);
  for (const TreeJoint& joint : joints_) {
    position_at_.push_back(nq_);
    velocity_at_.push_back(nv_);
    nq_ += diffsim::position_size(joint.type);
    nv_ += diffsim::velocity_size(joint.type);
  }
}

void Tree::set_gravity(const Vector3d& gravity) {
  if (!gravity.allFinite()) refuse("tree: gravity", "must be finite [m/s^2]", gravity.transpose());
  gravity_ = gravity;
}

VectorXd Tree::neutral() const {
  VectorXd q = VectorXd::Zero(nq_);
  for (int i = 0; i < size(); ++i) {
    if (joints_[i].type == JointType::spherical) q[position_at_[i] + 3] = 1;
  }
  return q;
}

VectorXd Tree::moved(const VectorXd& q, const VectorXd& d) const {
  if (q.size() != nq_) refuse("tree: q", std::to_string(nq_) + " numbers", q.size());
  if (d.size() != nv_) refuse("tree: d", std::to_string(nv_) + " numbers", d.size());
  VectorXd found = q;
  for (int i = 0; i < size(); ++i) {
    const int at = position_at_[i], v = velocity_at_[i];
    if (joints_[i].type == JointType::spherical) {
      const Eigen::Quaterniond before(q.segment<4>(at));
      const Vector3d turn = d.segment<3>(v);
      const double half = turn.norm() / 2;
      const double sinc = half < 1e-4 ? 0.5 - half * half / 12 : std::sin(half) / (2 * half);
      Eigen::Quaterniond step;
      step.w() = std::cos(half);
      step.vec() = sinc * turn;
      found.segment<4>(at) = (before * step).coeffs();
    } else {
      const int count = diffsim::velocity_size(joints_[i].type);
      found.segment(at, count) += d.segment(v, count);
    }
  }
  return found;
}

int Tree::link_index(const std::string& name) const {
  for (int i = 0; i < size(); ++i) {
    if (links_[i].name == name) return i;
  }
  refuse("tree: link", "a link of the tree", "'" + name + "'");
}

int Tree::joint_index(const std::string& name) const {
  for (int i = 0; i < size(); ++i) {
    if (joints_[i].name == name) return i;
  }
  refuse("tree: joint", "a joint of the tree", "'" + name + "'");
}

Matrix3d nearest_inertia(const Matrix3d& inertia) {
  const Matrix3d even = 0.5 * (inertia + inertia.transpose());
  const Matrix3d S = 0.5 * even.trace() * Matrix3d::Identity() - even;
  const Eigen::SelfAdjointEigenSolver<Matrix3d> spectrum(S);
  const Matrix3d kept = spectrum.eigenvectors() *
                        spectrum.eigenvalues().cwiseMax(0.0).asDiagonal() *
                        spectrum.eigenvectors().transpose();
  return kept.trace() * Matrix3d::Identity() - kept;
}

}  // namespace diffsim
