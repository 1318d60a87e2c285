"""A local page to play in: an editor, and beside it what the simulator and the compiler say of its text.

Two processes serve a run. One executes the text in a sandbox (`building.py`) and answers with IR; the other has
nobody's Python, and simulates that IR (`simulating.py`). `runs.py` sends a text through both, and tells events as JSON
types. `server.py` has the routes, and `guard.py` refuses what does not come from the user's page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from tirx_mini.pytorch import how_to_install

from .problems import PlayError

EXTRA = "play"
_NEEDED = ("starlette", "uvicorn")


def serve(
    file: Path | None, *, port: int = 0, hosts: Iterable[str] = (), browser: bool = True, say: Callable[[str], None]
) -> None:
    """Serve the page until the process ends.

    file: None for the student's in the working directory, else a scratch copy of step 1. port: 0 for any free one.
    hosts: further names of this machine. browser: whether to open one where that is possible. say: is called with
    sentences for the user. Raises `PlayError`, also without the packages of the extra.
    """
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        raise PlayError(f"play needs {' and '.join(absent)}: {how_to_install(EXTRA)}")
    from .serving import serve_page

    serve_page(file, port=port, hosts=hosts, browser=browser, say=say)


__all__ = ["PlayError", "serve"]
