"""Exceptions of tile programs under cuTile's names."""

from __future__ import annotations

from tirx_mini.ir import Span, TirxError


class TileError(TirxError):
    """An error in a tile program."""

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
    """A Python construct that tile code does not support."""


class TileTypeError(TileError, TypeError):
    """A value of the wrong type, such as a wrong dtype or shape, or a tile in place of a constant."""

    default_kind = "tile-type"


class TileValueError(TileError, ValueError):
    """A constant out of range."""

    default_kind = "tile-type"


class TileShapeError(TileTypeError):
    """Incompatible shapes, or a shape that is invalid for tiles."""

    default_kind = "tile-shape"


class TileNameError(TileTypeError):
    """A name that is undefined, at least on some path."""

    default_kind = "unknown-name"


class TileUnsupportedFeatureError(TileError):
    """A cuTile feature that is not supported here."""

    default_kind = "tile-unsupported"


class TileRecursionError(TileError, RecursionError):
    """A recursive function."""


class TileStaticAssertionError(TileError, AssertionError):
    """A failed `ct.static_assert`."""

    default_kind = "tile-static"


class TileStaticEvalError(TileError):
    """A `ct.static_eval` expression that raised an exception, or that computes at run time."""

    default_kind = "tile-static"


class StaticException(TileError):
    """An exception raised by the program at compile time, by `raise ct.static_exception(…)`."""

    default_kind = "tile-static"


class TileCompilerExecutionError(TileError):
    """A failure of NVIDIA's tileiras; provided for `except` clauses and never raised here."""


class TileCompilerTimeoutError(TileError):
    """A timeout of NVIDIA's tileiras; provided for `except` clauses and never raised here."""


class TileInternalError(TileError):
    """An internal failure of cuTile; provided for `except` clauses and never raised here."""
