//===- LinalgLanes.cpp - Padding lanes of structured operations -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a body on one padding lane with what is known of its inputs. Inputs that
// do not carry the padded factor hold logical values, of which nothing is
// known.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "LinalgBody.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace tp;

using Lanes = DenseMap<Value, Lane>;

static SmallVector<Lane> getInputLanes(LinalgOp op, ArrayRef<PadState> states) {
  SmallVector<Lane> inputs;
  for (auto [state, operand] : llvm::zip_equal(states, op->getOperands()))
    inputs.push_back(isa<RankedTensorType>(operand.getType())
                         ? toLane(state, operand.getType())
                         : getSharedLane(operand));
  return inputs;
}

static Lanes runBody(LinalgOp op, ArrayRef<Lane> inputs) {
  return interpretBody<Lane>(*op.getBlock(), inputs, getSharedLane,
                             transferLane);
}

static bool isReduction(LinalgOp op, unsigned factor) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  return factor < iterators.size() &&
         iterators[factor] == utils::IteratorType::reduction;
}

PadStates tp::getLinalgStates(Operation *operation, unsigned factor,
                              ArrayRef<PadState> states) {
  auto op = cast<LinalgOp>(operation);
  auto run = [&](ArrayRef<Lane> inputs) {
    Lanes lanes = runBody(op, inputs);
    return llvm::map_to_vector(op.getBlock()->getTerminator()->getOperands(),
                               [&](Value value) { return lanes[value]; });
  };
  auto toStates = [](ArrayRef<Lane> lanes) {
    return PadStates(llvm::map_range(lanes, toPadState));
  };
  SmallVector<Lane> inputs = getInputLanes(op, states);
  unsigned firstOut = op.getNumDpsInputs(), numOuts = op.getNumDpsInits();
  if (isReduction(op, factor)) {
    // The terms alone: combine them with what the reduction ignores.
    std::optional<ReductionKind> kind = getReductionKind(op);
    if (!kind)
      return PadStates(numOuts, PadState::Anything);
    for (auto [i, init] : llvm::enumerate(op.getDpsInits()))
      inputs[firstOut + i] = toLane(getNeutralState(*kind), init.getType());
    return toStates(run(inputs));
  }
  SmallVector<Lane> results = run(inputs);
  if (op.getNumReductionLoops() == 0)
    return toStates(results);
  // Over the steps of a reduction the lane must keep what one step left.
  llvm::copy(results, inputs.begin() + firstOut);
  SmallVector<Lane> again = run(inputs);
  for (unsigned i = 0; i < numOuts; ++i)
    if (!(results[i] == again[i]))
      results[i] = Lane();
  return toStates(results);
}

/// What a lane of `factor` may hold something else in than every logical
/// position does: true for values that depend on such a lane.
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
  Lanes lanes = runBody(op, getInputLanes(op, states));
  DenseMap<Value, bool> varying = findVarying(op, factor);
  return llvm::any_of(looked, [&](const auto &entry) {
    auto [partial, value] = entry;
    // Values of nested regions were not followed.
    bool isNested =
        op.getBlock()->getParent()->isProperAncestor(value.getParentRegion());
    auto varies = varying.find(value);
    bool mayDiffer = isNested || (varies != varying.end() && varies->second);
    auto lane = lanes.find(value);
    return mayDiffer && (lane == lanes.end() || !isSafe(partial, lane->second));
  });
}
