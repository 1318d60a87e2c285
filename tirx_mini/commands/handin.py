"""``python -m tirx_mini handin``: the file to hand in, checked as the grader will, and the score to expect."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tirx_mini.course import student_file
from tirx_mini.files import output_file, write_whole
from tirx_mini.grading import HandInError, packed, read_handin

from .grade import main as grade

DEFAULT = Path("handin.tar")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tar, read it as the grader will, and grade it. The exit status is 2 for bad input, else `grade`'s."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    path: Path = options.file or student_file()
    try:
        handin = read_handin(path)
        write_whole(options.output, packed(handin))
        again = read_handin(options.output)
    except (HandInError, OSError) as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    lines = again.source.count("\n")
    console.print(
        f"{options.output}: {again.file} from {path}, {lines} lines, SHA-256 {again.digest[:16]}…",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    if not options.score:
        return 0
    console.print("The score to expect:\n")
    return grade([str(options.output), "--own"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini handin",
        description="Write your file of kernels into a tar to hand in, read it as the grader will, and print the score "
        "to expect.",
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="your kernels (default: gemm_kernels.py)")
    parser.add_argument(
        "-o", "--output", type=output_file, default=str(DEFAULT), metavar="TAR",
        help=f"what to write (default: {DEFAULT})",
    )  # fmt: skip
    parser.add_argument("--no-score", dest="score", action="store_false", help="do not grade it")
    return parser
