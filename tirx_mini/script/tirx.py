"""The language, as kernels import it: ``from tirx_mini.script import tirx as Tx`` (or ``as T``).

The other names are generated: dtypes from their names, ``Tx.ptx`` and ``Tx.cuda`` from the table of instructions, tile
primitives (``Tx.copy``, ``Tx.cta.copy``) from the table of tile operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tirx_mini.ir import (
    SCOPE_KINDS,
    SERIAL,
    SPECIALS,
    UNROLLED,
    Binary,
    Call,
    DataType,
    Evaluate,
    Expr,
    Launch,
    Ramp,
    Region,
    ScopeIds,
    Special,
    TensorMap,
    TirxError,
    Unary,
    Var,
    as_bool,
    as_expr,
    binary,
    const,
    int_value,
    special,
)  # fmt: skip
from tirx_mini.ir import Buffer as IrBuffer
from tirx_mini.ir import Cast as CastNode
from tirx_mini.ir import Select as SelectNode
from tirx_mini.ir import cast as convert
from tirx_mini.ir import select as choose
from tirx_mini.tile import OPS

from .builder import current, innermost_scope
from .collectives import COLLECTIVES
from .diagnostics import did_you_mean, unknown
from .functions import inline
from .handles import DType, Loop, OpenHint, ScopeKind, data_type, let, loop, meta_var
from .instructions import Path, elsewhere, namespace, raw_call
from .memory import (
    PoolAllocator,
    address_of,
    alloc_buffer,
    alloc_local,
    alloc_scalar,
    alloc_shared,
    buffer_type,
    decl_buffer,
    match_buffer,
    variable_name,
    wg_reg_tile,
)  # fmt: skip
from .opaque import call_extern, func_call
from .operators import OPERATORS, SHORT_DTYPES
from .prim_func import prim_func
from .printing import print_buffer, printf

__all__ = [
    "address_of", "alloc_buffer", "alloc_local", "alloc_scalar", "alloc_shared", "Buffer", "call", "Cast",
    "cdiv", "ceildiv", "cluster_id", "const", "cta_id", "cta_id_in_cluster", "decl_buffer", "device_entry",
    "evaluate", "filter", "func_attr", "grid", "hint", "if_then_else", "inline",
    "lane_id", "launch", "let", "local_cell", "local_scalar", "macro", "match_buffer", "max", "meta_class", "meta_var",
    "min", "node", "PoolAllocator", "prim_func", "print_buffer", "ramp", "Select", "select", "serial", "SMEMPool",
    "tensor_map", "thread_id", "thread_id_in_wg", "unroll", "variable_name", "vectorized", "warp_id", "warp_id_in_wg",
    "warpgroup_id", "wg_reg_tile",
]  # fmt: skip

Buffer = buffer_type
SMEMPool = PoolAllocator
call = raw_call
local_cell = local_scalar = alloc_scalar
macro = inline

# -- the kernel and its scopes -------------------------------------------------------------------------------------


def device_entry() -> None:
    """The rest of the function runs on the device (the native dialect's form of ``with Tx.kernel():``)."""
    current("T.device_entry").open_rest("kernel")


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attach attributes to the kernel."""
    current("Tx.func_attr").attrs.update(attrs)


def _ids(kind: str, extents: Any, parent: str) -> Any:
    """One variable per extent. Without extents, a single variable; another declaration gives the number of units."""
    builder = current(f"Tx.{kind}_id")
    counts = () if extents is None else tuple(extents) if isinstance(extents, (list, tuple)) else (extents,)
    known = [int_value(extent) for extent in counts]
    for extent, value in zip(counts, known, strict=True):
        if value is None or value < 1:
            raise TirxError(f"the number of {kind}s must be a positive integer known at compile time, not {extent!r}")
    if parent not in SCOPE_KINDS:
        raise TirxError(
            f"`{parent}` is not an execution scope",
            hint=did_you_mean(parent, SCOPE_KINDS) or f"the scopes are {', '.join(SCOPE_KINDS)}",
        )
    names = [builder.take_name(f"{kind}_id") for _ in counts or (1,)]
    variables = tuple(Var(DataType("int32"), name, span=builder.span) for name in names)
    builder.emit(ScopeIds(variables, tuple(value or 1 for value in known), kind, parent))
    return variables[0] if len(variables) == 1 else variables


def cluster_id(extents: Any = None, parent: str = "kernel") -> Any:
    """The index of the cluster in the grid."""
    return _ids("cluster", extents, parent)


def cta_id(extents: Any = None, parent: str = "kernel") -> Any:
    """The index of the CTA in the grid, or with parent="cluster" in its cluster; one variable per extent."""
    return _ids("cta", extents, parent)


def cta_id_in_cluster(extents: Any = None) -> Any:
    """The index of the CTA in its cluster."""
    return _ids("cta", extents, "cluster")


def warpgroup_id(extents: Any = None, parent: str = "cta") -> Any:
    """The index of the warpgroup (4 warps) in the CTA."""
    return _ids("warpgroup", extents, parent)


def warp_id(extents: Any = None, parent: str = "cta") -> Any:
    """The index of the warp in the CTA, or with parent="warpgroup" in its warpgroup."""
    return _ids("warp", extents, parent)


def warp_id_in_wg(extents: Any = None) -> Any:
    """The index of the warp in its warpgroup."""
    return _ids("warp", extents, "warpgroup")


def thread_id(extents: Any = None, parent: str = "cta") -> Any:
    """The index of the thread in the CTA, or in its warpgroup or warp."""
    return _ids("thread", extents, parent)


def thread_id_in_wg(extents: Any = None) -> Any:
    """The index of the thread in its warpgroup."""
    return _ids("thread", extents, "warpgroup")


def lane_id(extents: Any = None) -> Any:
    """The index of the thread in its warp."""
    return _ids("thread", extents, "warp")


def filter(unit: Any, low: Any, high: Any = None) -> Expr:
    """The condition of a scope: ``Tx.filter(warp_id, 0, 2)`` is 0 <= warp_id < 2; with a condition as its second
    argument, as in ``Tx.filter(lane_id, lane_id == 0)``, it returns that condition.
    """
    if high is None:
        return as_bool(low)
    return binary("and", binary("<=", low, unit), binary("<", unit, high))


def meta_class(cls: type) -> type:
    """Return `cls` unchanged: objects of any class are compile-time values."""
    return cls


def hint(message: str, attrs: Mapping[str, Any] | None = None, **more: Any) -> OpenHint:
    """A message for readers and tools, as a statement or around a block. It has no effect."""
    return OpenHint(message, tuple({**(attrs or {}), **more}.items()))


# -- loops ---------------------------------------------------------------------------------------------------------


def serial(
    *bounds: Any, step: int | None = None, annotations: Mapping[str, Any] | None = None, parallel: bool = False
) -> Loop:
    """A loop of the kernel, executed iteration by iteration."""
    return loop(SERIAL, _stepped(bounds, step), parallel)


def unroll(
    *bounds: Any, step: int | None = None, annotations: Mapping[str, Any] | None = None, parallel: bool = False
) -> Loop:
    """A loop that is fully unrolled; its bounds are constants."""
    return loop(UNROLLED, _stepped(bounds, step), parallel)


def vectorized(*bounds: Any) -> Loop:
    """The same as `unroll`. Tile primitives choose their vector widths themselves."""
    return loop(UNROLLED, bounds)


def _stepped(bounds: tuple[Any, ...], step: int | None) -> tuple[Any, ...]:
    if step is None or len(bounds) == 3:
        return bounds
    return (0, *bounds, step)[-3:]


def grid(*extents: Any) -> Loop:
    """Nested loops: ``for i, j in Tx.grid(m, n)``."""
    return Loop(tuple(part for extent in extents for part in loop(SERIAL, (extent,)).ranges), SERIAL)


# -- values --------------------------------------------------------------------------------------------------------


def if_then_else(cond: Any, a: Any, b: Any) -> Any:
    """`a` where `cond` holds, else `b`. A thread reads only what the side that it takes reads."""
    return choose(cond, a, b) if isinstance(cond, Expr) else (a if cond else b)


select = Select = if_then_else


def _extreme(op: str, values: Sequence[Any]) -> Any:
    """The smallest or largest value; for tiles, the reduction ``Tx.max(dst, src)``."""
    if any(isinstance(value, (IrBuffer, Region)) for value in values):
        return _primitive(op, None)(*values)
    result = values[0]
    for value in values[1:]:
        result = binary(op, result, value)
    return result


def min(*values: Any) -> Any:
    """The smallest of the values, or the reduction of a tile."""
    return _extreme("min", values)


def max(*values: Any) -> Any:
    """The largest of the values, or the reduction of a tile."""
    return _extreme("max", values)


def ceildiv(a: Any, b: Any) -> Any:
    """a / b rounded up."""
    return (a + b - 1) // b


cdiv = ceildiv


def Cast(dtype: Any, value: Any) -> Expr:
    """`value` converted to `dtype`."""
    return convert(data_type(dtype), value)


def ramp(base: Any, lanes: int) -> Expr:
    """The index of a vector access: base, base + 1, …, base + lanes - 1."""
    start = as_expr(base)
    return Ramp(start.dtype, start, lanes)


def evaluate(value: Any) -> None:
    """Execute an instruction for its effect."""
    if isinstance(value, Call):
        current("Tx.evaluate").emit(Evaluate(value))


# -- statements of lowered functions -------------------------------------------------------------------------------


def launch(
    grid: tuple[int, int, int],
    threads: int,
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
    programmatic: bool = False,
) -> None:
    """The launch configuration of a lowered kernel."""
    current("Tx.launch").launch = Launch(grid, threads, cluster, smem_bytes, programmatic)


def tensor_map(
    buffer: Any,
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int,
    l2_promotion: int = 128,
) -> Any:
    """A tensor map of a lowered kernel."""
    builder = current("Tx.tensor_map")
    var = Var(DataType("tensormap"), builder.take_name("tensor_map"), span=builder.span)
    builder.tensor_maps.append(TensorMap(var, buffer, dims, strides, box, swizzle, l2_promotion, builder.span))
    return var


def node(kind: str, *parts: Any) -> Expr:
    """An expression exactly as given; written with operators, it would be simplified."""
    exprs = [as_expr(part) for part in parts if not isinstance(part, str)]
    names = [part for part in parts if isinstance(part, str)]
    if kind == "cast":
        return CastNode(DataType(names[0]), exprs[0])
    if kind == "select":
        return SelectNode(DataType(names[0]), *exprs)
    if kind == "unary":
        return Unary(DataType(names[1]), names[0], exprs[0])
    return Binary(DataType(names[1]), names[0], exprs[0], exprs[1])


# -- generated names -----------------------------------------------------------------------------------------------

_SCOPE_NAMES = {**{kind: kind for kind in SCOPE_KINDS}, "wg": "warpgroup"}
_AXES = ("threadIdx", "blockIdx", "clusterCtaIdx", "gridDim")


class _Axes:
    """``Tx.threadIdx``: special registers with components."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, axis: str) -> Special:
        if f"{self._name}.{axis}" not in SPECIALS:
            raise unknown(f"Tx.{self._name}", axis, "its components are `x`, `y` and `z`")
        return special(f"{self._name}.{axis}")

    def __dir__(self) -> list[str]:
        return ["x", "y", "z"]


class _Tiles:
    """``Tx.tile``: the tile primitives, and the scopes to which they can be bound."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return (
            ScopeKind(_SCOPE_NAMES[name], _primitive, innermost_scope)
            if name in _SCOPE_NAMES
            else _primitive(name, None)
        )

    def __dir__(self) -> list[str]:
        return [*OPS, *_SCOPE_NAMES]


def _primitive(name: str, scope: str | None) -> Any:
    """A tile primitive, bound to an execution scope if `scope` is given."""
    op = OPS.get(name)
    if op is None:
        raise unknown("Tx" if scope is None else f"Tx.{scope}", name, did_you_mean(name, OPS))

    def primitive(*args: Any, **kwargs: Any) -> Any:
        if name == "cast" and len(args) == 2 and not isinstance(args[1], (IrBuffer, Expr)):
            return convert(data_type(args[1]), args[0])  # T.cast(value, "float32") converts a value
        builder = current(f"Tx.{name}")
        options = dict(zip(op.options, args[len(op.operands) :], strict=False))
        call = op.build(*args[: len(op.operands)], span=builder.span, scope=scope, **options, **kwargs)
        for operand in call.operands:  # plain Python code may pass views that are not declared yet
            if isinstance(operand, Region) and not builder.is_declared(operand.buffer):
                builder.declare(operand.buffer)
        builder.emit(call)
        return None

    primitive.__name__ = primitive.__qualname__ = name
    primitive.__doc__ = op.doc
    primitive.__signature__ = op.signature
    return primitive


@cache
def _root() -> Path:
    """The root of all paths: instructions and collective operations."""
    root = namespace()
    opaque = {"cuda.func_call": func_call, "ptx.func_call": func_call, "call_extern": call_extern}
    for path, function in {**COLLECTIVES, **opaque, "call_pure_extern": call_extern, "cuda.printf": printf}.items():
        root.at(path).function = function
    return root


@cache
def _generated(name: str) -> Any:
    """The value of a generated name, or None."""
    if name in _SCOPE_NAMES:
        return ScopeKind(_SCOPE_NAMES[name], _primitive, innermost_scope)
    if name in _AXES:
        return _Axes(name)
    if name in OPS:
        return _primitive(name, None)
    if name == "tile":
        return _Tiles()
    if name in _root().below:
        return _root().below[name]
    if name in OPERATORS:
        return OPERATORS[name]
    try:
        return DType(DataType(SHORT_DTYPES.get(name, name)))
    except ValueError:
        return None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = special(name) if name in SPECIALS else _generated(name)
    if value is None:
        raise unknown("Tx", name, elsewhere(name) or did_you_mean(name, __dir__()))
    return value


def __dir__() -> list[str]:
    plain = [name for name in SPECIALS if "." not in name]
    return sorted({*__all__, *_SCOPE_NAMES, *_AXES, *OPS, *OPERATORS, *_DTYPES, *plain, *_root().below, "tile"})


_DTYPES = (
    *"bool handle int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split(),
    "float8_e4m3fn",
    "float8_e5m2",
)
"""The dtypes that completion shows; vectors of them (``Tx.float16x8``) also exist."""
