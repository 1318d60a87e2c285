"""The pages of the steps 6 and 7."""

from __future__ import annotations

from tools.figures._steps import Drawing, StepPage, cube

SIZES = (cube(2048), cube(4096))

PAGES = (
    StepPage(
        6, times=SIZES, bounds=(cube(2048),), target=cube(4096),
        drawing=Drawing(
            "figures/step06-timeline.svg", cube(2048),
            "One warp for everything, from the end of one tile to the next: while it writes back and waits for the "
            "store (bulk-group), nothing is loaded and nothing is multiplied.",
            start=25_800, end=33_000,
        ),
    ),
    StepPage(7, times=SIZES, bounds=(cube(2048),), target=cube(2048)),
)  # fmt: skip
