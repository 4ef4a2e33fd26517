// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s
// RUN: tp-verify %s

// Split logits stay split: three all-reduces of one value per row (the
// maximum, the sum of exponentials, the label's logit). 102 rows are 26 on each
// of four ranks: the body of each leaves the padding out, with what its
// reduction ignores.
// CHECK-LABEL: func.func @main
// CHECK: nn.linear {{.*}} -> tensor<1x8x26xf32>
// CHECK: arith.cmpi slt
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: arith.maximumf
// CHECK: tp.all_reduce max {{.*}} : tensor<1x8xf32> -> tensor<1x8xf32>
// CHECK: arith.cmpi slt
// CHECK: math.exp
// CHECK: arith.constant -0.000000e+00 : f32
// CHECK: tp.all_reduce sum {{.*}} : tensor<1x8xf32> -> tensor<1x8xf32>
// CHECK: arith.cmpi slt
// CHECK: tp.all_reduce sum {{.*}} : tensor<1x8xf32> -> tensor<1x8xf32>
// CHECK-NOT: tp.all_gather
tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<1x8x64xf32>, %labels: tensor<1x8xi64>) -> tensor<1x8xf32> {
  %w = tp.parameter "lm_head.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<102x64xf32>
  %l = nn.linear %x, %w : (tensor<1x8x64xf32>, tensor<102x64xf32>) -> tensor<1x8x102xf32>
  %0 = nn.cross_entropy %l, %labels : (tensor<1x8x102xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
