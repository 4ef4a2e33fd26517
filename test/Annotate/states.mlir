// The sharding of a state is an annotation: of the program, which then needs no
// plan that knows its parameters, and of what carries the state, which no rule of
// a plan changes.
// RUN: tp-compile %s --compile-to=annotate -o - 2> %t | FileCheck %s
// RUN: tp-compile %s --plan replicated --compile-to=propagate -o - 2> %t | FileCheck %s --check-prefix=KEPT

// CHECK: tensor<8xf32> {tp.state = @s}
// KEPT: tensor<8xf32> {{{.*}}tp.sharding = #tp.sharding<@mesh, [{"tp"}]>, tp.state = @s}

tp.mesh @mesh <["tp"=2]>
tp.state @s : tensor<8xf32> sharding <@mesh, [{"tp"}]>
func.func @main(%x: tensor<8xf32>, %s: tensor<8xf32> {tp.state = @s}) -> (tensor<8xf32> {tp.state = @s}) {
  %0 = arith.addf %x, %s : tensor<8xf32>
  return %0 : tensor<8xf32>
}
