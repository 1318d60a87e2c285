"""The command line: ``python -m tirx_mini COMMAND …``."""

from __future__ import annotations

import argparse
import difflib
import gc
import sys
from collections.abc import Sequence

from tirx_mini import __version__
from tirx_mini.ending import command

PROG = "python -m tirx_mini"
GC_THRESHOLD = (20_000, 10, 10)
"""The garbage-collector thresholds of a command: modules and kernels are no garbage, and nearly all that it makes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 2 for bad input, for which argparse raises `SystemExit`.

    argv: by default the arguments of this process, which then ends as `ending.command` describes.
    """
    if argv is None:
        gc.set_threshold(*GC_THRESHOLD)
        return command(lambda: main(sys.argv[1:]))
    from tirx_mini.commands import reported  # which takes a second: Ctrl-C has its handler by now

    return reported(lambda: _run(list(argv)))


def _run(argv: list[str]) -> int:
    from tirx_mini.commands import commands, run_command

    known = commands()
    if argv and argv[0] in known:
        return run_command(argv[0], argv[1:])
    parser = _parser()
    name: str | None = parser.parse_known_args(argv)[0].command
    if name is None:
        parser.print_help(sys.stderr)
    else:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(known)}"
        print(f"error: {name!r} is not a command; {hint}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    from tirx_mini.commands import commands

    lines = [f"  {name:<10}{summary}" for name, summary in commands().items()]
    parser = argparse.ArgumentParser(
        prog=PROG,
        usage=f"{PROG} COMMAND [ARGUMENT …]",
        description="GEMM kernels for Blackwell and Hopper: simulated, explained and compiled.",
        epilog="\n".join(["commands:", *lines, "", f"`{PROG} COMMAND --help` describes a command's arguments."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tirx_mini {__version__}")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
