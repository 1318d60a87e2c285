"""PyTorch's "cuda" in host memory."""

from __future__ import annotations

import pytest

from tirx_mini.foreign.torch_on_host import torch_on_host
from tirx_mini.hardware import gpu_spec

pytestmark = pytest.mark.torch


def test_gradients_of_a_normalization_are_added_up_in_float32() -> None:
    torch = pytest.importorskip("torch")
    with torch_on_host(gpu_spec("h100")):
        torch.cuda.set_stream(torch.cuda.Stream())
        torch.manual_seed(0)
        weight, bias = (torch.rand(16, dtype=torch.float16, device="cuda").requires_grad_() for _ in range(2))
        x, dy = (torch.randn(2000, 16, dtype=torch.float16, device="cuda") for _ in range(2))
        y = torch.nn.functional.layer_norm(x, (16,), weight, bias, eps=1e-5)
        y.backward(dy)
    assert y.dtype == torch.float16
    torch.testing.assert_close(bias.grad.double(), dy.double().sum(0), rtol=2**-10, atol=1e-6)
