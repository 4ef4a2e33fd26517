//===- Derive.cpp - What every local value is, derived again --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward walk over the per-rank program. Sources (arguments, parameters,
// constants) are taken as written; everything else follows from the rules,
// which partition left on the operations, and must agree with what is written.
// Scalars are followed beside it (Positions.h): none that depends on the rank
// may enter a tensor but as the offset of a part.
//
//===----------------------------------------------------------------------===//

#include "Deriver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Resolve/Resolve.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

bool tp::isZeroTensor(Value value) {
  auto isZero = [](Value number) {
    return matchPattern(number, m_AnyZeroFloat()) ||
           matchPattern(number, m_Zero());
  };
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return isZero(fill.getInputs().front());
  if (auto generic = value.getDefiningOp<linalg::GenericOp>())
    return isZero(generic.getBody()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  return isZero(value);
}

FailureOr<TensorSharding> Deriver::written(Operation *op, ShardingAttr attr,
                                           ArrayRef<int64_t> shape,
                                           const Twine &what) {
  if (!attr)
    return op->emitOpError()
           << "expected a sharding to be written on " << what << ", got none";
  FailureOr<TensorSharding> sharding =
      attr.toSharding(mesh, [&] { return op->emitOpError(); });
  if (failed(sharding))
    return failure();
  std::string problem = verifySharding(shape, *sharding, mesh);
  if (!problem.empty())
    return op->emitOpError() << what << ": " << problem;
  return sharding;
}

bool Deriver::isOneWith(const LocalState &state, const TensorSharding &want) {
  if (state.sharding.getRank() != want.getRank())
    return false;
  if (sameLayout(state.shape, state.sharding, want))
    return true;
  if (!want.isPartial() || want.reduction == ReductionKind::Sum ||
      !containsAxes(want.partial, state.sharding.partial) ||
      (state.sharding.isPartial() &&
       state.sharding.reduction != want.reduction))
    return false;
  TensorSharding more = state.sharding;
  more.partial = want.partial;
  more.reduction = want.reduction;
  return sameLayout(state.shape, more, want);
}

LogicalResult Deriver::expectSame(Operation *op, const Twine &what,
                                  Value value) {
  if (isa<ShapedType>(value.getType()) || positions.isSameOnAllRanks(value))
    return success();
  return noteMade(op->emitOpError()
                      << what
                      << ": expected a value that is the same on every rank, "
                         "got one that depends on tp.rank",
                  "the value", value);
}

LogicalResult Deriver::define(Operation *op, Value value, LocalState state) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> local = getLocalShape(state.shape, state.sharding);
  if (ArrayRef<int64_t>(local) != type.getShape())
    return op->emitOpError() << "expected the local type " << type.clone(local)
                             << " of " << type.clone(state.shape) << " with "
                             << text(state.sharding) << ", got " << type;
  states[value] = std::move(state);
  return success();
}

LogicalResult Deriver::flows(Operation *op, const Twine &what, Value value,
                             const TensorSharding &want) {
  auto found = states.find(value);
  if (found == states.end())
    return noteMade(op->emitOpError()
                        << what << ": expected a value whose sharding is known",
                    "the value", value);
  if (isOneWith(found->second, want))
    return success();
  return noteMade(op->emitOpError() << what << ": expected " << text(want)
                                    << ", got " << text(found->second.sharding),
                  "the value", value);
}

LogicalResult Deriver::run(FunctionOpInterface func) {
  function = func;
  for (BlockArgument arg : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    std::string what = "argument " + std::to_string(arg.getArgNumber());
    auto global = func.getArgAttrOfType<TypeAttr>(
        arg.getArgNumber(), TPDialect::getGlobalTypeAttrName());
    if (!global)
      return func->emitOpError()
             << "expected tp.global_type on " << what
             << ": the function is not the output of tp-partition";
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(global.getValue()).getShape());
    FailureOr<TensorSharding> sharding =
        written(func, getSharding(arg), shape, what);
    if (failed(sharding) || failed(define(func, arg, {shape, *sharding})))
      return failure();
  }
  return block(func.getFunctionBody().front());
}

