"""The pages of the steps 1 to 5."""

from __future__ import annotations

from tools.figures._steps import Drawing, StepPage, cube

PAGES = (
    StepPage(
        1, times=((128, 128, 64),), bounds=((128, 128, 64),),
        drawing=Drawing(
            "figures/step01-timeline.svg", (128, 128, 64),
            "The whole run. All warps copy, warp 0 issues one MMA, all wait for mma_bar, all read and store. Each part "
            "waits for the one before it.",
        ),
    ),
    StepPage(
        2, times=tuple((128, 128, k) for k in (512, 1024, 4096)), bounds=((128, 128, 1024),),
        target=(128, 128, 1024), before=(128, 128, 64),
        drawing=Drawing(
            "figures/step02-timeline.svg", (128, 128, 1024),
            "The set-up and the first iterations. Each MMA completes one phase of mma_bar; the next copy begins after "
            "that.",
            start=0, end=8_000,
        ),
    ),
    StepPage(
        3, times=(cube(512), cube(1024), cube(2048)), bounds=(cube(1024),),
        target=cube(1024), before=(128, 128, 1024),
        drawing=Drawing(
            "figures/step03-timeline.svg", cube(1024),
            "Two iterations of one CTA: most of each goes into the copies, and the tensor core is idle during them.",
            start=8_500, end=12_000,
        ),
        wave=Drawing(
            "figures/step03-wave.svg", cube(2048),
            "256 CTAs on 148 SMs: 108 SMs run two CTAs, one after the other, and 40 run one.",
        ),
    ),
    StepPage(4, times=(cube(512), cube(1024), cube(2048)), bounds=(cube(1024),), target=cube(1024)),
    StepPage(
        5, times=(cube(1024), cube(2048), cube(4096)), bounds=(cube(1024), cube(2048)), target=cube(1024),
    ),
)  # fmt: skip
