"""Each builtin of TileLang computes what it says in the simulator, without a finding, and compiles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.frontends.tilelang.builtins.examples import EXAMPLES, SHUFFLES, Example
from tests.tirx_mini.frontends.tilelang.builtins.more import MORE_EXAMPLES
from tirx_mini.frontends.tilelang.builtins import MORE, NAMES, facts_of
from tirx_mini.isa import TABLE, instructions
from tirx_mini.passes import lower

ALL = {**EXAMPLES, **MORE_EXAMPLES, "shuffled": SHUFFLES}
ON_GPUS = [pytest.param(each, gpu, id=f"{name}-{gpu}") for name, each in ALL.items() for gpu in each.gpus]
ARCHS = {"h100": "sm_90a", "b200": "sm_100a"}


@pytest.mark.parametrize(("example", "gpu"), ON_GPUS)
def test_it_computes_that(example: Example, gpu: str) -> None:
    args = example.args()
    place = 0 if example is SHUFFLES else -1
    wanted = example.wanted(*(np.array(arg) for arg in args))
    report = tvm.simulate(example.kernel, *args, gpu=gpu)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_allclose(args[place], wanted, rtol=example.tolerance, atol=example.tolerance)
    for name, value in example.attrs.items():
        assert example.kernel.attrs[name] == value


@pytest.mark.compiler
@pytest.mark.parametrize(("example", "gpu"), ON_GPUS)
def test_it_compiles(example: Example, gpu: str) -> None:
    assert tvm.compile(example.kernel, target=f"cuda:{ARCHS[gpu]}").compiled.cubin[:4] == b"\x7fELF"


@pytest.mark.compiler
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.startswith("quads")])
def test_the_mma_of_volta_compiles_for_volta(name: str) -> None:
    exe = tvm.compile(EXAMPLES[name].kernel, target="cuda:sm_70")
    _, c_dtype, a_layout, b_layout = name.split()
    dtype = "f16" if c_dtype == "fp16" else "f32"
    ptx = exe.source("ptx")
    assert ".target sm_70" in ptx and f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{dtype}.f16.f16.{dtype}" in ptx
    assert exe.compiled.cubin[:4] == b"\x7fELF"


def names_in(example: Example) -> set[str]:
    """The builtins that the source of a kernel calls."""
    return set(re.findall(r"\bB\.(\w+)\(", Path(example.kernel.span.file).read_text()))


def used() -> Iterator[str]:
    for example in ALL.values():
        yield from (entry.name for entry in instructions(lower(example.kernel).body))


def test_every_builtin_is_executed_and_documented() -> None:
    assert len(NAMES) == 52
    called = set().union(*map(names_in, ALL.values()))
    assert {*NAMES, *MORE} <= called, {*NAMES, *MORE} - called
    assert not set(NAMES) & set(MORE)
    becomes = set(used())
    for name, function in {**NAMES, **MORE}.items():
        facts = facts_of(function)
        assert (inspect.getdoc(function) or "").rstrip().endswith("."), name
        assert facts.uses or facts.becomes, name
        assert set(facts.uses) <= becomes & set(TABLE), (name, set(facts.uses) - becomes)
