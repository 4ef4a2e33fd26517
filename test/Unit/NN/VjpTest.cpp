//===- VjpTest.cpp - Derivatives against finite differences ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Along a random direction of each operand, the change of <cotangent, result>
// must be <gradient, direction>. In f64, so that differences are exact enough
// to tell a wrong term from noise.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "mlir/IR/Builders.h"
#include "tp/Interfaces/ShardingInterface.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

static Tensor makeLike(Type type, uint64_t seed) {
  auto tensor = cast<RankedTensorType>(type);
  return makeRandom(tensor.getShape(), seed,
                    *getElementType(tensor.getElementType()));
}

static double dot(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (int64_t i = 0; i < a.getNumElements(); ++i)
    sum += a.getNumber(i) * b.getNumber(i);
  return sum;
}

static Tensor addScaled(const Tensor &a, const Tensor &b, double scale) {
  Tensor sum = a.clone();
  for (int64_t i = 0; i < a.getNumElements(); ++i)
    sum.setFloat(i, a.getFloat(i) + scale * b.getFloat(i));
  return sum;
}

/// `@main(operands...)` returns all results of the one nn operation in it.
/// Integer operands are given; `constants` of the others have no gradient, and
/// `paddingRow` of a table, if it is one, zeros.
static void check(StringRef text, ArrayRef<Tensor> integers = {},
                  ArrayRef<unsigned> constants = {}, int64_t paddingRow = -1) {
  auto module = parseSourceString<ModuleOp>(text, &interp::getContext());
  ASSERT_TRUE(module) << text.str();
  auto forward = module->lookupSymbol<func::FuncOp>("main");
  // The gradient function: the same, with a cotangent per result.
  func::FuncOp backward = forward.clone();
  backward.setName("gradient");
  module->push_back(backward);
  Operation *op = nullptr;
  backward.walk([&](DifferentiableOpInterface found) { op = found; });
  ASSERT_TRUE(op);
  SmallVector<Value> cotangents;
  for (Type type : op->getResultTypes())
    cotangents.push_back(backward.front().addArgument(type, backward.getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  FailureOr<SmallVector<Value>> gradients =
      cast<DifferentiableOpInterface>(op).buildVjp(builder, cotangents);
  ASSERT_TRUE(succeeded(gradients));
  SmallVector<Value> returned;
  SmallVector<unsigned> which;
  for (auto [i, gradient] : llvm::enumerate(*gradients)) {
    bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(op->getOperand(i).getType()));
    EXPECT_EQ(bool(gradient), isFloat && !llvm::is_contained(constants, i))
        << "operand " << i;
    if (!gradient)
      continue;
    EXPECT_EQ(gradient.getType(), op->getOperand(i).getType());
    returned.push_back(gradient);
    which.push_back(i);
  }
  backward.front().getTerminator()->setOperands(returned);
  backward.setFunctionType(
      FunctionType::get(op->getContext(), backward.front().getArgumentTypes(),
                        TypeRange(ValueRange(returned))));

  SmallVector<Tensor> arguments, weights;
  for (auto [i, type] : llvm::enumerate(forward.getArgumentTypes())) {
    if (cast<RankedTensorType>(type).getElementType().isInteger()) {
      arguments.push_back(integers.front());
      integers = integers.drop_front();
    } else {
      arguments.push_back(makeLike(type, 10 + i));
    }
  }
  SmallVector<Tensor> all = arguments;
  for (auto [i, type] : llvm::enumerate(forward.getResultTypes())) {
    weights.push_back(makeLike(type, 100 + i));
    all.push_back(weights.back());
  }
  FailureOr<SmallVector<Tensor>> found = interpretOneRank(backward, all);
  ASSERT_TRUE(succeeded(found));
  auto evaluate = [&](ArrayRef<Tensor> at) {
    FailureOr<SmallVector<Tensor>> results = interpretOneRank(forward, at);
    EXPECT_TRUE(succeeded(results));
    double sum = 0;
    for (auto [result, weight] : llvm::zip_equal(*results, weights))
      sum += dot(result, weight);
    return sum;
  };
  const double step = 1e-3;
  for (auto [gradient, operand] : llvm::zip_equal(*found, which)) {
    Tensor direction =
        makeLike(forward.getArgumentTypes()[operand], 1000 + operand);
    int64_t width = gradient.getShape().back();
    for (int64_t i = 0; paddingRow >= 0 && i < width; ++i) {
      EXPECT_EQ(gradient.getFloat(paddingRow * width + i), 0);
      direction.setFloat(paddingRow * width + i, 0);
    }
    SmallVector<Tensor> plus = arguments, minus = arguments;
    plus[operand] = addScaled(arguments[operand], direction, step);
    minus[operand] = addScaled(arguments[operand], direction, -step);
    double difference = (evaluate(plus) - evaluate(minus)) / (2 * step);
    double expected = dot(gradient, direction);
    EXPECT_NEAR(difference, expected, 1e-3 * (1 + std::abs(difference)))
        << "operand " << operand << " of " << text.str();
  }
}

TEST(Vjp, Linear) {
  check(
      R"(func.func @main(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
    %0 = nn.linear %x, %w bias %b : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
    return %0 : tensor<2x3x5xf64>
  })");
}

