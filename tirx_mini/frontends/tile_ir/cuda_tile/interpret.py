"""NumPy interpreter of cuda_tile programs, the reference for testing all later levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..ssa import Module, Op, OpKind, Value
from . import ops
from .meanings import (
    ELEMENTWISE,
    ArrayView,
    AssertionFailed,
    Blocks,
    Exit,
    Machine,
    Meaning,
    Memory,
    argument,
    change_of,
    dtype_of,
    matrix_product,
    run_grid,
    scaled,
    signed_or_not,
    slice_at,
    swapped,
)  # fmt: skip
from .types import GatherScatterView, PartitionView, Ptr, Tile


def elementwise(name: str) -> Meaning:
    """Return the semantics of an operation in `meanings.ELEMENTWISE`."""
    compute = ELEMENTWISE[name]
    return lambda m, op: np.asarray(compute(op, _element(op.result), *m[op.operands]))


def _element(value: Value) -> str:
    return str(value.type.element) if isinstance(value.type, Tile) else ""


def blocks_of(view: PartitionView | GatherScatterView) -> Blocks:
    """Return the tile decomposition that a view defines."""
    if isinstance(view, GatherScatterView):
        rank = len(view.tile)
        return Blocks(view.tile, tuple(range(rank)), (1,) * rank, view.sparse_dim, view.padding)
    return Blocks(view.tile, view.dim_map, view.steps, None, view.padding)


# -- memory and views -----------------------------------------------------------------------------------------------


def _array(m: Machine, op: Op) -> ArrayView:
    view = op.result.type

    def known(sizes: Sequence[int | None], given: Sequence[Any]) -> tuple[int, ...]:
        rest = iter(given)
        return tuple(int(next(rest)) if n is None else n for n in sizes)

    shape, strides = known(view.shape, m[op.dynamicShape]), known(view.strides, m[op.dynamicStrides])
    return ArrayView(int(m[op.base]), shape, strides, str(view.element))


def _tensor_shape(m: Machine, op: Op) -> list[np.ndarray]:
    return [np.asarray(n, dtype_of(_element(v))) for n, v in zip(m[op.src].shape, op.results, strict=True)]


def _index_space(m: Machine, op: Op) -> list[np.ndarray]:
    blocks, shape = blocks_of(op.src.type), m[op.src].shape
    counts = [-(-shape[axis] // step) for axis, step in zip(blocks.order, blocks.steps, strict=True)]
    return [np.asarray(n, dtype_of(_element(v))) for n, v in zip(counts, op.results, strict=True)]


def _load_view(m: Machine, op: Op) -> list[object]:
    return [m.load(m[op.view], blocks_of(op.view.type), m[op.index]), None]


def _store_view(m: Machine, op: Op) -> None:
    m.store(m[op.view], blocks_of(op.view.type), m[op.index], m[op.tile])


def _reduce_view(m: Machine, op: Op) -> None:
    address, inside = blocks_of(op.view.type).places(m[op.view], m[op.index])
    element = m[op.view].element
    m.update(address, element, inside, change_of(op.mode, element), m[op.value])


def _pointee(value: Value) -> str:
    assert isinstance(value.type.element, Ptr)
    return str(value.type.element.pointee)


def _load(m: Machine, op: Op) -> list[object]:
    return [m.gather(m[op.source], _pointee(op.source), m[op.mask], m[op.paddingValue]), None]


def _store(m: Machine, op: Op) -> None:
    m.scatter(m[op.destination], m[op.value], m[op.mask])


def _rmw(m: Machine, op: Op) -> list[object]:
    element = _pointee(op.pointers)
    return [m.update(m[op.pointers], element, m[op.mask], change_of(op.mode, element), m[op.arg]), None]


def _cas(m: Machine, op: Op) -> list[object]:
    return [m.update(m[op.pointers], _pointee(op.pointers), m[op.mask], swapped, m[op.cmp], m[op.val]), None]


def _offset(m: Machine, op: Op) -> np.ndarray:
    return np.asarray(m[op.ptr] + m[op.offset].astype(np.int64) * dtype_of(_pointee(op.ptr)).itemsize)


def _alloca(m: Machine, op: Op) -> np.ndarray:
    return np.asarray(m.memory.add(np.zeros(op.num_elem, dtype_of(_pointee(op.result)))))


# -- values ---------------------------------------------------------------------------------------------------------


def _constant(m: Machine, op: Op) -> np.ndarray:
    return np.broadcast_to(op.value.values, op.result.type.shape)


def _extract(m: Machine, op: Op) -> np.ndarray:
    source = m[op.source]
    return source[slice_at(op.result.type.shape, m[op.indices])]


def _insert(m: Machine, op: Op) -> np.ndarray:
    made = m[op.destination].copy()
    made[slice_at(op.source.type.shape, m[op.indices])] = m[op.source]
    return made


def _print(m: Machine, op: Op) -> None:
    m.write(m.format(op.str, m[op.values]))


def _assert(m: Machine, op: Op) -> None:
    if not m[op.condition].all():
        raise AssertionFailed(op.message)


# -- control flow ---------------------------------------------------------------------------------------------------


def _for(m: Machine, op: Op) -> list[Any] | Exit:
    carried = tuple(m[op.initValues])
    bounds = [m[v] for v in (op.lowerBound, op.upperBound, op.step)]
    if op.unsignedCmp:
        bounds = [b.view(f"u{b.dtype.itemsize}") for b in bounds]
    for i in range(*map(int, bounds)):
        carried = m.run(op.region, (np.asarray(i).astype(dtype_of(_element(op.lowerBound))), *carried)).values
    return list(carried)


def _loop(m: Machine, op: Op) -> list[object]:
    carried = tuple(m[op.initValues])
    while True:
        end = m.run(op.region, carried)
        if end.op.kind is ops.break_:
            return list(end.values)
        carried = end.values


def _if(m: Machine, op: Op) -> list[Any] | Exit:
    end = m.run(op.thenRegion if m[op.condition] else op.elseRegion)
    return list(end.values) if end.op.kind is ops.yield_ else end


_NAMED = {kind.mnemonic: kind for kind in (getattr(ops, n) for n in ops.__all__) if isinstance(kind, OpKind)}

MEANINGS: Mapping[OpKind, Meaning] = MappingProxyType(
    {
        **{_NAMED[name]: elementwise(name) for name in ELEMENTWISE},
        ops.assume: lambda m, op: m[op.value],
        ops.constant: _constant,
        ops.iota: lambda m, op: np.arange(op.result.type.shape[0], dtype=dtype_of(_element(op.result))),
        ops.get_tile_block_id: lambda m, op: [np.asarray(n, np.int32) for n in m.block],
        ops.get_num_tile_blocks: lambda m, op: [np.asarray(n, np.int32) for n in m.grid],
        ops.reshape: lambda m, op: m[op.source].reshape(op.result.type.shape),
        ops.broadcast: lambda m, op: np.broadcast_to(m[op.source], op.result.type.shape),
        ops.permute: lambda m, op: m[op.source].transpose(op.permutation),
        ops.cat: lambda m, op: np.concatenate((m[op.lhs], m[op.rhs]), op.dim),
        ops.extract: _extract,
        ops.insert: _insert,
        ops.offset: _offset,
        ops.get_global: lambda m, op: np.asarray(m.symbols[op.symbol]),
        ops.print_tko: _print,
        ops.assert_: _assert,
        ops.mmaf: lambda m, op: matrix_product(m[op.lhs], m[op.rhs], m[op.acc], _element(op.acc)),
        ops.mmai: lambda m, op: matrix_product(
            signed_or_not(m[op.lhs], op.signedness_lhs == "signed"),
            signed_or_not(m[op.rhs], op.signedness_rhs == "signed"),
            m[op.acc],
            "i32",
        ),
        ops.mmaf_scaled: lambda m, op: matrix_product(
            scaled(m[op.lhs], m[op.lhs_scale], -1),
            scaled(m[op.rhs], m[op.rhs_scale], -2),
            m[op.acc],
            _element(op.acc),
        ),
        ops.reduce: lambda m, op: m.reduce(m[op.operands], op.dim, op.body),
        ops.scan: lambda m, op: m.scan(m[op.operands], op.dim, op.reverse, op.body),
        ops.make_tensor_view: _array,
        ops.make_partition_view: lambda m, op: m[op.tensor_view],
        ops.make_strided_view: lambda m, op: m[op.tensor_view],
        ops.make_gather_scatter_view: lambda m, op: m[op.tensor_view],
        ops.get_tensor_shape: _tensor_shape,
        ops.get_index_space_shape: _index_space,
        ops.load_view_tko: _load_view,
        ops.store_view_tko: _store_view,
        ops.atomic_red_view_tko: _reduce_view,
        ops.load_ptr_tko: _load,
        ops.store_ptr_tko: _store,
        ops.atomic_rmw_tko: _rmw,
        ops.atomic_cas_tko: _cas,
        ops.alloca: _alloca,
        **dict.fromkeys(
            (
                ops.make_token,
                ops.join_tokens,
                ops.memory_fence_alias_tko,
                ops.gdc_wait_tko,
                ops.gdc_launch_dependents_tko,
            ),
            lambda m, op: None,
        ),
        ops.for_: _for,
        ops.loop: _loop,
        ops.if_: _if,
    }
)
"""What each operation does; blocks run one after another, so tokens need nothing."""


def interpret(
    module: Module, name: str, args: Sequence[object], grid: Sequence[int], write: Callable[[str], object] | None = None
) -> None:
    """Interpret the entry `name` over a grid of up to three dimensions; stores modify the arrays of `args`.

    args: an array for each pointer, a number for each scalar. write: gets the text of each `print`; the default prints.
    Raises `ValueError` for arguments that do not fit, `OutOfBounds` for a wild pointer, and `AssertionFailed`.
    """
    entry = next((op for op in module.ops if op.kind is ops.entry and op.sym_name == name), None)
    if entry is None:
        raise ValueError(f"the module has no entry @{name}")
    memory = Memory()
    symbols = {op.sym_name: memory.add(_global(op)) for op in module.ops if op.kind is ops.global_}
    values = [argument(memory, v.type.element, a) for v, a in zip(entry.body.params, args, strict=True)]
    run_grid(MEANINGS, memory, symbols, entry.body, values, grid, write)


def _global(op: Op) -> np.ndarray:
    return np.broadcast_to(op.value.values, op.type.shape).copy()
