// A state that one function adds to and another makes zero stays partial, though the operation that makes the zero
// reads the state: what follows from the operand is another result. Zeros have every layout, and are a partial sum.
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s
// RUN: tp-verify %s --steps 3 --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// EQUAL: lower {{.*}} 3 steps: equal

#map = affine_map<(i, j) -> (i, j)>
tp.mesh @mesh <["dp"=2]>
tp.state @gradients : tensor<3x8xf32>
tp.state @weights : tensor<3x8xf32> ones sharding <@mesh, [{}, {"dp"}]>

// Layer by layer.
// CHECK-LABEL: func.func @add
// CHECK-SAME: partial sum {"dp"}>, tp.state = @gradients
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @add(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}, %old: tensor<3x8xf32> {tp.state = @gradients}) -> (tensor<3x8xf32> {tp.state = @gradients}) {
  %zero = arith.constant 0.0 : f32
  %carried, %sums = tp.repeat 3 times iter(%x) stacked(%old) : (tensor<4x8xf32>, tensor<3x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>) {
  ^bb0(%i: index, %y: tensor<4x8xf32>, %slice: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %s = linalg.reduce { arith.addf } ins(%y : tensor<4x8xf32>) outs(%f : tensor<8xf32>) dimensions = [0]
    %new = arith.addf %slice, %s : tensor<8xf32>
    %next = math.tanh %y : tensor<4x8xf32>
    tp.yield %next, %new : tensor<4x8xf32>, tensor<8xf32>
  }
  return %sums : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @update
// CHECK: tp.reduce_scatter sum {{.*}} dim 1 over @mesh ["dp"]
// CHECK-NOT: tp.all_gather
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @update(%old: tensor<3x8xf32> {tp.state = @gradients}, %w: tensor<3x8xf32> {tp.state = @weights}) -> (tensor<3x8xf32> {tp.state = @weights}, tensor<3x8xf32> {tp.state = @gradients}) {
  %e = tensor.empty() : tensor<3x8xf32>
  %f = tensor.empty() : tensor<3x8xf32>
  %new, %zeros = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%w, %old : tensor<3x8xf32>, tensor<3x8xf32>) outs(%e, %f : tensor<3x8xf32>, tensor<3x8xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32, %p: f32):
    %z = arith.constant 0.0 : f32
    %r = math.absf %g : f32
    %b = arith.subf %a, %r : f32
    linalg.yield %b, %z : f32, f32
  } -> (tensor<3x8xf32>, tensor<3x8xf32>)
  return %new, %zeros : tensor<3x8xf32>, tensor<3x8xf32>
}
