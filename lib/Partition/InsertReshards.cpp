//===- InsertReshards.cpp - tp-insert-reshards ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds every use that needs a value in another sharding than it has and serves
// them with as little communication as possible. A value with several targets
// gets a tree of reshards: from the value or from another target, whichever is
// cheaper. Example: y, partial over "tp", is needed complete by a norm and
// split along the sequence by an addition. All-reduce for the norm and slice
// its result for the addition, instead of an all-reduce and a reduce-scatter.
//
//===----------------------------------------------------------------------===//

#include "OpAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Partition/Derive.h"
#include "tp/Partition/Passes.h"
#include "tp/Partition/Steps.h"
#include "llvm/ADT/MapVector.h"

namespace tp {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "tp/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// One sharding that uses of a value need.
struct Target {
  TensorSharding sharding;
  SmallVector<OpOperand *> uses;
  /// The target that it is made from; none for the value itself.
  std::optional<unsigned> parent;
};

struct InsertReshards : tp::impl::InsertReshardsBase<InsertReshards> {
  void runOnOperation() override;

  /// Record what `op` needs that it does not get.
  LogicalResult collect(Operation *op);
  LogicalResult collectRepeat(RepeatOp op);
  LogicalResult need(OpOperand &use, const TensorSharding &sharding);
  void insert(Value value, SmallVector<Target, 0> &targets);
  void insertZeros(Value value, const SmallVector<Target, 0> &targets);

  Mesh mesh;
  FlatSymbolRefAttr meshSymbol;
  llvm::MapVector<Value, SmallVector<Target, 0>> needs;
};
} // namespace

LogicalResult InsertReshards::need(OpOperand &use,
                                   const TensorSharding &sharding) {
  Value value = use.get();
  FailureOr<TensorSharding> have =
      getWrittenSharding(use.getOwner(), value, mesh);
  if (failed(have))
    return failure();
  ArrayRef<int64_t> shape = getGlobalShape(value);
  if (sameLayout(shape, *have, sharding))
    return success();
  // A complete maximum is a partial one, and zeros are a partial sum.
  if (sharding.isPartial() && !have->isPartial()) {
    TensorSharding complete = sharding;
    complete.partial.clear();
    complete.reduction = ReductionKind::Sum;
    if (sameLayout(shape, *have, complete) &&
        (sharding.reduction != ReductionKind::Sum || isZeroTensor(value)))
      return success();
  }
  SmallVector<Target, 0> &targets = needs[value];
  for (Target &target : targets)
    if (sameLayout(shape, target.sharding, sharding)) {
      target.uses.push_back(&use);
      ++numShared;
      return success();
    }
  targets.push_back({sharding, {&use}, std::nullopt});
  return success();
}

/// The sharding of one layer of a stacked tensor with this sharding.
static FailureOr<TensorSharding> getSliceSharding(Operation *op,
                                                  TensorSharding sharding) {
  if (!canonicalize(sharding.dims.front().axes).empty())
    return op->emitOpError("expected the layers of a stacked result to be "
                           "whole: dimension 0 cannot be split");
  sharding.dims.erase(sharding.dims.begin());
  return sharding;
}

LogicalResult InsertReshards::collectRepeat(RepeatOp op) {
  for (OpOperand &use : op->getOpOperands()) {
    if (!isa<RankedTensorType>(use.get().getType()))
      continue;
    unsigned index = use.getOperandNumber();
    bool isCarried = index < op.getInits().size();
    Value holder = isCarried ? Value(op.getResult(index)) : use.get();
    FailureOr<TensorSharding> sharding = getWrittenSharding(op, holder, mesh);
    if (failed(sharding))
      return failure();
    if (!isCarried)
      sharding->dims.front() = DimSharding();
    if (failed(need(use, *sharding)))
      return failure();
  }
  for (OpOperand &use : op.getYield()->getOpOperands()) {
    unsigned index = use.getOperandNumber();
    if (!isa<RankedTensorType>(use.get().getType()))
      continue;
    FailureOr<TensorSharding> sharding =
        getWrittenSharding(op, op.getResult(index), mesh);
    if (succeeded(sharding) && index >= op.getInits().size())
      sharding = getSliceSharding(op, *sharding);
    if (failed(sharding) || failed(need(use, *sharding)))
      return failure();
  }
  return success();
}

