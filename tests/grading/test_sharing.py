"""Hand-ins that share what is known of kernels: none moves the score of another one, whoever is graded first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from tests.grading.cheats import edited, joined, one_name_for_all, under
from tirx_mini.course import STEPS
from tirx_mini.grading import Cache, Graded, HandIn, Judges, Rules, grade, load_rules

GRADED = (1, 4)


def rules() -> Rules:
    found = load_rules()
    fourth = replace(found.steps[4], data=(STEPS[4].shape(128),), timed=(256, 256, 128))
    return replace(found, steps=MappingProxyType({**found.steps, 4: fourth}))


def renamed_by_hand() -> str:
    return joined(*GRADED).replace("Asmem", "tile_of_a").replace("phase_tma", "parity")


def slow() -> str:
    """The first step waits for nothing; the fourth is as it should be."""
    load = "            # Load. The"
    wait = "            for w in range(1200):\n                Tx.ptx.fence.proxy_async('shared::cta')\n"
    first = under("ref1", edited(1, (load, wait + load)))
    return f"{first}hgemm_v1 = ref1\n{under('ref4', edited(4))}hgemm_v4 = ref4\n"


HONEST = {"alice": lambda: joined(*GRADED), "bob": renamed_by_hand, "carol": slow}
HOSTILE = {"mallory": lambda: one_name_for_all(*GRADED)}


def grades(names: Iterable[str]) -> dict[str, Graded]:
    """Hand-ins that are graded one after the other by the same judges."""
    sources = {**HONEST, **HOSTILE}
    with Judges(1, rules().judge, Cache()) as judges:
        return {
            name: grade(HandIn(f"{name}.py", "gemm_kernels.py", sources[name]()), rules(), judges=judges, steps=GRADED)
            for name in names
        }


@cache
def alone(name: str) -> Graded:
    return grades([name])[name]


@pytest.mark.parametrize("order", [(*HOSTILE, *HONEST), (*reversed(HONEST), *HOSTILE)])
def test_every_honest_hand_in_has_the_grade_that_it_has_alone(order: tuple[str, ...]) -> None:
    for name, graded in grades(order).items():
        if name in HONEST:
            assert replace(graded, seconds=0.0) == replace(alone(name), seconds=0.0)


def test_the_scores_alone_are_those_of_the_kernels() -> None:
    assert {name: alone(name).score for name in HONEST} == {"alice": 15, "bob": 15, "carol": 13.75}
