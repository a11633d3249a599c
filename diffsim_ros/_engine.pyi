"""
Differentiable simulation engine of diffsim_ros (compiled; knows no ROS).
"""
from __future__ import annotations
import collections.abc
import diffsim_ros.errors
import numpy
import numpy.typing
import typing
from . import _engine_spatial as spatial
__all__: list[str] = ['ArticulatedModel', 'Boolean', 'Box', 'CancelToken', 'Capsule', 'Chain', 'Complement', 'Cone', 'ContactProblem', 'Cylinder', 'Difference', 'Ellipsoid', 'HalfSpaces', 'HeightField', 'Intersection', 'InvalidInput', 'LeggedModel', 'LevelSet', 'LinearSolver', 'MotionLimits', 'MotionProblem', 'MotionSolverOptions', 'MotionTask', 'Offset', 'Options', 'Output', 'ParameterInfo', 'Plane', 'PoseTask', 'Rollout', 'Scene', 'Sdf', 'Segment', 'Snapshot', 'Sphere', 'Torus', 'Transformed', 'TreeJoint', 'TreeLink', 'TriangleMesh', 'Union', 'exp_rotation', 'has_openvdb', 'instruction_set', 'left_jacobian', 'left_jacobian_derivative', 'left_jacobian_inverse', 'linear_solve', 'log_rotation', 'nearest_on_surface', 'rollout', 'rollout_batch', 'spatial', 'vdb_format']
class InvalidInput(diffsim_ros.errors.EngineInputError):
    pass
