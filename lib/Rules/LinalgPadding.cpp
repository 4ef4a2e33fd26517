//===- LinalgPadding.cpp - Padding of structured operations ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a body on one padding element with what is known of its inputs. Inputs
// that do not carry the padded factor hold logical values, of which nothing is
// known.
//
//===----------------------------------------------------------------------===//

#include "LinalgBody.h"
#include "PadValue.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace tp;

using PadValues = DenseMap<Value, PadValue>;

static SmallVector<PadValue> getInputPadValues(LinalgOp op,
                                               ArrayRef<PadState> states) {
  SmallVector<PadValue> inputs;
  for (auto [state, operand] : llvm::zip_equal(states, op->getOperands()))
    inputs.push_back(isa<RankedTensorType>(operand.getType())
                         ? toPadValue(state, operand.getType())
                         : getSharedPadValue(operand));
  return inputs;
}

static PadValues runBody(LinalgOp op, ArrayRef<PadValue> inputs) {
  return interpretBody<PadValue>(*op.getBlock(), inputs, getSharedPadValue,
                                 transferPadValue);
}

static bool isReduction(LinalgOp op, unsigned factor) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  return factor < iterators.size() &&
         iterators[factor] == utils::IteratorType::reduction;
}

PadStates tp::getLinalgStates(Operation *operation, unsigned factor,
                              ArrayRef<PadState> states) {
  auto op = cast<LinalgOp>(operation);
  auto run = [&](ArrayRef<PadValue> inputs) {
    PadValues pads = runBody(op, inputs);
    return llvm::map_to_vector(op.getBlock()->getTerminator()->getOperands(),
                               [&](Value value) { return pads[value]; });
  };
  auto toStates = [](ArrayRef<PadValue> pads) {
    return PadStates(llvm::map_range(pads, toPadState));
  };
  SmallVector<PadValue> inputs = getInputPadValues(op, states);
  unsigned firstOut = op.getNumDpsInputs(), numOuts = op.getNumDpsInits();
  if (isReduction(op, factor)) {
    // The terms alone: combine them with what the reduction ignores.
    std::optional<ReductionKind> kind = getReductionKind(op);
    if (!kind)
      return PadStates(numOuts, PadState::Anything);
    for (auto [i, init] : llvm::enumerate(op.getDpsInits()))
      inputs[firstOut + i] = toPadValue(getNeutralState(*kind), init.getType());
    return toStates(run(inputs));
  }
  SmallVector<PadValue> results = run(inputs);
  if (op.getNumReductionLoops() == 0)
    return toStates(results);
  // Over the steps of a reduction the element must keep what one step left.
  llvm::copy(results, inputs.begin() + firstOut);
  SmallVector<PadValue> again = run(inputs);
  for (unsigned i = 0; i < numOuts; ++i)
    if (!(results[i] == again[i]))
      results[i] = PadValue();
  return toStates(results);
}

/// Values in which padding of `factor` may hold something else than every
/// logical position does.
static DenseMap<Value, bool> findVarying(LinalgOp op, unsigned factor) {
  SmallVector<bool> inputs;
  for (OpOperand &operand : op->getOpOperands())
    inputs.push_back(
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(factor) ||
        (op.isDpsInit(&operand) && isReduction(op, factor)));
  return interpretBody<bool>(
      *op.getBlock(), inputs, [](Value) { return false; },
      [&](Operation *inner, ArrayRef<bool> operands) {
        if (auto index = dyn_cast<IndexOp>(inner))
          return index.getDim() == factor;
        return llvm::is_contained(operands, true);
      });
}

bool tp::needsBodyGuard(Operation *operation, unsigned factor,
                        ArrayRef<PadState> states) {
  auto op = cast<LinalgOp>(operation);
  if (factor >= op.getNumLoops())
    return false;
  SmallVector<std::pair<PartialOperand, Value>> looked;
  op.getBlock()->walk([&](Operation *inner) {
    for (PartialOperand partial : getPartialOperands(inner))
      looked.push_back({partial, inner->getOperand(partial.index)});
  });
  if (looked.empty())
    return false;
  PadValues pads = runBody(op, getInputPadValues(op, states));
  DenseMap<Value, bool> varying = findVarying(op, factor);
  return llvm::any_of(looked, [&](const auto &entry) {
    auto [partial, value] = entry;
    // Values of nested regions were not followed.
    bool isNested =
        op.getBlock()->getParent()->isProperAncestor(value.getParentRegion());
    auto varies = varying.find(value);
    bool mayDiffer = isNested || (varies != varying.end() && varies->second);
    auto pad = pads.find(value);
    return mayDiffer && (pad == pads.end() || !isSafe(partial, pad->second));
  });
}
