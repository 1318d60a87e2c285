"""`tvm.topi.nn`: neural-network operators, each composed of one or a few `te.compute`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.script import caller_span

from . import te, topi

Tensor = te.Tensor


def relu(x: Tensor) -> Tensor:
    """Return the maximum of each element and 0."""
    return topi.elementwise(x, lambda value: topi.maximum(value, te.const(0, str(x.dtype))), "T_relu")


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Multiply negative elements by `alpha`."""
    zero, slope = te.const(0, str(x.dtype)), te.const(alpha, str(x.dtype))
    return topi.elementwise(x, lambda value: te.if_then_else(value > zero, value, value * slope), "T_leaky_relu")


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return exp(x) divided by its sum along `axis`, with x shifted by its maximum."""
    dim = axis % x.ndim
    top = topi.max(x, dim, keepdims=True)
    powers = topi.exp(topi.subtract(x, top))
    return topi.divide(powers, topi.sum(powers, dim, keepdims=True))


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return `softmax`."""
    return softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the logarithm of `softmax`."""
    dim = axis % x.ndim
    shifted = topi.subtract(x, topi.max(x, dim, keepdims=True))
    return topi.subtract(shifted, topi.log(topi.sum(topi.exp(shifted), dim, keepdims=True)))


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None, **_: object
) -> Tensor:
    """Return data times the transposed weight, plus the bias."""
    kind = out_dtype or str(data.dtype)
    (rows, depth), columns = data.shape, weight.shape[0]
    k = te.reduce_axis((0, depth), "k")
    product = te.compute(
        (rows, columns), lambda i, j: te.sum(data[i, k].astype(kind) * weight[j, k].astype(kind), axis=k),
        name="T_dense", tag="dense",
    )  # fmt: skip
    return product if bias is None else topi.add(product, bias)


def batch_matmul(
    tensor_a: Tensor, tensor_b: Tensor, oshape: object = None, out_dtype: str | None = None, transpose_a: bool = False,
    transpose_b: bool = True, **_: object,
) -> Tensor:  # fmt: skip
    """Multiply batches of matrices, transposing the second operand by default."""
    return topi.matmul(tensor_a, tensor_b, transpose_a, transpose_b)


def flatten(data: Tensor) -> Tensor:
    """Flatten all dimensions except the first."""
    return topi.reshape(data, (data.shape[0], -1))


def bias_add(data: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    """Add a bias along `axis`."""
    after = data.ndim - axis % data.ndim - 1
    return topi.add(data, topi.expand_dims(bias, 1, after) if after else bias)


def pad(
    data: Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None, pad_value: float = 0.0,
    name: str = "PadInput", attrs: object = None,
) -> Tensor:  # fmt: skip
    """Pad the tensor with `pad_value`."""
    after = list(pad_after or pad_before)
    shape = [n + a + b for n, a, b in zip(data.shape, pad_before, after, strict=True)]
    kind = str(data.dtype)

    def element(*indices: Any) -> Any:
        inside = [i >= a for i, a in zip(indices, pad_before, strict=True) if a]
        bounds = zip(indices, pad_before, data.shape, after, strict=True)
        inside += [i < a + n for i, a, n, b in bounds if b]
        value = data[tuple(i - a for i, a in zip(indices, pad_before, strict=True))]
        return te.if_then_else(te.all(*inside), value, te.const(pad_value, kind)) if inside else value

    return te.compute(shape, element, name=name, tag="injective,pad")


def _pair(value: Any) -> tuple[int, int]:
    first, second = value if isinstance(value, (tuple, list)) else (value, value)
    return int(first), int(second)


def _padding(padding: object, window: Sequence[int]) -> tuple[int, int, int, int]:
    """Return the top, left, bottom and right padding."""
    if padding == "SAME":
        padding = [(extent - 1) // 2 for extent in window]
    if padding == "VALID":
        padding = 0
    if isinstance(padding, (tuple, list)) and len(padding) == 4:
        top, left, bottom, right = padding
        return top, left, bottom, right
    top, left = _pair(padding)
    return top, left, top, left


def conv2d(
    data: Tensor, kernel: Tensor, strides: object = 1, padding: object = 0, dilation: object = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "", out_dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Convolve NCHW images with OIHW weights. Raises `TirxError` for other layouts."""
    if data_layout != "NCHW" or kernel_layout not in ("", "OIHW"):
        hint = "write it with te.compute, or transpose first"
        raise TirxError(f"topi.nn.conv2d of {data_layout} is not provided", caller_span(), hint)
    return conv2d_nchw(data, kernel, strides, padding, dilation, out_dtype)


def conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: object = 1, padding: object = 0, dilation: object = 1,
    out_dtype: str | None = None
) -> Tensor:
    """Convolve NCHW images with OIHW weights."""
    kind = out_dtype or str(Input.dtype)
    (batch, channels, *_), (filters, depth, height, width) = Input.shape, Filter.shape
    if channels != depth:
        raise TirxError(f"topi.nn.conv2d: {channels} channels, and weights for {depth}", caller_span())
    padded, rows, columns, at = _windows(Input, (height, width), stride, padding, dilation)
    rc, ry, rx = (te.reduce_axis((0, n), name) for n, name in ((depth, "rc"), (height, "ry"), (width, "rx")))

    def element(n: object, f: object, y: object, x: object) -> Any:
        value = padded[(n, rc.var, *at(y, x, ry.var, rx.var))].astype(kind)
        return te.sum(value * Filter[f, rc, ry, rx].astype(kind), axis=[rc, ry, rx])

    return te.compute((batch, filters, rows, columns), element, name="conv2d_nchw", tag="conv2d_nchw")


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: object = 1, padding: object = 0, dilation: object = 1,
    out_dtype: str | None = None
) -> Tensor:
    """Convolve each channel with its own weights (channels, multiplier, rows, columns)."""
    kind = out_dtype or str(Input.dtype)
    (batch, channels, *_), (_, many, height, width) = Input.shape, Filter.shape
    padded, rows, columns, at = _windows(Input, (height, width), stride, padding, dilation)
    ry, rx = (te.reduce_axis((0, n), name) for n, name in ((height, "ry"), (width, "rx")))

    def element(n: Any, c: Any, y: Any, x: Any) -> Any:
        value = padded[(n, c // many, *at(y, x, ry.var, rx.var))].astype(kind)
        return te.sum(value * Filter[c // many, c % many, ry, rx].astype(kind), axis=[ry, rx])

    return te.compute((batch, channels * many, rows, columns), element, name="DepthwiseConv2d", tag="depthwise")


def pool2d(
    data: Tensor, kernel: object, stride: object, dilation: object = (1, 1), padding: object = (0, 0, 0, 0),
    pool_type: str = "max",
    ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Pool windows of NCHW images by maximum or average.

    Raises `TirxError` for other layouts, and for options that change the windows at the borders.
    """
    known = pool_type == "max" or (pool_type == "avg" and count_include_pad)
    if layout != "NCHW" or ceil_mode or not known:
        raise TirxError("topi.nn.pool2d with these options is not provided", caller_span(), "write it with te.compute")
    window, kind = _pair(kernel), str(data.dtype)
    empty = te.min_value(kind).value if pool_type == "max" else 0.0  # type: ignore[attr-defined]
    padded, rows, columns, at = _windows(data, window, stride, padding, dilation, empty)
    ry, rx = (te.reduce_axis((0, n), name) for n, name in zip(window, ("rv0", "rv1"), strict=True))
    reducer = te.max if pool_type == "max" else te.sum
    shape = (*data.shape[:2], rows, columns)


    def element(n: object, c: object, y: object, x: object) -> Any:
        return reducer(padded[(n, c, *at(y, x, ry.var, rx.var))], axis=[ry, rx])

    made = te.compute(shape, element, name=f"pool_{pool_type}")
    return made if pool_type == "max" else topi.divide(made, te.const(float(window[0] * window[1]), kind))


def _windows(
    data: Tensor, window: Sequence[int], stride: object, padding: object, dilation: object, empty: float = 0.0
) -> tuple[Tensor, int, int, Any]:
    """Return the padded images, the number of window rows and columns, and the indexing function of window elements."""
    (sy, sx), (dy, dx) = _pair(stride), _pair(dilation)
    tall, wide = (window[0] - 1) * dy + 1, (window[1] - 1) * dx + 1
    top, left, bottom, right = _padding(padding, (tall, wide))
    padded = data
    if top or left or bottom or right:
        padded = pad(data, (0, 0, top, left), (0, 0, bottom, right), empty, name="pad_temp")
    rows, columns = (padded.shape[2] - tall) // sy + 1, (padded.shape[3] - wide) // sx + 1
    return padded, rows, columns, lambda y, x, ry, rx: (y * sy + ry * dy, x * sx + rx * dx)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise TirxError(f"topi.nn.{name} is not provided", caller_span(), "write the operator with te.compute")
