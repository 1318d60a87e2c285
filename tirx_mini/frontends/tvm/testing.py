"""`tvm.testing`: comparisons, markers and fixtures for kernel tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tirx_mini.hardware import compute_capability
from tirx_mini.ir import DataType
from tirx_mini.runtime import device_arch
from tirx_mini.sim import numpy_dtype

from . import testing_env as env
from .host import Device, Tensor, cuda

__all__ = [
    "assert_allclose",
    "device_enabled",
    "enabled_targets",
    "env",
    "fixture",
    "generate_random_array",
    "is_ampere_or_newer",
    "main",
    "np_dtype_from_str",
    "parameter",
    "parametrize_targets",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_gpu",
    "run_with_gpu_lock",
    "strtobool",
]


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.array
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def assert_allclose(
    actual: object, desired: object, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """Raise `AssertionError` if two arrays, tensors or numbers differ in shape or beyond the tolerances."""
    actual, desired = _array(actual), _array(desired)
    assert actual.shape == desired.shape, f"the shapes are {actual.shape} and {desired.shape}"
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def main() -> None:
    """Run the tests of the calling file, and exit."""
    import pytest

    sys.exit(pytest.main([sys.argv[0], *sys.argv[1:]]))


def parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """Return a fixture that runs each test with each of the values."""
    import pytest

    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    def value(request: pytest.FixtureRequest) -> Any:
        return request.param

    return pytest.fixture(params=values, ids=ids)(value)


def fixture(func: Callable[..., object] | None = None, *, cache_return_value: bool = False) -> Any:
    """Return a pytest fixture."""
    import pytest

    made = pytest.fixture(scope="session" if cache_return_value else "function")
    return made if func is None else made(func)


def parametrize_targets(*targets: object) -> Any:
    """Run a test for each target with arguments `target` and `dev`, by default for "cuda"."""
    import pytest

    function = targets[0] if targets and callable(targets[0]) else None
    names = ("cuda",) if function is not None or not targets else targets
    mark = pytest.mark.parametrize(("target", "dev"), [(name, cuda(0)) for name in names])
    return mark(function) if function is not None else mark


def requires_cuda_compute_version(major: int, minor: int = 0, exact: bool = False) -> Any:
    """Skip a test unless the local GPU or the simulator has the compute capability."""
    import pytest

    has = env.has_cuda_compute(major, minor, exact)
    return pytest.mark.skipif(not has, reason=f"no GPU of compute capability {major}.{minor} is here or simulated")


def _always(function: object = None, *_: object, **__: object) -> object:
    """Return the test unchanged: the requirement always holds, because a GPU is simulated if absent."""
    return function if callable(function) else (lambda inner: inner)


requires_cuda = requires_gpu = _always


def device_enabled(target: object) -> bool:
    """Return whether kernels for the target can run here."""
    return str(getattr(target, "kind", target)).split()[0] in ("cuda", "sim")


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets of tests, each with a device."""
    return [("cuda", cuda(0))]


def is_ampere_or_newer() -> bool:
    return compute_capability(device_arch() or "sm_100a") >= 80


def np_dtype_from_str(dtype: str) -> np.dtype:
    """Return the NumPy dtype of a name; dtypes of at most eight bits come from ml_dtypes."""
    return np.dtype(numpy_dtype(DataType(dtype)))


def generate_random_array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return random values: small integers for integer dtypes, else normally distributed."""
    rng, kind = np.random.default_rng(), np_dtype_from_str(dtype)
    if kind.kind in "iub":
        return rng.integers(0, 2 if kind.kind == "b" else 10, shape).astype(kind)
    return rng.standard_normal(shape).astype(np.float32).astype(kind)


def run_with_gpu_lock(function: Callable[..., object], *args: object, **kwargs: object) -> Any:
    """Call the function without a lock, which the simulator does not need."""
    return function(*args, **kwargs)


def strtobool(val: str) -> bool:
    """Parse a truth value such as "yes" or "0"."""
    if val.lower() in ("y", "yes", "t", "true", "on", "1"):
        return True
    if val.lower() in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"{val!r} is not a truth value")
