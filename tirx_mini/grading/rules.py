"""The decisions of a teacher: points, bounds, sizes, lateness, limits. `grading.toml` beside this file has the
defaults.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from tirx_mini.course import STEPS, TIME_TOLERANCE, Case, Shape, shape_text
from tirx_mini.records import dataclass, replace

tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

PARTS = ("correctness", "performance", "implementation")
"""The parts of a step, in display order."""
STUDENT_LIMITS = ("seconds", "total_s", "cpu_s", "memory_mb", "output_kb")
"""The keys that [student] may set."""

T = TypeVar("T")
Read = Callable[[Any], T]


class RulesError(ValueError):
    """The error for an unusable rules file; the message is one sentence with the file and the key."""


@dataclass(frozen=True)
class StepRules:
    """The rules by which one step is judged.

    points: what it is worth.
    slower: the fraction by which it may exceed the time of the reference.
    data: the shapes that the simulator computes, beside the step's small problems.
    timed: the shape whose predicted time is compared.
    """

    points: float
    slower: float
    data: tuple[Shape, ...]
    timed: Shape


@dataclass(frozen=True)
class Lateness:
    """due: None if nothing is late. per_day: the share that each day begun costs. days: then all is lost."""

    due: datetime | None = None
    per_day: float = 0.0
    days: int = 0


NEVER_LATE = Lateness()


@dataclass(frozen=True)
class JudgeLimits:
    """The limits of the processes that judge kernels.

    seconds: of CPU time, for one kernel at one size. total_s: on the clock for one hand-in, after which no step is
        begun.
    full_seconds, full_total_s: the same for all sizes of the assignment.
    memory_mb: of address space, for one process.
    """

    seconds: float
    total_s: float
    full_seconds: float
    full_total_s: float
    memory_mb: int


@dataclass(frozen=True)
class Rules:
    """The complete rules.

    steps: by number.
    weights: of each of `PARTS`; they sum to 1.
    strict: whether a step scores only if it is right and uses what it teaches.
    rtol, atol: of each element of D.
    student: the limits of the student's process that differ from its defaults, by the names in `STUDENT_LIMITS`.
    """

    steps: Mapping[int, StepRules]
    weights: Mapping[str, float]
    strict: bool
    rtol: float
    atol: float
    lateness: Lateness
    judge: JudgeLimits
    student: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def total(self) -> float:
        """The total of the points."""
        return sum(step.points for step in self.steps.values())

    @property
    def digest(self) -> str:
        """The SHA-256 of the rules, in hexadecimal; grades by equal rules may share a table."""
        values = [getattr(self, each.name) for each in fields(self)]
        said = [dict(value) if isinstance(value, Mapping) else value for value in values]
        return hashlib.sha256(repr(said).encode()).hexdigest()

    def cases(self, step: int, folder: str, *, full: bool = False, gpu: bool = False) -> tuple[Case, ...]:
        """Return the problems that are computed and compared, the cheapest first.

        folder: of the architecture's references, as in "sm100". full: all sizes of the assignment. gpu: all of them,
        and none for a GPU with few SMs, which only the simulator has.
        """
        course, data = STEPS[step], self.steps[step].data
        every = course.cases(folder, full=full or gpu, few_sms=not gpu)
        if not (full or gpu):
            shown = set(course.shapes)
            every = (*(case for case in every if case.shape not in shown), *map(Case, data))
        unique = dict.fromkeys(replace(case, timed=gpu and case.timed) for case in every)
        return tuple(sorted(unique, key=lambda case: math.prod(case.shape)))

    def timed(self, step: int, *, full: bool = False, gpu: bool = False) -> tuple[Shape, ...]:
        """Return the shapes whose times are compared with the reference's."""
        course = STEPS[step]
        if gpu:
            return course.all_shapes(full=True)
        largest = max(course.all_shapes(full=True), key=math.prod)
        return (largest,) if full else (self.steps[step].timed,)


def load_rules(path: Path | None = None) -> Rules:
    """Read the rules of a teacher's file, with defaults from the package's `grading.toml`.

    Raises `RulesError` for a file that is not TOML, or for an unknown key or an invalid value.
    """
    given = _read(path) if path is not None else {}
    source = path.name if path is not None else "grading.toml"
    return _Tables(source, _merged(_defaults(), given, source)).rules()


