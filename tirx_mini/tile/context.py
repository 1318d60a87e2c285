"""What a dispatch rule may know of the place where a tile primitive was called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tirx_mini.hardware import THREADS_OF
from tirx_mini.ir import (
    INT32,
    Analyzer,
    Buffer,
    DataType,
    Expr,
    Launch,
    Span,
    TensorMap,
    Var,
    const,
    special,
    substitute,
)
from tirx_mini.layout import Coord

from .threads import active_threads, most_in_a_warp


@dataclass
class TensorMaps:
    """The tensor maps that the copies of one kernel need; copies that see a buffer alike share one."""

    maps: list[TensorMap] = field(default_factory=list)

    def get(self, buffer: Buffer, dims: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...], swizzle: int,
            span: Span | None) -> TensorMap:  # fmt: skip
        for known in self.maps:
            same = known.buffer is buffer and (known.dims, known.strides) == (dims, strides)
            if same and (known.box, known.swizzle) == (box, swizzle):
                return known
        number = sum(known.buffer is buffer for known in self.maps)
        var = Var(DataType("tensormap"), f"{buffer.name}_map{number or ''}")
        self.maps.append(TensorMap(var, buffer, dims, strides, box, swizzle, span=span))
        return self.maps[-1]


@dataclass(frozen=True)
class Context:
    """The execution scope of a call, and what is known of the values there.

    scope: "cta", "warpgroup", "warp" or "thread".
    guards: the conditions under which the call is reached, outermost first.
    analyzer: bounds of loop variables and special registers. values: what immutable variables were bound to.
    """

    scope: str
    launch: Launch
    analyzer: Analyzer = field(default_factory=Analyzer)
    guards: tuple[Expr, ...] = ()
    values: Mapping[Var, Expr] = field(default_factory=dict)
    tensor_maps: TensorMaps = field(default_factory=TensorMaps)
    span: Span | None = None

    @property
    def threads(self) -> int:
        """How many threads execute the call together."""
        return THREADS_OF.get(self.scope, self.launch.threads)

    @property
    def thread(self) -> Expr:
        """The number of the executing thread among them."""
        tid = special("threadIdx.x")
        if self.scope == "thread":
            return const(0)
        return self.simplify(tid % self.threads) if self.threads < self.launch.threads else tid

    def simplify(self, expr: Expr) -> Expr:
        return self.analyzer.simplify(expr)

    def divisor(self, value: Coord) -> int:
        """The largest number known to divide a coordinate; looks through bound variables. 0 for 0 itself."""
        if isinstance(value, Expr):
            return self.analyzer.divisor(self.resolved(value))
        return value

    def resolved(self, expr: Expr) -> Expr:
        """`expr` with bound variables replaced by their values, for analysis only."""
        return substitute(expr, self.values) if self.values else expr

    def loop_var(self, steps: int, name: str = "i") -> tuple[Var, Context]:
        """A loop variable of 0 … steps - 1, and the context inside the loop."""
        var = Var(INT32, name)
        return var, replace(self, analyzer=self.analyzer.bind(var, 0, steps - 1))

    # -- who executes ------------------------------------------------------------------------------------------

    def active(self) -> np.ndarray | None:
        """Which threads of a CTA get here, as booleans, where that is known at compile time (see `active_threads`)."""
        return active_threads([self.resolved(guard) for guard in self.guards], self.launch.threads)

    def lanes(self) -> int | None:
        """How many lanes of a warp get here, at most; None where that is unknown."""
        known = self.active()
        if known is not None:
            return most_in_a_warp(known)
        # A variable that the threads keep for themselves may stop more of them, but where one is left, one it is.
        possible = active_threads([self.resolved(guard) for guard in self.guards], self.launch.threads, at_most=True)
        assert possible is not None
        return 1 if most_in_a_warp(possible) == 1 else None

    def not_single_thread(self) -> str | None:
        """Why the call is executed by more than one lane of some warp; None where it is not (or that is unknown)."""
        if self.scope != "thread":
            return f"the call is in {self.scope} scope"
        lanes = self.lanes()
        return f"{lanes} lanes of a warp execute it" if lanes is not None and lanes > 1 else None

    def split_scope(self) -> str | None:
        """Why only a part of the scope's threads gets here; None where all of them do, or none (or that is unknown)."""
        active = self.active()
        size = self.threads
        if active is None or size == 1:
            return None
        counts = {int(active[first : first + size].sum()) for first in range(0, len(active), size)}
        partial = counts - {0, size}
        return f"only {min(partial)} of the {size} threads of the {self.scope} execute it" if partial else None