LogicalResult InsertReshards::collect(Operation *op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return collectRepeat(repeat);
  if (isa<YieldOp, ParameterOp>(op) || !hasTensors(op))
    return success();
  if (isa<ReshardOp>(op))
    return op->emitOpError("expected a program without reshards: "
                           "tp-insert-reshards runs once");
  if (isa<func::ReturnOp>(op)) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!isa<RankedTensorType>(use.get().getType()))
        continue;
      ShardingAttr attr =
          getResultSharding(op->getParentOp(), use.getOperandNumber());
      if (!attr)
        return op->emitOpError()
               << "expected result " << use.getOperandNumber()
               << " of the function to have a sharding: run tp-propagate first";
      FailureOr<TensorSharding> sharding =
          attr.toSharding(mesh, [&] { return op->emitOpError(); });
      if (failed(sharding) || failed(need(use, *sharding)))
        return failure();
    }
    return success();
  }
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    TensorSharding produced = getProducedSharding(
        analysis->rule, index, analysis->resolved, getGlobalShape(result));
    if (!sameLayout(getGlobalShape(result), produced, analysis->results[index]))
      return op->emitOpError()
             << "result " << index << ": expected the sharding that the "
             << "operation gives, " << toString(produced, mesh) << ", got "
             << toString(analysis->results[index], mesh)
             << ": run tp-propagate first";
  }
  for (OpOperand &use : op->getOpOperands())
    if (isa<RankedTensorType>(use.get().getType()) &&
        failed(need(use, analysis->getRequired(use.getOperandNumber()))))
      return failure();
  return success();
}

/// Zeros lie as each use wants them: nothing is sent for that.
void InsertReshards::insertZeros(Value value,
                                 const SmallVector<Target, 0> &targets) {
  auto type = cast<RankedTensorType>(value.getType());
  for (const Target &target : targets) {
    TensorSharding sharding = target.sharding;
    sharding.partial.clear();
    sharding.reduction = ReductionKind::Sum;
    for (OpOperand *use : target.uses) {
      OpBuilder builder(use->getOwner());
      Value zeros = arith::ConstantOp::create(
          builder, value.getLoc(), cast<TypedAttr>(builder.getZeroAttr(type)));
      setSharding(zeros,
                  ShardingAttr::get(&getContext(), meshSymbol, mesh, sharding));
      use->set(zeros);
    }
  }
}

void InsertReshards::insert(Value value, SmallVector<Target, 0> &targets) {
  if (isZeroTensor(value))
    return insertZeros(value, targets);
  ArrayRef<int64_t> shape = getGlobalShape(value);
  TensorSharding have = getSharding(value).toSharding(mesh);
  SmallVector<TensorSharding, 0> shardings;
  for (const Target &target : targets)
    shardings.push_back(target.sharding);
  for (auto [target, parent] :
       llvm::zip_equal(targets, planReshardTree(shape, have, shardings, mesh)))
    target.parent = parent;

  // Where each is needed first; what is made from it comes after it.
  Block *block = value.getParentBlock();
  SmallVector<Operation *> place(targets.size(), nullptr);
  SmallVector<SmallVector<OpOperand *>> allUses(targets.size());
  for (auto [index, target] : llvm::enumerate(targets))
    for (std::optional<unsigned> at = index; at; at = targets[*at].parent)
      for (OpOperand *use : target.uses) {
        Operation *user = block->findAncestorOpInBlock(*use->getOwner());
        if (!place[*at] || user->isBeforeInBlock(place[*at]))
          place[*at] = user;
        allUses[*at].push_back(use);
      }
  MLIRContext *context = &getContext();
  SmallVector<Value> made(targets.size());
  auto make = [&](auto &&self, unsigned index) -> Value {
    if (made[index])
      return made[index];
    Target &target = targets[index];
    Value input = target.parent ? self(self, *target.parent) : value;
    TensorSharding from =
        target.parent ? targets[*target.parent].sharding : have;
    OpBuilder builder(place[index]);
    ShardingAttr to =
        ShardingAttr::get(context, meshSymbol, mesh, target.sharding);
    Location loc = value.getDefiningOp()
                       ? value.getLoc()
                       : target.uses.front()->getOwner()->getLoc();
    auto reshard = ReshardOp::create(
        builder, loc, input, ShardingAttr::get(context, meshSymbol, mesh, from),
        to, explainReshard(value, from, target.sharding, allUses[index], mesh));
    setSharding(reshard.getResult(), to);
    ++numReshards;
    return made[index] = reshard.getResult();
  };
  for (unsigned index = 0; index < targets.size(); ++index)
    make(make, index);
  for (auto [index, target] : llvm::enumerate(targets))
    for (OpOperand *use : target.uses)
      use->set(made[index]);
}

void InsertReshards::runOnOperation() {
  MeshOp meshOp = getUniqueMesh(getOperation());
  if (!meshOp) {
    getOperation()->emitError(
        "expected the module to have exactly one tp.mesh to partition for");
    return signalPassFailure();
  }
  mesh = meshOp.getMesh().toMesh();
  meshSymbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    needs.clear();
    WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == function)
        return WalkResult::advance();
      if (failed(collect(op)))
        return WalkResult::interrupt();
      // Bodies of linalg operations are scalar code.
      return isa<RepeatOp>(op) ? WalkResult::advance() : WalkResult::skip();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    for (auto &[value, targets] : needs)
      insert(value, targets);
  }
}
