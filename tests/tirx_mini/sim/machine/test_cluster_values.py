"""Integers of several clusters: each operator does in all of them what it does in one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.machine import Parted, PerCluster, per_cluster, values_by_cluster
from tirx_mini.sim.ordering import Unequal

CLUSTERS = 3
numbers = st.lists(st.integers(0, 50), min_size=CLUSTERS, max_size=CLUSTERS)
BINARY = [
    operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor, operator.lt, operator.le,
    operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


def of_all(value: Any) -> list[int]:
    return values_by_cluster(value, CLUSTERS)


@pytest.mark.parametrize("operation", BINARY)
@given(a=numbers, b=numbers, one=st.integers(0, 50))
def test_an_operator_does_in_each_cluster_what_it_does_in_one(
    operation: Callable[[Any, Any], Any], a: list[int], b: list[int], one: int
) -> None:
    assert of_all(operation(per_cluster(a), per_cluster(b))) == [operation(x, y) for x, y in zip(a, b, strict=True)]
    assert of_all(operation(per_cluster(a), one)) == [operation(x, one) for x in a]
    assert of_all(operation(one, per_cluster(a))) == [operation(one, x) for x in a]


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, operator.lshift, operator.rshift])
@given(a=numbers, b=st.integers(1, 8))
def test_so_do_divisions_and_shifts(operation: Callable[[int, int], int], a: list[int], b: int) -> None:
    assert of_all(operation(per_cluster(a), b)) == [operation(x, b) for x in a]
    assert of_all(operation(b, per_cluster(a) + 1)) == [operation(b, x + 1) for x in a]


@given(numbers)
def test_a_value_that_is_the_same_in_all_is_a_number(values: list[int]) -> None:
    found = per_cluster(values)
    assert isinstance(found, PerCluster) == (len(set(values)) > 1)
    assert isinstance(found - found, int)
    assert of_all(-found) == [-x for x in values]


def test_control_flow_parts_the_clusters() -> None:
    value = per_cluster([4, 5, 4])
    with pytest.raises(Parted) as parted:
        assert value < 5
    assert parted.value.holds.tolist() == [True, False, True]
    with pytest.raises(Parted) as parted:
        range(value)
    assert parted.value.holds.tolist() == [True, False, True]
    assert (value < 6) is True  # all go the same way


@pytest.mark.parametrize(
    "use", [lambda v: v + np.arange(32), lambda v: np.arange(32) * v, lambda v: {v: 1}, lambda v: v + 0.5]
)
def test_what_knows_one_cluster_only_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(Unequal):
        use(per_cluster([1, 2]))
