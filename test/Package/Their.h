//===- Their.h - A dialect of another project -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation to which the example of docs/Editors.md gives a sharding rule.
//
//===----------------------------------------------------------------------===//

#ifndef THEIR_H
#define THEIR_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"

namespace their {

class ScaleOp
    : public mlir::Op<ScaleOp, mlir::OpTrait::ZeroRegions,
                      mlir::OpTrait::ZeroSuccessors, mlir::OpTrait::OneResult,
                      mlir::OpTrait::OneOperand> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "their.scale"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
};

class TheirDialect : public mlir::Dialect {
public:
  explicit TheirDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                mlir::TypeID::get<TheirDialect>()) {
    addOperations<ScaleOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "their"; }
};

} // namespace their

#endif // THEIR_H
