"""The errors of tile programs, by cuTile's names. Each is a page with the line and what to write instead."""

from __future__ import annotations

from tirx_mini.ir import Span, TirxError


class TileError(TirxError):
    """A mistake in a tile program."""

    default_kind = "tile-syntax"

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        notes: tuple[tuple[str, Span | None], ...] = (),
        kind: str | None = None,
    ) -> None:
        super().__init__(message, span, hint, notes, kind or self.default_kind)


class TileSyntaxError(TileError):
    """Python that tile code does not support."""


class TileTypeError(TileError, TypeError):
    """A value of the wrong type: a dtype, a shape, a tile where a constant is needed."""

    default_kind = "tile-type"


class TileValueError(TileError, ValueError):
    """A constant that is out of its range."""

    default_kind = "tile-type"


class TileShapeError(TileTypeError):
    """Shapes that do not fit together, or that are not shapes of tiles."""

    default_kind = "tile-shape"


class TileNameError(TileTypeError):
    """A name that is not defined, or not on every path."""

    default_kind = "unknown-name"


class TileUnsupportedFeatureError(TileError):
    """A feature of cuTile that is not supported here."""

    default_kind = "tile-unsupported"


class TileRecursionError(TileError, RecursionError):
    """A function that calls itself."""


class TileStaticAssertionError(TileError, AssertionError):
    """A `ct.static_assert` that does not hold."""

    default_kind = "tile-static"


class TileStaticEvalError(TileError):
    """An expression of `ct.static_eval` that raised, or that computes at run time."""

    default_kind = "tile-static"


class StaticException(TileError):
    """An exception that a program raises while it is compiled, by `raise ct.static_exception(…)`."""

    default_kind = "tile-static"


class TileCompilerExecutionError(TileError):
    """A failure of NVIDIA's tileiras; programs name it in `except` clauses, and it is never raised here."""


class TileCompilerTimeoutError(TileError):
    """NVIDIA's tileiras ran too long; programs name it in `except` clauses, and it is never raised here."""


class TileInternalError(TileError):
    """A failure inside cuTile; programs name it in `except` clauses, and it is never raised here."""
