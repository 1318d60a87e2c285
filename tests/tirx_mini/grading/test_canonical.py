"""The canonical form of a kernel: blind to names, lines and hints, and to nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.tirx_mini.ir.functions import functions
from tirx_mini import simulate
from tirx_mini.course import STEPS, load_kernels
from tirx_mini.grading import canonical, canonical_text, kernel_key
from tirx_mini.ir import For, Hint, If, Mutator, PrimFunc, Stmt, seq, structural_equal
from tirx_mini.passes import lower
from tirx_mini.saved import load_json, save_json

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"
GPUS = {"sm100": "b200", "sm90": "h100"}


@cache
def built(path: Path, step: int, size: int = 512, folder: str = "sm100") -> PrimFunc:
    return lower(load_kernels(path, folder)[step](*STEPS[step].shape(size)))


def edited(tmp_path: Path, step: int, *edits: tuple[str, str]) -> PrimFunc:
    """A reference with pieces of its text replaced."""
    (source,) = (REFERENCES / "sm100").glob(f"step{step:02}_*.py")
    text = source.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"kernel{len(list(tmp_path.iterdir()))}.py"
    path.write_text(text)
    return built(path, step)


def changed(func: PrimFunc, change: Callable[[list[Any], int], None]) -> PrimFunc:
    """A kernel whose lines of JSON were changed. change: gets them, and the number of the function's."""
    data = json.loads(save_json(func))
    change(data["nodes"], data["func"])
    return load_json(json.dumps(data))


# -- the key covers the whole kernel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", GPUS)
@pytest.mark.parametrize("step", STEPS)
def test_the_text_of_a_reference_has_all_that_the_canonical_form_has(step: int, folder: str) -> None:
    form = canonical(built(REFERENCES, step, 1024, folder))
    again = load_json(save_json(form))
    assert structural_equal(form, again) and canonical_text(again) == save_json(form)
    assert (again.launch, again.tensor_maps[0:1] == ()) == (form.launch, form.tensor_maps == ())


KERNELS = functions().map(lambda func: replace(func, attrs=tuple((name, 3) for name, _ in func.attrs)))
"""Random functions whose attributes a saved kernel may have."""


@given(KERNELS)
@settings(max_examples=40, deadline=None)
def test_the_text_of_any_kernel_has_all_that_the_canonical_form_has(func: PrimFunc) -> None:
    """The decoder of the key: what is digested can be read back, so kernels that differ have other texts."""
    form = canonical(func)
    again = load_json(canonical_text(func))
    assert structural_equal(form, again) and again.launch == form.launch
    assert canonical_text(again) == canonical_text(func) == canonical_text(form)
    assert not any(isinstance(node, Hint) for node in form.nodes)


@given(KERNELS)
@settings(max_examples=40, deadline=None)
def test_the_canonical_form_is_the_kernel_without_its_hints(func: PrimFunc) -> None:
    if not any(isinstance(node, Hint) for node in func.nodes):
        form = canonical(func)
        assert structural_equal(func.body, form.body, dict(zip(func.params, form.params, strict=True)))
        assert (form.launch, tuple(form.attrs)) == (func.launch, tuple(func.attrs))


@pytest.mark.parametrize("folder", GPUS)
@pytest.mark.parametrize("step", STEPS)
def test_a_kernel_that_was_saved_has_the_same_key(step: int, folder: str) -> None:
    kernel = load_kernels(REFERENCES, folder)[step](*STEPS[step].shape(1024))
    assert kernel_key(lower(kernel)) == kernel_key(lower(load_json(save_json(kernel))))


def test_every_reference_has_a_key_of_its_own() -> None:
    keys = [kernel_key(built(REFERENCES, step, 1024, folder)) for folder in GPUS for step in STEPS]
    assert all(one != other for one, other in combinations(keys, 2))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("accum=(k != 0)", "accum=(k != 1)"),
        ("phase_tma ^ 1", "phase_tma ^ 0"),
        ("mbarrier.init(tma_bar.ptr_to([0]), 1)", "mbarrier.init(mma_bar.ptr_to([0]), 1)"),
        ("n_cols=512", "n_cols=256"),
    ],
)
def test_anything_that_a_gpu_sees_counts(tmp_path: Path, old: str, new: str) -> None:
    assert kernel_key(edited(tmp_path, 4, (old, new))) != kernel_key(built(REFERENCES, 4))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("Launch", "grid", [4, 3, 1]),
        ("Launch", "smem_bytes", 200_000),
        ("Launch", "cluster", [2, 1, 1]),
        ("Launch", "programmatic", True),
        ("TensorMap", "swizzle", 64),
        ("TensorMap", "l2_promotion", 256),
        ("TensorMap", "nan_fill", True),
        ("Buffer", "align", 2048),
        ("PrimFunc", "attrs", [["tirx_mini.dialect", "tvm"]]),
    ],
)
def test_the_launch_the_tensor_maps_and_the_attributes_count(kind: str, field: str, value: Any) -> None:
    def change(nodes: list[Any], _: int) -> None:
        next(line for line in nodes if line[0] == kind)[1][field] = value

    reference = built(REFERENCES, 4)
    assert kernel_key(changed(reference, change)) != kernel_key(reference)


