"""Arithmetic on pairs of neighbouring registers takes the place of scalar arithmetic where the target has it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import Binary, BufferStore, Call, PrimFunc, Ramp
from tirx_mini.isa import availability, for_target
from tirx_mini.passes import lower
from tirx_mini.runtime import build, compile_cuda, disassemble, emit, summarise
from tirx_mini.script import from_source

FRAME = """
@T.prim_func
def kernel(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32"), S: T.Buffer((32,), "float32"),
           O: T.Buffer((32, 16), "{out}")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([32])
    s = S[tx]
    a = T.alloc_local((16,), "float32")
    b = T.alloc_local((16,), "float32")
    o = T.alloc_local((16,), "{out}")
    T.copy(a[:], A[tx, :])
    T.copy(b[:], B[tx, :])
    T.copy(o[:], O[tx, :])
{body}
    T.copy(O[tx, :], o[:])
"""
LOOP = "    for i in T.unroll({range}):\n        o[{at}] = {value}"


def kernel(body: str, out: str = "float32") -> PrimFunc:
    return from_source(FRAME.format(out=out, body=body))


def loop(value: str, at: str = "i", range: str = "16") -> str:
    return LOOP.format(range=range, at=at, value=value)


def on_pairs(func: PrimFunc) -> list[str]:
    """The operations on pairs of the kernel for a B200, in their order."""
    found = []
    for node in for_target(lower(func), "sm_100a").nodes:
        if isinstance(node, (Binary, Call)) and node.dtype == "float32x2":
            found.append(node.op)
    return found


def numbers() -> list[np.ndarray]:
    """Random numbers with NaN, infinities, zeros of both signs and subnormal numbers among them."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((32, 16)).astype(np.float32) for _ in range(2))
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3e38], np.float32)
    a[:8], b[:8, :8] = special[:, None], special
    return [a, b, rng.standard_normal(32).astype(np.float32)]


def results(func: PrimFunc, gpu: str, out: str = "float32") -> np.ndarray:
    found = np.zeros((32, 16), out)
    report = tvm.simulate(func, *numbers(), found, gpu=gpu)
    assert report.ok, report
    return found


PAIRED = {
    "a[i] + b[i]": ["+"],
    "a[i] - b[i]": ["-"],
    "a[i] * s": ["*"],
    "s - a[i]": ["-"],
    "a[i] * s - b[i]": ["-", "*"],
    "T.fma(a[i], b[i], s)": ["fma.rn"],
    "o[i] + a[i]": ["+"],
    "T.exp2(a[i] * s)": ["ex2.approx", "*"],
    "a[i] * b[i // 2]": ["*"],
    "a[i] * b[i // 4 * 2 + i // 8 % 2]": ["*"],
    "a[i] * 2.0 - b[i // 4] * s": ["-", "*"],
}
"""Values of a loop over registers, and their operations on pairs."""
SCALAR = (
    "a[15 - i] + b[i]",  # neighbours in the wrong order
    "a[i] * b[i] + o[i] * s",  # either product may be fused
    "o[(i + 1) % 16] + a[i]",  # what another iteration writes
    "o[0] + a[i]",
    "T.max(a[i], b[i])",
    "T.if_then_else(a[i] > s, a[i] + s, b[i])",
    "a[i] / s",
)


@pytest.mark.parametrize("value", PAIRED)
def test_a_loop_over_registers_computes_pairs(value: str) -> None:
    func = kernel(loop(value))
    assert on_pairs(func) == PAIRED[value]
    assert not any(node.dtype == "float32x2" for node in for_target(lower(func), "sm_90a").of(Binary))
    np.testing.assert_array_equal(results(func, "b200").view(np.uint32), results(func, "h100").view(np.uint32))


@pytest.mark.parametrize("value", SCALAR)
def test_what_is_no_pair_stays_scalar(value: str) -> None:
    func = kernel(loop(value))
    assert not on_pairs(func)
    np.testing.assert_array_equal(results(func, "b200"), results(func, "h100"))


