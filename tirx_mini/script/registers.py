"""PTX special registers by name: ``T.ptx.fetch_register(32, "laneid")``."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Expr, TirxError, binary, cast, special
from tirx_mini.isa import TABLE
from tirx_mini.wording import described

from .builder import place
from .diagnostics import did_you_mean
from .instructions import raw_call

_INDICES = {"tid": "threadIdx", "ctaid": "blockIdx", "nctaid": "gridDim", "cluster_ctaid": "clusterCtaIdx"}
_CLOCKS = [entry.name for entry in TABLE.values() if entry.isa == f"Special Registers: %{entry.name}"]


def fetch_register(bits: int, reg_name: str) -> Any:
    """Return a PTX special register as an integer of `bits` bits.

    reg_name: "laneid", "warpid", "tid.x", "ctaid.x", "nctaid.x", "cluster_ctaid.x", "cluster_ctarank",
        "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "clock64" or "globaltimer".
    """
    if bits not in (32, 64):
        raise TirxError(f"a special register has 32 or 64 bits, not {described(bits)}", place())
    return cast(f"int{bits}", _value(reg_name.removeprefix("%")))


def _value(name: str) -> Expr:
    lane = binary("%", special("threadIdx.x"), 32)
    base, _, axis = name.partition(".")
    if base in _INDICES and axis in ("x", "y", "z"):
        return special(f"{_INDICES[base]}.{axis}")
    if name == "laneid":
        return lane
    if name == "warpid":
        return special("warp_id_in_cta")
    if name == "cluster_ctarank":
        return special("cluster_ctarank")
    if name in _CLOCKS:
        return raw_call(name)
    masks = _masks(cast("uint32", lane))
    if name in masks:
        return masks[name]
    known = ["laneid", "warpid", "cluster_ctarank", *_CLOCKS, *masks, *(f"{index}.x" for index in _INDICES)]
    raise TirxError(
        f"the special register %{name} has no value here", place(),
        did_you_mean(name, known) or f"the registers are {', '.join(known)}",
    )  # fmt: skip


def _masks(lane: Expr) -> dict[str, Expr]:
    """Return the masks of the lanes equal to, before and after a lane."""
    one = binary("<<", cast("uint32", 1), lane)
    below = binary("-", one, 1)
    above = binary("^", binary("|", below, one), 0xFFFFFFFF)
    return {
        "lanemask_eq": one, "lanemask_lt": below, "lanemask_le": binary("|", below, one), "lanemask_gt": above,
        "lanemask_ge": binary("|", above, one),
    }  # fmt: skip
