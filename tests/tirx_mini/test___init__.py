"""What `import tirx_mini` brings, and what it leaves until it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import tirx_mini

GUESTS = ("tirx_mini.frontends.tile_ir", "tirx_mini.frontends.tilelang", "tirx_mini.frontends.tvm.te", "torch")


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(json.loads(shown.splitlines()[-1]))


def test_the_import_alone_loads_no_room() -> None:
    loaded = modules_after("import tirx_mini")
    own = {name for name in loaded if name.startswith("tirx_mini.")}
    foreign = {f"tirx_mini.foreign.{name}" for name in ("absent", "after_import", "modules")}
    table = {"tirx_mini.foreign", "tirx_mini.frontends", "tirx_mini.guests", *foreign}
    assert own == {"tirx_mini.invocation", "tirx_mini.records", "tirx_mini.target", *table}
    assert "numpy" not in loaded


def test_a_name_loads_its_room() -> None:
    loaded = modules_after("import tirx_mini as tvm\ntvm.simulate")
    assert {"tirx_mini.driver", "tirx_mini.sim"} <= loaded


@pytest.mark.parametrize("name", tirx_mini.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tirx_mini, name).__name__
    assert name in dir(tirx_mini)


def test_compiling_a_tile_program_loads_no_simulator() -> None:
    used = "from tirx_mini.tile_ir import ct\nfrom tirx_mini import compile\nfrom tirx_mini.runtime import build"
    loaded = modules_after(used)
    assert {"tirx_mini.frontends.tile_ir.program", "tirx_mini.passes", "tirx_mini.codegen"} <= loaded
    assert not {"tirx_mini.script.tirx", "tirx_mini.script.statements", "statistics", "numpy.typing"} & loaded
    assert not {"tirx_mini.sim", "tirx_mini.diagnose", "tirx_mini.frontends.tvm.te", "torch"} & loaded


def test_launching_tile_programs_loads_no_compiler_until_one_is_compiled() -> None:
    loaded = modules_after("import tirx_mini.tile_ir.run")
    rooms = {name.removeprefix("tirx_mini.").removeprefix("frontends.tile_ir.").split(".")[0] for name in loaded}
    assert "cuda_tile" in rooms
    assert not {"isa", "tile", "passes", "emit", "nv_tileaa", "nv_tileas", "tempfile"} & rooms


def test_checking_a_kernel_loads_neither_the_compiler_nor_timelines_nor_drills() -> None:
    kernel = "kernels_ref/sm100/step01_single_tile.py:hgemm_v1"
    loaded = modules_after(f"from tirx_mini.commands.check import main\nmain(['{kernel}'])")
    assert not {f"tirx_mini.{name}" for name in ("codegen", "report.timeline", "report.html", "course.drills")} & loaded
    assert "numpy.ma" not in loaded


def test_checking_a_kernel_of_threads_loads_neither_tile_programs_nor_schedules() -> None:
    kernel = "kernels_ref/sm100/step01_single_tile.py:hgemm_v1"
    loaded = modules_after(f"from tirx_mini.commands.check import main\nmain(['{kernel}'])")
    assert {"tirx_mini.sim", "tirx_mini.diagnose"} <= loaded
    assert not {name for name in loaded if name.startswith(GUESTS)}


def test_rooms_are_attributes() -> None:
    assert "tirx_mini.layout" in modules_after("import tirx_mini\ntirx_mini.layout.S")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tirx_mini' has no attribute 'simulat'"):
        tirx_mini.simulat  # type: ignore[attr-defined]


def test_names_of_the_front_end_win_over_the_modules_that_they_are_in() -> None:
    code = "from tirx_mini.script import from_source; from tirx_mini.script import from_source as again; "
    code += "assert callable(from_source) and again is from_source"
    subprocess.run([sys.executable, "-c", code], check=True)
