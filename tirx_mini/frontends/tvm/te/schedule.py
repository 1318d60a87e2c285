"""`create_schedule`: the stages of a computation in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tirx_mini.ir import INT32, TirxError, Var, substitute
from tirx_mini.script import caller_span

from .axis import DATA_PARALLEL, REDUCTION, IterVar
from .rfactor import partial_results
from .stage import Stage, checked_scope, relation_kind
from .tensor import ComputeOp, Operation, Tensor, defined


class Schedule:
    """The schedule of a computation. ``s[C]`` is the stage of the tensor `C`, or of its operation.

    stages: producers before the stages that read them.
    outputs: the tensors that the computation is for.
    """

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.outputs = tuple(outputs)
        self.stages = [Stage(op) for op in _in_order(tensor.op for tensor in outputs)]
        for tensor in outputs:
            self[tensor].is_output = True

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        tensor = key.tensor if isinstance(key, Operation) else key
        for stage in self.stages:
            if any(own is tensor for own in stage.tensors):
                return stage
        name = getattr(key, "name", repr(key))
        known = ", ".join(stage.op.name for stage in self.stages)
        raise TirxError(f"{name} is not a tensor of this schedule", caller_span(), f"it has {known}")

    def readers(self, tensor: Tensor) -> list[Stage]:
        """Return the stages that read a tensor."""
        return [stage for stage in self.stages if tensor in stage.op.input_tensors]

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Add a stage that copies `tensor` into the memory `scope`, and let `readers` read the copy.

        readers: tensors or operations, one or a list of them.
        """
        source, checked = self[tensor], checked_scope(scope)
        given = readers if isinstance(readers, (list, tuple)) else [readers]
        stages = [self[reader] for reader in given]
        for stage in stages:
            if tensor not in stage.op.input_tensors:
                reads = ", ".join(each.name for each in stage.op.input_tensors) or "nothing"
                hint = f"it reads {reads}; name the stage that reads {tensor.name}"
                raise TirxError(f"cache_read: {stage.op.name} does not read {tensor.name}", caller_span(), hint)
        axes = _fresh_axes([f"ax{number}" for number in range(tensor.ndim)], tensor.shape)
        copy = ComputeOp(f"{tensor.name}.{scope}", axes, tensor[tuple(axis.var for axis in axes)], span=caller_span())
        cached = defined(copy, tensor.shape, tensor.dtype)
        self.stages.insert(self.stages.index(source) + 1, Stage(copy, scope=checked))
        for stage in stages:
            _replace_body(stage, substitute(stage.compute.body, {}, {tensor: cached}))
        return cached

    def cache_write(self, tensor: Tensor, scope: str) -> Tensor:
        """Add a stage that computes `tensor` in the memory `scope`; the original stage copies the result."""
        stage, checked = self[tensor], checked_scope(scope)
        op = stage.compute
        stage.single("cache_write")
        if stage.scheduled:
            raise TirxError(
                f"cache_write: {op.name} already has transformations, which would be lost",
                caller_span(),
                "call cache_write before split, reorder, bind and compute_at",
            )
        axes = _fresh_axes([f"{axis.name}.c" for axis in op.axis], tensor.shape)
        renamed = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
        writer = ComputeOp(f"{tensor.name}.{scope}", axes, substitute(op.body, renamed), span=caller_span())
        cached = defined(writer, tensor.shape, tensor.dtype)
        self.stages.insert(self.stages.index(stage), Stage(writer, scope=checked))
        _replace_body(stage, cached[tuple(axis.var for axis in op.axis)])
        stage.leaves = list(op.axis)
        return cached

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor:
        """Factor a reduction into two stages. The new stage computes the partial result of each iteration of `axis`,
        along a new dimension; the stage of `tensor` reduces that dimension.

        axis: a loop over which `tensor` reduces. factor_axis: the position of the new dimension. The sum has another
        order then, and with it the rounding of its last bits. ``s[tensor].op.reduce_axis[0]`` is the loop that is left.
        """
        stage = self[tensor]
        stage.single("rfactor")
        partial, over, body = partial_results(stage, axis, factor_axis)
        self.stages.insert(self.stages.index(stage), Stage(partial.op))
        _replace_body(stage, body)
        kept = [leaf for leaf in stage.leaves if leaf.kind != REDUCTION]
        first = next(place for place, leaf in enumerate(stage.leaves) if leaf.kind == REDUCTION)
        stage.leaves = [*kept[:first], over, *kept[first:]]
        stage.relations = [each for each in stage.relations if relation_kind(each) != REDUCTION]
        stage.kinds = {leaf: kind for leaf, kind in stage.kinds.items() if leaf.kind != REDUCTION}
        return partial

    def normalize(self) -> Schedule:
        """Return the schedule itself, which is always in normal form."""
        return self


def create_schedule(ops: Any) -> Schedule:
    """Return the default schedule of `ops`, which computes each tensor in full with its loops in order."""
    given = ops if isinstance(ops, (list, tuple)) else [ops]
    tensors = [op.tensor if isinstance(op, Operation) else op for op in given]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TirxError(f"{tensor!r} is not an operation", caller_span(), "write te.create_schedule(C.op)")
    return Schedule(tensors)


def _fresh_axes(names: Sequence[str], shape: Sequence[int]) -> tuple[IterVar, ...]:
    return tuple(
        IterVar(Var(INT32, name), DATA_PARALLEL, 0, extent) for name, extent in zip(names, shape, strict=True)
    )


def _replace_body(stage: Stage, body: Any) -> None:
    """Replace the body of a stage, keeping its axes and loops."""
    old = stage.compute
    new = ComputeOp(old.name, old.axis, body, span=old.span)
    new.tensors = old.tensors
    stage.op = new


def _in_order(ops: Iterable[Operation]) -> list[Operation]:
    """Return the operations and their transitive inputs, producers first."""
    found: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op not in found:
            for tensor in op.input_tensors:
                visit(tensor.op)
            found.setdefault(op)

    for op in ops:
        visit(op)
    return list(found)
