"""The kernel's scopes and ids: ``T.device_entry()``, ``Tx.cta_id([m, n], parent="kernel")``, ``Tx.filter(…)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import SCOPE_KINDS, DataType, Expr, ExprLike, ScopeIds, TirxError, Var, as_bool, binary, int_value

from .builder import current
from .diagnostics import did_you_mean

if TYPE_CHECKING:
    from .annotations import Ids, ScopeName


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


def cluster_id(extents: int | Sequence[int] | None = None, parent: ScopeName = "kernel") -> Ids:
    """The index of the cluster in the grid."""
    return _ids("cluster", extents, parent)


def cta_id(extents: int | Sequence[int] | None = None, parent: ScopeName = "kernel") -> Ids:
    """The index of the CTA in the grid, or with parent="cluster" in its cluster; one variable per extent."""
    return _ids("cta", extents, parent)


def cta_id_in_cluster(extents: int | Sequence[int] | None = None) -> Ids:
    """The index of the CTA in its cluster."""
    return _ids("cta", extents, "cluster")


def warpgroup_id(extents: int | Sequence[int] | None = None, parent: ScopeName = "cta") -> Ids:
    """The index of the warpgroup (4 warps) in the CTA."""
    return _ids("warpgroup", extents, parent)


def warp_id(extents: int | Sequence[int] | None = None, parent: ScopeName = "cta") -> Ids:
    """The index of the warp in the CTA, or with parent="warpgroup" in its warpgroup."""
    return _ids("warp", extents, parent)


def warp_id_in_wg(extents: int | Sequence[int] | None = None) -> Ids:
    """The index of the warp in its warpgroup."""
    return _ids("warp", extents, "warpgroup")


def thread_id(extents: int | Sequence[int] | None = None, parent: ScopeName = "cta") -> Ids:
    """The index of the thread in the CTA, or in its warpgroup or warp."""
    return _ids("thread", extents, parent)


def thread_id_in_wg(extents: int | Sequence[int] | None = None) -> Ids:
    """The index of the thread in its warpgroup."""
    return _ids("thread", extents, "warpgroup")


def lane_id(extents: int | Sequence[int] | None = None) -> Ids:
    """The index of the thread in its warp."""
    return _ids("thread", extents, "warp")


def filter(unit: ExprLike, low: ExprLike, high: ExprLike | None = None) -> Expr:
    """The condition of a scope: ``Tx.filter(warp_id, 0, 2)`` is 0 <= warp_id < 2; with a condition as its second
    argument, as in ``Tx.filter(lane_id, lane_id == 0)``, it returns that condition.
    """
    if high is None:
        return as_bool(low)
    return binary("and", binary("<=", low, unit), binary("<", unit, high))
