//===- ToleranceTest.cpp - How close is equal, in both directions ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of programs of one device on random inputs. Those that differ by what a
// compiler may do to a sum (its order, its cuts, where it is rounded) must
// never be called different, whatever is made of the sum; those with a small
// fault must be.
//
//===----------------------------------------------------------------------===//

#include "mlir/Parser/Parser.h"
#include "tp/InitAll.h"
#include "tp/Verify/Verify.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;

namespace {

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    return new MLIRContext(registry, MLIRContext::Threading::DISABLED);
  }();
  return *context;
}

OwningOpRef<ModuleOp> parse(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &getContext());
  if (!module)
    ADD_FAILURE() << "the program does not parse:\n" << text;
  return module;
}

Comparison compare(const std::string &one, const std::string &other,
                   uint64_t seed) {
  auto first = parse(one), second = parse(other);
  VerifyOptions options;
  options.seed = seed;
  auto reference =
      Reference::run(*first->getOps<func::FuncOp>().begin(), options);
  if (failed(reference)) {
    ADD_FAILURE() << "the reference does not run";
    return {};
  }
  return compareWithReference(*second->getOps<func::FuncOp>().begin(), Mesh(),
                              *reference, options);
}

/// @main takes tensor<16x64xTYPE>, sums its rows as %s, whole or in two halves
/// that are rounded on their own, and returns what `rest` makes of it.
std::string makeSum(StringRef type, bool inHalves, StringRef rest,
                    StringRef result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto sum = [&](StringRef name, StringRef from, int64_t size) {
    os << "%" << name << " = linalg.reduce { arith.addf } ins(%" << from
       << " : tensor<16x" << size << "x" << type << ">) outs(%init : tensor<16x"
       << type << ">) dimensions = [1]\n";
  };
  os << "func.func @main(%x: tensor<16x64x" << type << ">) -> " << result
     << " {\n%zero = arith.constant 0.0 : " << type
     << "\n%e = tensor.empty() : tensor<16x" << type
     << ">\n%init = linalg.fill ins(%zero : " << type
     << ") outs(%e : tensor<16x" << type << ">) -> tensor<16x" << type << ">\n";
  if (inHalves) {
    for (int64_t half : {0, 1}) {
      os << "%h" << half << " = tensor.extract_slice %x[0, " << 32 * half
         << "] [16, 32] [1, 1] : tensor<16x64x" << type << "> to tensor<16x32x"
         << type << ">\n";
      sum("s" + std::to_string(half), "h" + std::to_string(half), 32);
    }
    os << "%s = arith.addf %s1, %s0 : tensor<16x" << type << ">\n";
  } else {
    sum("s", "x", 64);
  }
  os << rest << "\n}\n";
  return text;
}

/// A program's use of a sum that makes much of little.
struct Use {
  std::string name, body, result;
};

std::vector<Use> makeUses(const std::string &type) {
  std::string t = "tensor<16x" + type + ">", i = "tensor<16xi32>";
  auto constant = [&](const std::string &name, const std::string &value) {
    return "%" + name + " = arith.constant dense<" + value + "> : " + t + "\n";
  };
  std::string large = constant("l", "3.0e+03");
  std::string steps = large + "%m = arith.mulf %s, %l : " + t +
                      "\n%f = math.floor %m : " + t + "\n";
  return {
      {"floor", steps + "return %f : " + t, t},
      {"convert",
       steps + "%i = arith.fptosi %f : " + t + " to " + i +
           "\nreturn %i : " + i,
       i},
      {"compare",
       steps + constant("h", "0.5") + "%g = arith.mulf %f, %h : " + t +
           "\n%r = math.roundeven %g : " + t +
           "\n%b = arith.cmpf oeq, %r, %g : " + t +
           "\n%v = arith.select %b, %s, %l : tensor<16xi1>, " + t +
           "\nreturn %v : " + t,
       t},
      // (s + l) - l - s is nothing but rounding.
      {"cancel",
       large + "%a = arith.addf %s, %l : " + t + "\n%b = arith.subf %a, %l : " +
           t + "\n%d = arith.subf %b, %s : " + t + "\nreturn %d : " + t,
       t},
      {"divide",
       large + "%a = arith.addf %s, %l : " + t + "\n%b = arith.subf %a, %l : " +
           t + "\n%d = arith.subf %b, %s : " + t +
           "\n%q = arith.divf %l, %d : " + t + "\nreturn %q : " + t,
       t},
      {"root",
       large + "%a = arith.addf %s, %l : " + t + "\n%b = arith.subf %a, %l : " +
           t + "\n%d = arith.subf %b, %s : " + t +
           "\n%q = math.sqrt %d : " + t + "\nreturn %q : " + t,
       t},
      {"exp", "%v = math.exp %s : " + t + "\nreturn %v : " + t, t}};
}

