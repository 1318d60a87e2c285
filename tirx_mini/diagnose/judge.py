"""The judgement of a run: facts become findings, a deadlock is explained, and a report is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.sim import Entry, Hazard, Operation, Outcome, Sampled, UnreadColumns, Unwritten, place_key

from .bound import bound_of
from .deadlock import (
    Deadlock,
    Suspect,
    barrier_of,
    explain_deadlock,
    handover_suspect,
    line,
    state_notes,
    state_suspects,
    suspects,
)
from .findings import Finding, Report, verdict_of, worst_first
from .hazards import FENCES
from .kind import IN_FLIGHT_AT_EXIT, NOT_MODELLED, Explanation
from .kinds import FACT_RULES
from .launches import NAN_RESULT
from .proof import proof_of
from .roles import with_roles
from .roots import (
    causes_first,
    consequence,
    explains_others,
    may_follow,
    named_waits,
    overflows_after,
    overtakes,
    with_suspects,
)
from .times import Timing, predicted_time
from .twins import together

MOST_BOXES = 4
"""The maximum number of unwritten parts of an argument that are listed."""


class SimulationError(Exception):
    """An error that the simulator found in a kernel.

    `report` is the report of the run; `str(error)` is the page.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(f"{report.kernel}: {report.verdict}")

    def __str__(self) -> str:
        return str(self.report)

    def _render_traceback_(self) -> list[str]:
        """Return the page that a notebook prints instead of a traceback."""
        return str(self).splitlines()


def failed(name: str, error: TirxError, gpu: str) -> Report:
    """Return the report of a kernel that could not be built or lowered."""
    diagnostic = error.diagnostic
    details = {"hint": diagnostic.hint, "notes": diagnostic.notes}
    severity = "note" if error.kind == NOT_MODELLED.name else "error"
    finding = Finding(error.kind, severity, diagnostic.message, diagnostic.span, details)
    return Report(finding.verdict, (finding,), kernel=name, gpu=gpu)


def report_of(
    func: PrimFunc, spec: GpuSpec, outcome: Outcome, schedules: int = 1, seed: int = 0, data: bool = True
) -> Report:
    """Return the report of a run. data: whether it computed values."""
    findings = _without_nans([finding_of(entry) for entry in outcome.facts])
    suspicions: list[Finding] = []
    deadlock = explain_deadlock(func, outcome.blocked, outcome.repeats) if outcome.blocked else None
    if deadlock is not None:
        findings = _with_deadlock(findings, deadlock)
        if not deadlock.rule.root:
            suspicions = list(_suspicions(func))
    elif any(f.severity == "error" for f in findings):
        states = [_suspicion(one) for one in state_suspects(func, outcome.repeats)]
        if any(f.severity == "error" and (f.verdict == "hazard" or overtakes(f)) for f in findings):
            suspicions = list(_suspicions(func))
        if states:
            findings, suspicions = with_suspects([*suspicions, *findings], states), []
    findings = _handed_over(func, findings, suspicions, deadlock, outcome)
    findings = _without_echoes(causes_first(func, [_with_states(func, finding) for finding in findings]))
    findings = together(_bytes_first(suspicions, findings, deadlock, outcome))
    finished = not outcome.blocked and outcome.fault is None
    stats: dict[str, Any] = dict(outcome.stats)
    timing = None
    if finished:
        timing = Timing(predicted_time(func, spec, outcome), outcome.stats.get("flops", 0.0))
        stats["clock_ghz"] = timing.row.clock_ghz
    if func.launch is not None:
        stats["smem_bytes"] = func.launch.smem_bytes
    if outcome.barrier_log is not None:
        stats["barriers"] = outcome.barrier_log
    verdict = verdict_of(findings)
    if verdict == "ok" and not data:
        verdict = "clock"
    known = outcome.open_orders if verdict == "ok" else None
    trace, bound = outcome.trace, None
    unread = map(_unread_text, outcome.unread)
    if trace is not None:
        trace = replace(trace, clock_ghz=stats.get("clock_ghz", spec.clock_ghz))
    if trace is not None and trace.ctas and timing is not None:
        bound = bound_of(trace, spec, stats, timing.row)
    return Report(
        verdict,
        worst_first(with_roles(findings, func)),
        timing,
        trace,
        stats,
        func.name,
        spec.name,
        schedules,
        seed,
        proof=None if known is None else proof_of(known),
        sampled="" if outcome.sampled is None else _sampled_text(outcome.sampled),
        unwritten=(*map(_unwritten_text, outcome.unwritten), *(() if _racing(outcome) else unread)),
        bound=bound,
        plan=outcome.plan,
    ).named(func.name)


