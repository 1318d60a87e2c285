"""Loads, stores and atomic operations with a memory order and a scope.

The order (`sem`) and the scope define which threads may access a location concurrently, and what the access orders
(PTX ISA: "Memory Consistency Model"). A weak access must not conflict with a concurrent access. Strong ones
(volatile, relaxed and stronger) may, if the scope of each includes the other's thread. An acquire that reads the value
a release wrote, also through intermediate atomic operations, observes everything before the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from tirx_mini.ir import DataType, Expr

from .core import instruction
from .facts import LaneResult, Memory, Scope
from .machine import Machine, Thread
from .operands import REGISTER_TYPES, MemoryAddress, Registers, SourceRegisters, typed_value
from .requests import MemoryAccess

Space = Literal["global", "shared", "shared::cta", "shared::cluster", ""]
InScope = Literal["", "cta", "cluster", "gpu", "sys"]
Cached = Literal["", "ca", "cg", "cs", "lu", "cv"]
Evict = Literal["", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"]
Prefetch = Literal["", "L2::64B", "L2::128B", "L2::256B"]
LoadType = Literal["", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"]
WordType = Literal["", "b32", "u32", "s32", "f32"]
AtomType = Literal["", "b32", "b64", "u32", "u64", "s32", "s64", "f16", "bf16", "f32", "f64"]
Op = Literal["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch"]

_WORDS = {"": 1, "v2": 2, "v4": 4, "v8": 8}
WIDE: Mapping[tuple[str, object], tuple[int, ...]] = {("vec", "v8"): (100, 101, 103, 110, 120, 121)}
"""The architectures with global memory accesses of up to 32 bytes (PTX ISA: "ld", "st", target notes)."""


@lru_cache(maxsize=512)
def access(
    sem: str, scope: str, space: str, type: str, words: int = 1, returned: str = "", nc: bool = False, evict: str = ""
) -> MemoryAccess:
    """Return the description of an access for the simulator; unnamed loads and stores are weak."""
    kept = evict != "L1::no_allocate"
    return MemoryAccess(_held(type, returned), sem or "weak", scope or "sys", space, words, nc, kept)


def _atomic(sem: str, scope: str, space: str, type: str, returned: str | None = None) -> MemoryAccess:
    """Return the description of an atomic operation, by default relaxed and of the GPU; without `returned`, of red."""
    held = _held(type, returned or "")
    return MemoryAccess(held, sem or "relaxed", scope or "gpu", space, 1, returns=returned is not None)


def _held(type: str, returned: str) -> str:
    """Return the dtype of the value in memory: the result's dtype if the PTX type is untyped bits of its width."""
    dtype = DataType(REGISTER_TYPES[type])
    untyped = type.startswith("b") and type != "bf16"
    return returned if returned and untyped and DataType(returned).bits == dtype.bits else dtype


def _combination(
    operands: Sequence[Expr], sem: str, scope: str, space: str, cop: str, evict: str, **others: object
) -> str | None:
    """Return the error in the modifiers of a load or store, or None (PTX ISA: "ld", "st", syntax)."""
    named = f'sem="{sem}"' if sem else "an access without sem"
    if sem in ("relaxed", "acquire", "release"):
        if not scope:
            return f"{named} needs a scope: cta, cluster, gpu or sys"
    elif scope:
        return f"{named} has no scope"
    if cop and (sem not in ("", "weak") or evict):
        return "cop is for weak accesses without an eviction priority"
    if evict and (sem == "volatile" or space not in ("", "global")):
        return "an eviction priority is for accesses of global memory that are not volatile"
    if others.get("vec") == "v8" and (space != "global" or sem not in ("", "weak")):
        return "a vector of 32 bytes is for weak accesses of global memory"
    if others.get("prefetch") and space not in ("", "global"):
        return "prefetch is for global memory"
    if others.get("nc") and (space != "global" or sem or cop not in ("", "ca", "cg", "cs")):
        return 'nc is for space="global" without sem'
    return None


def _stored(operands: Sequence[Expr], vec: str, **attrs: Any) -> str | None:
    """Return the error in the modifiers or in the number of values of a store, or None."""
    count = len(operands) - 1
    if count != _WORDS[vec]:
        return f"{count} values are given; {_WORDS[vec]} are needed" + (f' with vec="{vec}"' if vec else "")
    if vec == "v4" and attrs["type"].endswith("64"):
        return "a vector has at most 16 bytes"
    return _combination(operands, **attrs)


