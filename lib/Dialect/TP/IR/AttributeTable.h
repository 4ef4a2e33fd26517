//===- AttributeTable.h - The discardable attributes of tp ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table of every name that begins with `tp.`, where it may stand and what
// it holds. The dialect's verifier asks it first: MLIR lets anything be written
// on anything, and what is misspelt or stands in the wrong place would be read
// by nobody.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_TP_IR_ATTRIBUTETABLE_H
#define TP_LIB_DIALECT_TP_IR_ATTRIBUTETABLE_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// Places that an attribute may stand at; a function, a module and the
/// operations named are operations too.
enum Place : unsigned {
  OnModule = 1,
  OnFunction = 2,
  OnRepeat = 4,
  OnParameter = 8,
  OnState = 16,
  OnOperation = 32,
  OnArgument = 64,
  OnResult = 128,
};

/// An error at `op` unless the table has the attribute, for this place, with
/// such a value. `where` is empty for the operation's own attributes, and else
/// says which argument or result of the function they are of.
mlir::LogicalResult verifyAttributePlace(mlir::Operation *op, Place place,
                                         mlir::NamedAttribute attribute,
                                         const llvm::Twine &where);
/// The place that the operation's own attributes are at, most special first.
Place getPlace(mlir::Operation *op);

} // namespace tp

#endif // TP_LIB_DIALECT_TP_IR_ATTRIBUTETABLE_H