TEST(Tolerance, RoundingIsNoDifference) {
  for (const char *type : {"f32", "bf16", "f16"})
    for (const Use &use : makeUses(type)) {
      int64_t judged = 0, seeds = 40;
      for (int64_t seed = 1; seed <= seeds; ++seed) {
        Comparison result =
            compare(makeSum(type, false, use.body, use.result),
                    makeSum(type, true, use.body, use.result), seed);
        EXPECT_FALSE(result.divergence.has_value())
            << type << " " << use.name << ", seed " << seed << ": "
            << (result.divergence ? result.divergence->problem : "");
        judged += 16 - result.numUnjudgedElements;
      }
      // In f32 nearly every floor is far from a step.
      if (StringRef(type) == "f32" && use.name == "convert") {
        EXPECT_GT(judged, 16 * seeds * 8 / 10);
      }
    }
}

TEST(Tolerance, SixteenBitSumsMayBeRoundedOnce) {
  // 512 ones in bf16: 256 in a row, 512 in two halves.
  std::string t = "tensor<16xbf16>";
  std::string ones = makeSum("bf16", false, "return %s : " + t, t);
  size_t at = ones.find("%s = linalg.reduce");
  auto makeText = [&](bool inHalves) {
    std::string text = makeSum("bf16", inHalves, "return %s : " + t, t);
    for (size_t at; (at = text.find("64x")) != std::string::npos;)
      text.replace(at, 3, "512x");
    for (size_t at; (at = text.find("[16, 32]")) != std::string::npos;)
      text.replace(at, 8, "[16, 256]");
    for (size_t at; (at = text.find("32x")) != std::string::npos;)
      text.replace(at, 3, "256x");
    for (size_t at; (at = text.find("[0, 32]")) != std::string::npos;)
      text.replace(at, 7, "[0, 256]");
    at = text.find("%zero");
    text.insert(at, "%one = arith.constant dense<1.0> : "
                    "tensor<16x512xbf16>\n");
    for (const char *use : {"ins(%x", "extract_slice %x"})
      for (size_t at; (at = text.find(use)) != std::string::npos;)
        text.replace(at + StringRef(use).size() - 2, 2, "%one");
    return text;
  };
  (void)at;
  Comparison result = compare(makeText(false), makeText(true), 1);
  EXPECT_FALSE(result.divergence.has_value()) << result.divergence->problem;
}

TEST(Tolerance, LargeDoublesAreRounded) {
  // From 2^53 on all numbers are integers, and sums of them are not exact.
  std::string t = "tensor<16xf64>";
  auto makeText = [&](bool inHalves) {
    std::string text = makeSum("f64", inHalves, "return %s : " + t, t);
    std::string argument = "%x: tensor<16x64xf64>";
    return text.replace(text.find(argument), argument.size(),
                        argument + " {tp.values = \"wide\"}");
  };
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Comparison result = compare(makeText(false), makeText(true), seed);
    EXPECT_FALSE(result.divergence.has_value())
        << "seed " << seed << ": " << result.divergence->problem;
  }
}

