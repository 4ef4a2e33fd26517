//===- InterpreterTest.cpp - Programs of one device -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream operations against plain C++ or numbers worked out by hand.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include <cmath>

using namespace tp::interp;
using Numbers = std::vector<double>;

TEST(Interpreter, MatmulAsNamedAndGenericOperation) {
  const char *text = R"(
    #a = affine_map<(m, n, k) -> (m, k)>
    #b = affine_map<(m, n, k) -> (n, k)>
    #c = affine_map<(m, n, k) -> (m, n)>
    func.func @main(%x: tensor<5x70xf32>, %w: tensor<130x70xf32>)
        -> (tensor<5x130xf32>, tensor<5x130xf32>) {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<5x130xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x130xf32>)
          -> tensor<5x130xf32>
      %generic = linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : tensor<5x70xf32>, tensor<130x70xf32>)
          outs(%init : tensor<5x130xf32>) {
      ^bb0(%p: f32, %q: f32, %sum: f32):
        %product = arith.mulf %p, %q : f32
        %next = arith.addf %product, %sum : f32
        linalg.yield %next : f32
      } -> tensor<5x130xf32>
      %e = tensor.empty() : tensor<70x130xf32>
      %t = linalg.transpose ins(%w : tensor<130x70xf32>)
          outs(%e : tensor<70x130xf32>) permutation = [1, 0]
      %named = linalg.matmul ins(%x, %t : tensor<5x70xf32>, tensor<70x130xf32>)
          outs(%init : tensor<5x130xf32>) -> tensor<5x130xf32>
      return %generic, %named : tensor<5x130xf32>, tensor<5x130xf32>
    })";
  Tensor x = makeRandom({5, 70}, 1), w = makeRandom({130, 70}, 2);
  auto results = run(text, {x, w});
  ASSERT_EQ(results.size(), 2u);
  for (int64_t m = 0; m < 5; ++m)
    for (int64_t n = 0; n < 130; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < 70; ++k)
        sum += x.getFloat(m * 70 + k) * w.getFloat(n * 70 + k);
      EXPECT_EQ(results[0].getFloat(m * 130 + n), double(float(sum)));
      EXPECT_EQ(results[1].getFloat(m * 130 + n), double(float(sum)));
    }
}

TEST(Interpreter, SoftmaxInLinalg) {
  const char *text = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @main(%x: tensor<3x100xf32>) -> tensor<3x100xf32> {
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<3xf32>
      %m0 = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
      %s0 = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
      %max = linalg.generic {indexing_maps = [#id, #row],
          iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<3x100xf32>) outs(%m0 : tensor<3xf32>) {
      ^bb0(%a: f32, %m: f32):
        %1 = arith.maximumf %a, %m : f32
        linalg.yield %1 : f32
      } -> tensor<3xf32>
      %big = tensor.empty() : tensor<3x100xf32>
      %exp:2 = linalg.generic {indexing_maps = [#id, #row, #id, #row],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %max : tensor<3x100xf32>, tensor<3xf32>)
          outs(%big, %s0 : tensor<3x100xf32>, tensor<3xf32>) {
      ^bb0(%a: f32, %m: f32, %o: f32, %s: f32):
        %d = arith.subf %a, %m : f32
        %1 = math.exp %d : f32
        %2 = arith.addf %s, %1 : f32
        linalg.yield %1, %2 : f32, f32
      } -> (tensor<3x100xf32>, tensor<3xf32>)
      %r = linalg.generic {indexing_maps = [#row, #id],
          iterator_types = ["parallel", "parallel"]}
          ins(%exp#1 : tensor<3xf32>) outs(%exp#0 : tensor<3x100xf32>) {
      ^bb0(%s: f32, %a: f32):
        %1 = arith.divf %a, %s : f32
        linalg.yield %1 : f32
      } -> tensor<3x100xf32>
      return %r : tensor<3x100xf32>
    })";
  Tensor x = makeRandom({3, 100}, 7);
  auto results = run(text, {x});
  ASSERT_EQ(results.size(), 1u);
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 100; ++j)
      sum += std::exp(x.getFloat(i * 100 + j));
    for (int64_t j = 0; j < 100; ++j)
      EXPECT_NEAR(results[0].getFloat(i * 100 + j),
                  std::exp(x.getFloat(i * 100 + j)) / sum, 1e-8);
  }
}

TEST(Interpreter, SixteenBitAccumulatorsAreRoundedAtEachStep) {
  const char *text = R"(
    func.func @main(%x: tensor<1000xbf16>) -> tensor<bf16> {
      %zero = arith.constant dense<0.0> : tensor<bf16>
      %r = linalg.reduce { arith.addf } ins(%x : tensor<1000xbf16>)
          outs(%zero : tensor<bf16>) dimensions = [0]
      return %r : tensor<bf16>
    })";
  // 1 + 1 + ... stops at 256, where bf16 has steps of 2.
  Tensor ones({1000}, kBF16);
  for (int64_t i = 0; i < 1000; ++i)
    ones.setFloat(i, 1);
  auto results = run(text, {ones});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].getFloat(0), 256);
}

