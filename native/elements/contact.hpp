// Frictional contact of a weighted set of points or spheres against a signed distance function.
//
// The sphere of radius r around x touches where x_c = x - r n; gap g(x) - r, depth d = max(-gap,
// 0), d' = -n . w with w the velocity of the point's material at x_c against the obstacle's. The
// force f = f_n n + f_t acts at x_c, on the point's node and, turned round, on the obstacle's. The
// obstacle stands still or is carried by a frame node (a rigid body, a kinematic body): g, n and
// kappa are then given in that node's frame. A set's k_n and k_t are totals; point i carries w_i of
// them (weights sum to 1; to 1/2 in each direction of a pair of bodies).
#pragma once

#include <algorithm>

#include "../bodies/point_set.hpp"
#include "../sdf/sdf.hpp"
#include "contact_element.hpp"
#include "contact_onset.hpp"
#include "contact_rolling.hpp"

namespace diffsim {

/// The frame node in whose frame an sdf is given.
struct Carrier {
  int node = -1;             // -1 = the world
  int dof = -1, frame = -1;  // as in Node
};

/// Parameters of an obstacle's size: its offset [m], its scale [1] and the sizes of its sdf, one
/// after the other. It is scaled about the origin of its frame, then grown by the offset,
/// g(x) = scale g_sdf(x/scale; sizes) - offset.
struct SurfaceParameters {
  int first = -1;  // -1: it has none
  int count = 0;
};

class Contact : public ContactElement {
 public:
  /// mass: what friction at each point has to stop [kg]; end: of linear friction.
  Contact(std::string name, const PointSet* points, SdfPtr sdf, Carrier carrier, VectorXd weights,
          VectorXd mass, FrictionEnd end, const ContactParameters& law,
          SurfaceParameters surface = {})
      : ContactElement(std::move(name)),
        points_(points),
        sdf_(std::move(sdf)),
        carrier_(carrier),
        weights_(std::move(weights)),
        mass_(std::move(mass)),
        end_(law.friction == Friction::linear ? end : FrictionEnd::ahead),
        law_(law),
        surface_(surface),
        only_point_nodes_(std::all_of(points->node.begin(), points->node.end(), [&](int node) {
          return node >= 0 && points->nodes[node].kind == NodeKind::point;
        })) {}
  std::vector<std::pair<int, int>> couplings() const override;
  void bind(const BlockPattern& pattern, const BlockPattern& past) override;
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  /// NAME.force, NAME.torque, NAME.normal_force on the points' body; of a pair: on body a, by both.
  void list_outputs(const Scene& scene, OutputList& to) const override;
  bool looks_back() const override { return law_.onset == Onset::integrated; }
  void touching(const Window& now, const VectorXd& p, std::uint8_t* out) const override;
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

  /// Code per point: ContactMode bits + kRegion * (1 + region) while in contact, 0 while open.
  int mode_count() const override { return points_->size(); }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;

  /// A node whose tangential velocity passed through the sticking range, or that has just met the
  /// obstacle, goes on from zero tangential velocity: full steps overshoot there (SOLVER study).
  bool limit_step(const State& from, const Window& window, const VectorXd& p, VectorXd& u,
                  std::vector<unsigned char>& used) const override;

  /// Force on the body and point of application, world, per point; zero force and x while open.
  int contact_count() const override { return points_->size(); }
  void forces(const Window& window, const VectorXd& p, Matrix3X& force,
              Matrix3X& point) const override;

  /// A point that began within its displacement of the obstacle, which is more than half its
  /// thickness.
  std::string tunnelling(const Window& window, const VectorXd& p) const override;

  void check_hard() const override;
  void gaps(const State& s, const VectorXd& p, double reach, double time,
            std::vector<Gap>& out) const override;
  void gap_slopes(const Gap& gap, const State& s, const VectorXd& p, const ParameterColumns& active,
                  std::vector<GapSlope>& out) const override;
  void add_hard(const State& s, bool normals, VectorXd& r) const override;
  int friction_parameter() const override { return law_.c_f; }
  int restitution_parameter() const override { return law_.restitution; }

