"""Named axes, along which strides move. `1@TLane` is a stride of one along the lanes of tensor memory."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, SupportsIndex


class LayoutError(ValueError):
    """An invalid layout, or an operation that a layout does not support."""


def whole(what: str, value: Any) -> int:
    """`value` as an int. Raises LayoutError, naming the value `what`, for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        hint = " (use // to divide ints)" if isinstance(value, float) and value.is_integer() else ""
        raise LayoutError(f"{what} must be an int, not {value!r}{hint}") from None


AXES: dict[str, Axis] = {}
"""Every axis by its name."""


class _AxisNames(type):
    """``Axis.tid_in_wg``: an axis by its name."""

    def __getattr__(cls, name: str) -> Axis:
        axis = AXES.get(name)
        if axis is None:
            raise AttributeError(f"there is no axis {name!r}; the axes are {', '.join(AXES)}")
        return axis


@dataclass(frozen=True, eq=False)
class Axis(metaclass=_AxisNames):
    """One dimension of the hardware: memory, tensor-memory lanes or columns, threads, CTAs.

    It equals its name, so that places can be looked up by name: ``layout.apply(1, 2)["m"]``.
    """

    name: str

    def __eq__(self, other: object) -> bool:
        return other.name == self.name if isinstance(other, Axis) else other == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_thread(self) -> bool:
        """Whether the axis counts threads or groups of threads, rather than places in a memory."""
        return self.name not in ("m", "TLane", "TCol")

    def __rmatmul__(self, value: SupportsIndex) -> Stride:
        return Stride(whole(f"the stride in stride@{self}", value), self)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Stride:
    """`value@axis`: the distance along `axis` that one step of a coordinate moves."""

    value: int
    axis: Axis

    def __repr__(self) -> str:
        return str(self.value) if self.axis == m else f"{self.value}@{self.axis}"


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

AXES |= {
    axis.name: axis
    for axis in (m, TLane, TCol, laneid, warpid, wid_in_wg, tid_in_wg, wgid, tx, cbx, cby, cbz, bx, by, bz, pid)
}
