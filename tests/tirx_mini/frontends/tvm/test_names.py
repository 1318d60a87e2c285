"""Each name of Apache TVM 0.26's script namespace is supported, or refused with a sentence that says what to use."""

from __future__ import annotations

import importlib
import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.compat.tvm import imports
from tirx_mini.ir import TirxError
from tirx_mini.script import REFUSALS, refusal
from tirx_mini.tile import RULES, op_of

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "tvm_0_26.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = FACTS["script"]
"""Each name below `tvm.script.tirx`, with its signature. `tools/tvm_names.py` writes the file."""


@cache
def error_of(path: str) -> TirxError | None:
    """The error of a kernel that uses the name, or None where the language has it."""
    with imports():
        value: Any = importlib.import_module("tvm.script.tirx")
        try:
            for part in path.split("."):
                value = getattr(value, part)
        except TirxError as error:
            return error
    return None


def test_each_name_is_supported_or_refused() -> None:
    neither = [name for name in NAMES if error_of(name) is not None and refusal(name) is None]
    assert neither == [], "implement it, or add it to a row of REFUSALS"
    supported = [name for name in NAMES if error_of(name) is None]
    assert len(supported) > 700


def test_a_refused_name_says_why_and_what_to_use() -> None:
    refused = [name for name in NAMES if refusal(name) is not None]
    assert len(refused) > 100
    for name in refused:
        row, error = refusal(name), error_of(name)
        assert row is not None and error is not None, f"{name} exists: remove it from REFUSALS"
        assert "of TVM is not supported: " + row.why in str(error) and row.instead in str(error)


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.family)
def test_each_refusal_is_of_a_name_that_tvm_has(row: Any) -> None:
    groups = {name.rpartition(".")[0] for name in NAMES} | {name.partition(".")[0] for name in NAMES}
    for pattern in row.names:
        assert any(fnmatchcase(name, pattern) for name in {*NAMES, *groups}), f"TVM 0.26 has no {pattern}"


def test_what_a_kernel_misspells_is_not_refused() -> None:
    error = error_of("ptx.tcgen05.comit")
    assert error is not None and "did you mean `commit`" in str(error)


DISPATCHES: dict[str, list[str]] = FACTS["dispatches"]
MISSING: dict[str, set[str]] = {}
"""Dispatches of TVM that no rule has."""


@pytest.mark.parametrize("op", sorted(DISPATCHES))
def test_each_dispatch_selects_a_rule(op: str) -> None:
    ours = op_of(op)
    rules = [] if ours is None else [rule for rule in RULES if ours.name in rule.ops]
    selected = {rule.name for rule in rules} | {alias for rule in rules for alias in rule.aliases}
    assert set(DISPATCHES[op]) - selected == MISSING.get(op, set())


@pytest.mark.parametrize("module", sorted(FACTS["modules"]))
def test_each_module_is_provided_or_refused_by_name(module: str) -> None:
    with imports():
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            assert isinstance(error, TirxError) and "tirx_mini does not provide `" in str(error)
            assert "help: " in str(error), "REFUSED_MODULES says what to use instead"
            return
        for name in FACTS["modules"][module]:
            getattr(found, name, None)  # a name that is missing is an AttributeError, never another failure
            try:
                exec(f"from {module} import {name}", {})
            except ImportError as error:
                assert isinstance(error, TirxError) and f"`{name}`" in str(error), (module, name)
