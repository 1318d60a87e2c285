"""Accesses to memory-mapped devices, and bulk zeroing (PTX ISA: "ld", "st", "st.bulk")."""

from __future__ import annotations

from .core import instruction
from .facts import Memory, Scope
from .machine import Machine, Thread
from .memory import LoadType, access
from .operands import MemoryAddress, SharedAddress, typed_value, u64


@instruction(
    "ld.mmio.relaxed.sys.global{.type} {result}, [{address}];",
    name="ld.mmio",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="ld",
    cost="alu",
    reads=Memory.GLOBAL | Memory.SHARED,
    typed="type",
    lanewise=True,
)
def ld_mmio(
    gpu: Machine, thread: Thread, address: MemoryAddress, *, returned: str = "", type: LoadType = ""
) -> typed_value:
    """Load the value at `address` once, as a strong system-scope access (memory-mapped input and output)."""
    return gpu.load_memory(thread, access("relaxed", "sys", "global", type, 1, returned), address)


@instruction(
    "st.mmio.relaxed.sys.global{.type} [{address}], {value};",
    name="st.mmio",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="st",
    cost="alu",
    writes=Memory.GLOBAL | Memory.SHARED,
    typed="type",
    lanewise=True,
)
def st_mmio(gpu: Machine, thread: Thread, address: MemoryAddress, value: typed_value, *, type: LoadType = "") -> None:
    """Store a value at `address` once, as a strong system-scope access."""
    gpu.store_memory(thread, access("relaxed", "sys", "global", type), address, (value,))


@instruction(
    "st.bulk{.weak}.shared::cta [{address}], {bytes}, 0;",
    name="st.bulk",
    issued_by=Scope.THREAD,
    min_sm=100,
    cost="alu",
    writes=Memory.GLOBAL | Memory.SHARED,
)
def st_bulk(gpu: Machine, thread: Thread, address: SharedAddress, bytes: u64, *, weak: bool = False) -> None:
    """Set `bytes` bytes of shared memory to zero; both are multiples of 8."""
    if bytes % 8 or address % 8:
        what = f"st.bulk sets {bytes} bytes from byte {address & 0xFFFFFF} on"
        raise thread.fault("misaligned-access", what, rule="PTX ISA: st.bulk")
    word = access("weak", "", "shared", "u64")
    for place in range(0, bytes, 8):
        gpu.store_memory(thread, word, address + place, (0,))
