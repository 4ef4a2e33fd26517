//===- MathToIntrinsics.cpp - What a GPU has an instruction for -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's conversion to NVVM makes calls of a library of these.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tp {
#define GEN_PASS_DEF_MATHTOINTRINSICS
#include "tp/Conversion/Passes.h.inc"
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

namespace {
struct MathToIntrinsicsPass
    : tp::impl::MathToIntrinsicsBase<MathToIntrinsicsPass> {
  void runOnOperation() override {
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
