//===- ExpandGpuMath.cpp - Math in a GPU's instructions -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU has 2^x and 1/sqrt(x) in one instruction, within 2 units in the last
// place; exp is a reduction of its argument around the first. The rest is left
// to tp-expand-math.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Gpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tp/Conversion/Math/FloatArithmetic.h"
#include <climits>
#include <cmath>

namespace tp {
#define GEN_PASS_DEF_EXPANDGPUMATH
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// exp(x) = 2^n * 2^(r / ln 2) with n the whole number next to x / ln 2 and
/// r = x - n ln 2, small and exact to two floats' worth of digits.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value expandScalar(OpBuilder &builder, Location loc, Value x) {
    Type f32 = builder.getF32Type();
    Arithmetic a{builder, loc, f32};
    // Within these bounds 2^n is an ordinary number; what is beyond them is in
    // the other operand, infinities and NaN too.
    Value log2e = a.number(0x1.715476p+0);
    Value n = a.mul(x, log2e);
    n = a.make<arith::MinNumFOp>(n, a.number(127));
    n = a.make<arith::MaxNumFOp>(n, a.number(-126));
    // Adding this number leaves a whole number, in the lowest bits.
    Value magic = a.number(0x1.8p+23);
    Value shifted = a.add(n, magic);
    n = a.sub(shifted, magic);
    Value r = a.fma(n, a.number(-0x1.62e400p-1), x);
    r = a.mul(a.fma(n, a.number(-0x1.7f7d1cp-20), r), log2e);
    Value fraction = LLVM::CallIntrinsicOp::create(
                         builder, loc, f32,
                         builder.getStringAttr("llvm.nvvm.ex2.approx.ftz"), r)
                         .getResult(0);
    // 2^n: n as the exponent of a float.
    Value bits = a.cast<arith::BitcastOp>(builder.getI32Type(), shifted);
    bits = a.make<arith::ShLIOp>(bits, a.integer(23));
    bits = a.make<arith::AddIOp>(bits, a.integer(0x3f800000));
    return a.mul(a.cast<arith::BitcastOp>(f32, bits), fraction);
  }

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    auto vector = dyn_cast<VectorType>(type);
    if (!getElementTypeOrSelf(type).isF32() ||
        (vector && vector.getRank() != 1))
      return failure();
    Location loc = op.getLoc();
    if (!vector) {
      rewriter.replaceOp(op, expandScalar(rewriter, loc, op.getOperand()));
      return success();
    }
    SmallVector<Value> lanes;
    for (int64_t i = 0; i < vector.getDimSize(0); ++i) {
      Value lane = vector::ExtractOp::create(rewriter, loc, op.getOperand(), i);
      lanes.push_back(expandScalar(rewriter, loc, lane));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, lanes);
    return success();
  }
};

/// x / c by the reciprocal of c and one correction of the quotient, where
/// nothing over- or underflows on the way; the instruction sequence for any
/// quotient has a branch and a call.
struct DivideByConstant : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    APFloat divisor(0.0f);
    if (!getElementTypeOrSelf(type).isF32() ||
        !matchPattern(op.getRhs(), m_ConstantFloat(&divisor)) ||
        !divisor.isFiniteNonZero())
      return failure();
    float c = divisor.convertToFloat();
    if (std::abs(c) < 0x1p-20f || std::abs(c) > 0x1p40f)
      return failure();
    Location loc = op.getLoc();
    Value x = op.getLhs();
    Arithmetic a{rewriter, loc, type};
    Value reciprocal = a.number(1.0f / c), quotient = a.mul(x, reciprocal);
    if (divisor.getExactLog2Abs() != INT_MIN) {
      rewriter.replaceOp(op, quotient);
      return success();
    }
    Value rest = a.fma(quotient, a.number(-c), x);
    Value corrected = a.fma(rest, reciprocal, quotient);
    Value magnitude = math::AbsFOp::create(rewriter, loc, x);
    Value isLarge =
        a.compare(arith::CmpFPredicate::OGT, magnitude, a.number(0x1p-60f));
    Value isSmall =
        a.compare(arith::CmpFPredicate::OLT, magnitude, a.number(0x1p100f));
    Value isOrdinary = a.make<arith::AndIOp>(isLarge, isSmall);
    rewriter.replaceOp(op, a.select(isOrdinary, corrected, quotient));
    return success();
  }
};

/// Calls `intrinsic` on every lane of the operands.
static Value callOnLanes(OpBuilder &builder, Location loc, StringRef intrinsic,
                         ValueRange operands) {
  Type type = operands.front().getType();
  auto call = [&](ValueRange lane) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc,
                                         getElementTypeOrSelf(type),
                                         builder.getStringAttr(intrinsic), lane)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return call(operands);
  SmallVector<Value> lanes;
  for (int64_t i = 0; i < vector.getDimSize(0); ++i) {
    SmallVector<Value> lane;
    for (Value operand : operands)
      lane.push_back(vector::ExtractOp::create(builder, loc, operand, i));
    lanes.push_back(call(lane));
  }
  return vector::FromElementsOp::create(builder, loc, vector, lanes);
}

