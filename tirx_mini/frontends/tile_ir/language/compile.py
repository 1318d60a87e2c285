"""Compilation of a kernel, for given argument kinds, to a cuda_tile module."""

from __future__ import annotations

import inspect
import typing
from functools import lru_cache
from typing import Any

from tirx_mini.records import dataclass
from tirx_mini.script import check_function, source_of

from ..cuda_tile import CUDA_TILE, DivBy
from ..ssa import Module, Region, Value, make, verify
from . import ops  # noqa: F401 - defines the functions of tile code
from .calls import Calls
from .choices import Choices
from .dtypes import DType, int32
from .emitter import pointer_type, tile_type
from .errors import TileTypeError
from .expressions import Expressions
from .loops import Loops
from .ordering import Accesses
from .statements import Statements
from .statics import Statics
from .surface import ArrayAnnotation, ConstantAnnotation, ScalarAnnotation, TileKernel
from .unrolled import Unrolled
from .values import ArrayList, ArrayValue, Strict, TileValue, describe, field_names, new_record


class _Tracer(Expressions, Calls, Statements, Choices, Loops, Statics, Unrolled):
    """The complete tracer."""


@dataclass(frozen=True)
class ArraySpec:
    """The kind of an array argument: dtype, extents, and strides in elements.

    alignment: bytes that divide its address.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int = 16
    index_dtype: DType = int32


@dataclass(frozen=True)
class ScalarSpec:
    """The kind of a number that is known at launch."""

    dtype: DType


@dataclass(frozen=True, eq=False)
class ConstantSpec:
    """The kind of a compile-time constant. Equal numbers of different types are distinct."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantSpec) and _exactly(self.value) == _exactly(other.value)

    def __hash__(self) -> int:
        return hash(_exactly(self.value))


def _exactly(value: object) -> object:
    """Return a key of a constant that distinguishes 1, 1.0 and True, and 0.0 from -0.0."""
    if type(value) is tuple:
        return tuple(map(_exactly, value))
    return type(value), value.hex() if isinstance(value, float) else value


@dataclass(frozen=True)
class RecordSpec:
    """The kind of a dataclass object or named tuple, field by field."""

    kind: type
    items: tuple[Any, ...]


@dataclass(frozen=True)
class ListSpec:
    """The kind of a list of arrays of one dtype and rank."""

    items: tuple[ArraySpec, ...]


Spec = ArraySpec | ScalarSpec | ConstantSpec | RecordSpec | ListSpec | tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Traced:
    """A kernel traced to cuda_tile.

    accesses: which arrays it writes.
    """

    module: Module
    accesses: Accesses


def trace(kernel: TileKernel, specs: tuple[Spec, ...], arch: str = "sm_100") -> Traced:
    """Trace a kernel for arguments of the given kinds.

    The kernel is traced twice: the first trace finds out which arrays are written, so that the second one orders only
    operations on those.

    Raises `TileError`, at the source line, for an error in the kernel.
    """
    _, accesses = _trace(kernel, specs, arch, None)
    module, _ = _trace(kernel, specs, arch, accesses)
    return Traced(verify(module), accesses)


def _trace(kernel: TileKernel, specs: tuple[Spec, ...], arch: str, known: Accesses | None) -> tuple[Module, Accesses]:
    function = kernel.function
    check_function(function, "@ct.kernel")
    source = source_of(function)
    tracer = _Tracer(known, arch)
    names, params = _bind(tracer, kernel, specs)
    tracer.emit.prologue.span = source.span(source.node.body[0])
    end = tracer.enter(source, source.node, function, names, None, None)
    if end is not None:
        raise TileTypeError(f"the kernel `{function.__name__}` returns {describe(end)}, but kernels return nothing",
                            source.span(source.node), "store the result to an array")  # fmt: skip
    tracer.emit.emit("return")
    body = Region(tuple(params), (*tracer.emit.prologue.ops, *tracer.emit.block.ops))
    entry = make(
        CUDA_TILE.ops["entry"], attrs=_entry_attributes(kernel, arch), regions=(body,), span=source.span(source.node)
    )
    return Module(function.__name__, (entry,)), tracer.order.found


def _entry_attributes(kernel: TileKernel, arch: str) -> dict[str, object]:
    hints = kernel.hints.at(arch)
    given = {"num_cta_in_cga": hints.num_ctas, "occupancy": hints.occupancy, "num_worker_warps": hints.num_worker_warps}
    named = {name: value for name, value in given.items() if value is not None}
    return {"sym_name": kernel.__name__, **({"optimization_hints": {arch: named}} if named else {})}


