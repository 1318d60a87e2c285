"""A run without a page: `tirx play --export`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tirx_mini.course import KernelRef, LaunchText, Shape
from tirx_mini.files import write_whole

from .asked import RunRequest
from .kernels import NO_PYTHON, kernels_in
from .problems import PlayError
from .simulating import RUNS
from .source import Source
from .studio import Studio, sandbox_here


def export_page(
    ref: KernelRef | None, path: Path, *, shape: Shape | None = None, size: int | None = None, gpu: str | None = None,
    sms: int | None = None, fill: bool = True, launch: LaunchText | None = None,
) -> tuple[str, bool]:  # fmt: skip
    """Run a kernel, and write its page. Return the verdict in a line, and whether the kernel is right.

    The arguments are those of `tirx_mini.play.export`. Raises `PlayError`, and `OutputError` for the page's file.
    """
    source = Source.of(ref)
    text = source.read().text
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(source, sandbox_here(), Path(folder), fill=fill, launch=launch, gpu=gpu)
        try:
            if studio.language:
                asked = studio.launch_request(text, RUNS)
            else:
                name, shape = _chosen(text, source.kernel, shape, size)
                modules, chosen = tuple(studio.modules.found(text)), gpu or source.ladder(text)
                asked = RunRequest(text, name, shape, {}, chosen, sms, RUNS, False, "", True, modules)
            run = studio.runs.finished(asked)
            write_whole(path, studio.page_of(run))
        finally:
            studio.close()
    verdict = run.event("verdict") or run.event("failed")
    assert verdict is not None
    bound = run.event("bound")
    title = verdict["title"]
    if bound is not None:
        title = title.replace(verdict["time"], bound["time"])
    return title, verdict.get("verdict") == "ok"


def _chosen(text: str, name: str, shape: Shape | None, size: int | None) -> tuple[str, Shape | None]:
    """Return the kernel to run, by default the last one that is written, and its shape. Raises `PlayError`."""
    try:
        found = kernels_in(text)
    except NO_PYTHON as error:
        raise PlayError(f"the text is not Python: {error}") from None
    written = [kernel for kernel in found if kernel["written"]]
    named = [kernel for kernel in found if kernel["name"] == name] if name else (written or found)[-1:]
    if not named:
        names = ", ".join(kernel["name"] for kernel in found) or "none"
        raise PlayError(f"the file has no kernel {name}; it has {names}" if name else "the file has no kernel")
    kernel = named[0]
    if kernel["sizes"] is None:
        return kernel["name"], None
    m, n, k = kernel["sizes"].values()
    if size is not None:
        m, n, k = (size if axis in kernel["free"] else extent for axis, extent in zip("MNK", (m, n, k), strict=True))
    return kernel["name"], shape or (m, n, k)
