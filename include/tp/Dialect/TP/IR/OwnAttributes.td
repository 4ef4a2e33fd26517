//===- OwnAttributes.td - Operations with no attribute but theirs -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OwnAttributes.h.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_OWNATTRIBUTES_TD
#define TP_DIALECT_TP_IR_OWNATTRIBUTES_TD

include "mlir/IR/OpBase.td"

def TP_OwnAttributes : NativeOpTrait<"OwnAttributes"> {
  let cppNamespace = "::tp";
}

#endif // TP_DIALECT_TP_IR_OWNATTRIBUTES_TD
