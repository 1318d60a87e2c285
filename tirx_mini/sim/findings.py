"""What a simulation found out: findings, the roles of a deadlock, and the report that holds them.

Results only, no machinery: `report` renders these, tests compare them, and `as_dict` turns them into JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from tirx_mini.ir import Diagnostic, Span

from .kinds import KINDS, VERDICTS, Kind, Verdict, kind_of

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (`error`) or that only today's chips forgive (`warning`).

    kind: a key of `KINDS`. message: one sentence. span: where in the source.
    details: what else is known, by name: "hint" (one sentence: what to write instead), "notes" (a tuple of
        (text, span)), "role" (which warps), "cta", "buffer", "barrier", "count" (how often it happened),
        "rule" (the PTX ISA section), "consequence" (true where other findings are more likely to show the cause),
        "cause" (of a deadlock, a key of `CAUSES`), "cycle" and "stuck" (the `StuckRole`s of a deadlock).
    """

    kind: str
    severity: Severity
    message: str
    span: Span | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of finding {self.kind!r}: add it to KINDS")

    @property
    def verdict(self) -> Verdict:
        """What this finding alone makes of the kernel."""
        return KINDS[self.kind].verdict if self.severity == "error" else "ok"

    @property
    def about(self) -> Kind:
        """The entry of the table of kinds: code and rule."""
        return kind_of(self.kind, self.details.get("cause"))

    @property
    def code(self) -> str:
        """The stable code, as in "TX201"; `docs/findings.md` has a section for each."""
        return self.about.code

    @property
    def rule(self) -> str:
        """Where the rule that is broken is written down, "" for plain sense."""
        return self.details.get("rule") or self.about.isa

    @property
    def diagnostic(self) -> Diagnostic:
        """The finding as an error page of plain text: `.diagnostic.render()`."""
        notes = [(text, span) for text, span in self.details.get("notes", ())]
        notes += [(str(role), role.span) for role in self.details.get("stuck", ())]
        return Diagnostic(self.message, self.span, self.details.get("hint"), tuple(notes), self.severity, self.code)


@dataclass(frozen=True)
class StuckRole:
    """Some warps that wait for the same thing at the same place, in a machine where nothing can advance.

    role: which warps, in words ("warp 3 of warpgroup 1"). ctas: in how many CTAs, with `example` the first.
    waits_for: what for, in words ("tma2mma[1] to complete phase 0").
    barrier, stage: the barrier's name in the source and its index there. parity: the phase parity waited for.
    phase: the number of phases the barrier has completed. expected, pending: arrivals per phase, and still missing.
    tx_bytes: bytes expected that have not arrived (negative: bytes arrived that nobody expected).
    providers: who should arrive, and where they are, one sentence each. so_far: who has arrived at the barrier, how
        often in all rounds.
    """

    role: str
    span: Span | None
    waits_for: str
    ctas: int = 1
    example: str = ""
    barrier: str | None = None
    stage: int | None = None
    parity: int | None = None
    phase: int | None = None
    expected: int | None = None
    pending: int | None = None
    tx_bytes: int | None = None
    providers: tuple[str, ...] = ()
    so_far: tuple[str, ...] = ()

    @property
    def lacking(self) -> str:
        """What the barrier's current phase still lacks; "" where it is no mbarrier."""
        if self.expected is None or self.pending is None:
            return ""
        if not self.expected:
            return "it was never initialised"
        parts: list[str] = []
        if self.pending:
            parts.append(f"{self.pending} of {self.expected} arrival{'s' * (self.expected > 1)} missing")
        if self.tx_bytes:
            parts.append(
                f"{self.tx_bytes} bytes missing" if self.tx_bytes > 0 else f"{-self.tx_bytes} bytes came unannounced"
            )
        return ", ".join(parts)

    def __str__(self) -> str:
        where = f" (in {self.ctas} CTAs, first {self.example})" if self.ctas > 1 else ""
        said = [self.lacking] if self.lacking else []
        return "; ".join([f"{self.role}{where}: waiting for {self.waits_for}", *said, *self.providers])


@dataclass(frozen=True)
class Report:
    """The outcome of a simulation.

    findings: worst first. time_us, tflops: predicted on the modelled GPU (None where the kernel did not finish, or
        executed no MMA). cycles: of the SM clock. trace: the timeline's events. stats: figures by name.
    schedules: how many were run; seed: the one that replays the worst finding.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    time_us: float | None = None
    tflops: float | None = None
    cycles: float | None = None
    trace: Any = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    kernel: str = ""
    gpu: str = ""
    schedules: int = 1
    seed: int = 0

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "warning")

    def __str__(self) -> str:
        """The whole report as plain text: one line, then a page for each finding."""
        name = self.kernel or "kernel"
        head = f"{name}: {self.verdict}"
        if self.time_us is not None:
            head += f", {self.time_us:.1f} us predicted on {self.gpu}"
        if self.tflops is not None:
            head += f", {self.tflops:.0f} TFLOPS"
        return "\n\n".join([head, *(finding.diagnostic.render() for finding in self.findings)])


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings ordered: errors before warnings, causes before consequences, by verdict; else as they were found."""

    def rank(finding: Finding) -> tuple[bool, bool, int, bool]:
        consequence = finding.details.get("consequence", False)
        verdict = VERDICTS.index(KINDS[finding.kind].verdict)
        # What is in flight at the end is often what races show at its place before.
        return finding.severity != "error", consequence, verdict, finding.kind == "in-flight-at-exit"

    return tuple(sorted(findings, key=rank))


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict among the findings; "ok" where there are only warnings."""
    found = {finding.verdict for finding in findings}
    for verdict in VERDICTS:
        if verdict in found:
            return verdict
    return "ok"


def as_dict(value: Any) -> Any:
    """A result as JSON knows it: dataclasses as objects (without what is empty), spans as "file:line:column"."""
    if isinstance(value, Span):
        return f"{value.user.file}:{value.user.line}:{value.user.column + 1}"
    if is_dataclass(value) and not isinstance(value, type):
        items = {f.name: as_dict(getattr(value, f.name)) for f in fields(value) if f.name != "trace"}
        if isinstance(value, Finding):
            items = {"code": value.code, **items, "isa": value.rule}
        return {name: item for name, item in items.items() if item not in (None, [], {}, "")}
    if isinstance(value, Mapping):
        return {str(key): as_dict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_dict(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)
