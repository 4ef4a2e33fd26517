// RUN: tp-opt %s --tp-widen-floats -split-input-file -verify-diagnostics

func.func @main(%x: tensor<8xf32>) -> tensor<8xi32> {
  // expected-error @+1 {{cannot be computed in f64: it reads the bits of another type}}
  %0 = arith.bitcast %x : tensor<8xf32> to tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

func.func @main() -> tensor<2xf32> {
  // expected-error @+1 {{expected a constant of dense elements to compute with in f64}}
  %0 = arith.constant dense_resource<numbers> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000000803F00000040"
    }
  }
#-}
