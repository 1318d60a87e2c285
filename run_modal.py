"""Run the kit on a GPU in the cloud, through Modal (docs/cloud.md).

    pip install modal && modal setup                  once
    modal run run_modal.py                            the test of every step that is written, on a B200
    modal run run_modal.py --step 1,3,5               the tests of some steps
    modal run run_modal.py --inspect 7 > v7.cu        the CUDA C++ of step 7; needs no GPU
    modal run run_modal.py --inspect 9 --size 2048 --stage sass
    modal run run_modal.py --check my.py:kernel       the simulator first; a GPU, if that finds nothing
    modal run run_modal.py --bench                    your steps beside cuBLAS: a table, a CSV file, a chart
    modal run run_modal.py --grade handin.tar         the score, as text and as JSON

`python run_modal.py …` does the same. The kit is in an image that is built once; a run sends the student's own files.
Exit status: 0 if all is right, 1 if a kernel is wrong, 2 for bad input, 3 if `check` does not model a kernel wholly,
4 if the cloud could not run it.
"""

from __future__ import annotations

import asyncio
import io
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from cloud import GPUS, LARGE, SMALL, BadInput, Job, Plan, cost, events, gpu_here, graded, plan

try:
    import modal
    import modal.exception
    from modal.config import config
except ImportError:
    sys.exit("error: Modal's client is not installed: run `pip install modal`, and once `modal setup`")

if not hasattr(modal.Function, "with_options"):
    sys.exit(f"error: Modal's client {modal.__version__} is too old: run `pip install --upgrade modal`")

HERE = Path(__file__).parent
KIT = "/root/kit"
NOT_MODELLED, CLOUD_FAILED = 3, 4

# -- the image: the packages, then the kit. A change of the kit leaves the packages' layer as it is --------------------

PARTS = (
    "pyproject.toml setup.py README.md LICENSE constraints.txt utils.py inspect_cuda.py grade.py grading tirx_mini "
    "kernels_ref benchmarks/*.py tests/conftest.py tests/browser.py tests/suites.py tests/texts.py tests/test_step*.py "
    "docs/findings.md docs/*.csv docs/hints"
).split()
CACHES = ("**/__pycache__", "**/*.pyc", "tirx_mini/_data")
PINNED = f"--constraint {KIT}/constraints.txt"
_parts, _caches = modal.FilePatternMatcher(*PARTS), modal.FilePatternMatcher(*CACHES)

app = modal.App("gemm-kit")
image = (
    modal.Image.debian_slim(python_version="3.12")
    .add_local_file(HERE / "constraints.txt", f"{KIT}/constraints.txt", copy=True)
    .pip_install_from_pyproject(str(HERE / "pyproject.toml"), ["course", "torch"], extra_options=PINNED)
    .pip_install("setuptools", extra_options=PINNED)
    .add_local_dir(HERE, KIT, copy=True, ignore=lambda path: not _parts(path) or _caches(path))
    .run_commands(f"pip install --quiet --no-deps --no-build-isolation --editable {KIT}")
    .workdir(KIT)
    .add_local_python_source("cloud")
)

# -- in the cloud: one attempt a run, a limit of time, and no machine that stays ---------------------------------------


@app.function(
    image=image, gpu="B200", cpu=LARGE[0], memory=LARGE[1] * 1024, timeout=1800, startup_timeout=300, max_containers=1,
    scaledown_window=2,
)  # fmt: skip
def on_gpu(*job: Any) -> Iterator[tuple[str, Any]]:
    """("machine", the name of its GPU), then `events`; nothing more where the name is ""."""
    name = gpu_here()
    yield "machine", name
    if name:
        yield from events(*job)


@app.function(image=image, cpu=SMALL[0], memory=SMALL[1] * 1024, timeout=1800, max_containers=1, scaledown_window=2)
def on_cpu(*job: Any) -> Iterator[tuple[str, Any]]:
    """("machine", "CPU"), then `events`."""
    yield "machine", "CPU"
    yield from events(*job)


