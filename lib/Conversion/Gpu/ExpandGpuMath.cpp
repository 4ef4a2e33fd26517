//===- ExpandGpuMath.cpp - Math in a GPU's instructions -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU has 2^x in one instruction, within 2 units in the last place, so exp is
// a reduction of its argument and two of them. The rest is left to
// tp-expand-math.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tp {
#define GEN_PASS_DEF_EXPANDGPUMATH
#include "tp/Conversion/Passes.h.inc"
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
    auto constant = [&](double value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getF32FloatAttr(value));
    };
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return LLVM::FMAOp::create(builder, loc, a, b, c);
    };
    auto exp2 = [&](Value a) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 builder, loc, f32,
                 builder.getStringAttr("llvm.nvvm.ex2.approx.f32"), a)
          .getResult(0);
    };
    // Within these bounds 2^n is an ordinary number; what is beyond them is in
    // the other factor, infinities and NaN too.
    Value log2e = constant(0x1.715476p+0);
    Value scaled = arith::MulFOp::create(builder, loc, x, log2e);
    Value n = math::RoundEvenOp::create(builder, loc, scaled);
    n = arith::MinNumFOp::create(builder, loc, n, constant(127));
    n = arith::MaxNumFOp::create(builder, loc, n, constant(-126));
    Value r = fma(n, constant(-0x1.62e400p-1), x);
    r = fma(n, constant(-0x1.7f7d1cp-20), r);
    Value fraction =
        exp2(arith::MulFOp::create(builder, loc, r, log2e).getResult());
    return arith::MulFOp::create(builder, loc, exp2(n), fraction);
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

struct ExpandGpuMathPass : tp::impl::ExpandGpuMathBase<ExpandGpuMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp>(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
