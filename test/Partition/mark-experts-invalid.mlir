// RUN: tp-opt %s --tp-mark-experts --split-input-file --verify-diagnostics

// expected-error @below {{expected the module to have exactly one tp.mesh to partition for}}
module {
}

// -----

module {
  tp.mesh @mesh <["tp"=4]>
  // expected-note @below {{the tensor is defined here}}
  func.func @main(%x: tensor<6x16xf32>, %r: tensor<6x8xf32>, %g: tensor<8x42x16xf32>, %d: tensor<8x16x42xf32>) -> tensor<6x16xf32> {
    // expected-error @below {{'nn.experts' op expected every tensor to have a sharding, got one without: run tp-propagate first}}
    %y = nn.experts %x, %r, %g, %g, %d {activation = "silu"} : (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>) -> tensor<6x16xf32>
    return %y : tensor<6x16xf32>
  }
}
