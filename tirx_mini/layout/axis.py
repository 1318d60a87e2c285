"""Named axes, along which strides move. `1@TLane` is a stride of one along the lanes of tensor memory."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

from tirx_mini.records import dataclass
from tirx_mini.wording import described


class LayoutError(ValueError):
    """An invalid layout, or an operation that a layout does not support."""


def whole(what: str, value: object) -> int:
    """Convert `value` to an int. Raises LayoutError, naming the value `what`, for anything else."""
    number: Any = value
    try:
        return operator.index(number)
    except TypeError:
        hint = " (use // to divide ints)" if isinstance(value, float) and value.is_integer() else ""
        raise LayoutError(f"{what} must be an int, not {described(value)}{hint}") from None


AXES: dict[str, Axis] = {}
"""Every axis by its name."""


@dataclass(frozen=True)
class ExecScope:
    """A thread scope by name: "thread", "warp", "warpgroup", "cta" or "cluster"."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in ("thread", "warp", "warpgroup", "cta", "cluster"):
            raise LayoutError(f"a scope is thread, warp, warpgroup, cta or cluster, not {described(self.name)}")


_MEMORY = ("m", "TLane", "TCol", "P", "F", "Bank")
"""Axes along a memory."""

_SCOPES = {
    "laneid": ("thread", "warp"),
    "warpid": ("warp", "cta"),
    "tx": ("thread", "cta"),
    "wgid": ("warpgroup", "cta"),
    "tid_in_wg": ("thread", "warpgroup"),
    "wid_in_wg": ("warp", "warpgroup"),
    **dict.fromkeys(("cbx", "cby", "cbz"), ("cta", "cluster")),
}
"""What each axis of threads counts, and in which group."""


class _AxisNames(type):
    """The metaclass that provides axes by name: ``Axis.tid_in_wg``."""

    def __getattr__(cls, name: str) -> Axis:
        axis = AXES.get(name)
        if axis is None:
            raise AttributeError(f"there is no axis {name!r}; the axes are {', '.join(AXES)}")
        return axis


@dataclass(frozen=True, eq=False)
class Axis(metaclass=_AxisNames):
    """A hardware dimension, such as memory, tensor-memory lanes or columns, threads, or CTAs.

    It equals its name, so that places can be looked up by name: ``layout.apply(1, 2)["m"]``.
    """

    name: str

    def __eq__(self, other: object) -> bool:
        return other.name == self.name if isinstance(other, Axis) else other == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @staticmethod
    def get(name: str) -> Axis:
        """Return the axis of a name, creating it if necessary."""
        return AXES.get(name) or Axis(name)

    def is_memory(self) -> bool:
        """Return whether the axis counts places in a memory."""
        return self.name in _MEMORY

    def is_thread(self) -> bool:
        """Return whether the axis counts threads or groups of threads, rather than places in a memory."""
        return not self.is_memory()

    def get_scope(self) -> ExecScope | None:
        """Return the scope in which the axis counts, such as the warp for `laneid`, or None for memory and the grid."""
        return ExecScope(_SCOPES[self.name][1]) if self.name in _SCOPES else None

    def get_subscope(self) -> ExecScope | None:
        """Return the scope that the axis counts, such as the thread for `laneid`."""
        return ExecScope(_SCOPES[self.name][0]) if self.name in _SCOPES else None

    def __rmatmul__(self, value: SupportsIndex) -> Stride:
        return Stride(whole(f"the stride in stride@{self}", value), self)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Stride:
    """The distance along `axis` of one coordinate step: `value@axis`."""

    value: int
    axis: Axis

    def __repr__(self) -> str:
        return str(self.value) if self.axis == m else f"{self.value}@{self.axis}"

    def __add__(self, other: object) -> Offset:
        return Offset((self,)) + other

    __radd__ = __add__


@dataclass(frozen=True)
class Offset:
    """A sum of strides, such as `1@laneid + 2@warpid`: a position on several axes."""

    strides: tuple[Stride, ...]

    def __add__(self, other: object) -> Offset:
        if isinstance(other, Offset):
            return Offset(self.strides + other.strides)
        if not isinstance(other, (Stride, int)):
            return NotImplemented
        return Offset((*self.strides, other if isinstance(other, Stride) else Stride(other, m)))

    __radd__ = __add__


m = Axis("m")  # elements of the buffer's own memory: shared, global, or a thread's registers
TLane = Axis("TLane")  # tensor memory: 128 lanes
TCol = Axis("TCol")  # tensor memory: 512 columns of 32 bits

laneid = Axis("laneid")  # thread in its warp
warpid = Axis("warpid")  # warp in its CTA
wid_in_wg = Axis("wid_in_wg")  # warp in its warpgroup
tid_in_wg = Axis("tid_in_wg")  # thread in its warpgroup
wgid = Axis("wgid")  # warpgroup in its CTA
tx = Axis("tx")  # thread in its CTA
cbx = Axis("cbx")  # CTA in its cluster
cby = Axis("cby")
cbz = Axis("cbz")
bx = Axis("bx")  # CTA in the grid
by = Axis("by")
bz = Axis("bz")
pid = Axis("pid")  # device in a group of devices
P = Axis("P")  # Trainium: partition
F = Axis("F")  # Trainium: element of a partition
Bank = Axis("Bank")  # Trainium: bank of its accumulators

_ALL = (m, TLane, TCol, laneid, warpid, wid_in_wg, tid_in_wg, wgid, tx, cbx, cby, cbz, bx, by, bz, pid, P, F, Bank)

AXES.update((axis.name, axis) for axis in _ALL)
