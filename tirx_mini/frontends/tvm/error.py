"""`tvm.error`: TVM's exception names, for tests that refer to them. Every error in a kernel is an instance of one of
these classes."""

from __future__ import annotations

from tirx_mini.ir import TirxError

__all__ = ["DiagnosticError", "InternalError", "OpError", "TVMError"]

DiagnosticError = InternalError = OpError = TVMError = TirxError
