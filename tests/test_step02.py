"""Step 2: a loop over K. The phase of the barrier flips each turn."""

from utils import check_timing, compile_and_run, prepare_data, verify

STEP = 2


def test_step02(hgemm, reference, shape, target, schedules):
    kernel = hgemm(*shape)
    A, B, D = prepare_data(*shape, target=target, arrays=True)
    run = compile_and_run(kernel, A, B, D, target, **schedules)
    verify(A, B, D, run)
    check_timing(run, reference(*shape), step=STEP)