  /// Hybrid friction begins a step with those points sticking that stuck in the last one.
  int stick_count() const override;
  void begin_stick(const Window& last, const VectorXd& p, std::uint8_t* stick) const override;
  bool update_stick(const Window& now, const VectorXd& p, VectorXd& u,
                    std::uint8_t* stick) const override;

 private:
  struct Touch;  // one point in contact
  static constexpr int kTouched = -1;
  struct Near {  // points that the sdf's bounds do not exclude, in its frame
    std::vector<int> point;
    Matrix3X x;
    std::vector<SdfSample> samples;
  };
  struct Slope;  // how its force moves with the relative motion
  struct End;    // and with one of the two nodes
  bool touch(int i, const Window& window, const VectorXd& p, const SdfSample& sample,
             Touch& t) const;
  /// Where the surface touches the point, and how both move there.
  void evaluate_geometry(const State& s, const VectorXd& p, Touch& t) const;
  /// The law at a touch whose geometry is known: tangent velocity, normal force, friction limit,
  /// friction, rolling torque, in that order.
  void evaluate_law(const Window& window, const VectorXd& p, Touch& t) const;
  static void evaluate_tangent_velocity(Touch& t);
  void evaluate_friction(const Window& window, const VectorXd& p, const ContactLaw& law, int began,
                         Touch& t) const;
  /// (12c), (12d)
  void evaluate_touched(const Window& window, const VectorXd& p, const ContactLaw& law, int began,
                        Touch& t) const;
  /// Whether forces are integrals over the step: of this law, and not in the first step. Scenes put
  /// bodies on surfaces, where a gap of 0 up to rounding says nothing.
  bool integrates(const Window& window) const {
    return law_.onset == Onset::integrated && window.at[1] && window.t > window.scheme.h;
  }
  /// How the point was when the step began: kOpen (sets the gap then), kStick, kSlip, or kTouched:
  /// not known which.
  int evaluate_before(const Window& window, const VectorXd& p, Touch& t) const;
  /// The point and the obstacle where it is open.
  void set_other_end(const State& s, const VectorXd& p, const Vector3d& place, const Vector3d& n,
                     Touch& t) const;
  /// The touch when the step began, by the law at that instant; false where it was open.
  bool past_touch(int i, const Window& window, const VectorXd& p, Touch& t) const;
  /// What is left of friction of a touch that has ended within the step (12e); false: nothing.
  bool leave(int i, const Window& window, const VectorXd& p, Touch& t) const;
  bool hybrid() const { return law_.friction == Friction::hybrid; }
  /// Whether x_c is on the obstacle's surface, not on the sphere's.
  bool at_surface() const { return hybrid() && points_->size() > 1; }
  bool rolls() const { return law_.k_roll >= 0; }
  bool rolls(const Touch& t) const;  // and this one does
  void gather(int begin, int count, const State& s, const VectorXd& p,
              const Eigen::AlignedBox3d* box, Near& near) const;
  void to_frame_of_sdf(const State& s, Matrix3X& x) const;
  double surface_offset(const VectorXd& p) const {
    return surface_.first < 0 ? 0 : p[surface_.first];
  }
  double surface_scale(const VectorXd& p) const {
    return surface_.first < 0 ? 1 : p[surface_.first + 1];
  }
  const double* surface_sizes(const VectorXd& p) const {
    return surface_.first < 0 ? sdf_->own() : p.data() + surface_.first + 2;
  }
  /// How g and n (world) at point i move with each parameter of the surface.
  std::vector<SizeSlope> surface_slopes(int i, const State& s, const VectorXd& p) const;
  /// The obstacle's samples at x, in its frame.
  void sample(const Matrix3X& x, const VectorXd& p, std::vector<SdfSample>& out) const;
  Vector3d in_frame_of_sdf(const State& s, const Vector3d& x) const;
  template <class F>
  void for_each_hard(const State& s, F&& f) const;
  /// forces() and modes() where contacts are hard: nothing but those that press is written.
  void hard_forces(const State& s, Matrix3X& force, Matrix3X& point) const;
  void hard_modes(const State& s, std::uint16_t* out) const;
  template <class F>
  void for_each_touch(const Window& window, const VectorXd& p, F&& f) const;
  /// And those that have ended within the step.
  template <class F>
  void for_each_force(const Window& window, const VectorXd& p, F&& f) const;

