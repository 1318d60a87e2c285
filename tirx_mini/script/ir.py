"""Modules of kernels, as imported by kernels: ``from tirx_mini.script import ir as I``, ``@I.ir_module``."""

from tirx_mini.ir import GlobalVar, IRModule

from .kernels import ir_module

__all__ = ["GlobalVar", "IRModule", "ir_module"]
