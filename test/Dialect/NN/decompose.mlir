// RUN: tp-opt %s --tp-decompose-nn | FileCheck %s
// RUN: tp-opt %s --tp-decompose-nn=keep=nn.linear,nn.gelu | FileCheck %s --check-prefix=KEEP
// RUN: tp-opt %s --tp-decompose-nn | FileCheck %s --check-prefix=NONE
// NONE-NOT: = nn.

// KEEP-LABEL: func.func @linear
// KEEP: nn.linear
// KEEP-LABEL: func.func @rms_norm
// KEEP-NOT: nn.rms_norm
// KEEP: nn.gelu

// Accumulated in f32, rounded once, the bias included.
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<1x8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>) -> tensor<1x8x32xbf16> {
  // CHECK: linalg.fill {{.*}} -> tensor<1x8x32xf32>
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  // CHECK: arith.extf {{.*}} : bf16 to f32
  // CHECK: arith.extf {{.*}} : bf16 to f32
  // CHECK: arith.mulf {{.*}} : f32
  // CHECK: arith.addf {{.*}} : f32
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]
  // CHECK: arith.addf {{.*}} : f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %0 = nn.linear %x, %w bias %b : (tensor<1x8x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<1x8x32xbf16>
  return %0 : tensor<1x8x32xbf16>
}

// A bias of the result's type is not rounded.
// CHECK-LABEL: func.func @wide_bias
func.func @wide_bias(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  // CHECK-NOT: truncf
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]{{.*}}tensor<8x32xf32>, tensor<32xf32>
  // CHECK: arith.addf {{.*}} : f32
  // CHECK-NOT: truncf
  // CHECK: return
  %0 = nn.linear %x, %w bias %b : (tensor<8x64xbf16>, tensor<32x64xbf16>, tensor<32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<8x64xbf16>, %w: tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8xf32>) {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
  // CHECK: %[[RSTD:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<8xf32>)
  // CHECK: arith.constant 6.400000e+01 : f32
  // CHECK: math.sqrt
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[RSTD]], %{{.*}} : tensor<8x64xbf16>, tensor<8xf32>, tensor<64xbf16>)
  %0:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xbf16>, tensor<64xbf16>) -> (tensor<8x64xbf16>, tensor<8xf32>)
  %1 = nn.gelu erf %0#0 : tensor<8x64xbf16>
  // CHECK: math.erf
  // CHECK: return %{{.*}}, %[[RSTD]]
  return %1, %0#1 : tensor<8x64xbf16>, tensor<8xf32>
}

// KV heads are read by the queries that share them, never repeated; the mask,
// the causal limit and the window join into one condition.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<1x8x4x16xf32>, %k: tensor<1x10x2x16xf32>, %m: tensor<1x10xi64>) -> tensor<1x8x4x16xf32> {
  // CHECK: tensor.expand_shape %{{.*}} output_shape [1, 8, 2, 2, 16]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x8x2x2x16xf32>, tensor<1x10x2x16xf32>) outs(%{{.*}} : tensor<1x8x2x2x10xf32>)
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x8x2x2x10xf32>, tensor<1x10xi64>)
  // CHECK: arith.constant 1.250000e-01 : f32
  // CHECK: arith.cmpi ne
  // CHECK: linalg.index 4
  // CHECK: linalg.index 1
  // CHECK: arith.constant 2 : index
  // CHECK: arith.cmpi sle
  // CHECK: arith.constant 0 : index
  // CHECK: arith.cmpi sge
  // CHECK: arith.select
  // CHECK: arith.maximumf
  // CHECK: math.exp
  // CHECK: tensor.collapse_shape %{{.*}} into tensor<1x8x4x16xf32>
  %0 = nn.attention %q, %k, %k mask %m {causal, window = 3 : i64, scale = 0.125 : f64} : (tensor<1x8x4x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10xi64>) -> tensor<1x8x4x16xf32>
  return %0 : tensor<1x8x4x16xf32>
}

