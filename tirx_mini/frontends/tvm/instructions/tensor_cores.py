"""TVM 0.26 signatures of matrix products and tensor-memory copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirx_mini.ir import Buffer, TirxError, as_expr, binary, cast, const, int_value
from tirx_mini.isa import FRAGMENT_REGISTERS, PTX_TYPES, Alias, Spelling

from .orders import Order

_WARP_TYPES = {
    **{name: ptx for name, ptx in PTX_TYPES.items() if name not in ("float64", "bool")},
    "fp16": "f16", "fp32": "f32", "tensor_float32": "tf32",
}  # fmt: skip
_WARP_PRODUCT: Order = {
    **{name: name for name in ("shape", "a_layout", "b_layout", "d_type", "a_type", "b_type", "c_type")},
    "d_ptrs": "d", "a_ptrs": "a", "b_ptrs": "b", "c_ptrs": "c", "saturate": "satfinite", "bit_op": (None,),
}  # fmt: skip

_GROUP_TYPES = {"float16": "f16", "bfloat16": "bf16"}
_GROUP_PRODUCT: Order = {
    "M": (64,), "N": "n", "K": (16,), "in_dtype": "dtype", "out_dtype": ("float32",), "scaleA": (1,), "scaleB": (1,),
    "scaleD": "accumulate",
}  # fmt: skip
"""The parameters of wgmma besides operands and registers."""


def _split_registers(given: dict[str, Any]) -> dict[str, object]:
    """Split the concatenated registers of a call into those of D and of A."""
    registers = given.get("d", ())
    given["d"], given["a"] = registers[:-FRAGMENT_REGISTERS], registers[-FRAGMENT_REGISTERS:]
    return given


KINDS = {
    "float16": "f16", "bfloat16": "f16", "float32": "tf32", "tf32": "tf32", "tensor_float32": "tf32", "int8": "i8",
    "uint8": "i8", "float8_e4m3fn": "f8f6f4", "float8_e5m2": "f8f6f4",
}  # fmt: skip
"""The kinds of tcgen05.mma by the dtypes of A."""
_KEPT: dict[str, Any] = {"*disable_output_lane": "lanes", "scale_input_d": "scale_input_d"}
_STATIONARY: dict[str, Any] = {"weight_stationary": (True,), "cta_group": (1,)}


def _product(
    a: str, adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None, **others: Any
) -> tuple[Alias, ...]:
    """Return the alias of tcgen05.mma with dtypes instead of a kind; those of B and D are in the descriptor.

    a: the parameter that the operand A is, which is in tensor memory unless it is a descriptor. others: what other
    parameters mean.
    """
    return (Alias(
        "ptx.tcgen05.mma",
        adapt=adapt,
        defaults={"accumulate": True},
        order={
            "d_tmem_addr": "d", "a_operand": a, "b_desc": "b_desc", "i_desc": "idesc", "*disable_output_lane": ((),),
            "d_dtype": (...,), "a_dtype": "kind", "b_dtype": (...,), "use_a_tmem": (a == "a",),
            "cta_group": "cta_group", "enable_input_d": "accumulate", "scale_input_d": (0,),
            "weight_stationary": (False,), "pred": (None,), **others,
        },
        guard="pred",
    ),)  # fmt: skip


def _disabled_lanes(given: dict[str, Any]) -> dict[str, object]:
    """Add the default mask of disabled lanes, which calls may omit."""
    if not given.get("lanes"):
        given["lanes"] = (0,) * (4 * (int_value(given.get("cta_group", 1)) or 1))
    return given


_SCALED = {
    ("float8_e8m0fnu", False): ("mxf8f6f4", 1), ("float8_e8m0fnu", True): ("mxf4", 2),
    ("float8_e4m3fn", True): ("mxf4nvf4", 4),
}  # fmt: skip
"""The kind and the factors of a row along K, by the dtype of the factors and whether A has 4 bits."""


def _kind_of_types(given: dict[str, Any]) -> dict[str, object]:
    """Replace the operand dtypes by the MMA kind."""
    factors, a = given.pop("sfa_dtype", None), given.pop("a_dtype", None)
    if (factors, a == "float4_e2m1fn") in _SCALED:
        given["kind"], given["scale_vec"] = _SCALED[factors, a == "float4_e2m1fn"]
    elif factors is not None:
        raise TirxError(f"there is no MMA of {a} with scale factors of {factors}")
    return given


def _at_row_and_column(parameter: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an adapter that combines a tensor-memory address with its row and column."""

    def at_row_and_column(given: dict[str, Any]) -> dict[str, object]:
        row, col = given.pop("row"), given.pop("col")
        if parameter in given:
            given[parameter] = _moved(given[parameter], row, col)
        return given

    return at_row_and_column