@app.function(
    image=image, cpu=SMALL[0], memory=SMALL[1] * 1024, timeout=1800, retries=0, scaledown_window=2,
    single_use_containers=True, block_network=True, restrict_modal_access=True,
)  # fmt: skip
def grade_one(name: str, handin: bytes, target: str = "sim", rules: str | None = None) -> str:
    """The results JSON of `grade.py` for one hand-in, on a machine of its own without a network.

    handin: the bytes of a tar or of a kernel file. target: "sim" or "cuda". rules: the text of a `grading.toml`.
    Raises `RuntimeError`, with the end of the output, where there are no results.
    """
    return graded(name, handin, target, rules)


# -- here --------------------------------------------------------------------------------------------------------------


class CloudFailed(Exception):
    """Why the cloud did not run it, and what to do, in one sentence."""


def run(arguments: Sequence[str], running: bool) -> int:
    """Run a command line; returns the exit status. running: whether `modal run` has started the app."""
    try:
        what = checked(arguments)
        with ExitStack() as stack:
            if not running:
                stack.enter_context(redirect_stdout(messages()))
                stack.enter_context(modal.enable_output())
                stack.enter_context(app.run())
            if what.note:
                tell(what.note)
            status = 0
            for job in what.jobs:
                status = asyncio.run(play(job, what))
                if status not in (0, NOT_MODELLED):
                    break
        return status or int(what.incomplete)
    except (BadInput, CloudFailed) as error:
        tell(f"error: {error}")
        return 2 if isinstance(error, BadInput) else CLOUD_FAILED
    except modal.exception.Error as error:
        tell(f"error: {explained(error)}")
        return CLOUD_FAILED
    except KeyboardInterrupt:
        tell("stopped: the run is ended, and its machine is released")
        return 130


def checked(arguments: Sequence[str]) -> Plan:
    """What a command line asks for. Raises `BadInput`, and `CloudFailed` if Modal's client has no credentials."""
    what = plan(arguments, HERE, __doc__ or "")
    check_login()
    return what


def check_login() -> None:
    """Raises `CloudFailed` if Modal's client has no credentials."""
    if not (config.get("token_id") and config.get("token_secret")) and not config.get("oauth_refresh_token"):
        raise CloudFailed(
            "you are not logged in to Modal: run `modal setup` once, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
        )


async def play(job: Job, what: Plan) -> int:
    """Run a job, print what it prints and store its files; returns its exit status."""
    function = on_gpu.with_options(gpu=GPUS[job.gpu].modal) if job.gpu else on_cpu
    call = list(job.arguments), dict(job.files), list(job.results), job.limit_s, job.silence_s
    stream: AsyncGenerator[tuple[str, Any], None] = function.remote_gen.aio(*call)
    try:
        _, machine = await asyncio.wait_for(anext(stream), what.wait_s)
    except asyncio.TimeoutError:
        raise CloudFailed(
            f"no {job.gpu or 'machine'} was free within {what.wait_s / 60:g} min, and waiting costs nothing: try again "
            "later, wait longer with --wait, or choose another kind with --gpu"
        ) from None
    if not machine:
        raise CloudFailed(f"Modal's machine has no {job.gpu}: run it again, or choose another kind with --gpu")
    tell(f"on {machine}" if job.gpu else "on a machine without a GPU")
    start, status = time.monotonic(), 1
    texts = {kind: getincrementaldecoder("utf-8")(errors="replace") for kind in ("out", "err")}
    try:
        async for kind, value in stream:
            if interrupted():
                raise asyncio.CancelledError
            if kind in texts:
                show(kind, texts[kind].decode(value))
            elif kind == "file":
                store(what.out, *value)
            elif kind == "end":
                known = 0 <= value <= NOT_MODELLED and "pytest" not in job.arguments  # whose other statuses mean others
                status = value if known else int(value != 0)
            else:
                tell(f"error: {ended(kind, value, job)}")
    finally:
        tell(cost(job.gpu, time.monotonic() - start))
    return status


def interrupted() -> bool:
    """Whether Ctrl-C has cancelled this task. Where it comes at the same time as a piece of output, Python 3.11 returns
    the piece and forgets the cancellation (asyncio.wait_for); Python 3.10 has no such requests.
    """
    task = asyncio.current_task()
    return task is not None and bool(getattr(task, "cancelling", int)())


