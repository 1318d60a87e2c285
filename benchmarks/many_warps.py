"""The time and the memory of simulations in which very many warps synchronise at the scope of the GPU.

    python benchmarks/many_warps.py                # 8,000 warps, and 1,000 CTAs of 1,024 threads
    python benchmarks/many_warps.py count --ctas 500 --threads 512

Seconds are the processor's; each line is a process of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import in_process

from tirx_mini import simulate
from tirx_mini.ending import command
from tirx_mini.script import from_source

BOUND_S, BOUND_MIB = 20.0, 2048.0
SIZES = ((500, 512), (1000, 1024))

KERNEL = """
@T.prim_func
def kernel(N: T.Buffer((4,), "uint32"), X: T.Buffer(({ctas},), "uint32"), D: T.Buffer(({ctas},), "uint32")):
    T.device_entry()
    cta = T.cta_id([{ctas}])
    tx = T.thread_id([{threads}])
    last = T.alloc_shared((1,), "uint32")
"""

BODIES = {
    "count": """
    if tx % 32 == 0:
        T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", sem="acq_rel", scope="gpu")
""",
    "lanes": """
    T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", sem="acq_rel", scope="gpu")
""",
    "numbers": """
    if tx % 32 == 0:
        if T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", sem="acq_rel", scope="gpu") == T.uint32({warps} - 1):
            D[0] = N[0]
""",
    "last": """
    if tx == 0:
        X[cta] = T.uint32(1)
    T.ptx.fence.acq_rel("gpu")
    T.cuda.cta_sync()
    if tx % 32 == 0:
        if T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", scope="gpu") == T.uint32({warps} - 1):
            T.ptx.fence.acq_rel("gpu")
            for i in range({ctas}):
                D[i] = X[i]
            N[0] = T.uint32(0)
""",
    "signals": """
    if tx == 0:
        X[cta] = T.uint32(1)
    T.cuda.cta_sync()
    if tx % 32 == 0:
        T.ptx.red(N.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
    if cta == 0:
        if tx == 0:
            while T.ptx.ld(N.ptr_to([0]), sem="acquire", scope="gpu") != T.uint32({warps}):
                T.ptx["nanosleep.u32"](T.uint32(1000))
            for i in range({ctas}):
                D[i] = X[i]
""",
    "chain": """
    if tx == 0:
        while T.ptx.ld(N.ptr_to([0]), sem="acquire", scope="gpu") < T.uint32(cta):
            T.ptx["nanosleep.u32"](T.uint32(10000))
    T.cuda.cta_sync()
    if tx == 0:
        X[0] = X[0] + T.uint32(1)
        T.ptx.red(N.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
""",
    "race": """
    if tx % 32 == 0:
        T.ptx.red(N.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
        D[cta] = N[0]
""",
}
"""The bodies of the kernels, by case.

count, lanes: each warp or each lane adds to a counter and ignores the result. numbers: each warp tests the result.
last: the last warp to count collects the results of all CTAs. signals: all warps signal one thread, which waits for
them. chain: the CTAs take turns. race: each warp reads the counter while others change it.
"""

VERDICTS = {"race": "hazard"}


def simulated(name: str, ctas: int, threads: int) -> tuple[float, str]:
    """Seconds to read and simulate a kernel, and its verdict."""
    start = time.process_time()
    kernel = from_source((KERNEL + BODIES[name]).format(ctas=ctas, threads=threads, warps=ctas * threads // 32))
    arrays = np.zeros(4, np.uint32), np.zeros(ctas, np.uint32), np.zeros(ctas, np.uint32)
    report = simulate(kernel, *arrays, gpu="b200")
    page = str(report)
    if report.verdict != VERDICTS.get(name, "ok"):
        print(page)
    return time.process_time() - start, report.verdict


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"of {', '.join(BODIES)}; all unless given")
    parser.add_argument("--ctas", type=int, help="of another size, with --threads")
    parser.add_argument("--threads", type=int, default=512)
    options = parser.parse_args(argv)
    table = Table(title="Warps that synchronise at the scope of the GPU", box=None, pad_edge=False)
    for column in ("case", "CTAs", "threads", "warps", "verdict", "CPU s", "bound s", "peak MiB", "bound MiB"):
        table.add_column(column, justify="left" if column == "case" else "right")
    over = False
    for ctas, threads in ((options.ctas, options.threads),) if options.ctas else SIZES:
        for name in options.names or BODIES:
            run = in_process(simulated, name, ctas, threads)
            seconds, verdict = run.result
            over = over or seconds > BOUND_S or run.peak_mib > BOUND_MIB or verdict != VERDICTS.get(name, "ok")
            table.add_row(
                name, f"{ctas:,}", f"{threads:,}", f"{ctas * threads // 32:,}", verdict, f"{seconds:.1f}",
                f"{BOUND_S:g}", f"{run.peak_mib:.0f}", f"{BOUND_MIB:g}",
            )  # fmt: skip
    Console().print(table)
    return int(over)


if __name__ == "__main__":
    sys.exit(command(main))
