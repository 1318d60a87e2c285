"""``python -m tirx_mini inspect STEP``: what a step's kernel becomes. No GPU is needed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tirx_mini.course import (
    DTYPES,
    STAGES,
    STEPS,
    KernelFileError,
    LaunchedFiles,
    Shape,
    StageOptions,
    Step,
    default_kernels,
    launched_with,
    load_kernels,
    stage_text,
    step_range,
    student_file,
)
from tirx_mini.files import output_file
from tirx_mini.foreign import frontend, resolve
from tirx_mini.hardware import DEFAULT_ARCH, architecture_of
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import PIPELINE
from tirx_mini.runtime import ToolchainError, known_arch

from . import inspect_file
from .arguments import positive
from .stage_output import show_text

DEFAULT_SIZE = 1024
_FILES = ("-o", "--output", "--kernels")
"""The options whose values are files."""
DESCRIPTION = """\
A step's kernel as IR, CUDA C++, PTX or machine code. No GPU is needed.

    {prog} 7                         step 7 of {student} at size 1024, as CUDA C++
    {prog} 9 2048 --stage sass       the machine code and the counts of its instructions
    {prog} 7 --stage passes --diff   the changes that each pass of the lowering makes
    {prog} 7 --quotes                the same with the kernel's lines above what they became
    {prog} 7 | grep mbarrier_init
    {prog} 11 --stage nv_tileas      lesson 11: the tile program of a GEMM; `{prog} 11 --help`

    {prog} 7 --reference             the reference of step 7
    {prog} kernel.cu:reduce          a kernel of CUDA C++ or PTX; `{prog} kernel.cu --help`

A step that is not written yet is not shown.
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m tirx_mini inspect") -> int:
    """Show the kernel; the exit status is 0, 1 for a kernel that cannot be shown at the stage, and 2 for bad input.

    prog: the command name for messages.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    guest = frontend(lambda each: given[:1] and given[0] in each.lessons)
    if guest is not None and int(given[0]) not in STEPS:
        return resolve(guest.lessons[given[0]])(given[1:], f"{prog} {given[0]}")
    if (programs := _programs(given)) is not None:
        return inspect_file.main(programs, given, prog)
    options = _parser(prog).parse_args(given)
    if options.list_passes:
        text = "".join(f"{p.name:<24}{p.doc}\n" for p in PIPELINE)
    elif options.step is None:
        print(f"error: which step? Write for example: {prog} 7", file=sys.stderr)
        return 2
    else:
        shown = StageOptions(options.arch, options.comments, options.quotes, options.diff)
        try:
            text = stage_text(_kernel(options), options.stage, shown)
        except (KernelFileError, TirxError, ToolchainError, ValueError) as error:
            print(error if isinstance(error, TirxError) else f"error: {error}", file=sys.stderr)
            return 1 if isinstance(error, (TirxError, ToolchainError)) else 2
    show_text(text, options.output)
    return 0


def _programs(given: Sequence[str]) -> LaunchedFiles | None:
    """Return the front end of the file that the command line names, or None if it names none."""
    arguments = (each for before, each in zip(("", *given), given, strict=False) if before not in _FILES)
    return next((found for each in arguments if (found := launched_with(each)) is not None), None)


def _parser(prog: str) -> argparse.ArgumentParser:
    student = architecture_of(DEFAULT_ARCH).student_file
    parser = argparse.ArgumentParser(
        prog=prog,
        description=DESCRIPTION.format(prog=prog, student=student),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", type=int, nargs="?", choices=STEPS, metavar="STEP", help=step_range())
    parser.add_argument(
        "size", type=positive, nargs="?", metavar="SIZE", help=f"M = N = K (default: {DEFAULT_SIZE}); of step 2 only K"
    )
    parser.add_argument("--kernels", type=Path, metavar="PATH", help=f"kernel file or folder (default: {student})")
    parser.add_argument("--reference", action="store_true", help="the reference of the step, not your kernel")
    parser.add_argument("--dtype", default="float16", choices=sorted(DTYPES), help="the type of A, B and D")
    parser.add_argument(
        "--arch",
        help="as in sm_90a, which selects Hopper's ladder, too "
        f"(default: that of this machine's GPU, else {DEFAULT_ARCH})",
    )
    parser.add_argument("--stage", default="cuda", choices=STAGES, help="the stage to show (default: cuda)")
    parser.add_argument(
        "--comments",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="explain descriptors, roles and shared memory at the ends of their lines in the CUDA C++ (default: on)",
    )
    parser.add_argument("--quotes", action="store_true", help="quote the kernel's lines in the CUDA C++")
    parser.add_argument("--diff", action="store_true", help="with --stage passes: only the changes of each pass")
    parser.add_argument("--list-passes", action="store_true", help="list the passes of the lowering, and nothing else")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="write to FILE")
    return parser


def _kernel(options: argparse.Namespace) -> PrimFunc:
    """Return the step's kernel: the student's, or the reference on request.

    Raises `KernelFileError` for a step that is not written, and for two sources of the kernel.
    """
    if options.reference and options.kernels is not None:
        raise KernelFileError("--reference shows the reference: leave out --kernels")
    if options.reference:
        return _build(default_kernels(), options)
    kernels: Path = options.kernels or student_file(_arch(options))
    try:
        return _build(kernels, options)
    except TirxError as error:
        if options.kernels is not None or error.kind != "todo":
            raise
        raise KernelFileError(
            f"step {options.step} of {kernels.name} is not written yet; --reference shows the reference"
        ) from None


def _build(kernels: Path, options: argparse.Namespace) -> PrimFunc:
    found = load_kernels(kernels, architecture_of(_arch(options)).kernels)
    if options.step not in found:
        raise KernelFileError(f"{kernels} defines no hgemm_v{options.step}")
    return found[options.step](*_shape(STEPS[options.step], options.size), dtype=options.dtype)


def _arch(options: argparse.Namespace) -> str:
    """Return the architecture whose ladder is shown. Raises `ValueError` for one that NVRTC does not support."""
    return DEFAULT_ARCH if options.arch is None else known_arch(options.arch)


def _shape(step: Step, size: int | None) -> Shape:
    """Return the shape of the kernel; raises `ValueError` for a size if the step allows no choice."""
    if size is not None and not step.free:
        m, n, k = step.shape(size)
        raise ValueError(f"step {step.number} takes no size: it is one tile, M = {m}, N = {n} and K = {k}")
    return step.shape(DEFAULT_SIZE if size is None else size)
