// A state has one sharding for all functions: the one declared, else that of the
// first use that has one (closed), else none.
// RUN: tp-opt %s --tp-propagate-pipeline | FileCheck %s
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s --check-prefix=LOCAL

// CHECK: tp.state @given : tensor<5x8xf32> sharding <@mesh, [{"tp"}, {}]>
// CHECK: tp.state @taken : tensor<8xf32> sharding <@mesh, [{"tp"}]>
// CHECK: tp.state @none : tensor<8xf32> ones sharding <@mesh, [{}]>
// CHECK: func.func @one(%{{.*}}: tensor<5x8xf32> {{{.*}}tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>, tp.state = @given}
// CHECK: func.func @two(%{{.*}}: tensor<8xf32> {{{.*}}tp.sharding = #tp.sharding<@mesh, [{"tp"}]>, tp.state = @taken}, %{{.*}}: tensor<8xf32> {{{.*}}tp.sharding = #tp.sharding<@mesh, [{}]>, tp.state = @none}

// LOCAL: tp.state @given : tensor<3x8xf32> sharding <@mesh, [{"tp"}, {}]> {tp.global_type = tensor<5x8xf32>}
// LOCAL: tp.state @taken : tensor<4xf32> sharding <@mesh, [{"tp"}]> {tp.global_type = tensor<8xf32>}

tp.mesh @mesh <["tp"=2]>
tp.state @given : tensor<5x8xf32> sharding <@mesh, [{"tp"}, {}]>
tp.state @taken : tensor<8xf32>
tp.state @none : tensor<8xf32> ones

func.func @one(%a: tensor<5x8xf32> {tp.state = @given}, %b: tensor<8xf32> {tp.state = @taken, tp.sharding = #tp.sharding<@mesh, [{"tp", ?}]>})
    -> (tensor<5x8xf32> {tp.state = @given}) {
  return %a : tensor<5x8xf32>
}
func.func @two(%b: tensor<8xf32> {tp.state = @taken}, %c: tensor<8xf32> {tp.state = @none}) -> (tensor<8xf32> {tp.state = @none}) {
  %0 = arith.addf %b, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}
