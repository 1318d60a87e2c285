"""Blocks and loops of a `tir.Schedule`: lookup, random sampling and the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import TIR, AllocBuffer, Block, For, IRModule, PrimFunc, Stmt, TirxError, int_value, seq
from tirx_mini.script import caller_span

from . import tree
from .trace import BlockRV, LoopRV, Trace, traced

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = "root"
"""The name of the block around all others."""


class BlockSchedule:
    """The base of `tir.Schedule`: a function with blocks, and its lookup methods.

    seed: of the random choices.
    """

    def __init__(self, mod: IRModule | PrimFunc, *, seed: int | None = None, **_: object) -> None:
        whole = mod if isinstance(mod, IRModule) else IRModule({"main": mod})
        self.functions = {str(name): opened(func) for name, func in whole.functions.items()}
        self.trace = Trace()
        self.random = Random(seed)
        self.renamed: dict[BlockRV, str] = {}
        self.notes: dict[LoopRV, dict[str, Any]] = {}
        scheduled = [name for name, func in self.functions.items() if func.spelling == TIR]
        if not scheduled:
            name = next(iter(whole.functions.values())).name if whole.functions else "the module"
            raise TirxError(f"{name} has no blocks to schedule", caller_span(), "write it with T.block")
        self.working_on = "main" if "main" in scheduled else scheduled[0]

    @property
    def func(self) -> PrimFunc:
        """The current function of the schedule."""
        return self.functions[self.working_on]

    @func.setter
    def func(self, func: PrimFunc) -> None:
        self.functions[self.working_on] = func

    @property
    def mod(self) -> IRModule:
        """The current module."""
        return IRModule(self.functions)

    def work_on(self, func_name: str) -> None:
        """Select the function of the module in which blocks are looked up."""
        self._known(func_name)
        self.working_on = func_name

    def _known(self, func_name: str) -> None:
        if func_name not in self.functions:
            raise TirxError(
                f"the module has no function {func_name!r}", caller_span(), f"it has {', '.join(self.functions)}"
            )

    def focus(self, rv: object) -> None:
        """Select the function that contains a block or loop."""
        if isinstance(rv, BlockRV) and rv.function in self.functions:
            self.working_on = rv.function
        if isinstance(rv, LoopRV) and len(self.functions) > 1:
            own = (n for n, func in self.functions.items() if any(f.var is rv.var for f in tree.loops_in(func.body)))
            self.working_on = next(own, self.working_on)

    def copy(self) -> Self:
        """Return a copy of the schedule, in which the block and loop handles of this one remain valid."""
        made = type(self)(self.mod)
        made.working_on = self.working_on
        made.trace.calls = list(self.trace.calls)
        made.renamed = dict(self.renamed)
        made.notes = {loop: dict(notes) for loop, notes in self.notes.items()}
        made.random.setstate(self.random.getstate())
        return made

    def show(self, *_: object, **__: object) -> None:
        """Print the functions and the trace."""
        for func in self.functions.values():
            print(func.script())
        print(self.trace)

    # -- finding -------------------------------------------------------------------------------------------------

    @traced
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of a name in the selected function, or in `func_name`."""
        if func_name is not None:
            self.work_on(func_name)
        known = [block.name for block in tree.all_blocks(self.func.body)]
        if name not in known and name != ROOT:
            raise TirxError(f"there is no block {name!r}", caller_span(), f"there are {', '.join(known)}")
        return BlockRV(name, self.working_on)

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return a block, as `get_block`; the name in Apache TVM 0.26."""
        return self.get_block(name, func_name)

    @traced
    def get_loops(self, block: BlockRV) -> list[LoopRV]:
        """Return the loops around a block, outermost first."""
        loops: list[LoopRV] = []
        for node in self._path(block)[:-1]:
            if isinstance(node, Block):
                loops = []
            elif isinstance(node, For):
                loops.append(LoopRV(node.var))
        return loops

    @traced
    def get_producers(self, block: BlockRV) -> list[BlockRV]:
        """Return the blocks that write a block's inputs."""
        read = set(tree.reads_of(self._block(block)))
        return [self._named(each) for each in self._others(block) if read & set(tree.writes_of(each))]

    @traced
    def get_consumers(self, block: BlockRV) -> list[BlockRV]:
        """Return the blocks that read a block's outputs."""
        written = set(tree.writes_of(self._block(block)))
        return [self._named(each) for each in self._others(block) if written & set(tree.reads_of(each))]

    @traced
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """Return the blocks inside a loop or block; ``get_block("root")`` stands for the whole function."""
        whole = isinstance(block_or_loop, BlockRV) and block_or_loop.name == ROOT
        inside = self.func.body if whole else self.get(block_or_loop)
        return [self._named(each) for each in tree.blocks_in(inside.body if isinstance(inside, Block) else inside)]

    def get_output_blocks(self, scope_block: BlockRV | str = "root") -> list[BlockRV]:
        """Return the blocks that write function arguments."""
        params = set(self.func.params)
        blocks = tree.blocks_in(self.func.body)
        return [self._named(each) for each in blocks if params & set(tree.writes_of(each))]

    def _named(self, block: Block) -> BlockRV:
        return BlockRV(block.name, self.working_on)

    def _others(self, block: BlockRV) -> list[Block]:
        own = self._block(block)
        return [each for each in tree.blocks_in(self.func.body) if each is not own]

    def get(self, rv_or_name: object, func_name: str | None = None) -> Any:
        """Return the current statement of a block or loop, a function by name, or a number unchanged."""
        if isinstance(rv_or_name, str):
            self._known(rv_or_name)
            return self.functions[rv_or_name]
        self.focus(rv_or_name)
        if isinstance(rv_or_name, BlockRV):
            return self._block(rv_or_name)
        return self._loop(rv_or_name) if isinstance(rv_or_name, LoopRV) else rv_or_name

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

    def _unused(self, name: str) -> str:
        """Return `name`, with a numeric suffix if a block already has it."""
        known = {block.name for block in tree.all_blocks(self.func.body)}
        return next(n for n in (name, *(f"{name}_{i}" for i in range(1, len(known) + 2))) if n not in known)

    def _set(self, body: Stmt) -> None:
        self.func = self.func.with_body(body)

    def _swap(self, old: Stmt, new: Stmt) -> None:
        self._set(tree.replaced(self.func.body, old, new))

    # -- choices and notes ---------------------------------------------------------------------------------------

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[int]:
        """Sample `n` factors whose product is the extent of a loop, the last at most `max_innermost_factor`.

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
        """Sample one of the candidates. decision: its position, which the trace records."""
        if len(candidates) != len(probs) or not candidates:
            raise TirxError(f"{len(candidates)} candidates have {len(probs)} probabilities", caller_span())
        chosen = self.random.choices(range(len(candidates)), probs)[0] if decision is None else decision
        self.trace.note("sample_categorical", (list(candidates), list(probs)), {"decision": chosen}, candidates[chosen])
        return candidates[chosen]

    @traced
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
        """Annotate a block, shown as `T.block_attr` in its text, or a loop, recorded only in the schedule.

        No pass of tirx_mini reads it, and it changes no result.
        """
        node = self.get(block_or_loop)
        if isinstance(node, Block):
            self._swap(node, replace(node, attrs=tuple({**dict(node.attrs), ann_key: ann_val}.items())))
        else:
            self.notes.setdefault(self._kept(block_or_loop), {})[ann_key] = ann_val

    @traced
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Remove an annotation. Raises `TirxError` if the key is absent."""
        node = self.get(block_or_loop)
        notes = dict(node.attrs) if isinstance(node, Block) else self.notes.get(self._kept(block_or_loop), {})
        if ann_key not in notes:
            known = f"there are {', '.join(map(repr, notes))}" if notes else "there are no notes on it"
            raise TirxError(f"there is no note {ann_key!r} to take back", caller_span(), known)
        del notes[ann_key]
        if isinstance(node, Block):
            self._swap(node, replace(node, attrs=tuple(notes.items())))

    def _kept(self, loop: Any) -> LoopRV:
        """Return the loop handle under which the annotations of a variable are stored."""
        return next((each for each in self.notes if each.var is loop.var), loop)


def opened(func: PrimFunc) -> PrimFunc:
    """Remove the `root` block that TVM's text may have around all others."""
    body = func.body
    if isinstance(body, Block) and body.name == ROOT and not body.vars and body.init is None:
        return func.with_body(seq(*(AllocBuffer(buffer, span=body.span) for buffer in body.allocs), body.body))
    return func


def extent_of(loop: For) -> int:
    """Return the number of iterations of a loop. Raises `TirxError` for a symbolic one."""
    extent = int_value(loop.stop)
    if extent is None:
        hint = "schedule the function for sizes that are numbers: write them in the place of the symbolic extents"
        raise TirxError(f"the loop {loop.var.name} has {loop.stop!r} iterations, which no schedule knows", None, hint)
    return extent
