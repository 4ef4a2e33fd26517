// Padding of blocks is masked on operands; a body that no operand's mask makes
// harmless is not guarded by position.
//
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --verify-diagnostics

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<9xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp" block 3 by 2}]>}, %zero: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'linalg.generic' op cannot split factor d0 in blocks: no mask of an operand makes their padding harmless}}
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<9xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %square = arith.mulf %in, %in : f32
    %more = arith.addf %square, %one : f32
    %next = arith.addf %out, %more : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
