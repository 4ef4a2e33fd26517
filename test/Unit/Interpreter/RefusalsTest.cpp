//===- RefusalsTest.cpp - Programs that the interpreter refuses -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One fault each, with the exact text: what the interpreter does not have, what
// does not fit the ranks that it was asked to run, and numbers out of range.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

using namespace tp::interp;

namespace {

/// The same for the body of @main, which takes nothing and gives nothing.
std::string bodyError(llvm::StringRef body, InterpreterOptions options = {}) {
  return runError(("tp.mesh @mesh <[\"tp\"=2]>\n"
                   "func.func @main() {\n" +
                   body + "\nreturn\n}")
                      .str(),
                  {}, options);
}

/// The same for the body of a linalg.generic over four elements, with the
/// captured values %wide (an i128) and %many (a tensor).
std::string kernelError(llvm::StringRef body) {
  return runError((R"(
    func.func @main(%wide: i128, %many: tensor<4xf32>) {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
      ^bb0(%o: f32):
        )" + body + R"(
        linalg.yield %o : f32
      } -> tensor<4xf32>
      return
    })")
                      .str(),
                  {Tensor::scalarInt(1), makeRandom({4}, 1)});
}

} // namespace

TEST(Refusals, Functions) {
  EXPECT_EQ(runError(R"(
    func.func private @outside()
    func.func @main() {
      call @outside() : () -> ()
      return
    })",
                     {}),
            "the interpreter needs the body of \"outside\"");
  EXPECT_EQ(runError(R"(
    func.func @main() {
      cf.br ^bb1
    ^bb1:
      return
    })",
                     {}),
            "the interpreter runs functions of one block, got several");
  EXPECT_EQ(runError(R"(
    func.func @main() {
      call @main() : () -> ()
      return
    })",
                     {}),
            "calls are nested deeper than 64");
  EXPECT_EQ(runError("func.func @main(%x: tensor<4xf32>) { return }", {}),
            "expected 1 arguments, got 0");
}

TEST(Refusals, Ranks) {
  InterpreterOptions two;
  two.numRanks = 2;
  RandomParameters parameters(1);
  two.parameters = &parameters;
  EXPECT_EQ(runError("func.func @main(%x: tensor<4xf32>) { return }",
                     {makeRandom({4}, 1)}, two),
            "expected argument 0 for 2 ranks, got 1");
  EXPECT_EQ(bodyError(R"(
      %x = tensor.empty() : tensor<4xf32>
      %0 = tp.reshard %x from <@mesh, [{"tp"}]> to <@mesh, [{}]> : tensor<4xf32>)",
                      two),
            "expected collectives in a per-rank program, got a reshard that "
            "was not carried out");
  EXPECT_EQ(bodyError(R"(
      %0 = tp.parameter "w" {tp.global_type = tensor<8xf32>,
          tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} : tensor<8xf32>)",
                      two),
            "expected the local type of 'tensor<8xf32>' with the sharding "
            "given, got 'tensor<8xf32>'; the mesh is here");
}

TEST(Refusals, Parameters) {
  EXPECT_EQ(bodyError("%0 = tp.parameter \"w\" : tensor<4xf32>"),
            "the interpreter was given no values for parameters");
  InterpreterOptions options;
  RandomParameters parameters(1);
  options.parameters = &parameters;
  EXPECT_EQ(bodyError("%0 = tp.parameter \"w\" : tensor<4xi32>", options),
            "expected random parameter 'w' to be of a float type, got "
            "integers: give it values with --weights DIR");
}

TEST(Refusals, Types) {
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xf32>) {
      %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
      return
    })",
                     {makeRandom({4}, 1)}),
            "the interpreter needs static shapes, got 'tensor<?xf32>'");
  EXPECT_EQ(bodyError("%0 = tensor.empty() : tensor<4xcomplex<f32>>"),
            "the interpreter has no element type of 'tensor<4xcomplex<f32>>'");
  EXPECT_EQ(bodyError("%0 = arith.constant 1 : i128"),
            "the interpreter has no constant of this form and type 'i128'");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: i128) {
      %0 = arith.addi %x, %x : i128
      return
    })",
                     {Tensor::scalarInt(1)}),
            "the interpreter has no element type of 'i128'");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: f32, %m: memref<4xf32>) {
      linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)
      return
    })",
                     {makeRandom({}, 1), makeRandom({4}, 1)}),
            "the interpreter runs programs of tensors, got an operation on "
            "buffers");
}

TEST(Refusals, Bodies) {
  EXPECT_EQ(runError(R"(
    func.func @main(%x: i128) {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> ()>,
          affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : i128) outs(%e : tensor<4xf32>) {
      ^bb0(%a: i128, %o: f32):
        linalg.yield %o : f32
      } -> tensor<4xf32>
      return
    })",
                     {Tensor::scalarInt(1)}),
            "the interpreter has no element type 'i128'");
  EXPECT_EQ(kernelError("%0 = arith.constant 1 : i128"),
            "the interpreter has no type 'i128'");
  EXPECT_EQ(kernelError("%0 = arith.constant dense<1.0> : tensor<4xf32>"),
            "the interpreter has no constant of type 'tensor<4xf32>' in the "
            "body of an operation");
  EXPECT_EQ(kernelError("%0 = arith.negf %many : tensor<4xf32>"),
            "the interpreter cannot use a value of type 'tensor<4xf32>' in the "
            "body of an operation; the value is made here");
  EXPECT_EQ(kernelError(R"(
        %c = arith.constant true
        %0 = scf.if %c -> i128 {
          scf.yield %wide : i128
        } else {
          scf.yield %wide : i128
        })"),
            "the interpreter cannot use a value of type 'i128' in the body of "
            "an operation");
  EXPECT_EQ(kernelError("%0 = arith.trunci %wide : i128 to i32"),
            "the interpreter has no element type of 'i128'");
  EXPECT_EQ(kernelError("%0 = tensor.empty() : tensor<4xf32>"),
            "the interpreter has no operation 'tensor.empty' in the body of an "
            "operation");
}

TEST(Refusals, Ranges) {
  Tensor x = makeRandom({4}, 1);
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xf32>, %i: index) {
      %0 = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
      return
    })",
                     {x, Tensor::scalarInt(3)}),
            "slice out of range: expected it within dimension 0 of size 4, got "
            "offset 3, size 2, stride 1");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xf32>, %i: index) {
      %0 = tensor.dim %x, %i : tensor<4xf32>
      return
    })",
                     {x, Tensor::scalarInt(3)}),
            "expected a dimension below 1, got 3");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: f32) {
      %0 = arith.fptosi %x : f32 to i8
      return
    })",
                     {makeTensor({}, {1000})}),
            "expected a number that fits 8 bits, got 1000.00");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xf32>) {
      %z = arith.constant 0.0 : f32
      %0 = tensor.pad %x low[-1] high[0] {
      ^bb0(%i: index):
        tensor.yield %z : f32
      } : tensor<4xf32> to tensor<3xf32>
      return
    })",
                     {x}),
            "the interpreter has no negative padding, got -1 "
            "before and 0 after dimension 0");
}
