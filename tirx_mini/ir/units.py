"""The indices of warps, warpgroups and threads, computed from special registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .expr import Expr, special

UNIT_NUMBERS: Mapping[tuple[str, str], Callable[[], Expr]] = {
    ("warpgroup", "cta"): lambda: special("warp_id_in_cta") >> 2,
    ("warp", "warpgroup"): lambda: special("warp_id_in_cta") % 4,
    ("warp", "cta"): lambda: special("warp_id_in_cta"),
    ("thread", "warp"): lambda: special("threadIdx.x") % 32,
    ("thread", "warpgroup"): lambda: special("threadIdx.x") % 128,
    ("thread", "cta"): lambda: special("threadIdx.x"),
}
"""(kind, parent): the index of the executing unit within its parent, for units that have one dimension."""
