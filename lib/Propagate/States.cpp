//===- States.cpp - One sharding for each state ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state has one place in memory for all functions, so its sharding is not
// inferred in one of them: it is written on all before propagation begins. One
// that is partial must stay so in all steps that replace it.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Resolve.h"
#include "tp/Rules/Rules.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

/// The sharding as propagation writes it, closed; replicated if there
/// is none.
static ShardingAttr close(ShardingAttr sharding, MeshOp mesh, int64_t rank) {
  Mesh resolved = mesh.getMesh().toMesh();
  TensorSharding closed = sharding ? sharding.toSharding(resolved).closed()
                                   : TensorSharding::replicated(rank);
  return ShardingAttr::get(mesh.getContext(),
                           FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                           resolved, closed);
}

/// Visit the sharding of each argument and result that carries `state`, with a
/// function that sets it.
template <typename Visit>
static void forEachUse(ModuleOp module, StateOp state, Visit visit) {
  StringRef name = TPDialect::getShardingAttrName();
  auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (getArgState(function, i) == symbol)
        visit(function.getArgAttrOfType<ShardingAttr>(i, name),
              [&](ShardingAttr other) { function.setArgAttr(i, name, other); });
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (getResultState(function, i) == symbol)
        visit(getResultSharding(function, i), [&](ShardingAttr other) {
          function.setResultAttr(i, name, other);
        });
  }
}

void tp::shardStates(ModuleOp module, MeshOp mesh) {
  for (auto state : module.getOps<StateOp>()) {
    int64_t rank = cast<RankedTensorType>(state.getType()).getRank();
    ShardingAttr sharding = state.getShardingAttr();
    forEachUse(module, state, [&](ShardingAttr used, auto) {
      if (!sharding)
        sharding = used;
    });
    sharding = close(sharding, mesh, rank);
    state.setShardingAttr(sharding);
    // One that differs stays, and the verifier names it.
    forEachUse(module, state, [&](ShardingAttr used, auto set) {
      if (!used || close(used, mesh, rank) == sharding)
        set(sharding);
    });
  }
}

void tp::adoptShardings(ModuleOp module) {
  for (auto state : module.getOps<StateOp>())
    forEachUse(module, state,
               [&](ShardingAttr used, auto) { state.setShardingAttr(used); });
}

namespace {
/// The source of a value of a block.
struct Slice {
  llvm::SetVector<Operation *> ops;
  /// Their results of which it is made.
  llvm::SmallDenseSet<Value> values;

  void insert(const Slice &other) {
    ops.insert_range(other.ops);
    values.insert_range(other.values);
  }
  /// True if one of these results follows from operand `index` of `op`.
  bool follows(Operation *op, unsigned index) const {
    return llvm::any_of(op->getResults(), [&](OpResult result) {
      return values.contains(result) && dependsOn(result, index);
    });
  }
};
} // namespace

static Slice getSlice(Block &block, Value value) {
  Slice slice;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    auto result = dyn_cast<OpResult>(work.pop_back_val());
    if (!result || result.getOwner()->getBlock() != &block ||
        !slice.values.insert(result).second)
      continue;
    Operation *op = result.getOwner();
    for (OpOperand &operand : op->getOpOperands())
      if (dependsOn(result, operand.getOperandNumber()))
        work.push_back(operand.get());
    if (!slice.ops.insert(op))
      continue;
    llvm::SetVector<Value> captures;
    getUsedValuesDefinedAbove(op->getRegions(), captures);
    work.append(captures.begin(), captures.end());
  }
  return slice;
}

FailureOr<TensorSharding> tp::getNeededSharding(OpOperand &operand,
                                                const Mesh &mesh) {
  Operation *op = operand.getOwner();
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  SmallVector<TensorSharding, 2> operands, results;
  SmallVector<SmallVector<int64_t>> operandShapes, resultShapes;
  auto collect = [&](ValueRange values, auto &shardings, auto &shapes) {
    for (Value value : values) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      shapes.emplace_back(type ? type.getShape() : ArrayRef<int64_t>());
      shardings.push_back(type ? getSharding(value).toSharding(mesh)
                               : TensorSharding());
    }
  };
  collect(op->getOperands(), operands, operandShapes);
  collect(op->getResults(), results, resultShapes);
  unsigned index = operand.getOperandNumber();
  ResolvedOp resolved =
      resolveFactors(*rule, operands, results, operandShapes, resultShapes);
  return getRequiredOperandSharding(*rule, index, resolved,
                                    operandShapes[index]);
}

