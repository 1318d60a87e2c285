"""Opcodes, executed by many threads and compared with a model of their operands' bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.tirx_mini.frontends.ptx.numbers import FORMATS, encoded, same, signed
from tests.tirx_mini.frontends.ptx.programs import computed

THREADS = 64
Model = Callable[..., int]


def words(width: int, count: int, seed: int, kind: str = "") -> np.ndarray:
    """Bits of all kinds: random ones, and those at the edges of the type."""
    rng = np.random.default_rng(seed)
    mask = (1 << width) - 1
    edges = [0, 1, 2, 3, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) - 1, 31, 32, 33, 63, 64, 0x80, 0xFF]
    if kind in FORMATS:
        top, fraction = 1 << (width - 1), FORMATS[kind][1]
        infinity = (mask >> 1) >> fraction << fraction
        one = encoded(1.0, kind)
        near = [0, 1, one, one + 1, one - 1, infinity, infinity - 1, infinity + 1, (1 << fraction) - 1, 1 << fraction]
        edges = [word | sign for word in (*near, encoded(0.5, kind), encoded(3.0, kind)) for sign in (0, top)]
    found = [int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(0, 2)) & mask for _ in range(count)]
    for place in range(count):
        if rng.random() < 0.5:
            found[place] = edges[int(rng.integers(len(edges)))] & mask
        elif kind in FORMATS and rng.random() < 0.5:  # numbers of about the same size
            found[place] = encoded(float(rng.normal()) * 2.0 ** int(rng.integers(-3, 4)), kind)
        elif rng.random() < 0.3:
            found[place] = int(rng.integers(0, 70))
    return np.array(found, f"u{width // 8}")


def check(lines: str | list[str], kinds: list[str], to: str, model: Model) -> None:
    """All threads compute what the model says of their operands' bits. kinds: "u32", "f16", …; to: of the result."""
    lines = [lines] if isinstance(lines, str) else lines
    width = _width(to)
    operands = [words(_width(kind), THREADS, 7 * n + 1, kind) for n, kind in enumerate(kinds)]
    got = computed(lines, operands, width)
    for place in range(THREADS):
        given = [int(each[place]) for each in operands]
        wanted = model(*given) & ((1 << width) - 1)
        assert same(int(got[place]), wanted, to), (lines, [hex(w) for w in given], hex(int(got[place])), hex(wanted))


def _width(kind: str) -> int:
    return 32 if kind.endswith("x2") else 16 if kind == "bf16" else int(kind[1:])


def of(kind: str, function: Callable[..., int]) -> Model:
    """`function` of integers of a type."""
    bits = int(kind[1:])
    return lambda *given: function(*(signed(w, bits) if kind[0] == "s" else w for w in given))
