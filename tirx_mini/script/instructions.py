"""The namespaces ``Tx.ptx.…`` and ``Tx.cuda.…``, with one callable per path in the instruction table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any, ClassVar

from tirx_mini.ir import Call, Evaluate, If, TirxError, as_bool, int_value
from tirx_mini.isa import NAMES, TABLE, Instruction, Overloads, manual, not_in_table, parameters
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .builder import current, in_dialect_of_tvm, in_native_dialect, place
from .cuda_names import cuda_spelling
from .defaults import TVM_DEFAULTS
from .diagnostics import UnknownName, did_you_mean, unknown
from .refused import refusal
from .source import caller_span
from .spelt import begins, following, spelt, word_of


class _Shown:
    """An attribute of a node that `help` and editors show: it is made when it is read, unless the node has its own."""

    def __init__(self, made: Callable[[Path], object], of_class: object = None) -> None:
        self.made, self.of_class = made, of_class

    def __get__(self, node: Path | None, owner: type) -> object:
        found = self.of_class if node is None else self.made(node)
        if found is None:
            raise AttributeError(owner.__name__)
        return found


@dataclass
class Path:
    """A node of the namespace, which may be callable and have children (``mbarrier.arrive.expect_tx``).

    A node that is an instruction has its own `__doc__` and `__signature__`, which `help` and editors show.
    """

    name: str
    function: Callable[..., Any] | None = None
    below: dict[str, Path] = field(default_factory=dict)
    overloads: Overloads | None = None

    __doc__ = _Shown(lambda node: node.help(), __doc__)  # pyright: ignore[reportAssignmentType]
    __signature__ = _Shown(lambda node: None if node.overloads is None else _signature(node.overloads))

    def __getattr__(self, name: str) -> Any:
        child = self.below.get(name)
        if child is None and cuda_spelling(name) is not None:
            raise unknown(f"Tx.{self.name}", name, None)
        if child is None and name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.name}.{name}"
        if child is None and self._opcode(name) and begins(opcode := self._opcode(word_of(self._opcode(""), name))):
            return spelt(opcode, _issue)
        if child is None and not_in_table(path) and refusal(path) is None:
            whose = "an instruction of PTX" if self.name.startswith("ptx") else "a function of TVM's dialect"
            raise UnknownName(
                f"`Tx.{self.name}.{name}` is {whose} that tirx_mini does not have: neither the simulator nor the "
                "compiler knows it",
                caller_span(),
                'T.cuda.func_call("name", …, source_code="…") can bring its CUDA C++ along, unsimulated',
                kind="not-modelled",
            )
        if child is None:
            hint = elsewhere(name) or did_you_mean(name, self.below) or following(self._opcode(""))
            raise unknown(f"Tx.{self.name}", name, hint)
        return child

    def _opcode(self, word: str) -> str:
        """Return the PTX spelling of a part below this node, or "" below ``Tx.cuda``."""
        group, _, rest = self.name.partition(".")
        return "" if group != "ptx" else f"{rest}.{word}".strip(".")

    __iter__: ClassVar[None] = None

    def __getitem__(self, opcode: str) -> Any:
        """Return an instruction by its PTX opcode: ``Tx.ptx["fence.proxy.async.shared::cta"]``."""
        if self.name != "ptx" or not isinstance(opcode, str):
            raise TirxError(f"`Tx.{self.name}` is not indexed", place(), 'write T.ptx["…"] with an opcode of PTX')
        return spelt(opcode, _issue)

    def __dir__(self) -> list[str]:
        return sorted(self.below)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.function is None:
            raise TirxError(
                f"`Tx.{self.name}` is a group of instructions, not an instruction",
                place(),
                f"it contains {', '.join(f'`{name}`' for name in self.below)}",
            )
        try:
            return self.function(*args, **kwargs)
        except TirxError:
            if not self.name.startswith("ptx.") or not begins(self.name.removeprefix("ptx.")):
                raise
            try:  # an opcode with the operands of PTX, the destination first
                return spelt(self.name.removeprefix("ptx."), _issue)(*args, **kwargs)
            except TirxError:
                pass
            raise

    def at(self, path: str) -> Path:
        """Return the node at a path below this one, creating missing nodes."""
        node = self
        for part in path.split("."):
            node = node.below.setdefault(part, Path(f"{node.name}.{part}" if node.name else part))
        return node

    def walk(self) -> Iterator[Path]:
        """Yield this node and all its descendants."""
        yield self
        for child in self.below.values():
            yield from child.walk()

    def help(self) -> str:
        """Return the manual of an instruction, or a line for each instruction of a group."""
        if self.overloads is not None:
            return manual(self.name, self.overloads.entries)
        return "\n".join(_summary(node.name, node.overloads) for node in self.walk() if node.overloads is not None)

    def __repr__(self) -> str:
        return f"Tx.{self.name}"


@described.register(Path)
def _(path: Path) -> str:
    return f"the {'group' if path.function is None else 'function'} Tx.{path.name}"


_INNER = ("span", "as_written")
"""Parameters of `Overloads.guarded` that kernels do not give."""


def issuer(overloads: Overloads) -> Callable[..., Call | None]:
    """Return the language's function for an instruction, which emits the instruction unless it has a result."""

    differing = TVM_DEFAULTS.get(overloads.path)

    def issue(*args: object, **kwargs: Any) -> Call | None:
        inner = next((name for name in _INNER if name in kwargs), None)
        if inner is not None:
            raise TirxError(f"`Tx.{overloads.path}` has no parameter `{inner}`")
        if differing is not None and len(args) <= differing.position and in_dialect_of_tvm():
            kwargs.setdefault(differing.name, differing.value)
        call, guard = overloads.guarded(*args, as_written=in_native_dialect(), **kwargs)
        if TABLE[call.op].result is not None:
            return call
        condition = None if guard is None else as_bool(guard)
        known = int_value(condition)
        if condition is None or known is not None:
            if known != 0:
                current(f"Tx.{overloads.path}").emit(Evaluate(call))
        else:
            current(f"Tx.{overloads.path}").emit(If(condition, Evaluate(call)))
        return None

    return issue


