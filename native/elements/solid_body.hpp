// What solids of all kinds of elements share: materials, points, assembly, derivatives by material.
//
// A kind derives from SolidBody<itself> and has
//   forces<Law>(view, p, by, viscosity, sink): hands (element, lanes, nodes, 3 * point per node,
//     minus the force per node) to sink; `by` asks for the derivative by a part of the material;
//   blocks<Law, viscosity>(view, p, buffer): adds minus the forces to view.r, blocks to the buffer.
//   stress_layout(): where its stress comes from (outputs/stress.hpp).
//   kJoins: whether blocks() fills joined buffers (edge_blocks.hpp).
//   energy<Law>(view, p, by, sink): hands (element, lanes, what is stored [J]) to sink.
#pragma once

#include <optional>

#include "outputs/energy.hpp"
#include "outputs/stress.hpp"
#include "stencils.hpp"

namespace diffsim {

enum class SolidModel { neo_hookean, neo_hookean_safe };

/// What a solid is made of, whatever its elements.
struct SolidMatter {
  SolidMaterial material;
  SolidModel model;
  ViscosityModel viscosity;
};

using DerivativeBy = std::optional<MaterialPart>;

inline ModuliView moduli_of(const SolidMaterial& material, const VectorXd& p, DerivativeBy by) {
  return by ? ModuliView(material, p, *by) : ModuliView(material, p);
}

template <class Kind>
class SolidBody : public Element {
 public:
  std::vector<std::pair<int, int>> couplings() const override { return edges_.couplings(points_); }
  void bind(const BlockPattern& pattern, const BlockPattern&) override {
    edges_.bind(pattern, points_);
  }
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override {
    if (matter_.model == SolidModel::neo_hookean) {
      add_with<NeoHookean>(window.now(), p, out);
    } else {
      add_with<NeoHookeanSafe>(window.now(), p, out);
    }
  }
  bool joins() const override { return Kind::kJoins && points_.all_nodes(); }
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override {
    each_energy(s, p, {}, [&](const LaneIndex&, int lanes, const Wide& energy) {
      to.elastic += sum_of(energy, lanes);
    });
  }
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override {
    add_rest_forces(s, p, Energy::kElastic, by);
    for (MaterialPart part : {MaterialPart::young, MaterialPart::poisson}) {
      const ElementParameter& parameter = matter_.material.of(part);
      each_energy(s, p, part, [&](const LaneIndex& element, int lanes, const Wide& slope) {
        for (int lane = 0; lane < lanes; ++lane) {
          const int own = parameter.per_element ? element[lane] : 0;
          by.add_p(Energy::kElastic, parameter.first + own, slope[lane]);
        }
      });
    }
  }
  void list_outputs(const Scene&, OutputList& to) const override {
    const StressLaw law = matter_.model == SolidModel::neo_hookean
                              ? StressLaw::of<NeoHookean>(matter_.viscosity)
                              : StressLaw::of<NeoHookeanSafe>(matter_.viscosity);
    list_stress(name(), &points_.set(), law, [this] { return kind().stress_layout(); }, cells_, to);
    to.push_back(energy_of(name(), {this}));
  }

 protected:
  /// X, cells: rest places of the points, number of tetrahedra.
  SolidBody(std::string name, const PointSet* points, SolidMatter matter, Matrix3X X,
            std::size_t cells)
      : Element(std::move(name)),
        points_(points),
        matter_(std::move(matter)),
        X_(std::move(X)),
        cells_(static_cast<int>(cells)) {}

  BodyPoints points_;
  SolidMatter matter_;
  Matrix3X X_;
  int cells_;
  EdgeBlocks edges_;

 private:
  const Kind& kind() const { return static_cast<const Kind&>(*this); }

  template <class Sink>
  void each_energy(const State& s, const VectorXd& p, DerivativeBy by, Sink&& sink) const {
    VectorXd unused(2 * s.c.size());  // rows of the forces, which are not asked for
    const BodyPoints::View view = points_.open(s, p, unused.data());
    if (matter_.model == SolidModel::neo_hookean) {
      kind().template energy<NeoHookean>(view, p, by, sink);
    } else {
      kind().template energy<NeoHookeanSafe>(view, p, by, sink);
    }
  }

  template <class Law>
  void collect(const State& s, const VectorXd& p, DerivativeBy by, ViscosityModel viscosity,
               double* r) const {
    const BodyPoints::View view = points_.open(s, p, r);
    kind().template forces<Law>(
        view, p, by, viscosity,
        [&](const LaneIndex&, int lanes, int nodes, const LaneIndex* at, const Wide3* f) {
          for (int a = 0; a < nodes; ++a) scatter(f[a], at[a].data(), lanes, view.r);
        });
    points_.close(view, s, p, r);
  }

  template <class Law>
  void add_with(const State& s, const VectorXd& p, const Assembly& out) const {
    const bool viscous = matter_.material.viscous(p);
    const ViscosityModel model = viscous ? matter_.viscosity : ViscosityModel::none;
    if (!out.K) {
      collect<Law>(s, p, {}, model, out.r->data());
    } else {
      const BodyPoints::View view = points_.open(s, p, out.r->data());
      const double alpha = out.A && joins() ? out.alpha : 0;
      const EdgeBlocks::Buffer buffer = edges_.buffer(!viscous ? 1 : alpha != 0 ? 2 : 3, alpha);
      if (model == ViscosityModel::none) {
        kind().template blocks<Law, ViscosityModel::none>(view, p, buffer);
      } else if (model == ViscosityModel::invariant) {
        kind().template blocks<Law, ViscosityModel::invariant>(view, p, buffer);
      } else {
        kind().template blocks<Law, ViscosityModel::linear>(view, p, buffer);
      }
      edges_.finish(buffer, points_, s, p, view.r, out);
      points_.close(view, s, p, out.r->data());
    }
    if (out.columns) columns<Law>(s, p, out.r->size(), *out.columns);
  }

  /// Forces are linear in the moduli: columns are forces of the moduli's derivatives.
  template <class Law>
  void columns(const State& s, const VectorXd& p, Eigen::Index ndof, ParameterColumns& out) const {
    for (int k = 0; k < kMaterialParts; ++k) {
      const auto part = static_cast<MaterialPart>(k);
      const ElementParameter& parameter = matter_.material.of(part);
      if (!parameter.any_active(out)) continue;
      const ViscosityModel model =
          part == MaterialPart::viscosity ? matter_.viscosity : ViscosityModel::none;
      if (parameter.per_element) {
        element_columns<Law>(s, p, part, model, ndof, out);
      } else {
        VectorXd column = VectorXd::Zero(ndof);
        collect<Law>(s, p, part, model, column.data());
        out.add(out.column(parameter.first), column);
      }
    }
  }

  template <class Law>
  void element_columns(const State& s, const VectorXd& p, MaterialPart part, ViscosityModel model,
                       Eigen::Index ndof, ParameterColumns& out) const {
    const int first = matter_.material.of(part).first;
    VectorXd unused(ndof);
    const BodyPoints::View view = points_.open(s, p, unused.data());
    kind().template forces<Law>(
        view, p, part, model,
        [&](const LaneIndex& element, int lanes, int nodes, const LaneIndex* at, const Wide3* f) {
          for (int lane = 0; lane < lanes; ++lane) {
            const int c = out.column(first + element[lane]);
            for (int a = 0; c >= 0 && a < nodes; ++a) {
              const Vector3d force(f[a].x[lane], f[a].y[lane], f[a].z[lane]);
              points_.add(at[a][lane] / 3, force, s, p, c, out);
            }
          }
        });
  }
};

}  // namespace diffsim