TEST(Vjp, Norms) {
  check(
      R"(func.func @main(%x: tensor<2x3x8xf64>, %w: tensor<8xf64>) -> tensor<2x3x8xf64> {
    %0 = nn.rms_norm %x, %w {epsilon = 0.01 : f64} : (tensor<2x3x8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
    return %0 : tensor<2x3x8xf64>
  })");
  check(
      R"(func.func @main(%x: tensor<2x3x8xf64>, %w: tensor<8xf64>, %b: tensor<8xf64>) -> tensor<2x3x8xf64> {
    %0 = nn.layer_norm %x, %w bias %b {epsilon = 0.01 : f64} : (tensor<2x3x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
    return %0 : tensor<2x3x8xf64>
  })");
}

TEST(Vjp, ElementWiseAndSoftmax) {
  for (const char *op :
       {"nn.gelu erf", "nn.gelu tanh", "nn.silu", "nn.softmax"})
    check((llvm::Twine("func.func @main(%x: tensor<3x8xf64>) -> "
                       "tensor<3x8xf64> {\n %0 = ") +
           op + " %x : tensor<3x8xf64>\n return %0 : tensor<3x8xf64>\n}")
              .str());
}

TEST(Vjp, Rotary) {
  check(
      R"(func.func @main(%x: tensor<2x3x2x8xf64>, %c: tensor<3x3xf32>, %s: tensor<3x3xf32>) -> tensor<2x3x2x8xf64> {
    %0 = nn.rotary %x, %c, %s : (tensor<2x3x2x8xf64>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x2x8xf64>
    return %0 : tensor<2x3x2x8xf64>
  })",
      {}, {1, 2});
}

// Ids and labels outside the vocabulary count for nothing.
static Tensor makeIds() {
  return makeTensor({2, 3}, {0, 4, 4, -1, 3, 7}, kI64);
}

TEST(Vjp, Vocabulary) {
  check(
      R"(func.func @main(%i: tensor<2x3xi64>, %t: tensor<7x4xf64>) -> tensor<2x3x4xf64> {
    %0 = nn.embedding %i, %t : (tensor<2x3xi64>, tensor<7x4xf64>) -> tensor<2x3x4xf64>
    return %0 : tensor<2x3x4xf64>
  })",
      {makeIds()});
  // 4 occurs twice, 2 never.
  for (int64_t row : {0, 2, 4})
    check(
        (R"(func.func @main(%i: tensor<2x3xi64>, %t: tensor<7x4xf64>) -> tensor<2x3x4xf64> {
    %0 = nn.embedding %i, %t {padding_row = )" +
         llvm::Twine(row) +
         R"( : i64} : (tensor<2x3xi64>, tensor<7x4xf64>) -> tensor<2x3x4xf64>
    return %0 : tensor<2x3x4xf64>
  })")
            .str(),
        {makeIds()}, {}, row);
  check(
      R"(func.func @main(%l: tensor<2x3x7xf64>, %i: tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %0:2 = nn.cross_entropy %l, %i : (tensor<2x3x7xf64>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xf32>
  })",
      {makeIds()});
}

TEST(Vjp, Attention) {
  for (const char *attributes : {"", "causal, ", "causal, window = 2 : i64, "})
    check((llvm::Twine("func.func @main(%q: tensor<2x3x4x6xf64>, %k: "
                       "tensor<2x5x2x6xf64>, %v: tensor<2x5x2x6xf64>) -> "
                       "(tensor<2x3x4x6xf64>, tensor<2x3x4xf32>) {\n"
                       " %0:2 = nn.attention %q, %k, %v {") +
           attributes +
           "scale = 0.3 : f64} : (tensor<2x3x4x6xf64>, tensor<2x5x2x6xf64>, "
           "tensor<2x5x2x6xf64>) -> (tensor<2x3x4x6xf64>, tensor<2x3x4xf32>)\n"
           " return %0#0, %0#1 : tensor<2x3x4x6xf64>, tensor<2x3x4xf32>\n}")
              .str());
}

// The second sequence sees no key: zeros, and no gradient.
TEST(Vjp, MaskedAttention) {
  Tensor mask = makeTensor({2, 5}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0}, kI64);
  check(
      R"(func.func @main(%q: tensor<2x3x4x6xf64>, %k: tensor<2x5x2x6xf64>, %v: tensor<2x5x2x6xf64>, %m: tensor<2x5xi64>) -> tensor<2x3x4x6xf64> {
    %0 = nn.attention %q, %k, %v mask %m {scale = 0.3 : f64} : (tensor<2x3x4x6xf64>, tensor<2x5x2x6xf64>, tensor<2x5x2x6xf64>, tensor<2x5xi64>) -> tensor<2x3x4x6xf64>
    return %0 : tensor<2x3x4x6xf64>
  })",
      {mask});
}