@pytest.mark.parametrize(
    ("range", "at", "value"),
    [("15", "i", "a[i] + s"), ("1, 15", "i", "a[i] + s"), ("8", "i * 2", "a[i * 2] + s"), ("14", "i + 1", "a[i] + s")],
)
def test_registers_that_are_no_register_of_64_bits_stay_scalar(range: str, at: str, value: str) -> None:
    assert not on_pairs(kernel(loop(value, at, range)))


def test_an_even_offset_keeps_pairs() -> None:
    func = kernel(loop("a[i + 2] + b[i]", "i + 4", "10"))
    assert on_pairs(func) == ["+"]
    np.testing.assert_array_equal(results(func, "b200"), results(func, "h100"))


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_pairs_are_converted_together(half: str) -> None:
    func = kernel(loop(f'T.cast(a[i] * s + b[i], "{half}")'), half)
    dtype: Any = half if half == "float16" else ml_dtypes.bfloat16
    assert on_pairs(func) == ["+", "*"]
    found = [np.asarray(results(func, gpu, dtype)).view(np.uint16) for gpu in ("b200", "h100")]
    np.testing.assert_array_equal(*found)
    text = emit(lower(func), "sm_100a").text
    assert "__float22" in text


def test_halves_are_widened_together() -> None:
    kept = '    h = T.alloc_local((16,), "float16")\n    T.cast(h[:], a[:])\n'
    func = kernel(kept + loop("T.float32(h[i]) + b[i]"))
    assert on_pairs(func) == ["+"]
    np.testing.assert_array_equal(results(func, "b200"), results(func, "h100"))


def test_stores_to_neighbours_become_one() -> None:
    """As of a loop that is vectorised, or written out."""
    body = "    o[2] = a[2] * s\n    o[3] = a[3] * s\n    o[4] = a[4] * s\n    o[5] = a[5] * b[4]"
    func = kernel(body)
    assert on_pairs(func) == ["*"]
    stores = [node for node in for_target(lower(func), "sm_100a").of(BufferStore) if node.buffer.name == "o"]
    lanes = [index.lanes if isinstance(index := node.indices[0], Ramp) else 1 for node in stores]
    assert lanes[-3:] == [2, 1, 1]
    np.testing.assert_array_equal(results(func, "b200"), results(func, "h100"))


def test_a_vectorised_loop_computes_pairs() -> None:
    func = from_source("""
@T.prim_func
def kernel(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32"), S: T.Buffer((32,), "float32"),
           O: T.Buffer((32, 16), "float32")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([32])
    s = S[tx]
    for i in T.vectorized(16):
        O[tx, i] = A[tx, i] * s + B[tx, i]
""")
    assert on_pairs(func) == ["+", "*"] * 2
    np.testing.assert_array_equal(results(func, "b200"), results(func, "h100"))


def test_two_results_take_one_issue() -> None:
    """Pairs halve the cycles of arithmetic; a special function is issued for each half."""
    sums = kernel(loop("a[i] * s + b[i]").replace("T.unroll(16)", "range(16)"))
    powers = kernel(loop("T.exp2(a[i] * s - b[i])"))
    for func, saved in ((sums, 16), (powers, 30)):
        cycles = tvm.simulate(func, *numbers(), np.zeros((32, 16), "f4"), gpu="b200").cycles
        assert _scalar_cycles(func) - cycles >= saved
        assert tvm.simulate(func, gpu="b200", data=False).cycles == cycles


def _scalar_cycles(func: PrimFunc) -> float:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(availability, "on_pairs", lambda each: each)
        return tvm.simulate(func, *numbers(), np.zeros((32, 16), "f4"), gpu="b200").cycles


@pytest.mark.compiler
def test_the_machine_code_has_half_as_many_instructions() -> None:
    body = "\n".join(map(loop, ("a[i] + b[i]", "o[i] * s - b[i]", "T.fma(o[i], b[i], s)")))
    exe = build(lower(kernel(body)), "sm_100a")
    count = summarise(disassemble(exe.compiled.cubin)).matching
    assert count(r"^FADD2") == 8 and count(r"^FFMA2") == 16
    assert not count(r"^F(ADD|MUL|FMA)(\.|$)")
    scalar = compile_cuda(emit(lower(kernel(body)), "sm_90a"), "sm_90a")
    assert summarise(disassemble(scalar.cubin)).matching(r"^F(ADD|MUL|FMA)(\.|$)") == 48
