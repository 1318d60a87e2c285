"""The lowering context of a tile operation: threads, layouts and index ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from tirx_mini.ir import Analyzer, Buffer, Stmt, TileCall, TirxError
from tirx_mini.layout import Layout
from tirx_mini.records import dataclass, replace

from .layouts import Fragment
from .teams import Team


@dataclass(frozen=True)
class Place:
    """The context of a statement.

    arch: the architecture, such as "sm_90a".
    team: the threads that execute it.
    analyzer: the ranges of variables.
    fragments: the layouts of fragments, as far as they are known.
    arrays: for each fragment, the array of each thread that holds its part.
    """

    arch: str
    team: Team
    analyzer: Analyzer = field(default_factory=Analyzer)
    fragments: Mapping[Buffer, Fragment] = field(default_factory=dict)
    arrays: dict[Buffer, Buffer] = field(default_factory=dict)

    @property
    def sm(self) -> int:
        """The compute capability: 90 for sm_90a."""
        return int("".join(c for c in self.arch.removeprefix("sm_") if c.isdigit()))

    def fragment(self, buffer: Buffer) -> Fragment:
        """Return the layout of a fragment. Raises `TirxError` if it is undetermined."""
        found = self.fragments.get(buffer)
        if found is None:
            raise TirxError(f"nothing in the program determines which threads hold {buffer.name}", buffer.span)
        return found

    def registers(self, buffer: Buffer) -> Buffer:
        """Return the thread-local array that holds a thread's part of a fragment."""
        if buffer not in self.arrays:
            shape = (self.fragment(buffer).registers,)
            self.arrays[buffer] = Buffer(buffer.name, shape, buffer.dtype, "local", span=buffer.span)
        return self.arrays[buffer]

    def at(self, **changes: object) -> Place:
        """Return a copy with another team or analyzer."""
        return replace(self, **changes)


class Rule(Protocol):
    """The lowering rule of a tile operation."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Fragment | Layout]:
        """Return the layouts that the operation requires of fragments and shared buffers.

        It is called again as more layouts become known in `place.fragments`.
        """
        ...

    def lower(self, call: TileCall, place: Place) -> Stmt:
        """Return the code that each thread of `place.team` executes."""
        ...