def _bind(tracer: _Tracer, kernel: TileKernel, specs: tuple[Spec, ...]) -> tuple[dict[str, Any], list[Value]]:
    """Bind the parameters to tile-code values, and create the entry function's parameters."""
    names: dict[str, Any] = {}
    params: list[Value] = []
    for parameter, spec in zip(parameters(kernel), specs, strict=True):
        names[parameter.name] = _value(tracer, parameter.name, spec, params)
    return names, params


def _value(tracer: _Tracer, name: str, spec: Spec, params: list[Value]) -> Any:
    if isinstance(spec, tuple):
        return tuple(_value(tracer, f"{name}_{i}", item, params) for i, item in enumerate(spec))
    if isinstance(spec, ListSpec):
        return ArrayList(_value(tracer, f"{name}_{i}", item, params) for i, item in enumerate(spec.items))
    if isinstance(spec, RecordSpec):
        fields = field_names(spec.kind)
        items = [_value(tracer, f"{name}_{f}", item, params) for f, item in zip(fields, spec.items, strict=True)]
        return new_record(spec.kind, items)
    if isinstance(spec, ConstantSpec):
        return spec.value
    if isinstance(spec, ScalarSpec):
        params.append(Value(tile_type(spec.dtype, ()), name))
        return TileValue(params[-1], spec.dtype, ())
    params.append(Value(pointer_type(spec.dtype, ()), name))
    root = len(params) - 1
    base = params[-1]
    if spec.alignment > 1:
        base = tracer.emit.emit("assume", base, types=[base.type], predicate=DivBy(spec.alignment), first=True)
        base.hint = f"{name}_aligned"
    tracer.parameters.add(base)
    shape, strides = (tuple(Strict(n, spec.index_dtype) for n in dims) for dims in (spec.shape, spec.strides))
    return ArrayValue(base, spec.dtype, shape, strides, root, name)


@lru_cache(maxsize=256)
def parameters(kernel: TileKernel) -> list[inspect.Parameter]:
    """Return the parameters of a kernel. Raises `TileTypeError` for unsupported parameter kinds."""
    found = list(inspect.signature(kernel.function).parameters.values())
    for parameter in found:
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise TileTypeError(
                f"the kernel `{kernel.__name__}` has a parameter `*{parameter.name}`", hint="name each parameter"
            )
    return found


@lru_cache(maxsize=256)
def metadata(annotated: TileKernel | type) -> dict[str, tuple[Any, ...]]:
    """Return the ``Annotated[…]`` metadata of each kernel parameter or dataclass field."""
    owner = annotated.function if isinstance(annotated, TileKernel) else annotated
    try:
        hints = typing.get_type_hints(owner, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise TileTypeError(f"an annotation of `{annotated.__name__}` cannot be evaluated: {error}") from None
    return {name: metadata_of(hint) for name, hint in hints.items()}


@dataclass(frozen=True)
class _Items:
    """The annotations of a tuple's items: ``tuple[ct.Constant[int], int]``, or one for all, ``tuple[int, ...]``."""

    items: tuple[tuple[Any, ...], ...]
    repeated: bool


def metadata_of(annotation: object) -> tuple[Any, ...]:
    """Return the metadata of an annotation: that of ``Annotated[…]``, or a bare array annotation."""
    if isinstance(annotation, ArrayAnnotation):
        return (annotation,)
    if typing.get_origin(annotation) is tuple:
        items = typing.get_args(annotation)
        repeated = len(items) == 2 and items[1] is Ellipsis
        return (_Items(tuple(metadata_of(item) for item in items[: 1 if repeated else None]), repeated),)
    return tuple(getattr(annotation, "__metadata__", ()))


def is_constant_parameter(metadata: tuple[object, ...]) -> bool:
    return any(isinstance(m, ConstantAnnotation) or m is ConstantAnnotation for m in metadata)


def item_annotations(metadata: tuple[object, ...], count: int) -> list[tuple[Any, ...]]:
    """Return the annotations of a tuple's items; those of the tuple apply to all."""
    own = tuple(m for m in metadata if not isinstance(m, _Items))
    found = next((m for m in metadata if isinstance(m, _Items)), None)
    if found is None:
        return [own] * count
    items = found.items * count if found.repeated else found.items[:count]
    return [own + item for item in items] + [own] * (count - len(items))


def array_annotation(metadata: tuple[object, ...]) -> DType | None:
    """Return the extent and stride type that an annotation requests, or None."""
    return next((m.index_dtype for m in metadata if isinstance(m, ArrayAnnotation)), None)


def scalar_annotation(metadata: tuple[object, ...]) -> DType | None:
    return next((m.dtype for m in metadata if isinstance(m, ScalarAnnotation)), None)
