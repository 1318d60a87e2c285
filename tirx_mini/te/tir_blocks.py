"""Blocks and loops of a `tir.Schedule`: finding them, choosing factors at random, and the trace."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import TIR, Block, For, IRModule, PrimFunc, Stmt, TirxError, int_value
from tirx_mini.script import caller_span

from . import tree
from .trace import BlockRV, LoopRV, Trace, traced

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = "root"
"""The name of the block around all others."""


class BlockSchedule:
    """A function with blocks, and what a schedule asks of it.

    seed: of the random choices.
    """

    def __init__(self, mod: IRModule | PrimFunc, *, seed: int | None = None, **_: Any) -> None:
        self.func = mod.main if isinstance(mod, IRModule) else mod
        self.trace = Trace()
        self.random = Random(seed)
        self.renamed: dict[BlockRV, str] = {}
        if self.func.spelling != TIR:
            raise TirxError(f"{self.func.name} has no blocks to schedule", caller_span(), "write it with T.block")

    @property
    def mod(self) -> IRModule:
        """The function as it is now."""
        return IRModule({"main": self.func})

    def copy(self) -> Self:
        """Another schedule of the function as it is now. Blocks and loops of this one are those of the other, too."""
        made = type(self)(self.func)
        made.trace.calls = list(self.trace.calls)
        made.renamed = dict(self.renamed)
        made.random.setstate(self.random.getstate())
        return made

    def show(self, *_: Any, **__: Any) -> None:
        """Print the function, and the trace."""
        print(self.func.script())
        print(self.trace)

    # -- finding -------------------------------------------------------------------------------------------------

    @traced
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block of a name."""
        known = [block.name for block in tree.blocks_in(self.func.body)]
        if name == ROOT and ROOT not in known:
            return BlockRV(ROOT)
        if name not in known:
            raise TirxError(f"there is no block {name!r}", caller_span(), f"there are {', '.join(known)}")
        return BlockRV(name)

    @traced
    def get_loops(self, block: BlockRV) -> list[LoopRV]:
        """The loops around a block, outermost first."""
        return [LoopRV(node.var) for node in self._path(block) if isinstance(node, For)]

    @traced
    def get_producers(self, block: BlockRV) -> list[BlockRV]:
        """The blocks that write what a block reads."""
        read = set(tree.reads_of(self._block(block)))
        return [BlockRV(each.name) for each in self._others(block) if read & set(tree.writes_of(each))]

    @traced
    def get_consumers(self, block: BlockRV) -> list[BlockRV]:
        """The blocks that read what a block writes."""
        written = set(tree.writes_of(self._block(block)))
        return [BlockRV(each.name) for each in self._others(block) if written & set(tree.reads_of(each))]

    @traced
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks in a loop, or with ``get_block("root")`` all blocks."""
        whole = isinstance(block_or_loop, BlockRV) and block_or_loop.name == ROOT
        inside = self.func.body if whole else self.get(block_or_loop)
        return [BlockRV(each.name) for each in tree.blocks_in(inside) if each is not inside]

    def get_output_blocks(self, scope_block: BlockRV | str = "root") -> list[BlockRV]:
        """The blocks that write arguments."""
        params = set(self.func.params)
        blocks = tree.blocks_in(self.func.body)
        return [BlockRV(each.name) for each in blocks if params & set(tree.writes_of(each))]

    def _others(self, block: BlockRV) -> list[Block]:
        own = self._block(block)
        return [each for each in tree.blocks_in(self.func.body) if each is not own]

    def get(self, rv: BlockRV | LoopRV) -> Stmt:
        """The statement that a block or loop is now."""
        return self._block(rv) if isinstance(rv, BlockRV) else self._loop(rv)

    def _path(self, block: BlockRV) -> list[Stmt]:
        name = self.renamed.get(block, block.name)
        path = tree.path_to(self.func.body, lambda stmt: isinstance(stmt, Block) and stmt.name == name)
        if not path:
            raise TirxError(f"the block {block.name} is gone", caller_span(), "it was inlined")
        return path

    def _block(self, block: BlockRV) -> Block:
        found = self._path(block)[-1]
        assert isinstance(found, Block)
        return found

    def _loop(self, loop: LoopRV) -> For:
        path = tree.path_to(self.func.body, lambda stmt: isinstance(stmt, For) and stmt.var is loop.var)
        if not path:
            raise TirxError(f"the loop {loop} is gone", caller_span(), "use the loops that split or fuse returned")
        assert isinstance(path[-1], For)
        return path[-1]

    def _set(self, body: Stmt) -> None:
        self.func = self.func.with_body(body)

    def _swap(self, old: Stmt, new: Stmt) -> None:
        self._set(tree.replaced(self.func.body, old, new))

    # -- choices and notes ---------------------------------------------------------------------------------------

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[int]:
        """`n` factors at random whose product is the extent of a loop; the last one is at most `max_innermost_factor`.

        decision: the factors; the trace has those that were chosen.
        """
        rest, factors = extent_of(self._loop(loop)), [int(each) for each in decision or ()]
        while not decision and len(factors) < n - 1:
            most = min(rest, max_innermost_factor if not factors else rest)
            factors.insert(0, self.random.choice([each for each in range(1, most + 1) if not rest % each]))
            rest //= factors[0]
        if not decision:
            factors.insert(0, rest)
        if len(factors) != n or prod(factors) != extent_of(self._loop(loop)):
            raise TirxError(f"{loop} has {extent_of(self._loop(loop))} iterations, not {factors}", caller_span())
        known = {"max_innermost_factor": max_innermost_factor, "decision": list(factors)}
        self.trace.note("sample_perfect_tile", (loop, n), known, factors)
        return factors

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> int:
        """One of the candidates, at random. decision: its position; the trace has the one that was chosen."""
        if len(candidates) != len(probs) or not candidates:
            raise TirxError(f"{len(candidates)} candidates have {len(probs)} probabilities", caller_span())
        chosen = self.random.choices(range(len(candidates)), probs)[0] if decision is None else decision
        self.trace.note("sample_categorical", (list(candidates), list(probs)), {"decision": chosen}, candidates[chosen])
        return candidates[chosen]

    @traced
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """A note on a block or loop, which the trace keeps. It changes nothing: no pass of tirx_mini reads it."""
        self.get(block_or_loop)

    @traced
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Take a note back."""
        self.get(block_or_loop)


def extent_of(loop: For) -> int:
    """The number of iterations of a loop. Raises `TirxError` for a symbolic one."""
    extent = int_value(loop.stop)
    if extent is None:
        hint = "schedule the function for sizes that are numbers: write them in the place of the symbolic extents"
        raise TirxError(f"the loop {loop.var.name} has {loop.stop!r} iterations, which no schedule knows", None, hint)
    return extent
