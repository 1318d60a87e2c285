"""The command line of `run_modal.py`, as runs in the cloud. All that can be wrong with it is found here, at no cost."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from .machines import GPUS

SILENCE_S = 45
"""Seconds without output after which a run counts as hung and is ended. A kernel that hangs in a test is ended sooner,
by the watchdog of `tirx_mini.runtime`."""
EXPLAIN_S = 20
"""Seconds that the simulator may take on a machine with a GPU to say why a kernel hung there."""
SQUARES = "1024,2048,4096,8192"


class BadInput(Exception):
    """What the user should write otherwise, in one sentence."""


@dataclass(frozen=True)
class Job:
    """A run in the cloud: the arguments of `events`. gpu: of `GPUS`; "" for a machine without one."""

    arguments: Sequence[str]
    files: Mapping[str, bytes]
    gpu: str = ""
    results: Sequence[str] = ()
    limit_s: float = 300
    silence_s: float = SILENCE_S


@dataclass(frozen=True)
class Plan:
    """Jobs in their order; one that fails is the last.

    note: for the user. incomplete: whether steps that were asked for are not in the jobs. out: the folder for files
    that come back. wait_s: seconds to wait for a free machine.
    """

    jobs: Sequence[Job]
    note: str
    incomplete: bool
    out: Path
    wait_s: float


def plan(arguments: Sequence[str], kit: Path, description: str) -> Plan:
    """What a command line asks for. kit: the folder of the kit here. Raises `BadInput`; --help ends the program."""
    options = _parser(description).parse_args(arguments)
    student = GPUS[options.gpu].student_file
    size = [] if options.size is None else [str(options.size)]
    note, incomplete = "", False
    if options.step is not None and (options.inspect is not None or options.check or options.grade):
        raise BadInput("--step stands alone or with --bench: leave it out")
    if options.inspect is not None:
        jobs = [_inspection(options, kit, student, size)]
    elif options.check:
        jobs = _checks(options.check, options.gpu, size)
    elif options.grade:
        if not (kit / "grade.py").is_file():
            raise BadInput("grade.py is not in this checkout: update it")
        name = options.grade.name
        command = ["{kit}/grade.py", name, "--target", "cuda", "--json", "results.json"]
        jobs = [Job(command, {name: _content(options.grade)}, options.gpu, ["results.json"], 900, 120)]
    else:
        files = _student_files(kit, student)
        steps, left = _steps(options.step, kit, student, first=3 if options.bench else 1)
        if left:
            note, incomplete = f"not written yet in {student}, and left out: {_named(left)}", not options.bench
        bench = _bench(steps, files, options.gpu, size)
        jobs = [bench if options.bench else _tests(steps, files, options.gpu)]
    return Plan(jobs, note, incomplete, options.out, options.wait * 60)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}: see `python run_modal.py --help`")


def _parser(description: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="modal run run_modal.py", description=description, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--inspect", type=int, metavar="N", help="show what step N becomes; needs no GPU")
    what.add_argument(
        "--check", metavar="FILE:KERNEL", help="simulate a kernel; if that finds nothing, run it on a GPU"
    )
    what.add_argument("--bench", action="store_true", help="measure your steps from 3 on beside cuBLAS")
    what.add_argument("--grade", type=Path, metavar="FILE", help="grade a handin.tar or a kernel file on a GPU")
    parser.add_argument("--step", metavar="LIST", help="as in 3 or 1,3,5 or 4-6 (default: all that are written)")
    parser.add_argument("--gpu", choices=GPUS, default="B200", type=str.upper, help="the kind of GPU (default: B200)")
    parser.add_argument("--size", type=int, metavar="N", help="M = N = K, with --inspect, --check or --bench")
    parser.add_argument("--stage", default="cuda", help="with --inspect: one of tir, passes, cuda, ptx and sass")
    parser.add_argument("--comments", action=argparse.BooleanOptionalAction, default=True, help="with --inspect")
    parser.add_argument("--out", type=Path, default=Path("build/cloud"), metavar="FOLDER", help="for files that return")
    parser.add_argument("--wait", type=float, default=10, metavar="MINUTES", help="for a free GPU (default: 10)")
    return parser


def _inspection(options: argparse.Namespace, kit: Path, student: str, size: Sequence[str]) -> Job:
    _known([options.inspect], kit)
    comments = "--comments" if options.comments else "--no-comments"
    command = ["-m", "tirx_mini", "inspect", str(options.inspect), *size, "--stage", options.stage, comments]
    hopper = ["--arch", "sm_90a", "--kernels", student] if _is_hopper(student) else []
    return Job([*command, *hopper], _student_files(kit, student))


def _checks(text: str, gpu: str, size: Sequence[str]) -> list[Job]:
    """The simulator on a machine without a GPU, then the kernel on a GPU."""
    path, colon, name = text.rpartition(":")
    file, kernel = (Path(path), f":{name}") if colon and name.isidentifier() and len(path) > 1 else (Path(text), "")
    files = {file.name: _content(file)}
    which = [f"{file.name}{kernel}", *(["--size", *size] if size else [])]
    return [
        Job(["-m", "tirx_mini", "check", *which, "--gpu", gpu.lower()], files, silence_s=240),
        Job(["{kit}/benchmarks/run_once.py", *which, "--explain", str(EXPLAIN_S)], files, gpu),
    ]


def _tests(steps: Sequence[int], files: Mapping[str, bytes], gpu: str) -> Job:
    command = ["-m", "pytest", "-v", "-c", "{kit}/pyproject.toml", "--rootdir", "{kit}", "-p", "no:cacheprovider"]
    command += ["--target", "cuda", "--kernels", GPUS[gpu].student_file, "--explain", str(EXPLAIN_S)]
    tests = [f"{{kit}}/tests/test_step{step:02}.py" for step in steps]
    return Job([*command, *tests], files, gpu, limit_s=min(1500, 180 + 120 * len(steps)))


def _bench(steps: Sequence[int], files: Mapping[str, bytes], gpu: str, size: Sequence[str]) -> Job:
    command = ["{kit}/benchmarks/ladder.py", "--kernels", GPUS[gpu].student_file, "--steps", ",".join(map(str, steps))]
    command += ["--shapes", size[0] if size else SQUARES, "--dtypes", "float16", "--rounds", "10"]
    command += ["--no-triton", "--silence", "30", "--out", "."]
    return Job(command, files, gpu, ["*.csv", "*.svg"], limit_s=900, silence_s=120)


# -- files and steps ---------------------------------------------------------------------------------------------------


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise BadInput(f"{path} does not exist: name a file as it is seen from {Path.cwd()}")
    return path.read_bytes()


def _student_files(kit: Path, student: str) -> dict[str, bytes]:
    """The student's files by name, `student` first."""
    if not (kit / student).is_file():
        raise BadInput(f"{student} is missing in {kit}: put your kernels there, beside run_modal.py")
    names = sorted((path.name for path in kit.glob("gemm_kernels*.py")), key=lambda name: (name != student, name))
    return {name: (kit / name).read_bytes() for name in names}


