"""`kernel.get_profiler()`: timing, and comparison with a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np

from tirx_mini.ir import Buffer, DataType, Var, int_value
from tirx_mini.pytorch import pytorch, pytorch_or_none


class TensorSupplyType(Enum):
    """The contents of the tensors used in a measurement."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


class Kernel(Protocol):
    """A kernel that can be measured."""

    out_idx: list[int]

    @property
    def params(self) -> list[Buffer | Var]: ...
    @property
    def is_simulated(self) -> bool: ...
    @property
    def is_symbolic(self) -> bool: ...
    def predicted_ms(self) -> float | None: ...
    def timed_ms(self, args: Sequence[object]) -> float: ...
    def __call__(self, *args: object) -> Any: ...


class Profiler:
    """Measures a kernel on generated tensors.

    kernel: the kernel.
    supply: the contents of the tensors: by default small whole numbers for integers, else normal numbers.
    """

    def __init__(self, kernel: Kernel, supply: object = None) -> None:
        self.kernel = kernel
        self.supply = supply if isinstance(supply, TensorSupplyType) else TensorSupplyType.Auto

    def inputs(self) -> list[Any]:
        """Return tensors for the kernel's arguments, or NumPy arrays if it is simulated without PyTorch."""
        simulated = self.kernel.is_simulated
        torch = pytorch_or_none() if simulated else pytorch("a measurement on a GPU")
        device = "cpu" if simulated else "cuda"
        made: list[Any] = []
        for number, param in enumerate(self.kernel.params):
            if number in self.kernel.out_idx:
                continue
            if not isinstance(param, Buffer):
                raise ValueError(f"the profiler makes tensors, but {param.name} is a number: pass input_tensors=")
            shape = [int_value(extent) if not isinstance(extent, int) else extent for extent in param.shape]
            if any(extent is None for extent in shape):
                raise ValueError(f"{param.name} has symbolic extents: pass input_tensors=")
            if torch is None:
                made.append(self._array(tuple(shape), param.dtype))
            else:
                made.append(self._tensor(torch, tuple(shape), getattr(torch, str(param.dtype)), device))
        return made

    def _array(self, shape: tuple[Any, ...], of: DataType) -> np.ndarray:
        """Return a NumPy array with random contents, as `_tensor`."""
        from tirx_mini.sim import numpy_dtype  # a program that is only compiled does not wait for its import

        kind, dtype = self.supply, numpy_dtype(of)
        if kind is TensorSupplyType.Zero:
            return np.zeros(shape, dtype)
        if kind is TensorSupplyType.One:
            return np.ones(shape, dtype)
        if dtype.kind in "biu" or kind is TensorSupplyType.Integer:
            low, high = {"b": (0, 2), "u": (0, 4)}.get(dtype.kind, (-2, 3))
            return np.random.randint(low, high, shape).astype(dtype)
        if kind is TensorSupplyType.Uniform:
            return np.random.uniform(-1, 1, shape).astype(dtype)
        return np.random.standard_normal(shape).astype(dtype)

    def _tensor(self, torch: Any, shape: tuple[Any, ...], dtype: Any, device: str) -> object:
        kind = self.supply
        if kind is TensorSupplyType.Zero:
            return torch.zeros(shape, dtype=dtype, device=device)
        if kind is TensorSupplyType.One:
            return torch.ones(shape, dtype=dtype, device=device)
        if not dtype.is_floating_point or kind is TensorSupplyType.Integer:
            low, high = (0, 2) if dtype == torch.bool else (-2, 3) if dtype.is_signed else (0, 4)
            return torch.randint(low, high, shape, device=device).to(dtype)
        if kind is TensorSupplyType.Uniform:
            return (torch.rand(shape, device=device) * 2 - 1).to(dtype)
        return torch.randn(shape, device=device).to(dtype)

    def __call__(self, *args: object) -> Any:
        return self.kernel(*args)

    def run_once(self, func: Callable[..., object] | None = None) -> Any:
        """Execute the kernel, or another function, on generated tensors."""
        return (func or self.kernel)(*self.inputs())

    def assert_allclose(
        self,
        reference_program: Callable[..., object],
        input_tensors: Sequence[object] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Compare the kernel with a function of the same arguments.

        max_mismatched_ratio: the share of elements that may differ by more. Raises `AssertionError` beyond it.
        """
        given = list(input_tensors) if input_tensors is not None else self.inputs()
        wanted, found = _listed(reference_program(*given)), _listed(self.kernel(*given))
        if not found:  # the outputs are among the arguments
            return
        if len(wanted) != len(found):
            raise AssertionError(f"the reference returns {len(wanted)} tensors, but the kernel {len(found)}")
        for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
            share, worst = difference(a, b, rtol, atol)
            if share > max_mismatched_ratio:
                raise AssertionError(
                    f"output {number}: {share:.2%} of the elements differ by more than atol={atol}, rtol={rtol}; the "
                    f"largest difference is {worst:g}"
                )

    def assert_consistent(self, repeat: int = 10) -> None:
        """Execute the kernel several times and compare the results."""
        given = self.inputs()
        first = _listed(self.kernel(*given))
        for _ in range(1 if self.kernel.is_simulated else repeat):
            for a, b in zip(first, _listed(self.kernel(*given)), strict=True):
                assert (a == b).all(), "two executions differ"

    def do_bench(
        self,
        func: Callable[..., object] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 1,
        n_repeat: int = 1,
        input_tensors: Sequence[object] | None = None,
        **options: object,
    ) -> float:
        """Return the kernel's time in milliseconds: predicted in the simulator, else the median over launches.

        func: another function to time on a GPU; in the simulator, 0 is its time.
        """
        if self.kernel.is_simulated:
            return self._predicted(input_tensors) if func is None or func is self.kernel else 0.0
        import torch

        given = list(input_tensors) if input_tensors is not None else self.inputs()
        call = func or self.kernel
        call(*given)
        times = []
        for _ in range(30):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call(*given)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        return sorted(times)[len(times) // 2]

    def _predicted(self, given: Sequence[object] | None) -> float:
        """Predict the time on the simulated GPU, without data unless control flow or sizes depend on it."""
        if given is None or not self.kernel.is_symbolic:
            predicted = self.kernel.predicted_ms()
            if predicted is not None:
                return predicted
        return self.kernel.timed_ms(self.inputs() if given is None else given)


def difference(found: object, wanted: object, rtol: float, atol: float) -> tuple[float, float]:
    """Return the fraction of elements outside the tolerance, and the largest difference."""
    a, b = _single(found), _single(wanted)
    close = np.isclose(a, b, rtol=rtol, atol=atol)
    return 1 - float(close.mean()), float(np.abs(a - b).max(initial=0))


def _single(value: Any) -> np.ndarray:
    """Return the values in host memory as float32."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) else value.detach().float().cpu().numpy()


def _listed(value: object) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (tuple, list)) else [value]
