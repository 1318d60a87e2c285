"""The table of tile primitives, with the operand checks that run when a call is parsed.

The Tx namespace is generated from `OPS`, and `TileOp.build` creates a call. A primitive has named operands (tiles, or
values for the names in `values`) and options with defaults.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from tirx_mini.ir import Expr, Region, Span, TileCall, TirxError, as_expr
from tirx_mini.records import dataclass

from . import checks
from .options import OPTIONS, given
from .region import as_region

SCOPES = ("cta", "warpgroup", "warp", "thread")


@dataclass(frozen=True)
class TileOp:
    """A tile primitive.

    operands: names in order. Those in `values` are scalars, those in `either` are tiles or scalars, all others tiles.
    options: keyword arguments with their defaults; None means not given.
    optional: the last operands that a call may leave out; one that stands for the tile `dst` is named in `in_place`.
    course: the options in the order of the course, which follow the needed operands where these are given by position
        and the next argument is no tile.
    aliases: other spellings of operands and options.
    check: raises TirxError for operands that no rule can accept.
    """

    name: str
    operands: tuple[str, ...]
    doc: str
    options: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[TileCall], None] = checks.same_extents
    values: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    in_place: str = ""
    course: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """The help text: the effect of the call, and the meaning of each option."""
        return "\n".join([self.doc, *(f"\n{name}: {OPTIONS[name].meaning}" for name in self.options)])

    @property
    def signature(self) -> inspect.Signature:
        """The signature as a Python function: operands, followed by keyword options."""
        kinds = inspect.Parameter
        return inspect.Signature(
            [self._parameter(name) for name in self.operands]
            + [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in self.options.items()]
        )

    def _parameter(self, name: str) -> inspect.Parameter:
        default = None if name in self.optional else inspect.Parameter.empty
        return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)

    def positional(self, args: tuple[object, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split positional arguments into operands and the options that follow them."""
        needed = len(self.operands) - len(self.optional)
        if self.course and len(args) > needed and args[needed] is not None and not _is_tile(args[needed]):
            return args[:needed], dict(zip(self.course, args[needed:], strict=False))
        return args[: len(self.operands)], dict(zip(self.options, args[len(self.operands) :], strict=False))

    def build(self, *args: object, span: Span | None = None, scope: str | None = None, **kwargs: object) -> TileCall:
        """Build a call at `span`, bound to `scope` if the spelling is scope-bound (``Tx.cta.copy``).

        Raises TirxError for wrong arguments, and for operands that do not fit together.
        """
        try:
            bound = dict(zip(self.operands, args, strict=False))
            options = self._options(args, bound, kwargs)
            operands = tuple(self._operand(name, bound[name]) for name in self.operands if name in bound)
            call = TileCall(self.name, operands, tuple(options.items()), scope, span=span)
            checks.whole_bytes(call)
            self.check(call)
        except TirxError as error:
            raise error.at(span) from None
        return call

    def _options(self, args: tuple[object, ...], bound: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, object]:
        """Return the options under their canonical names, moving operands passed by keyword to `bound`."""
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
                if value is not None or name not in self.optional:
                    bound[name] = value
            elif name in self.options:
                if value is not None:
                    options[name] = given(name, value, self.name)
            else:
                close = difflib.get_close_matches(key, [*self.options, *self.operands], 1)
                hint = f"did you mean {close[0]}=?" if close else f"its options are {', '.join(self.options) or 'none'}"
                raise TirxError(f"{self.name} has no option {key}", hint=hint)
        self._complete(bound)
        missing = [name for name in self.operands if name not in bound and name not in self.optional]
        if missing:
            hint = f"write {self.name}({', '.join(self.operands)})"
            raise TirxError(f"{self.name} is called without {', '.join(missing)}", hint=hint)
        return options

    def _complete(self, bound: dict[str, Any]) -> None:
        """Fill in omitted operands before the last given one, with the tile `dst` or the neutral number."""
        given = [name for name in self.operands if bound.get(name) is not None]
        for name in self.operands:
            if bound.get(name) is None:
                bound.pop(name, None)
                if name == self.in_place and "dst" in bound:
                    bound[name] = bound["dst"]
                elif name in self.optional and given and self.operands.index(name) < self.operands.index(given[-1]):
                    if name not in NEUTRAL:
                        raise TirxError(f"{self.name} is given {given[-1]} without {name}", hint=f"pass {name}=, too")
                    bound[name] = NEUTRAL[name]

    def _operand(self, name: str, value: object) -> Expr:
        if name in self.values:
            expr = as_expr(value)
            if isinstance(expr, Region):
                raise TirxError(f"the {name} of {self.name} must be a value, not a tile", expr.span)
            return expr
        if name in self.either and not _is_tile(value):
            return as_expr(value)
        return as_region(value)


def _is_tile(value: object) -> bool:
    return hasattr(value, "region") or isinstance(value, Region)


NEUTRAL: Mapping[str, float] = {"bias": 0.0, "scale": 1.0}
"""What stands for an operand that a call leaves out, where a later one is given."""


def _elementwise(name: str, doc: str, *sources: str, rounds: bool = False) -> TileOp:
    options = {"dispatch": None, "rounding_mode": None} if rounds else {"dispatch": None}
    aliases = {f"src{i}": source for i, source in enumerate(sources, 1)} if len(sources) == 2 else {}
    return TileOp(name, ("dst", *sources), doc, options, checks.elementwise, either=sources[1:], aliases=aliases)


