"""The mistakes that keep a kernel from being compiled: each kind with its code and the rule that it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tirx_mini.hardware import MAX_CLUSTER, MAX_THREADS_PER_CTA


@dataclass(frozen=True)
class ErrorKind:
    """A kind of `TirxError`; docs/findings.md has a section for each code.

    name: how the compiler's code calls it.
    code: as in "TX401".
    rule: the rule that it breaks, in a sentence.
    source: where a rule of the hardware is from ("" for one of the language).
    """

    name: str
    code: str
    rule: str
    source: str = ""


ERROR_KINDS: Mapping[str, ErrorKind] = MappingProxyType({kind.name: kind for kind in (
    ErrorKind("launch-limit", "TX305",
              f"A CTA has at most {MAX_THREADS_PER_CTA:,} threads, and a cluster at most {MAX_CLUSTER} CTAs.",
              "CUDA: compute capabilities"),
    ErrorKind("lowering", "TX401", "A kernel has to be compiled before it runs."),
    ErrorKind("todo", "TX402", "A part that is left out does nothing."),
    ErrorKind("unknown-name", "TX403", "A name is defined before it is used."),
    ErrorKind("pool-committed", "TX404", "A pool's size is fixed when it is committed."),
    ErrorKind("no-dispatch", "TX405", "A tile operation becomes instructions that the GPU has."),
    ErrorKind("extents-differ", "TX406", "The tiles of one operation have the same extents."),
    ErrorKind("not-constant", "TX407", "The extents of a tile are known before the kernel runs."),
    ErrorKind("assigned-twice", "TX408", "A name that changes is declared with its type first."),
)})  # fmt: skip
"""By name. The simulator's findings of these kinds take code and rule from here."""
