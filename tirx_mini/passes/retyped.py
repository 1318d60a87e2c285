"""Accesses through a view of another dtype, rewritten to accesses of the underlying elements."""

from __future__ import annotations

from tirx_mini.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    Ramp,
    Span,
    Stmt,
    TirxError,
    cast,
    const,
    reinterpret,
    simplify,
)


def retyped_load(holder: Buffer, dtype: DataType, index: Expr, span: Span | None) -> Expr:
    """Return the element or vector of type `dtype` at `index`, counted in elements of that type."""
    lanes = index.lanes if isinstance(index, Ramp) else 1
    whole = _whole(holder, dtype, index)
    if whole is not None:
        read = BufferLoad(holder.dtype.with_lanes(getattr(whole, "lanes", 1)), holder, (whole,), span=span)
        return reinterpret(dtype.with_lanes(lanes), read, span=span)
    word, shift, bits = _within(holder, dtype, index, span)
    part = (reinterpret(bits, BufferLoad(holder.dtype, holder, (word,), span=span), span=span)) >> shift
    return reinterpret(dtype, cast(f"uint{dtype.bits}", part), span=span)


def retyped_store(holder: Buffer, dtype: DataType, index: Expr, value: Expr, span: Span | None) -> Stmt:
    """Return the store of an element or vector of type `dtype` at `index`."""
    whole = _whole(holder, dtype, index)
    if whole is not None:
        kind = holder.dtype.with_lanes(getattr(whole, "lanes", 1))
        return BufferStore(holder, (whole,), reinterpret(kind, value, span=span), span=span)
    if holder.scope != "local":
        raise TirxError(
            f"a store of {dtype} would write a part of an element of {holder.name}, which is {holder.dtype}, and "
            "another thread may write the rest",
            span,
            "store whole elements",
        )
    word, shift, bits = _within(holder, dtype, index, span)
    old = reinterpret(bits, BufferLoad(holder.dtype, holder, (word,), span=span), span=span)
    ones = const((1 << dtype.bits) - 1, bits)
    new = cast(bits, reinterpret(f"uint{dtype.bits}", value, span=span)) << shift
    return BufferStore(holder, (word,), reinterpret(holder.dtype, (old & ~(ones << shift)) | new, span=span), span=span)


def retyped_index(holder: Buffer, dtype: DataType, index: Expr, span: Span | None) -> Expr:
    """Return the index of the `holder` element at the same address as the element of type `dtype` at `index`."""
    place = simplify(index * dtype.bits)
    if dtype.bits < holder.dtype.bits:
        raise TirxError(
            f"{holder.name} has elements of {holder.dtype}, so there is no pointer to one of {dtype} inside of it",
            span,
            "take a pointer to the whole element",
        )
    return simplify(place // holder.dtype.bits)


def _whole(holder: Buffer, dtype: DataType, index: Expr) -> Expr | None:
    """Return the index of the whole `holder` elements that an access covers, or None for a partial element."""
    lanes = index.lanes if isinstance(index, Ramp) else 1
    first = index.base if isinstance(index, Ramp) else index
    count, rest = divmod(lanes * dtype.bits, holder.dtype.bits)
    if rest:
        return None
    place = simplify(first * dtype.bits // holder.dtype.bits)
    return Ramp(place.dtype, place, count, span=index.span) if count > 1 else place


def _within(holder: Buffer, dtype: DataType, index: Expr, span: Span | None) -> tuple[Expr, Expr, str]:
    """Return the containing `holder` element, the bit shift of the part, and the integer type of its bits."""
    if isinstance(index, Ramp):
        raise TirxError(
            f"{index.lanes} elements of {dtype} are not whole elements of {holder.name}, which is {holder.dtype}", span
        )
    parts = holder.dtype.bits // dtype.bits
    bits = f"uint{holder.dtype.bits}"
    return simplify(index // parts), cast(bits, simplify(index % parts * dtype.bits)), bits
