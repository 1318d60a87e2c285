"""Arguments of a simulation: arrays of NumPy and PyTorch, numbers, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from tests.tirx_mini.driver.lowered import simulate
from tirx_mini.arguments import ArgumentError
from tirx_mini.course import default_kernels, load_kernels, matches
from tirx_mini.ir import INT32, Buffer, BufferLoad, BufferStore, DataType, Launch, PrimFunc, Var, cast, special
from tirx_mini.passes import lower
from tirx_mini.saved import load_json, save_json

TID = special("threadIdx.x")


def copy_kernel(dtype: str = "float32", scale: Var | None = None) -> PrimFunc:
    """32 threads: D = A, or A * scale."""
    A, D = Buffer("A", (4, 8), DataType(dtype)), Buffer("D", (4, 8), DataType(dtype))
    value = BufferLoad(A.dtype, A, (TID,))
    store = BufferStore(D, (TID,), value * cast(A.dtype, scale) if scale is not None else value)
    params = (A, D) if scale is None else (A, scale, D)
    return PrimFunc("copy", params, store, launch=Launch((1, 1, 1), 32))


def test_numpy_arrays_are_written_in_place() -> None:
    a, d = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    report = simulate(copy_kernel(), [a, d])
    assert (report.verdict, report.findings) == ("ok", ())
    assert (d == a).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "float8_e4m3fn"])
def test_torch_tensors_are_written_in_place(dtype: str) -> None:
    a = torch.arange(32).reshape(4, 8).to(getattr(torch, dtype))
    d = torch.zeros_like(a)
    assert simulate(copy_kernel(dtype), [a, d]).ok
    assert torch.equal(a.float(), d.float())


def test_bfloat16_arrays_of_numpy_are_written_in_place() -> None:
    a = np.arange(32).reshape(4, 8).astype(ml_dtypes.bfloat16)
    d = np.zeros_like(a)
    assert simulate(copy_kernel("bfloat16"), [a, d]).ok
    assert (a == d).all()


def test_a_scalar_parameter_takes_a_number() -> None:
    a, d = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    assert simulate(copy_kernel(scale=Var(INT32, "scale")), [a, 3, d]).ok
    assert (d == a * 3).all()


GOOD = np.zeros((4, 8), np.float32)
BAD = {
    "too few": ([GOOD], "copy takes 2 arguments (A, D), but 1 were given"),
    "dtype": ([GOOD, GOOD.astype(np.float16)], "argument 2 (D) of copy has dtype float16"),
    "torch dtype": ([torch.zeros(4, 8, dtype=torch.bfloat16), GOOD], "argument 1 (A) of copy has dtype bfloat16"),
    "shape": ([GOOD, np.zeros((8, 4), np.float32)], "argument 2 (D) of copy has shape (8, 4)"),
    "strides": ([GOOD, np.zeros((8, 4), np.float32).T], "argument 2 (D) of copy is not contiguous"),
    "torch strides": ([torch.zeros(8, 4).T, GOOD], "argument 1 (A) of copy is not contiguous"),
    "no array": ([GOOD, [0.0]], "argument 2 (D) of copy must be a tensor or a NumPy array, but it is a list"),
    "device": ([torch.zeros(4, 8, device="meta"), GOOD], "argument 1 (A) of copy is on meta"),
    "read-only": ([GOOD, np.broadcast_to(GOOD, (4, 8))], "argument 2 (D) of copy is read-only"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_are_refused_in_one_sentence(name: str) -> None:
    args, message = BAD[name]
    with pytest.raises(ArgumentError) as error:
        simulate(copy_kernel(), args)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("value", [2.5, 2**40, "3"])
def test_a_wrong_scalar_is_refused(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(scale\) of copy must be a number of type int32"):
        simulate(copy_kernel(scale=Var(INT32, "scale")), [GOOD, value, GOOD.copy()])


@pytest.mark.parametrize("ones", [lambda: np.ones(64, np.float32), lambda: torch.ones(64)], ids=["NumPy", "torch"])
def test_one_array_for_two_parameters_is_one_memory(ones: Callable[[], Any]) -> None:
    """Two warps reverse an array: into another one, and in place, where each writes what the other reads."""
    A, D = Buffer("A", (64,), DataType("float32")), Buffer("D", (64,), DataType("float32"))
    store = BufferStore(D, (TID,), BufferLoad(A.dtype, A, (63 - TID,)))
    kernel = PrimFunc("reverse", (A, D), store, launch=Launch((1, 1, 1), 64))
    assert simulate(kernel, [ones(), ones()]).ok
    array = ones()
    report = simulate(kernel, [array, array])
    assert {f.kind for f in report.errors} == {"race"}
    assert any("shares memory with" in text for f in report.errors for text, _ in f.details["notes"])


def test_parameters_that_share_a_name_are_three() -> None:
    """The machine finds the tensor of a map by its name, and a kernel that no parser made may name all alike."""
    shape = (128, 128, 64)
    kernel = json.loads(save_json(load_kernels(default_kernels(), "sm100")[4](*shape)))
    for param in kernel["nodes"][kernel["func"]][1]["params"]:
        kernel["nodes"][param["ref"]][1]["name"] = "X"
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(each, dtype=np.float32).astype(np.float16) for each in ((128, 64), (128, 64)))
    d = np.full((128, 128), np.nan, np.float16)
    assert simulate(lower(load_json(json.dumps(kernel))), [a, b, d]).ok
    assert matches(a, b, d, (1e-3, 1e-2))
