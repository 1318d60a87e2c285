nv_tileaa.module @gemm {
  func @gemm(%a: ptr<f16>, %b: ptr<f16>, %c: ptr<f16>, %k: i32) {kernel_spec = <sm_90 = {num_cta_in_cga = 2}>} {
    %x, %y, %z = get_program_id : i32
    %a_ref = make_memref %a : ptr<f16> -> memref<256x256xf16, strides=[256,1]>
    %b_ref = make_memref %b, shape (%k : i32), strides (%k : i32) : ptr<f16> -> memref<?x256xf16, strides=[1,?]>
    %c_ref = make_memref %c : ptr<f16> -> memref<256x256xf16, strides=[256,1]>
    %a_tiles = block_tile %a_ref : memref<256x256xf16, strides=[256,1]> -> btile<tile=(128x64), padding=zero, memref<256x256xf16, strides=[256,1]>>
    %b_tiles = block_tile %b_ref : memref<?x256xf16, strides=[1,?]> -> btile<tile=(64x128), order=[1,0], memref<?x256xf16, strides=[1,?]>>
    %c_tiles = block_tile %c_ref : memref<256x256xf16, strides=[256,1]> -> btile<tile=(128x128), memref<256x256xf16, strides=[256,1]>>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %first = arith.constant 0 : i32
    %step = arith.constant 1 : i32
    %token = create_mem_token : mem_token
    %acc = scf.for %i = %first to %k step %step iter_args(%sum = %zero) -> (tensor<128x128xf32>) : i32 {num_stages = 3} {
      %0, %1 = tiled_load %a_tiles [%x, %i] token = %token {latency = 4} : btile<tile=(128x64), padding=zero, memref<256x256xf16, strides=[256,1]>>, i32, i32 -> tensor<128x64xf16>, mem_token
      %2, %3 = tiled_load %b_tiles [%i, %y] {in_bounds = [false, true]} : btile<tile=(64x128), order=[1,0], memref<?x256xf16, strides=[1,?]>>, i32, i32 -> tensor<64x128xf16>, mem_token
      %4 = dot %0, %2, %sum : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
      scf.yield %4 : tensor<128x128xf32>
    }
    %rows = reduce %acc {dim = 1, identities = [0.0 : f32], combine = add} : tensor<128x128xf32> -> tensor<128xf32> {
    ^(%element: f32, %before: f32):
      %5 = arith.addf %element, %before : f32
      yield %5 : f32
    }
    %bits = arith.fptosi %rows : tensor<128xf32> to tensor<128xi32>
    %positive = arith.cmpi sgt, %bits, %bits : tensor<128xi32>
    %chosen = arith.select %positive, %rows, %rows : tensor<128xi1>, tensor<128xf32>
    %last, %count = scf.while (%w = %first, %v = %k) : (i32, i32) -> (i32, i32) {
      %6 = arith.cmpi slt, %w, %v : i32
      scf.condition (%6) %w, %v : i32, i32
    } do {
    ^(%w2: i32, %v2: i32):
      %7 = arith.addi %w2, %step {overflow = overflow<no_wrap>} : i32
      scf.yield %7, %v2 : i32, i32
    }
    %result = fp_to_fp %acc : tensor<128x128xf32> -> tensor<128x128xf16>
    %done = tiled_store %result, %c_tiles [%x, %y] token = %token : tensor<128x128xf16>, btile<tile=(128x128), memref<256x256xf16, strides=[256,1]>>, i32, i32 -> mem_token
    return
  }
}
