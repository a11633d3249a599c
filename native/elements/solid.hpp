// Solid: elastic and viscous forces of a body of linear tetrahedra (kernel: tet_kernel.hpp).
#pragma once

#include "../bodies/point_set.hpp"
#include "edge_blocks.hpp"
#include "material.hpp"

namespace diffsim {

enum class SolidModel { neo_hookean, neo_hookean_safe };
enum class ViscosityModel { none, invariant, linear };

struct TetBatch {     // eight tetrahedra; the last batch repeats its last one beyond `lanes`
  int at[4][kLanes];  // 3 * point, ascending
  LaneIndex element;  // index of the tetrahedron as it was given
  int lanes;
};

class Solid : public Element {
 public:
  /// X: rest places of the points of `points` (3, points) [m], in the orientation about which the
  /// linear viscosity is linear; tets: four points each. All points are nodes that follow each
  /// other, or glued.
  Solid(std::string name, const PointSet* points, const Matrix3X& X,
        const std::vector<std::array<int, 4>>& tets, SolidMaterial material, SolidModel model,
        ViscosityModel viscosity);
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  struct Gradient {
    Wide3 b[3];
  };
  template <class Law>
  void add_with(const State& s, const VectorXd& p, const Assembly& out) const;
  template <class Law, class Sink>
  void forces(const BodyPoints::View& view, const ModuliView& moduli, ViscosityModel viscosity,
              Sink&& sink) const;
  template <class Law, ViscosityModel kViscosity>
  void blocks(const BodyPoints::View& view, const ModuliView& moduli,
              const EdgeBlocks::Buffer& buffer) const;
  template <class Law>
  void columns(const State& s, const VectorXd& p, ParameterColumns& out) const;
  void find_edges();

  BodyPoints points_;
  SolidMaterial material_;
  SolidModel model_;
  ViscosityModel viscosity_;
  std::vector<TetRest> rest_;  // per batch, as all below
  std::vector<TetBatch> batch_;
  std::vector<Gradient> gradient_;              // for the linear viscosity only
  std::vector<std::array<LaneIndex, 6>> edge_;  // of the pairs a < b
  EdgeBlocks edges_;
};

}  // namespace diffsim
