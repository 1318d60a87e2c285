"""Does the simulator do what a Hopper chip does? Small kernels run on both, and what they write is compared.

    PYTHONPATH=. python benchmarks/conformance_h100.py --out results          # on a machine with an H100 or H200
    PYTHONPATH=. python benchmarks/conformance_h100.py --no-gpu               # simulate and compile only

Every byte of every argument has to be the same afterwards. Each case runs in a child process with a time limit, so that
one which hangs or faults costs seconds. Instructions that Hopper does not have are compiled for sm_100a.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance import CASES
from conformance.blackwell import BLACKWELL

import tirx_mini as tvm
from tirx_mini.ending import command
from tirx_mini.hardware import B200, H100
from tirx_mini.ir import Call, PrimFunc, walk
from tirx_mini.isa import TABLE
from tirx_mini.pool import in_order
from tirx_mini.runtime import Executable, KernelFault, KernelTimeout

GPU = "h100"
ARCH, NEXT_ARCH = H100.arch, B200.arch


@dataclass(frozen=True)
class Prepared:
    """A case up to its run on the chip. before, after: its arguments, and what the simulator made of them."""

    exe: Executable | None
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    instructions: tuple[str, ...]
    trouble: str = ""


@dataclass(frozen=True)
class Result:
    """A line of the table. outcome: "agree", "differ", "hang", "fault", "error" or "not run"."""

    family: str
    what: str
    outcome: str
    detail: str
    instructions: tuple[str, ...]
    seconds: float = 0.0


def prepare(index: int) -> Prepared:
    """Build, simulate and compile a case; whatever goes wrong is its trouble."""
    try:
        kernel, before = CASES[index].build()
        exe = tvm.compile(tvm.IRModule({"main": kernel}), target=f"cuda:{ARCH}")
        assert isinstance(exe, Executable)
        after = copied(before)
        report = tvm.simulate(kernel, *after, gpu=GPU)
        said = f"{report.verdict}: {report.findings[0].message}" if report.findings else report.verdict
        expected = "fault" if CASES[index].faults else "ok"
        trouble = "" if report.verdict == expected else f"the simulator says {said}"
        return Prepared(exe, before, after, instructions(exe.func), trouble)
    except Exception as error:  # one broken case must not end the run
        return Prepared(None, (), (), (), f"{type(error).__name__}: {first_line(error)}")


def copied(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)


def instructions(func: PrimFunc) -> tuple[str, ...]:
    """The instructions of the table that a lowered kernel executes."""
    return tuple(sorted({node.op for node in walk(func.body) if isinstance(node, Call)}))


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def measure(prepared: Prepared, faults: bool, limit_s: float) -> tuple[str, str]:
    """(outcome, detail) of the case on the chip. faults: whether both must fault."""
    if prepared.exe is None or prepared.trouble:
        return "error", prepared.trouble
    got = copied(prepared.before)
    try:
        prepared.exe.run_guarded(*got, limit_s=limit_s)
    except KernelTimeout:
        return "hang", f"not finished after {limit_s:g} s"
    except KernelFault as error:
        return ("agree", "both fault") if faults else ("fault", first_line(error))
    except Exception as error:
        return "error", f"{type(error).__name__}: {first_line(error)}"
    if faults:
        return "differ", "the chip does not fault"
    for param, chip, model in zip(prepared.exe.func.params, got, prepared.after, strict=True):
        if isinstance(chip, np.ndarray) and chip.tobytes() != model.tobytes():
            return "differ", difference(param.name, chip, model)
    return "agree", ""


def difference(name: str, chip: np.ndarray, model: np.ndarray) -> str:
    """How many elements differ, and the first of them."""
    size = chip.dtype.itemsize
    bits = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(-1, size) for a in (chip, model)]
    wrong = np.flatnonzero((bits[0] != bits[1]).any(1))
    index = tuple(int(i) for i in np.unravel_index(wrong[0], chip.shape))
    words = [row[wrong[0]][::-1].tobytes().hex() for row in bits]
    return (
        f"{len(wrong)} of {chip.size} elements of {name}; {name}{list(index)}: chip {chip[index]} (0x{words[0]}), "
        f"model {model[index]} (0x{words[1]})"
    )


def run(indices: Sequence[int], jobs: int, limit_s: float, on_gpu: bool) -> Iterator[Result]:
    """Each case in turn; other processes prepare ahead."""
    for index, prepared in zip(indices, in_order(prepare, indices, jobs=jobs), strict=True):
        case, start = CASES[index], time.perf_counter()
        if on_gpu or prepared.trouble:
            outcome, detail = measure(prepared, case.faults, limit_s)
        else:
            outcome, detail = "not run", "simulated and compiled"
        yield Result(
            case.family, case.what, outcome, detail, prepared.instructions, round(time.perf_counter() - start, 3)
        )


def compiled_only() -> Iterator[Result]:
    """The instructions of Blackwell, by the assembler's word."""
    for what, build in BLACKWELL.items():
        try:
            exe = tvm.compile(tvm.IRModule({"main": build()}), target=f"cuda:{NEXT_ARCH}")
            assert isinstance(exe, Executable)
            yield Result(NEXT_ARCH, what, "compiled", f"{len(exe.compiled.cubin):,} bytes", instructions(exe.func))
        except Exception as error:
            yield Result(NEXT_ARCH, what, "error", first_line(error), ())