def test_which_buffer_is_meant_counts(tmp_path: Path) -> None:
    swapped = edited(tmp_path, 3, ("Asmem[:, :], Bsmem[:, :], accum", "Bsmem[:, :], Asmem[:, :], accum"))
    assert kernel_key(swapped) != kernel_key(built(REFERENCES, 3))


# -- names, lines and hints --------------------------------------------------------------------------------------------


class Rewritten(Mutator):
    """Puts the arms of the first branch, or the body of the first loop, where `place` says."""

    def __init__(self, kind: type, place: Callable[[Any], Stmt]) -> None:
        self._kind, self._place = kind, place

    def stmt(self, node: Stmt) -> Stmt:
        if isinstance(node, self._kind):
            self._kind = type(None)
            return self._place(node)
        return super().stmt(node)


REMARK = Hint("x")
PLACES: dict[str, tuple[type, Callable[[Any], Stmt], Callable[[Any], Stmt]]] = {
    "arms of a branch": (If, lambda n: If(n.cond, n.then, REMARK), lambda n: If(n.cond, REMARK, n.then)),
    "arms of a branch, within": (
        If, lambda n: If(n.cond, n.then, Hint("x", (), REMARK)), lambda n: If(n.cond, Hint("x", (), REMARK), n.then),
    ),
    "a branch and what follows": (
        If, lambda n: If(n.cond, seq(n.then, n.then)), lambda n: seq(If(n.cond, n.then), n.then),
    ),
    "the body of a loop": (For, lambda n: replace(n, body=REMARK), lambda n: n),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_hints_hide_nothing_of_the_structure_around_them(name: str) -> None:
    """Hints do nothing, but the places that they take in a branch or loop are places of statements."""
    kind, *places = PLACES[name]
    func = built(REFERENCES, 4)
    keys = {kernel_key(func.with_body(Rewritten(kind, place).stmt(func.body))) for place in places}
    assert len(keys) == 2


def test_names_lines_and_hints_do_not_count(tmp_path: Path) -> None:
    other = edited(
        tmp_path, 4, ("Asmem", "tile_of_a"), ("phase_tma", "parity"), ("            m_st =", "\n\n            m_st ="),
        ("            write_back()\n", '            Tx.hint("now the write-back")\n            write_back()\n'),
    )  # fmt: skip
    assert kernel_key(other) == kernel_key(built(REFERENCES, 4))
    assert kernel_key(built(REFERENCES, 4)) == kernel_key(canonical(other))


NAMES: dict[str, Callable[[int, str], str]] = {
    "one name for all": lambda number, name: "X",
    "the names of others": lambda number, name: "DABC"[number % 4],
    "names of the simulator": lambda number, name: ("w", "gpu", "lanes", "self")[number % 4],
}


@pytest.mark.parametrize("names", NAMES)
def test_a_run_of_the_canonical_form_is_that_of_the_kernel_whatever_its_names(names: str) -> None:
    def change(nodes: list[Any], _: int) -> None:
        named = [line for line in nodes if line[0] in ("Buffer", "Var")]
        for number, line in enumerate(named):
            line[1]["name"] = NAMES[names](number, line[1]["name"])

    kernel = load_kernels(REFERENCES)[4](256, 128, 256)
    other = lower(changed(kernel, change))
    assert canonical_text(other) == canonical_text(lower(kernel))
    runs = [simulate(func, data=False, trace=True) for func in (lower(kernel), canonical(other))]
    assert runs[0].cycles == runs[1].cycles and runs[0].stats == runs[1].stats
    first, second = (
        [(each.track, each.name, each.start, each.end) for each in run.trace.intervals if each.track.warp is None]
        for run in runs
        if run.trace is not None
    )
    assert first == second


def test_nothing_of_a_file_is_left_in_the_canonical_form(tmp_path: Path) -> None:
    text = canonical_text(edited(tmp_path, 4, ("Asmem", "secret_of_alice"), ("hgemm_v4", "hgemm_v4")))
    assert "secret" not in text and "kernel0.py" not in text and "span" not in text and "hgemm" not in text
    assert [param.name for param in canonical(built(REFERENCES, 4)).params] == ["A", "B", "D"]
