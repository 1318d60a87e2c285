"""The log of accesses to one memory; a number denotes one access or a set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any

from .actors import Access, Actor, Release
from .clocks import PROXY
from .crowds import LARGE, Crowd, crowd_of
from .operations import Operation


class AccessLog:
    """The numbered accesses of one memory.

    Number 0 denotes no access.

    proxy: the clock row of the fences that make ordinary writes to this memory visible to the async proxy.
    pedantic: whether ordinary reads need such a fence before the async proxy writes.
    letter: whether a slot is given back to another CTA at the scope of the cluster alone.
    """

    __slots__ = ("_grown", "_linked", "_numbers", "_repeated", "_sets", "accesses", "letter", "pedantic", "proxy")

    def __init__(self, proxy: int = PROXY) -> None:
        self.accesses: list[Any] = [None]
        self.proxy = proxy
        self.pedantic = self.letter = False
        self._sets: list[tuple[int, ...] | Crowd] = [()]
        self._numbers: dict[tuple[int, ...], int] = {}
        self._repeated: dict[Hashable, int] = {}
        self._grown: dict[tuple[int, int], int] = {}
        self._linked: dict[tuple[int, int], int] = {}

    def number(self, actor: Actor, write: bool) -> int:
        """Return the number of the current access by `actor`, which repetitions at the same span and epoch share."""
        agent, last = actor.agent, self.accesses[-1]
        if (
            last is None
            or last.epoch != agent.epoch
            or last.agent != agent.index
            or last.span is not actor.span
            or last.write != write
            or last.parted != actor.parted
            or last.operation is not actor.operation
            or last.cluster != actor.cluster
            or last.value != actor.value
            or last.strong != actor.strong
        ):
            self.accesses.append(Access(actor, write))
        return len(self.accesses) - 1

    def strong_number(self, actor: Actor, write: bool, released: tuple[Release, ...] = ()) -> int:
        """Return the number of a strong access. Repetitions in one epoch, as in a polling loop, share a number."""
        agent = actor.agent
        key = (agent.index, agent.epoch, actor.span, write, actor.strong, actor.parted)
        number = self._repeated.get(key, 0)
        if not number or released:
            access = Access(actor, write)
            access.released = released
            self.accesses.append(access)
            number = len(self.accesses) - 1
            if not released:
                self._repeated[key] = number
        else:
            self.accesses[number].repeated = True
        return number

    def observed(self, member: int, members: Iterable[int], actor: Actor) -> bool:
        """Return whether an atomic operation of `members` after a strong write happens before `actor`'s access.

        The operation observed the write, directly or through others, so the write precedes the access (PTX ISA:
        "Observation Order", "Causality Order"): a counter may be reset by the thread that counted last. If nothing
        depends on the observed value, the operation might also have come first.
        """
        write = self.accesses[member]
        if write.strong is None or write.repeated:
            return False
        after = [self.accesses[later] for later in members if later > member]
        return any(
            access.operation is Operation.ATOMIC
            and access.decides
            and access.strong is not None
            and access.strong.together_with(write.strong)
            and actor.agent.happens_after(access.agent, access.epoch)
            for access in after
        )

    def excused(self, crowd: Crowd, actor: Actor) -> Callable[[int], bool]:
        """Return `observed` as a predicate on the members of a crowd; for uniform members, one operation decides."""
        if not crowd.width:
            return lambda member: self.observed(member, crowd, actor)
        accesses, last = self.accesses, 0
        for number in reversed(tuple(crowd)):
            access = accesses[number]
            looks = access.decides and access.operation is Operation.ATOMIC
            if looks and actor.agent.happens_after(access.agent, access.epoch):
                last = number
                break
        return lambda member: member < last and not accesses[member].repeated

    def members(self, number: int) -> tuple[int, ...] | Crowd:
        """Return the accesses that a number denotes: one access, or a set if the number is negative."""
        return self._sets[-number] if number < 0 else (number,)

    def released(self, number: int) -> Iterator[tuple[int, tuple[Release, ...]]]:
        """Yield the releases of the writes that a number denotes, joined for a crowd where possible."""
        members = self.members(number)
        if isinstance(members, Crowd) and members.joint is not None:
            yield number, (members.joint,)
            return
        yield from ((member, self.accesses[member].released) for member in members if member)

    def add(self, number: int, new: int) -> int:
        """Return the number of the set `number` extended by access `new`; 0 is the empty set.

        Each agent is represented by its last access, and by its last store if atomic operations followed. Accesses of
        different clusters are never ordered, so any later access conflicts with one of two clusters; others need not be
        recorded then.
        """
        if number in (0, new):
            return new
        accesses, members = self.accesses, self.members(number)
        if isinstance(members, Crowd):
            return self._add(number, members, new)
        if new in members:
            return number
        last = accesses[new]
        atomic = last.operation is Operation.ATOMIC
        kept = tuple(
            m for m in members
            if (a := accesses[m]).agent != last.agent or a.cluster != last.cluster
            or (atomic and a.operation is Operation.STORE)
        )  # fmt: skip
        if len(kept) == len(members) and len({accesses[m].cluster for m in members}) > 1:
            return number
        if not kept:
            return new
        return self._set((*kept, new))

    def _add(self, number: int, crowd: Crowd, new: int) -> int:
        """Return the number of a crowd extended by access `new`."""
        found = self._grown.get((number, new))
        if found is None:
            last = self.accesses[new]
            if crowd.has(new, last):
                return number
            kept = crowd.without(last, self.accesses, last.operation is Operation.ATOMIC)
            same = kept is crowd and len(crowd.clusters) > 1
            found = self._grown[number, new] = number if same else self._number(kept.plus(new, self.accesses))
        return found

    def _number(self, members: tuple[int, ...] | Crowd) -> int:
        """Return the number of a new set."""
        self._sets.append(members)
        return 1 - len(self._sets)

    def _set(self, members: tuple[int, ...]) -> int:
        """Return the number of a set of several members."""
        found = self._numbers.get(members)
        if found is None:
            found = self._number(members if len(members) <= LARGE else crowd_of(members, self.accesses))
            self._numbers[members] = found
        return found

    def linked(self, number: int, new: int, absorbed: Collection[int]) -> int:
        """Return the number of the writes that an acquire synchronises with after the atomic operation `new`, without
        those in `absorbed`.

        The operation has acquired the writes in `absorbed`, and releases them again.
        """
        before = self.members(number)
        if isinstance(before, Crowd) and not absorbed:
            return self._extended(number, before, new) if self.accesses[new].released else number
        if number in absorbed:
            before = ()
        kept = tuple(m for m in before if m and m not in absorbed and m != new)
        members = (*kept, new) if self.accesses[new].released else kept
        return self._set(members) if len(members) > 1 else members[0] if members else 0

    def _extended(self, number: int, crowd: Crowd, new: int) -> int:
        """Return `linked` for a crowd of which no write was acquired."""
        found = self._linked.get((number, new))
        if found is None:
            more = crowd.plus(new, self.accesses)
            found = self._linked[number, new] = self._number(more.releasing(self.accesses[new], self.accesses))
        return found
