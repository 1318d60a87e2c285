"""Annotation-only types of the language, for pyright and editors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tirx_mini.ir import Expr

ScopeName: TypeAlias = Literal["kernel", "cluster", "cta", "warpgroup", "warp", "thread"]

Shape: TypeAlias = "int | Sequence[int]"
"""The extents of a buffer."""


class ForeignDType(Protocol):
    """A dtype of NumPy, ml_dtypes or PyTorch."""

    @property
    def itemsize(self) -> int: ...


class LanguageDType(Protocol):
    """A dtype of the language: ``Tx.float16``."""

    def __call__(self, value: object = 0) -> Expr: ...


DTypeLike: TypeAlias = "str | LanguageDType | ForeignDType | type[Any]"
"""A dtype: its name, ``Tx.float16``, or one of NumPy, ml_dtypes or PyTorch."""


if TYPE_CHECKING:

    class Ids(Expr):
        """One id, or several for unpacking: ``bx, by = Tx.cta_id([m, n])``."""

        def __iter__(self) -> Iterator[Expr]: ...
