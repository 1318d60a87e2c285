"""Statements of a run for results alone: one warp executes product loops for its whole warpgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.ir import Buffer, For, PrimFunc, While

from .representatives import Loop, moved_scalars
from .sameness import Samenesses
from .statements import Statements
from .storage import Place
from .uniformity import Uniformity
from .writer import Writer


class UntimedStatements(Statements):
    """The statement translator for clusters with untimed engines.

    led: the loops that the first warp of each warpgroup executes for all four, with their accumulators.
    """

    def __init__(
        self, func: PrimFunc, facts: Uniformity, same: Samenesses, writer: Writer,
        led: Mapping[Loop, tuple[Buffer, ...]],
    ) -> None:  # fmt: skip
        super().__init__(func, facts, same, writer)
        self._led = led

    def _For(self, stmt: For) -> None:
        self._loop_of_warpgroup(stmt, super()._For)

    def _While(self, stmt: While) -> None:
        self._loop_of_warpgroup(stmt, super()._While)

    def _loop_of_warpgroup(self, stmt: Loop, execute: Callable[[Any], None]) -> None:
        outside = self.storage.places
        wanted = self._led.get(stmt, ())
        moved = [outside[buffer] for buffer in moved_scalars(stmt) if buffer in outside]
        arrays = [outside[buffer] for buffer in wanted if buffer in outside and outside[buffer].kind == "array"]
        if wanted and len(arrays) == len(wanted) and all(place.kind == "scalar" for place in moved):
            lead(self.out, moved, arrays, lambda: execute(stmt))
        else:
            execute(stmt)


def lead(out: Writer, moved: Sequence[Place], arrays: Sequence[Place], execute: Callable[[], None]) -> None:
    """Emit a loop that the first warp of each warpgroup executes for the others. execute: translates it.

    moved: the scalars that it changes. arrays: of its accumulator registers.
    """
    names, given = ("".join(f"{place.name}, " for place in places) for places in (moved, arrays))
    operands = f"w, ({given})" if given else "w"
    out.settle()
    with out.block(f"if wid % {WARPGROUP_WARPS}:"):
        result = f"({names}) = " if names else ""
        out.line(f"{result}yield from w.gpu.leaders.follow({operands})")
    with out.block("else:"):
        out.line(f"yield from w.gpu.leaders.begin({operands})")
        execute()
        out.settle()
        out.line(f"w.gpu.leaders.end(w, ({names}))")
