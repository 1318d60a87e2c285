"""Each name of Apache TVM 0.26's script namespace is supported, or refused with a sentence that says what to use."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.ir import TirxError
from tirx_mini.script import REFUSALS, refusal, tirx

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "tvm_0_26.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = FACTS["script"]
"""Each name below `tvm.script.tirx`, with its signature. `tools/tvm_names.py` writes the file."""


@cache
def error_of(path: str) -> TirxError | None:
    """The error of a kernel that uses the name, or None where the language has it."""
    value: Any = tirx
    try:
        for part in path.split("."):
            value = getattr(value, part)
    except TirxError as error:
        return error
    return None


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
