cuda_tile.module @every_op {
  global @table alignment = 16 <f32: [1.0, 2.0]> : tile<2xf32>
  entry @floats(%h: tile<f16>) optimization_hints=<sm_90 = {num_cta_in_cga = 2}, sm_100 = {occupancy = 1}> {
    %a = constant <f32: [1.0, 2.0, -3.5, 0.0]> : tile<4xf32>
    %b = constant <f32: 0.1> : tile<4xf32>
    %0 = absf %a : tile<4xf32>
    %1 = negf %0 : tile<4xf32>
    %2 = addf %0, %1 : tile<4xf32>
    %3 = subf %2, %b rounding<zero> flush_to_zero : tile<4xf32>
    %4 = mulf %3, %b rounding<positive_inf> : tile<4xf32>
    %5 = divf %4, %b rounding<approx> flush_to_zero : tile<4xf32>
    %6 = remf %5, %b : tile<4xf32>
    %7 = maxf %6, %b flush_to_zero propagate_nan : tile<4xf32>
    %8 = minf %7, %b : tile<4xf32>
    %9 = fma %8, %b, %a rounding<negative_inf> : tile<4xf32>
    %10 = sqrt %9 : tile<4xf32>
    %11 = rsqrt %10 flush_to_zero : tile<4xf32>
    %12 = exp %11 : tile<4xf32>
    %13 = exp2 %12 flush_to_zero : tile<4xf32>
    %14 = log %13 : tile<4xf32>
    %15 = log2 %14 : tile<4xf32>
    %16 = pow %15, %b : tile<4xf32>
    %17 = sin %16 : tile<4xf32>
    %18 = cos %17 : tile<4xf32>
    %19 = tan %18 : tile<4xf32>
    %20 = sinh %19 : tile<4xf32>
    %21 = cosh %20 : tile<4xf32>
    %22 = tanh %21 : tile<4xf32>
    %23 = atan2 %22, %b : tile<4xf32>
    %24 = ceil %23 : tile<4xf32>
    %25 = floor %24 : tile<4xf32>
    %26 = cmpf less_than_or_equal unordered %25, %b : tile<4xf32> -> tile<4xi1>
    %27 = ftoi %25 signed : tile<4xf32> -> tile<4xi32>
    %28 = fpowi %25, %27 : tile<4xf32>, tile<4xi32>
    %29 = ftof %28 rounding<nearest_away> : tile<4xf32> -> tile<4xtf32>
    %30 = bitcast %28 : tile<4xf32> -> tile<4xi32>
    %31 = select %26, %28, %25 : tile<4xi1>, tile<4xf32>
    %32 = constant <f16: 0x7C00> : tile<f16>
    %33 = addf %h, %32 : tile<f16>
    return
  }
  entry @integers() {
    %a = constant <i32: -5> : tile<2x4xi32>
    %b = constant <i32: 3> : tile<2x4xi32>
    %0 = absi %a : tile<2x4xi32>
    %1 = negi %0 overflow<no_signed_wrap> : tile<2x4xi32>
    %2 = addi %1, %b : tile<2x4xi32>
    %3 = subi %2, %b overflow<no_wrap> : tile<2x4xi32>
    %4 = muli %3, %b overflow<no_unsigned_wrap> : tile<2x4xi32>
    %5 = mulhii %4, %b : tile<2x4xi32>
    %6 = divi %5, %b signed : tile<2x4xi32>
    %7 = divi %6, %b signed rounding<negative_inf> : tile<2x4xi32>
    %8 = remi %7, %b unsigned : tile<2x4xi32>
    %9 = maxi %8, %b signed : tile<2x4xi32>
    %10 = mini %9, %b unsigned : tile<2x4xi32>
    %11 = andi %10, %b : tile<2x4xi32>
    %12 = ori %11, %b : tile<2x4xi32>
    %13 = xori %12, %b : tile<2x4xi32>
    %14 = shli %13, %b : tile<2x4xi32>
    %15 = shri %14, %b signed : tile<2x4xi32>
    %16 = cmpi greater_than %15, %b, unsigned : tile<2x4xi32> -> tile<2x4xi1>
    %17 = exti %15 signed : tile<2x4xi32> -> tile<2x4xi64>
    %18 = trunci %17 overflow<no_signed_wrap> : tile<2x4xi64> -> tile<2x4xi8>
    %19 = itof %18 signed : tile<2x4xi8> -> tile<2x4xf16>
    %20 = int_to_ptr %17 : tile<2x4xi64> -> tile<2x4xptr<f16>>
    %21 = ptr_to_ptr %20 : tile<2x4xptr<f16>> -> tile<2x4xptr<i16>>
    %22 = ptr_to_int %21 : tile<2x4xptr<i16>> -> tile<2x4xi64>
    return
  }
  entry @core(%p: tile<ptr<f32>>) {
    %t = constant <f16: 1.0> : tile<4x8xf16>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
    %0 = permute %t [1, 0] : tile<4x8xf16> -> tile<8x4xf16>
    %1 = reshape %0 : tile<8x4xf16> -> tile<2x16xf16>
    %2 = extract %1[%x, %y] : tile<2x16xf16> -> tile<1x16xf16>
    %3 = broadcast %2 : tile<1x16xf16> -> tile<2x16xf16>
    %4 = cat %1, %3 dim = 0 : tile<2x16xf16>, tile<2x16xf16> -> tile<4x16xf16>
    %5 = insert %2, %1[%x, %y] : tile<1x16xf16>, tile<2x16xf16>
    %6 = iota : tile<16xi32>
    %7 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %8 = broadcast %7 : tile<1xptr<f32>> -> tile<16xptr<f32>>
    %9 = offset %8, %6 : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
    %10 = assume div_by<16, every 4 along 0>, %6 : tile<16xi32>
    %11 = assume bounded<0, ?>, %10 : tile<16xi32>
    %12 = assume same_elements<[4]>, %11 : tile<16xi32>
    %13 = get_global @table : tile<ptr<f32>>
    %14 = constant <i1: [true, false]> : tile<2xi1>
    assert %14, "a \"flag\"" : tile<2xi1>
    %15 = constant <i32: [[1, -2], [3, 4]]> : tile<2x2xi32>
    %16 = print_tko "x = %d\n", %x : tile<i32> -> token
    %17 = print_tko "done" token = %16 -> token
    %18 = constant <bf16: 1.50204e-05> : tile<8xbf16>
    return
  }
  entry @memory(%base: tile<ptr<i32>>) {
    %row = reshape %base : tile<ptr<i32>> -> tile<1xptr<i32>>
    %p = broadcast %row : tile<1xptr<i32>> -> tile<8xptr<i32>>
    %m = constant <i1: true> : tile<8xi1>
    %v = iota : tile<8xi32>
    %0 = make_token : token
    %1, %2 = load_ptr_tko weak %p : tile<8xptr<i32>> -> tile<8xi32>, token
    %3, %4 = load_ptr_tko acquire device %p, %m, %v token = %0 optimization_hints = <sm_90 = {latency = 4}> : tile<8xptr<i32>>, tile<8xi1>, tile<8xi32> -> tile<8xi32>, token
    %5 = store_ptr_tko weak %p, %v, %m token = %4 : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
    %6 = join_tokens %2, %5 : token
    %7, %8 = atomic_rmw_tko relaxed device %p, add, %v, %m token = %6 : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> tile<8xi32>, token
    %9, %10 = atomic_cas_tko acq_rel sys %p, %v, %7 token = %8 : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
    %11 = gdc_wait_tko token = %10 -> token
    %12 = memory_fence_alias_tko token = %11 -> token
    %13 = gdc_launch_dependents_tko -> token
    return
  }
  entry @views(%p: tile<ptr<f16>>, %n: tile<i32>) {
    %rows = iota : tile<4xi32>
    %0 = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
    %1 = make_partition_view %0 : partition_view<tile=(16x32), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>
    %2 = make_strided_view %0 : strided_view<tile=(16x32), traversal_strides=[8,32], tensor_view<?x64xf16, strides=[64,1]>, dim_map=[1,0]>
    %3 = make_gather_scatter_view %0 : gather_scatter_view<tile=(4x32), padding_value = neg_inf, tensor_view<?x64xf16, strides=[64,1]>, sparse_dim=0>
    %4, %5 = get_tensor_shape %0 : tensor_view<?x64xf16, strides=[64,1]> -> tile<i64>
    %6, %7 = get_index_space_shape %1 : partition_view<tile=(16x32), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>> -> tile<i32>
    %8, %9 = load_view_tko weak %1[%n, %n] : partition_view<tile=(16x32), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> tile<16x32xf16>, token
    %10, %11 = load_view_tko relaxed device %3[%rows, %n] token = %9 : gather_scatter_view<tile=(4x32), padding_value = neg_inf, tensor_view<?x64xf16, strides=[64,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> tile<4x32xf16>, token
    %12 = store_view_tko weak %8, %2[%n, %n] token = %11 optimization_hints = <sm_100 = {allow_tma = false}> : tile<16x32xf16>, strided_view<tile=(16x32), traversal_strides=[8,32], tensor_view<?x64xf16, strides=[64,1]>, dim_map=[1,0]>, tile<i32> -> token
    %13 = atomic_red_view_tko relaxed device %1[%n, %n], addf, %8 token = %12 : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>, tile<i32> -> token
    return
  }
  entry @products() {
    %a = constant <f16: 1.0> : tile<4x8xf16>
    %b = constant <f16: 2.0> : tile<8x16xf16>
    %c = constant <f32: 0.0> : tile<4x16xf32>
    %i = constant <i8: 1> : tile<2x4x8xi8>
    %j = constant <i8: -1> : tile<2x8x4xi8>
    %k = constant <i32: 0> : tile<2x4x4xi32>
    %0 = mmaf %a, %b, %c : tile<4x8xf16>, tile<8x16xf16>, tile<4x16xf32>
    %1 = mmai %i, %j, %k signed unsigned : tile<2x4x8xi8>, tile<2x8x4xi8>, tile<2x4x4xi32>
    return
  }
  entry @control(%n: tile<i32>, %c: tile<i1>) {
    %x = constant <f32: 1.0> : tile<8x16xf32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %sum, %last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %x, %t = %zero) -> (tile<8x16xf32>, tile<i32>) {
      if %c {
        continue %s, %i : tile<8x16xf32>, tile<i32>
      }
      %more = addf %s, %x : tile<8x16xf32>
      continue %more, %i : tile<8x16xf32>, tile<i32>
    }
    for unsigned %i_1 in (%zero to %n, step %one) : tile<i32> {
      continue
    }
    %found = loop iter_values(%k = %zero) : tile<i32> -> tile<f32> {
      %done = cmpi greater_than_or_equal %k, %n, signed : tile<i32> -> tile<i1>
      if %done {
        %f = itof %k signed : tile<i32> -> tile<f32>
        break %f : tile<f32>
      }
      %k2 = addi %k, %one : tile<i32>
      continue %k2 : tile<i32>
    }
    loop {
      break
    }
    %u, %v = if %c -> (tile<i32>, tile<f32>) {
      yield %one, %found : tile<i32>, tile<f32>
    } else {
      yield %zero, %found : tile<i32>, tile<f32>
    }
    %row = reduce %sum dim=1 identities=[0.0 : f32] : tile<8x16xf32> -> tile<8xf32> (%a: tile<f32>, %b: tile<f32>) {
      %ab = addf %a, %b : tile<f32>
      yield %ab : tile<f32>
    }
    %prefix = scan %row dim=0 reverse=true identities=[1.0 : f32] : tile<8xf32> -> tile<8xf32> (%a_1: tile<f32>, %b_1: tile<f32>) {
      %p = mulf %a_1, %b_1 : tile<f32>
      yield %p : tile<f32>
    }
    return
  }
}
