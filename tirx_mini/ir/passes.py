"""Named passes and their runner, for kernels, TileLang programs and TileIR modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Generic, TypeVar

from tirx_mini.records import dataclass

from .span import TirxError
from .visit import Mutator

Program = TypeVar("Program")


@dataclass(frozen=True)
class Pass(Generic[Program]):
    """A named function from programs to programs.

    name: as a pipeline lists it.
    doc: the effect of the pass, in one line.
    run: the function. It takes the program, and the context of its pipeline where that has one.
    """

    name: str
    doc: str
    run: Callable[..., Program] = field(repr=False)


def run_passes(
    program: Program,
    passes: Iterable[Pass[Program]],
    *context: object,
    watch: Callable[[str, Program, Program], None] | None = None,
) -> Program:
    """Return the program after all passes.

    context: further arguments of each pass. watch: called after each pass, with its name and the programs before and
    after it.

    Raises `TirxError` for a mistake in the program. Where a pass itself fails, its exception is the cause of the error.
    """
    for step in passes:
        before = program
        try:
            program = step.run(before, *context)
        except TirxError as error:
            raise error.at(getattr(before, "span", None)) from None
        except Exception as error:
            raise _defect(step, before, error) from error
        if watch is not None:
            watch(step.name, before, program)
    return program


def _defect(step: Pass[Program], program: Program, error: Exception) -> TirxError:
    """Return the error page for a failing pass, located at the statement that it was visiting."""
    span, traceback = getattr(program, "span", None), error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_code is Mutator.located.__code__:
            span = frame.f_locals["node"].span or span
    return TirxError(
        f"tirx_mini itself fails here, in the pass {step.name}: {type(error).__name__}: {error}",
        span,
        "this is a mistake of tirx_mini: please report it with the kernel; another way to write the statement may work",
    )
