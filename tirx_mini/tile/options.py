"""The options of tile primitives: their meanings and allowed values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tirx_mini.ir import Const, Expr, Region, Str, TirxError, int_value
from tirx_mini.isa import POLICIES, Operand, OperandType, barrier_type, shared_type
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described


@dataclass(frozen=True)
class Option:
    """An option of tile primitives.

    type: of its values, as annotations of `tirx_mini.script.tirx` write it: alternatives of `_KINDS`, and literals.
        Editors show that of `dispatch` as the names of the rules.
    meaning: its effect, in a line.
    """

    type: str
    meaning: str


OPTIONS: Mapping[str, Option] = {
    "dispatch": Option("str | None", "the rule that implements the call; without it, the first that supports it"),
    "mbar": Option("BarrierPointer | None", "the mbarrier on which a TMA load completes its bytes; none for a store"),
    "cta_group": Option("int", "the number of CTAs of a cluster that cooperate in the operation"),
    "cta_mask": Option(
        "Expr | int | str | None",
        "the CTAs of the cluster that receive the tile, bit r for rank r; several bits are a multicast; "
        "of a tcgen05.cp, as `multicast`, the form of its copies",
    ),
    "prefetch_tensormap": Option("_bool", "whether to prefetch the tensor map; the compiler does so in any case"),
    "tma_dtype": Option("str | None", "another dtype for the elements of the tensor map, as wide as the buffer's"),
    "shape": Option("str | None", "the shape of a tcgen05.cp, which is checked; it follows from the layouts"),
    "cache_hint": Option(
        f"Literal[{', '.join(map(repr, POLICIES))}] | str | None",
        "the priority with which the L2 cache evicts the data",
    ),
    "accum": Option("Condition", "whether the result is added to the destination; otherwise it overwrites it"),
    "axes": Option("int | tuple[int, ...] | None", "the dimensions of src to reduce, from the end if negative"),
    "rounding_mode": Option("Literal['rn', 'rz', 'rm', 'rp'] | None", "how float32 is rounded; without it, to nearest"),
    "remote_cta_id": Option("Expr | int | None", "of a copy between CTAs, the rank of the receiving CTA"),
    "use_tma_reduce": Option(
        "Literal['add'] | None", "of a TMA store, the operation with which it combines what the memory holds"
    ),
    "oob": Option("Literal['zero'] | None", "what a TMA load leaves for elements outside of the tensor"),
    "mbarrier_addr": Option("_bool", "whether mbar is an address of shared memory; the compiler sees it by its dtype"),
    "tensormap_l2_promotion": Option("object | None", "a hint for the L2 cache, which is not used"),
    "decompress": Option("_bool", "of a tcgen05.cp, whether it unpacks elements; it must be False"),
    "vec_len": Option("int | None", "the elements of one access; the compiler takes as many as fit"),
    "cache": Option("Literal['nc'] | None", "a hint for loads, which is not used"),
    "l1_evict": Option("str | None", "a hint for loads, which is not used"),
    "l2_evict": Option("str | None", "a hint for loads, which is not used"),
    "prefetch_size": Option("str | int | None", "a hint for loads, which is not used"),
    "weight_stationary": Option("_bool", "whether to issue tcgen05.mma.ws, which keeps B in the tensor core"),
    "descI": Option("object | None", "TVM's place for an instruction descriptor; the compiler encodes it"),
    "is_AB_tf32": Option("_bool", "whether A and B of float32 are multiplied as tf32, as they are here"),
    "thread_reduce": Option("_bool", "whether threads that hold parts of a row combine their results by shuffles"),
    "transA": Option("_bool", "whether A is K × M, contiguous along M, and not M × K"),
    "transB": Option("_bool", "whether B is K × N, contiguous along N, and not N × K"),
    "transpose_A": Option("_bool", "whether A is K × M and not M × K"),
    "transpose_B": Option("_bool", "whether B is N × K and not K × N"),
    "alpha": Option("float", "the factor of the product; mma.sync has only 1"),
    "beta": Option("float", "the factor of C: 1, or 0 to leave C out"),
    "mma_m": Option("int | None", "M of one instruction, of both CTAs of a pair; given together with mma_n"),
    "mma_n": Option("int | None", "N of one instruction, which must divide that of the product"),
    "smem_desc": Option(
        "Literal['hoist', 'local_hoist', 'recompute', 'encode']",
        "where TVM computes the descriptors of A and B; here the compiler decides, and each value means the same",
    ),
    "width": Option("int", "the number of adjacent lanes whose values are reduced together"),
    "num_warps": Option("int | None", "the number of warps of the CTA, which is checked"),
    "scratch": Option(
        "SharedPointer | None", "shared memory with one element for each warp; without it, the compiler allocates it"
    ),
}
"""The options of tile primitives, by name."""


def _flag(value: object) -> bool | None:
    if isinstance(value, np.bool_):
        return bool(value)
    number = _whole(value)
    return bool(number) if number in (0, 1) else None


def _whole(value: Any) -> int | None:
    return int_value(value) if isinstance(value, Expr) or not hasattr(value, "__index__") else operator.index(value)


def _number(value: object) -> float | None:
    if isinstance(value, Const):
        return float(value.value)
    return float(value) if isinstance(value, (int, float, np.integer, np.floating)) else None


def _condition(value: object) -> object:
    if isinstance(value, Expr):
        return value if _is_value(value) and (value.dtype.is_bool or value.dtype.is_integer) else None
    return _flag(value)


def _index(value: object) -> object:
    return value if isinstance(value, Expr) and _is_value(value) and value.dtype.is_integer else None


def _is_value(value: Expr) -> bool:
    return not isinstance(value, (Region, Str)) and value.dtype.lanes == 1


def _axes(value: object) -> tuple[int, ...] | None:
    numbers = [_whole(axis) for axis in value] if isinstance(value, (tuple, list)) else [None]
    return None if None in numbers else tuple(number for number in numbers if number is not None)


_KINDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "_bool": ("True or False", _flag),
    "int": ("an integer that is known at compile time", _whole),
    "float": ("a number that is known at compile time", _number),
    "str": ("a string", lambda value: value if isinstance(value, str) else None),
    "Expr": ("an integer", _index),
    "Condition": ("a condition", _condition),
    "tuple[int, ...]": ("a tuple of such integers", _axes),
    "object": ("anything", lambda value: value),
}
"""What messages call the kinds of values that an option takes, and the value that is meant; None for any other."""

_POINTERS = {"BarrierPointer": barrier_type, "SharedPointer": shared_type}


def _pointer(name: str, value: object, primitive: str, kind: OperandType) -> Expr:
    try:
        return Operand(name, kind).convert(value, primitive)
    except TirxError as error:
        if error.diagnostic.hint is None:
            error.diagnostic = replace(error.diagnostic, hint=f"{name}: {OPTIONS[name].meaning}")
        raise


def given(name: str, value: object, primitive: str) -> Any:
    """Return the normalised value of an option. Raises `TirxError` for an invalid value."""
    kinds = [kind for kind in OPTIONS[name].type.split(" | ") if kind != "None"]
    words = []
    for kind in kinds:
        if kind in _POINTERS:
            return _pointer(name, value, primitive, _POINTERS[kind])
        if kind.startswith("Literal"):
            choices = ast.literal_eval(kind.removeprefix("Literal"))
            words += map(repr, choices)
            meant = value if isinstance(value, str) and value in choices else None
        else:
            word, convert = _KINDS[kind]
            words += [word] if kind != "int" or "Expr" not in kinds else []
            meant = convert(value)
        if meant is not None:
            return meant
    message = f"{name} of {primitive} must be {' or '.join(words)}, but {described(value)} is given"
    example = "write accum=False, accum=True or accum=(k != 0)" if name == "accum" else None
    raise TirxError(message, hint=example or f"{name}: {OPTIONS[name].meaning}", about=value)