LogicalResult Deriver::block(Block &block) {
  for (Operation &op : block)
    if (failed(operation(&op)))
      return failure();
  return success();
}

LogicalResult Deriver::operation(Operation *op) {
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return results(ret);
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return this->repeat(repeat);
  if (isa<YieldOp>(op))
    return success();
  if (isa<ReshardStepOpInterface>(op))
    return step(op);
  if (isa<ReshardOp, ShardingConstraintOp>(op))
    return op->emitOpError("expected no such operation in a per-rank program");
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    auto global =
        op->getAttrOfType<TypeAttr>(TPDialect::getGlobalTypeAttrName());
    if (!global)
      return op->emitOpError("expected tp.global_type");
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(global.getValue()).getShape());
    FailureOr<TensorSharding> sharding =
        written(op, getSharding(parameter.getResult()), shape, "its result");
    if (failed(sharding))
      return failure();
    if (sharding->isPartial())
      return op->emitOpError() << "expected a parameter to be split or "
                                  "replicated, got "
                               << text(*sharding);
    return define(op, parameter.getResult(), {shape, *sharding});
  }
  if (auto rule = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName()))
    return compute(op, rule);
  return withoutRule(op);
}

/// A value that no rule describes must be the same on every rank: buffers and
/// constants that a per-rank form needs, and scalar code.
LogicalResult Deriver::withoutRule(Operation *op) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), reads);
  bool hasTensors = llvm::any_of(
      op->getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
  for (Value value : reads) {
    if (hasTensors && failed(expectSame(op, "what it reads", value)))
      return failure();
    if (!isa<ShapedType>(value.getType()))
      continue;
    auto found = states.find(value);
    if (found == states.end())
      return op->emitOpError("expected operands whose sharding is known");
    if (!found->second.sharding.isFullyReplicated())
      return noteMade(
          op->emitOpError()
              << "expected tp.rule, by which its result can be derived from "
              << text(found->second.sharding),
          "what it reads", value);
  }
  if (!isMemoryEffectFree(op))
    return op->emitOpError(
        "expected an operation without effects: no rule says "
        "what it does on each rank");
  if (!hasTensors) {
    positions.evaluate(op);
    return success();
  }
  std::string problem = positions.checkRegions(op, {});
  if (!problem.empty())
    return op->emitOpError() << problem;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      states[result] = {SmallVector<int64_t>(type.getShape()),
                        TensorSharding::replicated(type.getRank())};
  return success();
}

LogicalResult Deriver::step(Operation *op) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  auto from = op->getAttrOfType<ShardingAttr>("from");
  auto to = op->getAttrOfType<ShardingAttr>("to");
  auto found = states.find(operand);
  if (found == states.end())
    return op->emitOpError("expected an operand whose sharding is known");
  LocalState state = found->second;
  FailureOr<TensorSharding> before = written(op, from, state.shape, "'from'");
  FailureOr<TensorSharding> after = written(op, to, state.shape, "'to'");
  if (failed(before) || failed(after))
    return failure();
  if (!isOneWith(state, *before))
    return noteMade(op->emitOpError()
                        << "expected its operand to be " << text(*before)
                        << ", got " << text(state.sharding),
                    "the operand", operand);
  std::string problem = checkStep(op, state.shape, *before, *after, mesh);
  if (!problem.empty())
    return op->emitOpError() << problem;
  return define(op, result, {state.shape, *after});
}

