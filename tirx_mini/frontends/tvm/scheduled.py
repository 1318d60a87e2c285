"""Diagnosis of scheduled programs in files, both tensor expressions and TIR: performance and correctness notes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tirx_mini.course import KernelRef, Scheduled, explaining, load_module
from tirx_mini.ir import THREAD, TIR, For, IRModule, PrimFunc, walk

from .te import PlaceholderOp, Schedule, Tensor, TirSchedule, check, lower

Program = Schedule | PrimFunc | IRModule


def examined(ref: KernelRef) -> list[Scheduled]:
    """Check the scheduled programs of an existing file, as `course.scheduled_in`."""
    module = load_module(ref.path)
    with explaining():
        return [_checked(name, *program) for name, program in _programs(ref, module)]


def _programs(ref: KernelRef, module: ModuleType) -> Iterator[tuple[str, tuple[Program, list[Tensor]]]]:
    named: dict[str, Any] = {ref.name: getattr(module, ref.name, None)} if ref.name else vars(module)
    seen: list[Any] = []
    for name, value in named.items():
        made: Any = value
        if ref.name and _makes_one(value):
            made = value()
        program = _program(made)
        if program is not None and not name.startswith("_") and all(program[0] is not other for other in seen):
            seen.append(program[0])
            yield name, program


def _makes_one(value: object) -> bool:
    """Return whether a value is a function callable without arguments."""
    if not inspect.isfunction(value):
        return False
    return all(p.default is not p.empty for p in inspect.signature(value).parameters.values())


def _program(value: object) -> tuple[Program, list[Tensor]] | None:
    """Return a scheduled program with its parameters, or None for any other value."""
    if isinstance(value, TirSchedule):
        value = value.mod
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Schedule):
        return value[0], list(value[1])
    if isinstance(value, Schedule):
        return value, _parameters(value)
    if isinstance(value, IRModule) and len(value.functions) == 1:
        value = value["main"] if "main" in value.functions else next(iter(value.functions.values()))
    if isinstance(value, PrimFunc) and value.spelling == TIR:
        return value, []
    return None


def _parameters(schedule: Schedule) -> list[Tensor]:
    """Return the input tensors of a schedule in stage order, followed by its outputs."""
    inputs = [stage.tensor for stage in schedule.stages if isinstance(stage.op, PlaceholderOp)]
    return [*inputs, *schedule.outputs]


def _checked(name: str, program: Program, args: list[Tensor]) -> Scheduled:
    body = lower(program, args).main.body
    bound = any(isinstance(node, For) and node.kind == THREAD for node in walk(body))
    shared = any(getattr(getattr(node, "buffer", None), "scope", "") in ("shared", "local") for node in walk(body))
    target = "cuda" if bound or shared else "llvm"
    runs = bound and isinstance(program, PrimFunc)
    return Scheduled(name, target, tuple(check(program, args, target)), runs)

