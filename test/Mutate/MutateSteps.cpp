//===- MutateSteps.cpp - Collectives dropped, doubled, moved, re-axed -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation that is moved or inserted gets the shardings that a mistaken
// pass would write, so that only the law that is broken can give it away.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "mlir/IR/Builders.h"
#include "tp/Partition/Derive.h"

using namespace mlir;

namespace tp::mutate {

namespace {

SmallVector<Operation *> findSteps(ModuleOp module,
                                   function_ref<bool(Operation *)> wanted) {
  SmallVector<Operation *> steps;
  module->walk([&](Operation *op) {
    if (isa<ReshardStepOpInterface>(op) && wanted(op))
      steps.push_back(op);
  });
  return steps;
}

bool keepsType(Operation *op) {
  return op->getOperand(0).getType() == op->getResult(0).getType();
}

void setEnd(Operation *op, StringRef name, const TensorSharding &sharding,
            const Mesh &mesh) {
  auto old = op->getAttrOfType<ShardingAttr>(name);
  op->setAttr(
      name, ShardingAttr::get(op->getContext(), old.getMesh(), mesh, sharding));
}

/// Another id than all that are there.
void renumber(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || !collective.getLedgerEntry())
    return;
  LedgerAttr entry = collective.getLedgerEntry();
  collective.setLedgerEntry(LedgerAttr::get(
      op->getContext(), entry.getId() + 1000000, entry.getCause(),
      entry.getAnnotation(), entry.getPass()));
}

std::string drop(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<Operation *> steps = findSteps(module, keepsType);
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  std::string what = describe(op);
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return what;
}

std::string twice(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<Operation *> steps = findSteps(module, keepsType);
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *again = builder.clone(*op);
  renumber(again);
  op->getResult(0).replaceAllUsesWith(again->getResult(0));
  again->setOperand(0, op->getResult(0));
  return describe(op);
}

std::string changeStepAxes(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> steps =
      findSteps(module, [](Operation *) { return true; });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  FailureOr<AxisList> axes =
      resolveAxes(op->getAttrOfType<AxisListAttr>("axes"), mesh,
                  [&] { return op->emitError(); });
  AxisList other = changeAxes(*axes, mesh, chance);
  op->setAttr("axes", getAxisListAttr(op->getContext(), mesh, other));
  return describe(op) + " to " + mesh.getName(other);
}

/// One of two places behind: `use(step(x))` becomes `step(use(x))`.
std::string moveBehind(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> steps = findSteps(module, [](Operation *op) {
    Value result = op->getResult(0);
    if (!result.hasOneUse())
      return false;
    Operation *use = *result.getUsers().begin();
    return use->getBlock() == op->getBlock() && use->getNumResults() == 1 &&
           !isa<ReshardStepOpInterface>(use) &&
           getSharding(use->getResult(0)) &&
           use->getResult(0).getType() == result.getType() &&
           (keepsType(op) || use->getNumRegions() == 0);
  });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  Operation *use = *op->getResult(0).getUsers().begin();
  Value value = use->getResult(0);
  std::string what = describe(op) + " behind " + describe(use);
  TensorSharding after = getSharding(value).toSharding(mesh);
  TensorSharding before =
      op->getAttrOfType<ShardingAttr>("from").toSharding(mesh);
  use->setOperand((*op->getResult(0).getUses().begin()).getOperandNumber(),
                  op->getOperand(0));
  op->moveAfter(use);
  value.setType(op->getOperand(0).getType());
  setSharding(value,
              ShardingAttr::get(module.getContext(),
                                getSharding(value).getMesh(), mesh, before));
  op->setOperand(0, value);
  value.replaceAllUsesExcept(op->getResult(0), op);
  setEnd(op, "to", after, mesh);
  return what;
}

std::string changeDim(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<Operation *> steps = findSteps(module, [](Operation *op) {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    return type.getRank() > 1 && (op->hasAttr("dim") || isa<AllToAllOp>(op));
  });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  std::string what = describe(op);
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  auto other = [&](int64_t dim) {
    return (dim + 1 + chance.below(rank - 1)) % rank;
  };
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    int64_t split = exchange.getSplitDim();
    exchange.setSplitDim(exchange.getGatherDim());
    exchange.setGatherDim(split);
    return what + " turned around";
  }
  int64_t old = op->getAttrOfType<IntegerAttr>("dim").getInt();
  op->setAttr("dim", OpBuilder(op).getI64IntegerAttr(other(old)));
  return what;
}

std::string changeReduction(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> steps =
      findSteps(module, [](Operation *op) { return op->hasAttr("reduction"); });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  StringRef old = op->getAttrOfType<StringAttr>("reduction").getValue();
  SmallVector<ReductionKind> kinds;
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    if (stringify(kind) != old)
      kinds.push_back(kind);
  ReductionKind kind = chance.pick(kinds);
  op->setAttr("reduction", StringAttr::get(op->getContext(), stringify(kind)));
  // Alone, or with what it says of its operand.
  if (chance.half()) {
    TensorSharding from =
        op->getAttrOfType<ShardingAttr>("from").toSharding(mesh);
    from.reduction = kind;
    setEnd(op, "from", from, mesh);
  }
  return describe(op) + " to " + stringify(kind).str();
}

