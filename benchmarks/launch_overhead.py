"""What a launch costs the CPU: a call of a compiled kernel beside the driver's cuLaunchKernel, PyTorch, and a graph.

    PYTHONPATH=. python benchmarks/launch_overhead.py [--out FOLDER]          # needs a GPU

Microseconds from call to return, while the GPU keeps up: the median of batches of 200 launches of a kernel that does
next to nothing, after a thousand to warm up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from tirx_mini.ending import command
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.runtime import Executable, LaunchGraph
from tirx_mini.runtime.launch import launch_config
from tirx_mini.script import tirx as T

BATCH, BATCHES, WARM = 200, 25, 1000
SIZE = 64


@T.prim_func
def plain(A: T.Buffer((SIZE, SIZE), "float16"), B: T.Buffer((SIZE, SIZE), "float16")):
    """Two pointers."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([SIZE])
    B[0, tx] = A[0, tx]


@T.prim_func
def early(A: T.Buffer((SIZE, SIZE), "float16"), B: T.Buffer((SIZE, SIZE), "float16")):
    """Two pointers, and a programmatic launch."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([SIZE])
    T.ptx.griddepcontrol.wait()
    B[0, tx] = A[0, tx]


def by_tma() -> PrimFunc:
    """Two tensor maps of 128 bytes each."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (8, SIZE))

    @T.prim_func
    def copy(A: T.Buffer((SIZE, SIZE), "float16"), B: T.Buffer((SIZE, SIZE), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        pool = T.PoolAllocator()
        bar = pool.alloc((1,), "uint64")
        tile = pool.alloc((8, SIZE), "float16", layout=layout)
        pool.commit()
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16 * SIZE)
            with T.thread():
                T.copy_async(tile[:, :], A[0:8, :], dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            with T.thread():
                T.copy_async(B[0:8, :], tile[:, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return copy


def microseconds(call: Callable[[], object], launches: int = 1) -> float:
    """Median time of one launch, of which `call` makes `launches`."""
    for _ in range(WARM // launches):
        call()
    torch.cuda.synchronize()
    times: list[float] = []
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(BATCH // launches):
            call()
        times.append((time.perf_counter() - start) / BATCH * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def bare(exe: Executable, *args: torch.Tensor) -> Callable[[], object]:
    """The driver's call alone, with arguments and function made before."""
    driver = importlib.import_module("cuda.bindings.driver")
    exe(*args)
    bound = exe.launcher.bind(args)
    function, pointers = driver.CUfunction(bound.function.value), bound.pointers.value
    assert exe.func.launch is not None
    launch = exe.func.launch
    stream = torch.cuda.current_stream().cuda_stream
    shape = (*launch.grid, launch.threads, 1, 1, launch.smem_bytes)
    if launch.programmatic:
        config = launch_config(shape, stream, programmatic=True)
        return lambda bound=bound: driver.cuLaunchKernelEx(config, function, pointers, 0)
    return lambda bound=bound: driver.cuLaunchKernel(function, *shape, stream, pointers, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for launch_overhead.json")
    options = parser.parse_args()
    a, b = (torch.zeros((SIZE, SIZE), dtype=torch.float16, device="cuda") for _ in range(2))
    rows: dict[str, float] = {}
    for name, kernel in (("two pointers", plain), ("programmatic", early), ("two tensor maps", by_tma())):
        exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda")
        assert isinstance(exe, Executable)
        assert exe.func.launch is not None
        driver = "cuLaunchKernelEx" if exe.func.launch.programmatic else "cuLaunchKernel"
        rows[f"{name}: {driver} from Python"] = microseconds(bare(exe, a, b))
        rows[f"{name}: exe(A, B)"] = microseconds(lambda exe=exe: exe(a, b))
        rows[f"{name}: in a graph of 100"] = microseconds(LaunchGraph(lambda exe=exe: exe(a, b), 100).replay, 100)
    rows["torch.add(A, A, out=B)"] = microseconds(lambda: torch.add(a, a, out=b))
    table = Table(title=f"Launch, CPU time, {torch.cuda.get_device_name()}", box=None, pad_edge=False)
    table.add_column("launch")
    table.add_column("us", justify="right")
    for name, value in rows.items():
        table.add_row(name, f"{value:.2f}")
    Console().print(table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "launch_overhead.json").write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
