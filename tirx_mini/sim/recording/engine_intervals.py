"""The intervals of the engine tracks: copies of the TMA and MMAs of the tensor cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..timeline import Activity, Interval, Place, Track, TrackKind
from .naming import Names
from .notes import CopyNote, MmaNote


def copy_intervals(notes: Iterable[CopyNote], names: Names) -> Iterator[Interval]:
    """Yield one interval for each TMA load and store, on a track of the CTA that issued it."""
    for note in notes:
        tensor_map = note.tensor_map
        tile, stage = names.element(note.offset)
        kind, verb = (TrackKind.TMA_LOAD, "load") if note.load else (TrackKind.TMA_STORE, "store")
        operands = [("to" if note.load else "from", tile), ("box", box_text(note))]
        operands.append(("bytes", str(tensor_map.box_bytes)))
        if len(note.targets) > 1:
            operands.append(("multicast to CTAs", ", ".join(map(str, note.targets))))
        yield Interval(
            Track(note.cta, kind), Activity.BUSY, f"{verb} {tensor_map.buffer.name}", note.start, note.end, note.span,
            tuple(operands), stage, note.barrier, note.phase, note.moved,
        )  # fmt: skip


def box_text(note: CopyNote) -> str:
    """Return the box of the tensor that a copy moves, such as "A[0:128, 64:128]"."""
    return note.tensor_map.buffer.name + ranges(box_of(note))


def box_of(note: CopyNote) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) of each dimension, outermost first; a gather4 box spans its four rows."""
    if len(note.coords) > note.tensor_map.rank:
        column, *rows = map(int, note.coords)
        return (min(rows), max(rows) + 1), (column, column + note.tensor_map.box[0])
    extents = zip(note.coords[::-1], note.tensor_map.box[::-1], strict=True)
    return tuple((int(start), int(start) + extent) for start, extent in extents)


def ranges(box: Iterable[tuple[int, int]]) -> str:
    """Format a box as Python slices."""
    return f"[{', '.join(f'{start}:{stop}' for start, stop in box)}]"


def mma_intervals(notes: Iterable[MmaNote], names: Names) -> Iterator[Interval]:
    """Yield one interval for each batch of MMAs on each tensor core that executes it."""
    for note in notes:
        b, stage = names.element(note.b)
        a = "tensor memory"
        if note.a is not None:
            a, stage = names.element(note.a)
        m, n, k = note.shape
        operands = (("A", a), ("B", b), ("shape", f"{m} × {n} × {k}"), ("MMAs", str(note.count)))
        for cta in note.ctas:
            barrier = _signalled(note.barriers, cta)
            yield Interval(
                Track(cta, TrackKind.TENSOR), Activity.BUSY, "MMA", note.start, note.end, note.span, operands, stage,
                barrier, note.phase if barrier is not None else None,
            )  # fmt: skip


def _signalled(barriers: tuple[Place, ...], cta: int) -> Place | None:
    """Return the barrier of the CTA itself among the barriers that a commit signals, or else the first one."""
    return next((place for place in barriers if place.cta == cta), barriers[0] if barriers else None)