def _handed_over(
    func: PrimFunc, findings: list[Finding], suspicions: Sequence[Finding], deadlock: Deadlock | None, outcome: Outcome
) -> list[Finding]:
    """Add an incorrect handover as the cause of the findings, if the program shows one."""
    explained = deadlock is not None and not deadlock.rule.consequence
    if suspicions or explained or not any(map(may_follow, findings)):
        return findings
    suspect = handover_suspect(func, outcome.fresh_waits, outcome.blocked, named_waits(findings))
    if suspect is None or any(explains_others(f) and not overflows_after(f, suspect) for f in findings):
        return findings
    alone = all(f.kind == "deadlock" for f in findings if f.severity == "error")
    if deadlock is not None and alone and deadlock.rule.kind.code == suspect.kind.code:
        return findings
    cause = _suspicion(suspect)
    if not _used(cause, outcome):
        return [*_standing_alone(findings), cause]
    if any(f.happened and f.severity == "error" for f in findings):
        cause = replace(cause, order=None)
    return with_suspects(findings, [cause])


def _sampled_text(sampled: Sampled) -> str:
    """Return a sentence about the partial runs behind a sampled time."""
    whole, sizes = sampled.whole, sampled.sizes
    waves, trips = max(size.waves for size in sizes), max(size.trips for size in sizes)
    return (
        f"the time is worked out from {len(sizes)} runs of parts: up to {waves} of {whole.waves} waves, and {trips} of "
        f"{whole.trips} iterations of the longest loop; assumed is that all clusters do the same, as the code shows, "
        "and that each wave and iteration that is left out takes as long as those that were run"
    )


def _unwritten_text(part: Unwritten) -> str:
    """Return a sentence about the unwritten parts of an argument."""
    if not part.boxes:
        return f"no thread writes {part.buffer}"
    boxes = [f"{part.buffer}[{', '.join(f'{start}:{stop}' for start, stop in box)}]" for box in part.boxes]
    more = f" and {len(boxes) - MOST_BOXES} more parts" if len(boxes) > MOST_BOXES else ""
    return f"no thread writes {', '.join(boxes[:MOST_BOXES])}{more}"


def _racing(outcome: Outcome) -> bool:
    """Return whether a read of tensor memory is unordered, and may be the apparently missing one."""
    reads = Operation.TCGEN05_LD
    return any(
        isinstance(fact := entry.fact, Hazard)
        and (fact.operation is reads or (fact.earlier is not None and fact.earlier.operation is reads))
        for entry in outcome.facts
    )


def _unread_text(part: UnreadColumns) -> str:
    """Return a sentence about an unread result in tensor memory."""
    columns = f"columns {part.first} to {part.last} of tensor memory"
    return f"no thread reads {columns}, which the MMA of {line(part.span)} writes"


# -- findings ----------------------------------------------------------------------------------------------------------


def finding_of(entry: Entry) -> Finding:
    """Return the finding of a fact, with its number of occurrences."""
    fact = entry.fact
    rule = FACT_RULES[type(fact)]
    explanation = rule.explain(fact)
    kind = explanation.kind or rule.kind
    assert kind is not None, f"the rule for {type(fact).__name__} names no kind"
    origin = fact.origin
    details: dict[str, Any] = {"role": origin.role, "cta": origin.cta, **_details(explanation)}
    if entry.count > 1:
        details["count"] = entry.count
    known = {name: value for name, value in details.items() if value not in ("", None, ())}
    severity = explanation.severity or rule.severity
    return Finding(kind.name, severity, explanation.message, origin.span, known, explanation.order)


def _without_nans(findings: list[Finding]) -> list[Finding]:
    """Return the findings without NaN results if another error or unmodelled operation explains them."""
    others = [finding for finding in findings if finding.kind != NAN_RESULT.name]
    wrong = any(finding.severity == "error" or finding.kind == NOT_MODELLED.name for finding in others)
    return others if wrong else findings