// The angle is the f32 product that the definition asks for.
// CHECK-LABEL: func.func @rotary_table
// CHECK-SAME: %[[START:.*]]: index
func.func @rotary_table(%start: index) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // CHECK: arith.addi %{{.*}}, %[[START]]
  // CHECK: arith.sitofp {{.*}} : i64 to f32
  // CHECK: %[[ANGLE:.*]] = arith.mulf {{.*}} : f32
  // CHECK: math.cos %[[ANGLE]]
  // CHECK: math.sin
  %c, %s = nn.rotary_table offset %start {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  return %c, %s : tensor<8x2xf32>, tensor<8x2xf32>
}

// The angle is that of the position that is given.
// CHECK-LABEL: func.func @rotary_positions
// CHECK-SAME: %[[POSITIONS:.*]]: tensor<8xi32>
func.func @rotary_positions(%positions: tensor<8xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[POSITIONS]] :
  // CHECK: arith.sitofp %{{.*}} : i32 to f32
  // CHECK-NOT: linalg.index
  %c, %s = nn.rotary_table positions %positions : tensor<8xi32> {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  return %c, %s : tensor<8x2xf32>, tensor<8x2xf32>
}

// The accumulator is the result where logits are f32.
// CHECK-LABEL: func.func @logits
func.func @logits(%x: tensor<1x8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<1x8x32xf32> {
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"]
  // CHECK-NOT: truncf
  // CHECK: return %{{.*}} : tensor<1x8x32xf32>
  %0 = nn.linear %x, %w : (tensor<1x8x64xbf16>, tensor<32x64xbf16>) -> tensor<1x8x32xf32>
  return %0 : tensor<1x8x32xf32>
}

// One operation reads both halves; what is not rotated is passed on.
// CHECK-LABEL: func.func @rotary(
func.func @rotary(%x: tensor<1x8x4x10xf32>, %c: tensor<8x4xf32>) -> tensor<1x8x4x10xf32> {
  // CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 8, 4, 8] [1, 1, 1, 1]
  // CHECK: %[[HALVES:.*]] = tensor.expand_shape %{{.*}} output_shape [1, 8, 4, 2, 4]
  // CHECK: linalg.generic {{.*}} ins(%[[HALVES]], %[[HALVES]], %{{.*}}, %{{.*}} :
  // CHECK: tensor.insert_slice
  %0 = nn.rotary %x, %c, %c : (tensor<1x8x4x10xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x4x10xf32>
  return %0 : tensor<1x8x4x10xf32>
}

// Ids outside the part of the table give zeros, and are never used to read.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%i: tensor<8xi64>, %t: tensor<26x4xf32>, %o: index) -> tensor<8x4xf32> {
  // CHECK: %[[ROW:.*]] = arith.subi
  // CHECK: %[[HERE:.*]] = arith.cmpi ult, %[[ROW]]
  // CHECK: %[[SAFE:.*]] = arith.select %[[HERE]], %[[ROW]]
  // CHECK: tensor.extract %{{.*}}[%[[SAFE]], %{{.*}}]
  // CHECK: arith.select %[[HERE]]
  %0 = nn.embedding %i, %t offset %o : (tensor<8xi64>, tensor<26x4xf32>, index) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// The element's global position and the layer are in the counter.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<2x64xf32>, %seed: tensor<i64>, %layer: index, %o: index) -> tensor<2x64xf32> {
  // CHECK: linalg.index 0
  // CHECK: arith.addi %{{.*}}, %{{.*}} : index
  // CHECK: linalg.index 1
  // CHECK-COUNT-20: arith.extui
  // CHECK: arith.cmpi uge
  %0 = nn.dropout %x, %seed, %seed layer %layer offsets %o, %o {global_shape = array<i64: 8, 64>, op_id = 3 : i64, probability = 0.25 : f64} : tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// The result's sharding goes with it.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @sharded
func.func @sharded(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: linalg.generic
  // CHECK-SAME: tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]
  %0 = nn.silu %x {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
