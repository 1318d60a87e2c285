"""Who loads and who holds what in a pair of CTAs: read off simulated runs of steps 8 and 9."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirx_mini.diagnose import Interval, Timeline
from tirx_mini.report import Picture
from tools.figures._runs import extents, traced
from tools.figures._sheet import MARGIN, arrow, box, curve, lines, sheet

SHAPE = (512, 512, 256)
PAIR, ALONE = 9, 8
KIB = 1024


@dataclass(frozen=True)
class Share:
    """What one CTA has of its first tile and first stage.

    a, b: the boxes it loads, as in "A[0:128, 0:64]". d: the tile of D in its tensor memory. barrier: the mbarrier that
    counts the bytes, and the CTA that holds it. loaded: bytes. issues: whether one of its threads issues the MMA.
    """

    cta: int
    a: str
    b: str
    d: str
    barrier: str
    loaded: int
    issues: bool


def operand(interval: Interval, name: str) -> str:
    return next(value for key, value in interval.operands if key == name)


def share_of(timeline: Timeline, cta: int) -> Share:
    """The share of a CTA in the first stage of its first tile."""
    own = [item for item in timeline.intervals if item.track.cta == cta]
    loads = {item.name: item for item in reversed(own) if item.name in ("load A", "load B")}
    barrier = loads["load A"].barrier
    assert barrier is not None
    return Share(
        cta, operand(loads["load A"], "box"), operand(loads["load B"], "box"),
        next(tile.name for tile in timeline.tiles if tile.cta == cta), f"{barrier.name} of CTA {barrier.cta}",
        sum(int(operand(load, "bytes")) for load in loads.values()), any(item.name == "tcgen05.mma" for item in own),
    )  # fmt: skip


def shares(step: int, ctas: int) -> list[Share]:
    timeline = traced(step, SHAPE).timeline
    return [share_of(timeline, cta) for cta in range(ctas)]


def loaded_by(step: int) -> int:
    """Bytes that TMA loads for the whole product."""
    return int(traced(step, SHAPE).report.stats["tma_load_bytes"])


def rows(box_text: str) -> str:
    """ "A[0:128]" for "A[0:128, 0:64]"."""
    return box_text.partition(",")[0] + "]"


def pair_picture() -> str:
    pair = shares(PAIR, 2)
    alone = shares(ALONE, 1)[0]
    issuer = next(share.cta for share in pair if share.issues)
    described = " ".join(f"CTA {s.cta} loads {s.a} and {s.b}, and holds {s.d} in tensor memory." for s in pair)
    picture = sheet(
        606, "Step 9: what each CTA of a pair loads and holds",
        f"{described} One thread of CTA {issuer} issues the MMA for both, and each tensor core reads B of both CTAs.",
    )  # fmt: skip
    _matrices(picture, pair)
    for share, left in zip(pair, (400, 690), strict=True):
        _sm(picture, share, left)
    _crossings(picture, pair)
    _bytes(picture, pair, alone)
    return str(picture)


def _matrices(picture: Picture, pair: list[Share]) -> None:
    left, top, side, depth = 150, 150, 190, 46
    picture.text(MARGIN, 62, "The tile of the pair: 256 × 256 of D", "ink bold")
    for number, share in enumerate(pair):
        half = side / 2
        box(picture, left - depth - 8, top + number * half, depth, half, f"c{number}", ["A"])
        picture.text(left - depth - 14, top + (number + 0.5) * half + 4, rows(share.a), "ink small", text_anchor="end")
        box(picture, left + number * half, top - depth - 8, half, depth, f"c{number}", [f"B, CTA {share.cta}"])
        picture.text(
            left + (number + 0.5) * half, top - depth - 15, rows(share.b), "ink small", text_anchor="middle"
        )  # fmt: skip
        box(picture, left, top + number * half, side, half, f"c{number}", [share.d, f"in CTA {share.cta}"])
    lines(
        picture, MARGIN, top + side + 24,
        [
            "Rows of A and D belong to one CTA.", "Both tensor cores need all 256 columns,",
            "that is the rows of B of both CTAs.",
        ],
        "soft",
    )  # fmt: skip


def _sm(picture: Picture, share: Share, left: float) -> None:
    fill, width = f"c{share.cta}", 254
    picture.rect(left, 72, width, 338, "lane edge", rx=6)
    picture.text(left + 12, 62, f"CTA {share.cta}", "ink bold")
    picture.text(left + 12, 92, "shared memory, one stage", "soft small")
    box(picture, left + 12, 100, 110, 56, fill, [rows(share.a), "64 of K"])
    box(picture, left + 132, 100, 110, 56, fill, [rows(share.b), "64 of K"])
    box(picture, left + 12, 218, 230, 50, "plain", ["tensor core", "its 128 rows × all 256 columns"])
    box(picture, left + 12, 300, 230, 50, fill, [share.d, "tensor memory, 256 columns"])
    arrow(picture, left + 127, 268, left + 127, 298)
    words = "one thread issues for both" if share.issues else "issues no MMA"
    picture.text(left + 12, 376, words, "ink bold" if share.issues else "ink")
    picture.text(left + 12, 396, f"loads signal {share.barrier}", "ink small")


def _crossings(picture: Picture, pair: list[Share]) -> None:
    lefts = (400, 690)
    for left in lefts:
        arrow(picture, left + 67, 156, left + 67, 216)
        arrow(picture, left + 187, 156, left + 187, 216)
    first, second = lefts
    curve(picture, f"M{first + 200} 156C{first + 230} 196 {second + 80} 176 {second + 110} 216", "arrow dash")
    curve(picture, f"M{second + 150} 156C{second + 100} 196 {first + 260} 176 {first + 226} 216", "arrow dash")
    picture.text(672, 172, "B of the other CTA", "ink small halo", text_anchor="middle")


def _bytes(picture: Picture, pair: list[Share], alone: Share) -> None:
    top, left, scale = 446, 250, 4.4 / KIB
    picture.text(MARGIN, top, "Bytes loaded for 256 × 256 of D and 64 of K", "ink bold")
    bars = [
        ("step 8: four CTAs, each alone", [alone.loaded] * 4, ["plain"] * 4),
        ("step 9: a pair", [share.loaded for share in pair], [f"c{share.cta}" for share in pair]),
    ]
    for number, (name, sizes, fills) in enumerate(bars):
        y, x = top + 16 + number * 42, float(left)
        picture.text(left - 10, y + 20, name, "ink", text_anchor="end")
        for size, fill in zip(sizes, fills, strict=True):
            box(picture, x, y, size * scale, 30, fill, [f"A + B, {size // KIB} KiB"])
            x += size * scale
        picture.text(x + 10, y + 20, f"{sum(sizes) // KIB} KiB", "ink bold")
    before, now = (loaded_by(step) // KIB for step in (ALONE, PAIR))
    lines(
        picture, MARGIN, top + 126,
        [
            "Each CTA loads as much per stage as before, and multiplies twice as many columns with it. In the",
            f"simulated product of {extents(SHAPE)}, TMA loads {before} KiB in step 8, {now} in step 9.",
        ],
        "soft",
    )  # fmt: skip


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/cluster-pair.svg", pair_picture()
