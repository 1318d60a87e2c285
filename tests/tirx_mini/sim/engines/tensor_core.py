"""Parts of hand-written kernels for the tensor core: operands, descriptors, allocation, and reading the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tirx_mini.sim.bare import FakeRegisters, address, all_lanes, block, buffer, do, one_lane
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, mma_format, swizzle_bytes
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.machine import numpy_dtype

RNG = np.random.default_rng(7)


def instruction(m: int, n: int, dtype: str = "float16", **flags: bool) -> tuple[int, str]:
    """(instruction descriptor, kind)."""
    kind, fmt = mma_format(dtype)
    depth = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}[kind]
    d = "int32" if kind == "i8" else "float32"
    return InstructionDescriptor(m, n, fmt, fmt, d, depth, **flags).encode(kind), kind


def random_matrix(rows: int, depth: int, dtype: str) -> np.ndarray:
    if dtype in ("int8", "uint8"):
        return RNG.integers(-9 if dtype == "int8" else 0, 9, (rows, depth)).astype(dtype)
    return RNG.integers(-8, 8, (rows, depth)).astype(np.float32).astype(numpy_dtype(dtype))


def place(matrix: np.ndarray, swizzle: int, mn_major: bool) -> tuple[np.ndarray, SmemDescriptor]:
    """The bytes of an operand [rows, depth] as TMA would leave them, and its descriptor (start 0).

    K-major: atoms of 8 rows × span bytes, one below the other. MN-major: atoms of span bytes of rows × 8 of depth,
    first along depth. Without swizzle the atoms are core matrices of 8 × 16 bytes, first along the contiguous one.
    """
    lines = np.ascontiguousarray(matrix.T if mn_major else matrix)  # the last axis is contiguous in memory
    raw = lines.view(np.uint8).reshape(lines.shape[0], -1)
    span = swizzle or 16
    outer, width = raw.shape
    groups = -(-width // span)
    across, down = (outer * span, 8 * span) if (mn_major or not swizzle) else (0, 8 * span)
    assert swizzle == 0 or mn_major or groups == 1
    if not swizzle:
        across, down = 128, groups * 128
    memory = np.zeros(max(outer // 8 * down, groups * across) + 8192, np.uint8)
    for line in range(outer):
        for byte in range(width):
            address = byte // span * across + line // 8 * down + line % 8 * span + byte % span
            memory[swizzle_bytes(address, swizzle)] = raw[line, byte]
    if swizzle and mn_major:
        leading, stride = across, down
    elif swizzle:
        leading, stride = 16, down
    else:
        leading, stride = (down, across) if mn_major else (across, down)
    return memory, SmemDescriptor(0, leading, stride, swizzle)


def descriptor(w: RunningWarp, name: str, layout: SmemDescriptor, offset: int = 0) -> int:
    """The descriptor of an operand in the buffer `name`, `offset` bytes from its beginning."""
    start = buffer(w, name).byte_offset + offset
    return SmemDescriptor(start & 0x3FFFF, layout.leading, layout.stride, layout.swizzle).encode()


def fill(w: RunningWarp, name: str, data: np.ndarray) -> None:
    """Write bytes into a shared buffer with ordinary stores of one warp, whose lanes then synchronise."""
    items = data[: len(data) // 512 * 512].view(np.uint8).reshape(-1, 32, 16)
    places = np.arange(len(items))[:, None] * 512 + np.arange(32) * 16
    w.store(buffer(w, name), places, items, 16)
    do(w, "bar.warp.sync")


def allocated(w: RunningWarp, columns: int, cta_group: int = 1) -> Any:
    """Warp 0 allocates and initialises the barrier; all synchronise; returns the address."""
    if w.warp_id == 0:
        yield from block(w, "tcgen05.alloc", address(w, "slot"), columns, cta_group=cta_group)
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        all_lanes(w)
    do(w, "fence.mbarrier_init")
    yield from block(w, "bar.sync.all", 0)
    return w.load(buffer(w, "slot"), 0)


def read(w: RunningWarp, taddr: int, columns: int) -> np.ndarray:
    """The warp's 32 lanes of tensor memory as float32[32, columns]."""
    registers = FakeRegisters()
    do(w, "tcgen05.ld", registers, taddr + (32 * (w.warp_id % 4) << 16), num=columns)
    assert registers.values is None, "nothing is there before the wait"
    do(w, "tcgen05.wait.ld")
    assert registers.values is not None
    return registers.values.T.copy().view(np.float32)


SHARED = {"bar": ("uint64", 1), "slot": ("uint32", 1, 4), "A": ("uint8", 65536), "B": ("uint8", 65536)}
