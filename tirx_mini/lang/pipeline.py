"""Where a role stands in a ring of pipeline stages."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.script import tirx as Tx


class PipelineState:
    """The stage a role is at, and the parity of the phase it waits for there.

    Two spellings: ``PipelineState("tma", 4)`` with `init(is_producer=…)` and `move_to_next_stage()`, and
    ``PipelineState(4, phase=1)`` with `advance()`.

    depth: number of stages. phase: initial phase; with it the state is ready at once. A producer starts with phase 1,
    which a fresh barrier lets through (the stages are empty); a consumer with phase 0, at which it blocks.
    """

    def __init__(self, name: Any, depth: Any = None, phase: Any = None) -> None:
        if not isinstance(name, str):  # PipelineState(depth, phase)
            name, depth, phase = None, name, depth if phase is None else phase
        if not isinstance(depth, int) or depth < 1:
            raise TirxError(
                f"PipelineState needs a number of stages, not {depth!r}",
                hint='write PipelineState("tma", PIPE_DEPTH) or PipelineState(PIPE_DEPTH, phase=1)',
            )
        self.depth = depth
        label = name or Tx.variable_name("pipe")
        self.stage: Any = Tx.alloc_scalar("int32", f"{label}_stage")
        self.phase: Any = Tx.alloc_scalar("int32", f"{label}_phase")
        if phase is not None:
            self.init(phase)

    @Tx.inline
    def init(self, is_producer: Any = False) -> None:
        """Go to stage 0, as a producer (phase 1: the first wait passes) or a consumer (phase 0: it blocks)."""
        self.stage = 0
        self.phase = Tx.int32(is_producer)

    @Tx.inline
    def move_to_next_stage(self) -> None:
        """Go on to the next stage; the phase flips with each round through the ring."""
        if self.depth == 1:
            self.phase = self.phase ^ 1
        else:
            self.stage = (self.stage + 1) % self.depth
            if self.stage == 0:
                self.phase = self.phase ^ 1

    advance = move_to_next_stage

    @Tx.inline
    def skip(self, steps: int) -> None:
        """Go on by `steps` stages at once, as where another role takes the ones between."""
        if steps // self.depth % 2:
            self.phase = self.phase ^ 1
        if steps % self.depth:
            self.stage = self.stage + steps % self.depth
            if self.stage >= self.depth:
                self.stage = self.stage - self.depth
                self.phase = self.phase ^ 1
