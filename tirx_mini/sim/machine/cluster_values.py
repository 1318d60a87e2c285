"""Integers that differ between the clusters of a batch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..ordering import Unequal


class Parted(Exception):
    """The clusters of a batch take different branches. holds: the clusters for which the condition holds,
    bool[clusters]."""

    def __init__(self, holds: np.ndarray) -> None:
        super().__init__("clusters part")
        self.holds = holds


class PerCluster:
    """The per-cluster values of an expression over blockIdx, not all of them equal.

    A value common to all clusters is a Python number (`per_cluster`). Control flow that needs one value raises
    `Parted`, and operations without an implementation for batches raise `Unequal`.
    """

    __slots__ = ("values",)
    __array_ufunc__ = None
    """Disables NumPy's operators, so that those of this class apply."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __bool__(self) -> bool:
        raise Parted(self.values != 0)

    def __index__(self) -> int:
        raise Parted(self.values == self.values[0])

    __int__ = __index__

    def __hash__(self) -> NoReturn:
        raise Unequal

    def __repr__(self) -> str:
        return f"PerCluster({self.values.tolist()})"


ClusterValue = int | PerCluster
"""An integer common to all clusters of a batch, or one that differs between them."""


def per_cluster(values: Sequence[int] | np.ndarray) -> ClusterValue:
    """Return the value of each cluster, as a plain number if all clusters agree."""
    array = np.asarray(values)
    return array[0].item() if (array == array[0]).all() else PerCluster(array)


def values_by_cluster(value: ClusterValue, width: int) -> list[int]:
    """Return the value in each of `width` clusters of a batch."""
    return value.values.tolist() if isinstance(value, PerCluster) else [value] * width


def _binary(operation: Callable[[Any, Any], Any]) -> Callable[[PerCluster, Any], Any]:
    def apply(self: PerCluster, other: object) -> Any:
        if isinstance(other, PerCluster):
            return per_cluster(operation(self.values, other.values))
        if isinstance(other, (int, np.integer)):
            return per_cluster(operation(self.values, other))
        raise Unequal

    return apply


def _reflected(operation: Callable[[Any, Any], object]) -> Callable[[PerCluster, Any], Any]:
    return _binary(lambda a, b: operation(b, a))


def _unary(operation: Callable[[Any], Any]) -> Callable[[PerCluster], Any]:
    return lambda self: per_cluster(operation(self.values))


for _name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
    _operation = getattr(operator, _name)
    setattr(PerCluster, f"__{_name.rstrip('_')}__", _binary(_operation))
    setattr(PerCluster, f"__r{_name.rstrip('_')}__", _reflected(_operation))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(PerCluster, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "invert", "abs"):
    setattr(PerCluster, f"__{_name}__", _unary(getattr(operator, _name)))
