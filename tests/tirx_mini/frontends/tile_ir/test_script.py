"""Programs written for `import cuda.tile as ct`, unchanged."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tirx_mini.compat import cuda_tile
from tirx_mini.ir import TirxError

PROGRAM = """
import cuda.tile as ct
import torch
from cuda.tile import Constant, PaddingMode

Size = Constant[int]

@ct.kernel(occupancy=ct.ByTarget(sm_100=2, default=1))
def scaled(x, y, factor, N: Size):
    row = ct.bid(0)
    tile = ct.load(x, (row, 0), (1, N), padding_mode=PaddingMode.ZERO)
    ct.store(y, (row, 0), tile * factor)

x = torch.randn(3, 100, device="cuda")
y = torch.empty_like(x)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
ct.launch(torch.cuda.current_stream(), (3,), scaled, (x, y, 2.0, 128))
end.record()
torch.cuda.synchronize()
assert torch.equal(y, 2 * x)
assert start.elapsed_time(end) > 0
found = ct.tune.exhaustive_search(
    [64, 128], torch.cuda.current_stream(), lambda n: (3, 1), scaled, lambda n: (x, y.clone(), 2.0, n), quiet=True
)
assert [m.config for m in found.successes] == [64, 128] and "64" in found.summary()
assert x.is_cuda and isinstance(scaled, ct.kernel)
print("all", "done")
"""
WITH_CUPY = """
import cuda.tile as ct
import cupy

@ct.kernel
def double(x):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)

x = cupy.arange(32)
ct.launch(cupy.cuda.get_current_stream(), (2, 1, 1), double, (x,))
print(int(cupy.asnumpy(x).sum()))
"""


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "tirx_mini.compat.cuda_tile", str(path)], capture_output=True, text=True
    )


@pytest.mark.parametrize(("text", "printed"), [(PROGRAM, "all done"), (WITH_CUPY, "992")])
def test_a_program_runs_unchanged(tmp_path: Path, text: str, printed: str) -> None:
    result = run(tmp_path, text)
    assert (result.returncode, result.stdout.strip()) == (0, printed), result.stderr


def test_a_mistake_is_a_page(tmp_path: Path) -> None:
    result = run(tmp_path, WITH_CUPY.replace("(16,)", "(12,)"))
    assert result.returncode == 1
    assert result.stderr.startswith("error[TX411]: a tile cannot have the shape (12,)")
    assert "Traceback" not in result.stderr


def test_a_graph_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "import torch\n\ngraph = torch.cuda.CUDAGraph()\n")
    assert result.returncode == 1
    assert result.stderr.startswith("error[TX401]: CUDA graphs are not simulated")
    assert "program.py:3" in result.stderr and "Traceback" not in result.stderr


def test_nothing_stays_behind() -> None:
    before = set(sys.modules)
    with cuda_tile.imports():
        import cuda.tile as ct  # type: ignore[import-not-found]

        assert ct.float16.bitwidth == 16
    assert not any(name.startswith("cuda.tile") for name in set(sys.modules) - before)
    with pytest.raises(ImportError):
        import cuda.tile  # noqa: F401


def test_a_module_that_is_not_provided_says_what_to_use() -> None:
    with cuda_tile.imports(), pytest.raises(ImportError, match="does not provide") as caught:
        import cuda.tile.compilation  # noqa: F401
    assert isinstance(caught.value, TirxError)
    assert "tirx_mini tileir" in str(caught.value)


@pytest.mark.parametrize(("arguments", "words"), [
    ([], "which script?"), (["-m"], "which module?"), (["no.py"], "does not exist"), (["--fast"], "is not an option"),
])  # fmt: skip
def test_a_command_line_that_names_nothing(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cuda_tile.main(arguments) == 2
    assert words in capsys.readouterr().err
