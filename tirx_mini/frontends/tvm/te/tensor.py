"""Tensors and their defining operations: `placeholder` and `compute`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from tirx_mini.ir import (
    INT32,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Span,
    TirxError,
    Var,
    as_expr,
    int_value,
    simplify,
    walk,
)
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

from .axis import DATA_PARALLEL, IterVar
from .reduction import Group, Reduce


@dataclass(eq=False)
class Operation:
    """Base class of tensor definitions."""

    name: str
    span: Span | None = field(default=None, kw_only=True)
    tensors: tuple[Tensor, ...] = field(default=(), init=False, repr=False)

    @property
    def tensor(self) -> Tensor:
        """The defined tensor, or the first of several."""
        return self.tensors[0]

    @property
    def num_outputs(self) -> int:
        return len(self.tensors)

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that the operation reads, in order of first use."""
        return []

    def output(self, index: int = 0) -> Tensor:
        """Return an output tensor of the operation."""
        if not 0 <= index < len(self.tensors):
            raise TirxError(f"{self.name} has {len(self.tensors)} output(s), and none of index {index}", caller_span())
        return self.tensors[index]


@dataclass(eq=False)
class PlaceholderOp(Operation):
    """A tensor provided by the caller."""


@dataclass(eq=False)
class ComputeOp(Operation):
    """An elementwise definition of a tensor.

    axis: one axis for each dimension of the tensor.
    body: the value of an element, in the variables of `axis`: a `Reduce` for a reduction, and a `Group` for values of
        several tensors.
    """

    axis: tuple[IterVar, ...]
    body: Expr

    @property
    def reduction(self) -> Reduce | None:
        return self.body if isinstance(self.body, Reduce) else None

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        return self.body.axes if isinstance(self.body, Reduce) else ()

    @property
    def input_tensors(self) -> list[Tensor]:
        return tensors_in(self.body)


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(Buffer):
    """A tensor defined by an operation. ``A[i, j]`` and ``A(i, j)`` are the value of an element.

    op: a `PlaceholderOp` or a `ComputeOp`. Schedules require the axes of a `ComputeOp`.
    """

    op: Any = field(kw_only=True)

    def __call__(self, *indices: object) -> Expr:
        return self[indices]

    @property
    def value_index(self) -> int:
        """The output index of the tensor in its operation."""
        return next(n for n, tensor in enumerate(self.op.tensors) if tensor is self)


def tensors_in(expr: Expr) -> list[Tensor]:
    """Return the tensors that an expression reads, in order of first use."""
    loads = (node.buffer for node in walk(expr) if isinstance(node, BufferLoad))
    return list(dict.fromkeys(tensor for tensor in loads if isinstance(tensor, Tensor)))


def defined(op: Operation, shape: tuple[int, ...], dtype: DataType) -> Tensor:
    """Create the tensor that `op` defines."""
    op.tensors = (Tensor(op.name, shape, dtype, op=op, span=op.span),)
    return op.tensor


def placeholder(shape: Sequence[int] | int, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """Declare a tensor provided by the caller of the compiled function."""
    return defined(PlaceholderOp(name, span=caller_span()), extents_of(shape, name), DataType(dtype))


def compute(
    shape: Sequence[int] | int,
    fcompute: Callable[..., object],
    name: str = "compute",
    tag: str = "",
    attrs: object = None,
) -> Any:
    """Define a tensor of `shape` with element ``fcompute(i, j, …)`` at (i, j, …), or several tensors for a tuple.

    tag, attrs: accepted as TVM has them, and not used.

    Raises `TirxError` where the function has another number of parameters or returns no value.
    """
    span = caller_span()
    extents = extents_of(shape, name)
    names = _axis_names(fcompute, len(extents), name, span)
    axes = tuple(
        IterVar(Var(INT32, text), DATA_PARALLEL, 0, extent) for text, extent in zip(names, extents, strict=True)
    )
    body = fcompute(*(axis.var for axis in axes))
    try:
        value = _grouped(body)
    except TirxError as error:
        raise error.at(span) from None
    if any(isinstance(node, Reduce) and node is not value for node in walk(value)):
        raise TirxError(
            f"{name} uses the result of a reduction in the same compute",
            span,
            "make the reduction a tensor of its own, and use its elements in the next compute",
        )
    op = ComputeOp(name, axes, value, span=span)
    if not isinstance(value, Group) and not (isinstance(value, Reduce) and isinstance(value.source, Group)):
        return defined(op, extents, value.dtype)
    values = value.sources if isinstance(value, Reduce) else value.values
    op.tensors = tuple(
        Tensor(f"{name}.v{number}", extents, each.dtype, op=op, span=span) for number, each in enumerate(values)
    )
    return op.tensors


def _grouped(body: object) -> Expr:
    """Return the body of a compute: a value, or a group of values without reductions."""
    if not isinstance(body, (tuple, list)):
        return as_expr(body)
    values = tuple(map(as_expr, body))
    if any(isinstance(value, Reduce) for value in values):
        hint = "reduce the values together: te.comm_reducer(…)((a, b), axis=k)"
        raise TirxError("one compute has several reductions", None, hint)
    return values[0] if len(values) == 1 else Group(values[0].dtype, values)


def extents_of(shape: object, name: str) -> tuple[int, ...]:
    """Return a shape as numbers and expressions of symbolic extents (`te.var`).

    Raises `TirxError` where an extent is something else, or not positive.
    """
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    extents = [_extent(extent) for extent in given]
    if not extents or any(extent is None for extent in extents):
        text = ", ".join(str(extent) for extent in given)
        hint = 'give positive whole numbers, or te.var("n")'
        raise TirxError(f"the shape of {name} is ({text})", caller_span(), hint)
    return tuple(extents)


def _extent(extent: Any) -> Any:
    """Return an extent as a number or expression, or None if invalid. ``N / 32`` may be a whole float."""
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)
    value = int(extent) if hasattr(extent, "item") else int_value(extent)
    if value is not None:
        return value if value >= 1 else None
    return simplify(extent) if isinstance(extent, Expr) and extent.dtype.is_integer else None


def _axis_names(function: Callable[..., object], count: int, name: str, span: Span | None) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        fixed = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
        return [*fixed, *(f"i{number}" for number in range(len(fixed), count))]
    if len(parameters) != count:
        raise TirxError(
            f"the function of {name} has {len(parameters)} parameters, but the tensor has {count} dimensions",
            span,
            "give it one parameter for each dimension",
        )
    return [parameter.name for parameter in parameters]