TEST(Interpreter, IndicesExtractsAndIntegers) {
  const char *text = R"(
    #id = affine_map<(i, j) -> (i, j)>
    #i = affine_map<(i, j) -> (i)>
    func.func @main(%ids: tensor<3xi64>, %table: tensor<10x70xf32>, %scale: f32)
        -> (tensor<3x70xf32>, tensor<3x70xi32>) {
      %e = tensor.empty() : tensor<3x70xf32>
      %f = tensor.empty() : tensor<3x70xi32>
      %r:2 = linalg.generic {indexing_maps = [#i, #id, #id],
          iterator_types = ["parallel", "parallel"]}
          ins(%ids : tensor<3xi64>) outs(%e, %f : tensor<3x70xf32>, tensor<3x70xi32>) {
      ^bb0(%id: i64, %o: f32, %p: i32):
        %row = arith.index_cast %id : i64 to index
        %j = linalg.index 1 : index
        %v = tensor.extract %table[%row, %j] : tensor<10x70xf32>
        %w = arith.mulf %v, %scale : f32
        %n = affine.apply affine_map<(d0, d1) -> ((d0 * 3 + d1) mod 7)>(%row, %j)
        %m = arith.index_cast %n : index to i32
        linalg.yield %w, %m : f32, i32
      } -> (tensor<3x70xf32>, tensor<3x70xi32>)
      return %r#0, %r#1 : tensor<3x70xf32>, tensor<3x70xi32>
    })";
  Tensor table = makeRandom({10, 70}, 3);
  Tensor ids = makeTensor({3}, {7, 0, 9}, kI64);
  Tensor scale = Tensor::scalarFloat(2, kF32);
  auto results = run(text, {ids, table, scale});
  ASSERT_EQ(results.size(), 2u);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 70; ++j) {
      int64_t row = ids.getInt(i);
      EXPECT_EQ(results[0].getFloat(i * 70 + j),
                2 * table.getFloat(row * 70 + j));
      EXPECT_EQ(results[1].getInt(i * 70 + j), (row * 3 + j) % 7);
    }
  ids = makeTensor({3}, {7, 0, 10}, kI64);
  EXPECT_EQ(runError(text, {ids, table, scale}),
            "index out of range: expected 0 <= index < 10 in dimension 0, got "
            "10");
}

TEST(Interpreter, TakesOneBranchOfABody) {
  // A division or look-up of the other branch stops nothing.
  const char *text = R"(
    #i = affine_map<(i) -> (i)>
    func.func @main(%x: tensor<70xi32>, %table: tensor<4xi32>)
        -> tensor<70xi32> {
      %e = tensor.empty() : tensor<70xi32>
      %r = linalg.generic {indexing_maps = [#i, #i],
          iterator_types = ["parallel"]}
          ins(%x : tensor<70xi32>) outs(%e : tensor<70xi32>) {
      ^bb0(%a: i32, %o: i32):
        %zero = arith.constant 0 : i32
        %four = arith.constant 4 : index
        %isZero = arith.cmpi eq, %a, %zero : i32
        %i = linalg.index 0 : index
        %v = scf.if %isZero -> i32 {
          %fits = arith.cmpi slt, %i, %four : index
          %w = scf.if %fits -> i32 {
            %t = tensor.extract %table[%i] : tensor<4xi32>
            scf.yield %t : i32
          } else {
            scf.yield %a : i32
          }
          scf.yield %w : i32
        } else {
          %hundred = arith.constant 100 : i32
          %q = arith.divsi %hundred, %a : i32
          scf.yield %q : i32
        }
        linalg.yield %v : i32
      } -> tensor<70xi32>
      return %r : tensor<70xi32>
    })";
  ElementType kI32{ElementType::Int, 32};
  Numbers x(70, 0), expected(70, 0);
  Numbers table = {5, 6, 7, 8};
  for (int64_t i = 0; i < 70; ++i)
    if (i % 3 == 0) {
      x[i] = double(i + 1);
      expected[i] = double(100 / (i + 1));
    } else if (i < 4) {
      expected[i] = table[i];
    }
  auto results =
      run(text, {makeTensor({70}, x, kI32), makeTensor({4}, table, kI32)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(getNumbers(results[0]), expected);
}

TEST(Interpreter, MovesElements) {
  const char *text = R"(
    func.func @main(%x: tensor<4x6xf32>) -> (tensor<2x3xf32>, tensor<4x8xf32>,
        tensor<6x6xf32>, tensor<2x2x6xf32>, tensor<2x6xf32>) {
      %slice = tensor.extract_slice %x[1, 0] [2, 3] [2, 2]
          : tensor<4x6xf32> to tensor<2x3xf32>
      %c = arith.constant 9.0 : f32
      %pad = tensor.pad %x low[0, 2] high[0, 0] {
      ^bb0(%i: index, %j: index):
        tensor.yield %c : f32
      } : tensor<4x6xf32> to tensor<4x8xf32>
      %head = tensor.extract_slice %x[0, 0] [2, 6] [1, 1]
          : tensor<4x6xf32> to tensor<2x6xf32>
      %cat = tensor.concat dim(0) %head, %x
          : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
      %expand = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 6]
          : tensor<4x6xf32> into tensor<2x2x6xf32>
      %at = arith.constant dense<[[3], [1]]> : tensor<2x1xindex>
      %rows = tensor.gather %x[%at] gather_dims([0])
          : (tensor<4x6xf32>, tensor<2x1xindex>) -> tensor<2x6xf32>
      return %slice, %pad, %cat, %expand, %rows : tensor<2x3xf32>,
          tensor<4x8xf32>, tensor<6x6xf32>, tensor<2x2x6xf32>, tensor<2x6xf32>
    })";
  Tensor x({4, 6}, kF32);
  for (int64_t i = 0; i < 24; ++i)
    x.setFloat(i, i);
  auto results = run(text, {x});
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(getNumbers(results[0]), (Numbers{6, 8, 10, 18, 20, 22}));
  EXPECT_EQ(results[1].getFloat(0), 9);
  EXPECT_EQ(results[1].getFloat(10), 6);
  EXPECT_EQ(results[2].getFloat(6), 6);
  EXPECT_EQ(results[2].getFloat(12), 0);
  EXPECT_EQ(results[3].getShape(), llvm::ArrayRef<int64_t>({2, 2, 6}));
  EXPECT_EQ(results[4].getFloat(0), 18);
  EXPECT_EQ(results[4].getFloat(6), 6);
}

