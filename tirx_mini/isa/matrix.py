"""ldmatrix and stmatrix: 8 × 8 blocks of 16-bit elements between shared memory and the fragments of tensor cores.

A block's row r is 16 bytes at the address that one lane gives; thread t holds row t // 4, columns 2 (t % 4) and the
next, in one register. With `num` blocks, lanes 8i … 8i + 7 give the rows of block i, and register i holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .core import instruction
from .facts import Alias, Memory, Scope
from .machine import Machine, Thread
from .operands import Registers, SharedAddress, SourceRegisters


def _template(direction: str) -> Callable[..., str]:
    def template(num: int, transpose: bool) -> str:
        head = f"{direction}matrix.sync.aligned.m8n8.x{num}{'.trans' if transpose else ''}.shared::cta.b16"
        return f"{head} {{{{dst}}}}, [{{addr}}];" if direction == "ld" else f"{head} [{{addr}}], {{{{src}}}};"

    return template


_B16 = (".b16", "b16")


def _registers(num: int, **_: Any) -> int:
    return num


@instruction(
    _template("ld"),
    name="ldmatrix",
    api=(
        Alias("ptx.ldmatrix", order={
            "trans": "transpose", "num": "num", "dtype": _B16, "smem_ptr": "addr", "*dst_handles": "dst",
        }),
    ),
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
    """A warp loads `num` blocks of 8 × 8 16-bit elements from shared memory; each lane gives the address of a row."""
    thread.require_converged("ldmatrix")
    thread.load_matrices(dst, addr, num, bool(transpose))


@instruction(
    _template("st"),
    name="stmatrix",
    api=(
        Alias("ptx.stmatrix", order={
            "trans": "transpose", "num": "num", "dtype": _B16, "smem_ptr": "addr", "*src_handles": "src",
            "shape": ("m8n8",), "space": ("shared", "shared::cta"),
        }),
    ),
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
    """A warp stores `num` blocks of 8 × 8 16-bit elements to shared memory; each lane gives the address of a row."""
    thread.require_converged("stmatrix")
    thread.store_matrices(addr, src, num, bool(transpose))
