//===- Passes.td - Passes of the import stage -------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What brings programs written elsewhere into the form of import.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_PASSES_TD
#define TP_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareCalls : Pass<"tp-prepare-calls", "::mlir::ModuleOp"> {
  let summary = "keep what called functions say of their values";
  let description = [{
    Runs before the inliner, which drops the attributes of arguments, results and
    calls. A `tp.sharding` of a called function's argument or result becomes a
    tp.sharding_constraint in its body, and a sharding of a call's result one
    behind the call. A private function is an error if it says anything else of a
    value but its name, because nothing would be left of it.

    Why not the inliner's own hooks: they belong to the dialect of the function.

    Precondition: none; functions that nobody calls stay as they are.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = call @block(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    func.func private @block(%h: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"} ]>}) -> tensor<4x8xf32> {
      %0 = nn.silu %h : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
    After:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = call @block(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    func.func private @block(%h: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"} ]>}) -> tensor<4x8xf32> {
      %0 = tp.sharding_constraint %h <@mesh, [{}, {"tp"} ]> : tensor<4x8xf32>
      %1 = nn.silu %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def RollLayers : Pass<"tp-roll-layers", "::mlir::ModuleOp"> {
  let summary = "turn layers that repeat into tp.repeat";
  let description = [{
    Finds runs of segments that are the same but for one number in the names of
    their parameters, and in which each segment reads what the one before it
    computed. Each run becomes one tp.repeat, so that everything after works on
    one segment, however deep the model. A segment is a layer, and the number
    goes up by one; or it is the p layers after which they repeat, the number
    goes up by p, and names in the loop have it as `{p*{i}+b}`. As few layers
    are written as can be: of those in no loop one each, of a loop p. Two layers
    are alike if their operations, attributes and types are equal and operands
    correspond; a layer with another constant, attribute or shape stays apart,
    or makes the period longer. A tp.repeat of no iterations is its initial
    values.

    Why not upstream's loop rerolling: there is none for tensors.

    Precondition: none; what does not repeat stays as it is.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %w0 = tp.parameter "layers.0.w" : tensor<8x8xf32>
      %0 = nn.linear %x, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %w1 = tp.parameter "layers.1.w" : tensor<8x8xf32>
      %1 = nn.linear %0, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %1 = tp.repeat 2 times iter(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      ^bb0(%i: index, %h: tensor<4x8xf32>):
        %w = tp.parameter "layers.{i}.w" : tensor<8x8xf32>
        %y = nn.linear %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
        tp.yield %y : tensor<4x8xf32>
      }
      return %1 : tensor<4x8xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numRepeats", "repeats", "tp.repeat made">,
    Statistic<"numLayers", "layers", "layers rolled into them">
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def NoteParameters : Pass<"tp-note-parameters", "::mlir::ModuleOp"> {
  let summary = "check the names of parameters, and note them";
  let description = [{
    The first pass of every stage up to schedule. One name is one tensor of the
    checkpoint: two parameters, in whichever functions, whose names or templates
    meet must agree on its shape, its element type and its alternatives. The names
    are noted on the module for tp-ignore-parameters, at the end of the stage.

    Why not the verifier of tp.parameter: no operation sees all functions, and a
    search from each one would be quadratic.

    Precondition: none.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = tp.repeat 2 times iter(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
      ^bb0(%i: index, %h: tensor<4x8xf32>):
        %w = tp.parameter "layers.{i}.w" : tensor<8x8xf32>
        %z = nn.linear %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
        tp.yield %z : tensor<4x8xf32>
      }
      return %y : tensor<4x8xf32>
    }
    ```
    After:
    ```mlir
    module attributes {tp.noted_parameters = [["layers.{i}.w", 0, 2]]} {
      func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
        ... // as before
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def IgnoreParameters : Pass<"tp-ignore-parameters", "::mlir::ModuleOp"> {
  let summary = "note what became of parameters that are gone";
  let description = [{
    The last pass of every stage up to schedule. Whatever a stage removes, merges
    or finds unused, a parameter that the user wrote is loaded or ignored: those
    noted by tp-note-parameters that the program has no more are added to
    tp.ignored_tensors, so that a checkpoint may have them. Parameters that are
    there and unused at the end are ignored by the manifest in the same way.

    Precondition: none; a module without notes stays as it is.

    Before:
    ```mlir
    module attributes {tp.noted_parameters = [["old.bias", 0, 1], ["w", 0, 1]]} {
      func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
        %w = tp.parameter "w" : tensor<8x8xf32>
        %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
        return %y : tensor<4x8xf32>
      }
    }
    ```
    After:
    ```mlir
    module attributes {tp.ignored_tensors = ["old.bias"]} {
      func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
        ... // as before
    ```
  }];
  let statistics = [
    Statistic<"numIgnored", "ignored", "patterns of names added">
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TP_IMPORT_PASSES_TD
