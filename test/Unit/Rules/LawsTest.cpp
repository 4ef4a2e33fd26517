//===- LawsTest.cpp - What is read from a body, held against numbers ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies drawn at random, of which the rule says what may be partial, how a
// reduction may be cut and what padding holds. Each claim is evaluated:
// the interpreter runs the body on parts and on the whole.
//
//===----------------------------------------------------------------------===//

#include "RandomBody.h"
#include "Testing.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Rules/Rules.h"
#include <cmath>
#include <limits>

using namespace tp;
using namespace tp::interp;

static constexpr uint64_t numBodies = 3000;
static constexpr double infinity = std::numeric_limits<double>::infinity();
static const ElementType kF64{ElementType::F64, 64};

namespace {
/// A module whose @main is one linalg.generic.
struct Program {
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::linalg::GenericOp op;

  explicit Program(std::string source) : text(std::move(source)) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &getContext());
    if (module)
      module->walk([&](mlir::linalg::GenericOp found) { op = found; });
  }

  /// Result 0 on the arguments.
  Tensor run(llvm::ArrayRef<Tensor> arguments) {
    llvm::SmallVector<RankTensors> ranked;
    for (const Tensor &argument : arguments)
      ranked.push_back({argument});
    auto results =
        interpret(module->lookupSymbol<mlir::func::FuncOp>("main"), ranked, {});
    return mlir::succeeded(results) ? (*results)[0][0] : Tensor();
  }
};
} // namespace

static Tensor combine(const Tensor &a, const Tensor &b, ReductionKind kind) {
  Tensor result(a.getShape(), a.getElementType());
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    double x = a.getFloat(i), y = b.getFloat(i);
    result.setFloat(i, kind == ReductionKind::Sum   ? x + y
                       : kind == ReductionKind::Max ? std::max(x, y)
                                                    : std::min(x, y));
  }
  return result;
}

