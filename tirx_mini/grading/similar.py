"""Similarities of hand-ins beyond every solution's: a list for the teacher's review, never a verdict.

A kernel is known by its prints: hashes of short runs of its lowered IR, in program order, in which variables, buffers
and source lines have no names. Of the runs that start near one another the one with the smallest hash is kept, so a
passage that two kernels share leaves the same prints in both wherever it begins (Schleimer, Wilkerson, Aiken:
"Winnowing", SIGMOD 2003). A print that many hand-ins have weighs little, and one that the references have nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

from tirx_mini.ir import (
    AllocBuffer,
    Binary,
    Call,
    Const,
    DeclBuffer,
    Expr,
    For,
    Hint,
    PrimFunc,
    Seq,
    Special,
    Unary,
    walk,
)
from tirx_mini.records import dataclass

_RUN = 10
"""The number of nodes of one print."""
_NEAR = 6
"""The number of runs of which one is kept."""
_EVIDENCE = 6.0
"""The minimum shared weight for a step to count as evidence; a print of only two kernels weighs 1."""

Prints = frozenset[int]


@dataclass(frozen=True)
class Likeness:
    """Two similar hand-ins.

    share: how much of what sets the smaller one apart from the class is also in the other, from 0 to 1.
    steps: the share for each step with enough evidence, the most similar first.
    same_file: whether the files are equal, byte by byte.
    """

    first: str
    second: str
    share: float
    steps: tuple[tuple[int, float], ...] = ()
    same_file: bool = False


def prints(lowered: PrimFunc) -> Prints:
    """Return the prints of a lowered kernel: 64-bit integers, equal in every process."""
    words = list(_words(lowered))
    runs = [_hash("\n".join(words[start : start + _RUN])) for start in range(max(1, len(words) - _RUN + 1))]
    return frozenset(min(runs[start : start + _NEAR]) for start in range(max(1, len(runs) - _NEAR + 1)))


def likenesses(
    kernels: Mapping[str, Mapping[int, Prints]],
    common: Mapping[int, Iterable[int]],
    digests: Mapping[str, str],
    at_least: float = 0.5,
) -> list[Likeness]:
    """Return the pairs of hand-ins with at least this `share`, and pairs of equal files, the most similar first.

    kernels: by hand-in and step, the prints of its kernel. common: by step, prints that say nothing, as those of the
    references. digests: of the files, by hand-in.
    """
    own: dict[tuple[str, int], float] = {}
    shared: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for step in {step for steps in kernels.values() for step in steps}:
        found = {name: steps[step] for name, steps in kernels.items() if step in steps}
        weights = _weights(found.values(), common.get(step, ()))
        own.update(((name, step), sum(map(weights.__getitem__, its))) for name, its in found.items())
        for pair, both in _shared(found, weights).items():
            shared[pair][step] = both
    same = _same_files(kernels, digests)
    pairs = [_likeness(pair, shared.get(pair, {}), own, pair in same) for pair in shared.keys() | same]
    pairs = [each for each in pairs if each.same_file or (each.steps and each.share >= at_least)]
    return sorted(pairs, key=lambda each: (not each.same_file, -each.share, each.first, each.second))


def _likeness(
    pair: tuple[str, str], shared: Mapping[int, float], own: Mapping[tuple[str, int], float], same: bool
) -> Likeness:
    """Return the pair's figures. shared: by step, the weight of common prints; own: of each one's prints."""
    first, second = pair
    steps = {step: both for step, both in shared.items() if both >= _EVIDENCE}
    smaller = {step: min(own[first, step], own[second, step]) for step in steps}
    share = sum(steps.values()) / sum(smaller.values()) if steps else 0.0
    parts = {step: both / smaller[step] for step, both in steps.items()}
    ranked = tuple(sorted(parts.items(), key=lambda each: (-each[1], each[0])))
    return Likeness(first, second, 1.0 if same else share, ranked, same)


def _same_files(names: Iterable[str], digests: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the pairs of equal files."""
    holders: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if name in digests:
            holders[digests[name]].append(name)
    return {pair for holding in holders.values() for pair in combinations(holding, 2)}


def _weights(kernels: Collection[Prints], common: Iterable[int]) -> dict[int, float]:
    """Return the weight of each print of one step: 1 for two kernels, 0 for all kernels or for `common`."""
    counts = Counter(one for found in kernels for one in found)
    among, nothing = len(kernels), frozenset(common)
    most = math.log(among / 2) if among > 2 else 0.0
    return {
        one: 0.0 if one in nothing else min(1.0, math.log(among / count) / most) if most else 1.0
        for one, count in counts.items()
    }


def _shared(kernels: Mapping[str, Prints], weights: Mapping[int, float]) -> dict[tuple[str, str], float]:
    """Return by pair of hand-ins the weight of the prints that both have at one step."""
    holders: dict[int, list[str]] = defaultdict(list)
    for name in sorted(kernels):
        for one in kernels[name]:
            holders[one].append(name)
    shared: dict[tuple[str, str], float] = defaultdict(float)
    for one, names in holders.items():
        if weights[one] > 0:
            for pair in combinations(names, 2):
                shared[pair] += weights[one]
    return shared


def _words(lowered: PrimFunc) -> Iterator[str]:
    """Yield the kind and effect of each node without names, one word per node in program order."""
    for node in walk(lowered.body):
        if not isinstance(node, (Seq, Hint)):
            yield _word(node)


def _word(node: object) -> str:
    kind = type(node).__name__
    if isinstance(node, Const):
        return f"{kind} {node.dtype} {node.value}"
    if isinstance(node, Call):
        return f"{kind} {node.op} {[value for _, value in node.attrs if isinstance(value, (int, float, str))]}"
    if isinstance(node, (Unary, Binary)):
        return f"{kind} {node.op}"
    if isinstance(node, Special):
        return f"{kind} {node.name}"
    if isinstance(node, For):
        return f"{kind} {node.kind} {node.step}"
    if isinstance(node, (AllocBuffer, DeclBuffer)):
        return f"{kind} {node.buffer.scope} {node.buffer.dtype} {node.buffer.shape}"
    return f"{kind} {node.dtype}" if isinstance(node, Expr) else kind


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
