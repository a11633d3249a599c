// A tree of links on joints: what recursive dynamics works on.
//
// Link i is moved by joint i; parents come before their children. Universal, planar and floating
// joints are compositions with massless links.
#pragma once

#include <string>
#include <vector>

#include "../math.hpp"

namespace diffsim {

enum class JointType { fixed, revolute, prismatic, spherical, translation };

/// Numbers in q: spherical has a quaternion (x, y, z, w), child to joint frame.
int position_size(JointType type);
/// Numbers in qd: spherical has omega [rad/s], translation a velocity [m/s], both below.
int velocity_size(JointType type);
const char* joint_type_name(JointType type);

/// Between a link (or the world) and the link it moves. At q = 0 (spherical: the unit quaternion)
/// the child's frame is the joint's.
struct TreeJoint {
  std::string name;
  JointType type = JointType::fixed;
  int parent = -1;                    // index of a link; -1: the world
  Matrix3d R = Matrix3d::Identity();  // joint frame in the parent's: x_parent = R x_joint + r
  Vector3d r = Vector3d::Zero();      // [m]
  Vector3d axis = Vector3d::UnitZ();  // unit, joint frame; of revolute and prismatic joints
  double armature = 0;                // rotor inertia felt by each coordinate [kg m^2 or kg]
};

struct TreeLink {
  std::string name;
  double mass = 0;                      // [kg]; 0: nothing but a frame
  Vector3d com = Vector3d::Zero();      // [m], link frame
  Matrix3d inertia = Matrix3d::Zero();  // about the centre of mass, link axes [kg m^2]
};

/// The checked model. Velocity coordinates: revolute, prismatic 1; spherical 3, the child's angular
/// velocity relative to its parent in the CHILD's axes; translation 3, in the joint's axes.
/// Derivatives by q are in the same coordinates (tangent space).
class Tree {
 public:
  /// Refuses (naming joint or link): cycles, parents that do not exist or come later, axes that are
  /// not unit, rotations that are not orthogonal, masses or inertias that no body has (offering the
  /// nearest that one can have), and joints that move no inertia.
  Tree(std::vector<TreeJoint> joints, std::vector<TreeLink> links,
       const Vector3d& gravity = Vector3d(0, 0, -9.81));

  int size() const { return static_cast<int>(links_.size()); }
  int position_size() const { return nq_; }
  int velocity_size() const { return nv_; }
  const std::vector<TreeJoint>& joints() const { return joints_; }
  const std::vector<TreeLink>& links() const { return links_; }
  const TreeJoint& joint(int i) const { return joints_[i]; }
  const TreeLink& link(int i) const { return links_[i]; }
  /// First entry of joint i in q and in qd.
  int position_at(int i) const { return position_at_[i]; }
  int velocity_at(int i) const { return velocity_at_[i]; }
  const Vector3d& gravity() const { return gravity_; }
  void set_gravity(const Vector3d& gravity);

  /// q where all joints are at zero.
  VectorXd neutral() const;
  /// q moved by a tangent vector d (nv): q + d, quaternions times exp(d).
  VectorXd moved(const VectorXd& q, const VectorXd& d) const;
  /// Index of a link by its name; refuses others.
  int link_index(const std::string& name) const;
  int joint_index(const std::string& name) const;

 private:
  std::vector<TreeJoint> joints_;
  std::vector<TreeLink> links_;
  std::vector<int> position_at_, velocity_at_;
  Vector3d gravity_;
  int nq_ = 0, nv_ = 0;
};

/// The nearest inertia a body can have: second moments S = tr(I)/2 1 - I with their negative
/// eigenvalues at zero (nearest to S in Frobenius' norm), then I = tr(S) 1 - S.
Matrix3d nearest_inertia(const Matrix3d& inertia);

}  // namespace diffsim
