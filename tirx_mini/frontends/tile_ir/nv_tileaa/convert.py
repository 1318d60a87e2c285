"""The pass convert-cudatile-to-tileaa: views become memory references, tiles tensors, and scalars plain numbers.

Kernels, loops and branches with early exits are `structuring.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tirx_mini.ir import TirxError

from ..context import Context
from ..cuda_tile import Dense, GatherScatterView, PartitionView, TensorView, Tile, Token
from ..cuda_tile import ops as ct
from ..ssa import Module, Op, OpKind, Region, Rewriter, Scalar, Type, Value, remove_dead
from . import ops as aa
from . import standard as st
from .canonical import canonical
from .memory_types import MEM_TOKEN, BlockTile, Memref, element_of, shape_of, shaped
from .structuring import STRUCTURED

Converted = Callable[[Op, Rewriter], Any]


def type_of(type_: Type) -> Type:
    """Return the nv_tileaa type of a cuda_tile value."""
    if isinstance(type_, Tile):
        return shaped(type_.shape, type_.element)
    if isinstance(type_, Token):
        return MEM_TOKEN
    if isinstance(type_, TensorView):
        return Memref(type_.element, type_.shape, type_.strides)
    if isinstance(type_, PartitionView):
        memref = Memref(type_.view.element, type_.view.shape, type_.view.strides)
        return BlockTile(memref, type_.tile, type_.dim_map, type_.steps, None, type_.padding)
    if isinstance(type_, GatherScatterView):
        memref = Memref(type_.view.element, type_.view.shape, type_.view.strides)
        return BlockTile(memref, type_.tile, (), (1,) * len(type_.tile), type_.sparse_dim, type_.padding)
    return type_


# -- values ---------------------------------------------------------------------------------------------------------


def _elementwise(candidates: Sequence[st.Elementwise]) -> Converted:
    """Return the rule that selects the candidate matching most attributes of a cuda_tile operation."""
    ordered = sorted(candidates, key=lambda c: -len(c.fixed))

    def rule(op: Op, rw: Rewriter) -> Value:
        same = next(c for c in ordered if all(getattr(op, n) == v for n, v in c.fixed.items()))
        attrs = {n: op.attrs[n] for n in same.kind.attrs if n in op.attrs}
        return rw.emit(same.kind, *(rw[a] for a in op.args), types=[type_of(op.result.type)], **attrs)

    return rule


def _elementwise_rules() -> dict[OpKind, Converted]:
    by_name: dict[str, list[st.Elementwise]] = {}
    for same in st.ELEMENTWISE.values():
        by_name.setdefault(same.of, []).append(same)
    kinds = {kind.mnemonic: kind for name in ct.__all__ if isinstance(kind := getattr(ct, name), OpKind)}
    return {kinds[name]: _elementwise(candidates) for name, candidates in by_name.items()}


def _plain(kind: OpKind, *attrs: str) -> Converted:
    """Return the rule that renames an operation, keeping operands, results and some attributes."""

    def rule(op: Op, rw: Rewriter) -> Any:
        kept = {n: op.attrs[n] for n in attrs if n in op.attrs}
        return rw.emit(kind, *(rw[a] for a in op.args), types=[type_of(v.type) for v in op.results], **kept)

    return rule


def _cmpi(op: Op, rw: Rewriter) -> Value:
    return rw.emit(st.cmpi, rw[op.lhs], rw[op.rhs], predicate=st.CMPI[op.comparison_predicate, op.signedness])


def _cmpf(op: Op, rw: Rewriter) -> Value:
    return rw.emit(st.cmpf, rw[op.lhs], rw[op.rhs], predicate=st.CMPF[op.comparison_predicate, op.comparison_ordering])


def _constant(op: Op, rw: Rewriter) -> Value:
    return rw.emit(st.constant, types=[type_of(op.result.type)], value=op.value)


def _iota(op: Op, rw: Rewriter) -> Value:
    return rw.emit(aa.make_range, types=[type_of(op.result.type)], start=0, end=op.result.type.shape[0])


def _reshape(op: Op, rw: Rewriter) -> Value:
    """Lower a reshape to a splat, an extract, an expand_dims for one new extent of 1, or else a view."""
    source, type_ = rw[op.source], type_of(op.result.type)
    before, after = shape_of(source.type), shape_of(type_)
    if before == after:
        return source
    if not before:
        return rw.emit(aa.splat, source, types=[type_])
    if not after:
        return rw.emit(aa.extract, source, ())
    axis = next((i for i in range(len(after)) if (*before[:i], 1, *before[i:]) == after), None)
    if axis is not None:
        return rw.emit(aa.expand_dims, source, types=[type_], axis=axis)
    return rw.emit(aa.view, source, types=[type_])


def _broadcast(op: Op, rw: Rewriter) -> Value:
    source, type_ = rw[op.source], type_of(op.result.type)
    return source if source.type == type_ else rw.emit(aa.broadcast, source, types=[type_])


def _assume(op: Op, rw: Rewriter) -> Value:
    """Lower an assumption; those on views are already part of their types."""
    value = rw[op.value]
    return value if isinstance(value.type, (Memref, BlockTile)) else rw.emit(aa.assume, value, predicate=op.predicate)


def _mmai(op: Op, rw: Rewriter) -> Value:
    signs: dict[str, Any] = {"signed_lhs": op.signedness_lhs == "signed",
    "signed_rhs": op.signedness_rhs == "signed"}
    return rw.emit(aa.dot, rw[op.lhs], rw[op.rhs], rw[op.acc], **signs)


def _mmaf(op: Op, rw: Rewriter) -> Value:
    attrs: dict[str, Any] = {"fast_acc": True} if op.fast_acc else {}
    return rw.emit(aa.dot, rw[op.lhs], rw[op.rhs], rw[op.acc], **attrs)


_COMBINED: Mapping[OpKind, str] = MappingProxyType({
    st.addf: "add", st.addi: "add", st.mulf: "mul", st.muli: "mul", st.maxsi: "max", st.maxnumf: "max",
    st.maximumf: "max", st.minsi: "min", st.minnumf: "min", st.minimumf: "min", st.maxui: "umax", st.minui: "umin",
    st.andi: "and", st.ori: "or", st.xori: "xor",
})  # fmt: skip


def combination(body: Region) -> str:
    """Return the combining operation of a reduction body, such as "add" or "max", or "" if it is not a single one."""
    if len(body.params) != 2 or len(body.ops) != 2:
        return ""
    op, end = body.ops
    known = set(op.operands) == set(body.params) and end.operands == op.results
    return _COMBINED.get(op.kind, "") if known else ""


def _reduction(kind: OpKind) -> Converted:
    def rule(op: Op, rw: Rewriter) -> Any:
        body = rw.region(op.body)
        attrs = {"dim": op.dim, "identities": op.identities, "combine": combination(body)}
        if kind is aa.scan and op.reverse:
            attrs["reverse"] = True
        types = [type_of(v.type) for v in op.results]
        return rw.emit(kind, list(rw[op.operands]), types=types, regions=(body,), **attrs)

    return rule


# -- memory ---------------------------------------------------------------------------------------------------------


def _access(op: Op, context: Context, bounds: bool = False) -> dict[str, Any]:
    """Return the attributes of a load or store (order, scope, latency, allow_tma, in_bounds) for the architecture."""
    attrs: dict[str, Any] = {}
    if op.memory_ordering_semantics != "weak":
        attrs["order"] = op.memory_ordering_semantics
    if op.memory_scope:
        attrs["scope"] = op.memory_scope
    hints = (op.optimization_hints or {}).get(context.arch.rstrip("a"), {})
    attrs |= {n: hints[n] for n in ("latency", "allow_tma") if n in hints}
    if bounds and any(op.inbounds):
        attrs["in_bounds"] = op.inbounds
    return attrs


def _atomic(op: Op, *names: str) -> dict[str, Any]:
    given = {"order": op.memory_ordering_semantics, "scope": op.memory_scope}
    return given | {n: getattr(op, n) for n in names}


class _Memory:
    """The lowering rules that need the context or the defining operations of views."""

    def __init__(self, module: Module, context: Context) -> None:
        self.context = context
        self.made = {v: op for op in module.walk() for v in op.results}

    def rules(self) -> dict[OpKind, Converted]:
        return {
            ct.load_view_tko: self.load_view,
            ct.store_view_tko: self.store_view,
            ct.load_ptr_tko: self.load,
            ct.store_ptr_tko: self.store,
            ct.get_tensor_shape: self.tensor_shape,
            ct.get_index_space_shape: self.index_space,
        }

    def load_view(self, op: Op, rw: Rewriter) -> object:
        kind = aa.gather_load if isinstance(op.view.type, GatherScatterView) else aa.tiled_load
        return rw.emit(kind, rw[op.view], rw[op.index], rw[op.token], **_access(op, self.context, True))

    def store_view(self, op: Op, rw: Rewriter) -> object:
        kind = aa.scatter_store if isinstance(op.view.type, GatherScatterView) else aa.tiled_store
        return rw.emit(kind, rw[op.tile], rw[op.view], rw[op.index], rw[op.token], **_access(op, self.context, True))

    def load(self, op: Op, rw: Rewriter) -> Any:
        return rw.emit(aa.load, *(rw[a] for a in op.args), **_access(op, self.context))

    def store(self, op: Op, rw: Rewriter) -> Any:
        return rw.emit(aa.store, *(rw[a] for a in op.args), **_access(op, self.context))

    def tensor_shape(self, op: Op, rw: Rewriter) -> list[Value]:
        element = op.results[0].type.element
        return [self._extent(op.src, axis, element, rw) for axis in range(len(op.results))]

    def index_space(self, op: Op, rw: Rewriter) -> list[Value]:
        view, element = type_of(op.src.type), op.results[0].type.element
        assert isinstance(view, BlockTile)
        source = self._origin(op.src).tensor_view

        def count(dim: int) -> Value:
            axis, step = view.order[dim], view.steps[dim]
            known = view.memref.shape[axis]
            if known is not None:
                return number(rw, element, -(-known // step))
            return rw.emit(st.ceildivsi, self._extent(source, axis, element, rw), number(rw, element, step))

        return [count(dim) for dim in range(len(view.tile))]

    def _origin(self, view: Value) -> Op:
        """Return the operation that created a view, looking through assumptions."""
        op = self.made[view]
        return self._origin(op.value) if op.kind is ct.assume else op

    def _extent(self, view: Value, axis: int, element: Scalar, rw: Rewriter) -> Value:
        known = view.type.shape[axis]
        if known is not None:
            return number(rw, element, known)
        place = view.type.shape[:axis].count(None)
        return resized(rw, rw[self._origin(view).dynamicShape[place]], element)


def number(rw: Rewriter, element: Scalar, value: int) -> Value:
    """Emit an integer constant."""
    return rw.emit(st.constant, types=[element], value=Dense.of(element, value))


def resized(rw: Rewriter, value: Value, element: Scalar) -> Value:
    """Convert an integer to another width."""
    before = element_of(value.type)
    assert isinstance(before, Scalar)
    if before == element:
        return value
    return rw.emit(st.extsi if before.bits < element.bits else st.trunci, value, types=[element])


def _atomic_rmw(op: Op, rw: Rewriter) -> object:
    return rw.emit(aa.atomic_rmw, rw[op.pointers], rw[op.arg], rw[op.mask], rw[op.token], **_atomic(op, "mode"))


def _atomic_cas(op: Op, rw: Rewriter) -> object:
    return rw.emit(aa.atomic_cas, *(rw[a] for a in op.args), **_atomic(op))


def _atomic_view(op: Op, rw: Rewriter) -> object:
    return rw.emit(aa.tiled_atomic_rmw, rw[op.view], rw[op.index], rw[op.value], rw[op.token], **_atomic(op, "mode"))


def _fence(what: str) -> Converted:
    return lambda op, rw: rw.emit(aa.mem_fence, rw[op.token], what=what)


def _global(op: Op, rw: Rewriter) -> object:
    return rw.emit(aa.global_, sym_name=op.sym_name, value=op.value, type=type_of(op.type))


def _refused(op: Op, rw: Rewriter) -> object:
    raise TirxError(f"{op.name} is not supported", op.span)


RULES: Mapping[OpKind, Converted] = MappingProxyType({
    **_elementwise_rules(),
    ct.cmpi: _cmpi,
    ct.cmpf: _cmpf,
    ct.constant: _constant,
    ct.iota: _iota,
    ct.reshape: _reshape,
    ct.broadcast: _broadcast,
    ct.assume: _assume,
    ct.permute: _plain(aa.permute, "permutation"),
    ct.cat: _plain(aa.cat, "dim"),
    ct.extract: _plain(aa.extract_slice),
    ct.insert: _plain(aa.insert_slice),
    ct.select: _plain(st.select),
    ct.offset: _plain(aa.addptr),
    ct.int_to_ptr: _plain(aa.int_to_ptr),
    ct.ptr_to_int: _plain(aa.ptr_to_int),
    ct.ptr_to_ptr: _plain(aa.ptr_to_ptr),
    ct.ftof: _plain(aa.fp_to_fp, "rounding_mode"),
    ct.get_tile_block_id: _plain(aa.get_program_id),
    ct.get_num_tile_blocks: _plain(aa.get_num_programs),
    ct.mmaf: _mmaf,
    ct.mmai: _mmai,
    ct.mmaf_scaled: _plain(aa.dot_scaled),
    ct.reduce: _reduction(aa.reduce),
    ct.scan: _reduction(aa.scan),
    ct.yield_: _plain(aa.yield_),
    ct.make_tensor_view: _plain(aa.make_memref),
    ct.make_partition_view: _plain(aa.block_tile),
    ct.make_strided_view: _plain(aa.block_tile),
    ct.make_gather_scatter_view: _plain(aa.block_tile),
    ct.make_token: _plain(aa.create_mem_token),
    ct.join_tokens: _plain(aa.join_mem_tokens),
    ct.memory_fence_alias_tko: _fence("alias"),
    ct.gdc_wait_tko: _fence("gdc_wait"),
    ct.gdc_launch_dependents_tko: _fence("gdc_launch_dependents"),
    ct.atomic_rmw_tko: _atomic_rmw,
    ct.atomic_cas_tko: _atomic_cas,
    ct.atomic_red_view_tko: _atomic_view,
    ct.global_: _global,
    ct.get_global: _plain(aa.get_global, "symbol"),
    ct.print_tko: _plain(aa.print_, "str"),
    ct.assert_: _plain(aa.assert_, "message"),
    **dict.fromkeys((ct.pack, ct.unpack, ct.alloca), _refused),
    **STRUCTURED,
})  # fmt: skip
"""What stands for each operation of cuda_tile; `_Memory` has those that need the context."""


def convert_cudatile_to_tileaa(module: Module, context: Context) -> Module:
    """Lower a module to nv_tileaa and canonicalise it. Raises `TirxError` for operations without a counterpart."""
    rules = {**RULES, **_Memory(module, context).rules()}
    return remove_dead(canonical(Rewriter(rules, type_of).module(module)))
