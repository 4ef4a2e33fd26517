// RUN: tp-opt %s --tp-propagate --tp-partition --split-input-file --verify-diagnostics

// Without reshards a rank would take its addend for the sum, or its part for the
// whole: each use must have what it needs.

tp.mesh @mesh <["tp"=4]>
func.func @sum(%x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<8x16xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<16x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'nn.silu' op operand 0: expected the sharding that is needed there, [{}, {}], got [{}, {}], partial sum {"tp"}: run tp-insert-reshards first}}
  %1 = nn.silu %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @carried(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>})
    -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{operand 0: expected the sharding that is needed there, [{}], got [{"tp"}]: run tp-insert-reshards first}}
  return %x : tensor<8xf32>
}
