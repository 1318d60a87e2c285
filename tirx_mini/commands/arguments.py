"""Arguments shared by several commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tirx_mini.course import LaunchText, Shape, gpu_of, parse_steps, parse_what_if
from tirx_mini.diagnose import BUDGET
from tirx_mini.files import output_file
from tirx_mini.hardware import DEFAULT_GPU, HOPPER

T = TypeVar("T")

INCOMPLETE = 3
"""The exit status for a kernel without errors that is not completely modelled."""
TERMINAL = Path("-")
"""The file argument for standard output; the command then prints other output to standard error."""


def argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return `parse` as an argparse type that reports the text of its `ValueError`."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def parse_positive(text: str) -> int:
    """Parse a number of at least 1. Raises `ValueError`."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a positive number")
    return int(text)


def file_or_terminal(text: str) -> Path:
    """Return `TERMINAL`, or a writable file. Raises `OutputError`."""
    return TERMINAL if text == str(TERMINAL) else output_file(text)


def parse_shape(text: str) -> Shape:
    """Parse `512,256,128` or `512x256x128` as (512, 256, 128). Raises `ValueError`."""
    parts = text.replace("x", ",").split(",")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"{text!r} is not a shape; write M,N,K as in 512,256,128")
    m, n, k = map(int, parts)
    return m, n, k


positive, shape, step_list = argument(parse_positive), argument(parse_shape), argument(parse_steps)
assignments = argument(parse_what_if)


def add_what_if(parser: argparse.ArgumentParser) -> None:
    """Add ``--what-if``: further runs, with other values of the kernel's constants."""
    parser.add_argument(
        "--what-if",
        type=assignments,
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="also say what changes with another value of a constant, as PIPE_DEPTH=4; PIPE_DEPTH=3,4 is two runs, and "
        "PIPE_DEPTH=4,EPI_N=32 one run with both; may be repeated",
    )


def add_no_fill(parser: argparse.ArgumentParser) -> None:
    """Add ``--no-fill``, which leaves open TODOs of a step open."""
    parser.add_argument(
        "--no-fill", action="store_false", dest="fill",
        help="refuse a step with open TODOs; by default the reference's code stands for them once one is filled in",
    )  # fmt: skip


def add_simulation_arguments(parser: argparse.ArgumentParser, by_file: bool = False) -> None:
    """Add the modelled GPU and the schedules: ``--gpu``, ``--sms``, ``--schedules``, ``--seed``, and ``--budget``.

    by_file: whether the kernel's file decides the default GPU (`gpu_of`); ``gpu`` is then None if it is not given.
    """
    other = f"; {gpu_of(Path(HOPPER.student_file))} for {HOPPER.student_file}" if by_file else ""
    parser.add_argument(
        "--gpu", default=None if by_file else DEFAULT_GPU, help=f"the GPU to model (default: {DEFAULT_GPU}{other})"
    )
    parser.add_argument(
        "--sms", type=positive, metavar="N", help="model only N of its SMs, and set the kernel's SM_COUNT to N"
    )
    parser.add_argument("--schedules", type=positive, default=1, metavar="N", help="how many orders of events to try")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first schedule; 0 is not random")
    parser.add_argument(
        "--budget", type=positive, default=BUDGET, metavar="N",
        help=f"iterations of loops that a run may make, all warps together; a CTA counts as 200 (default: {BUDGET:,})",
    )  # fmt: skip


def add_launch_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the launch of a kernel of PTX or CUDA C++: ``--args``, ``--grid``, ``--block``, …"""
    group = parser.add_argument_group("launches", "of kernels in files of PTX (.ptx) and CUDA C++ (.cu)")
    group.add_argument(
        "--args", default="", metavar="ARGS",
        help='arrays of random numbers, and numbers: "float16[512,512], zeros(int32[8]), 64"; for a tensor map '
        '"TensorMap(float16[512,512], box=(64,128), swizzle=128)"',
    )  # fmt: skip
    group.add_argument("--grid", default="", metavar="X,Y,Z", help="blocks along x, y and z")
    group.add_argument("--block", default="", metavar="X,Y,Z", help="threads of a block along x, y and z")
    group.add_argument("--cluster", default="", metavar="X,Y,Z", help="blocks of a cluster, if the kernel does not say")
    group.add_argument("--smem", type=positive, default=0, metavar="N", help="bytes of dynamic shared memory")
    group.add_argument("-D", "--define", action="append", default=[], metavar="NAME=VALUE", help="a macro of CUDA C++")
    group.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="a folder for #include")
    group.add_argument("--optimize", action="store_true", help="check CUDA C++ in its optimised text alone")


def launch_of(options: argparse.Namespace) -> LaunchText:
    """Return the launch given on the command line."""
    return LaunchText(
        options.args, options.grid, options.block, options.cluster, options.smem, tuple(options.include),
        tuple(options.define), options.optimize,
    )  # fmt: skip
