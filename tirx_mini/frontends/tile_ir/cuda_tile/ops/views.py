"""Array views, and loads and stores through them (Tile IR: Operations, Views)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...ssa import BOOL, Codec, Op, OpKind, Parser, Printer, Syntax, Value, make, sequence
from ..attributes import ATOMIC_MODE, HINTS, LOAD_ORDER, OPTIONAL_SCOPE, SCOPE, STORE_ORDER
from ..dialect import CUDA_TILE, rules, scalar_integers, token
from ..types import TOKEN, GatherScatterView, PartitionView, Ptr, TensorView, Tile


def _made_view(op: Op) -> Iterator[str]:
    view = op.result.type
    if not isinstance(view, TensorView):
        yield f"its result is a tensor_view, not {view}"
        return
    if op.base.type != Tile((), Ptr(view.element)):
        yield f"the base of {view} is a tile<{Ptr(view.element)}>, not {op.base.type}"
    if len(op.dynamicShape) != view.shape.count(None) or len(op.dynamicStrides) != view.strides.count(None):
        yield f"{view} needs {view.shape.count(None)} extents and {view.strides.count(None)} strides as operands"


def _print_make(op: Op, p: Printer) -> None:
    view = op.result.type

    def mixed(known: Sequence[int | None], values: Sequence[Value]) -> str:
        rest = iter(values)
        return "[" + ", ".join(p.name(next(rest)) if n is None else str(n) for n in known) + "]"

    shape, strides = mixed(view.shape, op.dynamicShape), mixed(view.strides, op.dynamicStrides)
    p.write(f"{p.name(op.base)},", "shape", "=", f"{shape},", "strides", "=", strides, ":")
    given = (*op.dynamicShape, *op.dynamicStrides)
    if given:
        p.write(p.type(given[0].type), "->")
    p.write(p.type(view))


def _parse_make(p: Parser, kind: OpKind) -> Op:
    def one() -> Value | None:
        if p.peek_kind() == "value":
            return p.value()
        p.number()
        return None

    base = p.value()
    groups = []
    for name in ("shape", "strides"):
        p.expect(",")
        p.expect(name)
        p.expect("=")
        groups.append(tuple(v for v in p.listed("[", "]", one) if v is not None))
    p.expect(":")
    type_ = p.type()
    if p.accept("->"):
        type_ = p.type()
    return make(kind, (base, *groups), types=(type_,))


def _shape_syntax() -> Syntax:
    """Return the syntax ``%view : view_type -> tile<i32>``, with one type for all results."""

    def write(op: Op, p: Printer) -> None:
        p.write(
            p.name(op.src), ":", p.type(op.src.type), "->", p.type(op.results[0].type) if op.results else "tile<i32>"
        )

    def parse(p: Parser, kind: OpKind) -> Op:
        names = p.names
        src = p.value()
        p.expect(":")
        p.type()
        p.expect("->")
        type_ = p.type()
        return make(kind, (src,), types=(type_,) * len(names))

    return Syntax(write, parse)


def _one_result_a_dimension(op: Op) -> Iterator[str]:
    type_ = op.src.type
    rank = len(type_.shape) if isinstance(type_, TensorView) else len(type_.tile)
    if len(op.results) != rank:
        yield f"{type_} has {rank} dimensions, not {len(op.results)}"


def _of_tensor_view(op: Op) -> Iterator[str]:
    if not isinstance(op.tensor_view.type, TensorView):
        yield f"it cuts a tensor_view, not {op.tensor_view.type}"
    elif (
        not isinstance(op.result.type, (PartitionView, GatherScatterView)) or op.result.type.view != op.tensor_view.type
    ):
        yield f"{op.result.type} is not a view of {op.tensor_view.type}"
    elif isinstance(op.result.type, PartitionView) and sorted(op.result.type.dim_map) != list(
        range(len(op.result.type.view.shape))
    ):
        rank = len(op.result.type.view.shape)
        yield f"dim_map={list(op.result.type.dim_map)} is not a permutation of {rank} dimensions"


def _indexed(tile: str) -> Callable[[Op], Iterator[str]]:
    """Verify that the index matches the view's rank, and that the tile has the view's tile type."""

    def verify(op: Op) -> Iterator[str]:
        view = op.view.type
        if not isinstance(view, (PartitionView, GatherScatterView)):
            yield f"it accesses a view of tiles, not {view}"
            return
        if len(op.index) != len(view.tile):
            yield f"{view} takes {len(view.tile)} indices, not {len(op.index)}"
        if getattr(op, tile).type != view.loaded:
            yield f"the tiles of {view} are {view.loaded}, not {getattr(op, tile).type}"
        for dim, value in enumerate(op.index):
            sparse = isinstance(view, GatherScatterView) and dim == view.sparse_dim
            if value.type.shape != ((view.tile[dim],) if sparse else ()):
                what = "a tile of one index for each slice" if sparse else "a scalar"
                yield f"index {dim} of {view} is {what}, not {value.type}"

    return verify


def _access(before: str, after: str, inferred: tuple[str, ...]) -> Syntax:
    """Return the syntax of a view access: ``weak [device] BEFORE %view[%i, …] AFTER [token = %t] … : types -> types``.

    before, after: format of what stands before and after the view: names of operands and attributes.
    inferred: what the types of the results are: "tile" of the view, or "token".
    """

    def write(op: Op, p: Printer) -> None:
        p.write(op.memory_ordering_semantics, *([op.memory_scope] if op.memory_scope else []))
        for name in before.split():
            p.write(f"{p.name(getattr(op, name))},")
        p.write(f"{p.name(op.view)}[{', '.join(map(p.name, op.index))}]")
        for name in after.split():
            p.write(",", p.attribute(op, name) if name in op.kind.attrs else p.name(getattr(op, name)))
        if op.token is not None:
            p.write("token", "=", p.name(op.token))
        if "optimization_hints" in op.kind.attrs and op.optimization_hints is not None:
            p.write("optimization_hints", "=", p.attribute(op, "optimization_hints"))
        if any(op.inbounds):
            p.write("inbounds", "=", p.attribute(op, "inbounds"))
        values = [getattr(op, name) for name in (*before.split(), *after.split()) if name not in op.kind.attrs]
        kinds = [p.type(i.type) for i in op.index]
        p.write(
            ":",
            ", ".join(
                [
                    *(p.type(v.type) for v in values),
                    p.type(op.view.type),
                    *(kinds if len(set(kinds)) > 1 else kinds[:1]),
                ]
            ),
        )
        p.write("->", ", ".join(p.type(v.type) for v in op.results))

    def parse(p: Parser, kind: OpKind) -> Op:
        got: dict[str, Any] = {}
        attrs: dict[str, Any] = {"memory_ordering_semantics": kind.attrs["memory_ordering_semantics"].parse(p)}
        if p.peek_kind() == "word":
            attrs["memory_scope"] = kind.attrs["memory_scope"].parse(p)
        for name in before.split():
            got[name] = p.value()
            p.expect(",")
        got["view"] = p.value()
        got["index"] = tuple(p.listed("[", "]", p.value))
        for name in after.split():
            p.expect(",")
            (attrs if name in kind.attrs else got)[name] = (
                kind.attrs[name].parse(p) if name in kind.attrs else p.value()
            )
        if p.accept("token"):
            p.expect("=")
            got["token"] = p.value()
        for name in ("optimization_hints", "inbounds"):
            if name in kind.attrs and p.accept(name):
                p.expect("=")
                attrs[name] = kind.attrs[name].parse(p)
        p.expect(":")
        p.type()
        while p.accept(","):
            p.type()
        p.expect("->")
        p.type()
        while p.accept(","):
            p.type()
        types = tuple(got["view"].type.loaded if what == "tile" else TOKEN for what in inferred)
        return make(kind, tuple(got.get(f.name) for f in kind.operands), attrs, types=types)

    return Syntax(write, parse)


_BOUNDS = sequence(BOOL)(())
_VIEW = "$tensor_view : type($result)"
_LOADED: dict[str, Codec] = {
    "memory_ordering_semantics": LOAD_ORDER("weak"),
    "memory_scope": OPTIONAL_SCOPE,
    "optimization_hints": HINTS,
    "inbounds": _BOUNDS,
}
_STORED = _LOADED | {"memory_ordering_semantics": STORE_ORDER("weak")}
_REDUCED: dict[str, Codec] = {
    "memory_ordering_semantics": LOAD_ORDER("relaxed"),
    "memory_scope": SCOPE("device"),
    "mode": ATOMIC_MODE,
    "inbounds": _BOUNDS,
}

make_tensor_view = CUDA_TILE.op(
    "make_tensor_view", "base *dynamicShape *dynamicStrides", "result", Syntax(_print_make, _parse_make),
    verify=rules(scalar_integers("dynamicShape dynamicStrides"), _made_view), pure=True,
)  # fmt: skip
make_partition_view = CUDA_TILE.op(
    "make_partition_view", "tensor_view", "result", _VIEW, verify=_of_tensor_view, pure=True
)
make_strided_view = CUDA_TILE.op("make_strided_view", "tensor_view", "result", _VIEW, verify=_of_tensor_view, pure=True)
make_gather_scatter_view = CUDA_TILE.op(
    "make_gather_scatter_view", "tensor_view", "result", _VIEW, verify=_of_tensor_view, pure=True
)
get_tensor_shape = CUDA_TILE.op(
    "get_tensor_shape", "src", "*result", _shape_syntax(), verify=_one_result_a_dimension, pure=True
)
get_index_space_shape = CUDA_TILE.op(
    "get_index_space_shape", "src", "*result", _shape_syntax(), verify=_one_result_a_dimension, pure=True
)
load_view_tko = CUDA_TILE.op(
    "load_view_tko", "view *index token?", "tile result_token", _access("", "", ("tile", "token")),
    infer=lambda op: (op.view.type.loaded, TOKEN), verify=_indexed("tile"), attrs=_LOADED,
)  # fmt: skip
store_view_tko = CUDA_TILE.op(
    "store_view_tko", "tile view *index token?", "result_token", _access("tile", "", ("token",)),
    infer=token, verify=_indexed("tile"), attrs=_STORED,
)  # fmt: skip
atomic_red_view_tko = CUDA_TILE.op(
    "atomic_red_view_tko", "view *index value token?", "result_token", _access("", "mode value", ("token",)),
    infer=token, verify=_indexed("value"), attrs=_REDUCED,
)  # fmt: skip
