"""Scopes and ids of kernels: ``T.device_entry()``, ``Tx.cta_id([m, n], parent="kernel")``, ``Tx.filter(…)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import (
    SCOPE_KINDS,
    DataType,
    Expr,
    ExprLike,
    ScopeIds,
    TirxError,
    Var,
    as_bool,
    binary,
    cast,
    int_value,
)
from tirx_mini.wording import described

from .builder import Builder, current, resolved
from .diagnostics import did_you_mean
from .handles import OpenHint

if TYPE_CHECKING:
    from .annotations import Ids, ScopeName


def device_entry() -> None:
    """Open the device part of the function, as ``with Tx.kernel():`` does (native dialect)."""
    current("T.device_entry").open_rest("kernel")


def func_attr(attrs: Mapping[str, object]) -> None:
    """Attach attributes to the kernel. "global_symbol" is its name."""
    builder, more = current("Tx.func_attr"), dict(attrs)
    builder.name = str(more.pop("global_symbol", builder.name))
    builder.attrs.update(more)


def attr(node_or_dict: object, attr_key: str | None = None, value: object = None) -> OpenHint | None:
    """Attach attributes for readers and tools: ``T.attr({"key": value})`` or ``T.attr(node, "key", value)``.

    They have no effect, as a statement or around a block, except that ``tirx.device_entry`` is `T.device_entry()`.
    """
    given = node_or_dict if isinstance(node_or_dict, Mapping) else {attr_key: value}
    if not given or not all(isinstance(key, str) for key in given):
        raise TirxError(
            "T.attr expects the keys of its attributes as strings",
            hint='write T.attr({"key": value}), or T.attr(0, "key", value)',
        )
    if "tirx.device_entry" in given:
        return device_entry()
    return OpenHint("", tuple(given.items()))


def _ids(kind: str, extents: object, parent: str, preferred: object = None, dtype: str = "int32") -> Any:
    """Declare one id variable per extent; without extents, a single one whose range another declaration gives."""
    builder = current(f"Tx.{kind}_id")
    counts, wished = _counts(kind, extents), _counts(kind, preferred)
    if wished and len(wished) != len(counts):
        raise TirxError(
            f"preferred= has {len(wished)} extents, but the {kind}s have {len(counts)}",
            hint="give the preferred size of the cluster along each of its dimensions",
        )
    if parent not in SCOPE_KINDS:
        raise TirxError(
            f"`{parent}` is not an execution scope",
            hint=did_you_mean(parent, SCOPE_KINDS) or f"the scopes are {', '.join(SCOPE_KINDS)}",
        )
    ids = _declare(builder, ScopeIds(_variables(builder, kind, len(counts) or 1), counts, kind, parent, wished))
    return tuple(cast(dtype, one) for one in ids) if isinstance(ids, tuple) else cast(dtype, ids)


def _counts(kind: str, extents: object) -> tuple[int, ...]:
    """Return extents as positive Python integers, or as values derived from the arguments' shapes."""
    given = () if extents is None else tuple(extents) if isinstance(extents, (list, tuple)) else (extents,)
    builder, counts = current(f"Tx.{kind}_id"), []
    for extent in map(resolved, given):
        value = int_value(extent)
        symbolic = value is None and isinstance(extent, Expr) and builder.is_symbolic(extent)
        if not symbolic and (value is None or value < 1):
            raise TirxError(
                f"the number of {kind}s must be a positive integer known at compile time, not {described(extent)}"
            )
        counts.append(extent if symbolic else value)
    return tuple(counts)


def _variables(builder: Builder, kind: str, count: int) -> tuple[Var, ...]:
    return tuple(Var(DataType("int32"), builder.take_name(f"{kind}_id"), span=builder.span) for _ in range(count))


def _declare(builder: Builder, ids: ScopeIds) -> Any:
    builder.emit(ids)
    return ids.vars[0] if len(ids.vars) == 1 else ids.vars


def cluster_id(
    extents: int | Sequence[int] | None = None, parent: ScopeName = "kernel", *, dtype: str = "int32"
) -> Ids:
    """Return the index of the cluster in the grid."""
    return _ids("cluster", extents, parent, dtype=dtype)


def cta_id(
    extents: int | Sequence[int] | None = None,
    parent: ScopeName = "kernel",
    *,
    preferred: int | Sequence[int] | None = None,
    dtype: str = "int32",
) -> Ids:
    """Return the index of the CTA in the grid, or with parent="cluster" in its cluster; one variable per extent.

    preferred: as for `cta_id_in_cluster`.
    """
    if preferred is not None and parent != "cluster":
        raise TirxError(
            "preferred= is the size that a launch prefers for its clusters, so the grid has none",
            hint="write T.cta_id_in_cluster([2], preferred=[4])",
        )
    return _ids("cta", extents, parent, preferred, dtype)


def cta_id_in_cluster(
    extents: int | Sequence[int] | None = None, preferred: int | Sequence[int] | None = None, *, dtype: str = "int32"
) -> Ids:
    """Return the index of the CTA in its cluster.

    preferred: the extents that the launch prefers where the GPU has room. It is a hint: launches and the simulator use
        `extents`.
    """
    return _ids("cta", extents, "cluster", preferred, dtype)


def cta_id_in_pair() -> Ids:
    """Return the index of the CTA, 0 or 1, in its CTA pair: the last bit of its cluster rank (PTX ISA: "CTA pair")."""
    builder = current("T.cta_id_in_pair")
    return _declare(builder, ScopeIds(_variables(builder, "cta", 1), (2,), "cta", "pair"))


def warpgroup_id(
    extents: int | Sequence[int] | None = None, parent: ScopeName = "cta", *, dtype: str = "int32"
) -> Ids:
    """Return the index of the warpgroup (4 warps) in the CTA."""
    return _ids("warpgroup", extents, parent, dtype=dtype)


def warp_id(
    extents: int | Sequence[int] | None = None, parent: ScopeName = "cta", *, dtype: str = "int32"
) -> Ids:
    """Return the index of the warp in the CTA, or with parent="warpgroup" in its warpgroup."""
    return _ids("warp", extents, parent, dtype=dtype)


def warp_id_in_wg(extents: int | Sequence[int] | None = None, *, dtype: str = "int32") -> Ids:
    """Return the index of the warp in its warpgroup."""
    return _ids("warp", extents, "warpgroup", dtype=dtype)


def thread_id(
    extents: int | Sequence[int] | None = None, parent: ScopeName = "cta", *, dtype: str = "int32"
) -> Ids:
    """Return the index of the thread in the CTA, or in its warpgroup or warp."""
    return _ids("thread", extents, parent, dtype=dtype)


def thread_id_in_wg(extents: int | Sequence[int] | None = None, *, dtype: str = "int32") -> Ids:
    """Return the index of the thread in its warpgroup."""
    return _ids("thread", extents, "warpgroup", dtype=dtype)


def lane_id(extents: int | Sequence[int] | None = None, *, dtype: str = "int32") -> Ids:
    """Return the index of the thread in its warp."""
    return _ids("thread", extents, "warp", dtype=dtype)


def filter(unit: ExprLike, low: ExprLike, high: ExprLike | None = None) -> Expr:
    """Return a scope's condition: ``Tx.filter(warp_id, 0, 2)`` is 0 <= warp_id < 2. A condition as the second argument,
    as in ``Tx.filter(lane_id, lane_id == 0)``, is returned unchanged.
    """
    if high is None:
        return as_bool(low)
    return binary("and", binary("<=", low, unit), binary("<", unit, high))
