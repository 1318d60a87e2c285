"""The position of a role in a ring of pipeline stages."""

from __future__ import annotations

from typing import Any, overload

from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import tirx as Tx

from .arguments import Integer, check_count, given


class PipelineState:
    """The current stage of a role, and the parity of the phase to wait for in that stage.

    There are two spellings: ``PipelineState("tma", 4)`` with `init(is_producer=…)` and `move_to_next_stage()`, and
    TVM's newer ``PipelineState(4, phase=1)`` with `advance()`.

    A producer starts with phase 1: its first wait returns at once, because all stages are empty. A consumer starts with
    phase 0: its first wait blocks until a producer has filled the stage.

    name: the prefix of the names of its two variables, `NAME_stage` and `NAME_phase`. It can be omitted.
    depth: the number of stages.
    phase: the initial phase, 1 for a producer and 0 for a consumer. If it is given, no call of `init` is needed.

    Its attribute `stage` is the current stage, 0 to depth - 1, and `phase` the parity to wait for in that stage.

    Cost: two registers of each thread. An advance is an addition, a remainder, a comparison and an exclusive or.

    Example:

        state = PipelineState("tma", 4)
        state.init(is_producer=True)
        for k in range(16):
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([state.stage % 2]), state.phase)
            state.move_to_next_stage()
    """

    @overload
    def __init__(self, name: str, depth: int, phase: Integer | None = None) -> None: ...
    @overload
    def __init__(self, depth: int, phase: Integer | None = None) -> None: ...
    def __init__(  # pyright: ignore[reportInconsistentOverload] - the first argument is the name or the depth
        self, name: object = None, depth: Any = None, phase: object = None
    ) -> None:
        if name is not None and not isinstance(name, str):  # PipelineState(depth, phase)
            if isinstance(depth, str):
                raise TirxError(
                    "PipelineState is given its number of stages before its name",
                    hint=f'write PipelineState("{depth}", {name})',
                )
            name, depth, phase = None, name, depth if phase is None else phase
        check_count(
            "the number of stages of PipelineState",
            depth,
            'write PipelineState("tma", PIPE_DEPTH) or PipelineState(PIPE_DEPTH, phase=1)',
        )
        self.depth: int = depth
        label = name or Tx.variable_name("pipe")
        self.stage: Any = Tx.alloc_scalar("int32", f"{label}_stage")
        self.phase: Any = Tx.alloc_scalar("int32", f"{label}_phase")
        if phase is not None:
            self.init(_initial("phase", phase))

    @Tx.inline
    def init(self, is_producer: Integer = False) -> None:
        """Start at stage 0.

        is_producer: whether the role is a producer. Then the phase is 1, and the first wait does not block; otherwise
            it is 0.
        """
        self.stage = 0
        self.phase = Tx.int32(_initial("is_producer", is_producer))

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
        """Advance by several stages at once, for example over the stages that another role handles.

        steps: the number of stages, a Python number.
        """
        if steps // self.depth % 2:
            self.phase = self.phase ^ 1
        if steps % self.depth:
            self.stage = self.stage + steps % self.depth
            if self.stage >= self.depth:
                self.stage = self.stage - self.depth
                self.phase = self.phase ^ 1


def _initial(name: str, value: object) -> Integer:
    """Return an initial phase; raises TirxError for an invalid one."""
    if isinstance(value, Expr) or (isinstance(value, int) and value in (0, 1)):
        return value
    write = "is_producer=True for a producer, and False" if name == "is_producer" else "phase=1 for a producer, and 0"
    raise TirxError(
        f"{name} of PipelineState must be {'a truth value' if name == 'is_producer' else '0 or 1'}, but {given(value)}",
        hint=f"write {write} for a consumer",
    )
