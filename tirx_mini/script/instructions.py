"""``Tx.ptx.…`` and ``Tx.cuda.…``: one callable for each path that the instruction table declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tirx_mini.ir import Evaluate, TirxError, instruction_path
from tirx_mini.isa import TABLE, Instruction

from .builder import current
from .diagnostics import did_you_mean


@dataclass
class Path:
    """A node of the namespace: it may be an instruction, and have others below it (``mbarrier.arrive.expect_tx``)."""

    name: str
    instruction: Instruction | None = None
    below: dict[str, Path] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        child = self.below.get(name)
        if child is None:
            raise unknown(f"Tx.{self.name}", name, self._elsewhere(name) or did_you_mean(name, self.below))
        return child

    def _elsewhere(self, name: str) -> str | None:
        """A hint where another place of the namespace has an instruction of this name."""
        places = [path.name for path in namespace().walk() if path.name.split(".")[-1] == name and path.instruction]
        return f"write {' or '.join(f'`Tx.{place}`' for place in places[:2])}" if places else None

    def __dir__(self) -> list[str]:
        return sorted(self.below)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.instruction is None:
            raise TirxError(
                f"`Tx.{self.name}` is a group of instructions, not one",
                hint=f"it has {', '.join(f'`{name}`' for name in self.below)}",
            )
        return issue(self.instruction, self.name, args, kwargs)

    def walk(self) -> Iterator[Path]:
        yield self
        for child in self.below.values():
            yield from child.walk()

    def __repr__(self) -> str:
        return f"Tx.{self.name}"


class UnknownName(AttributeError):
    """An attribute that the Tx namespace does not have; `hint` says what is near."""

    def __init__(self, message: str, hint: str | None) -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.hint = hint


def unknown(owner: str, name: str, hint: str | None) -> UnknownName:
    return UnknownName(f"{owner} has no `{name}`", hint)


def issue(instruction: Instruction, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call of an instruction: a value where it has a result, else emitted at once."""
    builder = current(f"Tx.{name}")
    call = instruction.bind(args, kwargs)
    if instruction.result is not None:
        return call
    builder.emit(Evaluate(call))
    return None


@lru_cache(maxsize=1)
def namespace() -> Path:
    """The tree of all paths: those that entries declare, and ``ptx.<name>`` for every entry."""
    root = Path("")
    declared = [(path, entry) for entry in TABLE.values() for path in entry.api]
    for path, entry in [*declared, *((instruction_path(name), entry) for name, entry in TABLE.items())]:
        node = root
        for part in path.split("."):
            full = f"{node.name}.{part}" if node.name else part
            node = node.below.setdefault(part, Path(full))
        if node.instruction is None:
            node.instruction = entry
    return root


def raw_call(name: str, *args: Any, **attrs: Any) -> Any:
    """An instruction by its name in the table, for names that are no path."""
    instruction = TABLE.get(name)
    if instruction is None:
        raise TirxError(f"there is no instruction `{name}`", hint=did_you_mean(name, TABLE))
    return issue(instruction, name, args, attrs)
