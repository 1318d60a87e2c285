"""Programmatic dependent launch without a GPU: the machine code after the wait, and the arguments of the driver."""

from __future__ import annotations

import ctypes
import re
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.runtime import DriverError, Executable, build
from tirx_mini.runtime.launch import Bound, programmatic_config
from tirx_mini.runtime.toolchain import load
from tirx_mini.script import tirx as T

pytestmark = pytest.mark.compiler
ARCHS = ["sm_90a", "sm_100a"]


def sums(wait: bool, cluster: int = 1) -> PrimFunc:
    """B = the sum of each row of A; a wait in the loop, which its loads must not leave."""

    @T.prim_func
    def kernel(A: T.Buffer((64, 128), "float32"), B: T.Buffer((128,), "float32"), n: T.int32):
        T.device_entry()
        bx = T.cta_id([cluster], parent="kernel")
        rank = T.cta_id([cluster], parent="cluster")
        tx = T.thread_id([128])
        total: T.float32
        total = 0.0
        for _i in T.serial(n):
            if wait:
                T.ptx.griddepcontrol.wait()
            total = total + A[0, tx]
        B[tx] = total
        if wait:
            T.ptx.griddepcontrol.launch_dependents()

    return kernel


def compiled(wait: bool = True, arch: str = "sm_90a", cluster: int = 1) -> Executable:
    return build(lower(sums(wait, cluster)), arch)


@pytest.mark.parametrize("arch", ARCHS)
def test_no_load_is_moved_ahead_of_the_wait(arch: str) -> None:
    """The compiler may, and did, read through a `const … __restrict__` pointer ahead of the wait."""
    exe = compiled(arch=arch)
    assert exe.compiled.warnings == ()
    assert "__restrict__" not in exe.source("cuda") and "ld.global.nc" not in exe.source("ptx")
    code = re.findall(r"\b(ACQBULK|PREEXIT|LDG\.[\w.]+|STG\.[\w.]+)", exe.source("sass"))
    assert code[0] == "ACQBULK" and "PREEXIT" in code and any(op.startswith("LDG") for op in code)
    loads = [place for place, op in enumerate(code) if op.startswith("LDG")]
    assert all(code[place - 1] == "ACQBULK" for place in loads) and not any("CONSTANT" in op for op in code)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_kernel_without_the_wait_keeps_restrict_pointers(arch: str) -> None:
    exe = compiled(False, arch)
    assert "const float* __restrict__ A" in exe.source("cuda") and "griddepcontrol" not in exe.source("ptx")
    assert "PROGRAMMATIC" not in exe.source("cuda")


def test_the_text_names_the_launch_attribute() -> None:
    lines = compiled(cluster=2).source("cuda").splitlines()
    (place,) = (i for i, line in enumerate(lines) if "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION" in line)
    assert lines[place].startswith("//") and lines[place + 1].startswith('extern "C" __global__')
    assert "__cluster_dims__(2, 1, 1)" in lines[place + 1]


# -- the driver's side -------------------------------------------------------------------------------------------------


def fields(config: int) -> tuple[tuple[int, ...], int, list[tuple[int, int]]]:
    """The fields of the CUlaunchConfig there: grid, block and shared memory; stream; attributes with values."""
    *shape, stream, attributes, count = struct.unpack("7I4xQQI4x", ctypes.string_at(config, 56))
    size = 72  # of a CUlaunchAttribute: its id, padding, and 64 bytes for its value
    found = [struct.unpack("I4xi", ctypes.string_at(attributes + i * size, 12)) for i in range(count)]
    return tuple(shape), stream, found


def test_the_configuration_has_the_programmatic_attribute() -> None:
    driver = load("cuda.bindings.driver")
    wanted = int(driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
    shape = (7, 5, 3, 128, 1, 1, 4096)
    config = programmatic_config(shape, 0x1234)
    assert fields(int(config.getPtr())) == (shape, 0x1234, [(wanted, 1)])


class Calls:
    """A driver that records its launches: the operands, and in place of a configuration its address and its stream."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def cuLaunchKernelEx(self, config: ctypes.c_void_p, *args: Any) -> int:
        assert config.value is not None
        self.seen.append(("Ex", config.value, fields(config.value)[1], *map(plain, args)))
        return 0

    def cuLaunchKernel(self, *args: Any) -> int:
        self.seen.append(("plain", *map(plain, args)))
        return 0


def plain(operand: Any) -> Any:
    """What the driver is given for an operand."""
    return operand.value if isinstance(operand, ctypes.c_void_p) else operand


def launches(wait: bool, streams: list[int], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The recorded launches, one on each stream."""
    launcher, calls = compiled(wait).launcher, Calls()
    monkeypatch.setattr(launcher, "_calls", calls)
    for stream in streams:
        launcher._launch(Bound(0, ctypes.c_void_p(77), ctypes.c_void_p(99), ()), stream)
        assert len(launcher._streams) <= 64
    return calls.seen


def test_each_stream_has_one_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = launches(True, [1, 7, 1, 7], monkeypatch)
    assert [call[0] for call in seen] == ["Ex"] * 4 and all(call[3:] == (77, 99, None) for call in seen)
    addresses = [call[1] for call in seen]
    assert addresses[0] == addresses[2] != addresses[1] == addresses[3]
    assert [call[2] for call in seen] == [1, 7, 1, 7]


def test_the_oldest_configuration_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = launches(True, [*range(200), 0], monkeypatch)
    assert [call[2] for call in seen] == [*range(200), 0]


def test_a_kernel_without_the_wait_is_launched_without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launches(False, [5], monkeypatch) == [("plain", 77, 1, 1, 1, 128, 1, 1, 0, 5, 99, None)]


def test_an_error_of_the_driver_is_raised_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher, calls = compiled(False).launcher, SimpleNamespace(cuLaunchKernel=lambda *operands: 700)
    monkeypatch.setattr(launcher, "_calls", calls)
    with pytest.raises(DriverError) as caught:
        launcher._launch(Bound(0, ctypes.c_void_p(77), ctypes.c_void_p(99), ()), 5)
    assert caught.value.name in ("CUDA_ERROR_ILLEGAL_ADDRESS", "unknown")  # without a driver there are no names
