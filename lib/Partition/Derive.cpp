//===- Derive.cpp - What every local value is, derived again --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward walk over the per-rank program. Sources (arguments, parameters,
// constants) are taken as written; everything else follows from the rules,
// which partition left on the operations, and must agree with what is written.
//
//===----------------------------------------------------------------------===//

#include "tp/Partition/Derive.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Rules/Resolve.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace tp;

SmallVector<int64_t> tp::getRuleShape(const ShardingRule &rule,
                                      const TensorFactors &tensor) {
  SmallVector<int64_t> shape;
  for (const auto &dim : tensor.dims) {
    int64_t size = 1;
    for (unsigned factor : dim)
      size *= rule.factors[factor].size;
    shape.push_back(size);
  }
  return shape;
}

bool tp::isZeroTensor(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs().front(), m_AnyZeroFloat()) ||
           matchPattern(fill.getInputs().front(), m_Zero());
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

namespace {
class Deriver {
public:
  Deriver(const Mesh &mesh, LocalStates &states) : mesh(mesh), states(states) {}

  LogicalResult run(FunctionOpInterface function);

private:
  LogicalResult block(Block &block);
  LogicalResult operation(Operation *op);
  LogicalResult compute(Operation *op, RuleAttr attr);
  LogicalResult step(Operation *op);
  LogicalResult repeat(RepeatOp op);
  LogicalResult results(func::ReturnOp op);

  /// What is written on a value; an error at `op` if nothing is.
  FailureOr<TensorSharding> written(Operation *op, ShardingAttr attr,
                                    const Twine &what);
  /// Record `state` for `value` after comparing with its type.
  LogicalResult define(Operation *op, Value value, LocalState state);
  /// The value flows into a place that is written to be `want`.
  LogicalResult flows(Operation *op, const Twine &what, Value value,
                      const TensorSharding &want);
  /// Whether an operand with `state` may stand for a partial `kind` over `axes`
  /// without a step: zeros for a sum, a whole value for a maximum.
  bool isImplicitlyPartial(Value value, const TensorSharding &sharding,
                           ReductionKind kind) const {
    return !sharding.isPartial() &&
           (kind != ReductionKind::Sum || isZeroTensor(value));
  }

  std::string text(const TensorSharding &sharding) const {
    return toString(sharding, mesh);
  }

  const Mesh &mesh;
  LocalStates &states;
  FunctionOpInterface function;
};
} // namespace

FailureOr<TensorSharding> Deriver::written(Operation *op, ShardingAttr attr,
                                           const Twine &what) {
  if (!attr)
    return op->emitOpError()
           << "expected a sharding to be written on " << what << ", got none";
  return attr.toSharding(mesh, [&] { return op->emitOpError(); });
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
    return success();
  const LocalState &state = found->second;
  if (sameLayout(state.shape, state.sharding, want))
    return success();
  return op->emitOpError() << what << ": expected " << text(want) << ", got "
                           << text(state.sharding);
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
    FailureOr<TensorSharding> sharding = written(func, getSharding(arg), what);
    if (failed(sharding) ||
        failed(
            define(func, arg,
                   {SmallVector<int64_t>(
                        cast<RankedTensorType>(global.getValue()).getShape()),
                    *sharding})))
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
  if (isReshardStep(op))
    return step(op);
  if (isa<ReshardOp, ShardingConstraintOp>(op))
    return op->emitOpError("expected no such operation in a per-rank program");
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    auto global =
        op->getAttrOfType<TypeAttr>(TPDialect::getGlobalTypeAttrName());
    if (!global)
      return op->emitOpError("expected tp.global_type");
    FailureOr<TensorSharding> sharding =
        written(op, getSharding(parameter.getResult()), "its result");
    if (failed(sharding))
      return failure();
    if (sharding->isPartial())
      return op->emitOpError() << "expected a parameter to be split or "
                                  "replicated, got "
                               << text(*sharding);
    return define(op, parameter.getResult(),
                  {SmallVector<int64_t>(
                       cast<RankedTensorType>(global.getValue()).getShape()),
                   *sharding});
  }
  if (auto rule = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName()))
    return compute(op, rule);
  // What no rule describes must be the same on every rank: buffers and
  // constants that a per-rank form needs, and scalar code.
  bool isTensorCode = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<RankedTensorType>(type);
  });
  if (!isTensorCode)
    return success();
  for (Value operand : op->getOperands()) {
    auto found = states.find(operand);
    if (found != states.end() && !found->second.sharding.isFullyReplicated())
      return op->emitOpError()
             << "expected tp.rule, by which its result can be derived from "
             << text(found->second.sharding);
  }
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      states[result] = {SmallVector<int64_t>(type.getShape()),
                        TensorSharding::replicated(type.getRank())};
  return success();
}

