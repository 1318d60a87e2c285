"""The command lines of ``python -m tirx_mini``: one module a command, with a ``main(argv) -> int``.

A command reads its arguments, calls the library (`tirx_mini.course` and the rooms below it), prints, and returns its
exit status: 0 for success, 1 for a kernel that is wrong, 2 for bad input or a file that cannot be written, 141 where
the reader of the output closes it, 128 + its number for a signal. The library provides the same functions without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from tirx_mini.foreign import PACKAGE, frontends

from .arguments import positive, step_list
from .output import reported

_COMMANDS = {
    "ladder": "run the steps of the course in the simulator and print a table",
    "check": "run one kernel in the simulator and explain what is wrong with it",
    "trace": "draw a run on a time axis: what each warp and engine does when",
    "explain": "print what the code of a finding means, with an example and the fix",
    "tune": "find the constants of a program that make it fastest",
    "inspect": "print what a kernel becomes: IR, CUDA C++, PTX or machine code",
    "quiz": "ask for figures of a step, then show the simulator's",
    "drill": "deal a kernel with one mistake, to be found from what a GPU shows",
    "task": "print a task without a skeleton, and judge your kernel for it",
    "progress": "print how far each of your steps is, and what is next",
    "grade": "grade a hand-in, and say what it lost points for",
    "handin": "write the tar to hand in, check it, and print the score to expect",
    "hint": "list the TODOs of a step in your file, with hints for them",
    "play": "open a page with an editor, findings, timeline and stages",
    "run": "run a script or module that imports another project's language",
}  # fmt: skip


def commands() -> dict[str, str]:
    """Return every command with its summary: the core's commands and those of the front ends."""
    return _COMMANDS | {name: summary for each in frontends() for name, (summary, _) in each.commands.items()}


def module_of(command: str) -> str:
    """Return the module of a command, imported on demand: the core's, or the one that a front end names."""
    theirs = (each.commands[command][1] for each in frontends() if command in each.commands)
    return f"{__name__}.{command}" if command in _COMMANDS else f"{PACKAGE}.{next(theirs)}"


def run_command(command: str, argv: Sequence[str], **options: object) -> int:
    """Run one of `commands()`; returns its exit status. Bad arguments raise `SystemExit`, as argparse does.

    options: further arguments of the command's `main`.
    """
    return reported(lambda: importlib.import_module(module_of(command)).main(argv, **options))


__all__ = ["commands", "module_of", "positive", "reported", "run_command", "step_list"]
