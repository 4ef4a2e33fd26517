// RUN: tp-opt --tp-verify-partitioned %s | FileCheck %s
// RUN: tp-opt --tp-verify-partitioned --emit-bytecode %s | tp-opt --tp-verify-partitioned | FileCheck %s

// A whole per-rank program that keeps the contract: attributes survive printing
// and bytecode.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear, ([1]) additive -> ([0], [1])>
#whole = #tp.rule<["s" 8 indexed, "n" 16 grain 4, "k" 64 whole, "m" 2 max], ([0], [1, 2]) initial -> ([0], [1])>

tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) attributes {some_rule = #whole} {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %b = tp.parameter "b" {tp.global_type = tensor<16xf32>, tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<16xf32>
  // CHECK: tp.keep_first
  %once = tp.keep_first %b over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}]>, to = #tp.sharding<@mesh, [{}], partial sum {"tp"}>} : tensor<16xf32>
  %y = nn.linear %x, %w bias %once {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  // CHECK: tp.all_reduce
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "partial sum of nn.linear over factor k", annotation = "w dim 1 on \22tp\22", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}
