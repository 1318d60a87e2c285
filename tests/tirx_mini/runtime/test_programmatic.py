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
from tirx_mini.runtime import Executable, build, launch
from tirx_mini.runtime.launch import Bound, launch_config
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
    config = launch_config(shape, 0x1234, programmatic=True)
    assert fields(int(config.getPtr())) == (shape, 0x1234, [(wanted, 1)])


def launches(wait: bool, streams: list[int], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """The recorded launches, one on each stream: the address of the configuration, and its fields then."""
    launcher, seen = compiled(wait).launcher, []

    def queue(config: ctypes.c_void_p, function: ctypes.c_void_p, pointers: ctypes.c_void_p, extra: None) -> int:
        assert (function.value, pointers.value, extra) == (77, 99, None) and config.value is not None
        seen.append((config.value, fields(config.value)))
        return 0

    monkeypatch.setattr(launcher, "_queue", queue)
    for stream in streams:
        monkeypatch.setattr(launch, "_current", lambda stream=stream: (lambda: 0, lambda device: stream))
        launcher._launch(Bound(0, ctypes.c_void_p(77), ctypes.c_void_p(99), ()))
        assert len(launcher._streams) <= 64
    return seen


def test_each_stream_has_one_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = launches(True, [0, 7, 0, 7], monkeypatch)
    addresses = [address for address, _ in seen]
    assert addresses[0] == addresses[2] != addresses[1] == addresses[3]
    assert [stream for _, (_, stream, _) in seen] == [0, 7, 0, 7]


def test_the_oldest_configuration_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = launches(True, [*range(200), 0], monkeypatch)
    assert [stream for _, (_, stream, _) in seen] == [*range(200), 0]


def test_a_kernel_without_the_wait_is_launched_without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, found),) = launches(False, [5], monkeypatch)
    assert found == ((1, 1, 1, 128, 1, 1, 0), 5, [])


def test_a_thread_without_a_context_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher, statuses, made = compiled(False).launcher, [201, 0], []
    core = SimpleNamespace(Device=lambda device: SimpleNamespace(set_current=lambda: made.append(device)))
    real = launch.load
    monkeypatch.setattr(launch, "load", lambda name: core if name == "cuda.core" else real(name))
    monkeypatch.setattr(launch, "_current", lambda: (lambda: 3, lambda device: 5))
    monkeypatch.setattr(launcher, "_queue", lambda *operands: statuses.pop(0))
    launcher._launch(Bound(3, ctypes.c_void_p(77), ctypes.c_void_p(99), ()))
    assert made == [3] and not statuses
