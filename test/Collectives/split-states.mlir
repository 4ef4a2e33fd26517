// Optimizer states that are cut by dp beside tp: the gradient, partial over dp, is scattered to them, and
// the new weight gathered from them. That is all: it follows from the states' shardings.
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s
// RUN: tp-verify %s --steps 2 --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// EQUAL: lower {{.*}} 2 steps: equal

tp.mesh @mesh <["dp"=2, "tp"=2]>
tp.state @weight : tensor<8x6xf32> ones sharding <@mesh, [{"tp"}, {}]>
tp.state @gradient : tensor<8x6xf32> sharding <@mesh, [{"tp"}, {}]>
tp.state @master : tensor<8x6xf32> ones sharding <@mesh, [{"tp"}, {"dp"}]>
tp.state @average : tensor<8x6xf32> sharding <@mesh, [{"tp"}, {"dp"}]>
tp.state @loss : tensor<f32>
tp.state @tokens : tensor<f32>

// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: tp.all_reduce
// CHECK-NOT: tp.reduce_scatter
// CHECK: return
func.func @accumulate(%x: tensor<4x6xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}, %dy: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}]>},
                    %old: tensor<8x6xf32> {tp.state = @gradient}, %loss: tensor<f32> {tp.state = @loss}, %tokens: tensor<f32> {tp.state = @tokens})
    -> (tensor<8x6xf32> {tp.state = @gradient}, tensor<f32> {tp.state = @loss}, tensor<f32> {tp.state = @tokens}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(n, k, t) -> (t, n)>, affine_map<(n, k, t) -> (t, k)>, affine_map<(n, k, t) -> (n, k)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %x : tensor<4x8xf32>, tensor<4x6xf32>) outs(%i : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %new = arith.addf %old, %d : tensor<8x6xf32>
  %f = tensor.empty() : tensor<f32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%j : tensor<f32>) dimensions = [0, 1]
  %k = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>
  %x2 = math.exp %x : tensor<4x6xf32>
  %n = linalg.reduce { arith.addf } ins(%x2 : tensor<4x6xf32>) outs(%k : tensor<f32>) dimensions = [0, 1]
  %loss2 = arith.addf %loss, %l : tensor<f32>
  %tokens2 = arith.addf %tokens, %n : tensor<f32>
  return %new, %loss2, %tokens2 : tensor<8x6xf32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @update
// CHECK-DAG: tp.reduce_scatter sum {{.*}} dim 1 over @mesh ["dp"]
// CHECK-DAG: tp.all_gather {{.*}} dim 1 over @mesh ["dp"]
// CHECK: return
func.func @update(%weight: tensor<8x6xf32> {tp.state = @weight}, %gradient: tensor<8x6xf32> {tp.state = @gradient}, %master: tensor<8x6xf32> {tp.state = @master}, %average: tensor<8x6xf32> {tp.state = @average},
                  %loss: tensor<f32> {tp.state = @loss}, %tokens: tensor<f32> {tp.state = @tokens})
    -> (tensor<8x6xf32> {tp.state = @weight}, tensor<8x6xf32> {tp.state = @gradient}, tensor<8x6xf32> {tp.state = @master}, tensor<8x6xf32> {tp.state = @average},
        tensor<f32> {tp.state = @loss}, tensor<f32> {tp.state = @tokens}, tensor<f32> {tp.name = "mean"}) {
  %half = arith.constant dense<0.5> : tensor<8x6xf32>
  %old = arith.mulf %average, %half : tensor<8x6xf32>
  %new = arith.addf %old, %gradient : tensor<8x6xf32>
  %step = arith.subf %master, %new : tensor<8x6xf32>
  %zeros = arith.constant dense<0.0> : tensor<8x6xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %mean = arith.divf %loss, %tokens : tensor<f32>
  return %step, %zeros, %step, %new, %zero, %zero, %mean : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
