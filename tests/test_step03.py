"""Step 3: a grid of CTAs. Each CTA has its own rows of A and B and its own tile of D."""

from utils import check_timing, compile_and_run, prepare_data, verify

STEP = 3


def test_step03(hgemm, reference, shape, target, schedules):
    kernel = hgemm(*shape)
    A, B, D = prepare_data(*shape, target=target, arrays=True)
    run = compile_and_run(kernel, A, B, D, target, **schedules)
    verify(A, B, D, run)
    check_timing(run, reference(*shape), step=STEP)
