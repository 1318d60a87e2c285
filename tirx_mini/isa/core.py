"""The entries of the instruction table, each defined by one decorated function.

    @instruction("mbarrier.init.shared::cta.b64 [{bar}], {count};", name="mbarrier.init", issued_by=Scope.THREAD,
                 min_sm=80, cost="smem_atomic", barrier=BarrierEffect.INIT)
    def mbarrier_init(gpu: Machine, thread: Thread, bar: MbarrierAddress, count: u32) -> None:
        \"\"\"Make `bar` a barrier that expects `count` arrivals in each phase.\"\"\"
        gpu.mbarrier(thread, bar).init(thread, count)

The decorator states the PTX and other facts (`facts`). Positional parameters are operands; their annotations are
the operand types (`operands`). Keyword-only parameters are static modifiers, also named in the PTX template. The return
annotation is the type of the result. The body executes the instruction in the simulator, in the verbs of `machine`:
`thread` is a warp with its active lanes, and a generator blocks by yielding.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from types import CodeType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import numpy as np

from tirx_mini.ir import AddressOf, Buffer, Call, DataType, Expr, TirxError
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .alias import Alias
from .facts import Facts, LaneResult, Scope
from .fragments import with_registers
from .groups import blocking_groups, by_masks, groups
from .machine import MBARRIER_VERBS, Blocking, DivergentThread, LanesT
from .operands import (
    REGISTER_TYPES,
    Attribute,
    BadCombination,
    Operand,
    OperandKind,
    OperandType,
    OtherSignature,
    pointed_type,
    typed,
)

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Instruction(Facts):
    """One instruction of the table.

    semantics: the body, which executes it in the simulator.
    operands: its positional parameters, in order.
    attributes: its static modifiers.
    result: the type of its result; None if it has none.
    blocking: whether `semantics` is a generator, or returns one, which waits by yielding.
    doc: the docstring of the body.
    """

    semantics: Callable[..., Any]
    operands: tuple[Operand, ...]
    attributes: tuple[Attribute, ...]
    result: OperandType | None
    blocking: bool
    doc: str

    def __post_init__(self) -> None:
        """Check the facts; raises `ValueError` if they contradict one another, the signature or the body."""
        wrong = next(self._contradictions(), None)
        if wrong is not None:
            raise ValueError(f"{self.name} {wrong}")

    def _contradictions(self) -> Iterator[str]:
        named = any(operand.type.kind is OperandKind.MBARRIER for operand in self.operands)
        verbs = sorted(MBARRIER_VERBS & self.used_names)
        if self.barrier is None and (named or verbs):
            reason = f"its body calls gpu.{verbs[0]}" if verbs else "an operand is an MbarrierAddress"
            yield f"touches an mbarrier ({reason}): declare barrier=BarrierEffect.…"
        if self.barrier is not None and not named:
            yield f"declares {self.barrier}: the operand that it affects must be an MbarrierAddress"
        if self.pure and (self.result is None or self.blocking or self.barrier or self.reads | self.writes):
            yield "is declared pure: it must have a result, wait for nothing, and touch no memory and no mbarrier"
        if self.moves_registers and "count" not in self.parameters:
            yield "declares moves_registers: a modifier `count` must say how many registers a thread has then"
        if self.blocking and not self.awaits and self.barrier is None:
            yield "blocks: declare awaits=\"…\", what a warp waits for in it"
        if not self.ptx and self.cuda is None:
            yield "has no PTX: declare cuda=CudaName(…), the function of CUDA C++ that it is"

    @cached_property
    def used_names(self) -> frozenset[str]:
        """The names that the body uses, including the machine's verbs."""
        return frozenset(_names(self.semantics.__code__))

    @property
    def waits_at_named_barrier(self) -> bool:
        """Return whether the instruction waits at one of the CTA's barriers 0 to 15."""
        return self.blocking and "barrier_id" in self.parameters

    @property
    def arrives_at_named_barrier(self) -> bool:
        """Return whether the instruction arrives at a CTA barrier without waiting (PTX ISA: "bar, barrier")."""
        return not self.blocking and "barrier_id" in self.parameters

    @property
    def counts_threads(self) -> bool:
        """Return whether the instruction specifies the thread count of a CTA barrier (PTX ISA: "bar, barrier")."""
        return {"barrier_id", "threads"} <= self._known

    @property
    def is_atomic(self) -> bool:
        """Return whether the instruction is an atomic operation on global or shared memory (PTX ISA: "atom", "red")."""
        return bool(self.typed and self.reads & self.writes)

    @property
    def stores_words(self) -> bool:
        """Return whether the instruction stores values (PTX ISA: "st") at the address in its first operand."""
        kinds = {operand.type.kind for operand in self.operands}
        return bool(self.writes) and not self.reads and self.completion is None and OperandKind.TYPED in kinds

    @property
    def in_registers(self) -> bool:
        """Return whether it neither accesses nor orders memory, so that compilers may move accesses across it."""
        return self.pure or (self.registers is not None and not self.reads | self.writes)

    @property
    def elects(self) -> bool:
        """Return whether the result is true in exactly one lane of a warp."""
        return self.lanes is LaneResult.ELECTED

    def exists_on(self, sm: int) -> bool:
        """Return whether an architecture, such as 90, supports the instruction."""
        return self.min_sm <= sm and (self.max_sm is None or sm <= self.max_sm)

    def missing_on(self, sm: int, attrs: Mapping[str, object]) -> tuple[str, object] | None:
        """Return the modifier and value of a supported instruction that an architecture lacks, or None."""
        return next(
            (
                (name, value)
                for (name, value), some in self.only_on.items()
                if attrs.get(name) == value and sm not in some
            ),
            None,
        )

    def template(self, attrs: Mapping[str, object] | None = None) -> str:
        """Return the PTX with modifiers substituted and {operand} placeholders kept."""
        values = {a.name: a.default for a in self.attributes} | dict(attrs or {})
        text = self.ptx if isinstance(self.ptx, str) else self.ptx(**values)
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
            text = text.replace("{." + name + "}", f".{name if value is True else value}" if value else "")
        return text

    def result_type(self, operands: Sequence[Expr], attrs: Mapping[str, object]) -> DataType | None:
        """Return the result type of a call, or None if it has no result."""
        if self.result is None:
            return None
        if self.carriers is not None:
            return DataType(REGISTER_TYPES[self.carriers(**attrs)[1]])
        if self.typed:
            return DataType(str(attrs.get("returned") or REGISTER_TYPES[str(attrs[self.typed])]))
        return self.result.dtype or (operands[0].dtype if operands else None)

    def register_counts(self, attrs: Mapping[str, object] | None = None) -> Mapping[str, int]:
        """Return the number of 32-bit registers per thread for each register operand, by name."""
        if self.registers is None:
            return {}
        counts = self.registers(**{a.name: a.default for a in self.attributes} | dict(attrs or {}))
        if isinstance(counts, Mapping):
            return counts
        return {o.name: counts for o in self.operands if o.type.kind is OperandKind.REGISTERS}

    # -- calls in the IR -----------------------------------------------------------------------------------------

    def argument(self, call: Call, name: str) -> Expr:
        """Return the argument of a call for the non-variadic operand `name`."""
        return call.args[[operand.name for operand in self.operands].index(name)]

    def matched(self, args: Sequence[_T], attrs: Mapping[str, object]) -> list[tuple[Operand, tuple[_T, ...]]]:
        """Pair each operand with its arguments: several for a variadic operand or separately given registers."""
        fixed = self._fixed
        apart = self.scattered and len(args) != len(fixed)
        counts: Mapping[str, int] = self.register_counts(attrs) if apart else {}
        pairs: list[tuple[Operand, tuple[_T, ...]]] = []
        at = 0
        for operand in fixed:
            end = at + counts.get(operand.name, 1)
            pairs.append((operand, tuple(args[at:end])))
            at = end
        return pairs + [(operand, tuple(args[at:])) for operand in self.operands if operand.variadic]

    def peer(self, call: Call) -> Expr | None:
        """Return the rank of the CTA whose shared memory a call addresses, or None for the executing CTA."""
        ranks = (operand.name for operand in self.operands if operand.type.kind is OperandKind.CTA_RANK)
        return next((self.argument(call, name) for name in ranks), None)

    # -- calling from a kernel -----------------------------------------------------------------------------------

    def bind(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], alias: Alias | None = None
    ) -> tuple[tuple[Expr, ...], tuple[tuple[str, object], ...]]:
        """Return (operands, attributes) of a call; raises `TirxError` if the arguments do not fit the signature.

        Arguments fill the operands in order, then the modifiers; both may be passed by name. alias: the name by which
        the instruction is called, with its own order, defaults and values.
        """
        alias = alias or self._unnamed
        given = self._given(args, kwargs, alias)
        rest = given.pop(self._variadic, ())
        for operand in self._fixed:
            if operand.name not in given:
                raise OtherSignature(f"{self.signature()} needs {operand.name!r}: {operand.type.what}")
        for each in self.attributes:
            if each.required and each.name not in given:
                raise OtherSignature(f"{self.signature()} needs {each.name!r}")
        attrs: dict[str, Any] = {
            each.name: each.convert(alias.value(given.get(each.name, each.default)), self.name)
            for each in self.attributes
        }
        operands = self._fixed_operands(given, attrs)
        operands += [self.operands[-1].convert(value, self.name) for value in rest]
        if self.typed:
            attrs[self.typed] = attrs[self.typed] or pointed_type(operands, self.name)
        self._check_call(operands, attrs)
        if self.carriers is not None:
            kind, _ = self.carriers(**attrs)
            operands = [typed(each, kind, self.operands[-1].type, self.name) for each in operands]
        if self.typed:
            types = [*(o.type for o in self._fixed), *(self.operands[-1].type for _ in rest)]
            operands = [typed(e, str(attrs[self.typed]), t, self.name) for e, t in zip(operands, types, strict=True)]
        defaults = {a.name: a.default for a in self.attributes if a.name in self.sparse}.items()
        return tuple(operands), tuple(pair for pair in attrs.items() if pair not in defaults)

    def _given(self, args: tuple[object, ...], kwargs: Mapping[str, object], alias: Alias) -> dict[str, Any]:
        """Return the arguments of a call by parameter name, with those of a variadic operand as a tuple."""
        if alias.order:
            return self._ordered(args, kwargs, alias)
        given = dict(alias.preset)
        order = [name for name in self.parameters if name not in given] if given else self.parameters
        args = self._grouped(args, kwargs, alias) if self.scattered else args
        if self._variadic and len(args) > (first := order.index(self._variadic)):
            given[self._variadic] = args[first:]
            args = args[:first]
        if len(args) > len(order):
            raise self._too_many(len(order), len(args))
        plain = alias is self._unnamed and not self.scattered
        if plain and kwargs.keys() <= self._known and kwargs.keys().isdisjoint((*given, *order[: len(args)])):
            return {**given, **dict(zip(order, args, strict=False)), **kwargs}
        for name, value in itertools.chain(zip(order, args, strict=False), kwargs.items()):
            self._give(given, alias.parameter(name), name, value)
        return {**alias.defaults, **given} if alias.defaults else given

    def _ordered(self, args: tuple[object, ...], kwargs: Mapping[str, object], alias: Alias) -> dict[str, Any]:
        """Return the arguments of a call by parameter name, for an alias with its own parameter order."""
        shown = list(alias.order)
        first = next((place for place, name in enumerate(shown) if name.startswith("*")), len(shown))
        if len(args) > first == len(shown):
            raise self._too_many(first, len(args))
        named: list[tuple[str, Any]] = list(zip(shown, args[:first], strict=False))
        if len(args) > first:
            named.append((shown[first].lstrip("*"), args[first:]))
        given = dict(alias.preset)
        plain = {name.lstrip("*"): meant for name, meant in alias.order.items()}
        for name, value in itertools.chain(named, kwargs.items()):
            meant = plain.get(name, alias.parameter(name))
            if not isinstance(meant, tuple):
                self._give(given, meant, name, value, adapted=bool(alias.adapt) and meant in plain.values())
            elif meant[0] is not ... and (isinstance(value, Expr) or value not in meant):
                choices = " or ".join(map(repr, meant))
                raise TirxError(f"{name!r} of {self.name} is {described(value)}; it can only be {choices}")
        given = {**alias.defaults, **given}
        return alias.adapt(given) if alias.adapt else given

    def _give(self, given: dict[str, Any], meant: str, name: str, value: object, adapted: bool = False) -> None:
        """Record an argument. name: the written name. adapted: whether other arguments are derived from it."""
        if meant not in self._known and not adapted:
            hint = f"its parameters are {', '.join(self.parameters)}"
            raise OtherSignature(f"{self.signature()} has no parameter {name!r}", hint=hint)
        if value is None and self.scattered:
            return
        if meant in given:
            raise TirxError(f"{self.signature()} is given {meant!r} twice")
        given[meant] = value

    def _too_many(self, most: int, count: int) -> OtherSignature:
        return OtherSignature(f"{self.signature()} takes {most} argument{'s' * (most != 1)}, but {count} are given")

    @cached_property
    def _unnamed(self) -> Alias:
        """The alias of calls by the instruction's own name."""
        return Alias(self.name)

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the operands and modifiers, in order."""
        return [each.name for each in (*self.operands, *self.attributes)]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.parameters)

    @cached_property
    def _fixed(self) -> list[Operand]:
        return [operand for operand in self.operands if not operand.variadic]

    @cached_property
    def _variadic(self) -> str:
        """The name of the variadic operand, or "" if there is none."""
        return next((operand.name for operand in self.operands if operand.variadic), "")

    def _grouped(self, args: tuple[object, ...], kwargs: Mapping[str, object], alias: Alias) -> tuple[Any, ...]:
        """Group separately given registers in the positional arguments, one tuple for each operand."""
        attrs = {a.name: alias.value(kwargs.get(a.name, a.default)) for a in self.attributes}
        if any(a.choices and attrs[a.name] not in a.choices for a in self.attributes):
            return args
        counts = [self.register_counts(attrs).get(operand.name, 1) for operand in self.operands]
        if len(args) != sum(counts) or not all(isinstance(arg, (Expr, Buffer)) for arg in args):
            return args
        ends = list(itertools.accumulate(counts))
        groups: list[tuple[Any, ...]] = [args[end - count : end] for end, count in zip(ends, counts, strict=True)]
        return tuple(group[0] if len(group) == 1 else group for group in groups)

    def _fixed_operands(self, given: Mapping[str, object], attrs: Mapping[str, object]) -> list[Expr]:
        """Return the non-variadic operands."""
        if self.scattered:
            self._check_combination((), attrs)
        if self.registers is None:
            return [operand.convert(given[operand.name], self.name) for operand in self._fixed]
        return with_registers(self._fixed, given, self.register_counts(attrs), self.name, self.scattered)

    def _check_combination(self, operands: Sequence[Expr], attrs: Mapping[str, object]) -> None:
        wrong = self.check(operands, **attrs) if self.check else None
        if wrong:
            raise BadCombination(f"{self.name}: {wrong}")

    def _check_call(self, operands: Sequence[Expr], attrs: Mapping[str, object]) -> None:
        """Raise `TirxError` if modifiers conflict, or name a state space other than the pointer's."""
        self._check_combination(operands, attrs)
        space = str(attrs.get("space", "")).split("::")[0]
        if not space or self.scattered:
            return
        for operand, expr in zip(self.operands, operands, strict=False):
            if operand.type.kind is not OperandKind.MEMORY or not isinstance(expr, AddressOf):
                continue
            if expr.buffer.scope != space:
                name, scope = expr.buffer.name, expr.buffer.scope
                raise TirxError(
                    f"{operand.name!r} of {self.name} points to {name} in {scope} memory, but the space is {space!r}",
                    expr.span,
                    f'write space="{scope}"',
                )

    def signature(self) -> str:
        """The instruction and its parameters, as printed in messages."""
        names = [("*" if o.variadic else "") + o.name for o in self.operands]
        for a in self.attributes:
            names.append(a.name if a.required else f"{a.name}={a.default!r}")
        return f"{self.name}({', '.join(names)})"

    # -- executing in the simulator ------------------------------------------------------------------------------

    def execute(self, gpu: object, thread: DivergentThread[LanesT], *operands: object, **attrs: object) -> object:
        """Execute the instruction for the active lanes of a warp; return a generator if it is `blocking`.

        A single-thread instruction whose operands differ among lanes is executed once for each group of lanes
        with equal operands; one that the lanes of a mask execute together, once for each mask.
        """
        if self.meets_by_mask and not self.blocking:
            given = enumerate(zip(self.operands, operands, strict=False))
            masks = [i for i, (operand, value) in given if operand.name == "mask" and isinstance(value, np.ndarray)]
            if masks:
                return by_masks(self.semantics, gpu, thread, masks[0], operands, attrs)
        if self.issued_by is Scope.THREAD and not self.lanewise and any(isinstance(o, np.ndarray) for o in operands):
            run = blocking_groups if self.blocking else groups
            return run(self.semantics, gpu, thread, operands, attrs)
        return self.semantics(gpu, thread, *operands, **attrs)


