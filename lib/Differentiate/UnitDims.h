//===- UnitDims.h - Maps of structured operations without constants -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See UnitDims.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIFFERENTIATE_UNITDIMS_H
#define TP_LIB_DIFFERENTIATE_UNITDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Takes dimensions of size one that structured operations read at the constant
/// 0 out of their operands.
void dropUnitDims(mlir::func::FuncOp function);

} // namespace tp

#endif // TP_LIB_DIFFERENTIATE_UNITDIMS_H
