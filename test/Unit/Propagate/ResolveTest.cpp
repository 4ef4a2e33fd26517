//===- ResolveTest.cpp - What an operation needs of its operands ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// resolveFactors on hand-made rules: linear layers with every mixture of cut
// and partial operands, additions, and cuts that two operands disagree on.
//
//===----------------------------------------------------------------------===//

#include "tp/Resolve/Resolve.h"
#include "gtest/gtest.h"

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

const Mesh mesh({{"x", 2}, {"y", 4}});
const AxisRef x{0, 1, 2}, y{1, 1, 4};

TensorSharding make(std::initializer_list<AxisList> dims,
                    AxisList partial = {}) {
  TensorSharding sharding;
  for (const AxisList &axes : dims)
    sharding.dims.push_back({axes, 1, false});
  sharding.partial = partial;
  return sharding;
}

/// input[s, k], weight[n, k], bias[n] -> result[s, n].
struct Linear {
  ShardingRule rule;
  SmallVector<SmallVector<int64_t>> operands{{8, 16}, {32, 16}, {32}};
  SmallVector<SmallVector<int64_t>> results{{8, 32}};

  Linear() {
    unsigned s = rule.addFactor(8), n = rule.addFactor(32),
             k = rule.addFactor(16, FactorKind::Reduction);
    rule.operands = {TensorFactors{{{s}, {k}}}, TensorFactors{{{n}, {k}}},
                     TensorFactors{{{n}}}};
    rule.results = {TensorFactors{{{s}, {n}}}};
    rule.linearity = {Linearity::Multilinear, Linearity::Multilinear,
                      Linearity::Additive};
  }
  ResolvedOp resolve(TensorSharding input, TensorSharding weight,
                     TensorSharding bias, TensorSharding result) {
    SmallVector<TensorSharding, 3> given{input, weight, bias};
    return resolveFactors(rule, given, result, operands, results);
  }
  std::string required(const ResolvedOp &resolved, unsigned index) {
    return toString(
        getRequiredOperandSharding(rule, index, resolved, operands[index]),
        mesh);
  }
  std::string produced(const ResolvedOp &resolved) {
    return toString(getProducedSharding(rule, 0, resolved, results[0]), mesh);
  }
};

TEST(Resolve, columnSplitGathersTheInput) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{y}, {}}), make({{y}, {}}),
                                   make({{y}}), make({{}, {y}}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {}]");
  EXPECT_EQ(op.required(resolved, 1), "[{\"y\"}, {}]");
  EXPECT_EQ(op.required(resolved, 2), "[{\"y\"}]");
  EXPECT_EQ(op.produced(resolved), "[{}, {\"y\"}]");
}

TEST(Resolve, rowSplitCountsTheBiasOnce) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {}}), make({{}, {y}}), make({{}}),
                                   make({{}, {}}, {y}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {\"y\"}]");
  EXPECT_EQ(op.required(resolved, 1), "[{}, {\"y\"}]");
  EXPECT_EQ(op.required(resolved, 2), "[{}], partial sum {\"y\"}");
  EXPECT_EQ(op.produced(resolved), "[{}, {}], partial sum {\"y\"}");
}

TEST(Resolve, partialInputPassesThrough) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {}}, {x}), make({{}, {y}}),
                                   make({{}}), make({{}, {}}, {x, y}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {\"y\"}], partial sum {\"x\"}");
  EXPECT_EQ(op.required(resolved, 1), "[{}, {\"y\"}]");
  EXPECT_EQ(op.required(resolved, 2), "[{}], partial sum {\"x\", \"y\"}");
  EXPECT_EQ(op.produced(resolved), "[{}, {}], partial sum {\"x\", \"y\"}");
}

TEST(Resolve, partialInputThatTheResultDoesNotHaveIsSummed) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {}}, {x}), make({{}, {}}),
                                   make({{}}), make({{}, {}}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {}]");
}

TEST(Resolve, onlyOneOperandOfAProductCarries) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {}}, {x}), make({{}, {}}, {x}),
                                   make({{}}), make({{}, {}}, {x}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {}], partial sum {\"x\"}");
  EXPECT_EQ(op.required(resolved, 1), "[{}, {}]");
}

