"""Special registers as expressions of the IR (PTX ISA: "Special Registers")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from tirx_mini.ir import DataType, Expr, Launch, Span, TirxError, binary, cast, const, special
from tirx_mini.isa import value_of

from .syntax import Special

_U32, _U64 = DataType("uint32"), DataType("uint64")
_AXES = {"x": 0, "y": 1, "z": 2}
Block = tuple[int, int, int]


def _thread(axis: int, block: Block) -> Expr:
    """Return the thread index along an axis; x varies fastest."""
    index: Expr = special("threadIdx.x")
    below, above = prod(block[:axis]), prod(block[axis + 1 :])
    if below > 1:
        index = binary("//", index, const(below))
    return index if above == 1 else binary("%", index, const(block[axis]))


def _lane() -> Expr:
    return binary("%", special("threadIdx.x"), const(32))


def _mask(name: str) -> Expr:
    """Return %lanemask_…, the mask of lanes in the named relation to the thread's own lane."""
    lane = cast(_U32, _lane())
    bit = binary("<<", const(1, _U32), lane)
    below = binary("-", bit, const(1, _U32))
    upto = binary("|", below, bit)
    return {
        "eq": bit, "lt": below, "le": upto, "ge": binary("^", below, const((1 << 32) - 1, _U32)),
        "gt": binary("^", upto, const((1 << 32) - 1, _U32)),
    }[name]  # fmt: skip


_OF_AXES: Mapping[str, Callable[[int, Launch, Block], Expr]] = {
    "tid": lambda axis, launch, block: _thread(axis, block),
    "ntid": lambda axis, launch, block: const(block[axis]),
    "ctaid": lambda axis, launch, block: special(f"blockIdx.{'xyz'[axis]}"),
    "nctaid": lambda axis, launch, block: const(launch.grid[axis]),
    "clusterid": lambda axis, launch, block: binary(
        "//", special(f"blockIdx.{'xyz'[axis]}"), const(launch.cluster[axis])
    ),
    "nclusterid": lambda axis, launch, block: const(launch.grid[axis] // launch.cluster[axis]),
    "cluster_ctaid": lambda axis, launch, block: special(f"clusterCtaIdx.{'xyz'[axis]}"),
    "cluster_nctaid": lambda axis, launch, block: const(launch.cluster[axis]),
}
_SINGLE: Mapping[str, Callable[[Launch], Expr]] = {
    "laneid": lambda launch: _lane(),
    "warpid": lambda launch: special("warp_id_in_cta"),
    "nwarpid": lambda launch: const(launch.warps),
    "cluster_ctarank": lambda launch: special("cluster_ctarank"),
    "cluster_nctarank": lambda launch: const(launch.cluster_size),
    "is_explicit_cluster": lambda launch: const(launch.cluster_size > 1),
    "gridid": lambda launch: const(0, _U64),
    "dynamic_smem_size": lambda launch: const(launch.smem_bytes, _U32),
    "total_smem_size": lambda launch: const(launch.smem_bytes, _U32),
    "clock64": lambda launch: value_of("clock64", _U64),
    "clock": lambda launch: cast(_U32, value_of("clock64", _U64)),
    "clock_hi": lambda launch: cast(_U32, binary(">>", value_of("clock64", _U64), const(32, _U64))),
    "globaltimer": lambda launch: value_of("globaltimer", _U64),
    "globaltimer_lo": lambda launch: cast(_U32, value_of("globaltimer", _U64)),
    "globaltimer_hi": lambda launch: cast(_U32, binary(">>", value_of("globaltimer", _U64), const(32, _U64))),
    "reserved_smem_offset_begin": lambda launch: const(0, _U32),
    "reserved_smem_offset_end": lambda launch: const(0, _U32),
}


def special_register(register: Special, launch: Launch, block: Block, span: Span | None) -> Expr:
    """Return the value of a special register. Raises `TirxError` if the simulated GPU lacks it."""
    name = register.name
    if name in _OF_AXES and register.component in ("x", "y", "z"):
        return _OF_AXES[name](_AXES[register.component], launch, block)
    if name.startswith("lanemask_"):
        return _mask(name.removeprefix("lanemask_"))
    if name in _SINGLE:
        return _SINGLE[name](launch)
    shown = f"{name}.{register.component}" if register.component else name
    raise TirxError(f"the simulator does not have the special register %{shown}", span, kind="not-modelled")
