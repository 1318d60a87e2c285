"""The pages of the steps 6 to 10."""

from __future__ import annotations

from collections.abc import Iterator

from tools.figures._steps import Drawing, StepPage, cube

PAGES = (
    StepPage(
        6, times=(cube(1024), cube(2048)), bounds=(cube(2048),),
        drawing=Drawing("figures/step06-timeline.svg", cube(2048), "NOTE"),
    ),
    StepPage(7, times=(cube(1024), cube(2048)), bounds=(cube(2048),)),
    StepPage(
        8, times=(cube(1024), cube(2048)), bounds=(cube(2048),),
        drawing=Drawing("figures/step08-timeline.svg", cube(2048), "NOTE"),
    ),
    StepPage(
        9, times=(cube(1024), cube(2048)), bounds=(cube(2048),),
        drawing=Drawing("figures/step09-timeline.svg", cube(2048), "NOTE", ctas=(0, 1)),
    ),
    StepPage(10, times=(cube(1024), cube(2048)), bounds=(cube(2048),)),
)  # fmt: skip


def pictures() -> Iterator[tuple[str, str]]:
    """The timelines that no other topic draws, of the pages that exist."""
    for page in PAGES:
        if page.path.exists():
            yield from page.pictures()


def passages() -> Iterator[tuple[str, str]]:
    """Of the pages that exist."""
    for page in PAGES:
        if page.path.exists():
            yield from page.passages()