def _moved(address: object, row: object, col: object) -> Any:
    """Offset a tensor-memory address by lanes and columns (PTX ISA: "Tensor Memory Addressing")."""
    address = as_expr(address[(0,) * address.ndim] if isinstance(address, Buffer) else address)
    if int_value(row) != 0:
        address = binary("+", address, binary("<<", cast("uint32", row), const(16, "uint32")))
    return address if int_value(col) == 0 else binary("+", address, cast("uint32", col))


def _tensor_copy(path: str, parameter: str, order: Order) -> tuple[Alias, ...]:
    return (Alias(path, adapt=_at_row_and_column(parameter), defaults={"row": 0, "col": 0}, order=order),)


_COMMIT = (Alias("ptx.tcgen05.commit", order={
    "bar": "bar", "cta_group": "cta_group", "cta_mask": "cta_mask", "pred": (None,),
}, guard="pred"),)  # fmt: skip

TENSOR_CORES = (
    Spelling("mma.sync", (Alias("ptx.mma", order=_WARP_PRODUCT),), values=_WARP_TYPES),
    Spelling("mma.sync.zero", (Alias("ptx.mma", order={**_WARP_PRODUCT, "c_ptrs": (None,)}),), values=_WARP_TYPES),
    Spelling("mma.sync.m8n8k4", values=_WARP_TYPES),
    Spelling("wgmma.mma_async", (Alias("ptx.wgmma.mma_async.ss", order={
        "descA": "a_desc", "descB": "b_desc", "*accums": "d", **_GROUP_PRODUCT, "transA": "transpose_a",
        "transB": "transpose_b",
    }),), values=_GROUP_TYPES),
    Spelling("wgmma.mma_async.rs", (Alias("ptx.wgmma.mma_async.rs", adapt=_split_registers, order={
        "descB": "b_desc", "*reg_list": "d", **_GROUP_PRODUCT, "transA": (False, 0), "transB": "transpose_b",
    }),), values=_GROUP_TYPES),
    Spelling("tcgen05.mma", _product("a_desc"), values=KINDS),
    Spelling("tcgen05.mma.a_in_tmem", _product("a"), values=KINDS),
    Spelling("tcgen05.mma.masked", _product("a_desc", _disabled_lanes, **_KEPT), values=KINDS),
    Spelling("tcgen05.mma.a_in_tmem.masked", _product("a", _disabled_lanes, **_KEPT), values=KINDS),
    Spelling("tcgen05.mma.ws", _product("a_desc", **_STATIONARY), values=KINDS),
    Spelling("tcgen05.mma.ws.a_in_tmem", _product("a", **_STATIONARY), values=KINDS),
    Spelling("tcgen05.mma.block_scale", (Alias(
        "ptx.tcgen05.mma.block_scale",
        adapt=_kind_of_types,
        defaults={"accumulate": True},
        order={
            "d_tmem_addr": "d", "a_operand": "a_desc", "b_desc": "b_desc", "sfa_tmem_addr": "sfa",
            "sfb_tmem_addr": "sfb", "i_desc": "idesc", "d_dtype": (...,), "a_dtype": "a_dtype", "b_dtype": (...,),
            "sfa_dtype": "sfa_dtype", "sfb_dtype": (...,), "use_a_tmem": (False,), "cta_group": "cta_group",
            "enable_input_d": "accumulate",
        },
    ),)),
    Spelling("tcgen05.ld", _tensor_copy("ptx.tcgen05.ld", "addr", {
        "src_addr": "addr", "*regs": "dst", "shape": "shape", "num": "num", "row": "row", "col": "col",
        "pack": (False,),
    })),
    Spelling("tcgen05.st", _tensor_copy("ptx.tcgen05.st", "addr", {
        "dst_addr": "addr", "*regs": "src", "shape": "shape", "num": "num", "row": "row", "col": "col",
        "unpack": (False,),
    })),
    Spelling("tcgen05.cp", _tensor_copy("ptx.tcgen05.cp", "taddr", {
        "taddr": "taddr", "src_desc": "src_desc", "shape": "shape", "cta_group": "cta_group",
        "multicast": "multicast", "decompress": "decompress", "row": "row", "col": "col",
    })),
    Spelling("tcgen05.commit", _COMMIT),
    Spelling("tcgen05.commit.multicast", _COMMIT),
)  # fmt: skip
"""The products and copies, in the order of the table."""
