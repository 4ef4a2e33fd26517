// Approximate instructions are off by what is documented, from the first seed
// on; with none, results are rounded to nearest. A kernel that needs more than
// is promised is right with no seed and wrong with one.
// RUN: tp-check-kernels %s --seeds=1 | FileCheck %s --check-prefix=NEAREST
// RUN: not tp-check-kernels %s --seeds=3 | FileCheck %s

// NEAREST: content: right
// NEAREST: demanding: right
// CHECK: content: right
// CHECK: demanding: WRONG
// CHECK-NEXT: demanding: result 0, element [{{[0-9]+}}]: expected {{-?0}}, got {{.*}} (rank 0, seed {{[12]}})

gpu.module @kernels {
  gpu.func @content(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 32, 1, 1>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %yt = llvm.getelementptr %y[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %xt : !llvm.ptr -> f32
    %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%v) : (f32) -> f32
    llvm.store %e, %yt : f32, !llvm.ptr
    gpu.return
  }
  // 2 ** 0 is exact when rounded to nearest, and so is its difference from one.
  gpu.func @demanding(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 32, 1, 1>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %yt = llvm.getelementptr %y[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %v = llvm.load %xt : !llvm.ptr -> f32
    %zero = arith.subf %v, %v : f32
    %one = arith.constant 1.0 : f32
    %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%zero) : (f32) -> f32
    %d = arith.subf %e, %one : f32
    llvm.store %d, %yt : f32, !llvm.ptr
    gpu.return
  }
}
func.func private @content(%x: tensor<32xf32>) -> tensor<32xf32> attributes {tp.kernel = "rows"} {
  %y = math.exp2 %x : tensor<32xf32>
  return %y : tensor<32xf32>
}
func.func private @demanding(%x: tensor<32xf32>) -> tensor<32xf32> attributes {tp.kernel = "rows"} {
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %y = arith.mulf %x, %zero : tensor<32xf32>
  return %y : tensor<32xf32>
}
func.func @main(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %y = call @content(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %z = call @demanding(%x) : (tensor<32xf32>) -> tensor<32xf32>
  return %y, %z : tensor<32xf32>, tensor<32xf32>
}
