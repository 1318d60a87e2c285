"""Options travel in one `Question` and one `Setup`: no function below `simulate` has more than eight parameters."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import tirx_mini
from tirx_mini.driver import explore, simulate
from tirx_mini.isa import MachineVerbs
from tirx_mini.sim import Question

PACKAGE = Path(tirx_mini.__file__).parent
ROOMS = ("sim", "diagnose", "driver")
MOST = 8
ENTRIES = {"simulate"}


def functions() -> Iterator[tuple[str, str, int]]:
    """(file, name, parameters) of each function in the rooms, `self` and `cls` not counted."""
    for path in (path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                given = node.args
                names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                yield path.name, node.name, len([name for name in names if name not in ("self", "cls")])


def test_no_function_has_more_than_eight_parameters() -> None:
    verbs = {name for name in vars(MachineVerbs) if not name.startswith("_")}
    long = {(file, name, count) for file, name, count in functions() if count > MOST and name not in verbs | ENTRIES}
    assert long == set()


def test_the_keywords_of_the_entry_points_are_fields_of_a_question() -> None:
    for entry in (simulate, explore):
        keywords = {
            name for name, p in inspect.signature(entry).parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY
        }
        assert keywords <= set(inspect.signature(Question).parameters)


def test_each_field_of_a_question_is_documented() -> None:
    documented = inspect.getdoc(Question) or ""
    assert all(f"\n{name}: " in documented for name in inspect.signature(Question).parameters)


def test_diagnose_runs_nothing() -> None:
    """Facts flow one way: from the simulator to `diagnose`, and both are asked by the driver."""
    running = {"Gpu", "Simulation", "Question", "BoundKernel", "Setup"}
    for path in sorted((PACKAGE / "diagnose").rglob("*.py")):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & running, path
