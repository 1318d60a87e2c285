"""The command line: ``python -m tirx_mini ladder``, ``check`` and ``explain``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tirx_mini import commands as rooms


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tirx_mini", description="GEMM kernels, simulated and compiled.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    command = commands.add_parser("ladder", help="run the ten steps in the simulator and print a table")
    rooms.add_ladder_arguments(command)
    command.set_defaults(run=rooms.run_ladder)
    command = commands.add_parser("check", help="run one kernel in the simulator and say what is wrong with it")
    rooms.add_check_arguments(command)
    command.set_defaults(run=rooms.run_check)
    command = commands.add_parser("explain", help="what a finding's code means, with an example and the fix")
    rooms.add_explain_arguments(command)
    command.set_defaults(run=rooms.run_explain)
    options = parser.parse_args(arguments)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
