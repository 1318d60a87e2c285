"""``python -m tirx_mini play FILE``: a page to play in, with an editor, findings, the timeline and the stages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tirx_mini.course import KernelRef, LaunchText, file_and_name
from tirx_mini.files import output_file
from tirx_mini.hardware import GPUS
from tirx_mini.play import PlayError, export, has_launch, serve

from .arguments import add_launch_arguments, add_no_fill, argument, launch_of, positive, shape


def parse_port(text: str) -> int:
    """Parse the number of a port. Raises `ValueError`."""
    if not text.isdecimal() or not 0 <= int(text) < 1 << 16:
        raise ValueError(f"{text!r} is not a port: write a number below 65536")
    return int(text)


def parse_host(text: str) -> str:
    """Parse a name for the `Host` header, without a port. Raises `ValueError`."""
    if not text or any(char in text for char in "/:*@ ") or not text.isascii():
        raise ValueError(f"{text!r} is not the name of a machine: write it without a port, as in box.local")
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the page until a signal ends the command, or export one. The exit status is 2 for bad input."""
    parser = _parser()
    options = parser.parse_args(argv)
    ref, launch = _given(options)
    of_runs = {"--size": options.size, "--shape": options.shape, "--sms": options.sms}
    of_launches = {
        f"--{name}": getattr(options, name)
        for name in ("args", "grid", "block", "cluster", "smem", "define", "include", "optimize")
    }
    if launch is None:
        of_runs["--gpu"] = options.gpu
        if named := _first(of_launches):
            parser.error(f"{named} is for kernels of CUDA C++ and PTX")
        if options.export is None and (named := _first(of_runs)):
            parser.error(f"{named} is for --export: the page has its own")
    elif named := _first(of_runs):
        parser.error(f"{options.file} has the arguments of its launch: leave out {named}")
    try:
        if options.export is None:
            serve(
                ref, port=options.port, hosts=options.allow_host, browser=not options.no_browser, fill=options.fill,
                launch=launch, gpu=options.gpu, say=_say,
            )  # fmt: skip
            return 0
        verdict, right = export(
            ref, options.export, shape=options.shape, size=options.size, gpu=options.gpu, sms=options.sms,
            fill=options.fill, launch=launch,
        )  # fmt: skip
    except PlayError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    _say(verdict)
    _say(f"wrote {options.export} ({options.export.stat().st_size / 1024:,.0f} KiB)")
    return 0 if right else 1


def _given(options: argparse.Namespace) -> tuple[KernelRef | None, LaunchText | None]:
    """Return the file with its kernel, and the launch of one of CUDA C++ or PTX."""
    if options.file is None:
        return None, None
    path, name = file_and_name(options.file)
    if has_launch(Path(path)):
        return KernelRef(Path(path), name), launch_of(options)
    return KernelRef.parse(options.file), None


def _first(options: Mapping[str, object]) -> str:
    """Return the first option that is given, or ""."""
    return next((name for name, value in options.items() if value), "")


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini play",
        description="Open a page to play in: an editor, and beside it the findings, the timeline, what bounds the "
        "kernel, the product, and the stages of its compilation. The page runs on this machine, for you alone.",
        epilog="Ctrl-C ends the command. Exit status of --export: 0 if the kernel is ok, 1 if not, 2 for bad input. "
        "docs/guide/play.md describes the page.",
    )
    parser.add_argument(
        "file", nargs="?", metavar="FILE[:KERNEL]",
        help="of kernels, also of CUDA C++ (.cu) and PTX (.ptx); the default is gemm_kernels.py of the working "
        "directory, else a scratch copy of step 1",
    )  # fmt: skip
    parser.add_argument("--port", type=argument(parse_port), default=0, metavar="N", help="default: any free one")
    parser.add_argument(
        "--allow-host", type=argument(parse_host), action="append", default=[], metavar="NAME",
        help="also answer to this name of the machine, as of a tunnel; may be repeated",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    parser.add_argument(
        "--export", type=output_file, metavar="PAGE.html",
        help="run one kernel, by default the last one that is written, and write a page that needs no server",
    )  # fmt: skip
    parser.add_argument("--size", type=positive, metavar="N", help="with --export: of each dimension that is free")
    parser.add_argument("--shape", type=shape, metavar="M,N,K", help="with --export: all three dimensions")
    parser.add_argument(
        "--gpu", choices=sorted(GPUS),
        help="with --export, or for CUDA C++ and PTX: the GPU to model (default: the ladder's, else b200)",
    )  # fmt: skip
    parser.add_argument("--sms", type=positive, metavar="N", help="with --export: model only N of its SMs")
    add_no_fill(parser)
    add_launch_arguments(parser)
    return parser
