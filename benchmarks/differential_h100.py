"""Does a Hopper chip compute what the simulator computes? Every right kernel of the tests runs on both.

    python benchmarks/differential_h100.py --collect build/differential [TESTS…]        # on any machine: minutes
    PYTHONPATH=. python benchmarks/differential_h100.py --run build/differential --out results   # with an H100 or H200

The first command runs tests with pytest. It keeps each kernel that is simulated with data, ends as "ok", and has only
instructions of Hopper: the lowered kernel, its arguments, and what the simulator made of them. The second launches
each kernel on the same arguments and compares every byte. A kernel whose bytes differ is listed with the reason, which
`EXPLAINED` gives; the exit status is 1 where a difference has none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance_h100 import copied, difference, first_line, machine

from tirx_mini.codegen import cuda_source
from tirx_mini.hardware import H100
from tirx_mini.ir import Buffer, Call, PrimFunc, TirxError
from tirx_mini.isa import TABLE, Completion, for_target
from tirx_mini.runtime import Executable, KernelFault, KernelTimeout, build
from tirx_mini.sim import Question

ROOT = Path(__file__).parents[1]
TESTS = ("tests/tirx_mini", "tests/kernels_ref", "tests/lessons")
SHIPPED = frozenset(TABLE)
"""The instructions of the package, without those that a test adds."""
MOST_BYTES = 4 << 20
"""Of the arguments of one kernel: larger launches are those of small ones, again."""


@dataclass(frozen=True)
class Kept:
    """A kernel that was simulated. test: the first that did. before, after: its arguments, and the simulator's."""

    test: str
    func: PrimFunc
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    @property
    def key(self) -> str:
        """The same for kernels and arguments that are the same."""
        digest = hashlib.sha256(self.func.script().encode())
        for arg in self.before:
            digest.update(arg.tobytes() if isinstance(arg, np.ndarray) else repr(arg).encode())
        return digest.hexdigest()[:20]


# -- collecting --------------------------------------------------------------------------------------------------------


class Collector:
    """A plugin of pytest that keeps kernels in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._test = ""

    def pytest_runtest_setup(self, item: Any) -> None:
        self._test = item.nodeid

    def watched(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """`driver.answering.answer`, whose right kernels are kept."""

        def observed(func: PrimFunc, args: Sequence[Any], question: Question) -> Any:
            before = [as_array(arg) for arg in args]
            kept = self._of_hopper(func, before) if question.data and question.checks else None
            report = answer(func, args, question)
            right = report.verdict == "ok" and not any(each.severity == "warning" for each in report.findings)
            if kept is not None and right and not question.functions:
                self._keep(Kept(self._test, kept, tuple(before), tuple(as_array(arg) for arg in args)))
            return report

        return observed

    def _of_hopper(self, func: PrimFunc, before: Sequence[Any]) -> PrimFunc | None:
        nbytes = sum(arg.nbytes for arg in before if isinstance(arg, np.ndarray))
        if func.launch is None or nbytes > MOST_BYTES or not all(map(_can_be_given, before)):
            return None
        try:
            lowered = for_target(func, H100.arch)
            cuda_source(lowered, H100.arch)  # a kernel that was read from PTX has no text
        except TirxError:
            return None
        known = all(node.op in SHIPPED for node in lowered.nodes if isinstance(node, Call))
        return lowered if known else None

    def _keep(self, kept: Kept) -> None:
        path = self._folder / f"{kept.key}.pickle"
        if not path.exists():
            path.write_bytes(zlib.compress(pickle.dumps(kept)))


def _can_be_given(arg: Any) -> bool:
    """Return whether the other process can launch with such an argument: a number, or an array whose type torch has."""
    if isinstance(arg, np.ndarray):
        return not arg.dtype.name.startswith(("float6", "float4"))
    return isinstance(arg, (bool, int, float, np.generic))


def as_array(arg: Any) -> Any:
    """A copy of an argument, as NumPy has it; a tensor of bfloat16 or float8 by its bytes' type."""
    if isinstance(arg, np.ndarray):
        return arg.copy()
    if hasattr(arg, "detach"):
        tensor = arg.detach().cpu().contiguous()
        try:
            return tensor.numpy().copy()
        except TypeError:
            import ml_dtypes
            import torch

            name = str(tensor.dtype).removeprefix("torch.")
            width = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
            return tensor.view(width).numpy().copy().view(np.dtype(getattr(ml_dtypes, name)))
    return arg


