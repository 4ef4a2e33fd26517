// RUN: tp-opt %s --tp-insert-reshards --tp-partition --split-input-file --verify-diagnostics

// The three lanes that pad ten elements over four ranks would count one each.
tp.mesh @mesh <["tp"=4]>
func.func @padding(%x: tensor<10xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}, %s: tensor<f32> {tp.sharding = #tp.sharding<@mesh, []>})
    -> (tensor<f32> {tp.sharding = #tp.sharding<@mesh, []>}) {
  // expected-error @+1 {{'linalg.generic' op cannot split factor d0 of size 10 in 4 parts: the padding lanes would be counted and no mask makes them harmless; degrees that fit: 1, 2, 5, 10}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<10xf32>) outs(%s : tensor<f32>) attrs = {tp.shardings = [#tp.sharding<@mesh, [], partial sum {"tp"}>]} {
  ^bb0(%a: f32, %sum: f32):
    %e = math.exp %a : f32
    %c = math.cos %e : f32
    %n = arith.addf %sum, %c : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error @+1 {{'func.func' op expected one block to partition}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}
