"""The effect of other values for a kernel's constants: ``PIPE_DEPTH=4``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

from .check import Checked
from .constants import Constant, constants_of, converted, parse_file
from .kernel_ref import KernelRef, named_kernel
from .kernels import KernelFileError, read_kernels

Assignment = Mapping[str, str]
"""Values of constants by name, as the user wrote them."""

_NAME = re.compile(r"[^\W\d]\w*(\[\d+\])*")


@dataclass(frozen=True)
class Figures:
    """The figures of one run that depend on the kernel's constants.

    verdict: as `check` prints it. problem: why the kernel is not ok, in a sentence; "" if it is. time_us: predicted.
    bound: the largest term of its time. smem_bytes: of one CTA.
    """

    verdict: str
    problem: str = ""
    time_us: float | None = None
    bound: str = ""
    smem_bytes: int | None = None


@dataclass(frozen=True)
class Change:
    """Constants with other values. now, then: the values by name, in the file and after the change."""

    now: Mapping[str, Constant] = field(default_factory=dict)
    then: Mapping[str, Constant] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value} (now {self.now[name]})" for name, value in self.then.items())


def parse_what_if(text: str) -> list[Assignment]:
    """Parse the runs that ``PIPE_DEPTH=3,4`` (two) or ``PIPE_DEPTH=4,EPI_N=32`` (one, with both) request.

    Raises `ValueError` for anything else.
    """
    values: dict[str, list[str]] = {}
    name = ""
    for part in text.split(","):
        left, equals, right = part.partition("=")
        name = left.strip() if equals else name
        value = (right if equals else left).strip()
        if not _NAME.fullmatch(name) or not value:
            raise ValueError(f"{text!r} is not NAME=VALUE; write for example PIPE_DEPTH=4, or PIPE_DEPTH=3,4")
        values.setdefault(name, []).append(value)
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def changes_of(ref: KernelRef, assignments: Sequence[Assignment]) -> list[Change]:
    """Return the changes that assignments make to the kernel that `ref` names, one for each run.

    Raises `ConstantError` for a constant that the kernel does not read, or a value that it cannot take, and
    `KernelFileError` for a file or name without a kernel.
    """
    function = named_kernel(ref).name
    tree = parse_file(ref.path, read_kernels(ref.path).encode())
    known = constants_of(tree, function)
    found: list[Change] = []
    for assignment in assignments:
        then = {name: converted(tree, function, name, text) for name, text in assignment.items()}
        found.append(Change({name: known[name] for name in then}, then))
    return found


def what_if(
    changes: Iterable[Change], before: Checked, check: Callable[[Mapping[str, Constant]], Checked]
) -> Iterator[str]:
    """Yield the effect of each change as a line. before: the unchanged kernel. check: a check with constants."""
    for change in changes:
        try:
            after = figures_of(check(change.then))
        except (KernelFileError, ValueError) as error:
            after = Figures("does not build", str(error))
        yield change_text(change, figures_of(before), after)


def figures_of(checked: Checked) -> Figures:
    """Return the figures of a checked kernel."""
    report = checked.report
    errors = [checked.wrong] if checked.wrong is not None else [f for f in report.causes if f.severity == "error"]
    verdict = "wrong" if checked.wrong is not None and report.verdict == "ok" else report.verdict
    bound = report.bound.name if report.bound is not None else ""
    problem = errors[0].message if errors else ""
    return Figures(verdict, problem, report.time_us, bound, report.stats.get("smem_bytes"))


def change_text(change: Change, before: Figures, after: Figures) -> str:
    """Return the effect of a change as a line: time, bound, shared memory, verdict."""
    said: list[str] = []
    if after.time_us is not None:
        said.append(_time_text(before.time_us, after.time_us))
    if after.bound and after.time_us is not None:
        differs = before.bound and before.bound != after.bound
        said.append(f"bound by {after.bound}" + (f" instead of {before.bound}" if differs else ", as before"))
    if after.smem_bytes is not None and after.smem_bytes != before.smem_bytes:
        instead = f" instead of {before.smem_bytes / 1024:.0f}" if before.smem_bytes is not None else ""
        said.append(f"{after.smem_bytes / 1024:.0f} KiB of shared memory{instead}")
    said.append(f"{after.verdict}: {after.problem}" if after.problem else after.verdict)
    return f"what if {change}: {'; '.join(said)}"


def _time_text(before: float | None, after: float) -> str:
    if before is None:
        return f"{after:.1f} µs"
    percent = 100 * (after / before - 1)
    if abs(percent) < 0.5:
        return f"{after:.1f} µs, as before"
    return f"{after:.1f} µs instead of {before:.1f}, {abs(percent):.0f} % {'less' if percent < 0 else 'more'}"

