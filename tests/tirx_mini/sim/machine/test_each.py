"""Integers of several clusters: each operator does in all of them what it does in one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.machine import Each, Parted, each_of, values_of
from tirx_mini.sim.ordering import Unlike

CLUSTERS = 3
numbers = st.lists(st.integers(0, 50), min_size=CLUSTERS, max_size=CLUSTERS)
BINARY = [
    operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor, operator.lt, operator.le,
    operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


def of_all(value: Any) -> list[int]:
    return values_of(value, CLUSTERS)


@pytest.mark.parametrize("operation", BINARY)
@given(a=numbers, b=numbers, one=st.integers(0, 50))
def test_an_operator_does_in_each_cluster_what_it_does_in_one(
    operation: Callable[[Any, Any], Any], a: list[int], b: list[int], one: int
) -> None:
    assert of_all(operation(each_of(a), each_of(b))) == [operation(x, y) for x, y in zip(a, b, strict=True)]
    assert of_all(operation(each_of(a), one)) == [operation(x, one) for x in a]
    assert of_all(operation(one, each_of(a))) == [operation(one, x) for x in a]


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, operator.lshift, operator.rshift])
@given(a=numbers, b=st.integers(1, 8))
def test_so_do_divisions_and_shifts(operation: Callable[[int, int], int], a: list[int], b: int) -> None:
    assert of_all(operation(each_of(a), b)) == [operation(x, b) for x in a]
    assert of_all(operation(b, each_of(a) + 1)) == [operation(b, x + 1) for x in a]


@given(numbers)
def test_a_value_that_is_the_same_in_all_is_a_number(values: list[int]) -> None:
    found = each_of(values)
    assert isinstance(found, Each) == (len(set(values)) > 1)
    assert isinstance(found - found, int)
    assert of_all(-found) == [-x for x in values]


def test_control_flow_parts_the_clusters() -> None:
    value = each_of([4, 5, 4])
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
    with pytest.raises(Unlike):
        use(each_of([1, 2]))
