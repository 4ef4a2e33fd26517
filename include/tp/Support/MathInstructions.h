//===- MathInstructions.h - Functions that are instructions -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_MATHINSTRUCTIONS_H
#define TP_SUPPORT_MATHINSTRUCTIONS_H

#include "mlir/IR/Operation.h"

namespace tp {

/// Functions of the math dialect that every target computes in instructions.
/// Fused multiply-add is not among them: it becomes a product and a sum, which
/// the code generator fuses where it can.
bool isMathInstruction(mlir::Operation *op);

} // namespace tp

#endif // TP_SUPPORT_MATHINSTRUCTIONS_H
