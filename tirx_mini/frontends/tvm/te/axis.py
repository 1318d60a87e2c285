"""Axes of tensors and reductions (`reduce_axis`), and grid indices (`thread_axis`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import INT32, SPECIALS, Expr, TirxError, Var, as_expr, binary, int_value, simplify, unary
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

DATA_PARALLEL, REDUCTION, THREAD_INDEX = "data parallel", "reduction", "thread index"
"""The kinds of axes."""
VIRTUAL = "vthread"
"""The name of virtual threads."""


@dataclass(frozen=True, eq=False)
class IterVar:
    """An axis: a variable with a range of `extent` values starting at `first`.

    kind: DATA_PARALLEL for an axis of a tensor, REDUCTION for one that a reduction sums over, THREAD_INDEX for an index
        of the grid; loops made by `split` and `fuse` keep the kind of their operands.
    extent: None for an axis whose extent is the outcome of a schedule; an expression where it is symbolic.
    thread: for THREAD_INDEX, its name: "blockIdx.x", "threadIdx.x", …
    """

    var: Var
    kind: str
    first: int = 0
    extent: int | None = None
    thread: str = ""

    @property
    def name(self) -> str:
        return self.var.name

    @property
    def dom(self) -> tuple[int, int | None]:
        """The first value and the number of values."""
        return self.first, self.extent

    @property
    def size(self) -> Any:
        """The number of values, as an integer or an expression of symbolic extents."""
        return 1 if self.extent is None else self.extent

    def __repr__(self) -> str:
        return self.name

    def __expr__(self) -> Expr:
        return self.var

    def __add__(self, other: object) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: object) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: object) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: object) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: object) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: object) -> Expr:
        return binary("*", other, self)

    def __floordiv__(self, other: object) -> Expr:
        return binary("//", self, other)

    def __mod__(self, other: object) -> Expr:
        return binary("%", self, other)

    def __lt__(self, other: object) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: object) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: object) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: object) -> Expr:
        return binary(">=", self, other)

    def equal(self, other: object) -> Expr:
        """Return the condition that the axis has a value (``==`` compares axes, not their values)."""
        return binary("==", self, other)

    def __neg__(self) -> Expr:
        return unary("-", self)

    def astype(self, dtype: str) -> Expr:
        """Return the axis value converted to `dtype`."""
        return self.var.astype(dtype)


def reduce_axis(dom: Sequence[int], name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """Return a reduction axis: ``reduce_axis((0, K))`` has the values 0, …, K - 1."""
    given = (0, dom) if isinstance(dom, (int, Expr)) else dom
    if not isinstance(given, (tuple, list)) or len(given) != 2 or int_value(given[0]) is None:
        raise TirxError(f"the domain of {name} is {dom!r}", caller_span(), "write (first, end), as in (0, K)")
    first, end = int_value(given[0]) or 0, int_value(given[1])
    if end is None and not isinstance(given[1], Expr):
        raise TirxError(f"the domain of {name} is {dom!r}", caller_span(), "write (first, end), as in (0, K)")
    if end is not None and end <= first:
        raise TirxError(f"the axis {name} has no values: its domain is {first} … {end - 1}", caller_span())
    extent: Any = simplify(as_expr(given[1]) - first) if end is None else end - first
    return IterVar(Var(INT32, name), REDUCTION, first, extent)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """Return a grid index to `bind` loops to: ``thread_axis("threadIdx.x")``, ``thread_axis((0, 32), "threadIdx.x")``.

    ``thread_axis("vthread")`` is a virtual thread: its iterations are executed by each thread, one after the other.
    Raises `TirxError` for another name than these: blockIdx or threadIdx with .x, .y or .z, and vthread.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    extent = None
    if dom is not None:
        first, end = (0, dom) if isinstance(dom, int) else dom
        extent = int(end) - int(first)
    if tag != VIRTUAL and (tag not in SPECIALS or not tag.startswith(("blockIdx", "threadIdx"))):
        raise TirxError(
            f"{tag!r} is not an index of a grid", caller_span(), 'use "blockIdx.x" or "threadIdx.x", or .y or .z'
        )
    return IterVar(Var(INT32, name or tag), THREAD_INDEX, 0, extent, tag)
