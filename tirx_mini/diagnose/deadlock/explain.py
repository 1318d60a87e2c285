"""The explanation of a deadlock: the most likely cause in one sentence, and the fix in another.

Each rule examines one group of warps that wait for the same barrier at the same line, and recognises one mistake. Rules
are tried in order of certainty; the first that applies to any group names the cause.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass
from tirx_mini.sim import RepeatedWait, RunningWarp

from ..kind import Explanation, collect
from . import bytes, counts, general, handovers, rounds, signals, sometimes, states, threads
from .rule import DeadlockRule
from .sites import find_sites
from .situation import Group, Situation

RULES: tuple[DeadlockRule, ...] = tuple(
    sorted(
        collect((signals, states, handovers, threads, bytes, counts, rounds, sometimes, general), DeadlockRule),
        key=lambda rule: -rule.certainty,
    )
)
"""All deadlock rules, in descending order of certainty."""


@dataclass(frozen=True)
class Deadlock:
    """The cause of a deadlock. situation, group: where the rule applies. situations: all distinct deadlock states."""

    rule: DeadlockRule
    explanation: Explanation
    situation: Situation
    group: Group
    situations: tuple[Situation, ...]

    @property
    def about_bytes(self) -> bool:
        """Return whether the cause is a mismatch between expected and delivered bytes."""
        return self.rule is bytes.bytes_differ

    @property
    def after_bytes(self) -> bool:
        """Return whether wrong byte counts may also lead to this cause."""
        return self.rule.certainty < bytes.bytes_differ.certainty


def explain_deadlock(
    func: PrimFunc, blocked: Sequence[RunningWarp], repeats: Sequence[RepeatedWait] = ()
) -> Deadlock:
    """Return the most certain cause of a deadlock. blocked: the deadlocked warps. repeats: as in `Outcome`."""
    situations = _situations(func, blocked, repeats)
    for rule in RULES:
        for situation in situations:
            for group in situation.groups:
                explanation = rule.diagnose(situation, group)
                if explanation is not None:
                    return Deadlock(rule, explanation, situation, group, tuple(situations))
    raise AssertionError("some rule applies to every group")


def _situations(
    func: PrimFunc, blocked: Sequence[RunningWarp], repeats: Sequence[RepeatedWait]
) -> list[Situation]:
    """Return one situation for each distinct state of a deadlocked cluster."""
    sites = find_sites(func)
    found: dict[Hashable, Situation] = {}
    for cluster in dict.fromkeys(warp.cta.cluster for warp in blocked):
        situation = Situation(func, sites, cluster, repeats)
        first = found.setdefault(situation.key, situation)
        if first is not situation:
            first.clusters += 1
    return list(found.values())
