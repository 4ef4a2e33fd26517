//===- Rules.cpp - Sharding rules of any operation
//--------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds who answers for an operation, and what all families share.
//
//===----------------------------------------------------------------------===//

#include "tp/Rules/Rules.h"

#include "Internal.h"
#include "PadValue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

static RuleProvider lookup(Operation *op) {
  for (auto *family : {getLinalgRules, getTensorRules, getElementwiseRules})
    if (RuleProvider provider = family(op))
      return provider;
  return {};
}

/// A dimension of no elements has no factors.
static LogicalResult expectElements(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && llvm::is_contained(tensor.getShape(), 0))
        return op->emitOpError()
               << "expected tensors of at least one element, got " << type;
  return success();
}

/// `rule`, if it is one for `op`. It comes from code, so that whoever reads the
/// error can only pass it on.
static FailureOr<ShardingRule> expectWellFormed(Operation *op,
                                                FailureOr<ShardingRule> rule) {
  if (failed(rule))
    return failure();
  auto getShapes = [](ValueRange values) {
    SmallVector<SmallVector<int64_t>> shapes;
    for (Value value : values)
      shapes.emplace_back(getShape(value));
    return shapes;
  };
  std::string problem = verifyRule(*rule, getShapes(op->getOperands()),
                                   getShapes(op->getResults()));
  if (!problem.empty())
    return op->emitOpError()
           << "has an ill-formed sharding rule: " << problem
           << "; this is a fault of the operation's rule and not of the "
              "program: please report it";
  return rule;
}

FailureOr<ShardingRule> tp::getShardingRule(Operation *op) {
  if (failed(expectElements(op)))
    return failure();
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
    return expectWellFormed(op, interface.getShardingRule());
  if (RuleProvider provider = lookup(op))
    return expectWellFormed(op, provider.getRule(op));
  if (isa<func::CallOp>(op))
    return op->emitOpError(
        "has no sharding rule: run tp-import-pipeline first, "
        "which inlines calls");
  return op->emitOpError("has no sharding rule: write what it computes as "
                         "linalg.generic, or layers that repeat as tp.repeat; "
                         "a rule of its own implements "
                         "ShardingRuleOpInterface (docs/Editors.md)");
}

LocalValues tp::buildLocal(Operation *op, OpBuilder &builder,
                           ValueRange operands, TypeRange resultTypes,
                           const LocalContext &context) {
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
    return interface.buildLocal(builder, operands, resultTypes, context);
  if (RuleProvider provider = lookup(op))
    return provider.buildLocal(op, builder, operands, resultTypes, context);
  return op->emitOpError("has no per-rank form: implement "
                         "ShardingRuleOpInterface or add a case to lib/Rules");
}

PadStates tp::getPaddingStates(Operation *op, unsigned factor,
                               ArrayRef<PadState> operands) {
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
    return interface.getPaddingStates(factor, operands);
  if (RuleProvider provider = lookup(op))
    return provider.getPaddingStates(op, factor, operands);
  return PadStates(op->getNumResults(), PadState::Anything);
}

PadStates tp::applyMasks(const PaddingGuard &guard,
                         ArrayRef<PadState> operands) {
  PadStates states(operands);
  for (auto [state, mask] : llvm::zip_equal(states, guard.masks))
    if (mask)
      state = *mask == 0 ? PadState::Zero : PadState::Anything;
  return states;
}

/// Mask the operands for which `op` is not defined on every number.
static void maskPartialOperands(Operation *op, ArrayRef<PadState> operands,
                                PaddingGuard &guard) {
  for (PartialOperand partial : getPartialOperands(op)) {
    Value operand = op->getOperand(partial.index);
    // A splat is in its padding what it is elsewhere.
    SplatElementsAttr splat;
    if (operands[partial.index] == PadState::None ||
        matchPattern(operand, m_Constant(&splat)))
      continue;
    PadValue pad = toPadValue(operands[partial.index], operand.getType());
    if (!isSafe(partial, pad))
      guard.masks[partial.index] = partial.safe;
  }
}

