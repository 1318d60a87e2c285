"""The names of roles in findings: of a kernel whose warps have different ones, as a timeline has them.

A finding is written in terms of the hardware, "warp 3 of warpgroup 1". Where the program gives that warp a role, the
finding says "TMA (warp 3 of warpgroup 1)", and afterwards "TMA", unless another warp with that role occurs in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.ir import Bind, BufferLoad, BufferStore, PrimFunc, Stmt, walk
from tirx_mini.isa import Completion, instructions
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import ALL, LOADS, OTHER, WRITE_BACK, part_of, role_named

from .deadlock import Definitions, Guard, StuckRole, reached
from .findings import Finding

_IN_WARPGROUPS = re.compile(
    r"\b(?:(?:\d+ warps|warps? (?P<warps>\d+(?:(?:, \d+)* and \d+)?)) of )?warpgroup (?P<group>\d+)\b"
)
_ALONE = re.compile(r"(?<!lanes of )\bwarps? (?P<warps>\d+(?:(?:, \d+)* and \d+)?)\b(?! of )")
"""Warps as `sim.machine.warp_name` and `deadlock.situation.role_name` name them, in CTAs of several warpgroups and of
one."""


def warp_roles(func: PrimFunc) -> Mapping[int, str]:
    """Return the role of each warp that has one, as far as thread indices decide; {} where the roles are not divided.

    Roles are divided where no warp has all parts of the kernel, and two warps differ in theirs. Where several warps may
    each execute the same parts, values in memory decide which of them does: the parts together are no warp's role.
    Warpgroups that multiply together execute all of their parts.
    """
    assert func.launch is not None
    parts: dict[int, set[str]] = {warp: set() for warp in range(func.launch.warps)}
    together: set[int] = set()
    definitions = Definitions.of(func)
    for stmt, guards, _ in reached(func.body, (), (), definitions):
        if isinstance(stmt, Bind):
            definitions.add(stmt, func.launch.warps)
        if not (found := set(_parts(stmt))):
            continue
        warps = _warps(guards, func.launch.warps)
        if any(entry.completion is Completion.WGMMA_GROUP for entry in instructions(stmt)):
            together |= {warp // WARPGROUP_WARPS for warp in warps}
        for warp in warps:
            parts[warp] |= found
    there = frozenset[str]().union(*parts.values())
    for group in together:
        own = [warp for warp in parts if warp // WARPGROUP_WARPS == group]
        whole = set[str]().union(*(parts[warp] for warp in own))
        parts.update(dict.fromkeys(own, whole))
    roles = {warp: role_named(own, there) for warp, own in parts.items()}
    named = {warp: role for warp, role in roles.items() if role != OTHER}
    if ALL in named.values() or len(set(named.values())) < 2:
        return {}
    held = Counter(named.values())
    undecided = {w for w in named if len(parts[w]) > 1 and held[named[w]] > 1 and w // WARPGROUP_WARPS not in together}
    return {warp: role for warp, role in named.items() if warp not in undecided}


def _parts(stmt: Stmt) -> Iterator[str]:
    """Yield the parts of the kernel that a statement belongs to."""
    yield from filter(None, map(part_of, instructions(stmt)))
    if isinstance(stmt, BufferStore) and stmt.buffer.scope == "global":
        yield WRITE_BACK
    if any(isinstance(node, BufferLoad) and node.buffer.scope == "global" for node in walk(stmt)):
        yield LOADS


def _warps(guards: Iterable[Guard], warps: int) -> list[int]:
    """Return the warps of which some thread may pass the guards."""
    alive = [True] * warps
    for guard in guards:
        alive = [a and bool(row.any()) for a, row in zip(alive, guard.threads(warps), strict=True)]
    return [warp for warp, may in enumerate(alive) if may]


def with_roles(findings: Sequence[Finding], func: PrimFunc) -> Sequence[Finding]:
    """Return the findings with the names of roles in the place of their warps."""
    if not findings or func.launch is None or not (roles := warp_roles(func)):
        return findings
    return [_Naming(roles, func.launch.warps).finding(finding) for finding in findings]


@dataclass
class _Naming:
    """The names of roles in one finding. said: the warps whose role has been named together with them."""

    roles: Mapping[int, str]
    warps: int
    said: set[str] = field(default_factory=set[str])
    ambiguous: frozenset[str] = frozenset()

    def finding(self, finding: Finding) -> Finding:
        """Return a finding in these terms: its page names warps once, and the sentence on the order once by itself."""
        self.ambiguous = self._ambiguous(_texts(finding))
        message = self._text(finding.message)
        details = dict(finding.details)
        for name, value in details.items():
            if name == "hint" and value:
                details[name] = self._text(value)
            elif name == "notes":
                details[name] = tuple((self._text(text), span) for text, span in value)
            elif name == "cycle":
                details[name] = tuple(map(self._text, value))
            elif name == "stuck":
                details[name] = tuple(map(self._stuck, value))
        alone = replace(self, said=set())
        order = None if finding.order is None else alone._text(finding.order)
        return replace(finding, message=message, details=details, order=order, in_warps=finding.message)

    def _stuck(self, role: StuckRole) -> StuckRole:
        return replace(
            role, role=self._text(role.role), waits_for=self._text(role.waits_for),
            so_far=tuple(map(self._text, role.so_far)), providers=tuple(map(self._text, role.providers)),
        )  # fmt: skip

    def _text(self, text: str) -> str:
        def named(match: re.Match[str]) -> str:
            warps, role = match.group(), self._role(match)
            if role is None or re.search(rf"\b{role}(?: load| store)? of $", text[: match.start()]):
                return warps  # "the MMA of warp 0 of warpgroup 1" names the role already
            if warps in self.said and role not in self.ambiguous:
                return role
            self.said.add(warps)
            return f"{role} ({warps})"

        return self._pattern.sub(named, text)

    def _ambiguous(self, texts: Iterable[str]) -> frozenset[str]:
        """Return the roles that several warps, or groups of warps, of the texts have."""
        found: dict[str, set[str]] = {}
        for match in (match for text in texts for match in self._pattern.finditer(text)):
            if (role := self._role(match)) is not None:
                found.setdefault(role, set()).add(match.group())
        return frozenset(role for role, warps in found.items() if len(warps) > 1)

    def _role(self, match: re.Match[str]) -> str | None:
        """Return the one role of the warps in a match; None where they have none, or several."""
        written = match.groupdict()
        first = int(written.get("group") or 0) * WARPGROUP_WARPS
        own = [int(n) for n in re.findall(r"\d+", written["warps"])] if written["warps"] else range(WARPGROUP_WARPS)
        roles = {self.roles.get(first + warp) for warp in own}
        role = next(iter(roles)) if len(roles) == 1 else None
        return None if role is None else role.replace(", ", " and ")

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _ALONE if self.warps <= WARPGROUP_WARPS else _IN_WARPGROUPS


def _texts(finding: Finding) -> Iterator[str]:
    """Yield all sentences of a finding that may name warps."""
    details = finding.details
    yield from (finding.message, finding.order or "", details.get("hint") or "")
    yield from (text for text, _ in details.get("notes", ()))
    yield from details.get("cycle", ())
    for role in details.get("stuck", ()):
        yield from (role.role, role.waits_for, *role.so_far, *role.providers)
