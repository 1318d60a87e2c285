"""Step 10: two consumers. Two MMA warps and two warpgroups that write back."""

from utils import check_timing, compile_and_run, prepare_data, verify

STEP = 10


def test_step10(hgemm, reference, shape, target, schedules):
    kernel = hgemm(*shape)
    A, B, D = prepare_data(*shape, target=target, arrays=True)
    run = compile_and_run(kernel, A, B, D, target, **schedules)
    verify(A, B, D, run)
    check_timing(run, reference(*shape), step=STEP)