def elsewhere(name: str) -> str | None:
    """Return a hint that lists other paths of the namespace ending in `name`, or None."""
    places = [path.name for path in namespace().walk() if path.name.split(".")[-1] == name and path.function]
    return f"write {' or '.join(f'`Tx.{place}`' for place in places[:2])}" if places else None


@lru_cache(maxsize=1)
def namespace() -> Path:
    """Return the tree of all names under which kernels call instructions."""
    root = Path("")
    for path, overloads in NAMES.items():
        node = root.at(path)
        node.function, node.overloads = issuer(overloads), overloads
    return root


def _signature(overloads: Overloads) -> Signature:
    """Return the signature of the entry with most parameters, all of them positional or keyword."""
    own = [entry for entry in overloads.entries if not entry[1].order]
    longest = max((list(parameters(*entry)) for entry in own or overloads.entries), key=len)
    kind, shown = Parameter.POSITIONAL_OR_KEYWORD, []
    for name, default in longest:
        if name.startswith("*"):
            shown.append(Parameter(name[1:], Parameter.VAR_POSITIONAL))
            kind = Parameter.KEYWORD_ONLY
        else:
            shown.append(Parameter(name, kind, default=Parameter.empty if default is ... else default))
    return Signature(shown)


def _summary(name: str, overloads: Overloads) -> str:
    entry, _ = overloads.entries[0]
    return f"Tx.{name}: {entry.doc.splitlines()[0]}"


def _alone(path: str, entry: Instruction) -> Overloads:
    overloads = Overloads(path)
    overloads.entries.append((entry, NAMES.of(entry)[0]))
    return overloads


def _issue(entry: Instruction, operands: tuple[object, ...], modifiers: dict[str, Any]) -> Call | None:
    return issuer(_alone(entry.name, entry))(*operands, **modifiers)


def raw_call(name: str, *args: object, **attrs: object) -> Any:
    """Call an instruction by its table name, for names that are not valid paths."""
    entry = TABLE.get(name)
    if entry is None:
        raise TirxError(f"unknown instruction `{name}`", hint=did_you_mean(name, TABLE))
    return issuer(_alone(name, entry))(*args, **attrs)
