"""Names of CUDA C++ in a kernel: a page that says what to write, and the simulator runs what it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, line_of, printed
from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import CUDA_NAMES, from_source

KERNEL = """
@Tx.prim_func
def kernel(A: Tx.Buffer((128,), "float32"), B: Tx.Buffer((128,), "float32"), counters: Tx.Buffer((128,), "int32"),
           flags: Tx.Buffer((32,), "uint32"), halves: Tx.Buffer((64,), "float16"),
           results: Tx.Buffer((CTAS, ROWS, 32), "float64")):
    Tx.device_entry()
    bx = Tx.cta_id([CTAS])
    i = Tx.thread_id([THREADS])
    Tx.ptx.griddepcontrol.wait()
    smem = Tx.alloc_shared((128,), "float32")
    x, y, z, h = Tx.meta_var(B[i]), Tx.meta_var(B[i + 32]), Tx.meta_var(B[i + 64]), Tx.meta_var(halves[i])
    n = Tx.int32(i)
    bits = Tx.uint32(i) * Tx.uint32(0x9E3779B9)
    A[i] = 0.0
    counters[i] = 0
    flags[i] = Tx.uint32(0)
    results[bx, 0, i] = Tx.float64(0)
"""
X, Y, Z = (np.arange(96, dtype=np.float32).reshape(3, 32) + 1) / 128
N = np.arange(32)
BITS = N * 0x9E3779B9 % 2**32
HALVES = np.arange(64, dtype=np.float16) / 4


def bit_list(value: int) -> str:
    return f"{value:032b}"


def signed_bytes(value: int) -> Any:
    return np.frombuffer(int(value).to_bytes(4, "little"), np.int8).astype(np.int64)


MEANING: Mapping[str, Any] = {
    "__syncthreads_and": 0, "__syncthreads_or": 1, "__syncthreads_count": 31, "warpSize": 32,
    "threadIdx": N, "blockIdx": 0, "gridDim": 1, "blockDim": 32, "laneid": N,
    "__shfl_sync": X[0], "__shfl_xor_sync": X[N ^ 1], "__shfl_up_sync": X[np.maximum(N - 1, 0)],
    "__shfl_down_sync": X[np.minimum(N + 1, 31)], "__ballot_sync": 0xFFFFFFFE, "__any_sync": 1, "__all_sync": 0,
    "__activemask": 0xFFFFFFFF, "__match_any_sync": 1 << N, "__match_all_sync": 0,
    "__reduce_add_sync": BITS.sum() % 2**32, "__reduce_min_sync": BITS.min(), "__reduce_max_sync": BITS.max(),
    "__reduce_and_sync": BITS & BITS[N ^ 16], "__reduce_or_sync": BITS | BITS[N ^ 16],
    "__reduce_xor_sync": BITS ^ BITS[N ^ 16], "__ldg": X, "sizeof": 512, "static_cast": 0,
    "reinterpret_cast": X.view(np.int32), "fmaf": X * np.float64(Y) + Z, "__fadd_rn": X + Y, "__fsub_rn": X - Y,
    "__fmul_rn": X * Y, "__fdiv_rn": X / Y, "__frcp_rn": 1 / X, "__hfma": X * Y + Z, "__hneg": -X,
    "fmaxf": np.maximum(X, Y), "fminf": np.minimum(X, Y), "fabsf": X, "__saturatef": X, "expf": np.exp(X),
    "exp2f": np.exp2(X), "exp10f": 10.0**X, "logf": np.log(X), "log2f": np.log2(X), "log10f": np.log10(X),
    "log1pf": np.log1p(X), "sqrtf": np.sqrt(X), "rsqrtf": 1 / np.sqrt(X), "powf": X**Y, "fmodf": np.fmod(X, Y),
    "hypotf": np.hypot(X, Y), "copysignf": X, "sinf": np.sin(X), "cosf": np.cos(X), "tanf": np.tan(X),
    "asinf": np.arcsin(X), "acosf": np.arccos(X), "atanf": np.arctan(X), "atan2f": np.arctan2(Y, X),
    "sinhf": np.sinh(X), "coshf": np.cosh(X), "tanhf": np.tanh(X), "floorf": 0, "ceilf": 1, "truncf": 0,
    "roundf": np.rint(X), "ldexpf": X * 2.0**N, "__isnanf": 0, "__isinff": 0, "INFINITY": np.inf,
    "FLT_MAX": np.finfo(np.float32).max, "INT_MAX": 2**31 - 1, "INT_MIN": -(2**31), "UINT_MAX": 2**32 - 1,
    "__popc": [bin(n).count("1") for n in N], "__clz": [32 - int(n).bit_length() for n in N],
    "__ffs": [(int(b) & -int(b)).bit_length() for b in BITS], "__brev": [int(bit_list(b)[::-1], 2) for b in BITS],
    "__brevll": [int(bit_list(b)[::-1], 2) << 32 for b in BITS], "__byte_perm": BITS,
    "__umulhi": [int(b) ** 2 >> 32 for b in BITS], "__mulhi": 0, "__umul24": N * N,
    "__dp4a": [(signed_bytes(b) ** 2).sum() + n for n, b in enumerate(BITS)],
    "__funnelshift_l": [(int(b) << 8 | int(b) >> 24) % 2**32 for b in BITS],
    "__funnelshift_r": [(int(b) >> 8 | int(b) << 24) % 2**32 for b in BITS],
    "half": X.astype(np.float16), "__half2float": HALVES[:32], "__float2half": X.astype(np.float16),
    "__int2float_rn": N, "__float2int_rz": 0, "__float2int_rn": np.rint(X), "__float2int_rd": 0, "__float2int_ru": 1,
    "__float_as_uint": X.view(np.uint32), "__uint_as_float": BITS.astype(np.uint32).view(np.float32),
    "__int_as_float": N.astype(np.int32).view(np.float32), "int32_t": N, "uint32_t": N, "int64_t": N, "uint64_t": N,
    "int16_t": N, "uint16_t": N, "int8_t": N, "uint8_t": N, "double": X,
}  # fmt: skip
"""The values in the 32 threads of a suggestion, by the first name of its row."""


def suggestions(family: str) -> Iterator[tuple[str, str]]:
    """The code that the pages of a family suggest, with the first name of its row; "" for code of a note."""
    for row in CUDA_NAMES:
        if row.family == family:
            yield row.names[0], row.write
            yield from (("", code) for code in re.findall("`([^`]*)`", row.note))


def is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, Expr) and value.dtype.lanes == 1 and not value.dtype.is_handle)


@pytest.mark.parametrize("family", dict.fromkeys(row.family for row in CUDA_NAMES))
def test_what_the_pages_suggest_runs_and_means_what_cuda_does(family: str) -> None:
    lines: list[str] = []
    checked: dict[str, int] = {}
    for place, (name, code) in enumerate(suggestions(family)):
        if code == "@Tx.inline":
            lines += [code, "def function(value):", "    return value"]
        elif code.startswith(("@", "dispatch=")):
            continue
        elif not isinstance(ast.parse(code).body[0], ast.Expr):
            lines.append(code)
        else:
            lines += [f"value = Tx.meta_var({code})", "if is_number(value):"]
            lines.append(f"    results[bx, {place}, i] = Tx.float64(value)")
            checked[name] = place
        lines.append("Tx.cuda.cta_sync()")
    rows, ctas = len(lines), 1 + ("__cluster_dims__" in checked)
    names = {"ROWS": rows, "CTAS": ctas, "THREADS": 32, "is_number": is_number}
    kernel = from_source(KERNEL + "".join(f"    {line}\n" for line in lines), names)
    arrays = [np.zeros(128, np.float32), np.concatenate([X, Y, Z, Z]), np.zeros(128, np.int32), np.zeros(32, np.uint32)]
    results = np.zeros((ctas, rows, 32))
    report = tirx_mini.simulate(kernel, *arrays, HALVES, results)
    assert report.ok, report
    for name in MEANING.keys() & checked.keys():
        expected = np.broadcast_to(np.asarray(MEANING[name], np.float64), 32)
        np.testing.assert_allclose(results[0, checked[name]], expected, 1e-5, err_msg=name)


def test_a_name_of_cuda_is_underlined_and_the_page_says_what_to_write() -> None:
    for row in CUDA_NAMES:
        error = error_in(f"y = {row.names[-1]}")
        assert line_of(error) == row.names[-1] and error.kind == "unknown-name", str(error)
        assert error.diagnostic.hint == row.hint() and row.write in str(error)


@pytest.mark.parametrize("owner", ["Tx", "Tx.cuda", "Tx.ptx"])
@pytest.mark.parametrize("name", ["__syncthreads", "__shfl_xor", "atomicMax", "threadIdx", "atomicAdd"])
def test_so_does_the_page_for_an_attribute_of_that_name(owner: str, name: str) -> None:
    if (owner, name) != ("Tx", "threadIdx"):
        error = error_in(f"y = {owner}.{name}")
        row = next(row for row in CUDA_NAMES if name in row.names)
        assert line_of(error) == f"{owner}.{name}" and error.diagnostic.hint == row.hint(), str(error)


def test_the_page_calls_the_language_as_the_file_does() -> None:
    text = "@T.prim_func\ndef kernel(A: T.Buffer((1,), 'float32')):\n    T.device_entry()\n    __syncthreads()\n"
    with pytest.raises(TirxError, match=re.escape("help: write `T.cuda.cta_sync()`")):
        from_source(text, {"Tx": None})


def test_a_name_that_the_kernel_defines_is_its_own() -> None:
    assert "half" in printed("half = lane_id // 2\nreg[half] = 1.0")


def test_no_name_is_listed_twice_or_exists_in_the_language() -> None:
    names = [name for row in CUDA_NAMES for name in row.names]
    assert len(names) == len(set(names))
