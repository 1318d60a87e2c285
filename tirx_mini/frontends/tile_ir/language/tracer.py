"""The shared state of the tracer: emitter, memory order and frames."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from tirx_mini.ir import Span, TirxError
from tirx_mini.records import dataclass

from ..ssa import Value
from .dtypes import bool_
from .emitter import Emitter
from .errors import TileTypeError
from .frames import Frame
from .ordering import Accesses, Ordering
from .values import ArrayValue, TileValue, describe, is_constant, plain


class How(Enum):
    """The way in which a block of statements ends."""

    FALL = "runs to its end"
    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


@dataclass(frozen=True)
class Exit:
    """The end of a block. value: its return value."""

    how: How
    value: Any = None


FALL, BREAK, CONTINUE = Exit(How.FALL), Exit(How.BREAK), Exit(How.CONTINUE)


class Tracer(ABC):
    """Interprets the statements of a kernel once, emitting its run-time operations.

    known: the memory operations found by the first trace; None in that trace.
    arch: the architecture that hints are for, as "sm_90".
    quiet: whether output of the compilation is left out, because another trace has made it.
    """

    def __init__(self, known: Accesses | None, arch: str) -> None:
        self.emit = Emitter()
        self.order = Ordering(self.emit, known)
        self.hint_arch = arch
        self.frames: list[Frame] = []
        self.parameters: set[Value] = set()
        self.views: dict[ArrayValue, Value] = {}
        self.partitions: dict[Any, Value] = {}
        self.grid: dict[str, Sequence[Value]] = {}

    @property
    def frame(self) -> Frame:
        """The frame of the innermost call."""
        return self.frames[-1]

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate an expression."""

    @abstractmethod
    def call(self, function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """Trace a call and return its value."""

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt]) -> Exit:
        """Trace statements."""

    @abstractmethod
    def branch(
        self,
        node: ast.If,
        condition: TileValue,
        then: Sequence[ast.stmt],
        otherwise: Sequence[ast.stmt],
        consumed: bool,
    ) -> Exit | None:
        """Trace an `if` with a run-time condition."""

    @abstractmethod
    def loop(self, node: ast.For | ast.While) -> None:
        """Trace a loop."""

    @abstractmethod
    def choose(self, node: ast.IfExp | ast.BoolOp, condition: TileValue, then: object, otherwise: object) -> Any:
        """Trace two alternative expressions, only one of which executes, and return the value."""

    @abstractmethod
    def static(self, name: str, node: ast.Call) -> Any:
        """Evaluate ``ct.static_eval(…)`` and similar, whose arguments are Python code."""

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[Span]:
        """Locate operations and errors inside the context at `node`."""
        outer = self.emit.span
        span = self.emit.span = self.emit.block.span = self.frame.span(node)
        try:
            yield span
        except TirxError as error:
            raise error.at(span)  # noqa: B904 - the same error, with a place
        finally:
            self.emit.span = outer

    def condition(self, value: object, what: str) -> bool | TileValue:
        """Return a condition: a compile-time truth value or a boolean scalar."""
        if isinstance(value, TileValue):
            if value.shape != ():
                raise TileTypeError(
                    f"{what} must be a scalar, not {describe(value)}",
                    hint="combine masks with `&`, `|` and `~`, and choose elements with `ct.where`",
                )
            return self.emit.cast(value, bool_)
        if is_constant(value):
            return bool(plain(value))
        if isinstance(value, ArrayValue):
            raise TileTypeError(f"{what} must be a scalar, not {describe(value)}")
        return bool(value)
