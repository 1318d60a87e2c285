"""The ladder on this machine's GPU, beside cuBLAS and Triton: a table, a CSV file and a bar chart.

    PYTHONPATH=. python3 benchmarks/ladder.py                       # everything: minutes
    PYTHONPATH=. python3 benchmarks/ladder.py --check               # only whether results are right
    PYTHONPATH=. python3 benchmarks/ladder.py --shapes 4096 --steps 9,10 --dtypes float16
    PYTHONPATH=. python3 benchmarks/ladder.py --kernels gemm_kernels.py --out results

Every shape is a process of its own with a time limit: what hangs is named and left out, and costs no more than that.
Kernels are compiled beforehand, many at a time. See `contest.py` for how time is measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart import chart_of_table

from tirx_mini.commands import step_list
from tirx_mini.course import STEPS, Shape, load_kernels, shape_text, steps_from
from tirx_mini.ending import command
from tirx_mini.hardware import GpuSpec, nearest_gpu
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.pool import in_order, spread
from tirx_mini.runtime import build as compile_for_gpu
from tirx_mini.runtime import device_arch

ROOT = Path(__file__).parents[1]
SQUARES = tuple((n, n, n) for n in (1024, 2048, 4096, 8192))
LLM = ((4096, 14336, 4096), (8192, 28672, 8192), (8192, 8192, 28672))
UNEVEN = ((256, 768, 192), (1536, 768, 4096), (2304, 1280, 640), (320, 448, 192), (1024, 2112, 128))
"""Shapes that are checked besides: few tiles, a long K, a number of K tiles that no pipeline divides, tiles that hang
over the edge (step 10; the others refuse those)."""
DTYPES = ("float16", "bfloat16")
PEERS = ("cuBLAS", "Triton")


@dataclass
class Case:
    """The result at one shape and dtype.

    ms: medians; ratio: cuBLAS's time divided by the contestant's in the same round, the median.
    stuck: the steps that hung or died.
    """

    shape: Shape
    dtype: str
    ms: dict[str, float] = field(default_factory=dict)
    ratio: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    stuck: list[int] = field(default_factory=list)

    def tflops(self, name: str) -> float:
        m, n, k = self.shape
        return 2 * m * n * k / self.ms[name] / 1e9


def parse_shapes(text: str) -> tuple[Shape, ...]:
    """`4096,4096x14336x4096` as shapes."""
    shapes: list[Shape] = []
    for part in text.split(","):
        sizes = [int(size) for size in part.split("x")]
        m, n, k = sizes * 3 if len(sizes) == 1 else sizes
        shapes.append((m, n, k))
    return tuple(shapes)


# -- compiling -------------------------------------------------------------------------------------------------------


def this_gpu() -> GpuSpec:
    """The modelled GPU that is most like this machine's. Ends the program where there is none."""
    import torch

    arch = device_arch()
    if arch is None:
        sys.exit("error: this machine has no GPU that PyTorch can use")
    return nearest_gpu(arch, torch.cuda.get_device_name())


def build(step: int, shape: Shape, dtype: str, kernels: Path, gpu: GpuSpec) -> str:
    """Compile one kernel into the cache; returns what is wrong, or nothing."""
    what = f"step {step} at {shape_text(shape)} {dtype}"
    try:
        kernel = load_kernels(kernels, gpu.architecture.kernels)[step](*shape, dtype=dtype)
    except ValueError:
        return ""  # a shape that the step's tiles do not cover
    try:
        return compiled(kernel, what, gpu)
    except Exception as error:  # told, and the others are built
        return f"{what}: {error}"


def compiled(kernel: PrimFunc, what: str, gpu: GpuSpec) -> str:
    """Compile a kernel into the cache; returns a complaint about `what` if it spills registers, or nothing."""
    resources = compile_for_gpu(lower(kernel), gpu.arch, original=kernel).compiled.resources
    spills = resources.spill_store_bytes + resources.spill_load_bytes
    return f"{what} spills {spills} bytes" if spills else ""