/// Equal but for rounding; what is no finite number is not judged.
static bool areClose(const Tensor &a, const Tensor &b) {
  for (int64_t i = 0; i < a.getNumElements(); ++i) {
    double x = a.getFloat(i), y = b.getFloat(i);
    if (std::isfinite(x) && std::isfinite(y) &&
        std::fabs(x - y) > 1e-6 * std::max({1.0, std::fabs(x), std::fabs(y)}))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

static constexpr int64_t width = 24;

static std::string makeElementwise(RandomBody &body, int64_t numInputs) {
  std::string arguments, types, names, maps;
  std::string tensor = "tensor<" + std::to_string(width) + "xf64>";
  for (int64_t i = 0; i < numInputs; ++i) {
    std::string comma = i ? ", " : "", index = std::to_string(i);
    arguments += comma + "%x" + index + ": " + tensor;
    types += comma + tensor;
    names += comma + "%x" + index;
    body.values.push_back("%a" + index);
    maps += "affine_map<(i) -> (i)>, ";
  }
  std::string result;
  for (int64_t i = 2 + body.below(6); i > 0; --i)
    result = body.draw();
  std::string scalars;
  for (int64_t i = 0; i < numInputs; ++i)
    scalars += "%a" + std::to_string(i) + ": f64, ";
  return "func.func @main(" + arguments + ") -> " + tensor +
         " {\n    %e = tensor.empty() : " + tensor +
         "\n    %r = linalg.generic {indexing_maps = [" + maps +
         "affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(" +
         names + " : " + types + ") outs(%e : " + tensor + ") {\n    ^bb0(" +
         scalars + "%out: f64):\n" + body.text + "      linalg.yield " +
         result + " : f64\n    } -> " + tensor + "\n    return %r : " + tensor +
         "\n  }";
}

/// f on the parts of the inputs in `set`, summed, against f on the whole.
static bool isLinear(Program &program, llvm::ArrayRef<Tensor> whole,
                     llvm::ArrayRef<unsigned> set, uint64_t seed) {
  llvm::SmallVector<Tensor> first(whole), second(whole);
  for (unsigned index : set) {
    first[index] = makeRandom({width}, seed * 17 + index, kF64);
    Tensor rest({width}, kF64);
    for (int64_t i = 0; i < width; ++i)
      rest.setFloat(i, whole[index].getFloat(i) - first[index].getFloat(i));
    second[index] = rest;
  }
  return areClose(
      combine(program.run(first), program.run(second), ReductionKind::Sum),
      program.run(whole));
}

TEST(Laws, PartialTogetherMeansLinear) {
  uint64_t claims = 0;
  for (uint64_t seed = 1; seed <= numBodies; ++seed) {
    RandomBody body(seed, "f64");
    int64_t numInputs = 2 + body.below(3);
    Program program(makeElementwise(body, numInputs));
    ASSERT_TRUE(program.op) << "seed " << seed << "\n" << program.text;
    auto rule = getShardingRule(program.op);
    ASSERT_TRUE(mlir::succeeded(rule));
    llvm::SmallVector<Tensor> inputs;
    for (int64_t i = 0; i < numInputs; ++i)
      inputs.push_back(makeRandom({width}, seed * 31 + i, kF64));
    llvm::SmallVector<unsigned> additive, multilinear;
    for (int64_t i = 0; i < numInputs; ++i) {
      if (rule->linearity[i] == Linearity::Additive)
        additive.push_back(i);
      if (rule->linearity[i] == Linearity::Multilinear)
        multilinear.push_back(i);
    }
    llvm::SmallVector<llvm::SmallVector<unsigned>> sets;
    for (unsigned one : multilinear) {
      sets.push_back(additive);
      sets.back().push_back(one);
    }
    if (multilinear.empty() && !additive.empty())
      sets.push_back(additive);
    for (const auto &set : sets) {
      ++claims;
      EXPECT_TRUE(isLinear(program, inputs, set, seed))
          << "seed " << seed << "\n"
          << toString(*rule) << "\n"
          << program.text;
    }
  }
  EXPECT_GT(claims, numBodies / 10);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// yield out (+) term, or something that only looks like it.
static std::string makeReduction(uint64_t seed, int64_t length) {
  RandomBody body(seed, "f64");
  body.values = {"%a"};
  if (body.chance(15))
    body.values.push_back("%s");
  std::string term = "%a";
  for (int64_t i = body.below(4); i > 0; --i)
    term = body.draw();
  static const char *const steps[] = {"arith.addf", "arith.maximumf",
                                      "arith.minimumf", "arith.subf",
                                      "arith.mulf"};
  std::string step = steps[body.below(5)];
  std::string result = body.chance(80) ? body.binary(step, "%s", term)
                                       : body.binary(step, term, "%s");
  if (body.chance(30))
    result = body.binary(body.chance(70) ? step : "arith.addf", result,
                         body.chance(70) ? "%a" : body.someValue());
  std::string wide = "tensor<8x" + std::to_string(length) + "xf64>";
  return "func.func @main(%x: " + wide +
         ", %o: tensor<8xf64>) -> tensor<8xf64> {\n    %r = linalg.generic "
         "{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> "
         "(i)>], iterator_types = [\"parallel\", \"reduction\"]} ins(%x : " +
         wide + ") outs(%o : tensor<8xf64>) {\n    ^bb0(%a: f64, %s: f64):\n" +
         body.text + "      linalg.yield " + result +
         " : f64\n    } -> tensor<8xf64>\n    return %r : tensor<8xf64>\n  }";
}

static Tensor takeColumns(const Tensor &x, int64_t from, int64_t count) {
  Tensor part({8, count}, kF64);
  part.copyBox(x, {0, from}, {0, 0}, {8, count});
  return part;
}

TEST(Laws, ReductionsMayBeCut) {
  uint64_t claims = 0;
  for (uint64_t seed = 1; seed <= numBodies; ++seed) {
    Program whole(makeReduction(seed, 6)), part(makeReduction(seed, 3));
    ASSERT_TRUE(whole.op && part.op) << "seed " << seed << "\n" << whole.text;
    auto rule = getShardingRule(whole.op);
    ASSERT_TRUE(mlir::succeeded(rule));
    if (rule->factors[1].kind != FactorKind::Reduction)
      continue;
    ++claims;
    ReductionKind kind = rule->factors[1].reduction;
    Tensor x = makeRandom({8, 6}, seed * 7, kF64);
    Tensor init = makeRandom({8}, seed * 11, kF64), identity({8}, kF64);
    double neutral = kind == ReductionKind::Sum   ? 0
                     : kind == ReductionKind::Max ? -infinity
                                                  : infinity;
    for (int64_t i = 0; i < 8; ++i)
      identity.setFloat(i, neutral);
    Tensor joined = combine(part.run({takeColumns(x, 0, 3), init}),
                            part.run({takeColumns(x, 3, 3), identity}), kind);
    EXPECT_TRUE(areClose(joined, whole.run({x, init})))
        << "seed " << seed << "\n"
        << whole.text;
  }
  EXPECT_GT(claims, numBodies / 3);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// Numbers that padding in `state` may hold; a logical value may be anything.
static double drawPadding(PadState state, RandomBody &chance) {
  switch (state) {
  case PadState::Zero:
    return chance.chance(50) ? 0.0 : -0.0;
  case PadState::NegInf:
    return -infinity;
  case PadState::PosInf:
    return infinity;
  default: {
    const double anything[] = {0.0,          -0.0, infinity, -infinity,
                               std::nan(""), 1.0,  -3.0,     1e300};
    return anything[chance.below(8)];
  }
  }
}

TEST(Laws, PaddingHoldsWhatIsSaid) {
  uint64_t claims = 0;
  for (uint64_t seed = 1; seed <= numBodies; ++seed) {
    RandomBody body(seed, "f64");
    int64_t numInputs = 1 + body.below(3);
    Program program(makeElementwise(body, numInputs));
    ASSERT_TRUE(program.op) << "seed " << seed << "\n" << program.text;
    llvm::SmallVector<PadState> states;
    llvm::SmallVector<Tensor> inputs;
    for (int64_t i = 0; i < numInputs; ++i) {
      const PadState some[] = {PadState::Zero,   PadState::Zero,
                               PadState::NegInf, PadState::PosInf,
                               PadState::None,   PadState::Anything};
      states.push_back(some[body.below(6)]);
      Tensor input({width}, kF64);
      for (int64_t k = 0; k < width; ++k)
        input.setFloat(k, drawPadding(states.back(), body));
      inputs.push_back(input);
    }
    states.push_back(PadState::Anything);
    PadState claim = getPaddingStates(program.op, 0, states)[0];
    if (claim == PadState::Anything)
      continue;
    ++claims;
    Tensor result = program.run(inputs);
    for (int64_t k = 0; k < width; ++k) {
      double expected = claim == PadState::Zero     ? 0
                        : claim == PadState::NegInf ? -infinity
                                                    : infinity;
      EXPECT_EQ(result.getFloat(k), expected) << "seed " << seed << "\n"
                                              << program.text;
    }
  }
  EXPECT_GT(claims, numBodies / 20);
}