@instruction(
    "ld{.sem}{.scope}{.space}{.cop}{.nc}{.evict}{.prefetch}{.type} {result}, [{address}];",
    name="ld",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="alu",
    reads=Memory.GLOBAL | Memory.SHARED,
    typed="type",
    lanewise=True,
    check=_combination,
)
def ld(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    *,
    returned: str = "",
    type: LoadType = "",
    sem: Literal["", "weak", "volatile", "relaxed", "acquire"] = "",
    scope: InScope = "",
    space: Space = "global",
    cop: Cached = "",
    nc: bool = False,
    evict: Evict = "",
    prefetch: Prefetch = "",
) -> typed_value:
    """Load the value at `address`, by default in the buffer's type.

    With sem = "acquire", everything before the release that wrote the value happens before later accesses.
    """
    return gpu.load_memory(thread, access(sem, scope, space, type, 1, returned, nc, evict), address)


def _registers(vec: str, **_: object) -> int:
    return _WORDS[vec]


def _vector(head: str) -> Callable[..., str]:
    def template(vec: str, **_: object) -> str:
        registers = "{{dst}}" if vec else "{dst}"
        return f"{head} {registers}, [{{address}}];"

    return template


@instruction(
    _vector("ld{.sem}{.scope}{.space}{.cop}{.nc}{.evict}{.prefetch}{.vec}{.type}"),
    name="ld.registers",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="ld",
    cost="alu",
    reads=Memory.GLOBAL | Memory.SHARED,
    registers=_registers,
    typed="type",
    lanewise=True,
    check=_combination,
    only_on=WIDE,
)
def ld_registers(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    dst: Registers,
    *,
    returned: str = "",
    type: WordType = "b32",
    vec: Literal["", "v2", "v4", "v8"] = "",
    sem: Literal["", "weak", "volatile", "relaxed", "acquire"] = "",
    scope: InScope = "",
    space: Space = "global",
    cop: Cached = "",
    nc: bool = False,
    evict: Evict = "",
    prefetch: Prefetch = "",
) -> None:
    """Load 1, 2, 4 or 8 words of 32 bits from `address` into registers; a vector acts as as many scalar accesses.

    Before Blackwell a load of 8 words is two of 4.
    """
    gpu.load_registers(thread, access(sem, scope, space, type, _WORDS[vec], nc=nc, evict=evict), address, dst)


def _store(vec: str, **_: object) -> str:
    values = "{{values}}" if vec else "{values}"
    return f"st{{.sem}}{{.scope}}{{.space}}{{.cop}}{{.evict}}{{.vec}}{{.type}} [{{address}}], {values};"


@instruction(
    _store,
    name="st",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="alu",
    writes=Memory.GLOBAL | Memory.SHARED,
    typed="type",
    lanewise=True,
    check=_stored,
)
def st(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    *values: typed_value,
    type: LoadType = "",
    vec: Literal["", "v2", "v4"] = "",
    sem: Literal["", "weak", "volatile", "relaxed", "release"] = "",
    scope: InScope = "",
    space: Space = "shared",
    cop: Literal["", "wb", "cg", "cs", "wt"] = "",
    evict: Evict = "",
) -> None:
    """Store a value at `address`, or with `vec` 2 or 4 contiguous values.

    With sem = "release", a thread that acquires the value observes everything before the store.
    """
    gpu.store_memory(thread, access(sem, scope, space, type, len(values)), address, values)


def _store_registers(vec: str, **_: object) -> str:
    registers = "{{src}}" if vec else "{src}"
    return f"st{{.sem}}{{.scope}}{{.space}}{{.cop}}{{.evict}}{{.vec}}{{.type}} [{{address}}], {registers};"


