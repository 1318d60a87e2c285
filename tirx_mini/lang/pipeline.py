"""The position of a role in a ring of pipeline stages."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.script import tirx as Tx


class PipelineState:
    """The current stage of a role, and the parity of the phase that it waits for in that stage.

    There are two spellings: ``PipelineState("tma", 4)`` with `init(is_producer=…)` and `move_to_next_stage()`, and
    ``PipelineState(4, phase=1)`` with `advance()`.

    depth: the number of stages.
    phase: the initial phase. If it is given, no call of `init` is needed. A producer starts with phase 1: its first
        wait returns at once, because all stages are empty. A consumer starts with phase 0: its first wait blocks.
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
        """Start at stage 0, as a producer (phase 1: the first wait does not block) or as a consumer (phase 0)."""
        self.stage = 0
        self.phase = Tx.int32(is_producer)

    @Tx.inline
    def move_to_next_stage(self) -> None:
        """Advance to the next stage. The phase flips with each pass through the ring."""
        if self.depth == 1:
            self.phase = self.phase ^ 1
        else:
            self.stage = (self.stage + 1) % self.depth
            if self.stage == 0:
                self.phase = self.phase ^ 1

    advance = move_to_next_stage

    @Tx.inline
    def skip(self, steps: int) -> None:
        """Advance by `steps` stages at once, for example over the stages that another role handles."""
        if steps // self.depth % 2:
            self.phase = self.phase ^ 1
        if steps % self.depth:
            self.stage = self.stage + steps % self.depth
            if self.stage >= self.depth:
                self.stage = self.stage - self.depth
                self.phase = self.phase ^ 1