def _without_echoes(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without merely possible consequences, if there are other errors."""
    echoes = [f for f in findings if not f.happened and f.severity == "error" and f.details.get("consequence")]
    errors = sum(f.severity == "error" for f in findings)
    return [f for f in findings if f not in echoes] if len(echoes) < errors else list(findings)


def _bytes_first(
    suspicions: Sequence[Finding], findings: Sequence[Finding], deadlock: Deadlock | None, outcome: Outcome
) -> Sequence[Finding]:
    """Put wrong byte counts first, and mark the hazards that follow from them as consequences.

    If a phase completes early, roles overtake one another, which is a race in some kernels and a deadlock in others.
    """
    if not suspicions:
        return findings

    def follows(finding: Finding) -> bool:
        if finding.kind == "deadlock":
            return deadlock is not None and deadlock.after_bytes
        return overtakes(finding) or (finding.verdict == "hazard" and finding.kind not in FENCES)

    used = [one for one in suspicions if _used(one, outcome)]
    rest = [consequence(finding) if used and follows(finding) else finding for finding in findings]
    if deadlock is not None and deadlock.about_bytes:
        return rest
    unused = [one for one in suspicions if all(one is not other for other in used)]
    if not used:
        rest = list(_standing_alone(rest))
    return [*(replace(one, order=None if deadlock is not None else one.order) for one in used), *rest, *unused]


def _standing_alone(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Mark a deadlock that no other finding explains as a cause, even if its rule is uncertain."""
    if any(f.severity == "error" and not f.details.get("consequence") for f in findings):
        return findings
    return [
        replace(f, details={k: v for k, v in f.details.items() if k != "consequence"}) if f.kind == "deadlock" else f
        for f in findings
    ]


def _used(suspicion: Finding, outcome: Outcome) -> bool:
    """Return whether a run reached the barrier of a suspicion; otherwise nothing can follow from it yet."""
    clusters = {id(warp.cta.cluster): warp.cta.cluster for warp in outcome.blocked}.values()
    named = suspicion.details.get("barrier")
    barriers = [b for cluster in clusters for b in cluster.mbarriers() if b.element.buffer == named]
    return not barriers or any(b.history.arrivals or b.history.wait_counts or b.waiters for b in barriers)


def _details(explanation: Explanation) -> dict[str, Any]:
    return {
        **explanation.about,
        "hint": explanation.hint,
        "notes": explanation.notes,
        "rule": explanation.rule,
    }


def _with_states(func: PrimFunc, finding: Finding) -> Finding:
    """Add notes on skipped states to a finding about operations in flight at the end of a CTA."""
    if finding.kind != IN_FLIGHT_AT_EXIT.name:
        return finding
    notes = (*finding.details.get("notes", ()), *state_notes(func))
    return replace(finding, details={**finding.details, "notes": notes})


def _suspicions(func: PrimFunc) -> Iterable[Finding]:
    """Return the mistakes that the program itself shows and that explain hazards."""
    return (_suspicion(suspect) for suspect in suspects(func))


def _suspicion(suspect: Suspect) -> Finding:
    details = {name: value for name, value in _details(suspect.explanation).items() if value}
    order = suspect.explanation.order
    return Finding(suspect.kind.name, "error", suspect.explanation.message, suspect.span, details, order)


# -- deadlocks ---------------------------------------------------------------------------------------------------------


def _with_deadlock(findings: Sequence[Finding], deadlock: Deadlock) -> list[Finding]:
    """Return the findings with the deadlock in order, without those that its page includes."""
    groups = [group for situation in deadlock.situations for group in situation.groups]
    places = {place_key(group.span) for group in groups}
    dead = {g.mbarrier.element.buffer for g in groups if g.mbarrier is not None and g.mbarrier.init_span is None}

    def included(finding: Finding) -> bool:
        if finding.kind == "barrier-uninitialised":
            named = finding.details.get("barrier", "").partition("[")[0]
            return named in dead or place_key(finding.span) in places
        return finding.kind == "illegal-convergence" and place_key(finding.span) in places

    others = [finding for finding in findings if not included(finding)]
    return [*(map(consequence, others) if deadlock.rule.root else others), _deadlock_finding(deadlock)]


def _deadlock_finding(deadlock: Deadlock) -> Finding:
    rule, explanation, situation, group = deadlock.rule, deadlock.explanation, deadlock.situation, deadlock.group
    details: dict[str, Any] = {
        "cause": rule.kind.name,
        "hint": explanation.hint,
        "notes": explanation.notes,
        "role": group.role,
        "cta": group.warps[0].cta.name,
    }
    if rule.consequence:
        details["consequence"] = True
    barrier = barrier_of(group.wait)
    if barrier is not None:
        details["barrier"] = barrier.name
    cycle = situation.cycle(group)
    if cycle:
        details["cycle"] = tuple(f"{g.role} {g.waits} for {g.waits_for} ({line(g.span)})" for g in cycle)
    first = [group, *cycle]
    others = [g for g in situation.groups if all(g is not one for one in first)]
    details["stuck"] = tuple(situation.stuck_role(g) for g in (*{id(g): g for g in first}.values(), *others))
    return Finding("deadlock", "error", explanation.message, explanation.span or group.span, details)
