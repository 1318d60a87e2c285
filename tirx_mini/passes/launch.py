"""Derivation of a kernel's launch configuration from its declared ids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from tirx_mini.hardware import MAX_CLUSTER, MAX_THREADS_PER_CTA, THREADS_OF
from tirx_mini.ir import UNIT_NUMBERS, Expr, Launch, PrimFunc, ScopeIds, Span, TirxError, Var, special
from tirx_mini.records import dataclass

DEFAULT_PARENT: Mapping[str, str] = {
    "cluster": "kernel", "cta": "kernel", "warpgroup": "cta", "warp": "cta", "thread": "cta", "lane": "warp",
}  # fmt: skip
"""The parent of an id whose declaration does not name one (the native dialect)."""

_FIXED: Mapping[tuple[str, str], int] = {
    ("warp", "warpgroup"): THREADS_OF["warpgroup"] // THREADS_OF["warp"],
    ("thread", "warp"): THREADS_OF["warp"],
    ("thread", "warpgroup"): THREADS_OF["warpgroup"],
}
"""The number of units of a kind that is the same in every parent."""

_PAIRS = (*UNIT_NUMBERS, ("cta", "kernel"), ("cta", "cluster"), ("cta", "pair"), ("cluster", "kernel"))


@dataclass
class Declared:
    """The id declarations of a kernel.

    extents: the first declaration of each (kind, parent) with extents.
    open: the declarations without extents.
    """

    extents: dict[tuple[str, str], ScopeIds] = field(default_factory=dict[tuple[str, str], ScopeIds])
    open: list[tuple[str, str, ScopeIds]] = field(default_factory=list[tuple[str, str, ScopeIds]])

    def add(self, ids: ScopeIds) -> tuple[str, str]:
        kind, parent = unit(ids)
        if not ids.extents:
            self.open.append((kind, parent, ids))
            return kind, parent
        _check(ids, kind, parent)
        known = self.extents.setdefault((kind, parent), ids)
        if known.extents != ids.extents:
            message = f"{kind} ids within the {parent} have extents {_text(ids)} here, but {_text(known)} before"
            raise _conflict(message, ids, known)
        return kind, parent

    def launch(self, func: PrimFunc) -> Launch:
        grid, cluster = self._dims("cta", "kernel"), self._dims("cta", "cluster")
        if ("cluster", "kernel") in self.extents and ("cta", "kernel") not in self.extents:
            clusters = self._dims("cluster", "kernel")
            grid = (clusters[0] * cluster[0], clusters[1] * cluster[1], clusters[2] * cluster[2])
        self._check_open()
        self._check_cluster(grid, cluster, func.span)
        return Launch(grid, self._threads(func), cluster)

    def _check_open(self) -> None:
        """Check that the number of CTAs is declared; `_threads` checks the number of threads."""
        for kind, parent, ids in self.open:
            if kind in ("cta", "cluster") and (kind, parent) not in self.extents:
                raise TirxError(
                    f"the number of {kind}s in the {parent} is not declared", ids.span, f"write {kind}_id([n])"
                )

    def _dims(self, kind: str, parent: str) -> tuple[int, int, int]:
        ids = self.extents.get((kind, parent))
        x, y, z = (*(ids.extents if ids else ()), 1, 1, 1)[:3]
        return x, y, z

    def _check_cluster(self, grid: tuple[int, ...], cluster: tuple[int, ...], span: Span | None) -> None:
        ids, size = self.extents.get(("cta", "cluster")), math.prod(cluster)
        place = ids.span if ids else span
        pair = self.extents.get(("cta", "pair"))
        if pair is not None and size % 2:
            raise TirxError(
                f"cta_id_in_pair() needs clusters of an even number of CTAs, but these have {size}",
                pair.span,
                "declare the cluster, as in T.cta_id_in_cluster([2])",
                kind="launch-limit",
            )
        if size > MAX_CLUSTER:
            raise TirxError(
                f"a cluster of {size} CTAs is too large: the limit is {MAX_CLUSTER}",
                place,
                "make the cluster smaller",
                kind="launch-limit",
            )
        for axis, extent, part in zip("xyz", grid, cluster, strict=True):
            if extent % part:
                kernel = self.extents.get(("cta", "kernel"))
                raise TirxError(
                    f"{extent} CTAs along {axis} cannot be divided into clusters of {part}",
                    kernel.span if kernel else place,
                    f'make the extent of cta_id(parent="kernel") along {axis} a multiple of {part}',
                    notes=(("the extents of the cluster are declared here", place),),
                    kind="launch-limit",
                )

    def _threads(self, func: PrimFunc) -> int:
        """Return the number of threads per CTA, checked against all declarations that determine it."""
        claims: list[tuple[int, ScopeIds]] = []
        for (kind, parent), ids in self.extents.items():
            if parent == "cta":
                claims.append((math.prod(ids.extents) * THREADS_OF[kind], ids))
        if not claims:  # only ids within a warpgroup or a warp: the CTA has one of them
            within = [(THREADS_OF[parent], ids) for (_, parent), ids in self.extents.items() if parent in THREADS_OF]
            claims = sorted(within, key=lambda claim: claim[0])[-1:]
        if not claims:
            raise TirxError(
                f"{func.name} does not declare the number of threads per CTA", func.span,
                'write wg_id = Tx.warpgroup_id([1], parent="cta"), or tx = Tx.thread_id([128], parent="cta")',
            )  # fmt: skip
        threads, first = claims[0]
        for other, ids in claims[1:]:
            if other != threads:
                message = f"this declares {other} threads per CTA, but an earlier declaration {threads}"
                raise _conflict(message, ids, first)
        if threads > MAX_THREADS_PER_CTA:
            raise TirxError(
                f"a CTA of {threads} threads is too large: the limit is {MAX_THREADS_PER_CTA}",
                first.span,
                "use more CTAs with fewer threads",
                kind="launch-limit",
            )
        return threads


def unit(ids: ScopeIds) -> tuple[str, str]:
    """The canonical kind and parent of `ids`. Raises TirxError for a pair that does not exist."""
    kind, parent = ids.kind, ids.parent or DEFAULT_PARENT.get(ids.kind, "")
    if kind == "lane":
        kind = "thread"
    if (kind, parent) not in _PAIRS:
        parents = ", ".join(repr(p) for k, p in _PAIRS if k == kind)
        raise TirxError(f"{ids.kind} ids are not defined within a {parent}", ids.span, f"use one of parent={parents}")
    return kind, parent


def _check(ids: ScopeIds, kind: str, parent: str) -> None:
    if len(ids.extents) > 3 or min(ids.extents) < 1:
        raise TirxError(f"{kind} ids must have one to three positive extents, not {_text(ids)}", ids.span)
    fixed = _FIXED.get((kind, parent))
    if fixed is not None and math.prod(ids.extents) != fixed:
        raise TirxError(
            f"a {parent} has {fixed} {kind}s, not {_text(ids)}",
            ids.span,
            f'write {kind}_id([{fixed}], parent="{parent}")',
        )


def _text(ids: ScopeIds) -> str:
    return " × ".join(map(str, ids.extents))


def _conflict(message: str, ids: ScopeIds, before: ScopeIds) -> TirxError:
    notes = (("first declared here", before.span),)
    return TirxError(message, ids.span, "make the two declarations agree", notes)


def id_values(ids: ScopeIds, launch: Launch) -> dict[Var, Expr]:
    """Return the variables of a declaration as expressions of special registers, the first extent varying fastest."""
    kind, parent = unit(ids)
    if parent == "pair":
        return {ids.vars[0]: special("cluster_ctarank") % 2}
    if kind in ("cta", "cluster"):
        prefix = "clusterCtaIdx" if parent == "cluster" else "blockIdx"
        parts = launch.cluster if kind == "cluster" else (1, 1, 1)
        return {v: special(f"{prefix}.{a}") // part for v, a, part in zip(ids.vars, "xyz", parts, strict=False)}
    number = UNIT_NUMBERS[kind, parent]()
    if len(ids.vars) == 1:
        return {ids.vars[0]: number}
    values: dict[Var, Expr] = {}
    for var, extent in zip(ids.vars, ids.extents, strict=True):
        values[var] = number % extent
        number = number // extent
    return values
