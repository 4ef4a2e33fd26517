//===- Sequences.cpp - Values that are batches of sequences ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp.sequences on arguments and results [B, S, ...] promises that the runtime
// may give shorter sequences than S, continued with zeros and hidden by zeros
// of the mask: so all must agree on B and S, zero must be allowed, and there
// must be a mask, which is ones where nothing is said.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tp;

namespace {
/// The arguments of a function, or its results.
struct Side {
  FunctionOpInterface function;
  bool isResult;

  unsigned size() {
    return isResult ? function.getNumResults() : function.getNumArguments();
  }
  Attribute get(unsigned i, StringRef name) {
    return isResult ? function.getResultAttr(i, name)
                    : function.getArgAttr(i, name);
  }
  /// As it is on all ranks together.
  RankedTensorType getType(unsigned i) {
    Type type = isResult ? function.getResultTypes()[i]
                         : function.getArgumentTypes()[i];
    if (auto global = dyn_cast_or_null<TypeAttr>(
            get(i, TPDialect::getGlobalTypeAttrName())))
      type = global.getValue();
    return dyn_cast<RankedTensorType>(type);
  }
};
} // namespace

/// The first argument or result that is marked, and what it is called.
static std::pair<RankedTensorType, std::string>
findFirst(FunctionOpInterface function) {
  for (Side side : {Side{function, false}, Side{function, true}})
    for (unsigned i = 0; i < side.size(); ++i)
      if (side.get(i, sequencesName))
        return {side.getType(i),
                (side.isResult ? "result " : "argument ") + std::to_string(i)};
  return {};
}

LogicalResult tp::verifySequences(Operation *op, unsigned index, bool isResult,
                                  const Twine &where) {
  Side side{cast<FunctionOpInterface>(op), isResult};
  RankedTensorType type = side.getType(index);
  if (!type || type.getRank() < 2)
    return op->emitOpError() << where << ": expected " << sequencesName
                             << " on a tensor [batch, positions, ...]";
  auto [first, name] = findFirst(side.function);
  if (first && first.getRank() >= 2 &&
      first.getShape().take_front(2) != type.getShape().take_front(2))
    return op->emitOpError()
           << where << ": expected " << first.getDimSize(0) << " sequences of "
           << first.getDimSize(1) << " positions as " << name << " has, got "
           << type;
  Side arguments{side.function, false};
  bool hasMask = false;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    auto value = dyn_cast_or_null<StringAttr>(arguments.get(i, "tp.default"));
    hasMask |=
        value && value.getValue() == "ones" && arguments.get(i, sequencesName);
  }
  if (!hasMask)
    return op->emitOpError()
           << where << ": expected a mask for what pads sequences: an argument "
           << "with " << sequencesName << " and tp.default = \"ones\"";
  auto range = dyn_cast_or_null<DenseI64ArrayAttr>(side.get(index, "tp.range"));
  if (!isResult && range && range.size() == 2 &&
      (range[0] > 0 || range[1] <= 0))
    return op->emitOpError()
           << where << ": expected a range with 0, which pads sequences, got "
           << range;
  return success();
}
