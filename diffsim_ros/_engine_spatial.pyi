"""
Spatial algebra: motions (omega, v), forces (n, f), transforms (E, r), inertias; each with its adjoint. docs/explanation/spatial_algebra.md.
"""
from __future__ import annotations
import numpy
import numpy.typing
import typing
__all__: list[str] = ['ArticulatedInertia', 'Plx', 'Plxb', 'RigidInertia', 'congruence_adjoint', 'cross_adjoint', 'crossf', 'crossf_adjoint', 'crossf_matrix', 'crossm', 'crossm_adjoint', 'crossm_matrix', 'dyad_multiply', 'dyad_multiply_adjoint', 'dyad_multiply_transpose', 'dyad_multiply_transpose_adjoint', 'dyad_outer', 'dyad_outer_adjoint', 'dyad_shift', 'dyad_shift_adjoint', 'inertia_rate', 'matrix_inverse_adjoint', 'norm_adjoint', 'product_adjoint', 'quat_multiply_adjoint', 'quat_times_vector', 'quat_times_vector_adjoint', 'skew_adjoint', 'triple_product_adjoint']
class RigidInertia:
    """
    Spatial inertia of a rigid body: mass, m c and inertia about the frame's origin, linear in these ten.
    """
    @staticmethod
    def from_parameters(parameters: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[10, 1]"]) -> RigidInertia:
        """
        From m, m c (3), I xx yy zz xy xz yz about the origin, (10,), unchecked.
        """
    def __add__(self, arg0: RigidInertia) -> RigidInertia:
        ...
    def __init__(self, mass: typing.SupportsFloat | typing.SupportsIndex, center: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], inertia: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"]) -> None:
        """
        mass [kg], centre of mass (3,) [m] and inertia about it (3, 3) [kg m^2], in the frame.
        """
    def matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        (6, 6)
        """
    def multiply(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        Momentum (6,) of a motion (6,).
        """
    def multiply_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        Gradients by the parameters (10,) and the motion (6,).
        """
    @property
    def parameters(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[10, 1]"]:
        """
        m, m c (3), I xx yy zz xy xz yz about the origin, (10,)
        """
class ArticulatedInertia:
    """
    Symmetric spatial inertia [I, H; H^T, M] of an articulated body.
    """
    @typing.overload
    def __add__(self, arg0: ArticulatedInertia) -> ArticulatedInertia:
        ...
    @typing.overload
    def __add__(self, arg0: RigidInertia) -> ArticulatedInertia:
        ...
    @typing.overload
    def __init__(self, matrix: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> None:
        """
        From a symmetric matrix (6, 6).
        """
    @typing.overload
    def __init__(self, rigid: RigidInertia) -> None:
        ...
    def add_square(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], factor: typing.SupportsFloat | typing.SupportsIndex) -> ArticulatedInertia:
        """
        A + factor U U^T.
        """
    def matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        (6, 6)
        """
    def multiply(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        Force (6,) of an acceleration (6,).
        """
    def multiply_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        Symmetric gradient (6, 6) by the inertia, and that by the motion (6,).
        """
class Plx:
    """
    ^B X_A = plx(E, r), left-associative [S]: E takes coordinates in A to those in B, r is B's origin in A [m]. ^C X_B * ^B X_A = ^C X_A.
    """
    @staticmethod
    def unchecked(E: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], r: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> Plx:
        """
        With any E: derivatives by its nine entries are of this.
        """
    def __init__(self, E: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"] = ..., r: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ...) -> None:
        """
        Refuses an E that is no rotation, and what is not finite.
        """
    def __mul__(self, arg0: Plx) -> Plx:
        ...
    def __repr__(self) -> str:
        ...
    def apply(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A motion (omega, v), (6,), from A to B: X m  [Qa (28)].
        """
    def apply_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), motion) gradients of `apply`  [Qa (29)].
        """
    def apply_inverse(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A motion (6,) from B to A: X^-1 m  [Qa (30)].
        """
    def apply_inverse_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), motion) gradients of `apply_inverse`  [Qa (31)].
        """
    @typing.overload
    def apply_inverse_transpose(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A force (6,) from A to B: X^-T f  [Qa (34), E for its E^T].
        """
    @typing.overload
    def apply_inverse_transpose(self, inertia: RigidInertia) -> RigidInertia:
        """
        A rigid inertia from A to B: X^-T I X^-1.
        """
    @typing.overload
    def apply_inverse_transpose(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """
        An articulated inertia from A to B: X^-T A X^-1.
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), force) gradients of `apply_inverse_transpose`  [Qa (35)].
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, inertia: RigidInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[10, 1]"]) -> tuple:
        """
        ((E, r), (10,)) gradients.
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, inertia: ArticulatedInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        ((E, r), (6, 6)) gradients.
        """
    @typing.overload
    def apply_transpose(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A force (n, f), (6,), from B to A: X^T f  [Qa (32)].
        """
    @typing.overload
    def apply_transpose(self, inertia: RigidInertia) -> RigidInertia:
        """
        A rigid inertia from B to A: X^T I X.
        """
    @typing.overload
    def apply_transpose(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """
        An articulated inertia from B to A: X^T A X  [Qa (52)].
        """
    @typing.overload
    def apply_transpose_adjoint(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), force) gradients of `apply_transpose`  [Qa (33)].
        """
    @typing.overload
    def apply_transpose_adjoint(self, inertia: RigidInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[10, 1]"]) -> tuple:
        """
        ((E, r), (10,)) gradients, bar (10,) by parameters.
        """
    @typing.overload
    def apply_transpose_adjoint(self, inertia: ArticulatedInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        ((E, r), (6, 6)) gradients, symmetric bar (6, 6).
        """
    def force_matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        X^-T, (6, 6).
        """
    def inverse(self) -> Plx:
        """
        ^A X_B.
        """
    def inverse_adjoint(self, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> tuple:
        """
        Gradient (E, r) of `inverse` for its (E, r).
        """
    def motion_matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        X, (6, 6)  [Qa (50)].
        """
    def motion_matrix_adjoint(self, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        Gradient (E, r) of `motion_matrix`, bar (6, 6)  [Qa (51)].
        """
    def multiply_adjoint(self, other: Plx, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> tuple:
        """
        Gradients (E, r) of `self * other` by both, for its (E, r)  [Qa (37)].
        """
    def on_displacement(self, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        Gradient (6,) by a displacement of frame B (rotation vector, translation; axes of B), from the gradient (E, r).
        """
    def to_plxb(self) -> Plxb:
        """
        plxb(E^T, r), the same change.
        """
    @property
    def E(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
        """
        (3, 3)
        """
    @property
    def r(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        """
        (3,), origin of B in A [m]
        """
class Plxb:
    """
    plxb(E, r), right-associative [S]: the pose of B in A, x_A = E x_B + r. Pose of B in A times pose of C in B is the pose of C in A.
    """
    @staticmethod
    def unchecked(E: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], r: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> Plxb:
        """
        With any E: derivatives by its nine entries are of this.
        """
    def __init__(self, E: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"] = ..., r: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"] = ...) -> None:
        """
        Refuses an E that is no rotation, and what is not finite.
        """
    def __mul__(self, arg0: Plxb) -> Plxb:
        ...
    def __repr__(self) -> str:
        ...
    def apply(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A motion (omega, v), (6,), from A to B: X m  [Qa (28)].
        """
    def apply_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), motion) gradients of `apply`  [Qa (29)].
        """
    def apply_inverse(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A motion (6,) from B to A: X^-1 m  [Qa (30)].
        """
    def apply_inverse_adjoint(self, motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), motion) gradients of `apply_inverse`  [Qa (31)].
        """
    @typing.overload
    def apply_inverse_transpose(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A force (6,) from A to B: X^-T f  [Qa (34), E for its E^T].
        """
    @typing.overload
    def apply_inverse_transpose(self, inertia: RigidInertia) -> RigidInertia:
        """
        A rigid inertia from A to B: X^-T I X^-1.
        """
    @typing.overload
    def apply_inverse_transpose(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """
        An articulated inertia from A to B: X^-T A X^-1.
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), force) gradients of `apply_inverse_transpose`  [Qa (35)].
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, inertia: RigidInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[10, 1]"]) -> tuple:
        """
        ((E, r), (10,)) gradients.
        """
    @typing.overload
    def apply_inverse_transpose_adjoint(self, inertia: ArticulatedInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        ((E, r), (6, 6)) gradients.
        """
    @typing.overload
    def apply_transpose(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        A force (n, f), (6,), from B to A: X^T f  [Qa (32)].
        """
    @typing.overload
    def apply_transpose(self, inertia: RigidInertia) -> RigidInertia:
        """
        A rigid inertia from B to A: X^T I X.
        """
    @typing.overload
    def apply_transpose(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """
        An articulated inertia from B to A: X^T A X  [Qa (52)].
        """
    @typing.overload
    def apply_transpose_adjoint(self, force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
        """
        ((E, r), force) gradients of `apply_transpose`  [Qa (33)].
        """
    @typing.overload
    def apply_transpose_adjoint(self, inertia: RigidInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[10, 1]"]) -> tuple:
        """
        ((E, r), (10,)) gradients, bar (10,) by parameters.
        """
    @typing.overload
    def apply_transpose_adjoint(self, inertia: ArticulatedInertia, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        ((E, r), (6, 6)) gradients, symmetric bar (6, 6).
        """
    def force_matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        X^-T, (6, 6).
        """
    def inverse(self) -> Plxb:
        """
        ^A X_B.
        """
    def inverse_adjoint(self, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> tuple:
        """
        Gradient (E, r) of `inverse` for its (E, r).
        """
    def motion_matrix(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
        """
        X, (6, 6)  [Qa (50)].
        """
    def motion_matrix_adjoint(self, bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
        """
        Gradient (E, r) of `motion_matrix`, bar (6, 6)  [Qa (51)].
        """
    def multiply_adjoint(self, other: Plxb, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> tuple:
        """
        Gradients (E, r) of `self * other` by both, for its (E, r)  [Qa (37)].
        """
    def on_displacement(self, bar: tuple[typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"], typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
        """
        Gradient (6,) by a displacement of frame B (rotation vector, translation; axes of B), from the gradient (E, r).
        """
    def to_plx(self) -> Plx:
        """
        plx(E^T, r), the same change.
        """
    @property
    def E(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 3]"]:
        """
        (3, 3)
        """
    @property
    def r(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
        """
        (3,), origin of B in A [m]
        """
def congruence_adjoint(a: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]]:
    """
    Gradients of a^T b a  [Qa (23)].
    """
def cross_adjoint(a: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]]:
    """
    Gradients (3,) of a x b  [Qa (26)].
    """
def crossf(motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
    """
    m x* f, (6,)  [Qa (40)].
    """
def crossf_adjoint(motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], force: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
    """
    Gradients by the motion and the force  [Qa (41)].
    """
def crossf_matrix(motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
    """
    (6, 6): m x* = -(m x)^T.
    """
def crossm(m1: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], m2: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
    """
    m1 x m2, (6,), of motions  [Qa (38)].
    """
def crossm_adjoint(m1: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], m2: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
    """
    Gradients by m1 and m2  [Qa (39)].
    """
def crossm_matrix(motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
    """
    (6, 6): m x.
    """
def dyad_multiply(dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"], motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
    """
    M m, (6,)  [Qa (42)].
    """
def dyad_multiply_adjoint(dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"], motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
    """
    Gradients (6, 6), (6,)  [Qa (43)].
    """
def dyad_multiply_transpose(dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"], motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 1]"]:
    """
    M^T m, (6,)  [Qa (44), corrected].
    """
def dyad_multiply_transpose_adjoint(dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"], motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> tuple:
    """
    Gradients (6, 6), (6,)  [Qa (45), corrected].
    """
def dyad_outer(f: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], g: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
    """
    f g^T, (6, 6)  [Qa (46)].
    """
def dyad_outer_adjoint(f: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], g: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
    """
    Gradients (6,), (6,)  [Qa (47)].
    """
def dyad_shift(X: Plx, dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
    """
    X^T M X, (6, 6)  [Qa (52)].
    """
def dyad_shift_adjoint(X: Plx, dyad: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> tuple:
    """
    Gradients (E, r), (6, 6).
    """
def inertia_rate(motion: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 1]"], inertia: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[6, 6]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[6, 6]"]:
    """
    m x* I - I m x, (6, 6): the rate of an inertia (6, 6) that moves with m.
    """
def matrix_inverse_adjoint(inverse: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
    """
    Gradient by a of a^-1, from the inverse itself  [Qa (24)].
    """
def norm_adjoint(b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], bar: typing.SupportsFloat | typing.SupportsIndex) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
    """
    Gradient (3,) of |b|, b not zero  [Qa (27)].
    """
def product_adjoint(a: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]]:
    """
    Gradients of a b  [Qa (20)-(22)].
    """
def quat_multiply_adjoint(a: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"], b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[4, 1]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[4, 1]"]]:
    """
    Gradients (4,) of the product a b, (x, y, z, w)  [Qa (57), (58)].
    """
def quat_times_vector(q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"], v: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[4, 1]"]:
    """
    q (v, 0), (4,)  [Qa (53)].
    """
def quat_times_vector_adjoint(q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"], v: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 1]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[4, 1]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[4, 1]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]]:
    """
    Gradients (4,), (3,) of q (v, 0)  [Qa (54), (55)].
    """
def skew_adjoint(bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[3, 3]"]) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[3, 1]"]:
    """
    Gradient (3,) by a of its cross-product matrix, bar (3, 3)  [Qa (48)].
    """
def triple_product_adjoint(a: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], b: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], c: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"], bar: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"]) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"], typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]]:
    """
    Gradients of a b c  [Qa (25)].
    """
