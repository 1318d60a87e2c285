"""`tvm.topi`: tensor operators, each composed of one or a few `te.compute`. Schedules are the user's."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from math import prod as product
from typing import Any

from tirx_mini.ir import DataType, Expr, TirxError, as_expr, binary, int_value
from tirx_mini.ir import cast as converted
from tirx_mini.script import caller_span

from . import te

Tensor = te.Tensor


def _shape(tensor: object) -> tuple[int, ...]:
    return tuple(tensor.shape) if isinstance(tensor, te.Tensor) else ()


def _refused(what: str, why: str, hint: str | None = None) -> TirxError:
    return TirxError(f"topi.{what}: {why}", caller_span(), hint)


# -- elements ---------------------------------------------------------------------------------------------------------


def elementwise(x: Tensor, function: Callable[[Expr], object], name: str) -> Tensor:
    """Apply `function` to each element."""
    return te.compute(x.shape, lambda *i: function(x[i]), name=name, tag="elemwise")


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    def operator(x: Tensor) -> Tensor:
        return elementwise(x, getattr(te, name), f"T_{name}")

    operator.__name__, operator.__doc__ = name, f"`te.{name}` of each element."
    return operator


exp, log, sqrt, rsqrt, tanh, sigmoid, erf, floor, ceil, trunc, round, abs, cos, sin, log2, log10 = map(
    _unary, "exp log sqrt rsqrt tanh sigmoid erf floor ceil trunc round abs cos sin log2 log10".split()
)


def negative(x: Tensor) -> Tensor:
    """Negate each element."""
    return elementwise(x, lambda value: -value, "T_negative")


def identity(x: Tensor) -> Tensor:
    """Return a copy of the tensor."""
    return elementwise(x, lambda value: value, "T_identity")


def cast(x: Tensor, dtype: str, span: object = None) -> Tensor:
    """Convert each element to another type."""
    return elementwise(x, lambda value: converted(DataType(dtype), value), "T_cast")


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """Clamp each element to the range from `a_min` to `a_max`."""
    return elementwise(x, lambda value: _lower(_higher(value, a_min), a_max), "T_clip")


def _higher(a: object, b: object) -> Expr:
    return binary("max", a, b)


def _lower(a: object, b: object) -> Expr:
    return binary("min", a, b)


# -- broadcasting -----------------------------------------------------------------------------------------------------


def _broadcast_shape(what: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    rank = builtins.max(len(shape) for shape in shapes)
    made: list[int] = []
    for extents in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        sizes = {extent for extent in extents if extent != 1}
        if len(sizes) > 1:
            raise _refused(what, f"the shapes {' and '.join(map(str, shapes))} do not broadcast")
        made.append(sizes.pop() if sizes else 1)
    return tuple(made)


def _element(x: object, indices: Sequence[object]) -> Any:
    """Return the element of a broadcast tensor, or a number itself."""
    if not isinstance(x, te.Tensor):
        return x
    kept = indices[len(indices) - x.ndim :]
    return x[tuple(0 if extent == 1 else index for extent, index in zip(x.shape, kept, strict=True))]


def broadcasting(name: str, function: Callable[..., object], *operands: object) -> Any:
    """Apply `function` to broadcast operands, elementwise for tensors."""
    if not any(isinstance(each, te.Tensor) for each in operands):
        return function(*map(as_expr, operands))
    shape = _broadcast_shape(name.removeprefix("T_"), *map(_shape, operands))
    return te.compute(shape, lambda *i: function(*(_element(each, i) for each in operands)), name=name, tag="broadcast")


def add(lhs: object, rhs: object) -> Any:
    """Return lhs + rhs."""
    return broadcasting("T_add", lambda a, b: a + b, lhs, rhs)


def subtract(lhs: object, rhs: object) -> Any:
    """Return lhs - rhs."""
    return broadcasting("T_subtract", lambda a, b: a - b, lhs, rhs)


def multiply(lhs: object, rhs: object) -> Any:
    """Return lhs * rhs."""
    return broadcasting("T_multiply", lambda a, b: a * b, lhs, rhs)


def divide(lhs: object, rhs: object) -> Any:
    """Return lhs / rhs, truncated for integers as in C."""
    return broadcasting("T_divide", te.div, lhs, rhs)


def floor_divide(lhs: object, rhs: object) -> Any:
    """Return lhs / rhs, rounded down."""
    return broadcasting("T_floor_divide", te.floordiv, lhs, rhs)


def mod(lhs: object, rhs: object) -> Any:
    """Return the remainder of lhs / rhs, with the sign of rhs."""
    return broadcasting("T_mod", te.floormod, lhs, rhs)


def maximum(lhs: object, rhs: object) -> Any:
    """Return the elementwise maximum."""
    return broadcasting("T_maximum", _higher, lhs, rhs)


def minimum(lhs: object, rhs: object) -> Any:
    """Return the elementwise minimum."""
    return broadcasting("T_minimum", _lower, lhs, rhs)


def power(lhs: object, rhs: object) -> Any:
    """Return lhs to the power of rhs."""
    return broadcasting("T_power", te.power, lhs, rhs)


def where(condition: Tensor, x: object, y: object) -> Any:
    """Return x where the condition holds, else y."""
    return broadcasting("T_where", lambda c, a, b: te.if_then_else(c != 0, a, b), condition, x, y)


def _comparison(name: str, compare: Callable[[Any, Any], object]) -> Callable[[Any, Any], Any]:
    def operator(lhs: object, rhs: object) -> Any:
        return broadcasting(f"T_{name}", compare, lhs, rhs)

    operator.__name__, operator.__doc__ = name, f"Whether lhs is {name} than, or to, rhs: element by element."
    return operator


greater = _comparison("greater", lambda a, b: a > b)
less = _comparison("less", lambda a, b: a < b)
equal = _comparison("equal", lambda a, b: a == b)
not_equal = _comparison("not_equal", lambda a, b: a != b)
greater_equal = _comparison("greater_equal", lambda a, b: a >= b)
less_equal = _comparison("less_equal", lambda a, b: a <= b)


def broadcast_to(data: Tensor, shape: Sequence[int]) -> Tensor:
    """Broadcast the tensor to `shape`."""
    target = _numbers(shape)
    if _broadcast_shape("broadcast_to", data.shape, target) != target:
        raise _refused("broadcast_to", f"{data.shape} does not broadcast to {target}")
    return te.compute(target, lambda *i: _element(data, i), name="T_broadcast_to", tag="broadcast")


# -- places -----------------------------------------------------------------------------------------------------------


def _numbers(shape: object) -> tuple[int, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = [int_value(as_expr(extent)) for extent in given]
    known = tuple(size for size in sizes if size is not None)
    if len(known) != len(sizes):
        raise _refused("reshape", f"the shape {shape} is not known", "give numbers")
    return known


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Permute the dimensions of the tensor by `axes`, or reverse them."""
    order = [axis % a.ndim for axis in axes] if axes is not None else list(reversed(range(a.ndim)))
    if sorted(order) != list(range(a.ndim)):
        raise _refused("transpose", f"{axes} is not a permutation of {a.ndim} dimensions")
    places = [order.index(dim) for dim in range(a.ndim)]
    shape = [a.shape[axis] for axis in order]
    return te.compute(shape, lambda *i: a[tuple(i[n] for n in places)], name="T_transpose", tag="injective")