def _defaults() -> dict[str, object]:
    return tomllib.loads((files("tirx_mini.grading") / "grading.toml").read_text(encoding="utf-8"))


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RulesError(f"the file of rules {path} does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RulesError(f"{path.name} cannot be read: {error}") from None


def _merged(defaults: dict[str, Any], given: Mapping[str, object], source: str) -> dict[str, object]:
    """Return the defaults' tables with the entries of `given` substituted."""
    merged = dict(defaults)
    for key, value in given.items():
        if key not in defaults:
            raise RulesError(f"{source}: there is no {key!r}; the keys are {', '.join(defaults)}")
        if isinstance(defaults[key], dict):
            if not isinstance(value, dict):
                raise RulesError(f"{source}: [{key}] must be a table, not {value!r}")
            merged[key] = {**defaults[key], **value}
        else:
            merged[key] = value
    return merged


@dataclass(frozen=True)
class _Tables:
    """The tables of a file, validated during reading. source: the file's name, for messages."""

    source: str
    data: Mapping[str, Any]

    def rules(self) -> Rules:
        weights = self._table("parts", dict.fromkeys(PARTS, _share))
        if abs(sum(weights.values()) - 1) > 1e-6:
            total = f"{sum(weights.values()):g}"
            raise RulesError(f"{self.source}: the shares in [parts] must sum to 1, and they sum to {total}")
        tolerance = self._table("tolerance", {"rtol": _amount, "atol": _amount})
        lateness = self._table("lateness", {"due": _time, "per_day": _share, "days": _count})
        times = ("seconds", "total_s", "full_seconds", "full_total_s")
        judge = self._table("judge", {**dict.fromkeys(times, _positive), "memory_mb": _whole})
        return Rules(
            steps=MappingProxyType(self._steps()),
            weights=MappingProxyType(weights),
            strict=self._value("strict", self.data["strict"], _truth),
            rtol=tolerance["rtol"],
            atol=tolerance["atol"],
            lateness=Lateness(**lateness),
            judge=JudgeLimits(**judge),
            student=MappingProxyType(self._table("student", dict.fromkeys(STUDENT_LIMITS, _whole))),
        )

    def _steps(self) -> dict[int, StepRules]:
        points = self._by_step("points", self.data["points"], _amount)
        sizes = self._by_step("sizes", self.data["sizes"], _sizes)
        slower = self._slower(self.data["slower"])
        return {
            number: StepRules(
                points[number],
                slower[number],
                tuple(self._shape(number, size) for size in sizes[number]["data"]),
                self._shape(number, sizes[number]["timed"]),
            )
            for number in STEPS
        }

    def _slower(self, value: object) -> dict[int, float]:
        """Read one number for all steps, or a table with a number for some."""
        if not isinstance(value, dict):
            return dict.fromkeys(STEPS, self._value("slower", value, _amount))
        every = {str(number): TIME_TOLERANCE for number in STEPS}
        return self._by_step("slower", {**every, **value}, _amount)

    def _shape(self, step: int, size: int | list[int]) -> Shape:
        """Read a size as [M, N, K], or as one number for a step's own shape."""
        course = STEPS[step]
        shape = course.shape(size) if isinstance(size, int) else (size[0], size[1], size[2])
        fixed = course.shape(0)
        if any(have and have != want for have, want in zip(fixed, shape, strict=True)):
            free = f"may choose {' and '.join(course.free)}" if course.free else "has one size"
            text = shape_text(shape)
            raise RulesError(f"{self.source}: [sizes] {step}: {text} is no size of step {step}, which {free}")
        return shape

    def _by_step(self, key: str, table: Mapping[str, object], read: Read[T]) -> dict[int, T]:
        """Read a table whose keys are step numbers."""
        for name in table:
            if not name.isdecimal() or int(name) not in STEPS:
                raise RulesError(f"{self.source}: [{key}] {name}: there is no step {name!r}")
        missing = [number for number in STEPS if str(number) not in table]
        if missing:
            raise RulesError(f"{self.source}: [{key}] says nothing of step {missing[0]}")
        return {int(name): self._value(f"[{key}] {name}", value, read) for name, value in table.items()}

    def _table(self, key: str, known: Mapping[str, Read[Any]]) -> dict[str, Any]:
        """Read the values of a table, rejecting unknown keys."""
        table = self.data[key]
        for name in table:
            if name not in known:
                raise RulesError(f"{self.source}: [{key}] {name}: the keys of this table are {', '.join(known)}")
        return {name: self._value(f"[{key}] {name}", value, known[name]) for name, value in table.items()}

    def _value(self, key: str, value: object, read: Read[T]) -> T:
        try:
            return read(value)
        except ValueError as error:
            raise RulesError(f"{self.source}: {key}: expected {error}, found {value!r}") from None


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError("a number of at least 0")
    return float(value)


def _positive(value: Any) -> float:
    if _amount(value) == 0:
        raise ValueError("a number above 0")
    return float(value)


def _share(value: Any) -> float:
    if _amount(value) > 1:
        raise ValueError("a share from 0 to 1")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number of at least 0")
    return value


def _whole(value: Any) -> int:
    if _count(value) == 0:
        raise ValueError("a whole number above 0")
    return value


def _time(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise ValueError("a time as in 2026-12-01T23:59:00Z")
    return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)


def _sizes(value: object) -> Mapping[str, Any]:
    wanted = ValueError("{ data = [sizes], timed = size }, with sizes as in 1024 or [512, 256, 128]")
    if not isinstance(value, dict) or value.keys() != {"data", "timed"} or not isinstance(value["data"], list):
        raise wanted
    for size in (*value["data"], value["timed"]):
        extents = size if isinstance(size, list) else [size]
        if len(extents) not in (1, 3) or any(type(extent) is not int or extent < 1 for extent in extents):
            raise wanted
    if not value["data"]:
        raise ValueError("at least one size in data")
    return value