LogicalResult Deriver::compute(Operation *op, RuleAttr attr) {
  ShardingRule rule = attr.toRule();
  // A per-rank form may take offsets that the global one does not have.
  unsigned numOperands = rule.operands.size();
  if (numOperands > op->getNumOperands() ||
      rule.results.size() != op->getNumResults() ||
      llvm::any_of(
          op->getOperands().drop_front(
              std::min<size_t>(numOperands, op->getNumOperands())),
          [](Value value) { return isa<RankedTensorType>(value.getType()); }))
    return op->emitOpError()
           << "expected tp.rule to have the " << op->getNumOperands()
           << " operands and " << op->getNumResults()
           << " results of the operation, got " << numOperands << " and "
           << rule.results.size();
  auto getShapes = [&](ArrayRef<TensorFactors> tensors) {
    return llvm::map_to_vector(tensors, [&](const TensorFactors &tensor) {
      return getRuleShape(rule, tensor);
    });
  };
  std::string problem =
      verifyRule(rule, getShapes(rule.operands), getShapes(rule.results));
  if (!problem.empty())
    return op->emitOpError() << "has an ill-formed tp.rule: " << problem;
  for (auto [index, value] : llvm::enumerate(op->getResults())) {
    int64_t rank = isa<RankedTensorType>(value.getType())
                       ? cast<RankedTensorType>(value.getType()).getRank()
                       : 0;
    int64_t dims = rule.results[index].dims.size();
    if (dims != rank)
      return op->emitOpError()
             << "has an ill-formed tp.rule: result " << index
             << ": expected factors of " << rank << " dimensions, got " << dims;
  }
  // Factors, from the operands that carry them; all must agree.
  FactorShardings factors(rule.factors.size());
  SmallVector<std::optional<unsigned>> decidedBy(rule.factors.size());
  auto take = [&](const TensorFactors &tensor, ArrayRef<int64_t> shape,
                  const TensorSharding &sharding, std::string what,
                  std::optional<unsigned> index) -> LogicalResult {
    Projection projection = projectToFactors(rule, tensor, shape, sharding);
    if (!projection.complete)
      return op->emitOpError()
             << what << ": expected dimension " << *projection.misfit
             << " to be cut along its factors, got " << text(sharding);
    for (const auto &dim : tensor.dims)
      for (unsigned f : dim) {
        if (rule.factors[f].size == 1)
          continue;
        if (!decidedBy[f]) {
          factors.axes[f] = projection.factors.axes[f];
          factors.grains[f] = projection.factors.grains[f];
          decidedBy[f] = index.value_or(numOperands);
        } else if (factors.axes[f] != projection.factors.axes[f] ||
                   factors.grains[f] != projection.factors.grains[f]) {
          const std::string &name = rule.factors[f].name;
          return op->emitOpError()
                 << what << ": expected factor "
                 << (name.empty() ? std::to_string(f) : name)
                 << " to be cut by {" << mesh.getName(factors.axes[f])
                 << "} as in operand " << *decidedBy[f] << ", got {"
                 << mesh.getName(projection.factors.axes[f]) << "}";
        }
      }
    return success();
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto found = states.find(operand);
    if (found == states.end())
      continue;
    SmallVector<int64_t> shape = getRuleShape(rule, rule.operands[index]);
    if (shape != found->second.shape)
      return op->emitOpError()
             << "operand " << index << ": expected a part of a tensor of ["
             << llvm::interleaved(shape) << "], got one of ["
             << llvm::interleaved(found->second.shape) << "]";
    if (failed(take(rule.operands[index], shape, found->second.sharding,
                    "operand " + std::to_string(index), index)))
      return failure();
  }
  // Factors of the results alone are as written (a fill, an iota).
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    FailureOr<TensorSharding> sharding =
        written(op, getSharding(result), "result " + std::to_string(index));
    if (failed(sharding))
      return failure();
    const TensorFactors &tensor = rule.results[index];
    Projection projection =
        projectToFactors(rule, tensor, getRuleShape(rule, tensor), *sharding);
    for (const auto &dim : tensor.dims)
      for (unsigned f : dim)
        if (!decidedBy[f]) {
          factors.axes[f] = projection.factors.axes[f];
          factors.grains[f] = projection.factors.grains[f];
        }
  }

  // What is partial: the reduction factors, and what passes through.
  AxisList reduced = getPartialAxes(rule, factors);
  ReductionKind kind = ReductionKind::Sum;
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (factor.kind == FactorKind::Reduction && !factors.axes[f].empty())
      kind = factor.reduction;
  AxisList passed;
  std::optional<unsigned> passedBy;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto found = states.find(operand);
    if (found == states.end() || !found->second.sharding.isPartial())
      continue;
    const TensorSharding &sharding = found->second.sharding;
    Linearity linearity = rule.linearity[index];
    if (linearity == Linearity::None)
      return op->emitOpError()
             << "operand " << index
             << ": expected a whole value, because the operation is not linear "
                "in it, got "
             << text(sharding);
    if (linearity == Linearity::Multilinear) {
      if (sharding.reduction != ReductionKind::Sum)
        return op->emitOpError()
               << "operand " << index << ": expected a partial sum, got "
               << text(sharding);
      // Over different axes both may be partial: the product of two sums is the
      // sum of all products.
      if (passedBy && overlap(passed, sharding.partial))
        return op->emitOpError()
               << "operand " << index << ": expected one partial factor of a "
               << "product, got operand " << *passedBy << " partial as well";
      passed.append(sharding.partial.begin(), sharding.partial.end());
      passedBy = index;
    }
  }
  llvm::sort(passed);
  passed = canonicalize(passed);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto found = states.find(operand);
    if (found == states.end() || !countsOnce(rule.linearity[index]))
      continue;
    const TensorSharding &sharding = found->second.sharding;
    // The axes that are reduced here and that the operand does not carry.
    AxisList own;
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      bool carried =
          llvm::any_of(rule.operands[index].dims, [f = f](const auto &dim) {
            return llvm::is_contained(dim, f);
          });
      if (factor.kind == FactorKind::Reduction && !carried)
        own.append(factors.axes[f]);
    }
    if (isImplicitlyPartial(operand, sharding, kind))
      continue;
    if (!containsAxes(sharding.partial, own))
      return op->emitOpError()
             << "operand " << index << ": expected a partial "
             << stringify(kind) << " over " << mesh.getName(own)
             << " (tp.keep_first of a whole value), because it must count "
                "once, got "
             << text(sharding);
    AxisList rest = subtractAxes(sharding.partial, own);
    if (rule.linearity[index] == Linearity::Initial) {
      if (!rest.empty())
        return op->emitOpError()
               << "operand " << index << ": expected a whole value, because "
               << "the operation is not linear in it, got " << text(sharding);
      continue;
    }
    if (!rest.empty() && sharding.reduction != ReductionKind::Sum)
      return op->emitOpError()
             << "operand " << index << ": expected a partial sum, got "
             << text(sharding);
    if (!passedBy) {
      passed = rest;
      passedBy = index;
    } else if (rest != canonicalize(passed)) {
      return op->emitOpError()
             << "operand " << index << ": expected "
             << (passed.empty() ? std::string("a whole value")
                                : "a partial sum over " + mesh.getName(passed))
             << " as operand " << *passedBy
             << " is, because a whole value added to a partial one would "
                "count once per rank, got "
             << text(sharding);
    }
  }

  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    SmallVector<int64_t> shape = getRuleShape(rule, rule.results[index]);
    std::optional<TensorSharding> derived =
        projectToTensor(rule, rule.results[index], shape, factors);
    if (!derived)
      return op->emitOpError()
             << "result " << index << ": its factors are not cut contiguously";
    derived->partial = reduced;
    derived->partial.append(passed.begin(), passed.end());
    derived->reduction = kind;
    derived->normalize(shape);
    FailureOr<TensorSharding> sharding =
        written(op, getSharding(result), "result " + std::to_string(index));
    if (failed(sharding))
      return failure();
    if (!sameLayout(shape, *derived, *sharding))
      return op->emitOpError()
             << "result " << index << ": expected what is derived, "
             << text(*derived) << ", got " << text(*sharding);
    if (failed(define(op, result, {shape, *derived})))
      return failure();
  }
  return success();
}