# -- what is written about it ------------------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    """What the figures depend on."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout
        name, driver = (word.strip() for word in answer.splitlines()[0].split(","))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        name, driver = "none", "none"
    return {
        "date": datetime.date.today().isoformat(), "GPU": name, "driver": driver,
        "Python": platform.python_version(), "NVRTC": nvrtc_version(),
        **{package: metadata.version(package) for package in ("cuda-core", "cuda-bindings", "torch")},
    }  # fmt: skip


def nvrtc_version() -> str:
    from tirx_mini.runtime.toolchain import toolchain

    return toolchain().versions[0].removeprefix("nvrtc ")


INTRODUCTION = """\
Small kernels execute every instruction of the table that Hopper supports, on a chip and in the simulator. Afterwards,
every byte of every argument must be identical. The PTX ISA defines the words of mbarriers as opaque, so the results of
`test_wait` are compared instead. Matrix products use small integers, so that every sum is exact. Instructions that
Hopper does not support are compiled for sm_100a. `benchmarks/conformance_h100.py` generates this page."""


LESSONS_HEADING = "## Behaviour found on the chip"
LESSONS = (
    "A TMA box must begin at a multiple of 16 bytes in its row, even outside the tensor; otherwise an H100 faults.",
    "A TMA store or reduction must not begin before its tensor in any dimension; a load may.",
    "Conversions to float8 saturate, including infinities; floats become 8- and 16-bit integers via 32-bit integers.",
    "A sum of float32 that is exactly zero is negative where it is rounded down (.rm), unless both operands are +0.",
)
"""Rules that the PTX ISA leaves open or mentions only in passing, observed on an H100; cases below check them."""


def page(results: Sequence[Result], about: dict[str, str], seconds: float) -> str:
    """The table as a page of the documentation."""
    count = {
        outcome: sum(r.outcome == outcome for r in results) for outcome in dict.fromkeys(r.outcome for r in results)
    }
    lines = [
        "# Conformance: the simulator compared with a chip",
        "",
        INTRODUCTION,
        "",
        ", ".join(f"{key} {value}" for key, value in about.items()) + f"; {seconds:.0f} s.",
        "",
        "**" + ", ".join(f"{number} {outcome}" for outcome, number in count.items()) + "**",
        "",
        LESSONS_HEADING,
        "",
        *(f"- {lesson}" for lesson in LESSONS),
        "",
        "## Cases",
        "",
        "| area | case | outcome |",
        "| --- | --- | --- |",
        *(f"| {r.family} | {r.what} | {r.outcome}{f': {r.detail}' * bool(r.detail)} |" for r in results),
        "",
        "## Instructions",
        "",
        "| instruction | from | cases | outcome |",
        "| --- | --- | --- | --- |",
        *by_instruction(results),
    ]
    return "\n".join(lines) + "\n"


def by_instruction(results: Sequence[Result]) -> Iterator[str]:
    """A line of the table of instructions each: by how many cases it was executed, and what came of them."""
    for name, entry in TABLE.items():
        if not entry.ptx or entry.only_in_ptx:
            continue  # printf: no instruction, and nothing that it writes can be compared
        cases = [r for r in results if name in r.instructions]
        outcomes = ", ".join(dict.fromkeys(r.outcome for r in cases)) or "**no case**"
        yield f"| `{name}` | sm_{entry.min_sm} | {len(cases)} | {outcomes} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for conformance.md and conformance.json")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name has this text")
    parser.add_argument("--limit", type=float, default=5.0, metavar="S", help="seconds that a case may run on the GPU")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="processes that prepare cases")
    parser.add_argument("--no-gpu", action="store_true", help="simulate and compile only")
    options = parser.parse_args()
    start = time.perf_counter()
    indices = [i for i, case in enumerate(CASES) if options.only in case.name]
    results: list[Result] = []
    for result in run(indices, options.jobs, options.limit, not options.no_gpu):
        results.append(result)
        print(f"{result.outcome:8} {result.family}: {result.what}  {result.detail}", flush=True)
    if not options.only:
        results += compiled_only()
    text = page(results, machine(), time.perf_counter() - start)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "conformance.md").write_text(text)
        (options.out / "conformance.json").write_text(json.dumps([asdict(r) for r in results], indent=1))
    print(text[text.index("**") : text.index(LESSONS_HEADING)].strip())
    return int(any(r.outcome not in ("agree", "compiled", "not run") for r in results))


if __name__ == "__main__":
    sys.exit(command(main))
