"""``python -m tirx_mini tileir FILE:KERNEL``: show a tile program at every level, from source to machine code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tirx_mini.arguments import ArgumentError
from tirx_mini.commands import positive
from tirx_mini.course import KernelFileError, parse_arguments, parse_dims
from tirx_mini.files import output_file, write_whole
from tirx_mini.hardware import DEFAULT_GPU
from tirx_mini.ir import TirxError
from tirx_mini.runtime import ToolchainError

from .context import COST_BASED, SERIAL, SPECIALIZED, UNSPECIALIZED, Options
from .program import STAGES, TileProgram
from .programs import TILE_PROGRAMS, tile_launch
from .run import Launch, compile
from .ssa import Module, diff, print_module

DESCRIPTION = """\
A tile program at one of its levels: as cuda_tile, nv_tileaa and nv_tileas, as the IR of tirx_mini, as CUDA C++, PTX or
machine code. No GPU is needed. What the compiler could not do for a program, such as pipelining a loop, is a note on
stderr.

    {prog} gemm                                  a program of kernels_ref/tile, by its name
    {prog} my_kernels.py:scale                   a kernel that its file launches; nothing is executed
    {prog} my_kernels.py:scale --args "float16[512,512], 2.0, 64"
    {prog} gemm --stage nv_tileas --gpu h100
    {prog} gemm --print-after convert-cudatile-to-tileaa
    {prog} gemm --diff                           what each pass changes

The file may import `cuda.tile`. The programs of kernels_ref/tile are {programs}.
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m tirx_mini tileir") -> int:
    """Run the command and return its exit status: 0, 1 for an incorrect program, or 2 for bad input.

    prog: the command as its user calls it.
    """
    options = _parser(prog).parse_args(argv)
    try:
        args = None if options.args is None else parse_arguments(options.args)
        launch = tile_launch(options.program, options.size, args)
        program = compile(launch.kernel, launch.args, options.gpu, _told(options))
        if options.grid:
            launch = Launch(launch.kernel, _grid(options.grid), launch.args)
        text = _text(program, launch, options)
    except (KernelFileError, TirxError, ToolchainError, ArgumentError, ValueError) as error:
        print(error if isinstance(error, TirxError) else f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, (TirxError, ToolchainError)) else 2
    if options.output:
        write_whole(options.output, text)
    else:
        sys.stdout.write(text)
    for note in program.context.notes:
        print(note.render(), file=sys.stderr)
    return 0


def lesson(argv: Sequence[str], prog: str) -> int:
    """Show the lesson on tile programs, by default the GEMM. Returns the exit status."""
    named = argv and not argv[0].startswith("-") and not argv[0].isdigit()
    return main([*([] if named or "--help" in argv or "-h" in argv else ["gemm"]), *argv], prog)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description=DESCRIPTION.format(prog=prog, programs=", ".join(TILE_PROGRAMS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", metavar="FILE:KERNEL", help="a kernel in a file, or the name of a program")
    parser.add_argument("size", type=positive, nargs="?", help="the size of a program of kernels_ref/tile")
    parser.add_argument("--args", help='the arguments, as in "float16[512,512], 2.0, 64"')
    parser.add_argument("--grid", help="the grid, as in 8,4: for the stages from tir on")
    parser.add_argument("--gpu", default=DEFAULT_GPU, help=f"as in h100 (default: {DEFAULT_GPU})")
    parser.add_argument("--stage", default="cuda_tile", choices=STAGES, help="the level to show (default: cuda_tile)")
    parser.add_argument("--print-before-all", action="store_true", help="show the program before each pass")
    parser.add_argument("--print-after", metavar="PASS", help="show the program after a pass")
    parser.add_argument("--diff", action="store_true", help="show what each pass changes")
    told = parser.add_argument_group("what the compiler is told; by default it chooses")
    told.add_argument("--num-warps", type=positive, metavar="N", help="warps that compute: 1, 2, 4, 8 or 16")
    told.add_argument("--num-stages", type=positive, metavar="N", help="buffers of each pipeline")
    told.add_argument("--occupancy", type=positive, metavar="N", help="CTAs that are to fit on one SM")
    told.add_argument("--agents", choices=(SPECIALIZED, UNSPECIALIZED), help="warps that only load, or none")
    told.add_argument("--schedule", choices=(SERIAL, COST_BASED), help="the order of operations")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="write to FILE")
    return parser


def _told(options: argparse.Namespace) -> Options:
    """Build the options of a compilation. Raises `ValueError` for an unsupported number of warps."""
    if options.num_warps not in (None, 1, 2, 4, 8, 16):
        raise ValueError(f"--num-warps {options.num_warps}: it is 1, 2, 4, 8 or 16")
    return Options(
        num_warps=options.num_warps,
        num_stages=options.num_stages,
        occupancy=options.occupancy,
        agents=options.agents,
        schedule=options.schedule,
    )


def _grid(text: str) -> tuple[int, int, int]:
    x, y, z = (*parse_dims("--grid", text), 1, 1)[:3]
    return x, y, z


def _text(program: TileProgram, launch: Launch, options: argparse.Namespace) -> str:
    if not (options.print_before_all or options.print_after or options.diff):
        text = program.text(options.stage, launch.grid)
        return text if text.endswith("\n") else f"{text}\n"
    parts: list[str] = []
    names: list[str] = []

    def watch(name: str, before: Module, after: Module) -> None:
        names.append(name)
        if options.diff:
            changed = diff(before, after, name)
            parts.append(f"{changed}\n" if changed else f"# {name} changes nothing\n")
        elif options.print_before_all:
            parts.append(f"// before {name}\n{print_module(before)}\n")
        elif name == options.print_after:
            parts.append(print_module(after))

    program.passes(watch)
    if options.print_after and options.print_after not in names:
        raise ValueError(f"there is no pass {options.print_after!r}; the passes are {', '.join(names)}")
    return "".join(parts)
