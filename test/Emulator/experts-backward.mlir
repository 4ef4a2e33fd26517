// The derivative of a mixture: a row without an expert, an expert without a row; sizes
// that vectors divide and that they do not. Barriers and waits that are missing are
// noticed in each product.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=drop-barrier,drop-cp-async-wait > %t
// RUN: grep drop-barrier %t | FileCheck %s --check-prefix=BARRIER
// RUN: grep drop-cp-async-wait %t | FileCheck %s --check-prefix=WAIT

// CHECK-NOT: WRONG
// CHECK: experts_backward_0: right
// CHECK: experts_backward_0_place: right
// CHECK: experts_backward_0_inner: right
// CHECK: experts_backward_0_sides: right
// CHECK: experts_backward_0_input: right
// CHECK: experts_backward_0_combine: right
// CHECK: experts_backward_0_gates: right
// CHECK: experts_backward_0_downs: right
// CHECK-NOT: WRONG
// CHECK: experts_backward_1_downs: right
// CHECK-NOT: WRONG
// CHECK: experts_backward_2_downs: right

// BARRIER: experts_backward_0_inner: drop-barrier: noticed 1 of 1,
// BARRIER: experts_backward_0_sides: drop-barrier: noticed 1 of 1,
// BARRIER: experts_backward_0_input: drop-barrier: noticed 3 of 3,
// BARRIER: experts_backward_0_gates: drop-barrier: noticed 1 of 1,
// BARRIER: experts_backward_0_downs: drop-barrier: noticed 1 of 1,
// WAIT: experts_backward_0_inner: drop-cp-async-wait: noticed 1 of 1,
// WAIT: experts_backward_0_input: drop-cp-async-wait: noticed 2 of 2,
// WAIT: experts_backward_0_downs: drop-cp-async-wait: noticed 1 of 1,

// Row 0 has no expert, expert 2 no row.
func.func @half(%dy: tensor<40x24xbf16>, %x: tensor<40x64xbf16>, %l: tensor<40x4xf32>, %g: tensor<5x160x64xbf16>, %u: tensor<5x160x64xbf16>, %d: tensor<5x24x160xbf16>) -> (tensor<40x64xbf16>, tensor<40x5xf32>, tensor<5x160x64xf32>, tensor<5x160x64xf32>, tensor<5x24x160xf32>) {
  %a = tensor.extract_slice %l[0, 0] [40, 2] [1, 1] : tensor<40x4xf32> to tensor<40x2xf32>
  %b = tensor.extract_slice %l[0, 2] [40, 2] [1, 1] : tensor<40x4xf32> to tensor<40x2xf32>
  %none = arith.constant dense<0.0> : tensor<40x1xf32>
  %c = tensor.concat dim(1) %a, %none, %b : (tensor<40x2xf32>, tensor<40x1xf32>, tensor<40x2xf32>) -> tensor<40x5xf32>
  %zero = arith.constant dense<0.0> : tensor<1x5xf32>
  %e = tensor.extract_slice %c[1, 0] [39, 5] [1, 1] : tensor<40x5xf32> to tensor<39x5xf32>
  %r = tensor.concat dim(0) %zero, %e : (tensor<1x5xf32>, tensor<39x5xf32>) -> tensor<40x5xf32>
  %1, %2, %3, %4, %5 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "silu", active = 0.8 : f64, top_k = 4 : i64} : (tensor<40x24xbf16>, tensor<40x64xbf16>, tensor<40x5xf32>, tensor<5x160x64xbf16>, tensor<5x160x64xbf16>, tensor<5x24x160xbf16>) -> (tensor<40x64xbf16>, tensor<40x5xf32>, tensor<5x160x64xf32>, tensor<5x160x64xf32>, tensor<5x24x160xf32>)
  return %1, %2, %3, %4, %5 : tensor<40x64xbf16>, tensor<40x5xf32>, tensor<5x160x64xf32>, tensor<5x160x64xf32>, tensor<5x24x160xf32>
}

func.func @odd(%dy: tensor<2x7x5xf32>, %x: tensor<2x7x9xf32>, %r: tensor<2x7x3xf32>, %g: tensor<3x11x9xf32>, %u: tensor<3x11x9xf32>, %d: tensor<3x5x11xf32>) -> (tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>) {
  %1, %2, %3, %4, %5 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "gelu_erf"} : (tensor<2x7x5xf32>, tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>) -> (tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>)
  return %1, %2, %3, %4, %5 : tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>
}

// The last positions of the width are left out, though rows of down make infinities there.
func.func @padded(%dy: tensor<2x7x5xf32>, %x: tensor<2x7x9xf32>, %r: tensor<2x7x3xf32>, %g: tensor<3x11x9xf32>, %u: tensor<3x11x9xf32>, %d: tensor<3x5x11xf32>) -> (tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>) {
  %inf = arith.constant dense<0x7F800000> : tensor<3x5x4xf32>
  %zero = arith.constant dense<0.0> : tensor<3x4x9xf32>
  %i = arith.constant dense<[1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]> : tensor<11xi32>
  %gate = tensor.insert_slice %zero into %g[0, 7, 0] [3, 4, 9] [1, 1, 1] : tensor<3x4x9xf32> into tensor<3x11x9xf32>
  %up = tensor.insert_slice %zero into %u[0, 7, 0] [3, 4, 9] [1, 1, 1] : tensor<3x4x9xf32> into tensor<3x11x9xf32>
  %down = tensor.insert_slice %inf into %d[0, 0, 7] [3, 5, 4] [1, 1, 1] : tensor<3x5x4xf32> into tensor<3x5x11xf32>
  %1, %2, %3, %4, %5 = nn.experts_backward %dy, %x, %r, %gate, %up, %down inside %i {activation = "silu"} : (tensor<2x7x5xf32>, tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>, tensor<11xi32>) -> (tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>)
  return %1, %2, %3, %4, %5 : tensor<2x7x9xf32>, tensor<2x7x3xf32>, tensor<3x11x9xf32>, tensor<3x11x9xf32>, tensor<3x5x11xf32>
}