@instruction(
    _store_registers,
    name="st.registers",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="st",
    cost="alu",
    writes=Memory.GLOBAL | Memory.SHARED,
    registers=_registers,
    typed="type",
    lanewise=True,
    check=_combination,
    only_on=WIDE,
)
def st_registers(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    src: SourceRegisters,
    *,
    type: WordType = "b32",
    vec: Literal["", "v2", "v4", "v8"] = "",
    sem: Literal["", "weak", "volatile", "relaxed", "release"] = "",
    scope: InScope = "",
    space: Space = "shared",
    cop: Literal["", "wb", "cg", "cs", "wt"] = "",
    evict: Evict = "",
) -> None:
    """Store 1, 2, 4 or 8 words of 32 bits from registers at `address`.

    Before Blackwell a store of 8 words is two of 4.
    """
    gpu.store_registers(thread, access(sem, scope, space, type, _WORDS[vec]), address, src)


_BITWISE = ("and", "or", "xor", "exch")
_INTEGERS = ("u32", "s32", "u64", "s64")
_TYPES = {
    "add": (*_INTEGERS, "f16", "bf16", "f32", "f64"), "inc": ("u32",), "dec": ("u32",), "min": _INTEGERS,
    "max": _INTEGERS, **dict.fromkeys(_BITWISE, ("b32", "b64", *_INTEGERS)),
}  # fmt: skip
"""The types supported by each operation (PTX ISA: "atom")."""


def _typed_operation(operands: Sequence[Expr], op: str, type: str, **_: object) -> str | None:
    if type not in _TYPES[op]:
        return f"{op} has the types {', '.join(_TYPES[op])}, not {type}"
    return None


def _operation(head: str, tail: str) -> Callable[..., str]:
    """Return the PTX text: bitwise operations are untyped, and 64-bit integer sums wrap as unsigned."""

    def template(op: str, type: str, **_: object) -> str:
        shown = f"b{type[1:]}" if op in _BITWISE else "u64" if (op, type) == ("add", "s64") else type
        return f"{head}{{.sem}}{{.scope}}{{.space}}{{.op}}{'.noftz' * (type in ('f16', 'bf16'))}.{shown} {tail}"

    return template


@instruction(
    _operation("atom", "{result}, [{address}], {value};"),
    name="atom",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="smem_atomic",
    reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED,
    lanes=LaneResult.PER_LANE,
    typed="type",
    lanewise=True,
    check=_typed_operation,
)
def atom(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    value: typed_value,
    *,
    op: Op,
    returned: str = "",
    type: AtomType = "",
    sem: Literal["", "relaxed", "acquire", "release", "acq_rel"] = "",
    scope: InScope = "",
    space: Space = "global",
) -> typed_value:
    """Replace the value at `address` atomically by `op` applied to it and `value`; return the old value.

    Without `sem` the operation is relaxed and orders nothing by itself. The lanes of a warp update in some order.
    """
    return gpu.update_memory(thread, _atomic(sem, scope, space, type, returned), address, op, value, None)


def _swap(type: str, **_: object) -> str:
    return f"atom{{.sem}}{{.scope}}{{.space}}.cas.b{type[1:]} {{result}}, [{{address}}], {{compare}}, {{value}};"


@instruction(
    _swap,
    name="atom.cas",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="atom",
    cost="smem_atomic",
    reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED,
    lanes=LaneResult.PER_LANE,
    typed="type",
    lanewise=True,
)
def atom_cas(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    compare: typed_value,
    value: typed_value,
    *,
    returned: str = "",
    type: Literal["", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"] = "",
    sem: Literal["", "relaxed", "acquire", "release", "acq_rel"] = "",
    scope: InScope = "",
    space: Space = "global",
) -> typed_value:
    """Replace the value at `address` atomically by `value` if it equals `compare`; return the old value."""
    return gpu.update_memory(thread, _atomic(sem, scope, space, type, returned), address, "cas", value, compare)


@instruction(
    _operation("red", "[{address}], {value};"),
    name="red",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="alu",
    reads=Memory.GLOBAL | Memory.SHARED,
    writes=Memory.GLOBAL | Memory.SHARED,
    typed="type",
    lanewise=True,
    check=_typed_operation,
)
def red(
    gpu: Machine,
    thread: Thread,
    address: MemoryAddress,
    value: typed_value,
    *,
    op: Literal["add", "inc", "dec", "min", "max", "and", "or", "xor"],
    type: AtomType = "",
    sem: Literal["", "relaxed", "release"] = "",
    scope: InScope = "",
    space: Space = "global",
) -> None:
    """Update memory as `atom` does, without a result."""
    gpu.update_memory(thread, _atomic(sem, scope, space, type), address, op, value, None)