/// True if `op` takes `operand`, which is partial, without its being reduced:
/// its rule must pass it on, as partition will ask for it.
static FailureOr<bool> takesPartial(Operation *op, OpOperand &operand,
                                    const Mesh &mesh) {
  if (isa<func::ReturnOp>(op))
    return true;
  if (isa<ShardingConstraintOp, func::CallOp>(op))
    return false;
  FailureOr<TensorSharding> required = getNeededSharding(operand, mesh);
  if (failed(required))
    return failure();
  // Dimensions may be cut otherwise: that reduces nothing.
  TensorSharding have = getSharding(operand.get()).toSharding(mesh);
  return required->reduction == have.reduction &&
         containsAxes(required->partial, have.partial);
}

static FailureOr<Operation *> findSum(Value old, const Slice &slice,
                                      const Mesh &mesh);

/// The same within a layer, of the slice that `operand` gives it: from all that
/// its stacked results follow from, in earlier iterations too.
static FailureOr<Operation *>
findSumInLayer(RepeatOp repeat, OpOperand &operand, const Mesh &mesh) {
  unsigned carried = repeat.getInits().size();
  if (operand.getOperandNumber() < carried)
    return repeat.getOperation();
  Block &body = *repeat.getBodyBlock();
  Slice slice;
  llvm::SmallSetVector<unsigned, 4> results;
  for (unsigned i = carried; i < repeat->getNumResults(); ++i)
    results.insert(i);
  for (size_t at = 0; at < results.size(); ++at) {
    Value yielded = repeat.getYield()->getOperand(results[at]);
    slice.insert(getSlice(body, yielded));
    for (unsigned i = 0; i < carried; ++i) {
      Value argument = repeat.getCarriedArgs()[i];
      if (yielded == argument ||
          llvm::any_of(argument.getUsers(), [&](Operation *user) {
            return slice.ops.contains(body.findAncestorOpInBlock(*user));
          }))
        results.insert(i);
    }
  }
  return findSum(repeat.getStackedArgs()[operand.getOperandNumber() - carried],
                 slice, mesh);
}

/// The first operation of `slice` that needs all of `old`, or of what is
/// partial like it, on one rank; null if there is none.
static FailureOr<Operation *> findSum(Value old, const Slice &slice,
                                      const Mesh &mesh) {
  llvm::SmallDenseSet<Value> partial{old};
  for (Operation &op : old.getParentBlock()->without_terminator()) {
    if (!slice.ops.contains(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      if (!partial.contains(operand.get()) ||
          !slice.follows(&op, operand.getOperandNumber()))
        continue;
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        FailureOr<Operation *> sum = findSumInLayer(repeat, operand, mesh);
        if (failed(sum) || *sum)
          return sum;
      } else {
        FailureOr<bool> takes = takesPartial(&op, operand, mesh);
        if (failed(takes))
          return failure();
        if (!*takes)
          return &op;
      }
      for (OpResult result : op.getResults())
        if (dependsOn(result, operand.getOperandNumber()))
          partial.insert(result);
    }
    // Values from above.
    WalkResult walk = op.walk([&](Operation *inner) {
      bool reads = inner != &op &&
                   llvm::any_of(inner->getOperands(), [&](Value operand) {
                     return partial.contains(operand);
                   });
      return reads ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return &op;
  }
  return nullptr;
}

LogicalResult tp::checkPartialStates(ModuleOp module, const Mesh &mesh) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &block = function.getBody().front();
    for (OpOperand &use : block.getTerminator()->getOpOperands()) {
      FlatSymbolRefAttr symbol =
          getResultState(function, use.getOperandNumber());
      StateOp state = symbol ? lookupState(function, symbol) : StateOp();
      ShardingAttr sharding = state ? state.getShardingAttr() : ShardingAttr();
      if (!sharding || sharding.getPartial().empty())
        continue;
      Slice slice = getSlice(block, use.get());
      for (BlockArgument argument : block.getArguments()) {
        if (getArgState(function, argument.getArgNumber()) != symbol)
          continue;
        FailureOr<Operation *> sum = findSum(argument, slice, mesh);
        if (failed(sum))
          return failure();
        if (!*sum)
          continue;
        InFlightDiagnostic diag =
            (*sum)->emitOpError()
            << "needs the reduced value of the partial state " << symbol
            << " to make its successor, so each step would reduce it; "
               "expected operations that keep what is partial so, or a state "
               "that is complete";
        diag.attachNote(state.getLoc()) << "the state is declared here";
        return diag;
      }
    }
  }
  return success();
}