LogicalResult Deriver::step(Operation *op) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  auto from = op->getAttrOfType<ShardingAttr>("from");
  auto to = op->getAttrOfType<ShardingAttr>("to");
  FailureOr<TensorSharding> before = written(op, from, "'from'");
  FailureOr<TensorSharding> after = written(op, to, "'to'");
  if (failed(before) || failed(after))
    return failure();
  auto found = states.find(operand);
  if (found == states.end())
    return op->emitOpError("expected an operand whose sharding is known");
  LocalState state = found->second;
  if (!sameLayout(state.shape, state.sharding, *before))
    return op->emitOpError() << "expected its operand to be " << text(*before)
                             << ", got " << text(state.sharding);
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
      continue;
    FailureOr<TensorSharding> carried =
        written(op, getSharding(op.getResult(index)), "result " + Twine(index));
    if (failed(carried) ||
        failed(flows(op, "initial value " + Twine(index), init, *carried)))
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
      return op.emitOpError()
             << "expected the layers of a stacked value to be whole, got "
             << text(found->second.sharding);
    LocalState slice = withoutFirst(found->second);
    if (failed(define(op, arg, std::move(slice))))
      return failure();
  }
  if (failed(block(*op.getBodyBlock())))
    return failure();
  for (auto [index, value] : llvm::enumerate(op.getYield().getOperands())) {
    auto found = states.find(value);
    if (found == states.end())
      continue;
    FailureOr<TensorSharding> want =
        written(op, getSharding(op.getResult(index)), "result " + Twine(index));
    if (failed(want))
      return failure();
    if (index >= op.getInits().size()) {
      LocalState state{found->second.shape, *want};
      state.shape.insert(state.shape.begin(), op.getCount());
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
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    FailureOr<TensorSharding> want =
        written(op, getResultSharding(function, index),
                "result " + Twine(index) + " of the function");
    if (failed(want) ||
        failed(flows(op, "result " + Twine(index), value, *want)))
      return failure();
  }
  return success();
}

LogicalResult tp::deriveStates(Operation *function, const Mesh &mesh,
                               LocalStates &states) {
  return Deriver(mesh, states).run(cast<FunctionOpInterface>(function));
}
