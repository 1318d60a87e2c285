"""The pipelines of chained products (`products`), a part of tileas-materialize-async."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..cuda_tile import Dense
from ..nv_tileaa import standard as std
from ..ssa import Arg, Op, OpKind, Scalar, Value
from . import pipeline_ops as pipe
from .products import Chain, Product, Room, is_added
from .rings import Ring


class Pipelining(Protocol):
    """The state of tileas-materialize-async during the rewrite of a function."""

    at: Any
    env: dict[Value, Value]
    defs: dict[Value, Op]

    def __getitem__(self, arg: object) -> Any: ...
    def emit(self, kind: OpKind, *args: Any, **options: Any) -> Any: ...
    def copy(self, op: Op) -> Op: ...
    def loop(self, op: Op, inside: list[Ring], rooms: Mapping[int, Value | None] | None = None) -> list[Value]: ...


def chained_loop(rw: Pipelining, chain: Chain, inside: list[Ring]) -> list[Value]:
    """Emit a loop with products, writing its carried sums to tensor memory before it and reading them after it."""
    loop = chain.loop
    assert loop is not None
    carried = [product for product in chain.products if product.index is not None]
    for product in carried:
        rw.emit(pipe.write, rw[loop.inits[product.index]], _sums(rw, product))
    results = rw.loop(loop, inside, {product.index: None for product in carried if product.index is not None})
    for product in carried:
        assert product.index is not None
        old = loop.results[product.index]
        results[product.index] = rw.emit(pipe.copy, _sums(rw, product), types=[old.type], hint=old.hint)
    return results


def product_of(rw: Pipelining, product: Product) -> Value:
    """Emit a dot in tensor memory, with its input and output pipelines."""
    dot, given, sums = product.dot, product.given, product.sums
    lhs, acc = rw[dot.lhs], None
    held: Value | None = None
    if given is not None:
        _hand_over(rw, product, given)
        held = rw.emit(pipe.consumer_wait, given.ring.pipeline, rw.at.consumer[given.ring])
        read = _several(rw.emit(pipe.consumer_read, given.ring.pipeline, held))
        lhs = read[0] if product.computed else lhs
        acc = read[-1] if sums is None else None
    stage: Value | None = None
    adds: Value | None = None
    if sums is not None:
        stage, (acc,) = _acquired(rw, sums)
        adds = rw.emit(std.constant, types=[Scalar("i1")], value=Dense.of("i1", False))
    assert acc is not None
    rw.emit(pipe.async_dot, lhs, rw[dot.rhs], acc, adds, mma=dot.mma, signed=dot.signed_lhs, types=[acc.type])
    if given is not None:
        rw.emit(pipe.consumer_release, given.ring.pipeline, held)
        rw.at.consumer[given.ring] = rw.emit(pipe.inc_iter, rw.at.consumer[given.ring])
        if given.over is not None:
            rw.emit(pipe.consumer_release, given.over.ring.pipeline, given.over.held)
    return acc if sums is None or stage is None else _read(rw, product, sums, stage)


def _hand_over(rw: Pipelining, product: Product, given: Room) -> None:
    """Emit the threads' work before a dot: transform its sums, and write its left operand."""
    dot = product.dot
    stage, rooms = _acquired(rw, given)
    if product.late:
        carried = product.carried
        assert carried is not None
        rw.env[carried] = rw.emit(pipe.copy, rooms[-1], types=[carried.type], hint=carried.hint)
        for op in product.late:
            rw.env.update(zip(op.results, rw.copy(op).results, strict=True))
        rw.emit(pipe.write, rw[dot.acc], rooms[-1])
    if product.computed:
        rw.emit(pipe.write, rw[dot.lhs], rooms[0])
    rw.emit(pipe.producer_commit, given.ring.pipeline, stage)
    rw.at.producer[given.ring] = rw.emit(pipe.inc_iter, rw.at.producer[given.ring])


def _read(rw: Pipelining, product: Product, sums: Room, stage: Value) -> Value:
    """Read a product's sums to registers, and add the dot's initial value."""
    ring, dot = sums.ring, product.dot
    rw.emit(pipe.producer_commit, ring.pipeline, stage)
    rw.at.producer[ring] = rw.emit(pipe.inc_iter, rw.at.producer[ring])
    sums.held = rw.emit(pipe.consumer_wait, ring.pipeline, rw.at.consumer[ring])
    read = rw.emit(pipe.consumer_read, ring.pipeline, sums.held)
    found = rw.emit(pipe.copy, read, types=[dot.acc.type], hint=dot.result.hint)
    if not sums.is_covered:
        rw.emit(pipe.consumer_release, ring.pipeline, sums.held)
    rw.at.consumer[ring] = rw.emit(pipe.inc_iter, rw.at.consumer[ring])
    return rw.emit(std.addf, found, rw[dot.acc], hint=dot.result.hint) if is_added(product, rw.defs) else found


def _sums(rw: Pipelining, product: Product) -> Value:
    """Return the tensor-memory room of carried sums after the tensor core has accumulated into them."""
    assert product.given is not None
    return _acquired(rw, product.given)[1][-1]


def _acquired(rw: Pipelining, room: Room) -> tuple[Value, tuple[Value, ...]]:
    """Acquire a pipeline stage and its tensors, possibly again if it has not been committed."""
    ring = room.ring
    stage = rw.emit(pipe.producer_acquire, ring.pipeline, rw.at.producer[ring])
    return stage, _several(rw.emit(pipe.producer_room, ring.pipeline, stage))


def _several(made: Arg) -> tuple[Value, ...]:
    return (made,) if isinstance(made, Value) else tuple(made or ())
