"""The pages of the steps 8 to 10."""

from __future__ import annotations

from tools.figures._steps import Drawing, StepPage, cube

SIZES = (cube(2048), cube(4096))

PAGES = (
    StepPage(
        8, times=SIZES, bounds=(cube(2048),),
        drawing=Drawing(
            "figures/step08-timeline.svg", cube(2048),
            "Four stages: TMA is up to four K tiles ahead, and several loads are on their way at any time. A load now "
            "takes longer than in step 7, because it shares shared memory with the operands of the MMAs.",
        ),
    ),
    StepPage(
        9, times=SIZES, bounds=(cube(2048),),
        drawing=Drawing(
            "figures/step09-timeline.svg", cube(2048),
            "A pair of CTAs: the MMA warp of CTA 0 issues for both tensor cores, and each commit frees the stage in "
            "both CTAs. An MMA has twice the work for a quarter more bytes.",
            ctas=(0, 1),
        ),
    ),
    StepPage(10, times=SIZES, bounds=(cube(2048),)),
)  # fmt: skip