def reshape(a: Tensor, newshape: Sequence[int]) -> Tensor:
    """Reshape the tensor in row-major order. One extent may be -1, to be inferred."""
    shape = list(_numbers(newshape))
    if -1 in shape:
        shape[shape.index(-1)] = product(a.shape) // (-product(shape))
    if product(shape) != product(a.shape):
        raise _refused("reshape", f"{a.shape} has {product(a.shape)} elements, and {tuple(shape)} {product(shape)}")

    def element(*indices: object) -> Any:
        flat: Any = 0
        for index, extent in zip(indices, shape, strict=True):
            flat = flat * extent + index
        place: list[Any] = []
        for extent in reversed(a.shape):
            place.insert(0, flat % extent)
            flat = flat // extent
        return a[tuple(place)]

    return te.compute(shape, element, name="T_reshape", tag="injective")


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Insert dimensions of extent 1 at `axis`."""
    at = axis % (a.ndim + 1)
    shape = [*a.shape[:at], *[1] * num_newaxis, *a.shape[at:]]
    return te.compute(shape, lambda *i: a[(*i[:at], *i[at + num_newaxis :])], name="T_expand_dims", tag="injective")


def squeeze(a: Tensor, axis: object = None) -> Tensor:
    """Remove dimensions of extent 1: all of them, or those in `axis`."""
    gone = _axes(a, axis) if axis is not None else [dim for dim in range(a.ndim) if a.shape[dim] == 1]
    kept = [dim for dim in range(a.ndim) if dim not in gone]

    def element(*indices: object) -> Any:
        known = dict(zip(kept, indices, strict=False))
        return a[tuple(known.get(dim, 0) for dim in range(a.ndim))]

    return te.compute([a.shape[dim] for dim in kept] or [1], element, name="T_squeeze", tag="injective")


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along a dimension."""
    tensors, dim = list(a_tuple), axis % a_tuple[0].ndim
    ends = [builtins.sum(t.shape[dim] for t in tensors[: n + 1]) for n in range(len(tensors))]
    shape = list(tensors[0].shape)
    shape[dim] = ends[-1]

    def element(*indices: Any) -> Any:
        value = None
        for tensor, end in reversed(list(zip(tensors, ends, strict=True))):
            place = (*indices[:dim], indices[dim] - (end - tensor.shape[dim]), *indices[dim + 1 :])
            value = tensor[place] if value is None else te.if_then_else(indices[dim] < end, tensor[place], value)
        return value

    return te.compute(shape, element, name="T_concat", tag="injective")


