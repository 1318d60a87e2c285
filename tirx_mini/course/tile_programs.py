"""Lesson 11: the tile programs of kernels_ref/tile, with arguments to compile them for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from ..resources import resource
from ..tile_ir import Launch, captured
from .kernels import KernelFileError, load_module

DEFAULT_TILE_SIZE = 4096


def _matrix(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float16)


def _moe(module: ModuleType, n: int) -> None:
    import torch

    tokens, experts, hidden, choices = n, 8, n // 2, 2
    ids = torch.arange(tokens * choices).reshape(tokens, choices) % experts
    shapes = ((tokens, n), (experts, 2 * hidden, n), (experts, n, hidden), (tokens, choices))
    x, gate_up, down, weights = (torch.empty(shape, dtype=torch.float16) for shape in shapes)
    module.moe(x, gate_up, down, ids, weights)


TILE_PROGRAMS: Mapping[str, Callable[[ModuleType, int], Any]] = MappingProxyType({
    "gemm": lambda m, n: m.gemm(_matrix(n, n), _matrix(n, n), _matrix(n, n)),
    "persistent_gemm": lambda m, n: m.gemm(_matrix(n, n), _matrix(n, n), _matrix(n, n), sms=132),
    "batched_gemm": lambda m, n: m.batched_gemm(*(_matrix(4, n, n) for _ in range(3))),
    "attention": lambda m, n: m.attention(*(_matrix(4, 16, n, 128) for _ in range(4)), causal=True),
    "moe": _moe,
    "softmax": lambda m, n: m.softmax(_matrix(n, n), _matrix(n, n)),
    "layer_norm": lambda m, n: m.layer_norm(_matrix(n, n), _matrix(n), _matrix(n), _matrix(n, n)),
    "transpose": lambda m, n: m.transpose(_matrix(n, n), _matrix(n, n)),
    "vector_add": lambda m, n: m.add(_matrix(n * n), _matrix(n * n), _matrix(n * n)),
})  # fmt: skip
"""What launches each program at a size: extents of matrices, the length of sequences, the number of tokens."""


def tile_program(name: str, size: int = DEFAULT_TILE_SIZE) -> Launch:
    """The first launch of a program of kernels_ref/tile. Raises `KernelFileError` for a name that is none."""
    if name not in TILE_PROGRAMS:
        raise KernelFileError(f"there is no tile program {name!r}; there are {', '.join(TILE_PROGRAMS)}")
    with captured() as launches:
        TILE_PROGRAMS[name](load_module(resource(f"kernels_ref/tile/{name}.py")), size)
    return launches[0]
