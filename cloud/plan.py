"""The command line of `run_modal.py`, as runs in the cloud. All that can be wrong with it is found here, at no cost."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from .machines import GPUS, named

SILENCE_S = 45
"""Seconds without output after which a run counts as hung and is ended. A kernel that hangs in a test is ended sooner,
by the watchdog of `tirx_mini.runtime`."""
EXPLAIN_S = 20
"""Seconds that the simulator may take on a machine with a GPU to say why a kernel hung there."""
GRADE_SILENCE_S = 240
"""The same for the grader, which prints a line for each step. One step may take minutes, if its kernel hangs."""
SQUARES = "1024,2048,4096,8192"
STAGES = ("tir", "passes", "cuda", "ptx", "sass")
"""The stages that `inspect --stage` accepts."""
MOST_SIZE = 65_536
SMALLEST_TILE = 64
"""No kernel of the ladder divides a dimension into less: a row of shared memory has 128 bytes."""
MOST_WAIT = 24 * 60
"""Minutes."""
MOST_BYTES = 64 << 20
"""Of a file that travels, as of a hand-in."""


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
    _check_together(options)
    student = GPUS[options.gpu].student_file
    size = [] if options.size is None else [str(options.size)]
    note, incomplete = "", False
    if options.inspect is not None:
        jobs = [_inspection(options, kit, student, size)]
    elif options.check is not None:
        jobs = _checks(options.check, options.gpu, size)
    elif options.grade is not None:
        jobs = [_grading(options.grade, options.gpu, kit)]
    else:
        files = _student_files(kit, student)
        steps, left = _steps(options.step, kit, student, first=3 if options.bench else 1)
        if left:
            note, incomplete = f"not written yet in {student}, and left out: {_named(left)}", not options.bench
        bench = _bench(steps, files, options.gpu, size)
        jobs = [bench if options.bench else _tests(steps, files, options.gpu)]
    return Plan(jobs, note, incomplete, options.out, options.wait * 60)


def _check_together(options: argparse.Namespace) -> None:
    """Raises `BadInput` for options that do not go together, and for a folder that cannot be one."""
    inspect, check, grade = (value is not None for value in (options.inspect, options.check, options.grade))
    if options.step is not None and (inspect or check or grade):
        raise BadInput("--step stands alone or with --bench: leave it out")
    if options.size is not None and not (inspect or check or options.bench):
        raise BadInput("--size goes with --inspect, --check or --bench: tests and the grade have sizes of their own")
    if options.size is not None and not check and options.size % SMALLEST_TILE:
        raise BadInput(f"--size {options.size} is no multiple of {SMALLEST_TILE}, as each step needs: write another")
    if (options.stage is not None or options.comments is not None) and not inspect:
        raise BadInput("--stage and --comments go with --inspect: leave them out")
    if options.out.exists() and not options.out.is_dir():
        raise BadInput(f"--out {options.out} is a file: name a folder")


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
    what.add_argument("--inspect", type=_step, metavar="N", help="show what step N becomes; needs no GPU")
    what.add_argument(
        "--check", metavar="FILE:KERNEL", help="simulate a kernel; if that finds nothing, run it on a GPU"
    )
    what.add_argument("--bench", action="store_true", help="measure your steps from 3 on beside cuBLAS")
    what.add_argument("--grade", type=Path, metavar="FILE", help="grade a handin.tar or a kernel file on a GPU")
    parser.add_argument("--step", metavar="LIST", help="as in 3 or 1,3,5 or 4-6 (default: all that are written)")
    parser.add_argument(
        "--gpu", choices=GPUS, default="B200", type=named,
        help="the kind of GPU (default: B200); B200+ is a B200 or a B300, whichever is free",
    )  # fmt: skip
    parser.add_argument("--size", type=_size, metavar="N", help="M = N = K, with --inspect, --check or --bench")
    parser.add_argument("--stage", type=_stage, help=f"with --inspect: one of {', '.join(STAGES)} (default: cuda)")
    parser.add_argument("--comments", action=argparse.BooleanOptionalAction, help="with --inspect (default: on)")
    parser.add_argument(
        "--out", type=_folder, default=Path("build/cloud"), metavar="FOLDER", help="for files that return"
    )
    parser.add_argument("--wait", type=_wait, default=10, metavar="MINUTES", help="for a free GPU (default: 10)")
    return parser


# -- values: a bad one is `BadInput`, which argparse lets pass, as a sentence of its own -------------------------------


def _step(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text):
        raise BadInput(f"--inspect {text} is not a step: write a number, as in --inspect 7")
    return int(text)


def _size(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_SIZE:
        raise BadInput(f"--size {text} is not a size: write a whole number from 1 to {MOST_SIZE}, as in --size 2048")
    return int(text)


def _stage(text: str) -> str:
    if text not in STAGES:
        raise BadInput(f"there is no stage {text!r}: write {', '.join(STAGES[:-1])} or {STAGES[-1]}")
    return text


def _wait(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 < minutes <= MOST_WAIT:  # and not for nan
        raise BadInput(f"--wait {text} is no time to wait: write minutes, more than 0 and at most {MOST_WAIT}")
    return minutes


def _folder(text: str) -> Path:
    if not text.strip():
        raise BadInput("--out needs a folder: write its name, or leave it out")
    return Path(text)


# -- jobs --------------------------------------------------------------------------------------------------------------


def _inspection(options: argparse.Namespace, kit: Path, student: str, size: Sequence[str]) -> Job:
    _known([options.inspect], kit)
    files = _student_files(kit, student)
    if size and not _takes_a_size(options.inspect):
        raise BadInput(f"step {options.inspect} is one tile and takes no size: leave out --size")
    unwritten = _unwritten(kit / student)
    if _is_hopper(student):
        _refuse_unwritten(unwritten, options.inspect, student)
    comments = "--no-comments" if options.comments is False else "--comments"
    stage = options.stage or "cuda"
    command = ["-m", "tirx_mini", "inspect", str(options.inspect), *size, "--stage", stage, comments]
    if _is_hopper(student):
        command += ["--arch", "sm_90a", "--kernels", student]
    elif options.inspect in unwritten:  # the first run shows that everything works, before any step is written
        command.append("--reference")
    return Job(command, files)


def _grading(path: Path, gpu: str, kit: Path) -> Job:
    if not (kit / "grade.py").is_file():
        raise BadInput("grade.py is not in this checkout: update it")
    content, file = _content(path), _handed_in(path)
    if file and file != GPUS[gpu].student_file:
        fitting = [name for name, each in GPUS.items() if each.student_file == file]
        raise BadInput(f"{path} has {file}, which is not for a {gpu}: write --gpu {' or --gpu '.join(fitting)}")
    name = path.name if not path.name.startswith("-") else f"./{path.name}"
    command = ["{kit}/grade.py", name, "--target", "cuda", "--json", "results.json"]
    return Job(command, {path.name: content}, gpu, ["results.json"], 900, GRADE_SILENCE_S)


def _checks(text: str, gpu: str, size: Sequence[str]) -> list[Job]:
    """The simulator on a machine without a GPU, then the kernel on a GPU."""
    path, colon, name = text.rpartition(":")
    file, kernel = (Path(path), f":{name}") if colon and name.isidentifier() and len(path) > 1 else (Path(text), "")
    if not text.strip():
        raise BadInput("--check needs a kernel: write FILE:KERNEL, as in --check my.py:kernel")
    files = {file.name: _content(file)}
    if file.suffix != ".py":
        raise BadInput(f"{file} is not a Python file: write FILE.py:KERNEL")
    which = [f"{file.name}{kernel}", *(["--size", *size] if size else [])]
    return [
        Job(["-m", "tirx_mini", "check", *which, "--gpu", GPUS[gpu].model], files, silence_s=240),
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
    """Return the content of a file that the user names. Raises `BadInput` where it cannot be read."""
    if not (content := _bytes(path)):
        raise BadInput(f"{path} is empty: name the file of your kernels")
    return content


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise BadInput(f"{path} {problem}: name a file as it is seen from {Path.cwd()}")
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise BadInput(f"{path} has more than {MOST_BYTES >> 20} MiB: name the file of your kernels")
    return content


def _student_files(kit: Path, student: str) -> dict[str, bytes]:
    """The student's files by name, `student` first."""
    if not (kit / student).is_file():
        raise BadInput(f"{student} is missing in {kit}: put your kernels there, beside run_modal.py")
    found = [path.name for path in kit.glob("gemm_kernels*.py") if path.is_file()]
    return {name: _bytes(kit / name) for name in sorted(found, key=lambda name: (name != student, name))}


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
        if not re.fullmatch(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*", text):
            raise BadInput(f"--step {text} is not a list of steps: write for example --step 3 or --step 1,3,5")
        ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
        _known([end for ends in ranges for end in ends], kit)
        if backwards := [ends for ends in ranges if ends[0] > ends[-1]]:
            begin, end = backwards[0]
            raise BadInput(f"--step {text} has no step from {begin} to {end}: write {end}-{begin}")
        asked = sorted({step for ends in ranges for step in range(ends[0], ends[-1] + 1)})
        if asked[0] < first:
            raise BadInput(f"--bench measures steps from {first} on, which take any size: leave out step {asked[0]}")
    todos = _unwritten(kit / student)
    left = [step for step in asked if step in todos]
    if left and (text is not None or left == asked):
        _refuse_unwritten(todos, left[0], student)
    return [step for step in asked if step not in left], left


def _refuse_unwritten(todos: Mapping[int, tuple[int, int]], step: int, student: str) -> None:
    """Raises `BadInput` for a step of which TODOs are left. todos: as from `_unwritten`."""
    if step not in todos:
        return
    number, line = todos[step]
    hint = f"python -m tirx_mini hint {step}" + (f" --kernels {student}" if _is_hopper(student) else "")
    raise BadInput(
        f"step {step} of {student} is not written yet, {number} TODO{'s are' if number > 1 else ' is'} left, "
        f"the first in line {line}: for a hint, run `{hint}`"
    )


def _takes_a_size(step: int) -> bool:
    """Return whether a step leaves a dimension to choose. True where tirx_mini is not installed."""
    try:
        from tirx_mini.course import STEPS
    except ImportError:
        return True
    return bool(STEPS[step].free)


def _handed_in(path: Path) -> str:
    """The student's file that a hand-in has; "" where tirx_mini is not installed, or the grader will refuse it."""
    try:
        from tirx_mini.grading import HandInError, read_handin
    except ImportError:
        return path.name if path.name in {gpu.student_file for gpu in GPUS.values()} else ""
    try:
        return read_handin(path).file
    except HandInError:
        return ""


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
