"""The opcode of each operation, and which attributes its encoding has (Tile IR: Binary Format, Operation Encoding)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.records import dataclass

VERSION = (13, 4)
"""The version that is written: the first that has all operations of the dialect."""


@dataclass(frozen=True)
class Code:
    """How an operation is encoded.

    flags: optional attributes and operands; bit i of a number says whether the i-th is there.
    attrs: attributes whose values follow.
    """

    opcode: int
    flags: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()


def _code(opcode: int, attrs: str = "", flags: str = "") -> Code:
    return Code(opcode, tuple(flags.split()), tuple(attrs.split()))


_LOADED = "memory_ordering_semantics memory_scope optimization_hints"
_RMW = "memory_ordering_semantics memory_scope"
CODES: Mapping[str, Code] = MappingProxyType({
    "absf": _code(0x00),
    "absi": _code(0x01),
    "addf": _code(0x02, "rounding_mode", "flush_to_zero"),
    "addi": _code(0x03, "overflow"),
    "andi": _code(0x04),
    "assert": _code(0x05, "message"),
    "assume": _code(0x06, "predicate"),
    "atomic_cas_tko": _code(0x07, _RMW, "mask token"),
    "atomic_rmw_tko": _code(0x08, f"{_RMW} mode", "mask token"),
    "bitcast": _code(0x09),
    "break": _code(0x0A),
    "broadcast": _code(0x0B),
    "cat": _code(0x0C, "dim"),
    "ceil": _code(0x0D),
    "cmpf": _code(0x0E, "comparison_predicate comparison_ordering"),
    "cmpi": _code(0x0F, "comparison_predicate signedness"),
    "constant": _code(0x10, "value"),
    "continue": _code(0x11),
    "cos": _code(0x12),
    "cosh": _code(0x13),
    "divf": _code(0x14, "rounding_mode", "flush_to_zero"),
    "divi": _code(0x15, "signedness rounding"),
    "exp": _code(0x17, "rounding_mode"),
    "exp2": _code(0x18, "", "flush_to_zero"),
    "exti": _code(0x25, "signedness"),
    "extract": _code(0x26),
    "floor": _code(0x27),
    "fma": _code(0x28, "rounding_mode", "flush_to_zero"),
    "for": _code(0x29, "", "unsignedCmp"),
    "ftof": _code(0x2A, "rounding_mode"),
    "ftoi": _code(0x2B, "signedness rounding_mode", "saturating"),
    "get_global": _code(0x2C, "symbol"),
    "get_index_space_shape": _code(0x2D),
    "get_num_tile_blocks": _code(0x2E),
    "get_tensor_shape": _code(0x2F),
    "get_tile_block_id": _code(0x30),
    "if": _code(0x32),
    "int_to_ptr": _code(0x33),
    "iota": _code(0x3A),
    "itof": _code(0x3B, "signedness rounding_mode"),
    "join_tokens": _code(0x3C),
    "load_ptr_tko": _code(0x3D, _LOADED, "memory_scope optimization_hints mask paddingValue token"),
    "load_view_tko": _code(0x3E, f"{_LOADED} inbounds", "memory_scope optimization_hints token"),
    "log": _code(0x3F),
    "log2": _code(0x40),
    "loop": _code(0x41),
    "make_partition_view": _code(0x42),
    "make_tensor_view": _code(0x43),
    "make_token": _code(0x44),
    "maxf": _code(0x45, "", "propagate_nan flush_to_zero"),
    "maxi": _code(0x46, "signedness"),
    "minf": _code(0x47, "", "propagate_nan flush_to_zero"),
    "mini": _code(0x48, "signedness"),
    "mmaf": _code(0x49, "", "fast_acc"),
    "mmai": _code(0x4A, "signedness_lhs signedness_rhs"),
    "mulf": _code(0x4C, "rounding_mode", "flush_to_zero"),
    "mulhii": _code(0x4D),
    "muli": _code(0x4E, "overflow"),
    "negf": _code(0x4F),
    "negi": _code(0x50, "overflow"),
    "offset": _code(0x51),
    "ori": _code(0x52),
    "permute": _code(0x53, "permutation"),
    "pow": _code(0x54),
    "print_tko": _code(0x55, "str", "token"),
    "ptr_to_int": _code(0x56),
    "ptr_to_ptr": _code(0x57),
    "reduce": _code(0x58, "dim identities"),
    "remf": _code(0x59),
    "remi": _code(0x5A, "signedness"),
    "reshape": _code(0x5B),
    "return": _code(0x5C),
    "rsqrt": _code(0x5D, "", "flush_to_zero"),
    "scan": _code(0x5E, "dim reverse identities"),
    "select": _code(0x5F),
    "shli": _code(0x60, "overflow"),
    "shri": _code(0x61, "signedness"),
    "sin": _code(0x62),
    "sinh": _code(0x63),
    "sqrt": _code(0x64, "rounding_mode", "flush_to_zero"),
    "store_ptr_tko": _code(0x65, _LOADED, "memory_scope optimization_hints mask token"),
    "store_view_tko": _code(0x66, f"{_LOADED} inbounds", "memory_scope optimization_hints token"),
    "subf": _code(0x67, "rounding_mode", "flush_to_zero"),
    "subi": _code(0x68, "overflow"),
    "tan": _code(0x69),
    "tanh": _code(0x6A, "rounding_mode"),
    "trunci": _code(0x6B, "overflow"),
    "xori": _code(0x6C),
    "yield": _code(0x6D),
    "atan2": _code(0x6E),
    "pack": _code(0x6F),
    "unpack": _code(0x70),
    "alloca": _code(0x71, "num_elem alignment", "global"),
    "mmaf_scaled": _code(0x72),
    "make_gather_scatter_view": _code(0x73),
    "make_strided_view": _code(0x74),
    "atomic_red_view_tko": _code(0x75, f"{_RMW} mode", "token"),
    "insert": _code(0x76),
    "gdc_launch_dependents_tko": _code(0x77),
    "gdc_wait_tko": _code(0x78),
    "fpowi": _code(0x79),
    "memory_fence_alias_tko": _code(0x7A),
})  # fmt: skip
"""By mnemonic. Functions and globals have sections of their own."""


def _numbered(*words: str) -> Mapping[str, int]:
    return MappingProxyType({word: number for number, word in enumerate(words)})


_ROUNDING = _numbered(
    "nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"
)
_SIGNEDNESS = _numbered("unsigned", "signed")
ENUMS: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "rounding_mode": _ROUNDING,
    "rounding": _ROUNDING,
    "signedness": _SIGNEDNESS,
    "signedness_lhs": _SIGNEDNESS,
    "signedness_rhs": _SIGNEDNESS,
    "overflow": _numbered("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"),
    "comparison_predicate": _numbered(
        "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"
    ),
    "comparison_ordering": _numbered("unordered", "ordered"),
    "memory_ordering_semantics": _numbered("weak", "relaxed", "acquire", "release", "acq_rel"),
    "memory_scope": _numbered("tl_blk", "device", "sys"),
    "mode": _numbered("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"),
})  # fmt: skip
"""The numbers of keywords, by the attribute that they are of."""
PADDINGS = _numbered("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
SCALARS: Mapping[str, int] = MappingProxyType({
    "i1": 0x00, "i8": 0x01, "i16": 0x02, "i32": 0x03, "i64": 0x04, "f16": 0x05, "bf16": 0x06, "f32": 0x07, "tf32": 0x08,
    "f64": 0x09, "f8E4M3FN": 0x0A, "f8E5M2": 0x0B, "f8E8M0FNU": 0x12, "f4E2M1FN": 0x13, "i4": 0x16,
})  # fmt: skip
"""The tags of element types."""
POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION, TOKEN, GATHER_SCATTER_VIEW, STRIDED_VIEW = (
    0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x14, 0x15,
)  # fmt: skip
"""The tags of other types."""
INTEGER_ATTR, FLOAT_ATTR, BOOL_ATTR, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS, BOUNDED = (
    0x01, 0x02, 0x03, 0x08, 0x09, 0x0A, 0x0B, 0x0C,
)  # fmt: skip
"""The tags of attributes."""
STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, GLOBALS, END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x00
"""The ids of sections."""
ENTRY, HAS_HINTS = 0x02, 0x04
"""Flags of functions."""