def build_all(
    steps: Sequence[int], shapes: Sequence[Shape], dtypes: Sequence[str], kernels: Path, jobs: int, gpu: GpuSpec
) -> list[str]:
    """Compile everything. Returns complaints."""
    todo = [(step, shape, dtype, kernels, gpu) for step in steps for shape in shapes for dtype in dtypes]
    return [text for text in in_order(spread(build), todo, jobs=jobs) if text]


# -- running ---------------------------------------------------------------------------------------------------------


class Stuck(Exception):
    """A contest that did not end in time; `name` is what it was about to do."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name


def events(command: Sequence[str], limit: float, silence: float) -> Iterator[dict]:
    """The JSON lines of a child process. Raises `Stuck` where it takes too long, is silent too long, or dies."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []
    assert child.stdout is not None and child.stderr is not None
    out, err = child.stdout, child.stderr

    def pump() -> None:
        for line in out:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=pump, daemon=True).start()
    threading.Thread(target=lambda: errors.extend(err), daemon=True).start()
    deadline = time.monotonic() + limit
    current = "start"
    try:
        while True:
            try:
                line = lines.get(timeout=max(0.1, min(silence, deadline - time.monotonic())))
            except queue.Empty:
                raise Stuck(current, f"no answer within {silence:.0f} s") from None
            if line is None:
                break
            if line.startswith("{"):
                event = json.loads(line)
                current = event.get("name", current)
                yield event
        if child.wait(10):
            raise Stuck(current, f"exit status {child.returncode}: {''.join(errors).strip()[-600:]}")
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def run_case(shape: Shape, dtype: str, steps: Sequence[int], options: argparse.Namespace) -> Case:
    """Run one contest; again without a contestant that hangs or dies."""
    case = Case(shape, dtype)
    left = [step for step in steps if not (step == 1 and shape != STEPS[1].shapes[0])]
    triton = not options.check and not options.no_triton
    for _ in range(4):
        command = [sys.executable, str(Path(__file__).with_name("contest.py")), *map(str, shape), dtype]
        command += ["--steps", ",".join(map(str, left)), "--rounds", "0" if options.check else str(options.rounds)]
        command += ["--kernels", str(options.kernels.resolve())] + ([] if triton else ["--no-triton"])
        try:
            for event in events(command, options.limit, options.silence):
                note(case, event)
        except Stuck as stuck:
            case.failed.append(str(stuck))
            if stuck.name.startswith("step ") and int(stuck.name[5:]) in left:
                left.remove(int(stuck.name[5:]))
                case.stuck.append(int(stuck.name[5:]))
            elif stuck.name == "Triton" and triton:
                triton = False
            else:
                break
            continue
        break
    return case


def note(case: Case, event: dict) -> None:
    kind, name = event["event"], event.get("name", "")
    if kind == "checked" and not event["ok"]:
        case.failed.append(f"{name}: wrong result, beyond the tolerance by {event['excess']:.3g}")
    elif kind == "chosen":
        case.notes.append(f"{name}: {event['config']}")
    elif kind == "skipped" and not name.startswith("step"):
        case.notes.append(f"{name} left out: {event['reason']}")
    elif kind == "result":
        base = event["times"]["cuBLAS"]
        for contestant, times in event["times"].items():
            case.ms[contestant] = statistics.median(times)
            case.ratio[contestant] = statistics.median(b / t for b, t in zip(base, times, strict=True))


# -- results ---------------------------------------------------------------------------------------------------------