TEST(Resolve, theCutThatExplainsMostWins) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {y}}), make({{}, {x, y}}),
                                   make({{}}), make({{}, {}}, {x, y}));
  EXPECT_EQ(op.required(resolved, 0), "[{}, {\"x\", \"y\"}]");
  EXPECT_EQ(op.required(resolved, 1), "[{}, {\"x\", \"y\"}]");
}

TEST(Resolve, unexplainedPartialIsNotGiven) {
  Linear op;
  ResolvedOp resolved = op.resolve(make({{}, {}}), make({{}, {}}), make({{}}),
                                   make({{}, {}}, {x}));
  EXPECT_EQ(op.produced(resolved), "[{}, {}]");
}

/// dx[b, h], dw[h] of x[b, h], dy[b, h] and a sum so far old[h].
TEST(Resolve, aResultWithoutAParallelFactorIsPartialAlone) {
  ShardingRule rule;
  unsigned b = rule.addFactor(8), h = rule.addFactor(8);
  TensorFactors wide{{{b}, {h}}}, narrow{{{h}}};
  rule.operands = {wide, wide, narrow};
  rule.results = {wide, narrow};
  rule.linearity = {Linearity::None, Linearity::Multilinear,
                    Linearity::Additive};
  SmallVector<SmallVector<int64_t>> in{{8, 8}, {8, 8}, {8}}, out{{8, 8}, {8}};
  auto check = [&](ArrayRef<TensorSharding> given,
                   ArrayRef<TensorSharding> results,
                   ArrayRef<const char *> want) {
    ResolvedOp resolved = resolveFactors(rule, given, results, in, out);
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_EQ(
          toString(getRequiredOperandSharding(rule, i, resolved, in[i]), mesh),
          want[i]);
    for (unsigned i = 0; i < 2; ++i)
      EXPECT_EQ(toString(getProducedSharding(rule, i, resolved, out[i]), mesh),
                want[3 + i]);
  };
  TensorSharding rows = make({{x}, {}}), whole = make({{}, {}});
  check({rows, rows, make({{}})}, {rows, make({{}}, {x})},
        {"[{\"x\"}, {}]", "[{\"x\"}, {}]", "[{}], partial sum {\"x\"}",
         "[{\"x\"}, {}]", "[{}], partial sum {\"x\"}"});
  // A partial dy makes both partial, over its own axes.
  check({rows, make({{x}, {}}, {y}), make({{}})},
        {make({{x}, {}}, {y}), make({{}}, {x, y})},
        {"[{\"x\"}, {}]", "[{\"x\"}, {}], partial sum {\"y\"}",
         "[{}], partial sum {\"x\", \"y\"}",
         "[{\"x\"}, {}], partial sum {\"y\"}",
         "[{}], partial sum {\"x\", \"y\"}"});
  check({whole, whole, make({{}})}, {whole, make({{}})},
        {"[{}, {}]", "[{}, {}]", "[{}]", "[{}, {}]", "[{}]"});
}

TEST(Resolve, addendsArePartialTogether) {
  ShardingRule rule;
  unsigned i = rule.addFactor(8);
  rule.operands = {TensorFactors{{{i}}}, TensorFactors{{{i}}}};
  rule.results = {TensorFactors{{{i}}}};
  rule.linearity = {Linearity::Additive, Linearity::Additive};
  SmallVector<SmallVector<int64_t>> shapes{{8}, {8}};
  SmallVector<TensorSharding, 2> given{make({{}}, {y}), make({{}})};
  ResolvedOp resolved = resolveFactors(rule, given, make({{}}, {y}), shapes,
                                       ArrayRef(shapes).take_front());
  for (unsigned index : {0, 1})
    EXPECT_EQ(
        toString(getRequiredOperandSharding(rule, index, resolved, {8}), mesh),
        "[{}], partial sum {\"y\"}");
}

TEST(Resolve, axesAsSets) {
  AxisRef major{1, 1, 2}, minor{1, 2, 2};
  EXPECT_EQ(subtractAxes({y}, {major}), AxisList{minor});
  EXPECT_EQ(subtractAxes({x, y}, {minor}), (AxisList{x, major}));
  EXPECT_TRUE(subtractAxes({major}, {y}).empty());
  EXPECT_TRUE(containsAxes({x, y}, {minor}));
  EXPECT_FALSE(containsAxes({x, major}, {y}));
}

} // namespace