def _function(name: str, doc: str, *extra: str) -> TileOp:
    """Define an elementwise function. extra: "bias" and "scale" for a function of src * scale + bias."""
    return TileOp(name, ("dst", "src", *extra), doc, {"dispatch": None}, checks.elementwise, either=extra,
                  optional=("src", *extra), in_place="src")  # fmt: skip


def _scaled(name: str, doc: str) -> TileOp:
    return _function(name, f"{doc} With `scale` or `bias`, of src * scale + bias in place of src.", "bias", "scale")


def _reduction(name: str) -> TileOp:
    doc = f"The {name} of src over the dimensions `axes`; without them, over those that dst lacks."
    options = {"axes": None, "accum": False, "dispatch": None, "thread_reduce": False}
    return TileOp(f"reduce_{name}", ("dst", "src"), doc, options, checks.reduction)


def _of_values(unit: str, name: str) -> TileOp:
    options = {"width": 32} if unit == "warp" else {"num_warps": None, "scratch": None}
    doc = f"The {name} of one value per thread, returned to every thread of the {unit}."
    return TileOp(f"{unit}_{name}", ("dst", "value"), doc, options, checks.nothing, values=("value",))


_ALL = (
    TileOp(
        "copy",
        ("dst", "src"),
        "Copy a tile. For the executing threads, the copy is complete when the call returns.",
        {"dispatch": None, "vec_len": None, "cache": None, "l1_evict": None, "l2_evict": None, "prefetch_size": None},
        checks.copy,
    ),
    TileOp(
        "copy_async",
        ("dst", "src"),
        "Start to copy a tile: by TMA, by cp.async, or from tensor memory to registers.",
        {"dispatch": None, "mbar": None, "cta_group": 1, "cta_mask": None, "cache_hint": None,
         "prefetch_tensormap": False, "tma_dtype": None, "shape": None, "remote_cta_id": None,
         "use_tma_reduce": None, "oob": None, "mbarrier_addr": False, "tensormap_l2_promotion": None,
         "prefetch_size": None, "vec_len": None, "decompress": False},
        checks.copy,
        aliases={"multicast": "cta_mask", "bar": "mbar"},
    ),
    TileOp("cast", ("dst", "src"), "Convert each element to the dtype of the destination.", {"dispatch": None},
           checks.same_extents),
    TileOp("fill", ("dst", "value"), "Set every element to one value.", {"dispatch": None}, checks.nothing,
           values=("value",)),
    TileOp("zero", ("dst", "src"), "Set every element to 0; the second operand is not read.", {"dispatch": None},
           checks.same_extents, optional=("src",)),
    TileOp("permute_layout", ("dst", "src"), "Copy a tile of shared memory to another layout, also in place.",
           {"dispatch": None}, checks.copy),
    TileOp(
        "gemm_async",
        ("C", "A", "B", "SFA", "SFB"),
        "Start C = A @ B.T, or C += A @ B.T where `accum` holds; SFA and SFB are factors that scale blocks of A and B.",
        {"transA": False, "transB": False, "accum": False, "dispatch": None, "cta_group": 1, "mma_m": None,
         "mma_n": None, "smem_desc": "hoist", "descI": None, "is_AB_tf32": False, "weight_stationary": False},
        checks.gemm,
        optional=("SFA", "SFB"),
        course=("accum", "dispatch", "cta_group"),
    ),
    TileOp(
        "gemm",
        ("D", "A", "B", "C"),
        "D = alpha A @ B + beta C on matrices in the registers of warps. Complete when the call returns.",
        {"transpose_A": False, "transpose_B": False, "alpha": 1.0, "beta": 0.0, "dispatch": None},
        checks.product,
    ),
    _elementwise("add", "dst = a + b.", "a", "b", rounds=True),
    _elementwise("sub", "dst = a - b.", "a", "b", rounds=True),
    _elementwise("mul", "dst = a * b.", "a", "b", rounds=True),
    _elementwise("fdiv", "dst = a / b.", "a", "b"),
    _elementwise("maximum", "dst = max(a, b).", "a", "b"),
    _elementwise("minimum", "dst = min(a, b).", "a", "b"),
    _elementwise("neg", "dst = -a.", "a"),
    TileOp("fma", ("dst", "src", "scale", "bias"), "dst = src * scale + bias, rounded once.",
           {"dispatch": None, "rounding_mode": None}, checks.elementwise, either=("scale", "bias")),
    _scaled("exp2", "2 to the power of each element of src."),
    _scaled("exp", "e to the power of each element of src."),
    _scaled("log2", "The logarithm of each element of src to the base 2."),
    _scaled("sqrt", "The square root of each element of src."),
    _function("reciprocal", "1 / each element of src."),
    _function("silu", "src * sigmoid(src) = src / (1 + exp(-src))."),
    *(_reduction(name) for name in ("sum", "max", "min")),
    *(_of_values(unit, name) for unit in ("warp", "cta") for name in ("sum", "max", "min")),
)

OPS: Mapping[str, TileOp] = {op.name: op for op in _ALL}
SPELLINGS: Mapping[str, str] = {"sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "memset": "fill"}
"""Other names of tile primitives, as TVM 0.26 calls them."""


def op_of(name: str) -> TileOp | None:
    """Return the tile primitive of this name or spelling, or None."""
    return OPS.get(SPELLINGS.get(name, name))
