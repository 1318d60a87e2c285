"""`tensorize`: replacement of a stage's innermost loops by an equivalent instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from tirx_mini.ir import (
    AddressOf,
    Analyzer,
    Binary,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    Hint,
    Mutator,
    Select,
    Stmt,
    TirxError,
    Unary,
    Var,
    const,
    int_value,
    substitute,
    walk,
)
from tirx_mini.passes import TENSOR_INTRIN, Interval, interval
from tirx_mini.records import dataclass, replace

from .axis import REDUCTION, IterVar
from .intrinsic import TensorIntrin
from .nest import Nest
from .reduction import Reduce
from .storage import Storage
from .tensor import Tensor


class Tensorized(NamedTuple):
    """The replacement of the loops: `update`, preceded by `init` if an outer loop continues the reduction."""

    init: Stmt | None
    update: Stmt


def tensorized(
    nest: Nest,
    depth: int,
    body: Expr,
    intrin: TensorIntrin,
    storages: dict[Tensor, Storage],
    ranges: Analyzer,
    continues: bool = False,
) -> Tensorized:
    """Return the statements of `intrin` that replace the loops of `nest` from `depth` on.

    body: the value of an element of the stage. continues: whether its reduction started elsewhere. Raises `TirxError`
    where the instruction computes something else.
    """
    match = _Match(nest, depth, intrin, ranges)
    match.axes()
    single = {axis.var: const(0) for axis in (*intrin.op.axis, *intrin.op.reduce_axis) if axis.extent == 1}
    match.expression(substitute(intrin.op.body, single), substitute(body, match.values))
    stage = nest.stage
    inputs = [match.view(tensor, storages[match.tensors[tensor]], match.firsts[tensor]) for tensor in intrin.inputs]
    output = match.view(intrin.op.tensor, storages[stage.tensor], match.first)
    if not callable(intrin.lower):
        raise match.error("its declaration has no statements", "pass decl_tensor_intrin a function that returns them")
    made = intrin.lower(inputs, [output])
    whole, reset, update = (*(made if isinstance(made, tuple) else (made, None, None)), None, None)[:3]
    if continues and reset is None and update is not None:
        return Tensorized(None, match.marked(update))
    outside = continues or any(loop.axis.kind == REDUCTION and loop.written for loop in nest.loops[:depth])
    if not outside and whole is not None:
        return Tensorized(None, match.marked(whole))
    if isinstance(body, Reduce) and (reset is None or update is None):
        raise match.error(
            "its reduction goes on in a loop around it, and it has no initialisation and step"
            if update is None
            else "the instruction adds to what is there, and the stage begins its reduction itself",
            None if update is None else "call decompose_reduction first",
        )
    if reset is None or update is None:
        raise match.error("the instruction returned no statement")
    return Tensorized(match.marked(reset), match.marked(update))


@dataclass(eq=False)
class _Match:
    """The match of an instruction against a region of a stage.

    values: the axes of the stage in terms of those of the instruction.
    regions: the regions that the instruction's buffers denote.
    tensors, firsts: for each input of the instruction, the tensor of the stage, and where its region begins.
    """

    nest: Nest
    depth: int
    intrin: TensorIntrin
    ranges: Analyzer
    values: dict[Var, Expr] = field(default_factory=dict)
    first: tuple[Expr, ...] = ()
    tensors: dict[Tensor, Tensor] = field(default_factory=dict)
    firsts: dict[Tensor, tuple[Expr, ...]] = field(default_factory=dict)
    regions: dict[Buffer, _Region] = field(default_factory=dict)

    def error(self, why: str, hint: str | None = None) -> TirxError:
        return TirxError(
            f"{self.nest.stage.op.name} cannot be tensorized by {self.intrin.name}: {why}",
            self.nest.stage.op.span,
            hint,
        )

    def axes(self) -> None:
        """Match the axes; the region must have the instruction's extents, after extents of 1."""
        op, inner = self.intrin.op, {loop.var for loop in self.nest.loops[self.depth :]}
        for guard, _ in self.nest.guards:
            if any(part in inner for part in walk(guard)):
                raise self.error("not all of the region is computed: let the factors of its loops divide the extents")
        own = self.nest.stage.compute
        self.first = tuple(part.first for part in self._along(own.axis, op.axis, inner))
        self._along(own.reduce_axis, op.reduce_axis, inner)

    def _along(self, axes: Sequence[IterVar], wanted: Sequence[IterVar], inner: set[Var]) -> list[Interval]:
        parts: list[Interval] = []
        for axis in axes:
            extent = axis.size
            value = self.nest.values[axis.var]
            parts.append(interval(value, lambda var: var in inner, self.ranges, extent))
        moving = [n for n, part in enumerate(parts) if part.size > 1]
        places = list(range(len(parts) - len(wanted), len(parts))) if len(parts) >= len(wanted) else []
        sizes = [parts[n].size for n in places]
        if sizes != [axis.extent for axis in wanted] or not set(moving) <= set(places):
            region = " × ".join(str(part.size) for part in parts) or "nothing"
            asked = " × ".join(str(axis.extent) for axis in wanted) or "nothing"
            raise self.error(
                f"the loops from there on cover {region}, and the instruction {asked}",
                "split the loops by the extents of the instruction, and reorder: all outer loops first, then the inner "
                "ones, and tensorize the first of these",
            )
        for n, (axis, part) in enumerate(zip(axes, parts, strict=True)):
            step = wanted[places.index(n)].var if n in places and part.size > 1 else const(0)
            self.values[axis.var] = part.first + step
        return parts

    def expression(self, theirs: Expr, ours: Expr) -> None:
        """Match the instruction's element expression against the stage's."""
        if isinstance(theirs, BufferLoad) and isinstance(ours, BufferLoad):
            self._load(theirs, ours)
            return
        same = type(theirs) is type(ours) and theirs.dtype == ours.dtype
        if isinstance(theirs, Const) and isinstance(ours, Const):
            same = same and theirs.value == ours.value
        elif isinstance(theirs, (Binary, Unary)) and isinstance(ours, (Binary, Unary)):
            same = same and theirs.op == ours.op
        elif isinstance(theirs, Reduce) and isinstance(ours, Reduce):
            same = same and theirs.reducer is ours.reducer and theirs.where is ours.where is None
        elif not isinstance(theirs, (Cast, Select, Call)):
            same = False
        if not same:
            raise self.error(f"the stage computes {ours!r}, and the instruction {theirs!r}")
        for name in ("source", "value", "cond", "a", "b"):
            if name in theirs.__dataclass_fields__ and not isinstance(theirs, Const):
                self.expression(getattr(theirs, name), getattr(ours, name))

    def _load(self, theirs: BufferLoad, ours: BufferLoad) -> None:
        own = {axis.var for axis in (*self.intrin.op.axis, *self.intrin.op.reduce_axis)}
        parts = [self.ranges.partition(index, lambda part: any(v in own for v in walk(part))) for index in ours.indices]
        skipped = len(ours.indices) - len(theirs.indices)
        fits = skipped >= 0 and all(int_value(moving) == 0 for moving, _ in parts[:skipped])
        fits = fits and theirs.dtype == ours.dtype and all(
            Analyzer().equal(moving, index) for (moving, _), index in zip(parts[skipped:], theirs.indices, strict=True)
        )  # fmt: skip
        tensor, source = theirs.buffer, ours.buffer
        assert isinstance(tensor, Tensor) and isinstance(source, Tensor)
        if not fits or self.tensors.get(tensor, source) is not source:
            raise self.error(f"the stage reads {ours!r}, and the instruction {theirs!r}")
        self.tensors[tensor] = source
        self.firsts[tensor] = tuple(still for _, still in parts)

    def view(self, tensor: Tensor, storage: Storage, first: Sequence[Expr]) -> Buffer:
        """Return the region of a tensor at `first` as a buffer of the instruction's shape."""
        start, strides = storage.region(first, self.ranges)
        shape = tensor.shape
        if storage.fragments is not None:
            shape, strides = storage.fragments, [1]
        view = Buffer(f"{storage.buffer.name}_tile", shape, tensor.dtype, storage.buffer.scope)
        dims = tuple(first) if storage.by_dims else None
        self.regions[view] = _Region(storage.buffer, start, tuple(strides[len(strides) - len(shape) :]), dims)
        return view

    def marked(self, stmt: Stmt) -> Stmt:
        """Mark the instruction's statements as executed jointly by all lanes of a warp."""
        placed = _Placed(self.regions, self.ranges).stmt(stmt)
        return Hint("", ((TENSOR_INTRIN, self.intrin.name),), placed, span=self.nest.stage.op.span)


