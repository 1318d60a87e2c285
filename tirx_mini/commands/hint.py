"""``python -m tirx_mini hint 5``: the TODOs of a step in the student's file, and a hint for one of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from tirx_mini.course import (
    LEVELS,
    STEPS,
    Hints,
    KernelFileError,
    Todo,
    arch_folder,
    architecture_in,
    code_of,
    hint_command,
    hints_of,
    matched,
    plain_links,
    read_kernels,
    step_range,
    student_file,
    todos_in,
)

from .prose import prose_console


def main(argv: Sequence[str] | None = None) -> int:
    """List the TODOs and print a hint. The exit status is 2 for bad input."""
    options = _parser().parse_args(argv)
    console = prose_console()
    path: Path = options.kernels or student_file()
    try:
        text = read_kernels(path)
        step = _step(options.step, todos_in(text), path)
        arch = arch_folder(architecture_in(path, text))
        hints, todos = hints_of(step, arch), todos_in(text)[step]
        if not hints:
            raise KernelFileError(f"there are no hints for step {step}")
        level = _number(options.level, LEVELS, "hint", "there are hints")
        mine = matched(hints, todos)
        chosen = _chosen(options.todo, step, hints, mine)
    except KernelFileError as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    _list(step, path, hints, mine, chosen, console)
    if chosen is None:
        console.print(f"All are filled in. The test: python -m pytest tests/test_step{step:02}.py -xvs", soft_wrap=True)
        return 0
    console.print(Text(f"TODO {chosen.number}, hint {level} of {LEVELS}", style="bold"))
    if level == LEVELS:
        todo = mine.get(chosen.number)
        where = f" of line {todo.line}" if todo is not None else ""
        console.print(f"This is what the reference has in the place of the `...`{where}:\n", markup=False)
        sys.stdout.write(code_of(chosen, hints, step, arch) + "\n")
        return 0
    words = plain_links(chosen.texts[level - 1])
    if console.is_terminal:
        console.print(Padding(Markdown(words), (1, 0)))
    else:
        sys.stdout.write(f"\n{words}\n\n")
    console.print(Text(f"more: {hint_command(path, step, chosen.number, '--level', level + 1)}", style="dim"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini hint",
        description="The TODOs of a step in your file, and a hint for one of them: a question or a fact, then the "
        "calls in their order, then the code.",
    )
    parser.add_argument("step", nargs="?", metavar="STEP", help="as in 5 (default: the first step with an open TODO)")
    parser.add_argument("todo", nargs="?", metavar="TODO", help="its number in the list (default: the first open one)")
    parser.add_argument("--level", default="1", metavar="N", help=f"how much it tells, 1 to {LEVELS} (default: 1)")
    parser.add_argument("--kernels", type=Path, metavar="FILE", help="your kernels (default: gemm_kernels.py)")
    return parser


def _step(text: str | None, todos: Mapping[int, Sequence[Todo]], path: Path) -> int:
    """Return the selected step. Raises `KernelFileError`."""
    steps = [step for step in todos if step in STEPS]
    if text is None:
        if not steps:
            raise KernelFileError(f"{path} defines no hgemm_v{min(STEPS)} … hgemm_v{max(STEPS)}")
        return next((step for step in steps if any(todo.open for todo in todos[step])), steps[-1])
    if not text.isdecimal() or int(text) not in STEPS:
        raise KernelFileError(f"step {text} does not exist; the steps are {step_range()}")
    if int(text) not in steps:
        raise KernelFileError(f"{path} defines no hgemm_v{text}")
    return int(text)


def _number(text: str, largest: int, what: str, there: str) -> int:
    """Return a number from 1 on. Raises `KernelFileError`."""
    if not text.isdecimal() or not 1 <= int(text) <= largest:
        raise KernelFileError(f"{what} {text} does not exist; {there} 1 to {largest}")
    return int(text)


def _chosen(text: str | None, step: int, hints: Sequence[Hints], mine: Mapping[int, Todo]) -> Hints | None:
    """Return the requested hints; by default, the hints of the first open TODO, if there is one."""
    if text is not None:
        return hints[_number(text, len(hints), "TODO", f"step {step} has the TODOs") - 1]
    return next((hint for hint in hints if hint.number in mine and mine[hint.number].open), None)


def _list(
    step: int, path: Path, hints: Sequence[Hints], mine: Mapping[int, Todo], chosen: Hints | None, console: Console
) -> None:
    """Print a line for each TODO: its number, its position or that it is filled in, and the start of its comment."""
    left = sum(todo.open for todo in mine.values())
    of_all = f"{left} of {len(hints)} TODOs open" if len(hints) > 1 else "1 TODO, " + ("open" if left else "filled in")
    console.print(Text(f"Step {step}, {STEPS[step].title}, in {path}: {of_all}", style="bold"), soft_wrap=True)
    for hint in hints:
        todo = mine.get(hint.number)
        state = f"line {todo.line}" if todo is not None and todo.open else "filled in"
        line = Text(f"{'>' if hint is chosen else ' '}{hint.number:>3}  {state:<10} {hint.title}")
        line.stylize("" if todo is not None and todo.open else "dim")
        console.print(line, no_wrap=True, overflow="ellipsis")
    console.print()
