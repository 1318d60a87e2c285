"""A wrong argument gets the same sentence from the simulator and from a launch, whatever the kernel runs on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import psutil
import pytest
import torch

from tests.tirx_mini.codegen.samples import at, func, put, vector
from tirx_mini.arguments import (
    ArgumentError,
    check_contiguous,
    check_count,
    check_device,
    check_room,
    check_scalar,
    check_type,
    check_writeable,
)
from tirx_mini.course import default_kernels, load_kernels, make_arguments
from tirx_mini.hardware import B200
from tirx_mini.ir import BOOL, FLOAT32, INT32, Buffer, DataType, Var
from tirx_mini.runtime.arguments import check_call
from tirx_mini.sim import Question, Simulation

A = Buffer("A", (128, 64), DataType("bfloat16"))
D = vector("D", 64)
N, FLAG, X = Var(INT32, "n"), Var(BOOL, "flag"), Var(FLOAT32, "x")
KERNEL = func(put(D, 0, at(D, N)), params=(A, D, N, FLAG, X), name="gemm")
GOOD = np.zeros((128, 64), ml_dtypes.bfloat16)
TENSOR = torch.zeros(128, 64, dtype=torch.bfloat16)


def sentence(check: Any, *arguments: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        check(KERNEL, *arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("array", [GOOD, TENSOR], ids=["numpy", "torch"])
def test_an_array_that_fits_is_accepted(array: Any) -> None:
    check_type(KERNEL, 0, array)
    check_contiguous(KERNEL, 0, array)


@pytest.mark.parametrize(
    ("array", "fix"),
    [(GOOD.astype(np.float32), 'A.astype("bfloat16")'), (TENSOR.float(), "A.to(torch.bfloat16)")],
    ids=["numpy", "torch"],
)
def test_a_wrong_dtype(array: Any, fix: str) -> None:
    expected = f"argument 1 (A) of gemm has dtype float32, but the kernel was written for bfloat16: pass {fix}"
    assert sentence(check_type, 0, array) == expected


@pytest.mark.parametrize("array", [GOOD[:64], TENSOR[:64]], ids=["numpy", "torch"])
def test_a_wrong_shape(array: Any) -> None:
    expected = "argument 1 (A) of gemm has shape (64, 64), but the kernel is for (128, 64): build it for this size"
    assert sentence(check_type, 0, array) == expected


@pytest.mark.parametrize(
    ("array", "fix"), [(GOOD.T, "np.ascontiguousarray(A)"), (TENSOR.T, "A.contiguous()")], ids=["numpy", "torch"]
)
def test_elements_in_another_order(array: Any, fix: str) -> None:
    assert sentence(check_contiguous, 0, array) == (
        f"argument 1 (A) of gemm is not contiguous (its strides are (1, 64)): pass {fix}"
    )


def test_a_read_only_array() -> None:
    check_writeable(KERNEL, 0, GOOD)
    expected = "argument 1 (A) of gemm is read-only, and results are written in place: pass A.copy()"
    assert sentence(check_writeable, 0, np.broadcast_to(GOOD, (128, 64))) == expected


def test_the_wrong_device() -> None:
    check_device(KERNEL, 0, TENSOR, "cpu")
    on_the_gpu = "argument 1 (A) of gemm is on the CPU, but the kernel runs on the GPU: pass A.cuda()"
    assert sentence(check_device, 0, TENSOR, "cuda") == on_the_gpu
    in_memory = "argument 1 (A) of gemm is on meta, but the simulator computes in main memory: pass A.cpu()"
    assert sentence(check_device, 0, TENSOR.to("meta"), "cpu") == in_memory


def test_a_wrong_number_of_arguments() -> None:
    check_count(KERNEL, (1, 2, 3, 4, 5))
    assert sentence(check_count, (1, 2)) == "gemm takes 5 arguments (A, D, n, flag, x), but 2 were given"


@pytest.mark.parametrize(
    ("index", "value", "expected"),
    [
        (2, 3, 3), (2, True, 1), (2, -(2**31), -(2**31)), (2, np.int64(7), 7), (2, torch.tensor([7]), 7),
        (3, 1, True), (3, np.bool_(False), False), (4, 2, 2.0), (4, np.float16(0.5), 0.5),
    ],
)  # fmt: skip
def test_a_number_becomes_one_of_its_type(index: int, value: Any, expected: float) -> None:
    number = check_scalar(KERNEL, index, value)
    assert number == expected and type(number) is type(expected)


@pytest.mark.parametrize(
    ("value", "given"),
    [(2**31, "2147483648"), (1.5, "1.5"), (3.0, "3.0"), (float("nan"), "nan"), ("7", "'7'"), (None, "a NoneType"),
     (np.zeros(2, np.int32), "a ndarray")],
)  # fmt: skip
def test_a_number_that_its_type_cannot_hold(value: Any, given: str) -> None:
    expected = f"argument 3 (n) of gemm must be a number of type int32, but {given} was given"
    assert sentence(check_scalar, 2, value) == expected


@pytest.mark.parametrize(
    "args",
    [
        (GOOD,),
        (1, np.zeros(64, np.float32), 1, True, 0.5),
        (GOOD.astype(np.float16), np.zeros(64, np.float32), 1, True, 0.5),
        (GOOD[:64], np.zeros(64, np.float32), 1, True, 0.5),
        (GOOD, np.frombuffer(bytes(256), np.float32), 1, True, 0.5),
        (GOOD, np.zeros(64, np.float32), 1.5, True, 0.5),
    ],
    ids=["count", "kind", "dtype", "shape", "read-only", "scalar"],
)
def test_the_simulator_and_a_launch_say_the_same(args: tuple[Any, ...]) -> None:
    assert sentence(Simulation, args, Question(B200)) == sentence(check_call, args, frozenset({1}))


def test_more_memory_than_the_machine_has_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=3 * 2**30))
    check_room(3 * 2**30, "this")
    with pytest.raises(ArgumentError, match=r"^running hgemm takes about 4\.5 GiB of .* has 3\.0 GiB left: "):
        check_room(4.5 * 2**30, "running hgemm")


def test_random_data_of_a_kernel_that_is_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**28))
    with pytest.raises(ArgumentError, match=r"simulate.*data=False"):
        make_arguments(load_kernels(default_kernels(), "sm100")[3](16384, 16384, 64))
