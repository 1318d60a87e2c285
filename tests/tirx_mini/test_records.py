"""Dataclasses that compile their methods late: they behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar

import pytest

from tirx_mini import records


def classes(made: Callable[..., Any]) -> dict[str, Any]:
    """Classes of every form that the package has, by one or the other `dataclass`."""

    @made(frozen=True)
    class Point:
        """Two numbers."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False)
        count: ClassVar[int] = 7
        name: str = field(default="p", kw_only=True, repr=False)

    @made(frozen=True)
    class Deep(Point):
        z: int = 3

        def __post_init__(self) -> None:
            object.__setattr__(self, "z", self.z + 1)

    @made(frozen=True, eq=False, repr=False, slots=True)
    class Node:
        kind: str
        span: int | None = field(default=None, kw_only=True)

    @made(frozen=True, eq=False, slots=True)
    class Leaf(Node):
        value: int

    @made
    class Changing:
        a: int
        b: list[int] = field(default_factory=list)
        own: int = field(default=5, init=False)

    @made(frozen=True, kw_only=True)
    class Named:
        first: int
        second: tuple[int, ...] = ()

        def __hash__(self) -> int:
            return 11

    return {cls.__name__: cls for cls in (Point, Deep, Node, Leaf, Changing, Named)}


OURS, STANDARD = classes(records.dataclass), classes(dataclass)
ARGUMENTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "Point": ((1,), {"name": "q"}),
    "Deep": ((1, 5), {"z": 8}),
    "Node": (("n",), {"span": 4}),
    "Leaf": (("n", 9), {}),
    "Changing": ((1, [2]), {}),
    "Named": ((), {"first": 1}),
}


def short(text: str) -> str:
    return text.replace("classes.<locals>.", "")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_objects_are_those_of_the_standard_library(name: str) -> None:
    args, named = ARGUMENTS[name]
    ours, standard = (group[name](*args, **named) for group in (OURS, STANDARD))
    shown = [f.name for f in dataclasses.fields(standard)]
    assert [f.name for f in dataclasses.fields(ours)] == shown
    assert all(getattr(ours, each) == getattr(standard, each) for each in shown)
    assert (repr(ours) == repr(standard)) or name == "Node"  # which has object's
    assert dataclasses.is_dataclass(ours) and type(ours).__match_args__ == type(standard).__match_args__
    assert (ours == type(ours)(*args, **named)) == (standard == type(standard)(*args, **named))
    assert (type(ours).__hash__ is None) == (type(standard).__hash__ is None)
    changed = dataclasses.replace(ours, **{shown[0]: 6})
    assert (
        type(changed) is type(ours)
        and getattr(changed, shown[0]) == 6
        and hasattr(ours, "__dict__") == hasattr(standard, "__dict__")
    )


@pytest.mark.parametrize("name", ARGUMENTS)
def test_signatures_are_those_of_the_standard_library(name: str) -> None:
    ours, standard = (str(inspect.signature(group[name])) for group in (OURS, STANDARD))
    assert short(ours) == short(standard)
    with pytest.raises(TypeError, match="argument"):
        OURS[name](1, 2, 3, 4, 5, 6, 7)


def test_equal_values_have_equal_hashes() -> None:
    point = OURS["Point"]
    assert point(1, tags=["a"]) == point(1) and hash(point(1, tags=["a"])) == hash(point(1)) != hash(point(2))
    assert (
        hash(point(1)) == hash(STANDARD["Point"](1))
        and point(1) != OURS["Deep"](1)
        and hash(OURS["Named"](first=1)) == 11
    )


@pytest.mark.parametrize("name", ["Point", "Deep", "Node", "Leaf", "Named"])
def test_frozen_objects_refuse_changes(name: str) -> None:
    args, named = ARGUMENTS[name]
    made = OURS[name](*args, **named)
    first = dataclasses.fields(made)[0].name
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{first}'"):
        setattr(made, first, 1)
    with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{first}'"):
        delattr(made, first)


def test_a_subclass_has_attributes_of_its_own() -> None:
    class Plain(OURS["Point"]):
        pass

    made = Plain(4)
    made.other = 5
    assert (made.x, made.other) == (4, 5) and str(inspect.signature(Plain)) == str(inspect.signature(OURS["Point"]))
    with pytest.raises(FrozenInstanceError):
        made.x = 5

    @dataclass(frozen=True)
    class Standard(OURS["Point"]):
        w: int = 0

    assert Standard(1, w=2).w == 2


@records.dataclass(frozen=True, eq=False, slots=True)
class Kept:
    name: str
    inner: Kept | None = None


def test_objects_with_slots_are_copied_and_pickled() -> None:
    whole = Kept("a", Kept("b"))
    for again in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        assert again.name == "a" and again.inner.name == "b" and again is not whole
    assert copy.copy(whole).inner is whole.inner