def collect(folder: Path, tests: Sequence[str]) -> int:
    """Run tests, and keep what they simulate."""
    import pytest

    from tirx_mini.driver import answering, simulating

    folder.mkdir(parents=True, exist_ok=True)
    collector = Collector(folder)
    answering.answer = simulating.answer = collector.watched(answering.answer)
    os.chdir(ROOT)
    options = ["-q", "-p", "no:cacheprovider", "--kernels=kernels_ref", "-m", "not gpu"]
    pytest.main([*options, *(tests or TESTS)], plugins=[collector])
    print(f"{len(list(folder.glob('*.pickle')))} kernels in {folder}")
    return 0


# -- running -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """A line of the table. outcome: "equal", "differs", "hang", "fault" or "error". why: a difference is right."""

    name: str
    test: str
    outcome: str
    detail: str = ""
    why: str = ""


@dataclass(frozen=True)
class Prepared:
    name: str
    kept: Kept
    exe: Executable | None
    trouble: str = ""


def prepare(path: Path) -> Prepared:
    """Read a kernel and compile it."""
    kept: Kept = pickle.loads(zlib.decompress(path.read_bytes()))
    try:
        return Prepared(path.stem, kept, build(kept.func, H100.arch))
    except Exception as error:  # one broken kernel must not end the run
        return Prepared(path.stem, kept, None, f"{type(error).__name__}: {first_line(error)}")


def measured(prepared: Prepared, limit_s: float) -> Result:
    """Launch a kernel, and compare what it wrote with what the simulator did."""
    kept, exe = prepared.kept, prepared.exe
    if exe is None:
        return Result(prepared.name, kept.test, "error", prepared.trouble)
    got = copied(kept.before)
    try:
        exe.run_guarded(*got, limit_s=limit_s)
    except KernelTimeout:
        return Result(prepared.name, kept.test, "hang", f"not finished after {limit_s:g} s")
    except KernelFault as error:
        return Result(prepared.name, kept.test, "fault", first_line(error))
    except Exception as error:
        return Result(prepared.name, kept.test, "error", f"{type(error).__name__}: {first_line(error)}")
    for param, chip, model in zip(exe.func.params, got, kept.after, strict=True):
        if isinstance(param, Buffer) and chip.tobytes() != model.tobytes():
            detail = difference(param.name, chip, model)
            return Result(prepared.name, kept.test, "differs", detail, explanation(exe, chip, model))
    return Result(prepared.name, kept.test, "equal")


def explanation(exe: Executable, chip: np.ndarray, model: np.ndarray) -> str:
    """Why the chip may compute something else; "" where it may not."""
    calls = [node for node in exe.func.nodes if isinstance(node, Call)]
    ops = {call.op for call in calls}
    why = next((why for why, applies in EXPLAINED.items() if applies(ops, chip, model)), "")
    if not why and any(call.attr("sem") in _RACES_BY_RIGHT for call in calls):
        return MOMENTS
    if not why and exe.source("ptx").count("wgmma.mma_async") > exe.source("sass").count("GMMA."):
        return MERGED
    return why


