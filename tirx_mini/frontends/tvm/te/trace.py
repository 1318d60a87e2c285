"""Handles of blocks and loops, and the trace of schedule calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tirx_mini.ir import Var
from tirx_mini.records import dataclass


@dataclass(frozen=True, eq=False)
class BlockRV:
    """A block handle, as returned by `get_block`. function: the name of its function in the module."""

    name: str
    function: str = "main"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class LoopRV:
    """A loop handle, as returned by `get_loops`."""

    var: Var

    def __repr__(self) -> str:
        return self.var.name


_BLOCKS = ("block", "block_or_loop", "target")
"""The parameters of a schedule's methods that a block's name may be given for."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def traced(method: _Method) -> _Method:
    """Record successful calls of a schedule method in the trace (decorator).

    A block may be given by its name. The call works on the function in which its blocks and loops are.
    """
    code = method.__code__
    blocks = [n for n, name in enumerate(code.co_varnames[1 : code.co_argcount]) if name in _BLOCKS]

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(each, str) for each in (*args, *kwargs.values())):
            args = tuple(self.get_block(a) if n in blocks and isinstance(a, str) else a for n, a in enumerate(args))
            kwargs = {k: self.get_block(v) if k in _BLOCKS and isinstance(v, str) else v for k, v in kwargs.items()}
        for each in (*args, *kwargs.values()):
            self.focus(each)
        result = method(self, *args, **kwargs)
        self.trace.note(method.__name__, args, kwargs, result)
        return result

    return call  # type: ignore[return-value]


@dataclass(frozen=True)
class InstructionKind:
    """The schedule method that a recorded call invokes."""

    name: str


@dataclass(frozen=True)
class Instruction:
    """A recorded call of a trace."""

    kind: InstructionKind
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: Any


class Trace:
    """The calls that built a schedule. `str(trace)` is Python code that repeats them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = []

    def note(self, name: str, args: tuple[object, ...], kwargs: dict[str, Any], result: object) -> None:
        self.calls.append((name, args, kwargs, result))

    @property
    def insts(self) -> list[Instruction]:
        """The recorded calls."""
        return [
            Instruction(InstructionKind(name), args, kwargs, result) for name, args, kwargs, result in self.calls
        ]

    @property
    def decisions(self) -> dict[int, Any]:
        """The random choices, keyed by the position of the call."""
        known = enumerate(self.calls)
        return {number: kwargs["decision"] for number, (_, _, kwargs, _) in known if "decision" in kwargs}

    def as_python(self, unicode: object = None) -> list[str]:
        """Return the lines of `str(trace)`."""
        return str(self).splitlines()

    def show(self, *_: object, **__: object) -> None:
        """Print the trace."""
        print(self)

    def __str__(self) -> str:
        names: dict[Any, str] = {}
        lines = []
        for name, args, kwargs, result in self.calls:
            given = [_text(arg, names) for arg in args] + [f"{key}={_text(v, names)}" for key, v in kwargs.items()]
            results = result if isinstance(result, (list, tuple)) else [] if result is None else [result]
            results = [each for each in results if isinstance(each, (BlockRV, LoopRV))]
            for each in results:
                names[each] = f"{'b' if isinstance(each, BlockRV) else 'l'}{len(names)}"
            target = ", ".join(names[each] for each in results)
            comma = "," if isinstance(result, (list, tuple)) and len(results) == 1 else ""
            lines.append(f"{target}{comma} = " if results else "")
            lines[-1] += f"sch.{name}({', '.join(given)})"
        return "\n".join(lines)

    def apply_to_schedule(
        self, schedule: object, remove_postproc: bool = False, decision_provider: object = None
    ) -> None:
        """Replay the calls on another schedule. The options are accepted as TVM has them."""
        made: dict[Any, Any] = {}

        def of(value: object) -> Any:
            if isinstance(value, (list, tuple)):
                return [of(each) for each in value]
            return made.get(value, value) if isinstance(value, (BlockRV, LoopRV)) else value

        for name, args, kwargs, result in list(self.calls):
            again = getattr(schedule, name)(*map(of, args), **{key: of(value) for key, value in kwargs.items()})
            pairs = zip(result, again, strict=True) if isinstance(result, (list, tuple)) else [(result, again)]
            made.update((old, new) for old, new in pairs if old is not None)


def _text(value: object, names: dict[Any, str]) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(each, names) for each in value)}]"
    return names.get(value, repr(value)) if isinstance(value, (BlockRV, LoopRV)) else repr(value)
