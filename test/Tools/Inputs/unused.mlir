// Two parameters that no result depends on, one of them by dead arithmetic.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = tp.parameter "w" : tensor<8x8xf32>
  %b = tp.parameter "old.bias" : tensor<8xf32>
  %0 = arith.negf %b : tensor<8xf32>
  %h = tp.repeat 2 times iter(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%i: index, %c: tensor<4x8xf32>):
    %s = tp.parameter "layers.{i}.scale" : tensor<8xf32>
    %y = nn.linear %c, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    tp.yield %y : tensor<4x8xf32>
  }
  return %h : tensor<4x8xf32>
}
