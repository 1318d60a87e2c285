"""ldmatrix and stmatrix: transfers of element blocks between shared memory and tensor core fragments.

Row r of a block of 8 × 8 elements of 16 bits is 16 bytes at the address that one lane gives; thread t holds row t // 4,
columns 2 (t % 4) and the next, in one register. With `num` blocks, lanes 8i … 8i + 7 give the rows of block i, and
register i holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import LaneResult, Memory, Scope
from .machine import Machine, Thread
from .operands import Registers, SharedAddress, SourceRegisters, u32


def _template(direction: str) -> Callable[..., str]:
    def template(num: int, transpose: bool) -> str:
        head = f"{direction}matrix.sync.aligned.m8n8.x{num}{'.trans' if transpose else ''}.shared::cta.b16"
        return f"{head} {{{{dst}}}}, [{{addr}}];" if direction == "ld" else f"{head} [{{addr}}], {{{{src}}}};"

    return template


def _registers(num: int, **_: object) -> int:
    return num


def _registers_of_bytes(num: int, **_: object) -> int:
    return 2 * num


@instruction(
    _template("ld"),
    name="ldmatrix",
    issued_by=Scope.WARP,
    min_sm=90,
    cost="matrix",
    registers=_registers,
    scattered=True,
    reads=Memory.SHARED,
)
def ldmatrix(
    gpu: Machine,
    thread: Thread,
    dst: Registers,
    addr: SharedAddress,
    *,
    num: Literal[1, 2, 4] = 4,
    transpose: bool = False,
) -> None:
    """Load `num` blocks of 8 × 8 16-bit elements from shared memory as a warp; each lane gives a row address."""
    thread.require_converged("ldmatrix")
    thread.load_matrices(dst, addr, num, bool(transpose))


@instruction(
    _template("st"),
    name="stmatrix",
    issued_by=Scope.WARP,
    min_sm=90,
    cost="matrix",
    registers=_registers,
    scattered=True,
    writes=Memory.SHARED,
)
def stmatrix(
    gpu: Machine,
    thread: Thread,
    addr: SharedAddress,
    src: SourceRegisters,
    *,
    num: Literal[1, 2, 4] = 4,
    transpose: bool = False,
) -> None:
    """Store `num` blocks of 8 × 8 16-bit elements to shared memory as a warp; each lane gives a row address."""
    thread.require_converged("stmatrix")
    thread.store_matrices(addr, src, num, bool(transpose))


@instruction(
    "ldmatrix.sync.aligned.m16n16.x{num}.trans.shared::cta.b8 {{dst}}, [{addr}];",
    name="ldmatrix.m16n16",
    issued_by=Scope.WARP,
    min_sm=100,
    isa="ldmatrix",
    cost="matrix",
    registers=_registers_of_bytes,
    scattered=True,
    reads=Memory.SHARED,
)
def ldmatrix_m16n16(
    gpu: Machine, thread: Thread, dst: Registers, addr: SharedAddress, *, num: Literal[1, 2] = 1
) -> None:
    """Load `num` blocks of 16 × 16 bytes from shared memory as a warp, transposed.

    Lanes 16i … 16i + 15 give the addresses of the rows of block i. Lane 4g + t receives, in the two registers of a
    block, the bytes of rows 4t … 4t + 3 in column g, and those in column g + 8.
    """
    thread.require_converged("ldmatrix")
    thread.load_byte_matrices(dst, addr, num)


@instruction(
    "stmatrix.sync.aligned.m16n8.x{num}.trans.shared::cta.b8 [{addr}], {{src}};",
    name="stmatrix.m16n8",
    issued_by=Scope.WARP,
    min_sm=100,
    isa="stmatrix",
    cost="matrix",
    registers=_registers,
    scattered=True,
    writes=Memory.SHARED,
)
def stmatrix_m16n8(
    gpu: Machine, thread: Thread, addr: SharedAddress, src: SourceRegisters, *, num: Literal[1, 2, 4] = 1
) -> None:
    """Store `num` blocks of 16 × 8 bytes to shared memory as a warp, transposed, with 16 bytes in each column.

    Lanes 8i … 8i + 7 give the addresses of the columns of block i. Lane 4g + t holds, in the register of a block, the
    bytes of rows g and g + 8, each in columns 2t and 2t + 1: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
    """
    thread.require_converged("stmatrix")
    thread.store_byte_matrices(addr, src, num)


@instruction(
    "movmatrix.sync.aligned.m8n8.trans.b16 {result}, {value};",
    name="movmatrix",
    issued_by=Scope.WARP,
    min_sm=80,
    cost="matrix",
    lanes=LaneResult.PER_LANE,
)
def movmatrix(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Transpose a block of 8 × 8 16-bit elements held by a warp in one register."""
    thread.require_converged("movmatrix")
    words = np.broadcast_to(np.asarray(value), 32).astype(np.uint32)
    moved: Any = np.ascontiguousarray(words.view(np.uint16).reshape(8, 8).T).view(np.uint32)
    return moved.reshape(32).astype(np.int64)
