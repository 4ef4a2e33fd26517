// RUN: tp-opt %s --test-tp-vjp --verify-diagnostics

func.func @statistic(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %dy: tensor<8x64xf32>, %dr: tensor<8xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{'nn.rms_norm' op has no vector-Jacobian product for result 1, which is a statistic}}
  %0:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64, test.vjp} : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return %0#0 : tensor<8x64xf32>
}
