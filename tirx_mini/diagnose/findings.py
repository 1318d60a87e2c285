"""Findings about a kernel, and the report that holds them.

The classes hold results without behaviour: `report` renders them, tests compare them, and `as_dict` turns them into
JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from tirx_mini.display import Displayed
from tirx_mini.ir import Diagnostic, Span
from tirx_mini.narrowing import is_listed, is_mapping
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import PlanNote, Timeline

from .bound import Bound
from .kind import VERDICTS, Kind, Severity, Verdict
from .kinds import KINDS, kind_of
from .proof import Proof
from .times import Timing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class Finding(Displayed):
    """A diagnosed `error`, a `warning` about behaviour that only current hardware tolerates, or a `note`.

    kind: a key of `KINDS`.
    severity: "error", "warning" or "note".
    message: one sentence.
    span: the source location.
    details: further facts by name: "hint" (one sentence on the fix), "notes" (a tuple of (text, span)), "role" (the
        warps), "cta", "buffer", "barrier", "count" (the number of occurrences), "rule" (the PTX ISA section),
        "consequence" (true if other findings are more likely to show the cause), "cause" (of a deadlock, a key of
        `CAUSES`), "cycle" and "stuck" (the `StuckRole`s of a deadlock).
    order: the legal order of events in which the kernel fails, as a clause that begins with "if"; None if it failed in
        this run.
    in_warps: the message without the names of roles, "" if it has none.
    """

    kind: str
    severity: Severity
    message: str
    span: Span | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    order: str | None = None
    in_warps: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is not a kind of finding: no rule defines it")

    @property
    def verdict(self) -> Verdict:
        """The verdict that this finding alone implies."""
        verdict = KINDS[self.kind].verdict
        return verdict if self.severity == "error" or verdict == "incomplete" else "ok"

    @property
    def happened(self) -> bool:
        """Return whether the error occurred in this run; otherwise it is possible in the `order` that the finding
        describes."""
        return self.order is None

    @property
    def about(self) -> Kind:
        """The kind of the finding, with its code and rule."""
        return kind_of(self.kind, self.details.get("cause"))

    @property
    def code(self) -> str:
        """The stable code, as in "TX201"; `docs/findings.md` has a section for each."""
        return self.about.code

    @property
    def rule(self) -> str:
        """The source of the violated rule, "" if there is none."""
        return self.details.get("rule") or self.about.isa

    @property
    def diagnostic(self) -> Diagnostic:
        """The finding as an error page of plain text: `.diagnostic.render()`."""
        notes = [] if self.happened else [(f"not seen in this run: it goes wrong {self.order}", None)]
        notes += [(text, span) for text, span in self.details.get("notes", ())]
        notes += [(str(role), role.span) for role in self.details.get("stuck", ())]
        return Diagnostic(self.message, self.span, self.details.get("hint"), tuple(notes), self.severity, self.code)


@dataclass(frozen=True)
class Report(Displayed):
    """The outcome of a simulation.

    verdict: "ok", "deadlock", "fault" or "hazard"; "incomplete" if the run reached an unmodelled operation, "clock" if
        a run without data found nothing.
    findings: worst first.
    timing: the predicted times of one of many consecutive launches and of a single one; None if the kernel did not
        finish. `time_us`, `tflops`, `cycles` and `single_us` are its figures.
    trace: the timeline, if requested.
    stats: figures by name.
    kernel, gpu: their names.
    unwritten: sentences about unwritten parts of the arguments that the kernel writes elsewhere, and about unread
        results in tensor memory.
    schedules: the number of schedules run.
    seed: the seed that replays the worst finding.
    right: whether the results are right, if they were compared; None in a report of the simulator alone.
    unchecked: sentences about texts of the program that could not be checked.
    sampled: a sentence about the partial runs behind an extrapolated time; "" if the whole launch was run.
    proof: for a run that is ok, its guarantee for other orders of its events; None without checks.
    bound: the performance bound of a completed run with a timeline; None for any other.
    yours: for a student's file, the number of the kernel's completed TODOs, as in "5 of 12 yours"; "" if all are.
    plan: the plan of execution, and the reasons against other plans; None if nothing was executed. It does not affect
        equality.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    timing: Timing | None = None
    trace: Timeline | None = None
    stats: Mapping[str, Any] = field(default_factory=dict[str, Any])
    kernel: str = ""
    gpu: str = ""
    schedules: int = 1
    seed: int = 0
    right: bool | None = None
    proof: Proof | None = None
    unwritten: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    bound: Bound | None = None
    sampled: str = ""
    yours: str = ""
    plan: PlanNote | None = field(default=None, compare=False)

    @property
    def time_us(self) -> float | None:
        """Microseconds of one of many launches in a row; None where the kernel did not finish."""
        return None if self.timing is None else self.timing.row.us

    @property
    def tflops(self) -> float | None:
        """TFLOPS at that time; None where the kernel executed no MMA."""
        return None if self.timing is None else self.timing.tflops

    @property
    def cycles(self) -> float | None:
        """Cycles of the SM clock of that time, without the latency of the launch."""
        return None if self.timing is None else self.timing.row.cycles

    @property
    def single_us(self) -> float | None:
        """Microseconds of one launch by itself, with nothing in the L2; None where it was not asked for."""
        return None if self.timing is None or self.timing.single is None else self.timing.single.us

    @property
    def ok(self) -> bool:
        """Return whether the verdict is "ok"."""
        return self.verdict == "ok"

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The findings that are not consequences of others; all findings if each is one."""
        found = tuple(f for f in self.findings if not f.details.get("consequence"))
        return found if any(f.severity == "error" for f in found) else self.findings

    @property
    def consequences(self) -> tuple[Finding, ...]:
        """The findings that are consequences of others."""
        causes = {id(f) for f in self.causes}
        return tuple(f for f in self.findings if id(f) not in causes)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity "error"."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity "warning"."""
        return tuple(f for f in self.findings if f.severity == "warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings of severity "note"."""
        return tuple(f for f in self.findings if f.severity == "note")

    def named(self, kernel: str) -> Report:
        """Return a copy of the report, and of its timeline's label, under another kernel name."""
        if self.trace is None:
            return replace(self, kernel=kernel)
        came = self.verdict if self.timing is None else self.timing.row.text
        return replace(self, kernel=kernel, trace=replace(self.trace, label=f"{kernel} on {self.gpu}, {came}"))

    @property
    def only_possible(self) -> bool:
        """Return whether all errors are possible ones, which need another order of events."""
        return bool(self.errors) and not any(f.happened for f in self.errors)

    def forgiving(self) -> Report:
        """Return the report with its errors as warnings."""
        kinder = (replace(f, severity="warning") if f.severity == "error" else f for f in self.findings)
        return replace(self, findings=tuple(kinder))

    @property
    def comparable(self) -> bool:
        """Return whether results can be compared: no error occurred in the run that would explain wrong ones."""
        return self.verdict in ("ok", "incomplete") or self.only_possible

    @property
    def badness(self) -> tuple[bool, int]:
        """The sort key of reports: first errors that occurred, then the verdict."""
        return not self.comparable, -VERDICTS.index(self.verdict)

    @property
    def outlook(self) -> str:
        """A sentence on the order in which a kernel with only possible errors fails; "" for any other kernel."""
        if not self.only_possible:
            return ""
        order = self.errors[0].order
        if self.right:
            return f"right here; wrong {order}; seldom seen on a chip"
        if self.right is None:
            return f"nobody compared the result; it goes wrong {order}"
        return f"the result is wrong: in this run, perhaps, as it goes wrong {order}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the plain text in IPython and notebooks, in addition to the HTML."""
        printer.text(str(self))

    def __str__(self) -> str:
        """Return the report as plain text: a summary line, the outlook, a page per cause, then the consequences."""
        name = self.kernel or "kernel"
        head = f"{name}: {self.verdict}"
        if self.timing is not None:
            head += f", {self.timing.sentence(self.gpu)}\n{self.timing.parts}"
        if self.verdict == "clock":
            head += "\nvalues were not computed: nothing is known of the results, and hazards were not looked for"
        if self.sampled:
            head += f"\n{self.sampled}"
        if self.outlook:
            head += f"\n{self.outlook}"
        if self.proof is not None:
            head += f"\n{self.proof}"
        if self.bound is not None and not self.errors:
            head += f"\n{self.bound}"
        head += "".join(f"\n{sentence}" for sentence in (*self.unchecked, *self.unwritten))
        pages = [finding.diagnostic.render() for finding in self.causes]
        if self.consequences:
            lines = [f"{f.severity}[{f.code}] {f.span.user if f.span else ''}: {f.message}" for f in self.consequences]
            pages.append("\n".join(["what follows from it, or is due to the same mistake:", *lines]))
        return "\n\n".join([head, *pages])


WITHOUT_RESULT = "nothing-written"


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by severity, causes before consequences, then by verdict and order of detection.

    A missing result may be a consequence of any other finding.
    """
    severities = ("error", "warning", "note")

    def rank(finding: Finding) -> tuple[int, bool, bool, int, bool]:
        consequence = finding.details.get("consequence", False)
        verdict = VERDICTS.index(KINDS[finding.kind].verdict)
        # An operation in flight at the end often appears in an earlier race at its location.
        without_result = finding.kind == WITHOUT_RESULT
        in_flight = finding.kind == "in-flight-at-exit"
        return severities.index(finding.severity), consequence, without_result, verdict, in_flight

    return tuple(sorted(findings, key=rank))


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Return the worst verdict among the findings; "ok" if there are only warnings. A missing result decides only if it
    is the only error."""
    errors = {finding.kind for finding in findings if finding.severity == "error"}
    found = {finding.verdict for finding in findings if finding.kind != WITHOUT_RESULT or len(errors) == 1}
    for verdict in VERDICTS:
        if verdict in found:
            return verdict
    return "ok"


def as_dict(value: DataclassInstance) -> dict[str, object]:
    """Convert a result to a JSON object: dataclasses to objects without empty fields, spans to "file:line:column"."""
    items = {f.name: _as_json(getattr(value, f.name)) for f in fields(value) if f.compare and f.name != "trace"}
    if isinstance(value, Finding):
        items = {"code": value.code, **items, "happened": value.happened, "isa": value.rule}
    if isinstance(value, Report):
        items |= {name: getattr(value, name) for name in ("time_us", "tflops", "cycles", "single_us")}
    return {name: item for name, item in items.items() if item not in (None, [], {}, "")}


def _as_json(value: object) -> object:
    if isinstance(value, Span):
        return f"{value.user.file}:{value.user.line}:{value.user.column + 1}"
    if is_dataclass(value) and not isinstance(value, type):
        return as_dict(value)
    if is_mapping(value):
        return {str(key): _as_json(item) for key, item in value.items()}
    if is_listed(value):
        return [_as_json(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)