def _known(steps: Sequence[int], kit: Path) -> list[int]:
    """All steps. Raises `BadInput` if one of `steps` is not among them."""
    known = sorted(int(path.stem.removeprefix("test_step")) for path in (kit / "tests").glob("test_step[0-9]*.py"))
    for step in steps:
        if step not in known:
            raise BadInput(f"there is no step {step}: write a number from {known[0]} to {known[-1]}")
    return known


def _steps(text: str | None, kit: Path, student: str, first: int) -> tuple[list[int], list[int]]:
    """The written steps that a list means, or all from `first` on if it is None; then those that are not written."""
    asked = [step for step in _known([], kit) if step >= first]
    if text is not None:
        if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
            raise BadInput(f"--step {text} is not a list of steps: write for example --step 3 or --step 1,3,5")
        ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
        _known([end for ends in ranges for end in ends], kit)
        asked = sorted({step for ends in ranges for step in range(ends[0], ends[-1] + 1)})
    todos = _unwritten(kit / student)
    left = [step for step in asked if step in todos]
    if left and (text is not None or left == asked):
        number, line = todos[left[0]]
        hint = f"python -m tirx_mini hint {left[0]}" + (f" --kernels {student}" if _is_hopper(student) else "")
        raise BadInput(
            f"step {left[0]} of {student} is not written yet, {number} TODO{'s are' if number > 1 else ' is'} left, "
            f"the first in line {line}: for a hint, run `{hint}`"
        )
    return [step for step in asked if step not in left], left


def _unwritten(path: Path) -> dict[int, tuple[int, int]]:
    """For each step that is not written, the number of its open TODOs and the line of the first.

    Empty where tirx_mini is not installed; its tests say the same in the cloud.
    """
    try:
        from tirx_mini.course import todos_in
    except ImportError:
        return {}
    todos = todos_in(path.read_text(encoding="utf-8", errors="replace"))
    found = {step: [todo for todo in items if todo.open] for step, items in todos.items()}
    return {step: (len(items), items[0].line) for step, items in found.items() if items}


def _named(steps: Sequence[int]) -> str:
    return f"step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def _is_hopper(student: str) -> bool:
    return student == GPUS["H100"].student_file
