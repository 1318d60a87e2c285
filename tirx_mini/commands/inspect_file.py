"""``python -m tirx_mini inspect kernel.cu:NAME``: the stages of a kernel in a file of PTX or CUDA C++."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tirx_mini.course import KernelFileError, LaunchedFiles
from tirx_mini.files import output_file
from tirx_mini.ir import TirxError
from tirx_mini.runtime import ToolchainError

from .arguments import add_launch_arguments, launch_of
from .stage_output import show_text

DESCRIPTION = """\
A kernel of PTX or CUDA C++ as PTX, as the IR that the simulator executes, or as machine code. No GPU is needed.

    {prog} kernel.cu:reduce                 the PTX that a GPU executes
    {prog} kernel.cu:reduce --stage sass    the machine code and the counts of its instructions
    {prog} kernel.cu:reduce --stage tir --args "float32[1024], float32[8], 1024" --grid 8 --block 128
"""


def main(programs: LaunchedFiles, argv: Sequence[str], prog: str) -> int:
    """Show the kernel; the exit status is 0, 1 for one that cannot be shown at the stage, and 2 for bad input."""
    options = _parser(programs, prog).parse_args(argv)
    try:
        text = programs.stage(options.kernel, options.stage, launch_of(options), options.gpu)
    except (KernelFileError, TirxError, ToolchainError, ValueError) as error:
        print(error if isinstance(error, TirxError) else f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, (TirxError, ToolchainError)) else 2
    show_text(text, options.output)
    return 0


def _parser(programs: LaunchedFiles, prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description=DESCRIPTION.format(prog=prog), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel", metavar="FILE:KERNEL", help='as in kernel.cu:reduce, "kernel.cu:scale<float>"')
    first = programs.stages[0]
    parser.add_argument(
        "--stage", default=first, choices=programs.stages, help=f"what to show (default: {first}); tir needs a launch"
    )
    parser.add_argument("--gpu", help="the GPU to compile for (default: of a .ptx its target, else b200)")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="write to FILE")
    add_launch_arguments(parser)
    return parser
