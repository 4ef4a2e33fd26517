//===- NNDialect.cpp - The nn dialect
//---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect. An operation that a library computes has a file
// of its own; of the others, each concern has: Verify, Rules, Padding,
// Decompose*, Vjp*.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/NN/IR/NNOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp::nn;

#include "tp/Dialect/NN/IR/NNDialect.cpp.inc"
#include "tp/Dialect/NN/IR/NNEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tp/Dialect/NN/IR/NNAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "tp/Dialect/NN/IR/NNOps.cpp.inc"

namespace {
/// Every operation of the dialect is pure and without regions.
struct Inliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

/// The dialect has no discardable attributes: `nn.causal` is no `causal`.
static LogicalResult refuse(Operation *op, const Twine &where,
                            NamedAttribute attribute) {
  SmallVector<StringRef> known;
  for (StringAttr own : op->getName().getAttributeNames())
    known.push_back(own);
  return tp::refuseUnknownAttribute(op, where, attribute.getName(), known);
}

LogicalResult NNDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  return refuse(op, "", attribute);
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  return refuse(op, "argument " + Twine(index), attribute);
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  return refuse(op, "result " + Twine(index), attribute);
}

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tp/Dialect/NN/IR/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tp/Dialect/NN/IR/NNOps.cpp.inc"
      >();
  addInterfaces<Inliner>();
}
