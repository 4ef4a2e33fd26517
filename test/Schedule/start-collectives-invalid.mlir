// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-start-collectives))' --verify-diagnostics

tp.mesh @mesh <["tp"=2]>

// Places are planned for an order, which is no longer to be changed.
func.func @placed(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{has its place in memory already: expected collectives to be started before tp-plan-buffers}}
  %r = tp.all_reduce sum %x over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 0>]} : tensor<2x4xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
