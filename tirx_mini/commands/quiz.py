"""``python -m tirx_mini quiz 7``: figures of a step to predict, then the simulator's, and the reasons."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tirx_mini.course import (
    QUESTIONS,
    STEPS,
    Marked,
    Notes,
    NotesError,
    Prediction,
    answer_of,
    arch_folder,
    marked,
    question_key,
    step_range,
)
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec

from .prose import prose_console


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the questions of a step. The exit status is 0 if each answer is right, 1 if not, and 2 for bad input."""
    options = _parser().parse_args(argv)
    console = prose_console()
    try:
        spec = gpu_spec(options.gpu)
        folder = arch_folder(spec.arch)
        asked = _asked(options, folder)
        notes = Notes.read()
    except (ValueError, NotesError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    right = 0
    for number, question in asked:
        console.print(Text(f"\nStep {options.step}, question {number}: ", style="bold") + Text(question.asked))
        answer, why = (options.answer, options.why) if options.answer is not None else _ask(question)
        if answer is None:
            console.print("\nNo answer was read: the quiz ends here. It also takes --question and --answer.")
            return 2
        mark = marked(question, answer)
        right += mark.right
        _show(question, mark, spec.name, console)
        notes = notes.with_prediction(question_key(folder, options.step, number), answer, why, mark.right)
        notes.write()  # the input may end at the next question
    console.print(Text(f"\n{right} of {len(asked)} right", style="bold"))
    return 0 if right == len(asked) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini quiz",
        description="Predict figures of a step before you see them: first your number and one sentence of why, then "
        "the simulator's figure. Times, shares and amounts may differ by a factor of 1.25 unless the question says "
        "otherwise; counts are exact.",
    )
    parser.add_argument("step", type=int, choices=list(STEPS), metavar="STEP", help=f"{step_range()}")
    parser.add_argument(
        "--gpu", default=DEFAULT_GPU, help=f"h100 for the ladder for Hopper (default: {DEFAULT_GPU}, Blackwell)"
    )
    parser.add_argument("--question", type=int, metavar="N", help="only this one")
    parser.add_argument("--answer", type=float, metavar="NUMBER", help="your answer to it, instead of asking for it")
    parser.add_argument("--why", default="", metavar="TEXT", help="your reason, which is kept beside the answer")
    return parser


def _asked(options: argparse.Namespace, folder: str) -> list[tuple[int, Prediction]]:
    """Return the questions with their numbers. Raises `ValueError`."""
    questions = list(enumerate(QUESTIONS[folder][options.step], 1))
    if options.answer is not None and (options.question is None or not math.isfinite(options.answer)):
        raise ValueError("--answer takes a finite number, and --question says which question it is for")
    if options.question is None:
        return questions
    if not 1 <= options.question <= len(questions):
        raise ValueError(f"step {options.step} has the questions 1 to {len(questions)}")
    return [questions[options.question - 1]]


def _ask(question: Prediction) -> tuple[float | None, str]:
    """Read the user's number and reason; the number is None at the end of the input."""
    while True:
        print(f"your number, in {question.unit}: ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            return None, ""
        try:
            answer = answer_of(line)
            break
        except ValueError as error:
            print(error)
    print("why, in a sentence: ", end="", flush=True)
    return answer, sys.stdin.readline().strip()


def _show(question: Prediction, mark: Marked, gpu: str, console: Console) -> None:
    """Print the mark, the figure and the reasons."""
    word, style = ("right", "bold green") if mark.right else ("not right", "bold red")
    console.print(Text(word, style=style), end="")
    console.print(Text(f": the simulator's figure is {question.shown(mark.figure)}"))
    measured = question.measured()
    if measured is not None:
        console.print(Text(f"measured on the {gpu}: {question.shown(measured)}"))
    if mark.said:
        console.print(Text(mark.said, style="italic"))
    for reason in question.reasons:
        console.print(Text(f"  {reason}"))
