"""The table of all instructions, and the names under which kernels call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType

from tirx_mini.guests import frontends, resolve
from tirx_mini.ir import HANDLE, Call, Expr, PrimFunc, Span, Stmt, TirxError, Written, instruction_path, walk
from tirx_mini.records import replace

from . import (
    async_store,
    bits,
    cp_async,
    cvt,
    cvt_stochastic,
    debug,
    doubles,
    fence,
    grid,
    hints,
    launch_control,
    library,
    math,
    matrix,
    mbarrier,
    memory,
    memory_special,
    memory_vectors,
    mma,
    mma_sparse,
    multicast,
    opaque,
    packed,
    roots,
    sync,
    tcgen05,
    tcgen05_forms,
    tcgen05_scaled,
    tcgen05_sparse,
    tensormap,
    timer,
    tma,
    vote,
    warp,
    wgmma,
    wgmma_sparse,
)
from .alias import Alias, Spellings
from .core import Instruction
from .names import COURSE
from .operands import BadCombination, OtherSignature

FAMILIES = (
    memory, memory_vectors, memory_special, async_store, hints, mbarrier, fence, sync, grid, warp, vote, math, bits,
    library, packed, doubles, roots, cvt, cvt_stochastic, tma, tensormap, cp_async, matrix, mma, mma_sparse, wgmma,
    wgmma_sparse, tcgen05, tcgen05_forms, tcgen05_scaled, tcgen05_sparse, multicast, launch_control, timer,
    debug, opaque,
)  # fmt: skip
"""The instruction modules, in table order."""


class Overloads:
    """The instructions with the same name, of which a call's arguments select one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: list[tuple[Instruction, Alias]] = []

    def call(self, *args: object, span: Span | None = None, as_written: bool = False, **kwargs: object) -> Call:
        """Return a call of the first instruction that fits the arguments; raises `TirxError` if none does.

        as_written: whether the call records its source text, for the printer.
        """
        return self.guarded(*args, span=span, as_written=as_written, **kwargs)[0]

    def guarded(
        self, *args: object, span: Span | None = None, as_written: bool = False, **kwargs: object
    ) -> tuple[Call, object]:
        """Return a call and its execution condition (`Alias.guard`), or None if it is unconditional."""
        error: TirxError | None = None
        entries = self.entries
        if args and isinstance(args[0], (str, bool)):  # a modifier comes first, as in some of TVM's own orders
            entries = sorted(entries, key=lambda named: not named[1].order)
        for entry, alias in entries:
            given, condition = (kwargs, None) if not alias.guard else _without_guard(kwargs, alias)
            try:
                operands, attrs = entry.bind(args, given, alias)
            except TirxError as refused:
                if error is None or _fits(refused) > _fits(error):
                    error = refused
                continue
            dtype = entry.result_type(operands, dict(attrs))
            named = as_written and NAMES.get(self.path) is self and not alias.order and not entry.scattered
            written = _written(self.path, entry, alias, args, kwargs) if named else None
            return Call(dtype or HANDLE, entry.name, operands, attrs, written, span=span), condition
        assert error is not None
        raise error.at(span)


def _without_guard(kwargs: Mapping[str, object], alias: Alias) -> tuple[dict[str, object], object]:
    """Split the arguments of a call from its guard, which is None without a condition."""
    given = dict(kwargs)
    (always,) = alias.order[alias.guard]
    condition = given.pop(alias.guard, always)
    return given, None if not isinstance(condition, Expr) and condition == always else condition


def _fits(refused: TirxError) -> int:
    """Return how well refused arguments fit a signature, to select the message of the best fit."""
    return 2 if isinstance(refused, BadCombination) else 0 if isinstance(refused, OtherSignature) else 1


