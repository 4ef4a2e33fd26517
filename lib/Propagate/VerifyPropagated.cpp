//===- VerifyPropagated.cpp - The contract at the end of propagate --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shardings may come from tp-propagate, a search or a hand: partition
// relies on what is checked here. The errors name the likely cause.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Propagate/Passes.h"
#include "tp/Resolve/Resolve.h"
#include "tp/Rules/Rules.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYPROPAGATED
#include "tp/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
class Verifier {
public:
  explicit Verifier(MeshOp meshOp)
      : meshOp(meshOp), mesh(meshOp.getMesh().toMesh()) {}

  LogicalResult verifyModule(ModuleOp module);

private:
  LogicalResult verifyValue(Operation *op, Type type, ShardingAttr sharding,
                            const Twine &what, bool mayBePartial);
  LogicalResult verifyOperation(Operation *op);
  LogicalResult verifyRule(Operation *op);

  MeshOp meshOp;
  Mesh mesh;
};
} // namespace

LogicalResult Verifier::verifyValue(Operation *op, Type type,
                                    ShardingAttr sharding, const Twine &what,
                                    bool mayBePartial) {
  if (!isa<RankedTensorType>(type))
    return success();
  if (!sharding)
    return op->emitError() << what << ": expected a sharding, got none: an "
                           << "operation was made or changed after "
                              "tp-propagate, or it did not run";
  assert(sharding.getMesh().getAttr() == meshOp.getSymNameAttr() &&
         "the module has one mesh, and shardings name a mesh that is there");
  for (auto [d, dim] : llvm::enumerate(sharding.getDims()))
    if (dim.getIsOpen())
      return op->emitError()
             << what << ": expected closed dimensions, got dimension " << d
             << " open: tp-propagate did not run after it was annotated";
  FailureOr<TensorSharding> value = sharding.toSharding(
      mesh, [&] { return op->emitError() << what << ": "; });
  if (failed(value))
    return failure();
  std::string why =
      verifySharding(cast<RankedTensorType>(type).getShape(), *value, mesh);
  if (!why.empty())
    return op->emitError() << what << ": " << why;
  if (value->isPartial() && !mayBePartial)
    return op->emitError() << what << ": expected a complete value, got "
                           << "one that is partial over "
                           << mesh.getName(value->partial);
  return success();
}

LogicalResult Verifier::verifyRule(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::none_of(op->getResultTypes(), isTensor))
    return success();
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  SmallVector<TensorSharding, 2> operands, results;
  SmallVector<SmallVector<int64_t>> operandShapes, resultShapes;
  auto collect = [&](Value value, SmallVectorImpl<TensorSharding> &shardings,
                     SmallVectorImpl<SmallVector<int64_t>> &shapes) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    shapes.push_back(type ? SmallVector<int64_t>(type.getShape())
                          : SmallVector<int64_t>());
    shardings.push_back(type ? getSharding(value).toSharding(mesh)
                             : TensorSharding());
  };
  for (Value operand : op->getOperands())
    collect(operand, operands, operandShapes);
  for (Value result : op->getResults())
    collect(result, results, resultShapes);
  ResolvedOp resolved =
      resolveFactors(*rule, operands, results, operandShapes, resultShapes);
  for (auto [i, shape] : llvm::enumerate(resultShapes)) {
    if (!isTensor(op->getResult(i).getType()))
      continue;
    TensorSharding made = getProducedSharding(*rule, i, resolved, shape);
    if (sameLayout(shape, made, results[i]))
      continue;
    return op->emitError()
           << "result " << i << ": expected a sharding that the operation can "
           << "give, " << ::tp::toString(made, mesh) << ", got "
           << ::tp::toString(results[i], mesh)
           << ": the sharding was written by hand, or an operand's was changed "
              "after tp-propagate";
  }
  return success();
}

LogicalResult Verifier::verifyOperation(Operation *op) {
  if (isa<ReshardStepOpInterface, ReshardOp>(op))
    return op->emitError("expected no collectives and reshards before "
                         "partition: did partition run already");
  auto repeat = dyn_cast<RepeatOp>(op);
  bool mayBePartial = !isa<ShardingConstraintOp, func::CallOp>(op);
  for (OpResult result : op->getResults())
    if (failed(verifyValue(op, result.getType(), getSharding(result),
                           "result " + Twine(result.getResultNumber()),
                           mayBePartial)))
      return failure();
  if (repeat) {
    for (BlockArgument arg : repeat.getBodyBlock()->getArguments())
      if (failed(verifyValue(op, arg.getType(), getSharding(arg),
                             "block argument " + Twine(arg.getArgNumber()),
                             /*mayBePartial=*/true)))
        return failure();
    for (Operation &nested : *repeat.getBodyBlock())
      if (failed(verifyOperation(&nested)))
        return failure();
    return success();
  }
  if (isa<ParameterOp, ShardingConstraintOp, func::CallOp, func::ReturnOp,
          YieldOp>(op))
    return success();
  return verifyRule(op);
}

LogicalResult Verifier::verifyModule(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(verifyValue(function, function.getResultTypes()[i],
                             getResultSharding(function, i),
                             "result " + Twine(i),
                             bool(getResultState(function, i)))))
        return failure();
    if (function.isExternal())
      continue;
    for (BlockArgument arg : function.getArguments())
      if (failed(verifyValue(function, arg.getType(), getSharding(arg),
                             "argument " + Twine(arg.getArgNumber()),
                             bool(getArgState(function, arg.getArgNumber())))))
        return failure();
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (failed(verifyOperation(&op)))
          return failure();
  }
  return success();
}

namespace {
struct VerifyPropagatedPass
    : public tp::impl::VerifyPropagatedBase<VerifyPropagatedPass> {
  using VerifyPropagatedBase::VerifyPropagatedBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = getUniqueMesh(module);
    if (!mesh) {
      module.emitError("expected exactly one tp.mesh in the module: did "
                       "tp-annotate run");
      return signalPassFailure();
    }
    if (failed(Verifier(mesh).verifyModule(module)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