std::optional<PaddingGuard> tp::getPaddingGuard(Operation *op,
                                                const ShardingRule &rule,
                                                unsigned factor,
                                                ArrayRef<PadState> operands) {
  PaddingGuard guard;
  guard.masks.resize(operands.size());
  maskPartialOperands(op, operands, guard);
  RuleProvider provider = lookup(op);
  bool hasBody = provider && provider.needsBodyGuard;
  if (hasBody)
    guard.inBody = provider.needsBodyGuard(op, factor, operands);
  const Factor &cut = rule.factors[factor];
  // The terms of each result that does not have the factor.
  auto isFine = [&](const PaddingGuard &trial) {
    PadStates states =
        getPaddingStates(op, factor, applyMasks(trial, operands));
    return llvm::all_of(llvm::enumerate(states), [&](auto entry) {
      auto [result, state] = entry;
      return (cut.kind == FactorKind::Parallel &&
              !isSummedIn(rule, factor, result)) ||
             isHarmless(state, cut.reduction);
    });
  };
  if (!isReduced(rule, factor) || isFine(guard))
    return guard;
  SmallVector<unsigned> candidates;
  for (auto [i, state] : llvm::enumerate(operands))
    if (state != PadState::None && state != PadState::Zero)
      candidates.push_back(i);
  // Fewest masks first; there are one or two candidates.
  static constexpr unsigned maxCandidates = 8;
  if (candidates.size() <= maxCandidates)
    for (unsigned count = 1; count <= candidates.size(); ++count)
      for (uint64_t set = 1; set < (uint64_t(1) << candidates.size()); ++set) {
        if (static_cast<unsigned>(llvm::popcount(set)) != count)
          continue;
        PaddingGuard trial = guard;
        for (auto [i, operand] : llvm::enumerate(candidates))
          if (set >> i & 1)
            trial.masks[operand] = 0;
        if (isFine(trial))
          return trial;
      }
  if (!hasBody)
    return std::nullopt;
  guard.inBody = true;
  return guard;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string getFactorName(const ShardingRule &rule, unsigned index) {
  const std::string &name = rule.factors[index].name;
  return name.empty() ? "f" + std::to_string(index) : name;
}

static void print(llvm::raw_ostream &stream, const ShardingRule &rule,
                  const TensorFactors &tensor) {
  auto name = [&](unsigned index) { stream << getFactorName(rule, index); };
  stream << '[';
  llvm::interleaveComma(tensor.dims, stream, [&](ArrayRef<unsigned> dim) {
    if (dim.size() == 1)
      return name(dim.front());
    stream << '(';
    llvm::interleave(dim, stream, name, " * ");
    stream << ')';
  });
  stream << ']';
}

std::string tp::toString(const ShardingRule &rule) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(
      llvm::seq<unsigned>(0, rule.factors.size()), stream, [&](unsigned i) {
        const Factor &factor = rule.factors[i];
        stream << getFactorName(rule, i) << '=' << factor.size;
        if (factor.kind == FactorKind::Whole)
          stream << " whole";
        if (factor.kind == FactorKind::Reduction)
          stream << ' ' << stringify(factor.reduction);
        if (factor.grain != 1)
          stream << " grain " << factor.grain;
        if (factor.readsIndex)
          stream << " index";
        if (factor.total)
          stream << " of " << factor.total;
      });
  stream << ": ";
  for (auto [i, operand] : llvm::enumerate(rule.operands)) {
    stream << (i ? ", " : "");
    print(stream, rule, operand);
    switch (rule.linearity[i]) {
    case Linearity::None:
      break;
    case Linearity::Multilinear:
      stream << " multilinear";
      break;
    case Linearity::Additive:
      stream << " additive";
      break;
    case Linearity::Initial:
      stream << " initial";
      break;
    }
  }
  stream << " -> ";
  for (auto [i, result] : llvm::enumerate(rule.results)) {
    stream << (i ? ", " : "");
    print(stream, rule, result);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Shared by the families
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> tp::getShape(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type.getShape();
  return {};
}

LogicalResult tp::expectStatic(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      return success();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.hasStaticShape())
      return success();
    return op->emitOpError()
           << "expected tensors of static shape to shard, got " << type;
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

TensorFactors tp::addDims(ShardingRule &rule, ArrayRef<int64_t> shape,
                          FactorKind kind) {
  TensorFactors tensor;
  for (int64_t size : shape) {
    std::string name = "d" + std::to_string(rule.factors.size());
    tensor.dims.push_back({rule.addFactor(size, kind, name)});
  }
  return tensor;
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

LogicalResult tp::expectNoCaptures(Operation *op) {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op->getRegions(), captures);
  for (Value value : captures)
    if (!isConstant(value)) {
      InFlightDiagnostic diagnostic =
          op->emitOpError("expected its body to use its own arguments and "
                          "constants alone, got a value from outside: make it "
                          "an operand");
      if (isa<ShapedType>(value.getType()))
        diagnostic << " with the indexing map of the element that is read, or "
                      "nn.embedding, which reads the rows of a table by ids";
      diagnostic.attachNote(value.getLoc()) << "the value is defined here";
      return diagnostic;
    }
  return success();
}

LocalValues tp::cloneWithConstants(Operation *op, OpBuilder &builder,
                                   ValueRange operands, TypeRange resultTypes,
                                   const LocalContext &) {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op->getRegions(), captures);
  IRMapping mapping;
  for (Value value : captures)
    if (isConstant(value))
      mapping.map(value, builder.clone(*value.getDefiningOp())->getResult(0));
  // Operands by position: one global value may have two local forms.
  Operation *clone = builder.clone(*op, mapping);
  clone->setOperands(operands);
  clone->removeAttr(TPDialect::getShardingsAttrName());
  for (auto [result, type] : llvm::zip_equal(clone->getResults(), resultTypes))
    result.setType(type);
  return SmallVector<Value>(clone->getResults());
}

PadStates tp::keepStates(Operation *op, unsigned, ArrayRef<PadState> operands) {
  PadState state = PadState::None;
  for (PadState operand : operands) {
    if (operand == PadState::None)
      continue;
    state = state == PadState::None || state == operand ? operand
                                                        : PadState::Anything;
  }
  if (state == PadState::None)
    state = PadState::Anything;
  return PadStates(op->getNumResults(), state);
}
