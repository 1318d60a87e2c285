"""Programs in the text of Tile IR, with arguments: what tests run at every level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, verify


@dataclass(frozen=True)
class Program:
    """A kernel @k, arguments of one launch, and its grid."""

    params: str
    body: str
    args: Sequence[Any] = ()
    grid: tuple[int, ...] = (1,)

    @property
    def module(self) -> Module:
        text = f"cuda_tile.module @m {{ entry @k({self.params}) {{ {self.body} return }} }}"
        return verify(parse_module(text, [CUDA_TILE]))


VIEW = """
  %{0}v = make_tensor_view %{0}, shape = [{1}], strides = [{2}] : tensor_view<{3}x{4}, strides=[{2}]>
  %{0}p = make_partition_view %{0}v : partition_view<tile=({5}){6}, tensor_view<{3}x{4}, strides=[{2}]>>
"""


def view(name: str, array: np.ndarray, element: str, tile: tuple[int, ...], padding: str = "") -> tuple[str, str]:
    """The operations that make the views %NAMEv and %NAMEp of an array, and the type of the second."""
    dims, steps = "x".join(map(str, array.shape)), [s // array.itemsize for s in array.strides]
    strides, shape = ",".join(map(str, steps)), ", ".join(map(str, array.shape))
    pad = f", padding_value = {padding}" if padding else ""
    text = VIEW.format(name, shape, strides, dims, element, "x".join(map(str, tile)), pad)
    size = "x".join(map(str, tile))
    return text, f"partition_view<tile=({size}){pad}, tensor_view<{dims}x{element}, strides=[{strides}]>>"


def transpose(shape: tuple[int, int]) -> Program:
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    b = np.zeros(shape[::-1], np.float32)
    (make_a, type_a), (make_b, type_b) = view("a", a, "f32", (32, 16)), view("b", b, "f32", (16, 32))
    body = f"""{make_a} {make_b}
      %x, %y, %z = get_tile_block_id : tile<i32>
      %t, %token = load_view_tko weak %ap[%x, %y] : {type_a}, tile<i32> -> tile<32x16xf32>, token
      %u = permute %t [1, 0] : tile<32x16xf32> -> tile<16x32xf32>
      %done = store_view_tko weak %u, %bp[%y, %x] : tile<16x32xf32>, {type_b}, tile<i32> -> token"""
    return Program("%a: tile<ptr<f32>>, %b: tile<ptr<f32>>", body, [a, b], (-(-shape[0] // 32), -(-shape[1] // 16)))


def product(element: str, dtype: Any) -> Program:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, s).astype(dtype) for s in ((48, 40), (40, 24)))
    c = np.zeros((48, 24), np.float32)
    views = [
        view("a", a, element, (32, 16), "zero"),
        view("b", b, element, (16, 8), "zero"),
        view("c", c, "f32", (32, 8)),
    ]
    body = f"""{"".join(text for text, _ in views)}
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %m, %n = get_index_space_shape %ap : {views[0][1]} -> tile<i32>
      %none = constant <f32: 0.0> : tile<32x8xf32>
      %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<32x8xf32>) {{
        %s, %t0 = load_view_tko weak %ap[%x, %i] : {views[0][1]}, tile<i32> -> tile<32x16x{element}>, token
        %t, %t1 = load_view_tko weak %bp[%i, %y] : {views[1][1]}, tile<i32> -> tile<16x8x{element}>, token
        %more = mmaf %s, %t, %acc : tile<32x16x{element}>, tile<16x8x{element}>, tile<32x8xf32>
        continue %more : tile<32x8xf32>
      }}
      %done = store_view_tko weak %sum, %cp[%x, %y] : tile<32x8xf32>, {views[2][1]}, tile<i32> -> token"""
    params = f"%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<f32>>"
    return Program(params, body, [a, b, c], (2, 3))


POINTERS = """
  %one = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %all = broadcast %one : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %i = iota : tile<8xi32>
  %ptrs = offset %all, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %n = constant <i32: 5> : tile<8xi32>
  %mask = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