def versions() -> str:
    """GPU, driver and libraries, in one line."""
    script = (
        "import torch, importlib.metadata as m; v = lambda n: m.version(n) if n in {d.name for d in m.distributions()} "
        "else 'none'; print(torch.cuda.get_device_name(), '| torch', torch.__version__, '| CUDA', torch.version.cuda, "
        "'| cuBLAS', torch.backends.cuda.preferred_blas_library(), '| triton', v('triton'))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True)
    number = driver.stdout.splitlines()[0] if driver.stdout else "unknown"
    return f"{date.today().isoformat()} | {answer.stdout.strip()} | driver {number}"


def contestants(cases: Sequence[Case]) -> list[str]:
    names = {name for case in cases for name in case.ms}
    steps = sorted((n for n in names if n.startswith("step ")), key=lambda n: int(n[5:]))
    return [name for name in PEERS if name in names] + steps


def table(cases: Sequence[Case]) -> str:
    """A Markdown table: TFLOPS, and beside it the ratio to cuBLAS."""
    names = contestants(cases)
    lines = ["| M × N × K | dtype | " + " | ".join(names) + " |", "| --- | --- |" + " --- |" * len(names)]
    for case in cases:
        cells = [
            (f"{case.tflops(n):.0f}" + (f" ({case.ratio[n]:.3f}×)" if n != "cuBLAS" else "")) if n in case.ms else "–"
            for n in names
        ]
        lines.append(f"| {' × '.join(map(str, case.shape))} | {case.dtype} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_results(cases: Sequence[Case], folder: Path, gpu: GpuSpec) -> None:
    """A table and a chart, named after the GPU."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = gpu.name.lower()
    with (folder / f"{stem}.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["M", "N", "K", "dtype", "kernel", "ms", "tflops", "ratio_to_cublas"])
        for case in cases:
            for name, ms in case.ms.items():
                out.writerow(
                    [*case.shape, case.dtype, name, f"{ms:.6f}", f"{case.tflops(name):.1f}", f"{case.ratio[name]:.4f}"]
                )
    title = f"The {'Hopper ladder on an' if stem.startswith('h') else 'Blackwell ladder on a'} {gpu.name}, float16"
    chart = chart_of_table(folder / f"{stem}.csv", title)
    (folder / f"{stem}.svg").write_text(chart, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=step_list, default=None, metavar="LIST")
    parser.add_argument("--shapes", type=parse_shapes, default=None, metavar="LIST", help="as in 4096,4096x14336x4096")
    parser.add_argument("--dtypes", type=lambda text: tuple(text.split(",")), default=DTYPES, metavar="LIST")
    parser.add_argument("--kernels", type=Path, default=ROOT / "kernels_ref", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--check", action="store_true", help="compare results only, at uneven shapes too, of all steps")
    parser.add_argument("--no-triton", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", metavar="FOLDER", help="for the table and the chart")
    parser.add_argument("--limit", type=float, default=180, help="seconds for one shape")
    parser.add_argument("--silence", type=float, default=60, help="seconds without an answer that count as a hang")
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1), help="compilers at a time")
    options = parser.parse_args()
    options.steps = options.steps or (tuple(STEPS) if options.check else steps_from(3))
    shapes = options.shapes or (
        (*STEPS[1].shapes, *STEPS[2].shapes, *UNEVEN, *SQUARES) if options.check else (*SQUARES, *LLM)
    )
    gpu = this_gpu()
    print(versions(), flush=True)
    begin = time.monotonic()
    complaints = build_all(options.steps, shapes, options.dtypes, options.kernels, options.jobs, gpu)
    print(f"compiled in {time.monotonic() - begin:.0f} s", *complaints, sep="\n", flush=True)
    cases: list[Case] = []
    for dtype in options.dtypes:
        for shape in shapes:
            hung = {step for case in cases for step in case.stuck}  # again, it would cost as much again
            case = run_case(shape, dtype, [step for step in options.steps if step not in hung], options)
            cases.append(case)
            print(
                f"{shape_text(case.shape):>18} {dtype:8} {'; '.join(case.failed) or 'ok'}  {'; '.join(case.notes)}",
                flush=True,
            )
            if case.ms:
                print(
                    "   " + "  ".join(f"{n} {case.tflops(n):.0f} ({case.ratio[n]:.3f})" for n in contestants([case])),
                    flush=True,
                )
                write_results(cases, options.out, gpu)  # as we go: whatever stops this run, what is known is kept
    if not options.check:
        print(table(cases))
    return 1 if any(case.failed for case in cases) or complaints else 0


if __name__ == "__main__":
    sys.exit(command(main))
