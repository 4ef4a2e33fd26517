// RUN: tp-opt %s --test-tp-vjp | FileCheck %s
// RUN: tp-opt %s --test-tp-vjp --tp-decompose-nn | FileCheck %s --check-prefix=LINALG
// LINALG-NOT: = nn.

// Gradients have their operands' types; contractions accumulate in f32. dX sums
// over n, dW and the bias's gradient over the rows.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: -> (tensor<2x8x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>)
func.func @linear(%x: tensor<2x8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>, %dy: tensor<2x8x32xbf16>) -> tensor<2x8x32xbf16> {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "parallel"]{{.*}} outs(%{{.*}} : tensor<2x8x64xf32>)
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel", "parallel"]{{.*}} outs(%{{.*}} : tensor<32x64xf32>)
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel"]{{.*}} outs(%{{.*}} : tensor<32xf32>)
  %0 = nn.linear %x, %w bias %b {test.vjp} : (tensor<2x8x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<2x8x32xbf16>
  return %0 : tensor<2x8x32xbf16>
}

// From the log-sum-exp, here computed again; the keys' gradient sums over the
// queries that share a head. The mask has no gradient.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: -> (tensor<1x8x4x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10x2x16xf32>)
func.func @attention(%q: tensor<1x8x4x16xf32>, %k: tensor<1x10x2x16xf32>, %v: tensor<1x10x2x16xf32>, %m: tensor<1x10xi64>, %dy: tensor<1x8x4x16xf32>) -> tensor<1x8x4x16xf32> {
  // CHECK: %{{.*}}, %[[LSE:.*]] = nn.attention {{.*}} -> (tensor<1x8x4x16xf32>, tensor<1x8x4xf32>)
  // CHECK: %[[DELTA:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x8x4xf32>)
  // CHECK: nn.attention_backward {{.*}}, %[[LSE]], %[[DELTA]] mask
  // CHECK-COUNT-2: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"]{{.*}} outs(%{{.*}} : tensor<1x10x2x16xf32>)
  %0 = nn.attention %q, %k, %v mask %m {scale = 0.25 : f64, test.vjp} : (tensor<1x8x4x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10xi64>) -> tensor<1x8x4x16xf32>
  return %0 : tensor<1x8x4x16xf32>
}

// The statistic that the operation has is not computed again.
// CHECK-LABEL: func.func @rms_norm
// CHECK: nn.rms_norm
// CHECK-NOT: math.sqrt
// CHECK: return %{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<64xf32>
func.func @rms_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64, test.vjp, test.no_cotangents = 1 : i64} : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return %0#0 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK: math.sqrt
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>
func.func @layer_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.layer_norm %x, %w bias %b {epsilon = 1.0e-5 : f64, test.vjp} : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// Turned back by the opposite angle; the tables are constants.
// CHECK-LABEL: func.func @rotary
// CHECK-SAME: -> tensor<1x8x4x16xf32>
// CHECK: %[[SIN:.*]] = arith.negf
// CHECK: nn.rotary %{{.*}}, %{{.*}}, %[[SIN]]
func.func @rotary(%x: tensor<1x8x4x16xf32>, %c: tensor<8x8xf32>, %s: tensor<8x8xf32>, %dy: tensor<1x8x4x16xf32>) -> tensor<1x8x4x16xf32> {
  %0 = nn.rotary %x, %c, %s {test.vjp} : (tensor<1x8x4x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<1x8x4x16xf32>
  return %0 : tensor<1x8x4x16xf32>
}

// A table row sums the rows that named it, in f32.
// CHECK-LABEL: func.func @embedding
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x8x64xf32>)
// CHECK: nn.embedding_backward %{{.*}}, %[[WIDE]] offset %{{.*}} : (tensor<1x8xi64>, tensor<1x8x64xf32>, index) -> tensor<100x64xf32>
// CHECK: return %{{.*}} : tensor<100x64xbf16>
func.func @embedding(%i: tensor<1x8xi64>, %t: tensor<100x64xbf16>, %dy: tensor<1x8x64xbf16>) -> tensor<1x8x64xbf16> {
  %four = arith.constant 4 : index
  %0 = nn.embedding %i, %t offset %four {test.vjp} : (tensor<1x8xi64>, tensor<100x64xbf16>, index) -> tensor<1x8x64xbf16>
  return %0 : tensor<1x8x64xbf16>
}

// The row of padding is left out of the sums.
// CHECK-LABEL: func.func @padding_row
// CHECK: nn.embedding_backward %{{.*}}, %{{.*}} {padding_row = 3 : i64} : (tensor<1x8xi64>, tensor<1x8x64xf32>) -> tensor<100x64xf32>
func.func @padding_row(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>, %dy: tensor<1x8x64xf32>) -> tensor<1x8x64xf32> {
  %0 = nn.embedding %i, %t {padding_row = 3 : i64, test.vjp} : (tensor<1x8xi64>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  return %0 : tensor<1x8x64xf32>
}

// CHECK-LABEL: func.func @cross_entropy
// CHECK: return %{{.*}} : tensor<8x100xbf16>
func.func @cross_entropy(%l: tensor<8x100xbf16>, %i: tensor<8xi64>, %dy: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.cross_entropy %l, %i {test.vjp} : (tensor<8x100xbf16>, tensor<8xi64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The same mask again.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[DY:[a-z0-9]*]]: tensor<8x64xf32>)
// CHECK: nn.dropout %[[DY]], {{.*}}op_id = 3
func.func @dropout(%x: tensor<8x64xf32>, %seed: tensor<i64>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.dropout %x, %seed, %seed {op_id = 3 : i64, probability = 0.25 : f64, test.vjp} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @activations
// CHECK: math.tanh
func.func @activations(%x: tensor<8x64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.gelu tanh %x {test.vjp} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func @erf
// CHECK: math.erf
func.func @erf(%x: tensor<8x64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.gelu erf %x {test.vjp} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func @silu
// CHECK: math.exp
func.func @silu(%x: tensor<8x64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.silu %x {test.vjp} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
// CHECK-LABEL: func.func @softmax
// CHECK: iterator_types = ["parallel", "reduction"]
func.func @softmax(%x: tensor<8x64xf32>, %dy: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = nn.softmax %x {test.vjp} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