TEST(Interpreter, RepeatsLayersWithParametersAndStacks) {
  const char *text = R"(
    func.func @main(%x: tensor<2xf32>, %s: tensor<3x2xf32>)
        -> (tensor<2xf32>, tensor<3x2xf32>) {
      %r:2 = tp.repeat 3 times iter(%x) stacked(%s)
          : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
      ^bb0(%i: index, %c: tensor<2xf32>, %a: tensor<2xf32>):
        %w = tp.parameter "layers.{i}.bias" : tensor<2xf32>
        %y = arith.addf %c, %a : tensor<2xf32>
        %z = arith.addf %y, %w : tensor<2xf32>
        tp.yield %z, %y : tensor<2xf32>, tensor<2xf32>
      }
      return %r#0, %r#1 : tensor<2xf32>, tensor<3x2xf32>
    })";
  RandomParameters parameters(5);
  InterpreterOptions options;
  options.parameters = &parameters;
  Tensor x = makeTensor({2}, {1, 2});
  Tensor s = makeTensor({3, 2}, {10, 20, 30, 40, 50, 60});
  auto results = run(text, {x, s}, options);
  ASSERT_EQ(results.size(), 2u);
  float expected = 1;
  for (int64_t i = 0; i < 3; ++i) {
    expected += float(s.getFloat(2 * i));
    EXPECT_EQ(results[1].getFloat(2 * i), expected);
    std::string name = "layers." + std::to_string(i) + ".bias";
    expected += float(uniform(5, name, 0) - 0.5);
  }
  EXPECT_EQ(results[0].getFloat(0), expected);
}

TEST(Interpreter, CallsFunctions) {
  const char *text = R"(
    func.func private @twice(%x: tensor<3xi32>) -> tensor<3xi32> {
      %y = arith.addi %x, %x : tensor<3xi32>
      return %y : tensor<3xi32>
    }
    func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
      %y = call @twice(%x) : (tensor<3xi32>) -> tensor<3xi32>
      %z = call @twice(%y) : (tensor<3xi32>) -> tensor<3xi32>
      return %z : tensor<3xi32>
    })";
  Tensor x = makeTensor({3}, {1, -7, 1 << 30}, {ElementType::Int, 32});
  auto results = run(text, {x});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(getNumbers(results[0]), (Numbers{4, -28, 0}));
}

