"""Programmatic dependent launch on a real GPU: kernels overlap with the previous one and compute the same."""

from __future__ import annotations

import pytest
import torch

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.runtime import Executable
from tirx_mini.script import tirx as T

N, SPINS, CHAIN = 1 << 16, 20_000, 20


def reversed_plus_one(programmatic: bool) -> PrimFunc:
    """B[N - 1 - i] = A[i] + 1: every CTA reads the results of another CTA of the previous kernel.

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
    """An even number of launches, each of which reads the results of the previous one."""
    for _ in range(length // 2):
        exe(a, b, spins)
        exe(b, a, spins)


@pytest.mark.parametrize("spins", [0, 500])
@pytest.mark.parametrize("stream", ["default", "another"])
def test_each_launch_reads_the_results_of_the_previous_one(spins: int, stream: str) -> None:
    exe = compiled(True)
    a, b = torch.arange(N, dtype=torch.float32, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream() if stream == "another" else torch.cuda.default_stream()):
        chain(exe, a, b, spins, 200)
        torch.add(a, 1.0, out=b)  # launched as ever: it waits for the whole kernel
    torch.cuda.synchronize()
    torch.testing.assert_close(a, torch.arange(N, dtype=torch.float32, device="cuda") + 200, rtol=0, atol=0)
    torch.testing.assert_close(b, a + 1, rtol=0, atol=0)


def test_a_launch_reads_the_results_of_pytorch() -> None:
    exe = compiled(True)
    a, b = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    for value in range(50):
        a.fill_(float(value))
        exe(a, b, 0)
        assert bool((b == value + 1).all())


def test_a_cuda_graph_replays_dependent_launches() -> None:
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


def test_a_cuda_graph_replays_a_launch_after_a_copy() -> None:
    """A copy precedes the launch; it is not a kernel, so it cannot let the launch begin early."""
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


# -- overlap -----------------------------------------------------------------------------------------------------------

CTAS, THREADS = 16, 128


def timed(programmatic: bool) -> Executable:
    """A kernel that adds 2 to each element of `total` and records the start and end of each CTA in ns."""

    @T.prim_func
    def kernel(total: T.Buffer((CTAS * THREADS,), "float32"), times: T.Buffer((2, CTAS), "int64"), spins: T.int32):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tx = T.thread_id([THREADS])
        began = T.ptx.globaltimer()
        if programmatic:
            T.ptx.griddepcontrol.launch_dependents()
        x: T.float32
        x = 0.0
        for _i in T.serial(spins):
            x = x * 0.5 + 1.0
        if programmatic:
            T.ptx.griddepcontrol.wait()
        total[cta * THREADS + tx] = total[cta * THREADS + tx] + x
        T.cuda.cta_sync()
        if tx == 0:
            times[0, cta] = T.Cast("int64", began)
            times[1, cta] = T.Cast("int64", T.ptx.globaltimer())

    exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda")
    assert isinstance(exe, Executable)
    return exe


@pytest.mark.parametrize("programmatic", [False, True])
def test_a_programmatic_launch_begins_before_the_previous_one_ends(programmatic: bool) -> None:
    """A launch overlaps if it is programmatic, and only then. All are queued behind a kernel that sleeps.

    Each spends some 50 us before it waits, fills a part of the SMs and lets the next one begin at once.
    """
    exe = timed(programmatic)
    total = torch.zeros(CTAS * THREADS, device="cuda")
    times = torch.zeros(CHAIN, 2, CTAS, dtype=torch.int64, device="cuda")
    for spins in (100, SPINS):  # the first round binds the arguments, so that the second is queued in no time
        times.zero_()
        torch.cuda.synchronize()
        torch.cuda._sleep(2_000_000)  # cycles
        for launch in times:
            exe(total, launch, spins)
        torch.cuda.synchronize()
    assert bool((total == 2 * 2 * CHAIN).all())
    began, ended = times[:, 0].amin(dim=1), times[:, 1].amax(dim=1)
    assert bool((times > 0).all()) and bool((ended > began).all()), times
    overlaps = (began[1:] < ended[:-1]).tolist()
    assert any(overlaps) == programmatic, (ended[:-1] - began[1:]).tolist()
