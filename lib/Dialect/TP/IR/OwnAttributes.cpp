//===- OwnAttributes.cpp - Operations with no attribute but theirs --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OwnAttributes.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/OwnAttributes.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tp;

StringRef tp::getNearestName(StringRef name, ArrayRef<StringRef> known) {
  unsigned least = name.size() / 3 + 1;
  StringRef nearest;
  // The own attributes of an operation have no prefix: nn.causal is causal.
  StringRef bare = name.rsplit('.').second;
  for (StringRef other : known)
    if (unsigned distance = other.contains('.') || bare.empty()
                                ? name.edit_distance(other)
                                : bare.edit_distance(other);
        distance < least) {
      least = distance;
      nearest = other;
    }
  return nearest;
}

LogicalResult tp::refuseUnknownAttribute(Operation *op, const Twine &where,
                                         StringRef name,
                                         ArrayRef<StringRef> known) {
  InFlightDiagnostic diag = op->emitOpError();
  if (!where.isTriviallyEmpty())
    diag << where.str() << ": ";
  diag << "unknown attribute '" << name << "', which nothing would read";
  if (StringRef nearest = getNearestName(name, known); !nearest.empty())
    diag << "; did you mean '" << nearest << "'?";
  return diag;
}

LogicalResult tp::verifyOwnAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    bool isVisibility = isa<SymbolOpInterface>(op) &&
                        name == SymbolTable::getVisibilityAttrName();
    if (name.contains('.') || isVisibility)
      continue;
    SmallVector<StringRef> known;
    for (StringAttr own : op->getName().getAttributeNames())
      known.push_back(own);
    return refuseUnknownAttribute(op, "", name, known);
  }
  return success();
}
