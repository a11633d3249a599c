// A force given by keys over time at each of some points: world-fixed f = F(t), or body-fixed
// f = R F(t) on points of frames; times the point's share.
#pragma once

#include "../bodies/point_set.hpp"
#include "../keys.hpp"

namespace diffsim {

struct PointForceSpec {
  std::string points;
  std::vector<int> index;  // empty: all points
  bool body_fixed = false;
  KeyValues force;  // (3, keys) [N], times its share at every point
  VectorXd shares;  // empty: 1 each
};

class PointForce : public Element {
 public:
  PointForce(std::string name, const PointSet* points, std::vector<int> index, VectorXd shares,
             bool body_fixed, Keys force)
      : Element(std::move(name)),
        points_(points),
        index_(std::move(index)),
        shares_(std::move(shares)),
        body_fixed_(body_fixed),
        force_(force) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  void add_jacobian(int i, const Vector3d& f, const Vector3d& rho, const State& s,
                    const Assembly& out) const;

  const PointSet* points_;
  std::vector<int> index_;
  VectorXd shares_;
  bool body_fixed_;
  Keys force_;
};

void add_point_force(Scene& scene, const std::string& name, const PointForceSpec& spec);

}  // namespace diffsim