def full(shape: Sequence[int], dtype: str, fill_value: object) -> Tensor:
    """Return a tensor filled with one value."""
    return te.compute(_numbers(shape), lambda *_: te.const(fill_value, dtype), name="T_full", tag="elemwise")


def full_like(x: Tensor, fill_value: object) -> Tensor:
    """Return a tensor filled with one value, with the shape and type of another tensor."""
    return full(x.shape, str(x.dtype), fill_value)


# -- reductions -------------------------------------------------------------------------------------------------------


def _axes(x: Tensor, axis: Any) -> list[int]:
    listed = list(range(x.ndim)) if axis is None else list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return sorted(each % x.ndim for each in listed)


def _reduction(name: str, reducer: Any) -> Callable[..., Tensor]:
    def operator(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        over = _axes(data, axis)
        names = {dim: te.reduce_axis((0, data.shape[dim]), f"k{dim}") for dim in over}
        kept = [dim for dim in range(data.ndim) if dim not in over]
        shape = [1 if dim in over else data.shape[dim] for dim in range(data.ndim)] if keepdims else None
        shape = shape or [data.shape[dim] for dim in kept] or [1]

        def element(*indices: object) -> Any:
            places = dict(enumerate(indices)) if keepdims else dict(zip(kept, indices, strict=False))
            place = tuple(names[dim].var if dim in names else places[dim] for dim in range(data.ndim))
            return reducer(data[place], axis=list(names.values()))

        return te.compute(shape, element, name=f"{name}_red", tag="comm_reduce")

    operator.__name__, operator.__doc__ = name, f"`te.{name}` over `axis`: one dimension, several, or None for all."
    return operator


sum, max, min, prod = (_reduction(name, getattr(te, name)) for name in ("sum", "max", "min", "prod"))


# -- products ---------------------------------------------------------------------------------------------------------


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """Multiply matrices, broadcasting the outer dimensions."""
    rows, inner = a.shape[-2:] if not transp_a else a.shape[-2:][::-1]
    depth, columns = b.shape[-2:] if not transp_b else b.shape[-2:][::-1]
    if inner != depth:
        raise _refused("matmul", f"{a.shape} and {b.shape} do not fit: {inner} columns, and {depth} rows")
    outer = _broadcast_shape("matmul", a.shape[:-2], b.shape[:-2]) if a.ndim > 2 or b.ndim > 2 else ()
    k = te.reduce_axis((0, inner), "k")

    def of(tensor: Tensor, batch: Sequence[object], first: object, second: object, swapped: bool) -> Any:
        kept = batch[len(batch) - (tensor.ndim - 2) :]
        own = tuple(0 if extent == 1 else index for extent, index in zip(tensor.shape, kept, strict=False))
        return tensor[(*own, *((second, first) if swapped else (first, second)))]

    def element(*indices: object) -> Any:
        *batch, i, j = indices
        return te.sum(of(a, batch, i, k.var, transp_a) * of(b, batch, k.var, j, transp_b), axis=k)

    return te.compute((*outer, rows, columns), element, name="T_matmul", tag="matmul")


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name == "nn":
        raise AttributeError(name)
    raise TirxError(f"topi.{name} is not provided", caller_span(), "write the operator with te.compute")
