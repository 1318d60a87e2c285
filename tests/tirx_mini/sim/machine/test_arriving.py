"""Which elements of a register array wait for which load."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.machine import Arriving

ranges = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda found: (found[0], found[0] + found[1]))


@dataclass(frozen=True)
class Numbered:
    """A load that is known by a number."""

    number: int
    span: None = None

    def deliver(self) -> None: ...


@given(st.lists(st.tuples(st.booleans(), st.lists(ranges, min_size=1, max_size=3)), max_size=12), ranges)
def test_each_element_waits_for_the_last_load_that_it_was_given(
    program: list[tuple[bool, list[tuple[int, int]]]], asked: tuple[int, int]
) -> None:
    arriving, model = Arriving(), dict[int, int]()
    for number, (expects, places) in enumerate(program):
        if expects:
            start, stop = places[0]
            arriving.expect(start, stop, Numbered(number))
            model.update(dict.fromkeys(range(start, stop), number))
        else:
            arriving.forget(places)
            for start, stop in places:
                for element in range(start, stop):
                    model.pop(element, None)
    assert bool(arriving) == bool(model)
    waiting = [(element, model[element]) for element in range(*asked) if element in model]
    first = arriving.first([asked])
    assert (first and (first[0], first[1].number)) == (waiting[0] if waiting else None)
    assert {load.number for load in arriving.loads([asked])} == {number for _, number in waiting}
