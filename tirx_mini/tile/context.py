"""The context of a tile call: the facts available to dispatch rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

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
from tirx_mini.records import dataclass, replace

from .threads import active_threads, most_in_a_warp


@dataclass
class TensorMaps:
    """The tensor maps of a kernel, shared by copies with equal parameters."""

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
    """The execution scope of a tile call, with the known properties of values there.

    scope: "cta", "warpgroup", "warp" or "thread".
    guards: the conditions that enclose the call, outermost first.
    analyzer: the bounds of loop variables and special registers.
    values: the values of immutable variables.
    fences: whether cooperative stores to shared memory end with the fence that shows them to the async proxy.
    """

    scope: str
    launch: Launch
    analyzer: Analyzer = field(default_factory=Analyzer)
    guards: tuple[Expr, ...] = ()
    values: Mapping[Var, Expr] = field(default_factory=dict)
    tensor_maps: TensorMaps = field(default_factory=TensorMaps)
    fences: bool = True
    span: Span | None = None

    @property
    def threads(self) -> int:
        """The number of threads that execute the call jointly."""
        return THREADS_OF.get(self.scope, self.launch.threads)

    @property
    def thread(self) -> Expr:
        """The index of the executing thread among those that execute the call."""
        tid = special("threadIdx.x")
        if self.scope == "thread":
            return const(0)
        return self.simplify(tid % self.threads) if self.threads < self.launch.threads else tid

    def simplify(self, expr: Expr) -> Expr:
        return self.analyzer.simplify(expr)

    def divisor(self, value: Coord) -> int:
        """Return the largest known divisor of a coordinate, resolving bound variables; 0 for the constant 0."""
        if isinstance(value, Expr):
            return self.analyzer.divisor(self.resolved(value))
        return value

    def resolved(self, expr: Expr) -> Expr:
        """Substitute the values of bound variables into `expr`, for analysis only."""
        return substitute(expr, self.values) if self.values else expr

    def loop_var(self, steps: int, name: str = "i") -> tuple[Var, Context]:
        """Return a loop variable over 0 … steps - 1, and the context inside the loop."""
        var = Var(INT32, name)
        return var, replace(self, analyzer=self.analyzer.bind(var, 0, steps - 1))

    # -- executing threads -------------------------------------------------------------------------------------

    def active(self) -> np.ndarray | None:
        """Return a Boolean mask of the CTA's threads that execute the call, or None if unknown (see `active_threads`).
        """
        return active_threads([self.resolved(guard) for guard in self.guards], self.launch.threads)

    def lanes(self) -> int | None:
        """Return the maximum number of lanes per warp that execute the call, or None if unknown."""
        known = self.active()
        if known is not None:
            return most_in_a_warp(known)
        # Unknown conditions can only exclude threads: if one lane per warp remains without them, the answer is one.
        possible = active_threads([self.resolved(guard) for guard in self.guards], self.launch.threads, at_most=True)
        assert possible is not None
        return 1 if most_in_a_warp(possible) == 1 else None

    def not_single_thread(self) -> str | None:
        """Return the reason why several lanes of a warp execute the call, or None for one lane or if unknown."""
        if self.scope != "thread":
            return f"the call is in {self.scope} scope"
        lanes = self.lanes()
        return f"{lanes} lanes of a warp execute it" if lanes is not None and lanes > 1 else None

    def split_scope(self) -> str | None:
        """Return the reason why only part of the scope executes the call, or None otherwise or if unknown."""
        active = self.active()
        size = self.threads
        if active is None or size == 1:
            return None
        counts = {int(active[first : first + size].sum()) for first in range(0, len(active), size)}
        partial = counts - {0, size}
        return f"only {min(partial)} of the {size} threads of the {self.scope} execute it" if partial else None
