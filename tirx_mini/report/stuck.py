"""The deadlock section of a page: the roles with their waits, and the cycle that they form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tirx_mini.diagnose import StuckRole

from .source import line_number, source_line

MOST_ROLES, MOST_ROWS = 2, 2
"""The maximum numbers of roles shown in full, and of signal locations for each."""


def stuck_page(roles: Sequence[StuckRole]) -> RenderableType:
    """Return a section per role: its line, the awaited barrier and phase, and the received and missing arrivals.

    The first roles are shown in full, the others in one line.
    """
    parts: list[RenderableType] = []
    for number, role in enumerate(roles):
        place = Text(f"{role.role}", style="bold")
        place.append(f", line {line_number(role.span)}", style="not bold cyan")
        if number >= MOST_ROLES:
            place.append(f": {source_line(role.span)}", style="not bold")
            place.no_wrap, place.overflow = True, "ellipsis"
            parts.append(place)
            continue
        place.append(f" ({_ctas(role)})" if role.example else "", style="not bold dim")
        parts += [place, Padding(Text(source_line(role.span), no_wrap=True, overflow="ellipsis"), (0, 0, 0, 4))]
        parts.append(Padding(_facts(role), (0, 0, 0, 4)))
    return Group(*parts)


def _ctas(role: StuckRole) -> str:
    return f"{role.ctas} CTAs, first {role.example}" if role.ctas > 1 else role.example


def _facts(role: StuckRole) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _rows(role):
        table.add_row(name, text)
    return table


def _rows(role: StuckRole) -> Iterator[tuple[str, str]]:
    if role.barrier is None:
        yield "waits for", role.waits_for
    else:
        rounds = f"{role.phase} round{'s' * (role.phase != 1)} complete"
        yield "waits for", f"{role.barrier}, phase of parity {role.parity}; {rounds}"
        yield "arrivals", _arrivals(role)
    for name, rows in (("arrived", role.so_far), ("missing", role.providers)):
        for text in rows[:MOST_ROWS]:
            yield name, text
        if len(rows) > MOST_ROWS:
            yield name, f"… and {len(rows) - MOST_ROWS} more"


def _arrivals(role: StuckRole) -> str:
    if not role.expected:
        return "never initialised"
    text = f"{role.expected - (role.pending or 0)} of {role.expected}"
    if role.pending:
        text += f", {role.pending} missing"
    if role.tx_bytes:
        text += f"; {role.tx_bytes} bytes missing" if role.tx_bytes > 0 else f"; {-role.tx_bytes} bytes unannounced"
    return text


def ring(waits: Sequence[str]) -> RenderableType:
    """Draw waits as a ring: each waits for the next, and the last for the first."""
    table = Table.grid(padding=0)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for number, text in enumerate(waits):
        table.add_row("+-> " if number == 0 else "|   ", Text(text.replace(" to complete its phase of ", ", ")))
    table.add_row("+---", Text("--+", style="dim"))
    return table
