"""All kinds of findings, collected from the rules that define them.

TX1xx: waiting and barriers. TX2xx: orders that the ISA does not guarantee. TX3xx: rules of the hardware. TX4xx:
obstacles to compilation. TX5xx: results. TX6xx: unmodelled behaviour. `docs/findings.md` has a section for each code.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.ir import ERROR_KINDS
from tirx_mini.sim import Fact

from . import (
    accesses,
    barriers,
    hazards,
    instructions,
    kind,
    lanes,
    launches,
    lifetimes,
    tensor_maps,
    tensor_memory,
    tiles,
)
from .deadlock import (
    BYTE_COUNT,
    EARLY_COMMIT,
    OTHER_COUNT,
    OTHER_ROUNDS,
    OTHER_STAGE,
    PASSES_AT_ONCE,
    RULES,
    STANDS_STILL,
    SWAPPED,
    WRONG_PARITY,
)
from .kind import FactRule, Kind, by_name, collect, of_error

_MODULES = (
    kind, barriers, hazards, lanes, accesses, instructions, tensor_memory, tensor_maps, launches, lifetimes, tiles,
)  # fmt: skip

CAUSES: Mapping[str, Kind] = by_name(rule.kind for rule in RULES)
"""The causes of deadlocks, which distinguish findings of the kind "deadlock"."""

KINDS: Mapping[str, Kind] = by_name((
    Kind("deadlock", "TX113", "deadlock", CAUSES["anything"].rule),
    BYTE_COUNT,
    STANDS_STILL,
    WRONG_PARITY,
    EARLY_COMMIT,
    OTHER_COUNT,
    OTHER_ROUNDS,
    OTHER_STAGE,
    PASSES_AT_ONCE,
    SWAPPED,
    *collect(_MODULES, Kind),
    # obstacles to compilation
    *map(of_error, ERROR_KINDS),
    # results
    Kind("wrong-result", "TX501", "fault", "D is A multiplied by B transposed."),
))  # fmt: skip
"""Every kind of finding, by name."""

_RULES: list[FactRule[Any]] = collect(_MODULES, FactRule)
FACT_RULES: Mapping[type[Fact], FactRule[Any]] = MappingProxyType({rule.fact: rule for rule in _RULES})
"""The rule for each class of facts."""

_BY_CODE: Mapping[str, Kind] = MappingProxyType({kind.code: kind for kind in (*CAUSES.values(), *KINDS.values())})


def kind_of(name: str, cause: str | None = None) -> Kind:
    """Return the kind of a finding; for a deadlock with a known cause, the kind of the cause."""
    return CAUSES[cause] if cause is not None else KINDS[name]


def kind_with(code: str) -> Kind:
    """Return a kind with this code. Raises `KeyError` for an unknown code."""
    return _BY_CODE[code]


def codes() -> tuple[str, ...]:
    """Return all codes in ascending order."""
    return tuple(sorted(_BY_CODE))
