// SolidSmoothed: linear tetrahedra that lock less, by averages over patches.
//
//   E = sum over edges  V_e Psi_mu(F_e),   F_e  = average of F over the edge's tetrahedra
//     + sum over nodes  V_n Psi_lambda(J_n),  J_n = average of J over the node's tetrahedra
// V_e, V_n: a sixth and a fourth of their tetrahedra's volumes; Psi_mu, Psi_lambda: a law's two
// parts (tet_kernel.hpp), the former with viscosity. Averages of F over edges remove the
// shear stiffness of linear tetrahedra (edge-based smoothing: Liu, Nguyen-Thoi 2010), averages of J
// over nodes the volumetric locking (Bonet, Burton 1998). Nodes couple through a common neighbour.
#pragma once

#include "solid.hpp"

namespace diffsim {

class SolidSmoothed : public SolidBody<SolidSmoothed> {
 public:
  /// X as for Solid; the material has no parameters per element.
  SolidSmoothed(std::string name, const PointSet* points, const Matrix3X& X,
                const std::vector<std::array<int, 4>>& tets, SolidMatter matter);

 private:
  friend class SolidBody<SolidSmoothed>;
  using View = BodyPoints::View;
  static constexpr bool kJoins = false;
  struct Patch {  // of a node: its tetrahedra and their points
    double volume;
    std::vector<int> point;                               // ascending
    std::vector<std::pair<int, std::array<int, 4>>> tet;  // lane place, places in `point`
    std::vector<int> pair;                                // per a < b of `point`
  };
  struct Scratch;
  static Scratch& scratch();

  template <class Law, class Sink>
  void forces(const View& view, const VectorXd& p, DerivativeBy by, ViscosityModel viscosity,
              Sink&& sink) const {
    edges_part_.forces<ShearOnly<Law>>(view, moduli_of(edge_material_, p, by), viscosity, sink);
    average_volumes(view);
    respond<Law>(moduli_of(node_material_, p, by), false);
    for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
      Wide3 f[4];
      volume_forces(view, k, f);
      const TetBatch& b = tets_.batch[k];
      sink(b.element, b.lanes, 4, b.at.data(), f);
    }
  }
  template <class Law, ViscosityModel kViscosity>
  void blocks(const View& view, const VectorXd& p, const EdgeBlocks::Buffer& buffer) const {
    edges_part_.blocks<ShearOnly<Law>, kViscosity>(view, ModuliView(edge_material_, p), buffer);
    average_volumes(view);
    respond<Law>(ModuliView(node_material_, p), true);
    add_volume_blocks(view, buffer);
  }
  template <class Law, class Sink>
  void energy(const View& view, const VectorXd& p, DerivativeBy by, Sink&& sink) const;

  StressLayout stress_layout() const;
  void make_patches();
  /// J of every node.
  void average_volumes(const View& view) const;
  /// q and its slope of every node.
  template <class Law>
  void respond(const ModuliView& moduli, bool with_slope) const;
  Wide mean_pressure(const TetBatch& b) const;
  void volume_forces(const View& view, std::size_t batch, Wide3 f[4]) const;
  void add_volume_blocks(const View& view, const EdgeBlocks::Buffer& buffer) const;
  void add_patch(const Patch& patch, double slope, const EdgeBlocks::Buffer& buffer) const;

  std::vector<std::array<int, 4>> cell_;
  Stencils edges_part_;
  SolidMaterial edge_material_, node_material_;  // fields averaged
  TetBatches tets_;
  std::vector<std::array<LaneIndex, 6>> edge_;
  std::vector<Patch> patch_;  // per point
};

struct SolidSmoothed::Scratch {
  std::vector<double> J, q, slope;  // per point, padded to whole batches
  std::vector<double> k;            // per tetrahedron and node: d(V J/4)/dx
};

template <class Law>
void SolidSmoothed::respond(const ModuliView& moduli, bool with_slope) const {
  Scratch& s = scratch();
  for (int begin = 0; begin < static_cast<int>(patch_.size()); begin += kLanes) {
    LaneIndex node;
    Wide J;
    for (int lane = 0; lane < kLanes; ++lane) {
      node[lane] = std::min(begin + lane, static_cast<int>(patch_.size()) - 1);
      J[lane] = s.J[node[lane]];
    }
    const Volumetric vol = Law::at(J, Law::volume(moduli(node)), with_slope);
    for (int lane = 0; lane < kLanes; ++lane) {
      s.q[node[lane]] = vol.q[lane];
      s.slope[node[lane]] = vol.slope[lane];
    }
  }
}

template <class Law, class Sink>
void SolidSmoothed::energy(const View& view, const VectorXd& p, DerivativeBy by,
                           Sink&& sink) const {
  average_volumes(view);
  const ModuliView moduli = moduli_of(node_material_, p, by);
  edges_part_.energy<ShearOnly<Law>>(view, moduli_of(edge_material_, p, by), sink);
  for (int i = 0; i < static_cast<int>(patch_.size()); ++i) {
    LaneIndex node;
    node.fill(i);
    const Wide J = wide(scratch().J[i]);
    sink(node, 1, patch_[i].volume * Law::energy(wide(3), J, Law::volume(moduli(node))));
  }
}

}  // namespace diffsim
