// RUN: tp-opt %s --tp-verify-partitioned | FileCheck %s

// A maximum that is whole along "y" is a partial one along it too, whichever
// rank it is asked of: it may be scattered over both axes at once.

#cut = #tp.sharding<@mesh, [{}, {"x"}]>
#rep = #tp.sharding<@mesh, [{}]>
#max = #tp.sharding<@mesh, [{}], partial max {"x"}>
#both = #tp.sharding<@mesh, [{}], partial max {"x", "y"}>
#split = #tp.sharding<@mesh, [{"x", "y"}]>
#reduce = #tp.rule<["a" 4, "b" 4 max], ([0], [1]), ([0]) initial -> ([0])>
tp.mesh @mesh <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @main
// CHECK: tp.reduce_scatter max
func.func @main(%x: tensor<4x2xf32> {tp.global_type = tensor<4x4xf32>, tp.sharding = #cut}, %init: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) -> (tensor<1xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #split}) {
  %m = linalg.reduce ins(%x : tensor<4x2xf32>) outs(%init : tensor<4xf32>) dimensions = [1] {tp.rule = #reduce, tp.shardings = [#max]}
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  %s = tp.reduce_scatter max %m dim 0 over @mesh ["x", "y"] {from = #both, to = #split, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<4xf32> -> tensor<1xf32>
  return %s : tensor<1xf32>
}