TEST(Tolerance, IntegersThatAreExactAreJudged) {
  // Sums of few bits are exact in any order, and so is what hangs on them.
  std::string t = "tensor<16xf32>", i = "tensor<16xi32>";
  std::string whole =
      "%i = arith.fptosi %s : " + t + " to " + i + "\nreturn %i : " + i;
  std::string off = "%i = arith.fptosi %s : " + t + " to " + i +
                    "\n%c = arith.constant dense<1> : " + i +
                    "\n%j = arith.addi %i, %c : " + i + "\nreturn %j : " + i;
  auto makeText = [&](bool inHalves, const std::string &rest) {
    std::string text = makeSum("f32", inHalves, rest, i);
    size_t at = text.find("%zero");
    text.insert(at, "%r = math.roundeven %x : tensor<16x64xf32>\n");
    for (const char *use : {"ins(%x", "extract_slice %x"})
      for (size_t at; (at = text.find(use)) != std::string::npos;)
        text.replace(at + StringRef(use).size() - 2, 2, "%r");
    return text;
  };
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Comparison equal =
        compare(makeText(false, whole), makeText(true, whole), seed);
    EXPECT_FALSE(equal.divergence.has_value());
    EXPECT_EQ(equal.numUnjudgedElements, 0);
    EXPECT_TRUE(compare(makeText(false, whole), makeText(true, off), seed)
                    .divergence.has_value());
  }
}

TEST(Tolerance, SmallFaultsDiffer) {
  // A part in 1e5 of all, or one element of a row that is a millionth of the
  // largest, wrong by a thousandth; the same after a floor of another value.
  std::string t = "tensor<16xf32>";
  auto scale = [&](const std::string &values) {
    return "%c = arith.constant dense<" + values + "> : " + t +
           "\n%v = arith.mulf %s, %c : " + t + "\nreturn %v : " + t;
  };
  std::string rows = "[", wrongRows = "[";
  for (int64_t row = 0; row < 16; ++row) {
    rows += std::string(row ? ", " : "") + (row == 11 ? "1.0e-06" : "1.0");
    wrongRows +=
        std::string(row ? ", " : "") + (row == 11 ? "1.001e-06" : "1.0");
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(compare(makeSum("f32", false, scale("1.0"), t),
                        makeSum("f32", true, scale("1.00001"), t), seed)
                    .divergence.has_value());
    EXPECT_TRUE(compare(makeSum("f32", false, scale(rows + "]"), t),
                        makeSum("f32", true, scale(wrongRows + "]"), t), seed)
                    .divergence.has_value())
        << "seed " << seed;
  }
}

TEST(Tolerance, AnAddendCountedTwiceDiffers) {
  for (const char *type : {"f32", "bf16", "f16"}) {
    std::string t = std::string("tensor<16x") + type + ">";
    std::string right = makeSum(type, true, "return %s : " + t, t);
    std::string wrong = right;
    wrong.replace(wrong.find("arith.addf %s1, %s0"), 19, "arith.addf %s1, %s1");
    for (uint64_t seed = 1; seed <= 20; ++seed)
      EXPECT_TRUE(compare(right, wrong, seed).divergence.has_value());
  }
}

TEST(Tolerance, WhatIsUnjudgedIsCounted) {
  // Everything here is rounding: any integer would do.
  for (const Use &use : makeUses("f32"))
    if (use.name == "cancel") {
      std::string body = use.body;
      body.replace(body.find("return %d"), std::string::npos,
                   "%k = arith.constant dense<1.0e+06> : tensor<16xf32>\n%n = "
                   "arith.mulf %d, %k : tensor<16xf32>\n%i = arith.fptosi %n : "
                   "tensor<16xf32> to tensor<16xi32>\nreturn %i : "
                   "tensor<16xi32>");
      Comparison result =
          compare(makeSum("f32", false, body, "tensor<16xi32>"),
                  makeSum("f32", true, body, "tensor<16xi32>"), 1);
      EXPECT_FALSE(result.divergence.has_value());
      EXPECT_GE(result.numUnjudgedElements, 12);
      ASSERT_EQ(result.unjudged.size(), 1u);
      EXPECT_EQ(result.unjudged[0].what, "result 0 of @main");
    }
}

} // namespace
