"""Step 4: TMA. Loads and the store are asynchronous; bytes are counted."""

from utils import check_timing, compile_and_run, prepare_data, verify

STEP = 4


def test_step04(hgemm, reference, shape, target, schedules):
    kernel = hgemm(*shape)
    A, B, D = prepare_data(*shape, target=target, arrays=True)
    run = compile_and_run(kernel, A, B, D, target, **schedules)
    verify(A, B, D, run)
    check_timing(run, reference(*shape), step=STEP)