@dataclass(frozen=True, kw_only=True, eq=False)
class instruction(Facts):
    """The decorator that creates a table entry from the decorated function."""

    def __call__(self, semantics: Callable[..., object]) -> Instruction:
        code, defaults = semantics.__code__, semantics.__kwdefaults__ or {}
        end = code.co_argcount + code.co_kwonlyargcount
        variadic = code.co_varnames[end : end + 1] if code.co_flags & inspect.CO_VARARGS else ()
        operands = [
            Operand(name, _operand_type(_hint(semantics, name)), name in variadic)
            for name in (*code.co_varnames[2 : code.co_argcount], *variadic)
        ]
        attributes: list[Attribute] = []
        for name in code.co_varnames[code.co_argcount : end]:
            hint = _hint(semantics, name)
            choices = get_args(hint) if get_origin(hint) is Literal else None
            default = defaults.get(name, inspect.Parameter.empty)
            attributes.append(Attribute(name, default, choices, hint in (int, int | None), hint is str, hint is bool))
        returned = _hint(semantics, "return")
        return Instruction(
            **vars(self),
            semantics=semantics,
            operands=tuple(operands),
            attributes=tuple(attributes),
            result=_operand_type(returned) if get_origin(returned) is Annotated else None,
            blocking=inspect.isgeneratorfunction(semantics) or returned == Blocking,
            doc=inspect.getdoc(semantics) or "",
        )


def _hint(semantics: Callable[..., object], name: str) -> Any:
    """Evaluate an annotation of a function; functions of a module share the value of equal texts."""
    return _meaning(semantics.__annotations__[name], semantics.__module__)


@cache
def _meaning(text: str, module: str) -> Any:
    return eval(text, vars(sys.modules[module]))


def _names(code: CodeType) -> Iterator[str]:
    """Yield the globals and attributes that a code object uses, including those of its inner functions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _operand_type(hint: object) -> OperandType:
    return next(x for x in get_args(hint) if isinstance(x, OperandType))
