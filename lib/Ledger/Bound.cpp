//===- Bound.cpp - The least communication that the shardings allow -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts needs, not collectives. A need is a value that some operation computes
// in one sharding and others take in another; however the program meets it, in
// a ring each rank must send at least 2 (N-1)/N of a partial sum that all ranks
// want whole, and (N-1)/N of what is only scattered or only gathered. Partial
// sums that are added are one need. A program that gathers twice, or reduces
// what it could have added first, has more traffic than its bound.
//
//===----------------------------------------------------------------------===//

#include "tp/Ledger/Ledger.h"
#include "tp/Partition/Steps.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

/// The bytes that one rank sends for a step that no operation stands for.
static int64_t getStepTraffic(ArrayRef<int64_t> shape, Type element,
                              const TensorSharding &from,
                              const ReshardStep &step) {
  SmallVector<int64_t> logical = getLocalShape(shape, from);
  if (int64_t dim = step.getGatheredDim(); dim >= 0)
    logical[dim] = getLocalSize(shape[dim], step.result.dims[dim]);
  return getTraffic(step.kind,
                    getTensorBytes(RankedTensorType::get(logical, element)),
                    getShardCount(step.axes));
}

/// The shardings in which a value is taken, through whatever steps.
static void collectTargets(Value value, const LocalStates &states,
                           SmallVectorImpl<TensorSharding> &targets) {
  const LocalState &state = states.find(value)->second;
  bool isTaken = false;
  for (Operation *user : value.getUsers()) {
    if (isa<ReshardStepOpInterface>(user))
      collectTargets(user->getResult(0), states, targets);
    else
      isTaken = true;
  }
  if (isTaken && llvm::none_of(targets, [&](const TensorSharding &other) {
        return sameLayout(state.shape, other, state.sharding);
      }))
    targets.push_back(state.sharding);
}

/// The collective that finishes a partial sum and whose only use is `use`.
static Operation *getOwnReduction(OpOperand &use) {
  auto op = use.get().getDefiningOp<ReshardStepOpInterface>();
  if (!op || !op.getRow().reduces() ||
      !llvm::all_of(op->getUsers(),
                    [&](Operation *user) { return user == use.getOwner(); }))
    return nullptr;
  Value input = op->getOperand(0);
  Operation *before = input.getDefiningOp();
  return input.hasOneUse() && !(before && isa<ReshardStepOpInterface>(before))
             ? op.getOperation()
             : nullptr;
}

/// Values whose reduction an addition could share with another one's.
static DenseSet<Value> findMergeable(Operation *function) {
  DenseSet<Value> mergeable;
  function->walk([&](Operation *op) {
    auto attr = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName());
    if (!attr)
      return;
    SmallVector<Operation *> first;
    for (auto [index, kind] : llvm::enumerate(attr.getLinearity())) {
      if (static_cast<Linearity>(kind) != Linearity::Additive)
        continue;
      Operation *reduction = getOwnReduction(op->getOpOperand(index));
      if (!reduction || llvm::is_contained(first, reduction))
        continue;
      bool shares = llvm::any_of(first, [&](Operation *other) {
        return other->getName() == reduction->getName() &&
               other->getAttr("from") == reduction->getAttr("from") &&
               other->getAttr("to") == reduction->getAttr("to");
      });
      if (shares)
        mergeable.insert(reduction->getOperand(0));
      else
        first.push_back(reduction);
    }
  });
  return mergeable;
}

void tp::addBounds(Operation *function, const Mesh &mesh,
                   const LocalStates &states,
                   std::map<std::string, KindTotal> &totals) {
  DenseSet<Value> mergeable = findMergeable(function);
  auto add = [&](Value value) {
    auto found = states.find(value);
    if (found == states.end() || mergeable.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    if (op && isa<ReshardStepOpInterface>(op))
      return;
    SmallVector<TensorSharding, 2> targets;
    collectTargets(value, states, targets);
    const LocalState &state = found->second;
    llvm::erase_if(targets, [&](const TensorSharding &target) {
      return sameLayout(state.shape, target, state.sharding);
    });
    if (targets.empty())
      return;
    int64_t runs = 1;
    if (Operation *parent = value.getParentBlock()->getParentOp();
        parent != function) {
      runs = getRunCount(parent);
      if (auto repeat = dyn_cast<RepeatOp>(parent))
        runs *= repeat.getCount();
    }
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    for (auto [target, parent] :
         llvm::zip_equal(targets, planReshardTree(state.shape, state.sharding,
                                                  targets, mesh))) {
      TensorSharding from = parent ? targets[*parent] : state.sharding;
      for (const ReshardStage &stage :
           planReshardStages(state.shape, from, target, mesh)) {
        from = stage.from;
        for (const ReshardStep &step : stage.plan.steps) {
          if (!step.getRow().isLocal())
            totals[std::string(step.getRow().operation)].bound +=
                runs * getStepTraffic(stage.shape, element, from, step);
          from = step.result;
        }
      }
    }
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (op == function || isa<RepeatOp>(op))
          for (BlockArgument arg : block.getArguments())
            add(arg);
    for (Value result : op->getResults())
      add(result);
  });
}
