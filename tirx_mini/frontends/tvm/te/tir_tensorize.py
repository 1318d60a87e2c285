"""`tir.Schedule.tensorize`: replacement of the loops around a block by an equivalent instruction."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from tirx_mini.ir import (
    REDUCE,
    SPATIAL,
    Analyzer,
    Binary,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mutator,
    Stmt,
    TirxError,
    Var,
    const,
    int_value,
    seq,
    structural_equal,
    walk,
)
from tirx_mini.script import caller_span

from . import reduction, tree
from .axis import DATA_PARALLEL, REDUCTION, IterVar
from .intrinsic import TensorIntrin
from .nest import Loop, Nest
from .reduction import Reduce, Reducer
from .stage import Stage
from .storage import Storage
from .tensor import ComputeOp, PlaceholderOp, Tensor, defined
from .tensorize import tensorized

_REDUCERS: dict[str, Reducer] = {
    "+": reduction.sum, "*": reduction.prod, "max": reduction.max, "min": reduction.min,
}  # fmt: skip


def tensorized_loops(root: Stmt, at: For, intrin: TensorIntrin) -> Stmt:
    """Return the statements of `intrin` that replace the loops from `at` on. root: the enclosing function body.

    Raises `TirxError` where the instruction computes something else, or the loops hold more than one block.
    """
    return _Block(root, at, intrin.name).statement(intrin)


class Computation(NamedTuple):
    """The computation performed by the loops around one block.

    target: the buffer that it writes. tensors: for the buffers that it reads, the tensors in `op`. continues: whether
    it accumulates into previous contents.
    """

    op: ComputeOp
    target: Buffer
    tensors: dict[Any, Tensor]
    continues: bool


def computation_of(loops: For, name: str) -> Computation:
    """Return the computation described for the instruction `name`. Raises `TirxError` for more than one block."""
    whole = _Block(loops, loops, name)
    op = ComputeOp(name, whole.axes(), whole.body(), span=whole.block.span)
    target = whole.store.buffer
    defined(op, tuple(int(extent) for extent in target.shape), target.dtype)
    continues = REDUCE in whole.block.kinds and whole.block.init is None
    return Computation(op, target, dict(whole.tensors), continues)


class _Block:
    """A block with its loop nest, viewed as a tensor-expression stage for matching by `tensorize`."""

    def __init__(self, root: Stmt, at: For, name: str) -> None:
        self.at, self.name = at, name
        self.block, self.inner = self._only_block()
        self.around = [each for each in tree.path_to(root, lambda stmt: stmt is at)[:-1] if isinstance(each, For)]
        self.ranges: Analyzer = tree.ranges_of(root)
        self.tensors: dict[Buffer, Tensor] = {}
        store = self.block.body
        if not isinstance(store, BufferStore):
            self._refuse("it computes more than one element at a time")
        self.store = store

    def _refuse(self, why: str) -> NoReturn:
        what = f"the loops from {self.at.var.name} on cannot be tensorized by {self.name}"
        raise TirxError(f"{what}: {why}", caller_span())

    def _only_block(self) -> tuple[Block, list[For]]:
        loops, node = [self.at], self.at.body
        while isinstance(node, For):
            loops.append(node)
            node = node.body
        if not isinstance(node, Block):
            self._refuse("they hold more than a block")
        return node, loops

    def statement(self, intrin: TensorIntrin) -> Stmt:
        reduces = REDUCE in self.block.kinds
        op = ComputeOp(self.block.name, self.axes(), self.body(), span=self.block.span)
        target = self.store.buffer
        result = defined(op, tuple(int(extent) for extent in target.shape), target.dtype)
        storages = {tensor: _whole(buffer) for buffer, tensor in self.tensors.items()}
        storages[result] = _whole(target)
        continues = reduces and self.block.init is None
        nest = self._nest(Stage(op))
        made = tensorized(nest, len(self.around), op.body, intrin, storages, self.ranges, continues)
        if made.init is None or continues:
            return made.update
        if any(self._kind(loop) == REDUCTION for loop in self.around):
            self._refuse(
                "its reduction goes on in a loop around it: call decompose_reduction first, so that it begins once"
            )
        return seq(made.init, made.update)

    def _nest(self, stage: Stage) -> Nest:
        """Return the loop nest of the block, with the values of its variables."""
        values: dict[Var, Expr] = dict(zip(self.block.vars, self.block.values, strict=True))
        guards = [(self.block.predicate, False)] if self.block.predicate is not None else []
        nest = Nest(stage, (const(0),) * stage.tensor.ndim, stage.tensor.shape, values=values, guards=guards)
        for loop in (*self.around, *self.inner):
            extent = tree.size_of(loop.stop, loop.var.name)
            axis = IterVar(loop.var, self._kind(loop), 0, extent)
            nest.loops.append(Loop(axis, loop.var, extent, loop.kind, loop.thread))
        return nest

    def _kind(self, loop: For) -> str:
        """Return the kind of a loop: reduction or data parallel."""
        pairs = zip(self.block.kinds, self.block.values, strict=True)
        used = {part for kind, value in pairs if kind == REDUCE for part in walk(value)}
        return REDUCTION if loop.var in used else DATA_PARALLEL

    def axes(self) -> tuple[IterVar, ...]:
        """Return the block variables that index the dimensions of its output buffer."""
        known = self._variables(SPATIAL, DATA_PARALLEL)
        indices = self.store.indices
        if not all(isinstance(index, Var) and index in known for index in indices) or len(set(indices)) != len(known):
            self._refuse("the block does not write the element of its variables")
        return tuple(known[index] for index in indices if isinstance(index, Var))

    def _variables(self, kind: str, meant: str) -> dict[Var, IterVar]:
        triples = zip(self.block.vars, self.block.kinds, self.block.domains, strict=True)
        return {
            var: IterVar(var, meant, int_value(domain.start) or 0, tree.size_of(domain.extent, self.block.name))
            for var, of, domain in triples if of == kind
        }  # fmt: skip

    def body(self) -> Expr:
        """Return the value of an element as a tensor expression."""
        value = self.store.value
        if REDUCE not in self.block.kinds:
            return self._read(value)
        own = BufferLoad(value.dtype, self.store.buffer, self.store.indices)
        if not isinstance(value, Binary) or value.op not in _REDUCERS or not structural_equal(value.a, own):
            self._refuse("the block does not combine what it wrote before with one more value, as in C[i] = C[i] + x")
        source, axes = self._read(value.b), tuple(self._variables(REDUCE, REDUCTION).values())
        return Reduce(source.dtype, _REDUCERS[value.op], source, axes)

    def _read(self, value: Expr) -> Expr:
        """Rewrite buffer loads in an expression as tensor elements."""
        tensors = self.tensors

        class Read(Mutator):
            def visit_BufferLoad(self, node: BufferLoad) -> Expr:
                buffer = node.buffer
                if buffer not in tensors:
                    shape = tuple(int(extent) for extent in buffer.shape)
                    tensors[buffer] = defined(PlaceholderOp(buffer.name), shape, buffer.dtype)
                return BufferLoad(node.dtype, tensors[buffer], tuple(map(self.expr, node.indices)), span=node.span)

        return Read().expr(value)


def _whole(buffer: Buffer) -> Storage:
    return Storage(buffer, (const(0),) * buffer.ndim, tuple(range(buffer.ndim)), by_dims=True)