class Sdf:
    """
    Signed distance function, world frame.
    """
    def bounds(self, level: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]]:
        """
        Corners (low, high) of a box that holds all points with g < level [m]; infinite where none is known.
        """
    def evaluate(self, x: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"]) -> tuple:
        """
        x (n, 3) [m] -> gap g (n,) [m], < 0 inside; normal (n, 3); curvature (n, 3, 3) [1/m]; region (n,), the smooth piece a point lies on.
        """
    def outline(self, low: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] | None = None, high: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] | None = None, cells: typing.SupportsInt | typing.SupportsIndex = 48) -> tuple:
        """
        The surface as (vertices (n, 3) [m], triangles (m, 3)), for pictures; cells along the longest side of the box, which a surface without bounds needs.
        """
    def slopes(self, x: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"]) -> tuple:
        """
        x (n, 3) [m] -> derivatives by each of `sizes`, of gaps (n, sizes) and of normals (n, sizes, 3) [1/m].
        """
    @property
    def regions(self) -> int:
        ...
    @property
    def sizes(self) -> dict:
        """
        Its sizes [m] by name; parameters of a contact.
        """
    @property
    def thickness(self) -> float:
        """
        Smallest thickness [m]; infinite for a half-space.
        """
class Plane(Sdf):
    """
    g = n.x - offset [m].
    """
    def __init__(self, normal: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], offset: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        ...
class Sphere(Sdf):
    """
    Sphere about its origin.
    """
    def __init__(self, radius: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Box(Sdf):
    """
    Box about its origin, exact distance.
    """
    def __init__(self, half_extents: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> None:
        ...
class Capsule(Sdf):
    """
    Within radius of the segment from -half_length to half_length along z.
    """
    def __init__(self, half_length: typing.SupportsFloat | typing.SupportsIndex, radius: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Cylinder(Sdf):
    """
    Solid cylinder about z with sharp rims, exact distance.
    """
    def __init__(self, half_height: typing.SupportsFloat | typing.SupportsIndex, radius: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Torus(Sdf):
    """
    Ring about z, exact distance.
    """
    def __init__(self, ring_radius: typing.SupportsFloat | typing.SupportsIndex, tube_radius: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Cone(Sdf):
    """
    Solid cone about z, whole or cut off, exact distance; one radius may be 0.
    """
    def __init__(self, half_height: typing.SupportsFloat | typing.SupportsIndex, bottom: typing.SupportsFloat | typing.SupportsIndex, top: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        ...
class Ellipsoid(Sdf):
    """
    Ellipsoid about its origin, exact distance.
    """
    def __init__(self, half_axes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> None:
        ...
class HeightField(Sdf):
    """
    Ground below heights (nx, ny) [m] on a grid from (-half_x, -half_y) to (half_x, half_y), smooth between them and level beyond.
    """
    def __init__(self, heights: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], half_x: typing.SupportsFloat | typing.SupportsIndex, half_y: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class HalfSpaces(Sdf):
    """
    Convex solid normals.x <= offsets, exact distance; normals (m, 3).
    """
    def __init__(self, normals: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], offsets: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> None:
        ...
class Transformed(Sdf):
    """
    An sdf placed at position [m] with orientation (x, y, z, w).
    """
    def __init__(self, sdf: Sdf, position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"] = ...) -> None:
        ...
class Offset(Sdf):
    """
    An sdf grown by distance [m].
    """
    def __init__(self, sdf: Sdf, distance: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class Boolean(Sdf):
    """
    Made by Union, Intersection, Difference, Complement.
    """
class TriangleMesh:
    """
    A closed, oriented surface; exact signed distances.
    """
    def __init__(self, vertices: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], triangles: typing.Annotated[numpy.typing.ArrayLike, numpy.int32, "[m, 3]"]) -> None:
        """
        vertices (n, 3) [m]; triangles (m, 3), counter-clockwise seen from outside.
        """
    def distance(self, x: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        Signed distance of points (n, 3) [m] -> (n,) [m], < 0 inside.
        """
    @property
    def high(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        """
        Greatest corner [m].
        """
    @property
    def low(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        """
        Least corner of the bounding box [m].
        """
    @property
    def thickness(self) -> float:
        """
        What a twentieth of the surface is thinner than [m].
        """
    @property
    def volume(self) -> float:
        """
        [m^3]
        """
class LevelSet(Sdf):
    """
    Sampled signed distance of a mesh; value, normal and curvature of a spline.
    """
    @staticmethod
    def load(path: str) -> LevelSet:
        """
        A level set that `save` wrote.
        """
    def __init__(self, mesh: TriangleMesh, voxel: typing.SupportsFloat | typing.SupportsIndex, band: typing.SupportsInt | typing.SupportsIndex = 6, smoothing: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        voxel [m]; band: half-width of the fine grid [voxels]; smoothing: standard deviation of a Gaussian [m], at most 1.5 voxels.
        """
    def save(self, path: str) -> None:
        """
        Write a .vdb file, at once.
        """
    @property
    def band(self) -> int:
        ...
    @property
    def high(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def low(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def memory(self) -> int:
        """
        Bytes held for evaluation.
        """
    @property
    def smoothing(self) -> float:
        ...
    @property
    def voxel(self) -> float:
        """
        [m]
        """
class CancelToken:
    """
    Stops rollouts from another thread.
    """
    def __init__(self) -> None:
        ...
    def cancel(self) -> None:
        ...
    @property
    def cancelled(self) -> bool:
        ...
    @property
    def done(self) -> int:
        """
        Rollouts finished so far.
        """
    @property
    def steps(self) -> int:
        """
        Steps taken so far.
        """
class Options:
    """
    How to step: scheme, Newton's tolerance, what to record.
    """
    profile: bool
    record_modes: bool
    stagnate: bool
    def __copy__(self) -> Options:
        ...
    def __init__(self, *, step: typing.SupportsFloat | typing.SupportsIndex = 0.0020833333333333333, order: typing.SupportsInt | typing.SupportsIndex = 2, record_every: typing.SupportsInt | typing.SupportsIndex = 1, tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-08, max_iterations: typing.SupportsInt | typing.SupportsIndex = 50, max_halvings: typing.SupportsInt | typing.SupportsIndex = 4, stagnate: bool = False, record_modes: bool = False, gradient_tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-12, profile: bool = False, spectral_radius: typing.SupportsFloat | typing.SupportsIndex | None = None, stepper: str = 'implicit', friction_cone: str = 'cone', checkpoint_every: typing.SupportsInt | typing.SupportsIndex = 1, record_end: bool = False) -> None:
        ...
    @property
    def checkpoint_every(self) -> int:
        """
        With the velocity stepper, mode checkpoint keeps every k-th state and steps again from there: less memory for more time [Qa App. B].
        """
    @checkpoint_every.setter
    def checkpoint_every(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def friction_cone(self) -> str:
        """
        Of hard contacts: cone, or pyramid along two tangents.
        """
    @friction_cone.setter
    def friction_cone(self, arg1: str) -> None:
        ...
    @property
    def gradient_tolerance(self) -> float:
        ...
    @gradient_tolerance.setter
    def gradient_tolerance(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def max_halvings(self) -> int:
        ...
    @max_halvings.setter
    def max_halvings(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def max_iterations(self) -> int:
        ...
    @max_iterations.setter
    def max_iterations(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def order(self) -> int:
        ...
    @order.setter
    def order(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def record_end(self) -> bool:
        """
        Whether the last state is recorded where steps are no multiple of record_every.
        """
    @record_end.setter
    def record_end(self, arg0: bool) -> None:
        ...
    @property
    def record_every(self) -> int:
        ...
    @record_every.setter
    def record_every(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def spectral_radius(self) -> float | None:
        """
        Of generalized-alpha in place of BDF2, at infinite frequency, in [0, 1].
        """
    @spectral_radius.setter
    def spectral_radius(self, arg0: typing.SupportsFloat | typing.SupportsIndex | None) -> None:
        ...
    @property
    def step(self) -> float:
        ...
    @step.setter
    def step(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def stepper(self) -> str:
        """
        implicit: all forces at the end of a step; velocity: semi-implicit Euler with hard contacts (docs/explanation/velocity_stepper.md).
        """
    @stepper.setter
    def stepper(self, arg1: str) -> None:
        ...
    @property
    def tolerance(self) -> float:
        ...
    @tolerance.setter
    def tolerance(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
class ParameterInfo:
    """
    One named entry of the parameter vector p.
    """
    def __repr__(self) -> str:
        ...
    @property
    def begin(self) -> float:
        """
        Acts in steps that end at or after this [s].
        """
    @property
    def end(self) -> float:
        """
        Acts in steps that end at or before this [s].
        """
    @property
    def initial(self) -> bool:
        """
        Acts on the start state only.
        """
    @property
    def lower(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def unit(self) -> str:
        ...
    @property
    def upper(self) -> float:
        ...
class Scene:
    """
    Bodies, points, springs, contacts; SI units, world frame.
    """
    def __init__(self) -> None:
        ...
    def add_armature(self, name: str, *, joint: str, inertia: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Inertia of the coordinate alone (a geared rotor) [kg m^2, of sliders kg]; parameter NAME.inertia.
        """
    def add_cable(self, name: str, *, points: typing.Any, index: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], stiffness: typing.SupportsFloat | typing.SupportsIndex, damping: typing.SupportsFloat | typing.SupportsIndex = 0.0, rest_length: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Tension only, in one length along points `index` of a set (or one set per point) [N/m, s/m, m].
        """
    def add_contact(self, name: str, *, points: str, sdf: Sdf, carrier: str = '', weights: typing.Any = None, **kwargs) -> None:
        """
        Points against an sdf, given in the frame of the rigid body or kinematic body `carrier` ("" = the world); k_n and k_t are totals of the set, shared by weights (sum 1). NAME.surface_scale and NAME.surface_offset scale the sdf about the origin of its frame, then grow it; NAME.surface.SIZE are its `sizes`.
        The law's parameters, 0 where nothing is said: k_n [N/m] (required), k_t [N s/m] (required), c_n [s/m], k_d [N s/m], d_0 [m], c_f [1] (required), c_s [1], f_0 [N], c_roll [m], c_spin [m], k_roll [N m s], restitution [1], friction ('linear', 'tanh', 'hybrid'), damping ('continuous', 'ramped', 'thesis') and onset ('integrated', 'sampled').
        """
    def add_contact_pair(self, name: str, *, points_a: str, sdf_a: Sdf, body_a: str, points_b: str, sdf_b: Sdf, body_b: str, weights_a: typing.Any = None, weights_b: typing.Any = None, **kwargs) -> None:
        """
        Two rigid bodies, each with points on it against the other's sdf (in that body's frame): each direction carries half of k_n and k_t. Contacts `name.a` (of points_a) and `name.b`.
        The law's parameters, 0 where nothing is said: k_n [N/m] (required), k_t [N s/m] (required), c_n [s/m], k_d [N s/m], d_0 [m], c_f [1] (required), c_s [1], f_0 [N], c_roll [m], c_spin [m], k_roll [N m s], restitution [1], friction ('linear', 'tanh', 'hybrid'), damping ('continuous', 'ramped', 'thesis') and onset ('integrated', 'sampled').
        """
    def add_drag(self, name: str, *, points: str, c_linear: typing.SupportsFloat | typing.SupportsIndex = 0.0, c_quadratic: typing.SupportsFloat | typing.SupportsIndex = 0.0, index: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], shares: typing.Any = None, wind: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ...) -> None:
        """
        -share (c_linear + c_quadratic |u|) u at each point, u its velocity less the wind; shares: 1/n each, or given (areas).
        """
    def add_joint(self, name: str, *, kind: str, body_a: str = '', body_b: str, position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], axis: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., second_axis: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] | None = None, stiffness: typing.SupportsFloat | typing.SupportsIndex | None = None, damping: typing.SupportsFloat | typing.SupportsIndex | None = None, rotational_stiffness: typing.SupportsFloat | typing.SupportsIndex | None = None, rotational_damping: typing.SupportsFloat | typing.SupportsIndex | None = None, friction_damping: typing.SupportsFloat | typing.SupportsIndex = 0.0, coordinate: typing.SupportsFloat | typing.SupportsIndex = 0.0, reduced: bool = False, constrained: bool = False, mimic: str = '', ratio: typing.SupportsFloat | typing.SupportsIndex = 1.0, shift: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        ball, hinge, slider, weld, planar or universal by penalty, between two bodies or one and the world ""; position and axes in the world, at the scene's start pose. Defaults of stiffness and damping follow from the bodies' masses (engine.md). coordinate: the angle or displacement [rad or m] that the start pose has. reduced: body_b is carried by the joint's coordinates, exactly; such joints form trees. constrained: held exactly by constraint rows with multipliers, as a joint that closes a loop. mimic: another reduced hinge or slider that this one follows, q = ratio q_mimic + shift.
        """
    def add_joint_friction(self, name: str, *, joint: str, coulomb: typing.SupportsFloat | typing.SupportsIndex, slip_rate: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        -coulomb tanh(rate / slip_rate) on the coordinate [N m, rad/s; of sliders N, m/s].
        """
    def add_joint_limit(self, name: str, *, joint: str, lower: typing.SupportsFloat | typing.SupportsIndex | None = None, upper: typing.SupportsFloat | typing.SupportsIndex | None = None, stiffness: typing.SupportsFloat | typing.SupportsIndex, damping: typing.SupportsFloat | typing.SupportsIndex = 0.0, damping_depth: typing.SupportsFloat | typing.SupportsIndex | None = None) -> None:
        """
        One-sided penalty beyond lower or upper [rad or m]; damping in s/rad or s/m, from damping_depth [rad or m] on that of a linear damper.
        """
    def add_kinematic_body(self, name: str, *, interval: typing.SupportsFloat | typing.SupportsIndex, position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], rotation: typing.Any = None, radius: typing.SupportsFloat | typing.SupportsIndex = 1.0) -> None:
        """
        A frame driven through keys `interval` seconds apart: position (keys, 3) [m] and rotation vectors (keys, 3) [rad], world, linear in between; every key is a parameter.
        """
    def add_mass_points(self, name: str, *, vertices: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], mass: typing.SupportsFloat | typing.SupportsIndex, shares: typing.Any = None, patches: collections.abc.Sequence[tuple[typing.SupportsFloat | typing.SupportsIndex, typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]]] = [], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"] = ..., velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., angular_velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., glued: collections.abc.Sequence[tuple[str, collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]] = []) -> None:
        """
        Mass points for cloth and strings: vertices (n, 3) [m], their mass together [kg], `shares` (n,) of it (default: alike). patches: (factor, parts of the shares (n,)) of what weighs `factor` times that, parameters NAME.patches[k].factor. They are the points `name`; start and glued as for add_solid.
        """
    def add_motor(self, name: str, *, joint: str, kind: str = 'position', keys: typing.Any, interval: typing.SupportsFloat | typing.SupportsIndex = 0.0, stiffness: typing.SupportsFloat | typing.SupportsIndex = 0.0, damping: typing.SupportsFloat | typing.SupportsIndex = 0.0, effort_lower: typing.SupportsFloat | typing.SupportsIndex | None = None, effort_upper: typing.SupportsFloat | typing.SupportsIndex | None = None) -> None:
        """
        On a joint's angle or displacement: 'position' follows keys with stiffness and damping, 'torque' ('force' on sliders) applies them; keys are a number, or (n,) `interval` seconds apart, linear in between; parameters NAME.target[k], .torque[k] or .force[k]. effort_lower, effort_upper [N m or N]: the torque or force is cut off at them.
        """
    def add_particle(self, name: str, *, mass: typing.SupportsFloat | typing.SupportsIndex, position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ...) -> None:
        ...
    def add_payload(self, name: str, *, body: str, mass: typing.SupportsFloat | typing.SupportsIndex, first_moment: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], inertia: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> None:
        """
        Mass that a rigid body carries besides its own: first moment (mass times centre) [kg m] and inertia xx yy zz xy xz yz about the body's own centre of mass [kg m^2], body frame. Parameters NAME.mass, .moment.x, .inertia.xx ...
        """
    def add_point_force(self, name: str, *, points: str, force: typing.Any, index: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], interval: typing.SupportsFloat | typing.SupportsIndex = 0.0, frame: str = 'world', shares: typing.Any = None) -> None:
        """
        force (3,) [N] or keys (n, 3) `interval` seconds apart, at each of the points, times its share (index,) where there are shares; 'body': turns with the body. Parameters NAME.force[k].x ...
        """
    def add_points(self, name: str, *, bodies: collections.abc.Sequence[str], local: typing.Any, inset: typing.Any = None, radius: typing.SupportsFloat | typing.SupportsIndex = 0.0, scale: typing.SupportsFloat | typing.SupportsIndex = 1.0) -> None:
        """
        Points at scale * local + radius * inset (n, 3) [m] of the body named per point, "" = the world; radius [m] is also that of the contact spheres around them.
        """
    def add_rigid_body(self, name: str, *, mass: typing.SupportsFloat | typing.SupportsIndex, inertia: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"] = ..., velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., angular_velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., radius: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        inertia: xx yy zz xy xz yz [kg m^2], body frame about the centre of mass; orientation (x, y, z, w); velocities in the world frame; radius [m] compares torques with forces.
        """
    def add_solid(self, name: str, *, vertices: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], tets: typing.Annotated[numpy.typing.ArrayLike, numpy.int32, "[m, n]"], density: typing.SupportsFloat | typing.SupportsIndex, young: typing.SupportsFloat | typing.SupportsIndex, poisson: typing.SupportsFloat | typing.SupportsIndex, viscosity: typing.SupportsFloat | typing.SupportsIndex = 0.0, model: str = 'neo_hookean', viscosity_model: str = 'invariant', element: str = 'p1', mass: str = 'lumped', position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"] = ..., velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., angular_velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., young_field: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], viscosity_field: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], density_field: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], fields: collections.abc.Sequence[str] = [], glued: collections.abc.Sequence[tuple[str, collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]] = []) -> None:
        """
        A body of tetrahedra: vertices (n, 3) [m] in the body frame, tets (m, 4), or (m, 10) in VTK's order for elements p2 and p2_p0; p2_p0 hardly locks, p1 is the fastest; density [kg/m^3], young [Pa], poisson, viscosity [Pa s]. `*_field` (m,) multiply a parameter per element; `fields` names those of young, poisson, viscosity that get a parameter per element. The start is a rigid motion of the vertices' origin; the vertices are the points `name`. glued: [(body, [vertex ...]) ...] move with a rigid body, a kinematic body or the world ("").
        """
    def add_springs(self, name: str, *, points_a: str, index_a: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], points_b: str, index_b: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], stiffness: typing.SupportsFloat | typing.SupportsIndex, damping: typing.SupportsFloat | typing.SupportsIndex = 0.0, rest_length: typing.Any = 0.0, stiffness_factors: typing.Any = None, tension_only: bool = False) -> None:
        """
        Springs between points [N/m, N s/m, m]; rest_length 0 is linear in all directions. rest_length (n,): natural lengths, with the parameter NAME.rest_scale in place of NAME.rest_length; stiffness_factors (n,) scale stiffness and linear damping per spring; tension_only: strings, with damping in s/m.
        """
    def add_subset(self, name: str, *, points: str, index: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], radius: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        Points `index` of another set again, as contact spheres of their own radius [m]. A deformable body's nodes are the set of its own name.
        """
    def add_torque(self, name: str, *, body: str, torque: typing.Any, interval: typing.SupportsFloat | typing.SupportsIndex = 0.0, frame: str = 'world') -> None:
        """
        torque (3,) [N m] or keys (n, 3) on a rigid body. Parameters NAME.torque[k].x ...
        """
    def add_torsion(self, name: str, *, body_a: str = '', body_b: str, stiffness: typing.SupportsFloat | typing.SupportsIndex, damping: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        Spring and damper between orientations, at rest as the scene starts: energy k (1 - cos angle) [N m/rad, N m s/rad]; body_a "" is the world.
        """
    def check(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> None:
        """
        Raises InvalidInput for an unusable p.
        """
    def dof_name(self, dof: typing.SupportsInt | typing.SupportsIndex) -> str:
        """
        Such as cube.position.z.
        """
    def dof_offset(self, body: str) -> int:
        """
        First degree of freedom of a body.
        """
    def energies(self, rollout: typing.Any, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] | None = None) -> dict:
        """
        Energy stored at every recorded frame by kind, and the total, (frames,) [J]: kinetic (soft bodies with lumped masses), gravity (zero at the world's origin), springs (of links, cloth, strings, cables and joints), elastic (of solids), contact (of the normal penalty); p: default the scene's values.
        """
    def evaluate_at_rest(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 4]"], derivatives: bool = True, coordinates: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] = ...) -> dict:
        """
        Of all elements together at a placement (rest_start) without velocities, at time 0: r (ndof,) = -forces [N, N m], reference [N] = sum of the elements' norms, modes (codes of contact points and the like: equal on one smooth piece); with derivatives K = dr/dx, M (mass) and dr_dp as (row, column, value), entries of one place add up. Rows of kinematic bodies hold the forces on them. Rows of multipliers are -g, what constrained joints are open [m, rad]; their columns in K the forces. With joints in reduced coordinates r and K are by these, M and dr_dp by all nodes: follow (ndof, ndof) is how nodes move with the degrees of freedom, places_r and places_x (ndof, parameters) what r and poses depend on joints' places besides. Refuses hybrid friction.
        """
    def evaluate_element(self, name: str, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], instants: collections.abc.Sequence[collections.abc.Sequence[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]]], step: typing.SupportsFloat | typing.SupportsIndex, t: typing.SupportsFloat | typing.SupportsIndex = 0.0, held: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], compression: typing.SupportsFloat | typing.SupportsIndex = 1.0, spectral_radius: typing.SupportsFloat | typing.SupportsIndex | None = None, multipliers: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] = ...) -> dict:
        """
        r, K = dr/dx, B = dr/dv, dr_dp and past (K, B) of one element at given instants [(c, theta, v, omega) each (nodes, 3)], newest first; `held` per point of hybrid friction, `multipliers` of constrained joints [N, N m] now: for derivative tests.
        """
    def index(self, name: str) -> int:
        """
        Index in p; KeyError names near ones.
        """
    def joint_motion(self, name: str, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], rollout: typing.Any) -> dict:
        """
        Per frame: coordinate [rad or m] (an angle counts its turns, if it makes less than half of one between frames) and rate, opening [m], tilt [rad], energy stored [J], force [N] and torque [N m] on body_b; where there is a coordinate its derivative by_pose (frames, 12) by (c, psi) of body_a, body_b (the rate's by velocities is the same) and rate_by_pose.
        """
    def masses(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        (nodes,) [kg]; zero for kinematic bodies.
        """
    def modes_of(self, name: str) -> tuple[int, int]:
        """
        (first column, columns) of Rollout.modes that are this element's.
        """
    def momentum_derivatives(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 4]"], rate: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], coordinates: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] = ...) -> tuple:
        """
        d(M rate)/dx and d(M rate)/dp for a fixed rate (ndof,), as (row, column, value).
        """
    def nodes_of(self, body: str) -> tuple[int, int]:
        """
        (first, count): a body's rows in a rollout's position, velocity ...
        """
    def outputs_at(self, snapshot: Snapshot, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], outputs: collections.abc.Sequence[str], options: Options | None = None) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        Their numbers there, one output after the other.
        """
    def outputs_at_rest(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], names: collections.abc.Sequence[str], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 4]"], coordinates: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] = ...) -> dict:
        """
        Outputs at a placement: rows (name -> first row, rows, items, width), y (rows,), dy_dx (rows, ndof), by multipliers in their columns, and dy_dp (rows, parameters) as (row, column, value).
        """
    def pull_at_rest(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 4]"], rate: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], x: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], v: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], coordinates: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] = ...) -> tuple:
        """
        Cotangents (ndof,) of poses and velocities at a rate, brought to the degrees of freedom (ndof,) and joints' places (parameters,).
        """
    def pull_to_state_dofs(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], snapshot: Snapshot, cotangents: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        Cotangents (4, ndof) of a snapshot, as Segment.gradient returns them, by state_dofs alone: those of bodies that joints carry are brought to coordinates and rates.
        """
    def rest_moved(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], orientation: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 4]"], coordinates: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], step: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> tuple:
        """
        The placement that a step (ndof,) leads to.
        """
    def rest_start(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> tuple:
        """
        Placement that motions start from: position (nodes, 3), orientation (nodes, 4) of all nodes, those of joint coordinates last, and coordinates (n,) of joints, multipliers (0 here) among them.
        """
    def set_gravity(self, g: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> None:
        """
        Gravity [m/s^2], world.
        """
    def set_start(self, name: str, *, position: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"]) -> None:
        """
        Starts the nodes of a solid, cloth or string at position [m], velocity [m/s] (nodes, 3), world frame; the rest shape stays as it is, and the pose and velocities of the body move this start.
        """
    def set_value(self, name: str, value: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Change an entry of `values`; KeyError, or InvalidInput outside its bounds.
        """
    def snapshot(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"] | None = None, joints: collections.abc.Mapping[str, typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[2, 1]"]] = {}) -> Snapshot:
        """
        Where the scene starts, with chosen coordinates of joints in reduced coordinates: name -> (coordinate [rad or m], rate).
        """
    def start_moved(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> dict:
        """
        Joint in reduced coordinates -> (distance [m], angle [rad], velocity [m/s], angular velocity [rad/s]) by which the body it carries starts elsewhere than by itself.
        """
    def start_pose(self, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], active: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> tuple:
        """
        (position (nodes, 3), orientation (nodes, 4), d(c, psi)/dp (ndof, active)) of the start.
        """
    def time_element(self, name: str, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], calls: typing.SupportsInt | typing.SupportsIndex = 100) -> tuple:
        """
        CPU seconds per evaluation of one element at the start: (residual, residual with K and B).
        """
    @property
    def body_names(self) -> list[str]:
        ...
    @property
    def body_ndof(self) -> int:
        """
        Degrees of freedom of bodies; those of joint coordinates follow.
        """
    @property
    def contact_names(self) -> list[str]:
        ...
    @property
    def dependent_dofs(self) -> list[bool]:
        """
        (ndof,): whether it follows from joints in reduced coordinates.
        """
    @property
    def driven_dofs(self) -> list[bool]:
        """
        (ndof,): whether a kinematic body's motion prescribes it.
        """
    @property
    def element_names(self) -> list[str]:
        ...
    @property
    def motion_outputs(self) -> list[Output]:
        """
        Poses, velocities and joint coordinates, which it can be asked for as outputs too.
        """
    @property
    def multiplier_dofs(self) -> list[bool]:
        """
        (ndof,): whether it is a multiplier of a constrained joint.
        """
    @property
    def ndof(self) -> int:
        ...
    @property
    def node_dofs(self) -> list[int]:
        """
        (nodes + 1,): first degree of freedom of every node, then ndof.
        """
    @property
    def outputs(self) -> list[Output]:
        """
        What a rollout of this scene can be asked for.
        """
    @property
    def parameters(self) -> list[ParameterInfo]:
        ...
    @property
    def residual_scale(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        (ndof,): 1, and for torques 1/(body radius) [1/m].
        """
    @property
    def state_dofs(self) -> list[int]:
        """
        Degrees of freedom that say where it stands: of bodies that are neither driven nor carried by a joint in reduced coordinates, and the coordinates of such joints.
        """
    @property
    def turn_dofs(self) -> list[int]:
        """
        First of the three degrees of freedom of every rotation.
        """
    @property
    def values(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        Default parameter vector (np,), a copy.
        """
class Output:
    """
    A quantity that a rollout can be asked for.
    """
    def __repr__(self) -> str:
        ...
    @property
    def items(self) -> int:
        """
        Number of tetrahedra, springs ... that have one each; 0: there is one.
        """
    @property
    def name(self) -> str:
        ...
    @property
    def parts(self) -> list[str]:
        """
        Names of its components; none: a number.
        """
    @property
    def unit(self) -> str:
        ...
class Snapshot:
    """
    Where a motion stands: what a Segment goes on from.
    """
    def __getstate__(self) -> tuple:
        ...
    def __setstate__(self, arg0: tuple) -> None:
        ...
    @property
    def t(self) -> float:
        """
        [s]
        """
class Segment:
    """
    A few steps of many motions, each from a snapshot.
    """
    def __init__(self, scene: typing.Any, snapshots: collections.abc.Sequence[Snapshot], P: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], steps: typing.SupportsInt | typing.SupportsIndex, options: Options | None = None, active: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], mode: str = 'none', threads: typing.SupportsInt | typing.SupportsIndex = 0, cancel: CancelToken = None, outputs: collections.abc.Sequence[str] = []) -> None:
        """
        P: parameters (motions, np). outputs: names of Scene.outputs or motion_outputs. A motion that fails ends where it began.
        """
    def failure(self, motion: typing.SupportsInt | typing.SupportsIndex) -> str:
        """
        Why it stopped early, '' where it did not.
        """
    def gradient(self, outputs: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], cotangents: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 0, cancel: CancelToken = None) -> tuple:
        """
        (dO/dP (motions, active), cotangents of `snapshots`) from dO/d(outputs) (motions, numbers) and cotangents of `ends` (motions, 4, ndof): of pose and velocity, then of those a step before, by the adjoint [G 4.24-4.26].
        """
    @property
    def ends(self) -> list[Snapshot]:
        """
        Snapshots after the last step.
        """
    @property
    def ok(self) -> numpy.typing.NDArray[numpy.bool]:
        """
        (motions,)
        """
    @property
    def outputs(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        (motions, numbers) at the end, one output after the other.
        """
class Rollout:
    """
    A motion: frames, statuses and derivatives.
    """
    def gradient(self, gx: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], gv: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], outputs: dict = {}, cancel: CancelToken = None) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        dO/dp (active,) by the adjoint [G 4.24-4.26] from dO/dx and dO/dv (F, ndof), and dO/d(output) by name, of each output's shape.
        """
    @property
    def angular_velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, nodes, 3) [rad/s], world
        """
    @property
    def contact_force(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, points, 3) [N], on the body, world
        """
    @property
    def contact_point(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, points, 3) [m], where the force acts, world
        """
    @property
    def dv(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, ndof, active), or by directions: d(v, omega)/dp, world
        """
    @property
    def dx(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, ndof, active), or by directions: d(c, psi)/dp, world
        """
    @property
    def halvings(self) -> int:
        ...
    @property
    def iterations(self) -> numpy.ndarray:
        ...
    @property
    def message(self) -> str:
        ...
    @property
    def mode_hash(self) -> int:
        ...
    @property
    def modes(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        (steps, points): 0 open, 1 stick, 2 slip, 3 held (hybrid), +4 damping clamped
        """
    @property
    def ok(self) -> bool:
        ...
    @property
    def orientation(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, nodes, 4), (x, y, z, w)
        """
    @property
    def outputs(self) -> dict:
        """
        Name -> values of the outputs asked for: (F,), (F, parts), (F, items) or (F, items, parts), as Scene.outputs says.
        """
    @property
    def outputs_dp(self) -> dict:
        """
        Name -> their derivatives by the active parameters, or directions: the same shapes with one more axis.
        """
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, nodes, 3) [m]; Scene.nodes_of(body) gives its rows
        """
    @property
    def status(self) -> str:
        ...
    @property
    def time(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F,) [s]
        """
    @property
    def timing(self) -> dict:
        """
        With Options(profile=True): part -> (wall seconds, how often).
        """
    @property
    def velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        (F, nodes, 3) [m/s], world
        """
    @property
    def warnings(self) -> list[str]:
        """
        Points that may have passed through an obstacle, one sentence a contact.
        """
class LinearSolver:
    """
    Solver of systems of node blocks; for tests and benchmarks.
    """
    def __init__(self, sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], pairs: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]], method: str = 'automatic') -> None:
        ...
    def factor(self, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], symmetric: bool = False, repeat: typing.SupportsInt | typing.SupportsIndex = 1, transposed: bool = False, kept: bool = False) -> bool:
        """
        kept: all but diagonal blocks are those of the last matrix.
        """
    def solve(self, rhs: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-08, transposed: bool = False, repeat: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
        ...
    def solve_positive(self, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], rhs: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], symmetric: bool, tolerance: typing.SupportsFloat | typing.SupportsIndex = 0.001) -> dict:
        """
        One column by the Krylov member; not reached where it meets negative curvature.
        """
class PoseTask:
    """
    What of a pose counts: full, axis or free orientation.
    """
    def __init__(self, orientation: str, axis: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], length: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        axis: of the link, turns about it are free; length [m]: error of one radian.
        """
class MotionLimits:
    """
    Of every joint (n,), infinite where there is none.
    """
    def __init__(self, lower: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], upper: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], velocity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], acceleration: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], jerk: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> None:
        ...
class Chain:
    """
    A robot's joints from its base to one link.
    """
    def __init__(self, origins: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], axes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], turns: collections.abc.Sequence[bool], tip: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        """
        origins (n, 4, 4) in the frame before; unit axes (n, 3); turns: angle or shift; tip (1, 4, 4) in the last.
        """
    def follow(self, task: PoseTask, poses: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], begin: typing.SupportsInt | typing.SupportsIndex, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> dict:
        """
        From q (n,) at key `begin` through all keys without jumps: q (keys, n), first, last key reached, error [m] or joint that jumped at the next.
        """
    def poses(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> tuple:
        """
        q (m, n) -> poses (m, 4, 4) and Jacobians (m, 6, n) in the base's frame.
        """
    def reach(self, task: PoseTask, poses: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], iterations: typing.SupportsInt | typing.SupportsIndex = 60) -> tuple:
        """
        Starts q (m, n), one pose or m -> joint values (m, n), errors left (m,) [m].
        """
    def singular_values(self, task: PoseTask, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        q (m, n) -> smallest and largest singular value (m, 2) of the task's Jacobian.
        """
    def smooth(self, task: PoseTask, poses: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], times: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], limits: MotionLimits, at_rest: bool, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], iterations: typing.SupportsInt | typing.SupportsIndex = 12) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        The smoothest path (keys, n) near q that reaches all keys.
        """
    @property
    def length(self) -> float:
        """
        Sum of the distances of its frames [m].
        """
    @property
    def size(self) -> int:
        ...
class TreeJoint:
    """
    Between a link (or the world) and the link it moves.
    """
    def __init__(self, name: str, type: str, parent: typing.SupportsInt | typing.SupportsIndex = -1, R: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"] = ..., r: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., axis: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., armature: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        type: fixed, revolute, prismatic, spherical or translation; parent: index of a link, -1: the world; R, r [m]: x_parent = R x_joint + r; axis: unit, joint frame; armature [kg m^2 or kg] of each coordinate.
        """
    @property
    def R(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
        ...
    @property
    def armature(self) -> float:
        ...
    @property
    def axis(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def parent(self) -> int:
        ...
    @property
    def r(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def type(self) -> str:
        ...
class TreeLink:
    """
    What a joint moves.
    """
    def __init__(self, name: str, mass: typing.SupportsFloat | typing.SupportsIndex = 0.0, com: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ..., inertia: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"] = ...) -> None:
        """
        mass [kg], com [m] in the link's frame, inertia (3, 3) [kg m^2] about com.
        """
    @property
    def com(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def inertia(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
        ...
    @property
    def mass(self) -> float:
        ...
    @property
    def name(self) -> str:
        ...
class ArticulatedModel:
    """
    A tree of links on joints. States are arrays (..., size); threads 0: one a core. Spherical joints: quaternion (x, y, z, w) in q, angular velocity in the child's axes in qd.
    """
    def __init__(self, joints: collections.abc.Sequence[TreeJoint], links: collections.abc.Sequence[TreeLink], gravity: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ...) -> None:
        """
        Link i is moved by joint i, parents first; gravity [m/s^2] in axes of the world. InvalidInput names the joint or link at fault.
        """
    def centroidal(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
        """
        mass [kg], com (..., 3) [m], momentum (..., 6) about com (angular, linear) and its matrix (..., 6, n), axes of the world.
        """
    def contact_dynamics(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], links: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], centres: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], radii: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], axes: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"] | None = None) -> dict:
        """
        Of one state: M (n, n), h (n), and of balls (centres (m, 3) in link frames, radii (m,)) or thin wheels (axes (m, 3), zero: a ball) J (3 m, n), point, velocity and bias (m, 3): M qdd + h = tau + J^T f; of what rolls on level ground J qdd + bias = 0. place_J, place_velocity, place_bias: of the lowest point as a place. Of wheels axis (m, 3) in the world, spin (m,) [rad/s] beside a frame that only steers and leans, and steering (m,) of that.
        """
    def forward_dynamics(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], tau: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        Accelerations qdd (..., n).
        """
    def forward_dynamics_derivatives(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], tau: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
        """
        qdd (..., n); by_q (tangent), by_qd, by_tau (..., n, n).
        """
    def inverse_dynamics(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qdd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        Efforts tau (..., n) [N m, N] of a motion; q (..., position_size), qd, qdd (..., n).
        """
    def inverse_dynamics_derivatives(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qdd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
        """
        tau (..., n); by_q (tangent), by_qd, by_qdd (..., n, n).
        """
    def jacobian(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], link: str, threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        (..., 6, n): angular velocity and velocity of the link's origin, axes of the world.
        """
    def link_poses(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        (..., links, 4, 4) in the world.
        """
    def mass_matrix(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        M (..., n, n).
        """
    def moved(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], d: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        q moved by a tangent vector d (n,).
        """
    def neutral(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        q (position_size,) with all joints at zero, quaternions (0, 0, 0, 1).
        """
    def parameter_derivatives(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qdd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
        """
        Of tau: inertial (..., n, 10 links), places (..., n, 6 links) by turn and shift of each joint's frame in axes of its parent's link, lengths (..., n, links) along r. Of qdd: -M^-1 times as much.
        """
    def position_at(self, joint: str) -> int:
        """
        First entry of a joint in q.
        """
    def regressor(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qdd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], threads: typing.SupportsInt | typing.SupportsIndex = 1) -> numpy.typing.NDArray[numpy.float64]:
        """
        Y (..., n, 10 links), tau = Y phi: m, m com, xx, yy, zz, xy, xz, yz of every link, about its origin, in its axes.
        """
    def seconds(self, what: str, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], third: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> float:
        """
        CPU seconds per call on one thread; third: qdd or tau.
        """
    def velocity_at(self, joint: str) -> int:
        """
        First entry of a joint in qd.
        """
    @property
    def gravity(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        ...
    @property
    def joints(self) -> list[TreeJoint]:
        ...
    @property
    def links(self) -> list[TreeLink]:
        ...
    @property
    def position_size(self) -> int:
        """
        Numbers in q.
        """
    @property
    def velocity_size(self) -> int:
        """
        Numbers n in qd, qdd and tau.
        """
class ContactProblem:
    """
    Hard contacts of one step (docs/explanation/velocity_stepper.md): velocities c = W lambda + c0 in axes (n, t1, t2) per contact, 0 <= lambda_n complementary to c_n - bound >= 0, Coulomb's friction.
    """
    def __init__(self, W: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], c0: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], bound: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], mu: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], compliance: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], cone: str = 'cone') -> None:
        ...
    def gradient(self, impulses_bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]]:
        """
        Gradients by W and c0 of a number, from that by the impulses, by the implicit function.
        """
    def residual(self) -> float:
        """
        Largest violation of the laws, as a velocity.
        """
    def shift(self, by: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> None:
        """
        Adds (3 n,) to c0.
        """
    def solve(self, sweeps: typing.SupportsInt | typing.SupportsIndex = 2000) -> bool:
        """
        Impulses, to rounding; False where they are not found.
        """
    def sweep(self, sweeps: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Projected Gauss-Seidel from the impulses there are.
        """
    def sweep_gradient(self, sweeps: typing.SupportsInt | typing.SupportsIndex, impulses_bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]]:
        """
        The same of `sweeps` sweeps from zero, by going back through them [Qa Alg. 1].
        """
    @property
    def impulses(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        (3 n,) [N s].
        """
    @impulses.setter
    def impulses(self, arg0: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> None:
        ...
    @property
    def modes(self) -> typing.Annotated[numpy.typing.NDArray[numpy.int32], "[m, 1]"]:
        """
        Per contact: 0 open, 1 sticking, 2 slipping.
        """
class LeggedModel:
    """
    A robot on legs and wheels, as its motions are planned.
    """
    def __init__(self, model: ArticulatedModel, end_effectors: collections.abc.Sequence[dict], ranges: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], stance: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], clear: collections.abc.Sequence[tuple[str, typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]] = []) -> None:
        """
        model: with a floating base; end_effectors: dicts of name, kind (point, welded, passive, actuated), link, position (3,) [m] and, of wheels, axis (3,), radius [m], speed [rad/s], resistance, leg (int); ranges (joints, 3): lower, upper, speed; stance: q; clear: (link, position [m]) of points that stay above the ground.
        """
    def place(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 3]"]:
        """
        Places (end effectors, 3) of feet and wheels' centres [m].
        """
    @property
    def height(self) -> float:
        ...
    @property
    def inertia(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
        ...
    @property
    def mass(self) -> float:
        ...
class MotionTask:
    """
    What a motion is asked for.
    """
    def __init__(self, step: typing.SupportsFloat | typing.SupportsIndex, contact: typing.Annotated[numpy.typing.ArrayLike, numpy.bool, "[m, n]"], swing_height: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], friction: typing.SupportsFloat | typing.SupportsIndex = 0.8, apart: typing.SupportsFloat | typing.SupportsIndex = 0.02, ground: Sdf = None, end: str = 'periodic', fixed: typing.SupportsInt | typing.SupportsIndex = 0, travel: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[2, 1]"] | None = None, turn: typing.SupportsFloat | typing.SupportsIndex | None = None, height: typing.SupportsFloat | typing.SupportsIndex | None = None, places: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex, typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]] = [], ceilings: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex, typing.SupportsFloat | typing.SupportsIndex]] = [], free_forces: bool = False, stance: bool = False, tracking: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(5)"] = [50.0, 5.0, 5.0, 0.5, 0.5]) -> None:
        """
        stance: joints end as the robot stands; free_forces: those of the last fixed sample are unknowns; tracking: weights of body, speeds, contact points, joints and forces beside the reference of set_task.
        """
class MotionSolverOptions:
    def __init__(self) -> None:
        ...
    @property
    def iterations(self) -> int:
        ...
    @iterations.setter
    def iterations(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def lifting_steps(self) -> int:
        ...
    @lifting_steps.setter
    def lifting_steps(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def multiplier_steps(self) -> int:
        ...
    @multiplier_steps.setter
    def multiplier_steps(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def tolerance(self) -> float:
        ...
    @tolerance.setter
    def tolerance(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    @property
    def unloading_steps(self) -> int:
        ...
    @unloading_steps.setter
    def unloading_steps(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
class MotionProblem:
    """
    E(m) of a robot and a task [G 2.4].
    """
    def __init__(self, model: LeggedModel, task: MotionTask) -> None:
        ...
    def improve(self, plan: dict, options: MotionSolverOptions = ..., progress: typing.Any = None) -> dict:
        ...
    def linearize(self, arg0: dict) -> tuple[float, typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]]:
        ...
    def move(self, arg0: dict, arg1: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"]) -> dict:
        ...
    def newton_step(self, arg0: typing.SupportsFloat | typing.SupportsIndex) -> tuple[bool, typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]]:
        ...
    def regularize(self, factor: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Weights of regularizers times a factor > 0, 1 at first; forgets multipliers.
        """
    def report(self, arg0: dict) -> list:
        ...
    def second_derivative(self, arg0: dict) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        ...
    def select(self, groups: typing.SupportsInt | typing.SupportsIndex, terms: collections.abc.Sequence[str]) -> None:
        ...
    def set_task(self, task: MotionTask, reference: dict | None = None) -> None:
        """
        Another task with as many samples; reference: a plan to stay near.
        """
    def solve(self, plan: dict, options: MotionSolverOptions = ..., progress: typing.Any = None) -> dict:
        ...
    def standing(self) -> dict:
        ...
    def value(self, arg0: dict) -> float:
        ...
    def warm_start(self, plan: dict, options: MotionSolverOptions = ..., progress: typing.Any = None) -> dict:
        ...
    @property
    def free(self) -> list[bool]:
        ...
    @property
    def size(self) -> int:
        ...
    @property
    def unknowns(self) -> dict:
        """
        Indices among the unknowns: x, R (T, 3), e, f (T, m, 3), spin, yaw, tilt (T, m; -1: no wheel), q (T, n), travel (4,).
        """
def Complement(members: collections.abc.Sequence[Sdf], width: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> Boolean:
    """
    Outside all members: the walls of a container.
    """
def Difference(members: collections.abc.Sequence[Sdf], width: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> Boolean:
    """
    Inside the first and outside all other members; blended likewise.
    """
def Intersection(members: collections.abc.Sequence[Sdf], width: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> Boolean:
    """
    Inside all members; blended where two gaps differ by less than width.
    """
def Union(members: collections.abc.Sequence[Sdf], width: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> Boolean:
    """
    Inside any of the members; blended where two gaps differ by less than width.
    """
def exp_rotation(theta: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
    """
    R = exp([theta]x), (3, 3), of a rotation vector [rad]  [G 4.6.1].
    """
def instruction_set() -> str:
    """
    Instruction set that the engine was compiled for: x86-64-v2, -v3, -v4 ... (its least level).
    """
def left_jacobian(theta: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
    """
    J_l(theta), (3, 3): world angular velocity = J_l theta_dot  [G A.1.1.1].
    """
def left_jacobian_derivative(theta: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], u: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
    """
    d(J_l(theta) u)/d theta, (3, 3), for constant u.
    """
def left_jacobian_inverse(theta: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
    """
    J_l(theta)^-1, (3, 3), finite for |theta| < 2 pi.
    """
def linear_solve(sizes: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], pairs: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]], values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], rhs: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], method: str = 'automatic', transposed: bool = False, tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-08, symmetric: bool = False, repeat: typing.SupportsInt | typing.SupportsIndex = 1) -> dict:
    """
    One system; see LinearSolver.
    """
def log_rotation(R: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
    """
    Rotation vector (3,) [rad], length <= pi, of a rotation matrix.
    """
def nearest_on_surface(positions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], triangles: typing.Annotated[numpy.typing.ArrayLike, numpy.int32, "[m, 3]"], points: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 3]"], frame: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], eye: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] | None = None) -> tuple:
    """
    Nearest points of a moving surface: positions (frames, n, 3) [m] of its vertices, triangles (m, 3), counter-clockwise seen from outside; points (k, 3) [m], each of its frame (k,). With an eye (3,) [m], of the triangles that it sees alone. Returns triangle (k,), weights (k, 3) of its corners, and feature (k,): 0 face, 1 to 3 corner, 4 to 6 edge after corner 1 to 3.
    """
def rollout(scene: typing.Any, p: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"], steps: typing.SupportsInt | typing.SupportsIndex, options: Options | None = None, active: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, mode: str = 'none', cancel: CancelToken = None, threads: typing.SupportsInt | typing.SupportsIndex = 1, directions: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"] | None = None, outputs: collections.abc.Sequence[str] = []) -> Rollout:
    """
    options: absent, those of the scene. threads: 2 computes derivatives beside the motion, for the same bits. directions (active, n): dx and dv are by these n directions of the active parameters. outputs: names of Scene.outputs to report at every frame.
    """
def rollout_batch(scene: typing.Any, P: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], steps: typing.Any, options: Options | None = None, active: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, mode: str = 'none', threads: typing.SupportsInt | typing.SupportsIndex = 0, cancel: CancelToken = None, directions: collections.abc.Sequence[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]] | None = None, outputs: collections.abc.Sequence[str] = []) -> list[Rollout]:
    """
    options: absent, those of the scene. directions: a matrix (active, n) per row of P.
    """
has_openvdb: bool = True
vdb_format: int = 1
