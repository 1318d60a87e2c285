"""Epochs of very many agents, in pages that clocks share: equal pages are stored once.

A row of epochs is an immutable tree of three levels. A leaf has the epochs of `LEAF` adjacent agents, an entry of the
root has `FAN` leaves, and the root grows as agents are added. None represents zeros. The join of two rows is one of
them if that contains the other, so that synchronising clocks share nearly all pages. A clock needs memory only for the
epochs that it alone has acquired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, Protocol, TypeAlias

import numpy as np

LEAF_BITS, FAN_BITS = 6, 5
LEAF, FAN = 1 << LEAF_BITS, 1 << FAN_BITS
_SLOT, _PAGE = LEAF - 1, FAN - 1
_PAGE_BITS = LEAF_BITS + FAN_BITS
MOST = 1 << 40
"""An upper bound on the number of agents; an agent without a page has epoch zero."""

Leaf: TypeAlias = np.ndarray
Pages: TypeAlias = "tuple[Leaf | None, ...]"
Root: TypeAlias = "tuple[Pages | None, ...]"

NOTHING: Root = ()
_NO_PAGES: Pages = (None,) * FAN


def entry(root: Root, agent: int) -> int:
    """Return the epoch of an agent."""
    place = agent >> _PAGE_BITS
    if place >= len(root):
        return 0
    pages = root[place]
    if pages is None:
        return 0
    leaf = pages[agent >> LEAF_BITS & _PAGE]
    return 0 if leaf is None else leaf.item(agent & _SLOT)


def replaced(root: Root, agent: int, epoch: int) -> Root:
    """Return the row with a new epoch of one agent."""
    place, page = agent >> _PAGE_BITS, agent >> LEAF_BITS & _PAGE
    if place >= len(root):
        root = (*root, *(None,) * (place + 1 - len(root)))
    pages = root[place] or _NO_PAGES
    old = pages[page]
    leaf = np.zeros(LEAF, np.int32) if old is None else old.copy()
    leaf[agent & _SLOT] = epoch
    pages = (*pages[:page], leaf, *pages[page + 1 :])
    return (*root[:place], pages, *root[place + 1 :])


def join(a: Root, b: Root) -> Root:
    """Return the element-wise maximum of two rows of epochs."""
    if a is b or not b:
        return a
    if not a:
        return b
    width = max(len(a), len(b))
    return _each(_wide(a, width), _wide(b, width), _join_pages)


def meet(a: Root, b: Root) -> Root:
    """Return the element-wise minimum of two rows of epochs."""
    if a is b:
        return a
    width = min(len(a), len(b))
    return _least(a[:width], b[:width], _meet_pages)


def holds(a: Root, b: Root) -> bool:
    """Return whether every epoch of `a` is at least that of `b`."""
    if a is b:
        return True
    width = max(len(a), len(b))
    return _no_later(_wide(a, width), _wide(b, width), _hold_pages)


def _wide(root: Root, width: int) -> Root:
    return root if len(root) == width else (*root, *(None,) * (width - len(root)))


def _each(a: Any, b: Any, both: Callable[[Any, Any], object]) -> Any:
    """Join two tuples entry by entry; return one of the inputs if the result equals it."""
    made: list[Any] = []
    first = second = True
    for place in compress(count(), map(is_not, a, b)):
        x, y = a[place], b[place]
        entry = x if y is None else y if x is None else both(x, y)
        first, second = first and entry is x, second and entry is y
        if not first:
            made = made or list(a)
            made[place] = entry
    return a if first else b if second else tuple(made)


def _join_pages(a: Pages, b: Pages) -> Pages:
    return _each(a, b, _join_leaves)


def _join_leaves(a: Leaf, b: Leaf) -> Leaf:
    return _one_of(np.maximum(a, b), a, b)


def _least(a: Any, b: Any, both: Callable[[Any, Any], object]) -> Any:
    made = list(a)
    for place in compress(count(), map(is_not, a, b)):
        x, y = a[place], b[place]
        made[place] = None if x is None or y is None else both(x, y)
    return tuple(made)


def _meet_pages(a: Pages, b: Pages) -> Pages:
    return _least(a, b, _meet_leaves)


def _meet_leaves(a: Leaf, b: Leaf) -> Leaf:
    return _one_of(np.minimum(a, b), a, b)


def _one_of(made: Leaf, a: Leaf, b: Leaf) -> Leaf:
    """Return whichever of two leaves equals the result, so that equal leaves share storage."""
    found = made.tobytes()
    return a if found == a.tobytes() else b if found == b.tobytes() else made


def _no_later(a: Any, b: Any, both: Callable[[Any, Any], bool]) -> bool:
    for place in compress(count(), map(is_not, a, b)):
        x, y = a[place], b[place]
        if y is not None and (x is None or not both(x, y)):
            return False
    return True


def _hold_pages(a: Pages, b: Pages) -> bool:
    return _no_later(a, b, _hold_leaves)


def _hold_leaves(a: Leaf, b: Leaf) -> bool:
    return bool((a >= b).all())


class Epochs(Protocol):
    """The epoch of each agent, as an array or a row of pages."""

    def item(self, agent: int, /) -> int: ...
    def __len__(self) -> int: ...


class Row:
    """A row of pages with the read interface of an array."""

    __slots__ = ("root",)

    def __init__(self, root: Root) -> None:
        self.root = root

    def item(self, agent: int, /) -> int:
        """Return the epoch of an agent."""
        return entry(self.root, agent)

    def __len__(self) -> int:
        return MOST


class PagedClocks:
    """Vector clocks as immutable paged rows; a copy shares all pages."""

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[Root]) -> None:
        self.rows = list(rows)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of an equivalent array with room for every agent."""
        return len(self.rows), MOST

    def item(self, row: int, agent: int) -> int:
        """Return the epoch of an agent in a row."""
        return entry(self.rows[row], agent)

    def copy(self) -> PagedClocks:
        """Return a copy of the clocks, which shares their pages."""
        return PagedClocks(self.rows)

    def __getitem__(self, row: int) -> Row:
        """Return a snapshot of a row."""
        return Row(self.rows[row])

    def __setitem__(self, place: tuple[int, int], epoch: int) -> None:
        """Set the epoch of an agent in a row. place: the row and the agent."""
        row, agent = place
        self.rows[row] = replaced(self.rows[row], agent, epoch)

    def put(self, rows: Sequence[int], agent: int, epoch: int) -> bool:
        """Move the epoch of an agent forward in some rows. Returns whether it was behind in any."""
        found = [entry(self.rows[row], agent) for row in rows]
        if min(found) >= epoch:
            return False
        self.keep(rows, agent, [max(epoch, each) for each in found])
        return True

    def keep(self, rows: Sequence[int], agent: int, epochs: Sequence[int]) -> None:
        """Change the epochs of an agent, one for each of some rows; rows that are one stay one if they can."""
        last: tuple[Root, int, Root] | None = None
        for row, epoch in zip(rows, epochs, strict=True):
            old = self.rows[row]
            if last is None or old is not last[0] or epoch != last[1]:
                last = old, epoch, old if entry(old, agent) == epoch else replaced(old, agent, epoch)
            self.rows[row] = last[2]

    def join(self, other: PagedClocks) -> None:
        """Join the clocks of `other` into these."""
        self.rows = _by_row(self.rows, other.rows, join)

    def join_row(self, row: int, other: Root) -> None:
        """Join a row of epochs into one row of the clocks."""
        self.rows[row] = join(self.rows[row], other)

    def join_rows(self, rows: Sequence[int], other: Root) -> None:
        """Take the later epochs of both, in some rows; those that are one stay one."""
        joined = _by_row([self.rows[row] for row in rows], [other] * len(rows), join)
        for row, root in zip(rows, joined, strict=True):
            self.rows[row] = root

    def limited(self, row: int) -> PagedClocks:
        """Return the element-wise minimum of each row with one of the rows."""
        return PagedClocks(_by_row(self.rows, [self.rows[row]] * len(self.rows), meet))

    def common(self, others: Sequence[PagedClocks]) -> PagedClocks:
        """Return the element-wise minimum of these clocks and all others."""
        rows = list(self.rows)
        for other in others:
            rows = _by_row(rows, other.rows, meet)
        return PagedClocks(rows)


def _by_row(one: Sequence[Root], other: Sequence[Root], both: Callable[[Root, Root], Root]) -> list[Root]:
    """What comes of the rows of two clocks; rows that are one in both stay one."""
    made: list[Root] = []
    last: tuple[Root, Root] | None = None
    for mine, theirs in zip(one, other, strict=True):
        same = last is not None and mine is last[0] and theirs is last[1]
        made.append(made[-1] if same else both(mine, theirs))
        last = mine, theirs
    return made
