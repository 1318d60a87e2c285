"""Meetings: instructions that name lanes by a mask and execute once all of them arrive, such as shfl.sync.

The lanes of the mask may arrive at different program points (PTX ISA: "bar.warp.sync", "shfl.sync"); only `.aligned`
instructions require a common one. Diverged lanes supply their operands, and the last ones to arrive execute the
instruction for all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .interfaces import Wait
from .masks import FULL_WORD, LANES, Mask

WHOLE_WARP = "barrier.cluster"
"""The key of the meeting at instructions that the hardware executes once per warp, `.aligned` or not. Lanes that
execute one wait until the rest of the warp executes one or ends (measured on an H200, NVRTC 13.0).
"""


class MeetingWarp(Protocol):
    """The interface of a warp for meetings. meetings: those that some lanes have reached and that are incomplete."""

    time: float
    span: Span | None
    mask: Mask
    all_lanes: Mask
    meetings: dict[Hashable, Meeting]

    @property
    def gpu(self) -> object: ...
    def select(self, mask: Mask) -> None:
        """Continue with the lanes of `mask`."""
        ...

    def agreeing(self, operands: Sequence[object]) -> Iterator[tuple[Mask, tuple[object, ...]]]:
        """Yield groups of active lanes with equal operands, and the operands as scalars."""
        ...


@dataclass
class LanesWait(Wait):
    """A wait of lanes for other lanes of a mask. name: the instruction. missed: whether the others never arrive."""

    instruction: ClassVar[str] = "bar.warp.sync"
    name: str
    missed: bool = field(default=False, init=False)

    @property
    def subject(self) -> str:
        return self.name


class Meeting:
    """One execution of an instruction by the lanes of a mask. word: the lanes that have arrived. waits: their waits."""

    def __init__(self) -> None:
        self.word = 0
        self.operands: list[Any] = []
        self.waits: list[LanesWait] = []
        self.result: Any = None

    def bring(self, mask: Mask, operands: Sequence[object]) -> None:
        """Add the lanes of a mask with their operands."""
        given: Sequence[Any] = operands
        if self.word and len(given) == len(self.operands):
            self.operands = [
                old if old is new else np.where(mask.bits, new, old)
                for new, old in zip(given, self.operands, strict=True)
            ]
        else:
            self.operands = [np.broadcast_to(each, (LANES,)) if np.ndim(each) == 0 else each for each in given]
        self.word |= mask.word


@dataclass(frozen=True)
class _Brought:
    """What lanes have brought to a meeting. own: their operands, for themselves alone if no others come.

    wait: for the others; None if the meeting has its result.
    """

    lanes: Mask
    own: tuple[object, ...]
    key: Hashable
    meeting: Meeting
    wait: LanesWait | None = None


def meet(
    w: MeetingWarp, name: str, execute: Callable[..., ArrayLike | None], mask: object, operands: tuple[object, ...],
    varies: bool, **attrs: object,
) -> Generator[Wait, None, object]:
    """Execute an instruction for all lanes of `mask` (None for the whole warp), from an arm that holds some of them.

    Lanes that give different masks have as many meetings. name: the instruction, in PTX. varies: whether the result is
    an array of 32 lanes rather than a number.
    """
    mine = w.mask
    parts: list[tuple[Mask, Any]] = [(mine, FULL_WORD)]
    if mask is not None:
        parts = [(lanes, word) for lanes, (word,) in w.agreeing((mask,))]
    brought: list[_Brought] = []
    for lanes, word in parts:
        w.select(lanes)
        own = tuple(word if each is mask else each for each in operands) if len(parts) > 1 else operands
        brought.append(_bring(w, name, execute, word, own, attrs))
    w.select(mine)
    found: ArrayLike | None = 0
    for each in brought:
        while each.wait is not None and not each.wait.over:
            yield each.wait
        result = each.meeting.result
        if each.wait is not None and each.wait.missed:
            w.meetings.pop(each.key, None)
            w.select(each.lanes)
            result = execute(w.gpu, w, *each.own, **attrs)
            w.select(mine)
        if len(brought) > 1 and result is not None and found is not None:
            found = np.where(each.lanes.bits, result, found)
        else:
            found = result
    return _result(found, varies, mine)


def _bring(
    w: MeetingWarp, name: str, execute: Callable[..., ArrayLike | None], named: int, operands: tuple[object, ...],
    attrs: Mapping[str, object],
) -> _Brought:
    """Bring the active lanes to the meeting of the lanes of a mask. named: the mask."""
    mine = w.mask
    word = int(named) & w.all_lanes.word
    key = (name, word, tuple(attrs.items()))
    if word == mine.word or mine.word & ~word:
        alone = Meeting()
        alone.result = execute(w.gpu, w, *operands, **attrs)
        return _Brought(mine, operands, key, alone)
    meeting = w.meetings.setdefault(key, Meeting())
    meeting.bring(mine, operands)
    if meeting.word == word:
        del w.meetings[key]
        w.select(w.all_lanes if word == w.all_lanes.word else Mask.of(word))
        meeting.result = execute(w.gpu, w, *meeting.operands, **attrs)
        w.select(mine)
        for wait in meeting.waits:
            wait.over = True
        return _Brought(mine, operands, key, meeting)
    wait = LanesWait(w, w.time, w.span, name)  # pyright: ignore[reportArgumentType]  a `RunningWarp`
    meeting.waits.append(wait)
    return _Brought(mine, operands, key, meeting, wait)


def _result(result: Any, varies: bool, mask: Mask) -> Any:
    """Convert a result to the form that generated code expects; a scalar result is uniform."""
    if result is None:
        return None
    if varies:
        return result if np.ndim(result) else np.broadcast_to(result, (LANES,))
    return result[..., mask.first].item() if np.ndim(result) else result


def only_lanes(waits: Sequence[Wait | None]) -> list[LanesWait]:
    """Return the waits if all of them, nested ones included, are for lanes that have not arrived; else none."""
    found: list[LanesWait] = []
    for wait in _all(waits):
        if not isinstance(wait, LanesWait) or wait.over:
            return []
        found.append(wait)
    return found


def _all(waits: Sequence[Wait | None]) -> Iterator[Wait | None]:
    for wait in waits:
        yield wait
        if wait is not None:
            yield from _all(wait.beside)