class _Region(NamedTuple):
    """A region of a buffer, given by its element offset and strides.

    dims: where it begins along each dimension of a buffer whose size is not decided yet.
    """

    buffer: Buffer
    start: Expr
    strides: tuple[int, ...]
    dims: tuple[Expr, ...] | None


class _Placed(Mutator):
    """Replaces accesses of regions by accesses of the underlying buffers."""

    def __init__(self, regions: Mapping[Buffer, _Region], ranges: Analyzer) -> None:
        self.regions, self.ranges = regions, ranges

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self._at(self.rebuild(node))

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        return self._at(self.rebuild(node))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return self._at(self.rebuild(node))

    def _at(self, node: Any) -> Any:
        region = self.regions.get(node.buffer)
        if region is None:
            return node
        if region.dims is not None:
            skipped = len(region.dims) - len(node.indices)
            moved = (first + index for first, index in zip(region.dims[skipped:], node.indices, strict=True))
            indices = tuple(self.ranges.simplify(index) for index in (*region.dims[:skipped], *moved))
            return replace(node, buffer=region.buffer, indices=indices)
        place = region.start
        for index, stride in zip(node.indices, region.strides, strict=True):
            place = place + index * stride
        return replace(node, buffer=region.buffer, indices=(self.ranges.simplify(place),))