def _sums(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    product = any(TABLE[op].completion is Completion.WGMMA_GROUP or op.startswith("mma.") for op in ops)
    return product and _close(chip, model, 2**-7 if chip.dtype == ml_dtypes.bfloat16 else 2**-9)


def _fused(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    unit = 2**-7 if chip.dtype == ml_dtypes.bfloat16 else 2**-10 if chip.dtype.itemsize == 2 else 2**-20
    return chip.dtype.kind not in "iub" and _close(chip, model, unit)


def _by_order(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    return chip.dtype.kind in "iu" and any(op.startswith(("atom", "atomic", "red")) for op in ops)


def _moments(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    return any("test_wait" in op for op in ops)


def _addresses(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    """CUDA reserves the first 1024 bytes of shared memory."""
    values = zip(chip.reshape(-1).tolist(), model.reshape(-1).tolist(), strict=True)
    return {a - b for a, b in values} <= {0, _RESERVED_SHARED}


_RESERVED_SHARED = 1024


def _functions(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    return any(".approx" in op or op in _APPROXIMATE for op in ops) and _close(chip, model, 2**-9)


def _library(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    return any(TABLE[op].cuda is not None and TABLE[op].computes for op in ops) and _close(chip, model, 2**-20)


def _close(chip: np.ndarray, model: np.ndarray, relative: float) -> bool:
    """Return whether all elements are, the largest of the array being the measure."""
    if chip.dtype.kind in "iub":
        return False
    one, other = (np.nan_to_num(array.astype(np.float64)) for array in (chip, model))
    return bool(np.abs(one - other).max() <= relative * max(1e-30, np.abs(other).max()))


def _nan_bits(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    if chip.dtype.kind in "iub":  # registers as numbers, whose type the array does not say
        kinds = (np.float16, np.dtype(ml_dtypes.bfloat16), np.float32, np.float64)
        return any(
            _same_numbers(chip.view(kind).astype(np.float64), model.view(kind).astype(np.float64))
            for kind in kinds
            if np.dtype(kind).itemsize <= chip.dtype.itemsize
        )
    one, other = (array.astype(np.float64) for array in (chip, model))
    return _same_numbers(one, other)


def _same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether arrays are equal, including the signs of zeros and ignoring the bits of NaNs."""
    signs = [np.signbit(array) | np.isnan(array) for array in (one, other)]
    return np.array_equal(one, other, equal_nan=True) and np.array_equal(signs[0], signs[1])


def _clocks(ops: set[str], chip: np.ndarray, model: np.ndarray) -> bool:
    return any(TABLE[op].reads_clock for op in ops)


_RACES_BY_RIGHT = ("relaxed", "acquire", "volatile")
MOMENTS = "a test of a barrier, or a load that others' stores race with by right, sees another moment"
_APPROXIMATE = ("ex2.approx.f32", "exp", "exp2", "log", "tanh")
EXPLAINED: Mapping[str, Callable[[set[str], np.ndarray, np.ndarray], bool]] = {
    "the tensor core rounds float32 sums in its own way": _sums,
    "an approximate function has the error that the PTX ISA allows": _functions,
    "a function of CUDA's math library has the error that its table of errors allows": _library,
    "the kernel reads the clock": _clocks,
    "NVRTC fuses a multiplication with an addition, or atomic additions take another order": _fused,
    "the results of atomics say in which order they were executed": _by_order,
    "the results are addresses in shared memory": _addresses,
    MOMENTS: _moments,
    "a NaN has other bits, which the PTX ISA leaves open": _nan_bits,
}
"""The reasons for differences, with what applies them."""
MERGED = "ptxas merges an MMA with an equal one before it, of the same descriptors and accumulator, into one"
"""Seen with NVRTC 13.0: two `wgmma.mma_async` in a row that add the same product become one HGMMA."""


def run(folder: Path, jobs: int, limit_s: float, only: str) -> Iterator[Result]:
    """Each kernel in turn; other processes compile ahead."""
    paths = sorted(folder.glob("*.pickle"))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for prepared in pool.map(prepare, paths, chunksize=4):
            if only in prepared.kept.test:
                yield measured(prepared, limit_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collect", type=Path, metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, help="folder for differential.json")
    parser.add_argument("--only", default="", metavar="TEXT", help="only kernels of tests whose names have this text")
    parser.add_argument("--limit", type=float, default=5.0, metavar="S", help="seconds that a kernel may run")
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1), help="processes that compile")
    parser.add_argument("tests", nargs="*", help=f"tests to collect from; by default {' '.join(TESTS)}")
    options = parser.parse_args()
    if options.collect:
        return collect(options.collect, options.tests)
    if not options.run:
        parser.error("say --collect or --run")
    start, results = time.perf_counter(), []
    for result in run(options.run, options.jobs, options.limit, options.only):
        results.append(result)
        if result.outcome != "equal":
            print(f"{result.outcome:8} {result.test}: {result.detail}  {result.why}", flush=True)
    counts = Counter(f"{each.outcome}{f' ({each.why})' if each.why else ''}" for each in results)
    print("; ".join(f"{number} {outcome}" for outcome, number in counts.most_common()))
    print(f"{len(results)} kernels in {time.perf_counter() - start:.0f} s; {machine()}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "differential.json").write_text(json.dumps([asdict(each) for each in results], indent=1))
    return int(any(each.outcome != "equal" and not each.why for each in results))


if __name__ == "__main__":
    sys.exit(main())
