"""``check program.py``: the launches of a Triton program, each with its report."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tirx_mini.course import Checked, KernelFileError
from tirx_mini.foreign import scripts, simulated_device
from tirx_mini.hardware import DEFAULT_GPU

from .launches import recorded


def check_program(path: Path, name: str, gpu: str | None, **options: Any) -> Checked:
    """Run a program, and return the worst report of the launches of one kernel, or of all if `name` is "".

    options: of `simulate`. Raises `KernelFileError` where nothing is launched, or where the program fails.
    """
    if importlib.util.find_spec("triton") is None:
        raise KernelFileError(f'{path} needs Triton, which is not installed: run `pip install "tirx_mini[triton]"`')
    failure: Exception | None = None
    with (
        patch.dict(os.environ, {simulated_device.GPU_VARIABLE: gpu or DEFAULT_GPU}),
        scripts.in_place_of(scripts.importable()),
        recorded(name, options) as reports,
    ):
        try:
            scripts.execute([str(path)])
        except SystemExit:
            pass
        except Exception as error:  # of the program: it may follow from what a kernel does wrong
            failure = error
    if failure is not None and all(report.ok for report in reports):
        raise KernelFileError(f"{path} fails: {type(failure).__name__}: {failure}") from failure
    if not reports:
        raise KernelFileError(f"{path} launches no kernel{name and f' called {name}'}")
    return Checked(max(reports, key=lambda report: report.badness))
