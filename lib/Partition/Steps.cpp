//===- Steps.cpp - Building reshards in the per-rank program --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operation per step of a plan, and the cheapest tree over several targets.
//
//===----------------------------------------------------------------------===//

#include "tp/Partition/Steps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include <algorithm>

using namespace mlir;
using namespace tp;

Value tp::buildStep(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> shape, const TensorSharding &from,
                    const ReshardStep &step, const Mesh &mesh,
                    FlatSymbolRefAttr meshSymbol, LedgerAttr ledger) {
  // A complete maximum is a partial one already.
  if (step.getRow().to == Holding::Partial &&
      step.reduction != ReductionKind::Sum)
    return value;
  MLIRContext *context = builder.getContext();
  StepAttrs attrs;
  attrs.reduction = builder.getStringAttr(stringify(step.reduction));
  attrs.gatheredDim = step.getGatheredDim();
  attrs.cutDim = step.getCutDim();
  attrs.mesh = meshSymbol;
  attrs.axes = getAxisListAttr(context, mesh, step.axes);
  SmallVector<int64_t> pairs;
  for (auto [source, target] : step.pairs)
    pairs.append({source, target});
  attrs.pairs = DenseIntElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(step.pairs.size()), 2},
                            builder.getI64Type()),
      pairs);
  attrs.from = ShardingAttr::get(context, meshSymbol, mesh, from);
  attrs.to = ShardingAttr::get(context, meshSymbol, mesh, step.result);
  attrs.ledger = ledger;
  auto type = cast<RankedTensorType>(value.getType())
                  .clone(getLocalShape(shape, step.result));
  return createStep(builder, loc, step.kind, type, value, attrs)->getResult(0);
}

namespace {
struct Price {
  int64_t elements = 0, calls = 0, steps = 0;
  auto operator<=>(const Price &) const = default;
};
} // namespace

SmallVector<std::optional<unsigned>>
tp::planReshardTree(ArrayRef<int64_t> shape, const TensorSharding &have,
                    ArrayRef<TensorSharding> targets, const Mesh &mesh) {
  unsigned count = targets.size();
  if (count == 1)
    return {std::nullopt};
  // table[i][j]: target j from target i; the last row: from the value.
  SmallVector<SmallVector<Price>> table(count + 1, SmallVector<Price>(count));
  for (unsigned i = 0; i <= count; ++i)
    for (unsigned j = 0; j < count; ++j) {
      if (i == j)
        continue;
      ReshardPlan plan =
          planReshard(shape, i == count ? have : targets[i], targets[j], mesh);
      table[i][j] = {plan.elementsReceived, plan.getNumCalls(),
                     static_cast<int64_t>(plan.steps.size())};
    }
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, count));
  std::optional<Price> best;
  SmallVector<std::optional<unsigned>> bestParents;
  do {
    Price total;
    SmallVector<std::optional<unsigned>> parents(count);
    for (unsigned position = 0; position < count; ++position) {
      unsigned j = order[position];
      Price cheapest = table[count][j];
      for (unsigned i : ArrayRef<unsigned>(order).take_front(position))
        if (table[i][j] < cheapest) {
          cheapest = table[i][j];
          parents[j] = i;
        }
      total.elements += cheapest.elements;
      total.calls += cheapest.calls;
      total.steps += cheapest.steps;
    }
    if (!best || total < *best) {
      best = total;
      bestParents = parents;
    }
  } while (count <= 5 && std::next_permutation(order.begin(), order.end()));
  return bestParents;
}
