//===- Passes.td - The differentiate stage ----------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a function that computes a loss to one that computes its gradient.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIFFERENTIATE_PASSES_TD
#define TP_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"tp-differentiate", "::mlir::ModuleOp"> {
  let summary = "make @gradient of the function whose result is the loss";
  let description = [{
    Of a function with a result marked `tp.loss` makes `@gradient`, which takes
    the same arguments and returns the same results and then the gradient of
    each float tp.parameter, in its shape and type (f32 of 16 bits), marked with
    its name (`tp.gradient`). A parameter of a repeated layer has one result, a slice for
    each layer; what several operations read is one parameter, whose
    contributions are added. The function itself stays as it is.

    Differentiation in reverse mode, of whole programs as upstream has no pass
    for it: nn operations have a derivative of their own (`buildVjp`), linalg
    operations one that follows from their body and maps, and so have arith,
    math and tensor. A tp.repeat becomes two: the forward one also stacks what
    the derivative reads and `recompute` lets it keep, and one in reverse carries the cotangents and stacks the gradients. Integers have
    no derivative. docs/Differentiate.md has the list, and what is decided where
    a function has no derivative.

    Precondition: no calls (import inlines them), no @gradient. A module without
    a loss, or with gradients already, stays as it is.

    Before:
    ```mlir
    func.func @main(%x: tensor<8xf32>) -> (tensor<f32> {tp.loss}) {
      %w = tp.parameter "w" : tensor<8xf32>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %loss = linalg.dot ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    After:
    ```mlir
    func.func @gradient(%x: tensor<8xf32>) -> (tensor<f32> {tp.loss}, tensor<8xf32> {tp.gradient = #tp.gradient<"w">}) {
      ...
      %one = arith.constant dense<1.000000e+00> : tensor<f32>
      ...
      %dw = linalg.generic {...} ins(%x, %one : tensor<8xf32>, tensor<f32>) ... {
        ...
        %0 = arith.mulf %in_one, %in_x : f32
        ...
      } -> tensor<8xf32>
      return %loss, %dw : tensor<f32>, tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"recompute", "recompute", "::tp::Recompute", "::tp::Recompute::Selective",
           "what the derivative of a repeated layer computes again",
           [{::tp::getRecomputeValues()}]>
  ];
  let statistics = [
    Statistic<"numGradients", "gradients", "parameters with a gradient">,
    Statistic<"numKept", "kept", "values of layers that are kept for the derivative">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
}

def MakeTrainingStep : Pass<"tp-make-training-step", "::mlir::ModuleOp"> {
  let summary = "make a training step of a gradient";
  let description = [{
    Where the module asks for it with `tp.training` (import writes it for
    `--train`: `optimizer` = "adamw" or "sgd", `clip`, `momentum`), three
    functions are made of the loss and its gradient:

    - the forward one, which reads weights from states instead of parameters;
    - `@gradient`, which adds `loss_sum`, `tokens` and the gradients to states,
      in f32; layer by layer where a tp.repeat makes them;
    - `@update`, which divides the gradients by the tokens, clips them, makes new
      weights, and sets what was added up to zero. Without a token, or where the
      loss or the gradients' norm is not finite, nothing else changes.
      Parameters of one dimension do not decay.

    A parameter has a state by its name (a template one with a slice for each
    layer), and beside it `grad:`, for AdamW `exp_avg:` and `exp_avg_sq:`, for SGD
    with momentum `momentum:`, and of 16-bit weights `master:`, which begins with
    the same tensor in f32. `tp.training` then says which states belong together.
    docs/Training.md has the functions' inputs and results.

    Precondition: tp-differentiate has run; the loss's function returns a
    tensor<f32> named `loss_sum` and one named `tokens`.

    Before:
    ```mlir
    module attributes {tp.training = {optimizer = "sgd"}} {
      func.func @main(%x: tensor<8xf32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
        %zero = arith.constant dense<0.0> : tensor<f32>
        %one = arith.constant dense<1.0> : tensor<f32>
        %w = tp.parameter "w" : tensor<8xf32>
        %loss = linalg.dot ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
        return %loss, %one : tensor<f32>, tensor<f32>
      }
      func.func @gradient(%x: tensor<8xf32>) -> (tensor<f32> {tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}, tensor<8xf32> {tp.gradient = #tp.gradient<"w">}) {
        %zero = arith.constant dense<0.0> : tensor<f32>
        %one = arith.constant dense<1.0> : tensor<f32>
        %w = tp.parameter "w" : tensor<8xf32>
        %loss = linalg.dot ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
        return %loss, %one, %x : tensor<f32>, tensor<f32>, tensor<8xf32>
      }
    }
    ```
    After:
    ```mlir
    module attributes {...} {
      tp.state @w : tensor<8xf32> parameter "w"
      tp.state @"grad:w" : tensor<8xf32>
      tp.state @loss_sum : tensor<f32>
      tp.state @tokens : tensor<f32>
      func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32> {tp.state = @w}) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
        ...
      }
      func.func @gradient(%x: tensor<8xf32>, %old: tensor<8xf32> {tp.state = @"grad:w"}, ..., %w: tensor<8xf32> {tp.state = @w})
          -> (tensor<8xf32> {tp.state = @"grad:w"}, tensor<f32> {tp.state = @loss_sum}, tensor<f32> {tp.state = @tokens}) {
        %sum = arith.addf %old, %x : tensor<8xf32>
        ...
      }
      func.func @update(%lr: tensor<f32> {tp.name = "lr", tp.values = "positive"}, %decay: tensor<f32> {tp.name = "weight_decay", tp.values = "positive"}, %g: tensor<8xf32> {tp.state = @"grad:w"}, ...)
          -> (tensor<f32> {tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}, tensor<f32> {tp.name = "grad_norm"}, tensor<f32> {tp.state = @loss_sum}, tensor<f32> {tp.state = @tokens}, tensor<8xf32> {tp.state = @w}, tensor<8xf32> {tp.state = @"grad:w"}) {
        ...
      }
    }
    ```
  }];
  let statistics = [
    Statistic<"numWeights", "weights", "parameters that are trained">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::tp::TPDialect"];
}

#endif // TP_DIFFERENTIATE_PASSES_TD