"""


def masked() -> Program:
    a = np.arange(5, dtype=np.int32) * 10
    body = f"""{POINTERS}
      %pad = constant <i32: 7> : tile<8xi32>
      %v, %t = load_ptr_tko weak %ptrs, %mask, %pad : tile<8xptr<i32>>, tile<8xi1>, tile<8xi32> -> tile<8xi32>, token
      %q = print_tko "%d", %v token = %t : tile<8xi32> -> token
      %w = addi %v, %i : tile<8xi32>
      %d = store_ptr_tko weak %ptrs, %w, %mask token = %q : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token"""
    return Program("%p: tile<ptr<i32>>", body, [a])


def wild() -> Program:
    body = f"{POINTERS} %v, %t = load_ptr_tko weak %ptrs : tile<8xptr<i32>> -> tile<8xi32>, token"
    return Program("%p: tile<ptr<i32>>", body, [np.zeros(5, np.int32)])


def atomics() -> Program:
    a = np.zeros(8, np.int32)
    body = f"""{POINTERS}
      %zero = constant <i32: 0> : tile<8xi32>
      %same = offset %all, %zero : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
      %old, %t = atomic_rmw_tko relaxed device %same, add, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
      %q = print_tko "%d", %old : tile<8xi32> -> token
      %won, %u = atomic_cas_tko relaxed device %ptrs, %zero, %n : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token"""
    return Program("%p: tile<ptr<i32>>", body, [a])


def reductions() -> Program:
    body = """
      %x = constant <f32: [3.0, 9.0, 2.0, 9.0]> : tile<4xf32>
      %i = iota : tile<4xi32>
      %best, %at = reduce %x, %i dim=0 identities=[-1.0e30 : f32, 0 : i32]
        : tile<4xf32>, tile<4xi32> -> tile<f32>, tile<i32>
        (%a: tile<f32>, %b: tile<f32>, %j: tile<i32>, %k: tile<i32>) {
        %more = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
        %v = select %more, %a, %b : tile<i1>, tile<f32>
        %w = select %more, %j, %k : tile<i1>, tile<i32>
        yield %v, %w : tile<f32>, tile<i32>
      }
      %sums = scan %x dim=0 reverse=true identities=[0.0 : f32] : tile<4xf32> -> tile<4xf32>
        (%e: tile<f32>, %f: tile<f32>) {
        %ef = addf %e, %f : tile<f32>
        yield %ef : tile<f32>
      }
      %q = print_tko "%.0f at %d; %.0f", %best, %at, %sums : tile<f32>, tile<i32>, tile<4xf32> -> token"""
    return Program("", body)


def search(n: int) -> Program:
    body = """
      %zero = constant <i32: 0> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      %found = loop iter_values(%k = %n) : tile<i32> -> tile<i32> {
        %rest = remi %k, %three signed : tile<i32>
        %done = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
        if %done {
          break %k : tile<i32>
        }
        %one = constant <i32: 1> : tile<i32>
        %next = addi %k, %one : tile<i32>
        continue %next : tile<i32>
      }
      %q = print_tko "%i", %found : tile<i32> -> token"""
    return Program("%n: tile<i32>", body, [n])


def rows() -> Program:
    a = np.arange(40, dtype=np.float32).reshape(8, 5)
    rows = "gather_scatter_view<tile=(4x2), padding_value = neg_inf, tensor_view<8x5xf32, strides=[5,1]>, sparse_dim=0>"
    body = f"""
      %v = make_tensor_view %p, shape = [8, 5], strides = [5, 1] : tensor_view<8x5xf32, strides=[5,1]>
      %g = make_gather_scatter_view %v : {rows}
      %i = constant <i32: [6, 0, 9, 0]> : tile<4xi32>
      %c = constant <i32: 4> : tile<i32>
      %t, %u = load_view_tko weak %g[%i, %c] : {rows}, tile<4xi32>, tile<i32> -> tile<4x2xf32>, token
      %q = print_tko "%.0f", %t : tile<4x2xf32> -> token"""
    return Program("%p: tile<ptr<f32>>", body, [a])


def early_exits(n: int) -> Program:
    """Branches that leave loops and the kernel, nested, with values of several types."""
    body = """
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %ten = constant <i32: 10> : tile<i32>
      %negative = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
      if %negative {
        %t = print_tko "negative" -> token
        return
      }
      %ones = constant <f32: 1.0> : tile<4xf32>
      %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %ones) -> (tile<4xf32>) {
        %odd = remi %i, %two signed : tile<i32>
        %is_odd = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
        if %is_odd {
          continue %s : tile<4xf32>
        }
        %more = addf %s, %ones : tile<4xf32>
        continue %more : tile<4xf32>
      }
      %count, %last = loop iter_values(%k = %zero, %x = %sum) : tile<i32>, tile<4xf32> -> tile<f32>, tile<i32> {
        %big = cmpi greater_than %k, %ten, signed : tile<i32> -> tile<i1>
        %y = addf %x, %x : tile<4xf32>
        %k1 = addi %k, %one : tile<i32>
        %size = reduce %y dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {
          %ab = addf %a, %b : tile<f32>
          yield %ab : tile<f32>
        }
        if %big {
          break %size, %k : tile<f32>, tile<i32>
        } else {
          %even = remi %k, %two signed : tile<i32>
          %is_even = cmpi equal %even, %zero, signed : tile<i32> -> tile<i1>
          if %is_even {
            %limit = constant <f32: 1000.0> : tile<f32>
            %enough = cmpf greater_than ordered %size, %limit : tile<f32> -> tile<i1>
            if %enough {
              break %limit, %one : tile<f32>, tile<i32>
            }
            continue %k1, %x : tile<i32>, tile<4xf32>
          }
        }
        continue %k1, %y : tile<i32>, tile<4xf32>
      }
      %q = print_tko "%g %i", %count, %last : tile<f32>, tile<i32> -> token"""
    return Program("%n: tile<i32>", body, [n])
