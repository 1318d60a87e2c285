"""The table of tile primitives, with the checks that run when a call is read.

The Tx namespace is generated from `OPS`, and `TileOp.build` creates a call. A primitive has named operands (tiles, or
values for the names in `values`) and options with defaults.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tirx_mini.ir import Expr, Region, Span, TileCall, TirxError, as_expr
from tirx_mini.isa import POLICIES

from . import checks
from .region import as_region

SCOPES = ("cta", "warpgroup", "warp", "thread")


@dataclass(frozen=True)
class Option:
    """An option of tile primitives.

    type: of its values, as annotations of `tirx_mini.script.tirx` write it; that of `dispatch` follows from the rules.
    meaning: what it decides, in a line.
    """

    type: str
    meaning: str


OPTIONS: Mapping[str, Option] = {
    "dispatch": Option("str | None", "the rule that implements the call; without it, the first that supports it"),
    "mbar": Option("SharedPointer | None", "the mbarrier on which a TMA load completes its bytes; none for a store"),
    "cta_group": Option("int", "the number of CTAs of a cluster that cooperate in the operation"),
    "cta_mask": Option(
        "int | None", "the CTAs of the cluster that receive the tile, bit r for rank r; several bits are a multicast"
    ),
    "cache_hint": Option(
        f"Literal[{', '.join(map(repr, POLICIES))}] | str | None",
        "the priority with which the L2 cache evicts the data",
    ),
    "accum": Option("Condition", "whether the product is added to C; otherwise it overwrites C"),
    "width": Option("int", "the number of adjacent lanes whose values are reduced together"),
    "num_warps": Option("int | None", "the number of warps of the CTA, which is checked"),
    "scratch": Option(
        "SharedPointer | None", "shared memory with one element for each warp; without it, the compiler allocates it"
    ),
}
"""What the options of tile primitives mean, by name."""


@dataclass(frozen=True)
class TileOp:
    """A tile primitive.

    operands: names in order. Those in `values` are scalars, those in `either` are tiles or scalars, all others tiles.
    options: keyword arguments with their defaults; None means not given.
    aliases: other spellings of options.
    check: raises TirxError for operands that no rule can accept.
    """

    name: str
    operands: tuple[str, ...]
    doc: str
    options: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[TileCall], None] = checks.same_extents
    values: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """What it does, and what each of its options means."""
        return "\n".join([self.doc, *(f"\n{name}: {OPTIONS[name].meaning}" for name in self.options)])

    @property
    def signature(self) -> inspect.Signature:
        """The primitive as a Python function: operands, then options as keywords."""
        kinds = inspect.Parameter
        return inspect.Signature(
            [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self.operands]
            + [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in self.options.items()]
        )

    def build(self, *args: Any, span: Span | None = None, scope: str | None = None, **kwargs: Any) -> TileCall:
        """A call of this primitive at `span`, bound to `scope` if the spelling is scope-bound (``Tx.cta.copy``).

        Raises TirxError for wrong arguments, and for operands that do not fit together.
        """
        try:
            bound = dict(zip(self.operands, args, strict=False))
            options = self._options(args, bound, kwargs)
            operands = tuple(self._operand(name, bound[name]) for name in self.operands)
            call = TileCall(self.name, operands, tuple(options.items()), scope, span=span)
            self.check(call)
        except TirxError as error:
            raise error.at(span) from None
        return call

    def _options(self, args: tuple[Any, ...], bound: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The options under their canonical names; operands passed as keywords are added to `bound`."""
        if len(args) > len(self.operands):
            raise TirxError(
                f"{self.name} expects {len(self.operands)} operands ({', '.join(self.operands)}), found {len(args)}",
                hint=f"pass {', '.join(f'{name}=' for name in self.options)} by name" if self.options else None,
            )
        options: dict[str, Any] = {}
        for key, value in kwargs.items():
            name = self.aliases.get(key, key)
            if name in self.operands:
                if name in bound:
                    raise TirxError(f"{self.name} is given {name} twice")
                bound[name] = value
            elif name in self.options:
                if value is not None:
                    options[name] = value
            else:
                close = difflib.get_close_matches(key, [*self.options, *self.operands], 1)
                hint = f"did you mean {close[0]}=?" if close else f"its options are {', '.join(self.options) or 'none'}"
                raise TirxError(f"{self.name} has no option {key}", hint=hint)
        missing = [name for name in self.operands if name not in bound]
        if missing:
            hint = f"write {self.name}({', '.join(self.operands)})"
            raise TirxError(f"{self.name} is called without {', '.join(missing)}", hint=hint)
        return options

    def _operand(self, name: str, value: Any) -> Expr:
        if name in self.values:
            expr = as_expr(value)
            if isinstance(expr, Region):
                raise TirxError(f"the {name} of {self.name} must be a value, not a tile", expr.span)
            return expr
        if name in self.either and not hasattr(value, "region") and not isinstance(value, Region):
            return as_expr(value)
        return as_region(value)


def _elementwise(name: str, doc: str, *sources: str) -> TileOp:
    return TileOp(name, ("dst", *sources), doc, check=checks.elementwise, either=sources[1:])


def _reduction(name: str) -> TileOp:
    return TileOp(f"reduce_{name}", ("dst", "src"), f"The {name} of src over the dimensions that dst lacks.",
                  {"dispatch": None}, checks.reduction)  # fmt: skip


def _of_values(unit: str, name: str) -> TileOp:
    options = {"width": 32} if unit == "warp" else {"num_warps": None, "scratch": None}
    doc = f"The {name} of one value per thread, returned to every thread of the {unit}."
    return TileOp(f"{unit}_{name}", ("dst", "value"), doc, options, checks.nothing, values=("value",))


_ALL = (
    TileOp(
        "copy",
        ("dst", "src"),
        "Copy a tile. For the executing threads, the copy is complete when the call returns.",
        {"dispatch": None},
        checks.copy,
    ),
    TileOp(
        "copy_async",
        ("dst", "src"),
        "Start to copy a tile: by TMA, by cp.async, or from tensor memory to registers.",
        {"dispatch": None, "mbar": None, "cta_group": 1, "cta_mask": None, "cache_hint": None},
        checks.copy,
        aliases={"multicast": "cta_mask", "bar": "mbar"},
    ),
    TileOp("cast", ("dst", "src"), "Convert each element to the dtype of the destination.", {}, checks.same_extents),
    TileOp("fill", ("dst", "value"), "Set every element to one value.", {}, checks.nothing, values=("value",)),
    TileOp(
        "gemm_async",
        ("C", "A", "B"),
        "Start C = A @ B.T, or C += A @ B.T where `accum` holds.",
        {"accum": False, "dispatch": None, "cta_group": 1},
        checks.gemm,
    ),
    _elementwise("add", "dst = a + b.", "a", "b"),
    _elementwise("sub", "dst = a - b.", "a", "b"),
    _elementwise("mul", "dst = a * b.", "a", "b"),
    _elementwise("fdiv", "dst = a / b.", "a", "b"),
    _elementwise("maximum", "dst = max(a, b).", "a", "b"),
    _elementwise("minimum", "dst = min(a, b).", "a", "b"),
    _elementwise("neg", "dst = -a.", "a"),
    *(_reduction(name) for name in ("sum", "max", "min")),
    *(_of_values(unit, name) for unit in ("warp", "cta") for name in ("sum", "max", "min")),
)

OPS: Mapping[str, TileOp] = {op.name: op for op in _ALL}
