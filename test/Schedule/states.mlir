// Successors lie where the old values lie: what writes one goes behind what reads
// the old value, and is no part of a kernel that reads it elsewhere.
// RUN: tp-opt %s --tp-schedule-pipeline --split-input-file | FileCheck %s

tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<16xf32>

// The copy that @before is comes first, though it is later in the text.
// CHECK-LABEL: func.func @order
// CHECK: %[[BEFORE:.*]] = call @{{.*}}(%arg0) {tp.buffers = [#tp.buffer<"output", 1>]}
// CHECK: %[[NEW:.*]] = call @[[KERNEL:.*]](%arg0) {tp.buffers = [#tp.buffer<"output", 0>]}
// CHECK: return %[[NEW]], %[[BEFORE]]
// CHECK: func.func private @[[KERNEL]]({{.*}}attributes {tp.in_place
func.func @order(%old: tensor<16xf32> {tp.state = @s}) -> (tensor<16xf32> {tp.state = @s}, tensor<16xf32> {tp.name = "before"}) {
  %half = arith.constant dense<0.5> : tensor<16xf32>
  %new = arith.mulf %old, %half : tensor<16xf32>
  return %new, %old : tensor<16xf32>, tensor<16xf32>
}

// -----

// What reads the old value from elsewhere is a kernel of its own.
tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<64x16xf32>
// CHECK-LABEL: func.func @apart
// CHECK: %[[T:.*]] = call @{{.*}}(%arg0)
// CHECK: call @{{.*}}(%[[T]], %arg0) {tp.buffers = [#tp.buffer<"output", 0>]}
func.func @apart(%old: tensor<64x16xf32> {tp.state = @s}) -> (tensor<64x16xf32> {tp.state = @s}) {
  %e = tensor.empty() : tensor<64x16xf32>
  %turned = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 15 - j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%old : tensor<64x16xf32>) outs(%e : tensor<64x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %w = arith.negf %v : f32
    linalg.yield %w : f32
  } -> tensor<64x16xf32>
  %new = arith.addf %turned, %old : tensor<64x16xf32>
  return %new : tensor<64x16xf32>
}

// -----

// A state that stays as it is is not copied.
tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<16xf32>
// CHECK-LABEL: func.func @same
// CHECK-NOT: call
// CHECK: return %arg0
func.func @same(%old: tensor<16xf32> {tp.state = @s}) -> (tensor<16xf32> {tp.state = @s}) {
  return %old : tensor<16xf32>
}

// -----

// Layer by layer, in the memory of the layers.
tp.mesh @mesh <["tp"=1]>
tp.state @cache : tensor<3x5xf32>
// CHECK-LABEL: func.func @layers
// CHECK: tp.repeat 3 times
// CHECK-SAME: #tp.buffer<"output", 0>
// CHECK: call @{{.*}} {tp.buffers = [#tp.buffer<"stacked", 0>
func.func @layers(%old: tensor<3x5xf32> {tp.state = @cache}, %y: tensor<5xf32>) -> (tensor<3x5xf32> {tp.state = @cache}) {
  %0:2 = tp.repeat 3 times iter(%y) stacked(%old) : (tensor<5xf32>, tensor<3x5xf32>) -> (tensor<5xf32>, tensor<3x5xf32>) {
  ^bb0(%i: index, %carried: tensor<5xf32>, %slice: tensor<5xf32>):
    %sum = arith.addf %slice, %carried : tensor<5xf32>
    tp.yield %carried, %sum : tensor<5xf32>, tensor<5xf32>
  }
  return %0#1 : tensor<3x5xf32>
}

// -----

// What reads the old value and what follows from the new one are no one kernel.
tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<64x16xf32>
// CHECK-LABEL: func.func @between
// CHECK: %[[R:.*]] = call @{{.*}}(%arg0)
// CHECK: %[[NEW:.*]] = call @{{.*}}(%arg0) {tp.buffers = [#tp.buffer<"output", 0>]}
// CHECK: %[[SUM:.*]] = call @{{.*}}(%[[NEW]])
// CHECK: call @{{.*}}(%[[R]], %[[SUM]])
func.func @between(%old: tensor<64x16xf32> {tp.state = @s}) -> (tensor<64x16xf32> {tp.state = @s}, tensor<64x16xf32>) {
  %half = arith.constant dense<0.5> : tensor<64x16xf32>
  %new = arith.mulf %old, %half : tensor<64x16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce { arith.addf } ins(%new : tensor<64x16xf32>) outs(%init : tensor<16xf32>) dimensions = [0]
  %r = math.exp %old : tensor<64x16xf32>
  %o = tensor.empty() : tensor<64x16xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%r, %sum : tensor<64x16xf32>, tensor<16xf32>) outs(%o : tensor<64x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<64x16xf32>
  return %new, %z : tensor<64x16xf32>, tensor<64x16xf32>
}

// -----

// A product is added to a gradient where that lies, and rows to a table's.
tp.mesh @mesh <["tp"=1]>
tp.state @w : tensor<3x16x8xf32>
tp.state @t : tensor<9x8xf32>
// CHECK-LABEL: func.func @gradients
// CHECK: tp.repeat 3 times
// CHECK: call @gemm_0(%{{.*}}, %{{.*}}, %{{.*}}) {tp.buffers = [#tp.buffer<"stacked", 0>
// CHECK: nn.embedding_backward %{{.*}} into %arg1 {tp.buffers = [#tp.buffer<"output", 1>
// CHECK: func.func private @gemm_0
// CHECK: %[[P:.*]] = nn.matmul {{.*}}transposed
// CHECK: arith.addf %arg2, %[[P]]
func.func @gradients(%w: tensor<3x16x8xf32> {tp.state = @w}, %t: tensor<9x8xf32> {tp.state = @t}, %dy: tensor<4x16xf32>, %x: tensor<4x8xf32>, %ids: tensor<4xi64>) -> (tensor<3x16x8xf32> {tp.state = @w}, tensor<9x8xf32> {tp.state = @t}) {
  %0 = tp.repeat 3 times stacked(%w) : (tensor<3x16x8xf32>) -> tensor<3x16x8xf32> {
  ^bb0(%i: index, %slice: tensor<16x8xf32>):
    %p = nn.matmul %dy, %x {transposed} : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %sum = arith.addf %slice, %p : tensor<16x8xf32>
    tp.yield %sum : tensor<16x8xf32>
  }
  %1 = nn.embedding_backward %ids, %x : (tensor<4xi64>, tensor<4x8xf32>) -> tensor<9x8xf32>
  %2 = arith.addf %t, %1 : tensor<9x8xf32>
  return %0, %2 : tensor<3x16x8xf32>, tensor<9x8xf32>
}
