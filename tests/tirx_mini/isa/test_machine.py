"""The verbs of which instructions are made: each is used, and the simulator has it with the same operands.

Their types are pyright's to check (`tirx_mini/sim/verbs.py`).
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tirx_mini.isa import (
    TABLE,
    DivergentThread,
    MachineVerbs,
    MbarrierVerbs,
    RegisterOperand,
    ThreadVerbs,
    WgmmaVerbs,
)
from tirx_mini.isa.machine import MBARRIER_VERBS
from tirx_mini.sim import Gpu
from tirx_mini.sim.engines import WarpWgmma
from tirx_mini.sim.machine import Mbarrier, Registers, RunningWarp

SIMULATED = {
    MachineVerbs: Gpu,
    ThreadVerbs: RunningWarp,
    DivergentThread: RunningWarp,
    MbarrierVerbs: Mbarrier,
    WgmmaVerbs: WarpWgmma,
    RegisterOperand: Registers,
}


def verbs(protocol: type) -> dict[str, Any]:
    """The methods and properties that a protocol declares."""
    return {
        name: verb
        for name, verb in vars(protocol).items()
        if not name.startswith("_") and (inspect.isfunction(verb) or isinstance(verb, property))
    }


def takes(provided: Any, verb: Any) -> bool:
    """Return whether a method can be called with the operands of a verb."""
    given = inspect.signature(verb).parameters.values()
    named = {p.name: p for p in given if p.kind is p.KEYWORD_ONLY}
    try:
        inspect.signature(provided).bind(*(p for p in given if p.name not in named), **named)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize(("protocol", "name"), [(p, name) for p in SIMULATED for name in verbs(p)])
def test_the_simulator_has_the_verb(protocol: type, name: str) -> None:
    verb, provided = verbs(protocol)[name], getattr(SIMULATED[protocol], name)
    if not isinstance(verb, property):
        assert takes(provided, verb)


def test_a_missing_operand_is_noticed() -> None:
    assert takes(lambda gpu, thread, bar: None, MachineVerbs.mbarrier)
    assert not takes(lambda gpu, thread: None, MachineVerbs.mbarrier)
    assert not takes(lambda gpu, thread, bar, scope: None, MachineVerbs.mbarrier)


@pytest.mark.parametrize("protocol", [MachineVerbs, ThreadVerbs, MbarrierVerbs, WgmmaVerbs])
def test_some_body_uses_each_verb(protocol: type) -> None:
    used = frozenset[str]().union(*(entry.used_names for entry in TABLE.values()))
    assert set(verbs(protocol)) <= used


def test_the_verbs_that_are_given_an_mbarrier_are_listed() -> None:
    """By the name of the parameter: it is how an entry that hides its barrier is found when the table is built."""
    given = {name for name, verb in verbs(MachineVerbs).items() if "bar" in inspect.signature(verb).parameters}
    assert given == MBARRIER_VERBS
