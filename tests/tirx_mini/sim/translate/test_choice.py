"""Only the side of a choice that a lane takes is evaluated: ``Tx.if_then_else``, ternaries, ``and``, ``or``."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import from_source

KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((20,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    lane = tx % 32
    s = T.alloc_shared((64,), "float32")
    r = T.alloc_local((4,), "float32")
    r[0] = 3.0
    if tx < 16:
        s[tx] = 2.0
    T.cuda.cta_sync()
"""
TX = np.arange(64)
A = np.arange(1, 21, dtype=np.float32)
PADDED = np.pad(A, (0, 44))


def simulated(body: str, n: int = 5) -> tuple[tvm.Report, np.ndarray]:
    B = np.full(64, -1, np.float32)
    kernel = from_source(KERNEL + textwrap.indent(body, "    "))
    return tvm.simulate(kernel, A.copy(), B, n), B


CHOICES = {
    "elements outside a buffer": ("B[tx] = T.if_then_else(tx < 20, A[tx], 0.0)", np.where(TX < 20, PADDED, 0)),
    "elements outside, on the other side": ("B[tx] = 0.0 if tx >= 20 else A[tx]", np.where(TX < 20, PADDED, 0)),
    "shared memory that nobody wrote": ("B[tx] = T.if_then_else(tx < 16, s[tx], 7.0)", np.where(TX < 16, 2, 7)),
    "registers that nobody wrote": ("B[tx] = T.if_then_else(lane < 32, r[0], r[lane % 4])", np.full(64, 3)),
    "a choice that all lanes make": ("B[tx] = T.if_then_else(n > 100, A[n], r[0])", np.full(64, 3)),
    "a value for all lanes or one for each": ("B[tx] = r[0] * T.if_then_else(n < 9, A[n], A[tx])", np.full(64, 18)),
    "a division": ("B[tx] = T.if_then_else(tx > 0, 64 // tx, 7)", np.where(TX > 0, 64 // np.maximum(TX, 1), 7)),
    "choices within choices": (
        "B[tx] = T.if_then_else(tx < 20, T.if_then_else(tx < 16, s[tx], A[tx]), T.if_then_else(tx < 40, 1.0, r[0]))",
        np.where(TX < 16, 2, np.where(TX < 20, PADDED, np.where(TX < 40, 1, 3))),
    ),
    "and": ("B[tx] = 1.0 if tx < 20 and A[tx] > 4.0 else 0.0", (TX < 20) & (PADDED > 4)),
    "or": ("B[tx] = 1.0 if tx >= 20 or A[tx] > 4.0 else 0.0", (TX >= 20) | (PADDED > 4)),
    "and, for all lanes": ("B[tx] = 0.0\nif n > 100 and A[n] > 1.0:\n    B[tx] = 1.0", np.zeros(64)),
    "the condition of a loop": (
        "i = 0\nwhile tx + i < 20 and A[tx + i] < 9.0:\n    i = i + 1\nB[tx] = i", np.maximum(0, 8 - TX),
    ),
    "an unrolled loop": (
        "for i in T.unroll(4):\n    r[i] = T.if_then_else(tx + i < 20, A[tx + i], 0.0)\nB[tx] = r[0] + r[3]",
        PADDED + np.pad(PADDED[3:], (0, 3)),
    ),
    "under a branch": (
        "B[tx] = 0.0\nif tx % 2 == 0:\n    B[tx] = T.if_then_else(tx < 20, A[tx], 9.0)",
        np.where(TX % 2, 0, np.where(TX < 20, PADDED, 9)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_the_other_side_is_not_read(name: str) -> None:
    body, expected = CHOICES[name]
    report, B = simulated(body)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    np.testing.assert_array_equal(B, np.asarray(expected, np.float32))


WRONG = {
    "a choice of a warp": ("B[tx] = T.if_then_else(tx < 32, r[0], A[tx])", "A has 20 elements"),
    "the side that is taken": ("B[tx] = T.if_then_else(tx < 21, A[tx], 0.0)", "A has 20 elements"),
    "the right side of `or`": ("B[tx] = 1.0 if tx < 19 or A[tx] > 4.0 else 0.0", "A has 20 elements"),
    "a side that all lanes take": ("B[tx] = T.if_then_else(n < 100, A[n + 40], 0.0)", "A has 20 elements"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_side_that_is_taken_is_read(name: str) -> None:
    body, word = WRONG[name]
    report, _ = simulated(body)
    assert report.verdict == "fault" and word in str(report), str(report)
    assert body in str(report)


def test_a_race_on_the_other_side_is_none() -> None:
    body = "s[tx] = 1.0\nB[tx] = T.if_then_else({}, s[(tx + 32) % 64], s[tx])"
    clean, B = simulated(body.format("n > 100"))
    assert clean.verdict == "ok" and (B == 1).all(), str(clean)
    racy, _ = simulated(body.format("n < 100"))
    assert racy.verdict == "hazard", str(racy)
