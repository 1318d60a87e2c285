"""Step 5: a software pipeline. Two stages of shared memory, one phase a stage."""

from utils import check_timing, compile_and_run, prepare_data, verify

STEP = 5


def test_step05(hgemm, reference, shape, target, schedules):
    kernel = hgemm(*shape)
    A, B, D = prepare_data(*shape, target=target, arrays=True)
    run = compile_and_run(kernel, A, B, D, target, **schedules)
    verify(A, B, D, run)
    check_timing(run, reference(*shape), step=STEP)
