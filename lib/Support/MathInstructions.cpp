//===- MathInstructions.cpp - Math functions that are instructions --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Support/MathInstructions.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

bool tp::isMathInstruction(Operation *op) {
  return isa<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::CopySignOp,
             math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp>(op);
}