def _written(
    path: str, entry: Instruction, alias: Alias, args: Sequence[object], kwargs: Mapping[str, object]
) -> Written:
    """Return the text of a call, for the printer."""
    fixed = [operand.name for operand in entry.operands if not operand.variadic]
    modifiers = [each.name for each in entry.attributes]
    slots = fixed if len(fixed) < len(entry.operands) else [*fixed, *modifiers]  # after operands of any number, by name
    free = [name for name in slots if name not in alias.preset]
    given = {**dict(zip(free, args, strict=False)), **{alias.parameter(name): value for name, value in kwargs.items()}}
    places = tuple(place for place, name in enumerate(fixed) if name in alias.preset)
    numbers = tuple(place for place, name in enumerate(fixed) if type(given.get(name)) is int)
    return path, places, tuple(name for name in modifiers if name not in given), numbers


def table_of(modules: tuple[ModuleType, ...]) -> dict[str, Instruction]:
    """Return the entries in `modules` by name."""
    table: dict[str, Instruction] = {}
    for module in modules:
        for entry in vars(module).values():
            if isinstance(entry, Instruction) and entry.semantics.__module__ == module.__name__:
                if entry.name in table:
                    raise ValueError(f"two instructions are named {entry.name}")
                table[entry.name] = entry
    return table


def aliases(entry: Instruction, languages: Sequence[Spellings]) -> tuple[Alias, ...]:
    """Return the names of an instruction in some languages, its own first; a CUDA library function has two."""
    own = [each for language in languages for each in language.of(entry.name)]
    kinds = {o.name: [n for each in languages for n in each.operands.get(o.type.kind, ())] for o in entry.operands}
    parameters = {other: name for name, others in kinds.items() for other in others}
    values: dict[str, str] = {}
    for spelling in own:
        parameters.update(spelling.parameters)
        values.update(spelling.values)
    for other, meant in parameters.items():
        if other in entry.parameters or meant not in entry.parameters:
            raise ValueError(
                f"{entry.name} has {other!r} as a spelling of {meant!r}: the second must be a parameter, the first "
                "must not"
            )
    library = () if entry.ptx or not entry.pure else (f"cuda.{entry.name}",)
    names = (instruction_path(entry.name), *library, *(name for spelling in own for name in spelling.names))
    made = (name if isinstance(name, Alias) else Alias(name) for name in names)
    return tuple(replace(alias, parameters=parameters, values=values) for alias in made)


class Names(Mapping[str, Overloads]):
    """The instructions by call name, in the course's dialect and in the front ends' dialects.

    The mapping is built on first use, because front ends need the table.
    """

    def __init__(self, table: Mapping[str, Instruction]) -> None:
        self._table = table

    @cached_property
    def _languages(self) -> tuple[Spellings, ...]:
        return COURSE, *(resolve(each.instructions) for each in frontends() if each.instructions)

    @cached_property
    def _overloads(self) -> Mapping[str, Overloads]:
        found: dict[str, Overloads] = {}
        for entry in self._table.values():
            for alias in self.of(entry):
                found.setdefault(alias.path, Overloads(alias.path)).entries.append((entry, alias))
        return found

    def of(self, entry: Instruction) -> tuple[Alias, ...]:
        """Return the names of an instruction, its own first."""
        return aliases(entry, self._languages)

    def __getitem__(self, path: str) -> Overloads:
        return self._overloads[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __len__(self) -> int:
        return len(self._overloads)


TABLE = table_of(FAMILIES)
NAMES = Names(TABLE)


def instruction_of(node: object) -> Instruction | None:
    """Return the instruction that an IR node calls, or None for other nodes and unknown instructions."""
    return TABLE.get(node.op) if isinstance(node, Call) else None


def masked_at_run_time(node: object) -> bool:
    """Return whether a call is a multicast with a run-time CTA mask."""
    entry = instruction_of(node)
    return entry is not None and any(operand.name == "cta_mask" for operand in entry.operands)


def instructions(node: Stmt | Expr | PrimFunc) -> Iterator[Instruction]:
    """Yield the instructions called in a statement, an expression or a function, in program order."""
    for part in node.of(Call) if isinstance(node, PrimFunc) else walk(node):
        entry = instruction_of(part)
        if entry is not None:
            yield entry
