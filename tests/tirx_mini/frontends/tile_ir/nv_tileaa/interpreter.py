"""nv_tileaa programs executed in NumPy: what proves the conversion from cuda_tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tirx_mini.frontends.tile_ir.cuda_tile import ArrayView, Blocks, Machine, Meaning, Ptr, meanings
from tirx_mini.frontends.tile_ir.nv_tileaa import BlockTile, element_of, shape_of
from tirx_mini.frontends.tile_ir.nv_tileaa import ops as aa
from tirx_mini.frontends.tile_ir.nv_tileaa import standard as st
from tirx_mini.frontends.tile_ir.nv_tileaa.computing import compute
from tirx_mini.frontends.tile_ir.ssa import Module, Op, OpKind, Value


def _element(value: Value) -> str:
    return str(element_of(value.type))


def _pointee(value: Value) -> str:
    pointer = element_of(value.type)
    assert isinstance(pointer, Ptr)
    return str(pointer.pointee)


def _elementwise(m: Machine, op: Op) -> np.ndarray:
    return compute(op, *m[op.operands])


def _blocks(view: Value) -> Blocks:
    cut = view.type
    assert isinstance(cut, BlockTile)
    return Blocks(cut.tile, cut.order, cut.steps, cut.gather, cut.padding)


def _memref(m: Machine, op: Op) -> ArrayView:
    def known(sizes: Sequence[int | None], given: Sequence[Any]) -> tuple[int, ...]:
        rest = iter(given)
        return tuple(int(next(rest)) if n is None else n for n in sizes)

    type_ = op.result.type
    shape, strides = known(type_.shape, m[op.shape]), known(type_.strides, m[op.strides])
    return ArrayView(int(m[op.base]), shape, strides, str(type_.element))


def _load_tile(m: Machine, op: Op) -> list[Any]:
    return [m.load(m[op.view], _blocks(op.view), m[op.index]), None]


def _store_tile(m: Machine, op: Op) -> None:
    m.store(m[op.view], _blocks(op.view), m[op.index], m[op.value])


def _tiled_rmw(m: Machine, op: Op) -> None:
    address, inside = _blocks(op.view).places(m[op.view], m[op.index])
    element = m[op.view].element
    m.update(address, element, inside, meanings.change_of(op.mode, element), m[op.value])


def _load(m: Machine, op: Op) -> list[Any]:
    return [m.gather(m[op.source], _pointee(op.source), m[op.mask], m[op.other]), None]


def _store(m: Machine, op: Op) -> None:
    m.scatter(m[op.destination], m[op.value], m[op.mask])


def _rmw(m: Machine, op: Op) -> list[Any]:
    element = _pointee(op.pointers)
    return [m.update(m[op.pointers], element, m[op.mask], meanings.change_of(op.mode, element), m[op.value]), None]


def _cas(m: Machine, op: Op) -> list[Any]:
    element = _pointee(op.pointers)
    return [m.update(m[op.pointers], element, m[op.mask], meanings.swapped, m[op.compare], m[op.value]), None]


def _addptr(m: Machine, op: Op) -> np.ndarray:
    return np.asarray(m[op.ptr] + m[op.offset].astype(np.int64) * meanings.dtype_of(_pointee(op.ptr)).itemsize)


def _dot(m: Machine, op: Op) -> np.ndarray:
    lhs, rhs = m[op.lhs], m[op.rhs]
    if _element(op.lhs).startswith("i"):
        lhs, rhs = meanings.signed_or_not(lhs, op.signed_lhs), meanings.signed_or_not(rhs, op.signed_rhs)
    return meanings.matrix_product(lhs, rhs, m[op.acc], _element(op.acc))


def _dot_scaled(m: Machine, op: Op) -> np.ndarray:
    lhs, rhs = meanings.scaled(m[op.lhs], m[op.lhs_scale], -1), meanings.scaled(m[op.rhs], m[op.rhs_scale], -2)
    return meanings.matrix_product(lhs, rhs, m[op.acc], _element(op.acc))


def _range(m: Machine, op: Op) -> np.ndarray:
    return np.arange(op.start, op.end, dtype=meanings.dtype_of(_element(op.result)))


def _moved(change: Callable[[np.ndarray, Op], np.ndarray]) -> Meaning:
    return lambda m, op: change(m[op.source], op)


def _extract(m: Machine, op: Op) -> np.ndarray:
    source = m[op.source]
    return np.asarray(source[tuple(map(int, m[op.indices]))] if op.indices else source.reshape(()))


def _insert_slice(m: Machine, op: Op) -> np.ndarray:
    made = m[op.destination].copy()
    made[meanings.slice_at(shape_of(op.source.type), m[op.indices])] = m[op.source]
    return made


def _extract_slice(m: Machine, op: Op) -> np.ndarray:
    return m[op.source][meanings.slice_at(shape_of(op.result.type), m[op.indices])]


def _print(m: Machine, op: Op) -> None:
    m.write(m.format(op.str, m[op.values]))


def _assert(m: Machine, op: Op) -> None:
    if not m[op.condition].all():
        raise meanings.AssertionFailed(op.message)


def _for(m: Machine, op: Op) -> list[Any]:
    carried = tuple(m[op.inits])
    bounds = [m[v] for v in (op.lower, op.upper, op.step)]
    if op.unsigned:
        bounds = [b.view(f"u{b.dtype.itemsize}") for b in bounds]
    for i in range(*map(int, bounds)):
        carried = m.run(op.body, (np.asarray(i).astype(meanings.dtype_of(_element(op.lower))), *carried)).values
    return list(carried)


def _if(m: Machine, op: Op) -> list[Any]:
    return list(m.run(op.then if m[op.condition] else op.orelse).values)


def _while(m: Machine, op: Op) -> list[Any]:
    carried = tuple(m[op.inits])
    while True:
        go, *values = m.run(op.before, carried).values
        if not go:
            return values
        carried = m.run(op.after, values).values


MEANINGS: Mapping[OpKind, Meaning] = MappingProxyType({
    **dict.fromkeys((*st.ELEMENTWISE, st.cmpi, st.cmpf, st.select, aa.fp_to_fp), _elementwise),
    st.constant: lambda m, op: np.broadcast_to(op.value.values, shape_of(op.result.type)),
    st.for_: _for,
    st.if_: _if,
    st.while_: _while,
    aa.assume: lambda m, op: m[op.value],
    aa.get_program_id: lambda m, op: [np.asarray(n, np.int32) for n in m.block],
    aa.get_num_programs: lambda m, op: [np.asarray(n, np.int32) for n in m.grid],
    aa.splat: _moved(lambda x, op: np.broadcast_to(x, shape_of(op.result.type))),
    aa.view: _moved(lambda x, op: x.reshape(shape_of(op.result.type))),
    aa.expand_dims: _moved(lambda x, op: np.expand_dims(x, op.axis)),
    aa.broadcast: _moved(lambda x, op: np.broadcast_to(x, shape_of(op.result.type))),
    aa.permute: _moved(lambda x, op: x.transpose(op.permutation)),
    aa.make_range: _range,
    aa.cat: lambda m, op: np.concatenate((m[op.lhs], m[op.rhs]), op.dim),
    aa.extract: _extract,
    aa.extract_slice: _extract_slice,
    aa.insert_slice: _insert_slice,
    aa.dot: _dot,
    aa.dot_scaled: _dot_scaled,
    aa.reduce: lambda m, op: m.reduce(m[op.operands], op.dim, op.body),
    aa.scan: lambda m, op: m.scan(m[op.operands], op.dim, op.reverse, op.body),
    aa.make_memref: _memref,
    aa.block_tile: lambda m, op: m[op.source],
    aa.tiled_load: _load_tile,
    aa.gather_load: _load_tile,
    aa.tiled_store: _store_tile,
    aa.scatter_store: _store_tile,
    aa.tiled_atomic_rmw: _tiled_rmw,
    aa.addptr: _addptr,
    aa.load: _load,
    aa.store: _store,
    aa.atomic_rmw: _rmw,
    aa.atomic_cas: _cas,
    **dict.fromkeys((aa.int_to_ptr, aa.ptr_to_int, aa.ptr_to_ptr), lambda m, op: m[op.source]),
    **dict.fromkeys((aa.create_mem_token, aa.join_mem_tokens, aa.mem_fence), lambda m, op: None),
    aa.get_global: lambda m, op: np.asarray(m.symbols[op.symbol]),
    aa.print_: _print,
    aa.assert_: _assert,
})  # fmt: skip
"""What each operation does."""


def interpret(
    module: Module, name: str, args: Sequence[Any], grid: Sequence[int], write: Callable[[str], object] | None = None,
    meaning_of: Mapping[OpKind, Meaning] = MEANINGS,
) -> None:  # fmt: skip
    """Run the function `name` over a grid; as `cuda_tile.interpret`.

    meaning_of: what each operation does; a test may look on.
    """
    func = next((op for op in module.ops if op.kind is aa.func and op.sym_name == name), None)
    if func is None:
        raise ValueError(f"the module has no function @{name}")
    memory = meanings.Memory()
    filled = {
        op.sym_name: np.broadcast_to(op.value.values, shape_of(op.type)) for op in module.ops if op.kind is aa.global_
    }
    symbols = {symbol: memory.add(values.copy()) for symbol, values in filled.items()}
    values = [meanings.argument(memory, element_of(v.type), a) for v, a in zip(func.body.params, args, strict=True)]
    meanings.run_grid(meaning_of, memory, symbols, func.body, values, grid, write)
