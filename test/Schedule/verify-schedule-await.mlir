// The operand of a collective is free from its await on: the place of what the
// first collective reads serves the second's result.
// RUN: tp-opt %s --tp-import-pipeline --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline --tp-schedule-pipeline=target=cuda | FileCheck %s

// CHECK: call @{{.*}} {tp.buffers = [#tp.buffer<"comm", 0>]}
// CHECK: tp.all_to_all
// CHECK: tp.await
// CHECK: tp.all_gather {{.*}}tp.buffers = [#tp.buffer<"comm", 0>]
// CHECK: tp.await
module {
  tp.mesh @mesh <["dp"=2, "tp"=4]>
  func.func @main(%arg0: tensor<1x8x16xbf16> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {?}]>}) -> (tensor<1x24x16xbf16> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp", "tp":(2)2, ?}, {}]>}, tensor<1x8x16xbf16> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}]>}) {
    %cst = arith.constant dense<0> : tensor<1x1xi64>
    %gather = tensor.gather %arg0[%cst] gather_dims([0]) : (tensor<1x8x16xbf16>, tensor<1x1xi64>) -> tensor<1x8x16xbf16>
    %concat = tensor.concat dim(1) %gather, %arg0, %gather : (tensor<1x8x16xbf16>, tensor<1x8x16xbf16>, tensor<1x8x16xbf16>) -> tensor<1x24x16xbf16>
    return %concat, %gather : tensor<1x24x16xbf16>, tensor<1x8x16xbf16>
  }
}
