// RUN: tp-opt %s --split-input-file --tp-split-norms | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s --check-prefix=SENT

// A norm of all heads of a query together: 16 rows exchange 4 bytes each.

tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @rms
// CHECK-NOT: nn.rms_norm
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// SENT-LABEL: func.func @rms
// SENT: tp.all_reduce {{.*}} tensor<16xf32>
// SENT: tp.all_reduce {{.*}} tensor<16x64xf32>
// SENT-NOT: tp.all_
// SENT: return
func.func @rms(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %wn = tp.parameter "norm" {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<64xf32>
  %wo = tp.parameter "o" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x64xf32>
  %q = nn.linear %x, %wq : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %n = nn.rms_norm %q, %wn {epsilon = 1.0e-5 : f64} : (tensor<16x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %o = nn.linear %n, %wo : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  return %o : tensor<16x64xf32>
}

// -----

// Two norms of one kind of row, one behind the other, with a bias: the second is found once the first is split.

tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @layer
// CHECK-NOT: nn.layer_norm
// CHECK-NOT: nn.softmax
// CHECK: return
func.func @layer(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %wn = tp.parameter "norm" : tensor<64xf32>
  %bn = tp.parameter "bias" : tensor<64xf32>
  %wo = tp.parameter "o" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x64xf32>
  %q = nn.linear %x, %wq : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %n = nn.layer_norm %q, %wn bias %bn {epsilon = 1.0e-5 : f64} : (tensor<16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %s = nn.softmax %n : tensor<16x64xf32>
  %o = nn.linear %s, %wo : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  return %o : tensor<16x64xf32>
}

// -----

// What reads the norm needs whole rows: they are gathered once, in front of it.

tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @gathered
// CHECK: nn.rms_norm
// SENT-LABEL: func.func @gathered
// SENT: tp.all_gather
// SENT-NOT: tp.all_reduce
// SENT: return
func.func @gathered(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %wn = tp.parameter "norm" : tensor<64xf32>
  %wo = tp.parameter "o" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %q = nn.linear %x, %wq : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %n = nn.rms_norm %q, %wn {epsilon = 1.0e-5 : f64} : (tensor<16x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %o = nn.linear %n, %wo : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  return %o : tensor<16x64xf32>
}
