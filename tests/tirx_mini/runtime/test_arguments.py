"""What a launch asks of its arguments in addition: one GPU, aligned, and no overlap with what the kernel writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.tirx_mini.codegen.samples import at, func, put, vector
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import INT32, Buffer, DataType, Var
from tirx_mini.runtime.arguments import check_devices, check_overlap, check_tensor

A = Buffer("A", (128, 64), DataType("float16"))
D = vector("D", 64)
N = Var(INT32, "n")
KERNEL = func(put(D, 0, at(D, N)), params=(A, D, N), name="gemm")


@dataclass(frozen=True)
class Device:
    type: str = "cuda"
    index: int = 0


@dataclass(frozen=True)
class Tensor:
    """What the checks look at of a PyTorch tensor."""

    shape: tuple[int, ...] = (128, 64)
    dtype: str = "torch.float16"
    device: Device = Device()
    pointer: int = 1 << 20
    strides: tuple[int, ...] = (64, 1)

    def data_ptr(self) -> int:
        return self.pointer

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def is_contiguous(self) -> bool:
        return self.strides == (64, 1)

    def numel(self) -> int:
        return self.shape[0] * self.shape[-1]

    def element_size(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"device": Device("cpu")}, "is on the CPU, but the kernel runs on the GPU: pass A.cuda()"),
        (
            {"dtype": "torch.float32"},
            "has dtype float32, but the kernel was written for float16: pass A.to(torch.float16)",
        ),
        ({"shape": (64, 128)}, "has shape (64, 128), but the kernel is for (128, 64): build it for this size"),
        ({"strides": (1, 128)}, "is not contiguous (its strides are (1, 128)): pass A.contiguous()"),
        ({"pointer": 1026}, "starts at an address that is not a multiple of 16 bytes: pass A.clone()"),
    ],
)
def test_a_tensor_that_does_not_fit(change: dict[str, Any], sentence: str) -> None:
    check_tensor(KERNEL, 0, Tensor())
    with pytest.raises(ArgumentError) as caught:
        check_tensor(KERNEL, 0, replace(Tensor(), **change))
    assert str(caught.value) == f"argument 1 (A) of gemm {sentence}"


def test_something_that_is_no_tensor() -> None:
    with pytest.raises(ArgumentError) as caught:
        check_tensor(KERNEL, 0, [[1.0, 2.0]])
    assert str(caught.value) == "argument 1 (A) of gemm must be a tensor or a NumPy array, but it is a list"


def test_tensors_of_several_gpus() -> None:
    here, there = Tensor(), Tensor(device=Device("cuda", 1))
    assert check_devices(KERNEL, {0: there, 1: there}) == 1
    with pytest.raises(ArgumentError, match=r"are on different GPUs \(A on cuda:0, D on cuda:1\): move them to one"):
        check_devices(KERNEL, {0: here, 1: there})


def test_what_is_written_shares_no_memory() -> None:
    a, d = Tensor(pointer=1 << 20), Tensor(pointer=(1 << 20) + 128 * 64 * 2)
    check_overlap(KERNEL, {0: a, 1: d}, frozenset({1}))
    overlapping = replace(d, pointer=d.pointer - 16)
    check_overlap(KERNEL, {0: a, 1: overlapping}, frozenset())
    with pytest.raises(ArgumentError, match="gemm writes D, which shares memory with A"):
        check_overlap(KERNEL, {0: a, 1: overlapping}, frozenset({1}))
