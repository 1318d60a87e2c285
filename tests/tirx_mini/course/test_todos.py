"""Which TODOs a file has, which are open, and for which GPU the file is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.course import Todo, architecture_in, hint_command, todos_in

TEXT = """\
# TODO: before any step
def hgemm_v1(M, N, K, dtype="float16"):
    def kernel():
        # TODO: load A and B
        # into shared memory.
        #   Tx.copy(…)
        ...
        # TODO: multiply
        Tx.gemm_async()
        # TODO: wait
        Tx.ptx.mbarrier.try_wait()
        ...
        if True:
            ...  # not mine


def helper(D):
    return D[..., 0]


def hgemm_v2(M, N, K):
    # TODO: one
    # TODO: two
    ...
"""


def test_todos_are_listed_by_step_with_their_lines_and_states() -> None:
    found = todos_in(TEXT)
    assert list(found) == [1, 2]
    assert found[1] == (
        Todo(4, "load A and B into shared memory. Tx.copy(…)", open=True, dots=7),
        Todo(8, "multiply", open=False),
        Todo(10, "wait", open=True, dots=12, begun=True),
        Todo(14, "", open=True, dots=14),
    )
    assert found[2] == (Todo(22, "one", open=False), Todo(23, "two", open=True, dots=24))


def test_a_file_with_a_syntax_error_has_its_todos() -> None:
    assert todos_in(TEXT.replace("if True:", "if True")) == todos_in(TEXT)


@pytest.mark.parametrize(
    ("name", "text", "arch"),
    [
        ("gemm_kernels.py", "from tirx_mini.layout import wgmma_accumulator_layout", "sm_100a"),
        ("gemm_kernels_sm90.py", "", "sm_90a"),
        ("mine.py", "", "sm_100a"),
        ("mine.py", "from tirx_mini.layout import wgmma_accumulator_layout", "sm_90a"),
        ("mine.py", "    Tx.ptx.wgmma.fence()", "sm_90a"),
    ],
)
def test_the_gpu_of_a_file_is_known_by_its_name_or_its_instructions(name: str, text: str, arch: str) -> None:
    assert architecture_in(Path(name), text) == arch


def test_the_command_names_the_file_where_it_is_not_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hint_command(Path("gemm_kernels.py"), 5) == "python -m tirx_mini hint 5"
    assert hint_command(Path("mine.py"), 5, 2) == "python -m tirx_mini hint 5 2 --kernels mine.py"
    assert hint_command(Path("old/gemm_kernels.py"), 5) == "python -m tirx_mini hint 5 --kernels old/gemm_kernels.py"