std::string changeEnds(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> steps =
      findSteps(module, [](Operation *op) { return op->hasAttr("from"); });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  StringRef end = chance.half() ? "from" : "to";
  ShardingAttr changed =
      changeSharding(op->getAttrOfType<ShardingAttr>(end), mesh, chance);
  if (!changed)
    return "";
  op->setAttr(end, changed);
  return describe(op) + " '" + end.str() + "'";
}

std::string removeEnds(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<Operation *> steps =
      findSteps(module, [](Operation *op) { return op->hasAttr("from"); });
  if (steps.empty())
    return "";
  Operation *op = chance.pick(steps);
  op->removeAttr(chance.half() ? "from" : "to");
  return describe(op);
}

/// A step that has no business there: a sum of a complete value, or only the
/// first rank's.
std::string insertStep(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Value> values;
  module->walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()) && getSharding(result) &&
          !isa<RepeatOp>(op) && !result.use_empty())
        values.push_back(result);
  });
  if (values.empty() || mesh.getNumAxes() == 0)
    return "";
  Value value = chance.pick(values);
  ShardingAttr sharding = getSharding(value);
  AxisList axes{mesh.getWhole(chance.below(mesh.getNumAxes()))};
  AxisListAttr axesAttr = getAxisListAttr(module.getContext(), mesh, axes);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfterValue(value);
  Operation *step;
  if (chance.half()) {
    step =
        KeepFirstOp::create(builder, value.getLoc(), value.getType(), value,
                            sharding.getMesh(), axesAttr, sharding, sharding);
  } else {
    auto entry = LedgerAttr::get(
        module.getContext(), 2000000, builder.getStringAttr("none"),
        builder.getStringAttr("none"), builder.getStringAttr("none"));
    step = AllReduceOp::create(builder, value.getLoc(), value.getType(), value,
                               builder.getStringAttr("sum"), sharding.getMesh(),
                               axesAttr, sharding, sharding, entry);
  }
  value.replaceAllUsesExcept(step->getResult(0), step);
  return describe(step) + " of " +
         describe(step->getOperand(0).getDefiningOp());
}

/// A maximum that is still partial becomes the initial value of a sum, which
/// would add what each rank has of it.
std::string addExtreme(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Value> extremes;
  SmallVector<std::pair<OpOperand *, Value>> places;
  module->walk([&](Operation *op) {
    auto attr = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName());
    if (!attr)
      return;
    for (auto [index, linearity] : llvm::enumerate(attr.toRule().linearity))
      for (Value value : extremes)
        if (OpOperand &init = op->getOpOperand(index);
            countsOnce(linearity) && init.get().getType() == value.getType() &&
            value.getParentBlock() == op->getBlock())
          places.push_back({&init, value});
    for (Value result : op->getResults())
      if (ShardingAttr sharding = getSharding(result);
          sharding && !sharding.getPartial().empty() &&
          sharding.getReduction() != ReductionKind::Sum)
        extremes.push_back(result);
  });
  if (places.empty())
    return "";
  auto [init, value] = chance.pick(places);
  init->set(value);
  return describe(value.getDefiningOp()) + " into " +
         describe(init->getOwner());
}

/// Two parts go to each other's place.
std::string swapPairs(ModuleOp module, const Mesh &mesh, Chance &chance) {
  SmallVector<Operation *> steps = findSteps(
      module, [](Operation *op) { return isa<CollectivePermuteOp>(op); });
  if (steps.empty() || mesh.getNumRanks() < 2)
    return "";
  auto op = cast<CollectivePermuteOp>(chance.pick(steps));
  SmallVector<int64_t> ranks(op.getPairs().getValues<int64_t>());
  int64_t count = ranks.size() / 2, first = chance.below(count);
  int64_t second = (first + 1 + chance.below(count - 1)) % count;
  std::swap(ranks[2 * first + 1], ranks[2 * second + 1]);
  auto type = cast<RankedTensorType>(op.getPairs().getShapedType());
  op.setPairsAttr(DenseIntElementsAttr::get(type, ranks));
  return describe(op);
}

constexpr StringLiteral zeros = "a value that is zero, or unused, or a maximum "
                                "is the same however often it counts";

} // namespace

ArrayRef<Mutation> getStepMutations() {
  static const Mutation mutations[] = {
      {"drop-step", drop, zeros},
      {"double-step", twice, zeros},
      {"step-axes", changeStepAxes,
       "axes of size one, or the same axes in other words"},
      {"move-step", moveBehind,
       "the operation does the same to an element wherever it is"},
      {"step-dim", changeDim, ""},
      {"step-reduction", changeReduction, zeros},
      {"step-ends", changeEnds,
       "the same layout in other words: a grain or an order that cuts nothing"},
      {"step-ends-missing", removeEnds, ""},
      {"insert-step", insertStep, zeros},
      {"initial-kind", addExtreme, ""},
      {"permute-pairs", swapPairs, "two ranks that hold the same"},
  };
  return mutations;
}

} // namespace tp::mutate
