// RUN: tp-opt --split-input-file --verify-diagnostics --tp-insert-reshards %s

// expected-error @+1 {{expected the module to have exactly one tp.mesh to partition for}}
module {
  func.func @main(%x: tensor<8xf32>) {
    return
  }
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-note @+1 {{the tensor is defined here}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'arith.negf' op expected every tensor to have a sharding, got one without: run tp-propagate first}}
  %y = arith.negf %x {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{?}]>}) -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'arith.negf' op expected closed shardings, got #tp.sharding<@mesh, [{?}]>: run tp-propagate first}}
  %y = arith.negf %x {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'math.exp' op result 0: expected the sharding that the operation gives, [{}], got [{}], partial sum {"tp"}: run tp-propagate first}}
  %y = math.exp %x {tp.shardings = [#tp.sharding<@mesh, [{}], partial sum {"tp"}>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<1x4xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %g: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) -> (tensor<1x4xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  // expected-error @+1 {{'nn.rms_norm' op result 0: expected the sharding that the operation gives, [{}, {}], got [{}, {"tp"}]: run tp-propagate first}}
  %y = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64, tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{'func.return' op expected result 0 of the function to have a sharding: run tp-propagate first}}
  return %x : tensor<8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.reshard' op expected a program without reshards: tp-insert-reshards runs once}}
  %y = tp.reshard %x from <@mesh, [{}]> to <@mesh, [{}]> {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.repeat' op expected the layers of a stacked result to be whole: dimension 0 cannot be split}}
  %0:2 = tp.repeat 2 times iter(%x) {tp.shardings = [#tp.sharding<@mesh, [{}]>, #tp.sharding<@mesh, [{"tp"}, {}]>]} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  ^bb0(%i: index, %h: tensor<8xf32>):
    tp.yield %h, %h : tensor<8xf32>, tensor<8xf32>
  }
  return
}
