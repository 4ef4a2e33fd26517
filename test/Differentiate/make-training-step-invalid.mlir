// RUN: tp-opt %s --tp-differentiate --tp-make-training-step -split-input-file -verify-diagnostics

// expected-error @+1 {{expected tp.training to have 'optimizer' ("adamw" or "sgd"), 'clip' (a number that is not negative), 'momentum' (of sgd) and 'shard_optimizer' (a mesh axis), got 'optimizer' = "adam"}}
module attributes {tp.training = {optimizer = "adam"}} {
}

// -----

// expected-error @+1 {{expected tp.training to have an 'optimizer', and 'momentum' only with "sgd", got {momentum, optimizer = "adamw"}}}
module attributes {tp.training = {optimizer = "adamw", momentum}} {
}

// -----

// expected-error @+1 {{expected a function with a result marked tp.loss and one with its gradients, for the module asks for training (tp.training)}}
module attributes {tp.training = {optimizer = "adamw"}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {tp.training = {optimizer = "adamw"}} {
  // expected-error @+1 {{expected a result named 'tokens' of type tensor<f32>, for a training step adds up the loss and counts tokens}}
  func.func @main(%x: tensor<f32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<i32> {tp.name = "tokens"}) {
    %w = tp.parameter "w" : tensor<f32>
    %y = arith.mulf %w, %x : tensor<f32>
    %one = arith.constant dense<1> : tensor<i32>
    return %y, %one : tensor<f32>, tensor<i32>
  }
}

// -----

// expected-error @+1 {{expected no @update in a module that asks for training}}
module attributes {tp.training = {optimizer = "adamw"}} {
  func.func @main(%x: tensor<f32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}) {
    %w = tp.parameter "w" : tensor<f32>
    %y = arith.mulf %w, %x : tensor<f32>
    return %y : tensor<f32>
  }
  // expected-note @+1 {{it is here}}
  func.func @update() {
    return
  }
}

// -----

module attributes {tp.training = {optimizer = "adamw"}} {
  // expected-note @+1 {{it is here}}
  tp.state @"grad:w" : tensor<f32>
  func.func @main(%x: tensor<f32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
    // expected-error @+1 {{expected the symbol 'grad:w' to be free for a state of the training step}}
    %w = tp.parameter "w" : tensor<f32>
    %y = arith.mulf %w, %x : tensor<f32>
    return %y, %x : tensor<f32>, tensor<f32>
  }
}
