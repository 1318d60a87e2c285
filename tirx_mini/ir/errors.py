"""The kinds of compile-time errors, each with its code and the violated rule."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.hardware import MAX_CLUSTER, MAX_THREADS_PER_CTA
from tirx_mini.records import dataclass


@dataclass(frozen=True)
class ErrorKind:
    """A kind of `TirxError`; docs/findings.md has a section for each code.

    name: its name in the source of the compiler.
    code: as in "TX401".
    rule: the violated rule, in one sentence.
    source: the source of a hardware rule; "" for a rule of the language.
    """

    name: str
    code: str
    rule: str
    source: str = ""


ERROR_KINDS: Mapping[str, ErrorKind] = MappingProxyType({kind.name: kind for kind in (
    ErrorKind("launch-limit", "TX305",
              f"A CTA has at most {MAX_THREADS_PER_CTA:,} threads, and a cluster at most {MAX_CLUSTER} CTAs.",
              "CUDA: compute capabilities"),
    ErrorKind("lowering", "TX401", "A kernel must be compiled before it runs."),
    ErrorKind("todo", "TX402", "A part of a skeleton has no effect until it is filled in."),
    ErrorKind("unknown-name", "TX403", "A name must be defined before it is used."),
    ErrorKind("pool-committed", "TX404", "`pool.commit()` fixes the size of the pool."),
    ErrorKind("no-dispatch", "TX405", "A tile primitive must be implemented by instructions of the GPU."),
    ErrorKind("extents-differ", "TX406", "The tiles of an operation must have the same extents."),
    ErrorKind("not-constant", "TX407", "The extents of a tile must be known at compile time."),
    ErrorKind("not-modelled", "TX601", "The simulator must know what each instruction and function of a kernel does."),
    ErrorKind("assigned-twice", "TX408", "A name bound by Tx.let, or to a pointer, keeps its value."),
    ErrorKind("tile-shape", "TX411", "The extents of tiles are powers of two, and shapes that meet must broadcast."),
    ErrorKind("tile-type", "TX412", "The operands of a tile operation must have types that it is defined for."),
    ErrorKind("tile-syntax", "TX413", "Tile code is a subset of Python."),
    ErrorKind("tile-static", "TX414", "What a tile program asserts of its compilation must hold."),
    ErrorKind("tile-unsupported", "TX415", "A tile program uses only what tirx_mini compiles."),
)})  # fmt: skip
"""The kinds, by name. Findings of these kinds take their code and rule from here."""
