//===- Sizes.cpp - How large a tensor may be ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Sizes.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/Sizes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tp;

std::optional<int64_t> tp::countElements(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    if (size > maxElements / product)
      return std::nullopt;
    product *= size;
  }
  return product;
}

static bool isTooLarge(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && !countElements(shaped.getShape());
}

static LogicalResult refuse(Operation *op, const Twine &where, Type type) {
  return op->emitOpError() << where.str() << "expected a tensor of at most "
                           << maxElements << " elements, got " << type;
}

static LogicalResult expectSizesOf(Operation *op) {
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types))
      if (isTooLarge(type))
        return refuse(op, what + " " + Twine(index) + ": ", type);
    return success();
  };
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    if (failed(check(function.getArgumentTypes(), "argument")) ||
        failed(check(function.getResultTypes(), "result")))
      return failure();
  if (failed(check(op->getResultTypes(), "result")))
    return failure();
  // Global types of per-rank programs, types of states.
  Type found;
  op->getAttrDictionary().walk([&](Type type) {
    if (!isTooLarge(type))
      return WalkResult::advance();
    found = type;
    return WalkResult::interrupt();
  });
  return found ? refuse(op, "", found) : success();
}

LogicalResult tp::expectSizes(ModuleOp module) {
  WalkResult walk = module->walk<WalkOrder::PreOrder>([](Operation *op) {
    return failed(expectSizesOf(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
