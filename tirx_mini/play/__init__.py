"""A local page to play in: an editor, and beside it what the simulator and the compiler say of its text.

Three processes serve a run. One executes the text in a sandbox (`building.py`) and answers with IR. The others have
nobody's Python, and simulate that IR: one for the verdict (`simulating.py`), one for the timeline (`beside.py`).
`runs.py` sends a text through all, and tells events as JSON types. `server.py` has the routes, `guard.py` refuses what
does not come from the user's page, and `exporting.py` makes pages that need no server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from tirx_mini.course import KernelRef, LaunchText, Shape
from tirx_mini.pytorch import how_to_install

from .languages import language_at
from .problems import PlayError

EXTRA = "play"
_NEEDED = ("starlette", "uvicorn")


def serve(
    ref: KernelRef | None, *, port: int = 0, hosts: Iterable[str] = (), browser: bool = True, fill: bool = True,
    launch: LaunchText | None = None, gpu: str | None = None, say: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve the page until the process ends.

    ref: the file, and the kernel that is shown first; None for the student's file in the working directory, else a
        scratch copy of step 1.
    port: 0 for any free one. hosts: further names of this machine. browser: whether to open one where that is possible.
    fill: whether the reference's code stands for open TODOs. launch, gpu: of a kernel of CUDA C++ or PTX, as the page
        shows them first. say: is called with sentences for the user.
    Raises `PlayError`, also without the packages of the extra.
    """
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        raise PlayError(f"play needs {' and '.join(absent)}: {how_to_install(EXTRA)}")
    from .serving import serve_page

    serve_page(ref, port=port, hosts=hosts, browser=browser, fill=fill, launch=launch, gpu=gpu, say=say)


def has_launch(path: Path) -> bool:
    """Return whether a file has kernels that a launch describes, as those of CUDA C++ and PTX."""
    return bool(language_at(path))


def export(
    ref: KernelRef | None, path: Path, *, shape: Shape | None = None, size: int | None = None, gpu: str | None = None,
    sms: int | None = None, fill: bool = True, launch: LaunchText | None = None,
) -> tuple[str, bool]:  # fmt: skip
    """Run a kernel, and write its page to a file. Return the verdict in a line, and whether the kernel is right.

    ref: as in `serve`; without a name, the last kernel that is written. shape, size: of the problem, by default 512 in
    each dimension that is free. gpu, sms: the modelled GPU; the default is the ladder's. fill: as in
    `serve`. launch: of a kernel of CUDA C++ or PTX. Raises `PlayError`, and `OutputError` if the file cannot be
    written.
    """
    from .recording import export_page

    return export_page(ref, path, shape=shape, size=size, gpu=gpu, sms=sms, fill=fill, launch=launch)


__all__ = ["PlayError", "export", "has_launch", "serve"]
