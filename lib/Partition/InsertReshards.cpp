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

#include "Needs.h"
#include "OpAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Partition/Derive.h"
#include "tp/Partition/Passes.h"
#include "tp/Partition/Steps.h"

namespace tp {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "tp/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct InsertReshards : tp::impl::InsertReshardsBase<InsertReshards> {
  void runOnOperation() override;
  void insert(Value value, SmallVector<NeededSharding, 0> &targets);
  void insertZeros(Value value, const SmallVector<NeededSharding, 0> &targets);

  Mesh mesh;
  FlatSymbolRefAttr meshSymbol;
};
} // namespace

/// Zeros lie as each use wants them: nothing is sent for that.
void InsertReshards::insertZeros(
    Value value, const SmallVector<NeededSharding, 0> &targets) {
  auto type = cast<RankedTensorType>(value.getType());
  for (const NeededSharding &target : targets) {
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

void InsertReshards::insert(Value value,
                            SmallVector<NeededSharding, 0> &targets) {
  if (isZeroTensor(value))
    return insertZeros(value, targets);
  ArrayRef<int64_t> shape = getGlobalShape(value);
  TensorSharding have = getSharding(value).toSharding(mesh);
  SmallVector<TensorSharding, 0> shardings;
  for (const NeededSharding &target : targets)
    shardings.push_back(target.sharding);
  for (auto [target, parent] :
       llvm::zip_equal(targets, planReshardTree(shape, have, shardings, mesh)))
    target.parent = parent;

  // Each target goes where it is needed first; those made from it come after
  // it.
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
    NeededSharding &target = targets[index];
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
  MeshOp meshOp = getMeshToPartition(getOperation());
  if (!meshOp)
    return signalPassFailure();
  mesh = meshOp.getMesh().toMesh();
  meshSymbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    WalkResult reshards = function.walk([](ReshardOp op) {
      op->emitOpError("expected a program without reshards: "
                      "tp-insert-reshards runs once");
      return WalkResult::interrupt();
    });
    Needs needs(mesh);
    if (reshards.wasInterrupted() || failed(needs.collect(function)))
      return signalPassFailure();
    numShared += needs.numShared;
    for (auto &[value, targets] : needs.values)
      insert(value, targets);
  }
}
