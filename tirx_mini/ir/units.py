"""Special registers, and the warp, warpgroup and thread indices computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.records import dataclass

from .dtype import INT32, DataType
from .expr import Expr

SPECIALS: Mapping[str, DataType] = {
    **{f"{name}.{axis}": INT32 for name in ("threadIdx", "blockIdx", "clusterCtaIdx", "gridDim") for axis in "xyz"},
    "warp_id_in_cta": INT32,
    "cluster_ctarank": INT32,
}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Special(Expr):
    """A special register: `threadIdx.x`, `blockIdx.y`, `clusterCtaIdx.x` (%cluster_ctaid), `cluster_ctarank`, …

    `warp_id_in_cta` equals `threadIdx.x >> 5` and is uniform across a warp.
    """

    name: str


def special(name: str) -> Special:
    """Return the special register `name` (a key of `SPECIALS`)."""
    return Special(SPECIALS[name], name)


UNIT_NUMBERS: Mapping[tuple[str, str], Callable[[], Expr]] = {
    ("warpgroup", "cta"): lambda: special("warp_id_in_cta") >> 2,
    ("warp", "warpgroup"): lambda: special("warp_id_in_cta") % 4,
    ("warp", "cta"): lambda: special("warp_id_in_cta"),
    ("thread", "warp"): lambda: special("threadIdx.x") % 32,
    ("thread", "warpgroup"): lambda: special("threadIdx.x") % 128,
    ("thread", "cta"): lambda: special("threadIdx.x"),
}
"""(kind, parent): the index of the executing unit within its parent, for units that have one dimension."""