static bool isF32Lanes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() &&
         (!vector || vector.getRank() == 1);
}

static constexpr StringLiteral rsqrtName = "llvm.nvvm.rsqrt.approx.f";

struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32Lanes(op.getType()))
      return failure();
    rewriter.replaceOp(
        op, callOnLanes(rewriter, op.getLoc(), rsqrtName, op.getOperand()));
    return success();
  }
};

/// 1 / sqrt(x), as models write it.
struct ExpandInverseRoot : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto root = op.getRhs().getDefiningOp<math::SqrtOp>();
    if (!root || !isF32Lanes(op.getType()) ||
        !matchPattern(op.getLhs(), m_OneFloat()))
      return failure();
    rewriter.replaceOp(
        op, callOnLanes(rewriter, op.getLoc(), rsqrtName, root.getOperand()));
    return success();
  }
};

/// Within 2 units in the last place, everywhere.
static constexpr StringLiteral fastDivideName = "llvm.nvvm.div.full";

static constexpr StringLiteral fastRootName = "llvm.nvvm.sqrt.approx.f";

/// Makes operations on f32 or vectors of it. The instructions that always round
/// a quotient and a root correctly are one in PTX alone: ptxas calls a
/// subroutine for what is rare, and spills around it. Here what is rare takes
/// the fast instruction.
struct LaneMath : Arithmetic {
  Value negate(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value call(StringRef intrinsic, ValueRange operands) {
    return callOnLanes(builder, loc, intrinsic, operands);
  }

  /// Neither it nor what is made of it on the way over- or underflows.
  Value isOrdinary(Value magnitude) {
    Value isLarge =
        compare(arith::CmpFPredicate::OGT, magnitude, number(0x1p-60f));
    Value isSmall =
        compare(arith::CmpFPredicate::OLT, magnitude, number(0x1p60f));
    return make<arith::AndIOp>(isLarge, isSmall);
  }

  /// x / y by the reciprocal of y, one step of Newton's, and one correction of
  /// the quotient, which makes it the nearest.
  Value divide(Value x, Value y) {
    Value approximate = call("llvm.nvvm.rcp.approx.ftz.f", y);
    Value minusY = negate(y);
    Value error = fma(minusY, approximate, number(1));
    Value reciprocal = fma(error, approximate, approximate);
    Value quotient = mul(x, reciprocal);
    Value rest = fma(minusY, quotient, x);
    Value corrected = fma(rest, reciprocal, quotient);
    Value areOrdinary =
        make<arith::AndIOp>(isOrdinary(math::AbsFOp::create(builder, loc, x)),
                            isOrdinary(math::AbsFOp::create(builder, loc, y)));
    return select(areOrdinary, corrected, call(fastDivideName, {x, y}));
  }

  /// sqrt(x) as x / sqrt(x) with one correction: the nearest, but for one in
  /// millions if the instruction is as far off as it may be. Of what is below
  /// zero it is the fast instruction's NaN.
  Value root(Value x) {
    Value inverse = call(rsqrtName, x);
    Value approximate = mul(x, inverse);
    Value rest = fma(negate(approximate), approximate, x);
    Value corrected = fma(rest, mul(inverse, number(0.5)), approximate);
    return select(isOrdinary(x), corrected, call(fastRootName, x));
  }
};

/// Only a value of 16 bits is made of it.
static bool isRounded(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<arith::TruncFOp>(user) &&
           getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() ==
               16;
  });
}

struct ExpandGpuMathPass : tp::impl::ExpandGpuMathBase<ExpandGpuMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp, DivideByConstant, ExpandRsqrt, ExpandInverseRoot>(
        &getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(
            getOperation(), std::move(patterns),
            GreedyRewriteConfig().setRegionSimplificationLevel(
                GreedySimplifyRegionLevel::Disabled))))
      return signalPassFailure();
    // tp-expand-math's own quotients, which come later, need less.
    getOperation()->walk([](Operation *op) {
      if (!isa<arith::DivFOp, math::SqrtOp>(op))
        return;
      OpBuilder builder(op);
      Location loc = op->getLoc();
      Type type = op->getResult(0).getType();
      LaneMath lanes{{builder, loc, type}};
      auto divide = dyn_cast<arith::DivFOp>(op);
      Value result;
      if (!isF32Lanes(type)) {
        if (!divide)
          return;
        result = LLVM::FDivOp::create(builder, loc, divide.getLhs(),
                                      divide.getRhs());
      } else if (isRounded(op->getResult(0))) {
        result = lanes.call(divide ? fastDivideName : fastRootName,
                            op->getOperands());
      } else if (divide) {
        result = lanes.divide(divide.getLhs(), divide.getRhs());
      } else {
        result = lanes.root(op->getOperand(0));
      }
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    });
  }
};
} // namespace
