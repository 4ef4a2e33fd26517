//===- MathToIntrinsics.cpp - What a GPU has an instruction for -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's conversion to NVVM makes calls of a library of these.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Gpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tp {
#define GEN_PASS_DEF_MATHTOINTRINSICS
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static StringRef getIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::TruncOp) { return "llvm.trunc"; })
      .Case([](math::AbsIOp) { return "llvm.abs"; })
      .Case([](math::CountLeadingZerosOp) { return "llvm.ctlz"; })
      .Case([](math::CountTrailingZerosOp) { return "llvm.cttz"; })
      .Case([](math::CtPopOp) { return "llvm.ctpop"; })
      .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
      .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
      .Default([](Operation *) { return ""; });
}

/// x / y as x times the reciprocal of y by the instruction for it. Only the
/// approximations that tp-expand-math has made contain such quotients.
static void expandQuotient(arith::DivFOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto invert = [&](Value lane) -> Value {
    return LLVM::CallIntrinsicOp::create(
               builder, loc, lane.getType(),
               builder.getStringAttr("llvm.nvvm.rcp.approx.ftz.f"), lane)
        .getResult(0);
  };
  Value reciprocal;
  if (auto vector = dyn_cast<VectorType>(op.getType())) {
    SmallVector<Value> lanes;
    for (int64_t i = 0; i < vector.getDimSize(0); ++i)
      lanes.push_back(invert(
          vector::ExtractOp::create(builder, loc, op.getRhs(), i).getResult()));
    reciprocal = vector::FromElementsOp::create(builder, loc, vector, lanes);
  } else {
    reciprocal = invert(op.getRhs());
  }
  op.replaceAllUsesWith(
      arith::MulFOp::create(builder, loc, op.getLhs(), reciprocal).getResult());
  op.erase();
}

namespace {
struct MathToIntrinsicsPass
    : tp::impl::MathToIntrinsicsBase<MathToIntrinsicsPass> {
  void runOnOperation() override {
    getOperation()->walk([](arith::DivFOp op) {
      auto vector = dyn_cast<VectorType>(op.getType());
      if (getElementTypeOrSelf(op.getType()).isF32() &&
          (!vector || vector.getRank() == 1))
        expandQuotient(op);
    });
    getOperation()->walk([](Operation *op) {
      StringRef name = getIntrinsic(op);
      if (name.empty())
        return;
      OpBuilder builder(op);
      SmallVector<Value> operands(op->getOperands());
      // Zero, and the least number, have a result too.
      if (isa<math::AbsIOp, math::CountLeadingZerosOp,
              math::CountTrailingZerosOp>(op))
        operands.push_back(
            arith::ConstantIntOp::create(builder, op->getLoc(), 0, 1));
      auto call = LLVM::CallIntrinsicOp::create(
          builder, op->getLoc(), op->getResult(0).getType(),
          builder.getStringAttr(name), operands);
      op->replaceAllUsesWith(call->getResults());
      op->erase();
    });
  }
};
} // namespace
