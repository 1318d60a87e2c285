"""Code generation for a whole nv_tileas function as a kernel of tirx_mini.ir."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from tirx_mini.ir import INT32, Buffer, DataType, PrimFunc, TirxError, Var, const

from ..cuda_tile import Ptr
from ..layouts import SharedLayout, TmemLayout
from ..nv_tileaa import Memref
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..nv_tileas import TMA_DESC, ops
from ..nv_tileas.pipeline_ops import agent_switch, create_pipeline, get_cta_slot
from ..ssa import Module, Op, OpKind, Region, Value, flat, uses
from .accesses import ACCESS_OPS
from .arithmetic import dtype_of
from .control import CONTROL_OPS
from .dots import DOT_OPS, IN_SHARED, dot, tmem_slice
from .emitter import CLUSTER, Emitter
from .fragments import from_shared
from .ordering import Effects
from .output import OUTPUT_OPS
from .pipelines import PIPELINE_OPS, agents_of, other_warps, publish_barriers
from .places import SharedTile
from .stores import STORE_OPS, write
from .tensors import TENSOR_OPS
from .turns import TURN_OPS
from .values import Pointers
from .warp_dots import WARP_DOT_OPS

ELSEWHERE = {**IN_SHARED, ops.insert_slice: write}
"""Operations whose result may be in shared memory."""
Rules = Mapping[OpKind, Callable[[Emitter, Op], None]]

SERIAL_RULES: Rules = {**TENSOR_OPS, **ACCESS_OPS, **CONTROL_OPS, **WARP_DOT_OPS, **OUTPUT_OPS}


def _by_place(kind: OpKind) -> Callable[[Emitter, Op], None]:
    """Return the rule of an operation whose result may be in registers or shared memory, or on the tensor core."""
    in_registers, in_shared = SERIAL_RULES[kind], ELSEWHERE.get(kind, dot)

    def rule(emitter: Emitter, op: Op) -> None:
        if kind is ops.extract_slice:
            (tmem_slice if isinstance(op.result.type.layout, TmemLayout) else in_registers)(emitter, op)
            return
        if kind is ops.convert_layout and isinstance(emitter.value(op.source), SharedTile):
            from_shared(emitter, op)
            return
        elsewhere = op.mma == ops.WGMMA if kind is ops.dot else isinstance(op.result.type.layout, SharedLayout)
        (in_shared if elsewhere else in_registers)(emitter, op)

    return rule


RULES: Rules = {
    **SERIAL_RULES, **PIPELINE_OPS, **DOT_OPS, **TURN_OPS, **STORE_OPS,
    **{kind: _by_place(kind) for kind in (*ELSEWHERE, ops.dot, ops.extract_slice)},
}  # fmt: skip
"""What emits each operation. Operations of pipelines and tensor cores are in tables of their own."""


def emit_kernel(
    module: Module, grid: Sequence[int], params: Sequence[Buffer | Var] | None = None, rules: Rules = RULES
) -> PrimFunc:
    """Generate the kernel of the module's only function, for a grid of CTAs.

    params: one for each parameter of the function: a global buffer for a pointer, a variable for a number. By default
        they follow from the types, and from the arrays that pointers are made into.
    """
    func = next(op for op in module.ops if op.kind is aa.func)
    emitter = Emitter(func.num_warps or 4, other_warps(func))
    emitter.agents = agents_of(func)
    emitter.rules = rules
    emitter.again, emitter.used = _uses(func.body)
    emitter.users = uses(func.body)
    extents = (*grid, 1, 1, 1)[:3]
    emitter.programs = extents
    slots = next((op for op in func.body.ops if op.kind is get_cta_slot), None)
    if slots is not None:
        grid = (min(slots.most, math.prod(extents)),)
        extents = (*grid, 1, 1)
        emitter.rank = Var(INT32, "cta_rank") if slots.cluster > 1 else None
    ids = tuple(Var(INT32, f"block_{axis}") for axis in "xyz"[: max(1, len(grid))])
    emitter.program = [*ids, *[const(0)] * (3 - len(ids))]
    if emitter.rank is not None:
        emitter.analyzer = emitter.analyzer.bind(emitter.rank, 0, CLUSTER - 1)
    for var, extent in zip(ids, extents, strict=False):
        emitter.analyzer = emitter.analyzer.bind(var, 0, extent - 1)
    given = params if params is not None else default_params(func)
    for value, param in zip(own_params(func), given, strict=True):
        emitter.values[value] = Pointers(param, const(0)) if isinstance(param, Buffer) else param
    effects = Effects(func.body)
    instances = [op.body for op in func.body.walk() if op.kind is std.for_ and slots and op.lower is slots.results[0]]

    def effects_of(region: Region) -> Iterator[tuple[Buffer, bool]]:
        if not any(region is body for body in instances):  # no instance of a program waits for another one
            yield from ((emitter.values[root].buffer, write) for root, write in effects.of(region))

    emitter.effects_of = effects_of
    emitter.region(func.body)
    kinds = {op.kind for op in func.body.ops}
    if create_pipeline in kinds and agent_switch not in kinds:
        publish_barriers(emitter)
    return PrimFunc(func.sym_name, tuple(given), emitter.kernel_body(ids, tuple(extents[: len(ids)])), span=func.span)


def own_params(func: Op) -> list[Value]:
    """Return a function's parameters without its tensor maps, which the copies add to the kernel themselves."""
    return [value for value in func.body.params if value.type is not TMA_DESC]


def default_params(func: Op) -> list[Buffer | Var]:
    """Return parameters derived from their types. Raises TirxError for a pointer to an array of unknown extents."""
    arrays: dict[Value, Memref] = {op.base: op.result.type for op in func.body.walk() if op.kind is aa.make_memref}
    found: list[Buffer | Var] = []
    for number, value in enumerate(own_params(func)):
        name = value.hint or f"arg{number}"
        if not isinstance(value.type, Ptr):
            found.append(Var(dtype_of(value.type), name))
            continue
        array = arrays.get(value)
        if array is None or None in array.shape or None in array.strides:
            raise TirxError(f"the size of the array {name} is not known", func.span, "give the kernel's parameters")
        found.append(Buffer(name, _shape(array), DataType(dtype_of(array.element)), span=func.span))
    return found


def _shape(array: Memref) -> tuple[int, ...]:
    """Return the shape of a dense array, else the number of elements that the array spans."""
    extents, strides = [n or 0 for n in array.shape], [n or 0 for n in array.strides]
    dense = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
    if strides == dense:
        return tuple(extents)
    return (1 + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)),)


def _uses(body: Region) -> tuple[frozenset[Value], frozenset[Value]]:
    """Return the values used more than once or in an inner region, and all used values."""
    home: dict[Value, Region] = {}
    counts: dict[Value, int] = {}
    inner: set[Value] = set()

    def visit(region: Region) -> None:
        home.update(dict.fromkeys(region.params, region))
        for op in region.ops:
            for value in flat(op.args):
                counts[value] = counts.get(value, 0) + 1
                if home.get(value) is not region:
                    inner.add(value)
            home.update(dict.fromkeys(op.results, region))
            for nested in op.regions:
                visit(nested)

    visit(body)
    repeated = {value for value, count in counts.items() if count > 1}
    return frozenset(repeated | inner), frozenset(counts)
