"""Programmatic dependent launch on a real GPU: kernels that begin while the one before them ends, and are right."""

from __future__ import annotations

import statistics

import pytest
import torch

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.runtime import Executable
from tirx_mini.script import tirx as T

N, SPINS, CHAIN = 1 << 16, 20_000, 20


def reversed_plus_one(programmatic: bool) -> PrimFunc:
    """B[N - 1 - i] = A[i] + 1: every CTA reads what another one of the kernel before wrote.

    programmatic: whether it is launched early. Its spins are rounds of work in registers before anything is read.
    """

    @T.prim_func
    def kernel(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32"), spins: T.int32):
        T.device_entry()
        cta = T.cta_id([N // 256])
        tx = T.thread_id([256])
        x: T.float32
        x = 0.0
        if programmatic:
            T.ptx.griddepcontrol.launch_dependents()
        for _i in T.serial(spins):
            x = x * 0.5 + 1.0
        if programmatic:
            T.ptx.griddepcontrol.wait()
        B[N - 1 - (cta * 256 + tx)] = A[cta * 256 + tx] + 1.0 + T.max(x - 2.0, 0.0)

    return kernel


def compiled(programmatic: bool) -> Executable:
    exe = tvm.compile(tvm.IRModule({"main": reversed_plus_one(programmatic)}), target="cuda")
    assert isinstance(exe, Executable) and exe.func.launch is not None
    assert exe.func.launch.programmatic == programmatic
    return exe


def chain(exe: Executable, a: torch.Tensor, b: torch.Tensor, spins: int = 0, length: int = CHAIN) -> None:
    """An even number of launches, each of which reads what the one before wrote."""
    for _ in range(length // 2):
        exe(a, b, spins)
        exe(b, a, spins)


@pytest.mark.parametrize("spins", [0, 500])
@pytest.mark.parametrize("stream", ["default", "another"])
def test_each_launch_sees_what_the_one_before_wrote(spins: int, stream: str) -> None:
    exe = compiled(True)
    a, b = torch.arange(N, dtype=torch.float32, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream() if stream == "another" else torch.cuda.default_stream()):
        chain(exe, a, b, spins, 200)
        torch.add(a, 1.0, out=b)  # launched as ever: it waits for the whole kernel
    torch.cuda.synchronize()
    torch.testing.assert_close(a, torch.arange(N, dtype=torch.float32, device="cuda") + 200, rtol=0, atol=0)
    torch.testing.assert_close(b, a + 1, rtol=0, atol=0)


def test_what_pytorch_wrote_is_seen_too() -> None:
    exe = compiled(True)
    a, b = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    for value in range(50):
        a.fill_(float(value))
        exe(a, b, 0)
        assert bool((b == value + 1).all())


def test_a_cuda_graph_holds_it() -> None:
    exe = compiled(True)
    a, b = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    chain(exe, a, b)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain(exe, a, b)
    for start in (0.0, 1000.0):
        a.fill_(start)
        graph.replay()
        graph.replay()
        torch.cuda.synchronize()
        assert bool((a == start + 2 * CHAIN).all())


def test_a_cuda_graph_holds_it_after_a_copy() -> None:
    """What comes before the launch is no kernel, and so nothing that could let it begin early."""
    exe = compiled(True)
    source, a, b = (torch.zeros(N, device="cuda") for _ in range(3))
    exe(a, b, 0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        a.copy_(source)
        exe(a, b, 0)
        source.copy_(b)
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    assert bool((source == 5).all())


def test_they_overlap() -> None:
    """The work before the wait is done while the kernel before it still works."""
    times = {programmatic: microseconds(compiled(programmatic)) for programmatic in (False, True)}
    assert times[True] < 0.75 * times[False], times


def microseconds(exe: Executable) -> float:
    """Median time of a chain of launches on the GPU."""
    a, b = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    chain(exe, a, b, SPINS)
    measured: list[float] = []
    for _ in range(10):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(2_000_000)  # cycles: the launches are queued meanwhile
        start.record()
        chain(exe, a, b, SPINS)
        end.record()
        torch.cuda.synchronize()
        measured.append(1000 * start.elapsed_time(end))
    return statistics.median(measured)
