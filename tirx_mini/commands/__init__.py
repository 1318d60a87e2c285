"""The command lines of ``python -m tirx_mini``: one module a command, with a ``main(argv) -> int``.

A command reads its arguments, calls the library (`tirx_mini.course` and the rooms below it), prints, and returns its
exit status: 0 for success, 1 for a kernel that is wrong, 2 for bad input or a file that cannot be written, 141 where
the reader of the output closes it, 128 + its number for a signal. The library computes the same without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .arguments import step_list
from .output import reported

COMMANDS: Mapping[str, str] = MappingProxyType({
    "ladder": "run the steps of the course in the simulator and print a table",
    "check": "run one kernel in the simulator and explain what is wrong with it",
    "trace": "draw a run on a time axis: what each warp and engine does when",
    "explain": "print what the code of a finding means, with an example and the fix",
    "inspect": "print what a kernel becomes: IR, CUDA C++, PTX or machine code",
    "tileir": "print a tile program at each level, down to machine code",
    "progress": "print how far each of your steps is, and what is next",
    "grade": "grade a hand-in, and say what it lost points for",
    "handin": "write the tar to hand in, check it, and print the score to expect",
    "hint": "list the TODOs of a step in your file, with hints for them",
})  # fmt: skip
"""Every command with its summary; the module of this room that has its name is imported when it is run."""


def run(command: str, argv: Sequence[str], **options: Any) -> int:
    """Run one of `COMMANDS`; returns its exit status. Bad arguments raise `SystemExit`, as argparse does.

    options: of the `main` of the command.
    """
    return reported(lambda: importlib.import_module(f"{__name__}.{command}").main(argv, **options))


__all__ = ["COMMANDS", "reported", "run", "step_list"]
