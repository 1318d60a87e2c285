"""A damaged kernel is either read or gets an error page; no other exception leaves the package."""

from __future__ import annotations

import linecache
import random
import traceback
from pathlib import Path

import pytest

from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tools.damage import damaged

ROOT = Path(__file__).parents[3]
STEPS = sorted((ROOT / "kernels_ref" / "sm100").glob("step*.py"))
SHAPES = {1: (128, 128, 64), 2: (128, 128, 256)}
PER_STEP = 12


def load(text: str, name: str, step: int) -> PrimFunc:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, object] = {"__name__": "damaged"}
    exec(compile(text, name, "exec"), names)
    return names[f"hgemm_v{step}"](*SHAPES.get(step, (512, 512, 256)))  # type: ignore[operator]


def check(text: str, name: str, step: int) -> None:
    """Read, print, lower and print again. The only exception may be an error page with a location."""
    func = load(text, name, step)
    assert structural_equal(func, from_source(func.script())), func.script()
    lowered = lower(func)
    assert structural_equal(lowered, from_source(lowered.script())), lowered.script()


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_a_damaged_kernel_is_read_or_gets_an_error_page(path: Path) -> None:
    source, step = path.read_text(encoding="utf-8"), int(path.stem[4:6])
    for seed in range(PER_STEP):
        name = f"<damaged {path.stem} {seed}>"
        text = damaged(source, random.Random(f"{path.stem} {seed}"))
        try:
            check(text, name, step)
        except TirxError as error:
            told = str(error).startswith(("error[TX4", "error[TX601]"))  # a mistake, or a name of TVM that is refused
            assert error.span is not None and told and error.__cause__ is None, f"{name}\n{error}"
        except Exception as error:
            # Python evaluates annotations and the code around it: their exceptions come from the damaged text.
            last = traceback.extract_tb(error.__traceback__)[-1]
            assert last.filename == name, f"{name}: {error!r} at {last.filename}:{last.lineno}\n{text}"
        finally:
            linecache.cache.pop(name, None)