def ended(kind: str, seconds: float, job: Job) -> str:
    """Why the cloud ended a run, and what to do, in a sentence."""
    if kind == "late":
        return f"the run was ended after {seconds:g} s: ask for less, as with --step 7 or --size 1024"
    file = next(iter(job.files))
    return (
        f"the run was ended, as it printed nothing for {seconds:g} s: a kernel or a loop of {file} does not finish; "
        f"`python -m tirx_mini check {file}:KERNEL` needs no GPU, and says what a kernel waits for"
    )


def store(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    tell(f"wrote {folder / name}")


def show(kind: str, text: str) -> None:
    """Print a piece of the output at once."""
    stream = payload() if kind == "out" else sys.stderr
    stream.write(text)
    stream.flush()


def payload() -> TextIO:
    """Where the output goes. On a terminal, `sys.stdout` knows of Modal's status line; a file gets the output alone."""
    out = sys.__stdout__
    return sys.stdout if out is None or out.isatty() else out


def messages() -> TextIO:
    """Where Modal's own messages go: to a terminal, else to stderr."""
    if isinstance(sys.__stdout__, io.TextIOWrapper):
        sys.__stdout__.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout if sys.stdout.isatty() else sys.stderr


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def explained(error: modal.exception.Error) -> str:
    """What an error of Modal's client means, and what to do, in a sentence."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    known = modal.exception
    for kind, sentence in (
        (known.AuthError, "Modal does not accept your token ({}): run `modal setup` again"),
        (known.FunctionTimeoutError, "Modal ended the run at its time limit ({}): ask for less, as with --step 7"),
        (known.ConnectionError, "Modal cannot be reached ({}): check the network, and try again"),
        (known.ResourceExhaustedError, "a budget or a limit of the workspace is reached ({}): ask its owner"),
        (known.PermissionDeniedError, "your role in the workspace does not allow this ({}): ask its owner"),
        (known.ImageBuildError, "the image could not be built ({}): read the log above, and run it again"),
        (known.NotFoundError, "Modal does not find it ({}): choose another kind with --gpu, or another environment"),
        (known.InvalidError, "Modal refuses it ({}): choose another kind of GPU with --gpu"),
    ):
        if isinstance(error, kind):
            return sentence.format(text)
    return f"Modal failed ({text}): run it again, and look at https://status.modal.com"


def grade_many(
    handins: Mapping[str, bytes], machines: str = "cpu", rules: str | None = None, jobs: int = 10
) -> Iterator[tuple[str, str | Exception]]:
    """(name, results JSON) of each hand-in as it is graded, on at most `jobs` machines at a time. Where there are no
    results, the exception that says why stands in their place.

    handins: by name, the bytes of a tar or of a kernel file. machines: "cpu", which simulates, or one of `GPUS`.
    rules: the text of a `grading.toml`. Raises `CloudFailed` without credentials, and `modal.exception.Error`.
    """
    check_login()
    function = grade_one if machines == "cpu" else grade_one.with_options(gpu=GPUS[machines].modal)
    target = "sim" if machines == "cpu" else "cuda"
    with ThreadPoolExecutor(jobs) as pool, app.run():  # the end of the app ends calls that nobody waits for any more
        calls = {pool.submit(function.remote, name, data, target, rules): name for name, data in handins.items()}
        try:
            for call in as_completed(calls):
                error = call.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield calls[call], call.result() if error is None else error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@app.local_entrypoint()
def main(*arguments: str) -> None:
    """What `modal run` calls when it has started the app."""
    if status := run(arguments, running=True):
        sys.exit(status)


def arguments_of_modal_run() -> list[str] | None:
    """What follows this file in the command line of `modal run`; None if the program is another one."""
    words = sys.argv[sys.argv.index("run") + 1 :] if modal.is_local() and "run" in sys.argv else []
    for index, word in enumerate(words):
        if Path(word.partition("::")[0]).resolve() == Path(__file__).resolve():
            return words[index + 1 :]
    return None


def check_early(arguments: Sequence[str]) -> None:
    """End the program for a mistake in the command line or a missing login, before anything is sent or built.

    `modal run` imports this file, starts the app, and then calls `main`, which would be late for that.
    """
    try:
        checked(arguments)
    except (BadInput, CloudFailed) as error:
        tell(f"error: {error}")
        sys.exit(2 if isinstance(error, BadInput) else CLOUD_FAILED)
    sys.stdout = messages()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], running=False))
if (_arguments := arguments_of_modal_run()) is not None:
    check_early(_arguments)
