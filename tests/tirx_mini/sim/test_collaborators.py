"""Machines with and without values, order and time: each collaborator does its part whatever the others do."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T
from tirx_mini.sim import Gpu, Question, Setup, Simulation
from tirx_mini.sim import __file__ as SIM
from tirx_mini.sim.machine import (
    NO_ORDER,
    NO_TIME,
    NO_VALUES,
    ORDER,
    TIME,
    VALUES,
    Order,
    Time,
    Values,
)

PARTS = list(itertools.product((VALUES, NO_VALUES), (ORDER, NO_ORDER), (TIME, NO_TIME)))
MODES = {
    "active", "alike", "checked", "checks", "cold", "data", "late", "log_barriers", "pedantic", "prompt", "sampled",
    "trace", "traced", "untimed",
}  # fmt: skip


@T.prim_func
def racing(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([4])
    tx = T.thread_id([64])
    row = T.alloc_shared((64,), "float32")
    row[tx] = A[bx, tx]
    B[bx, tx] = row[63 - tx]


KERNELS = {"step 4": ("sm100", "b200"), "step 7": ("sm90", "h100"), "racing": ("", "b200")}


@cache
def kernel(name: str) -> PrimFunc:
    if name == "racing":
        return lower(racing)
    step = int(name.split()[1])
    return lower(load_kernels(default_kernels(), KERNELS[name][0])[step](*STEPS[step].shape(256)))


@dataclass(frozen=True)
class Seen:
    """The results, the time and the findings of one execution."""

    results: tuple[bytes, ...]
    cycles: float
    facts: tuple[object, ...]
    blocked: int


@cache
def seen(name: str, values: Values, order: Order, time: Time) -> Seen:
    func, spec = kernel(name), gpu_spec(KERNELS[name][1])
    args = make_arguments(func) if values is VALUES else [None] * len(func.params)
    bound = Simulation(func, args, Question(spec, data=values is VALUES))
    with Gpu(bound.image, bound.arrays, spec, Setup(values=values, order=order, time=time)) as machine:
        outcome = machine.run()
        facts = tuple(sorted(f"{type(entry.fact).__name__} {entry.fact.origin.span}" for entry in outcome.facts))
        return Seen(bound.results(), outcome.cycles, facts, len(outcome.blocked))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("values", "order", "time"), PARTS)
def test_each_collaborator_does_its_part(name: str, values: Values, order: Order, time: Time) -> None:
    full, found = seen(name, VALUES, ORDER, TIME), seen(name, values, order, time)
    assert found.blocked == 0
    if values is VALUES and (name != "racing" or time is TIME):  # a race has the result of its order
        assert found.results == full.results
    if time is TIME:
        assert found.cycles == full.cycles
    recorded = values is VALUES and order is ORDER  # without values there are no accesses to record
    assert found.facts == (full.facts if recorded else ())
    assert bool(full.facts) is (name == "racing")


def test_what_does_nothing_does_nothing() -> None:
    done: list[int] = []
    assert not NO_VALUES.apply(done.append, 1) and NO_VALUES.of(len, done) is None
    NO_ORDER.record(done.append, 2)
    assert NO_ORDER.of(len, done) is None and ORDER.shortcut(len, done) is None
    assert done == []


def annotated() -> Iterator[tuple[str, str]]:
    """(file, name) of each parameter, attribute and property of engines and machine that is annotated as a bool."""
    for path in (path for room in ("engines", "machine") for path in sorted((Path(SIM).parent / room).glob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                pairs = [(arg.arg, arg.annotation) for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                if any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list):
                    pairs.append((node.name, node.returns))
            elif isinstance(node, ast.AnnAssign):
                target = node.target
                name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
                pairs = [(name, node.annotation)]
            else:
                continue
            yield from ((path.name, name) for name, kind in pairs if kind is not None and "bool" in ast.unparse(kind))


def test_no_engine_asks_what_a_run_is_for() -> None:
    found = set(annotated())
    assert ("tma.py", "rows") in found and ("memory.py", "written") not in found
    assert {(file, name) for file, name in found if name in MODES} == set()