TEST(Interpreter, RefusesWhatItDoesNotHave) {
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = arith.constant 1 : i1
      %r = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    })",
                     {makeRandom({4}, 1)}),
            "the interpreter has no operation 'scf.if'");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      return %x : tensor<4xcomplex<f32>>
    })",
                     {makeRandom({4}, 1)}),
            "expected argument 0 to be of 'tensor<4xcomplex<f32>>', got "
            "another shape or type");
  InterpreterOptions small;
  small.maxElements = 10;
  EXPECT_EQ(runError(R"(
    func.func @main() -> tensor<4x3xf32> {
      %r = tensor.empty() : tensor<4x3xf32>
      return %r : tensor<4x3xf32>
    })",
                     {}, small),
            "expected a tensor of at most 10 elements, got 'tensor<4x3xf32>'");
  EXPECT_EQ(runError(R"(
    func.func @main(%x: i32) -> i32 {
      %c = arith.constant 0 : i32
      %r = arith.divsi %x, %c : i32
      return %r : i32
    })",
                     {Tensor::scalarInt(1, {ElementType::Int, 32})}),
            "division by zero");
}

TEST(Interpreter, CollectivesOverGroups) {
  const char *text = R"(
    tp.mesh @mesh <["dp"=2, "tp"=2]>
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<3xf32>,
        tensor<8xf32>, tensor<4xf32>, index, tensor<4xf32>) {
      %ar = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
      %rs = tp.reduce_scatter max %x dim 0 over @mesh ["dp"] : tensor<4xf32> -> tensor<3xf32>
      %ag = tp.all_gather %x dim 0 over @mesh ["dp"] : tensor<4xf32> -> tensor<8xf32>
      %kf = tp.keep_first %x over @mesh ["tp"] : tensor<4xf32>
      %r = tp.rank @mesh ["tp", "dp"]
      %p = tp.collective_permute %x over @mesh ["dp", "tp"] pairs dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64> : tensor<4xf32> -> tensor<4xf32>
      return %ar, %rs, %ag, %kf, %r, %p : tensor<4xf32>, tensor<3xf32>, tensor<8xf32>, tensor<4xf32>, index, tensor<4xf32>
    })";
  RankTensors x;
  for (int64_t rank = 0; rank < 4; ++rank)
    x.push_back(makeTensor(
        {4}, {10.0 * rank, 10.0 * rank + 1, 10.0 * rank + 2, 10.0 * rank + 3}));
  InterpreterOptions options;
  options.numRanks = 4;
  auto results = runRanks(text, {x}, options);
  ASSERT_TRUE(mlir::succeeded(results));
  auto at = [&](unsigned result, unsigned rank) {
    return getNumbers((*results)[result][rank]);
  };
  EXPECT_EQ(at(0, 0), (Numbers{10, 12, 14, 16}));
  EXPECT_EQ(at(0, 3), (Numbers{50, 52, 54, 56}));
  EXPECT_EQ(at(1, 1), (Numbers{30, 31, 32}));
  EXPECT_EQ(at(1, 3), (Numbers{33, 0, 0}));
  EXPECT_EQ(at(2, 2), (Numbers{0, 1, 2, 3, 20, 21, 22, 23}));
  EXPECT_EQ(at(3, 2), (Numbers{20, 21, 22, 23}));
  EXPECT_EQ(at(3, 3), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ((Numbers{at(4, 0)[0], at(4, 1)[0], at(4, 2)[0], at(4, 3)[0]}),
            (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(at(5, 0), (Numbers{30, 31, 32, 33}));
  EXPECT_EQ(at(5, 3), (Numbers{20, 21, 22, 23}));
}

TEST(Interpreter, AllToAllAndSliceOfASubAxis) {
  const char *text = R"(
    tp.mesh @mesh <["tp"=4]>
    func.func @main(%x: tensor<1x4xf32>, %y: tensor<6xf32>)
        -> (tensor<4x1xf32>, tensor<3xf32>) {
      %a = tp.all_to_all %x split 1 gather 0 over @mesh ["tp"] : tensor<1x4xf32> -> tensor<4x1xf32>
      %s = tp.slice %y dim 0 over @mesh ["tp":(1)2] : tensor<6xf32> -> tensor<3xf32>
      return %a, %s : tensor<4x1xf32>, tensor<3xf32>
    })";
  RankTensors x, y;
  for (int64_t rank = 0; rank < 4; ++rank) {
    x.push_back(makeTensor({1, 4}, {10.0 * rank, 10.0 * rank + 1,
                                    10.0 * rank + 2, 10.0 * rank + 3}));
    y.push_back(makeTensor({6}, {0, 1, 2, 3, 4, 5}));
  }
  InterpreterOptions options;
  options.numRanks = 4;
  auto results = runRanks(text, {x, y}, options);
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ(getNumbers((*results)[0][2]), (Numbers{2, 12, 22, 32}));
  EXPECT_EQ(getNumbers((*results)[1][1]), (Numbers{0, 1, 2}));
  EXPECT_EQ(getNumbers((*results)[1][2]), (Numbers{3, 4, 5}));
}
