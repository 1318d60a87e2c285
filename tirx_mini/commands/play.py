"""``python -m tirx_mini play FILE``: a page to play in, with an editor, findings, the timeline and the stages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tirx_mini.play import PlayError, serve

from .arguments import argument


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
    """Serve the page until a signal ends the command. The exit status is 2 for bad input."""
    options = _parser().parse_args(argv)
    try:
        serve(options.file, port=options.port, hosts=options.allow_host, browser=not options.no_browser, say=_say)
    except PlayError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini play",
        description="Open a page to play in: an editor, and beside it the findings, the timeline, what bounds the "
        "kernel, the product, and the stages of its compilation. The page runs on this machine, for you alone.",
        epilog="docs/guide/play.md describes the page. Ctrl-C ends the command.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE",
        help="of kernels (default: gemm_kernels.py of the working directory, else a scratch copy of step 1)",
    )  # fmt: skip
    parser.add_argument("--port", type=argument(parse_port), default=0, metavar="N", help="default: any free one")
    parser.add_argument(
        "--allow-host", type=argument(parse_host), action="append", default=[], metavar="NAME",
        help="also answer to this name of the machine, as of a tunnel; may be repeated",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    return parser
