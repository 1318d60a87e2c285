"""The choice of the CTAs of a run to show."""

from __future__ import annotations

from tirx_mini.diagnose import CtaTime, Timeline

FIRST, SLOWEST = "first", "slowest"


def ctas_shown(timeline: Timeline, choice: str | int = FIRST) -> tuple[int, ...]:
    """Return the chosen CTA, or both CTAs of its pair.

    choice: "first"; "slowest", the CTA with the longest lifetime, or the first endless one in a deadlocked run; or an
    index in the grid. Raises `ValueError` for an index outside the grid.
    """
    ctas = timeline.ctas
    if not ctas:
        raise ValueError("no CTA has started: there is no timeline to show")
    if choice == FIRST:
        chosen = ctas[0]
    elif choice == SLOWEST:
        chosen = _slowest(timeline)
    else:
        found = next((cta for cta in ctas if cta.cta == choice), None)
        if found is None:
            raise ValueError(f"there is no CTA {choice}: the run has CTAs {ctas[0].cta} to {ctas[-1].cta}")
        chosen = found
    pair = chosen.cluster, chosen.rank // 2
    return tuple(cta.cta for cta in ctas if (cta.cluster, cta.rank // 2) == pair)


def _slowest(timeline: Timeline) -> CtaTime:
    if timeline.stuck is not None:
        left = [cta for cta in timeline.ctas if cta.end == timeline.stuck]
        if left:
            return left[0]
    return max(timeline.ctas, key=lambda cta: cta.end - cta.start)
