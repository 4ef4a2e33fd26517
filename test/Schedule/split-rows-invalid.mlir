// RUN: not tp-opt %s -pass-pipeline='builtin.module(func.func(tp-split-rows{chunks=1}))' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: tp-opt %s -verify-diagnostics -pass-pipeline='builtin.module(func.func(tp-split-rows{chunks=2}))'

// FEW: tp-split-rows: expected chunks from 2 to 64, got 1
tp.mesh @mesh <["tp"=2]>
func.func @started(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{is scheduled already: expected rows to be split before kernels are formed and collectives started}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
  %1 = tp.await %0 : tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