LogicalResult Deriver::repeat(RepeatOp op) {
  auto withoutFirst = [](LocalState state) {
    state.shape.erase(state.shape.begin());
    state.sharding.dims.erase(state.sharding.dims.begin());
    return state;
  };
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(op.getInits(), op.getCarriedArgs()))) {
    auto [init, arg] = pair;
    auto found = states.find(init);
    if (found == states.end())
      return op.emitOpError("expected initial values whose sharding is known");
    FailureOr<TensorSharding> carried =
        written(op, getSharding(op.getResult(index)), found->second.shape,
                "result " + Twine(index));
    // Zeros are addends too.
    TensorSharding begin = carried.value_or(TensorSharding());
    if (begin.reduction == ReductionKind::Sum && isZeroTensor(init))
      begin.partial.clear();
    if (failed(carried) ||
        failed(flows(op, "initial value " + Twine(index), init, begin)))
      return failure();
    LocalState state{found->second.shape, *carried};
    if (failed(define(op, arg, state)) ||
        failed(define(op, op.getResult(index), state)))
      return failure();
  }
  for (auto [value, arg] : llvm::zip(op.getStacked(), op.getStackedArgs())) {
    auto found = states.find(value);
    if (found == states.end())
      return op.emitOpError("expected stacked values whose sharding is known");
    if (!canonicalize(found->second.sharding.dims.front().axes).empty())
      return noteMade(
          op.emitOpError()
              << "expected the layers of a stacked value to be whole, got "
              << text(found->second.sharding),
          "the stacked value", value);
    LocalState slice = withoutFirst(found->second);
    if (failed(define(op, arg, std::move(slice))))
      return failure();
  }
  if (failed(block(*op.getBodyBlock())))
    return failure();
  for (auto [index, value] : llvm::enumerate(op.getYield().getOperands())) {
    auto found = states.find(value);
    if (found == states.end())
      return op.getYield().emitOpError(
          "expected values whose sharding is known");
    bool isStacked = index >= op.getInits().size();
    SmallVector<int64_t> shape = found->second.shape;
    if (isStacked)
      shape.insert(shape.begin(), op.getCount());
    FailureOr<TensorSharding> want = written(
        op, getSharding(op.getResult(index)), shape, "result " + Twine(index));
    if (failed(want))
      return failure();
    if (isStacked) {
      LocalState state{shape, *want};
      if (!canonicalize(want->dims.front().axes).empty())
        return op.emitOpError()
               << "expected the layers of a stacked result to be whole, got "
               << text(*want);
      if (failed(define(op, op.getResult(index), state)))
        return failure();
      want->dims.erase(want->dims.begin());
    }
    if (failed(flows(op.getYield(), "operand " + Twine(index), value, *want)))
      return failure();
  }
  return success();
}

LogicalResult Deriver::results(func::ReturnOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    if (failed(expectSame(op, "result " + Twine(index), value)))
      return failure();
    if (!isa<ShapedType>(value.getType()))
      continue;
    auto found = states.find(value);
    if (found == states.end())
      return op.emitOpError("expected results whose sharding is known");
    auto global = cast_if_present<TypeAttr>(
        function.getResultAttr(index, TPDialect::getGlobalTypeAttrName()));
    RankedTensorType type =
        cast<RankedTensorType>(value.getType()).clone(found->second.shape);
    if (global && global.getValue() != type)
      return noteMade(op.emitOpError() << "result " << index
                                       << ": expected the tp.global_type "
                                       << global.getValue() << ", got " << type,
                      "the value", value);
    FailureOr<TensorSharding> want =
        written(op, getResultSharding(function, index), found->second.shape,
                "result " + Twine(index) + " of the function");
    if (failed(want))
      return failure();
    // Zeros are addends too.
    TensorSharding complete = *want;
    complete.partial.clear();
    bool isZero = want->reduction == ReductionKind::Sum && isZeroTensor(value);
    if (failed(flows(op, "result " + Twine(index), value,
                     isZero ? complete : *want)))
      return failure();
  }
  return success();
}

LogicalResult tp::deriveStates(Operation *function, const Mesh &mesh,
                               LocalStates &states) {
  return Deriver(mesh, states).run(cast<FunctionOpInterface>(function));
}