  void add_residual(const Touch& t, VectorXd& r) const;
  using Blocks = std::vector<std::pair<int, int>>;  // (point, carrier), (carrier, point) per point
  void add_jacobian(const Touch& t, const VectorXd& p, const Blocks& blocks, BlockMatrix& K,
                    BlockMatrix& B) const;
  /// By poses at the end of the step where it is open.
  void add_gap_jacobian(const Touch& t, const VectorXd& p, const Blocks& blocks,
                        BlockMatrix& K) const;
  /// M -= J^T (df; torque) by, `by` a scalar's derivatives by the point's node and the carrier.
  void add_product(const Touch& t, const Blocks& blocks, const Vector3d& df, const Vector3d& torque,
                   const Vector6& by_a, const Vector6& by_b, BlockMatrix& M) const;
  static Slope slope(const Touch& t, const RollingSlope* rolling, Slope* torque);
  struct Motion;  // how d f_n and d v_t follow the relative motion
  static Motion motion(const Touch& t);
  /// by_pull d k_t |v_t| + by_limit d limit, in the first row.
  static Slope pull_slope(const Touch& t, double by_pull, double by_limit);
  /// Derivatives of f or tau (`value`) by the poses and velocities of both ends.
  void move(const Touch& t, Slope d, const Vector3d& value, Matrix36 End::* by_x,
            Matrix36 End::* by_v, End& a, End& b) const;
  Matrix3d lag(const Touch& t) const;
  void add_blocks(const Touch& t, const End& row, const End& column, int block, BlockMatrix& K,
                  BlockMatrix& B) const;
  void add_columns(const Touch& t, const Window& window, const VectorXd& p,
                   ParameterColumns& out) const;
  /// df, dtau and dx_c by one parameter.
  void add_column(const Touch& t, const Vector3d& df, const Vector3d& dtau, const Vector3d& dx_c,
                  int column, ParameterColumns& out) const;
  struct ShapeSlope {  // of rho, of the radius, of the gap at the other end
    Vector3d drho;
    double dradius, dbefore;
    SizeSlope surface = {};  // of g and n where x stays
  };
  struct ShapeMotion {
    double dfn, dslope;  // dslope: without what follows from v_t
    Vector3d dn, dm, dvt, dx_c;
  };
  ShapeMotion shape_motion(const Touch& t, const ShapeSlope& by) const;
  void add_shape_column(const Touch& t, const RollingSlope& rolling, const ShapeSlope& by,
                        int column, ParameterColumns& out) const;
  /// Whether columns of the obstacle's size are asked for.
  bool sizes_wanted(const ParameterColumns& out) const;
  /// By parameters of the law, and by shape, at the touch when the step began.
  void add_past_columns(const Touch& t, const State& past, const VectorXd& p,
                        ParameterColumns& out) const;

  const PointSet* points_;
  SdfPtr sdf_;
  Carrier carrier_;
  VectorXd weights_, mass_;
  FrictionEnd end_;
  ContactParameters law_;
  SurfaceParameters surface_;
  bool only_point_nodes_;
  Blocks blocks_, past_blocks_;
};

/// Points against an obstacle carried by a body ("" = the world).
struct ContactSet {
  std::string points;
  SdfPtr sdf;
  std::string carrier;
  VectorXd weights;  // sum 1; empty = equal
};

/// k_roll = 0 with rolling friction: k_t radius^2. Refuses a law that cannot be. The obstacle's
/// size has the parameters NAME.surface_offset, NAME.surface_scale and NAME.surface.SIZE of its
/// sdf.
void add_contact(Scene& scene, const std::string& name, const ContactSet& set,
                 const ContactLaw& law);

/// Two bodies, each with points against the other's sdf: each direction carries half of k_n, k_t
/// under one set of parameters. The elements are `name.a` (a's points) and `name.b`.
void add_contact_pair(Scene& scene, const std::string& name, const ContactSet& a,
                      const ContactSet& b, const ContactLaw& law);

}  // namespace diffsim
