//===- CheckRule.cpp - The rule on an operation is the operation's --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of every value follows from the rules that partition left on the
// operations. A rule that says more than the operation does (linear where it is
// not, parallel where it reduces) would let anything pass, so it is asked for
// again, of a copy of the operation on global types.
//
//===----------------------------------------------------------------------===//

#include "PaddingMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Partition/Derive.h"
#include "tp/Rules/Rules.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

namespace {
/// A copy of a per-rank operation with global types.
class GlobalCopy {
public:
  GlobalCopy(Operation *local, const ShardingRule &rule);
  ~GlobalCopy() { copy->erase(); }

  /// The rule that it has; empty, with the reason, if it has none.
  std::optional<ShardingRule> getRule(std::string &reason);

private:
  Type widen(Value value, const ShardingRule &rule,
             const TensorFactors &tensor) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value.getType();
    return type.clone(getRuleShape(rule, tensor));
  }
  void replaceCaptures(OpBuilder &builder);

  Block scratch;
  Operation *copy;
};
} // namespace

/// Sizes of a slice along dimensions that are taken whole are local ones.
template <typename SliceLike>
static void widenSlice(SliceLike slice, ArrayRef<int64_t> localShape,
                       ArrayRef<int64_t> globalShape) {
  SmallVector<int64_t> sizes(slice.getStaticSizes());
  for (auto [size, local, global] :
       llvm::zip_equal(sizes, localShape, globalShape))
    if (size == local)
      size = global;
  slice.setStaticSizes(sizes);
}

static Value getUnmoved(Value value, ArrayRef<int64_t> shape);

/// Returns the value that `op` puts together again, if its parts were only
/// moved or masked; else null.
static Value getTakenApart(tensor::CollapseShapeOp op) {
  auto attr = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName());
  if (!attr)
    return nullptr;
  ShardingRule rule = attr.toRule();
  Value parts = getUnmoved(op.getSrc(), getRuleShape(rule, rule.operands[0]));
  auto expand = parts.getDefiningOp<tensor::ExpandShapeOp>();
  return expand && expand.getReassociationIndices() ==
                       op.getReassociationIndices()
             ? expand.getSrc()
             : Value();
}

/// The value that `value`, a part of a tensor of `shape`, was before it was
/// moved between ranks or its padding masked, perhaps on a view: on global
/// types it is the same.
static Value getUnmoved(Value value, ArrayRef<int64_t> shape) {
  while (true) {
    auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
    if (Value whole = collapse ? getTakenApart(collapse) : Value()) {
      value = whole;
      continue;
    }
    if (isa_and_nonnull<ReshardStepOpInterface>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    else if (Value masked = getMaskedValue(value, shape))
      value = masked;
    else
      return value;
  }
}

GlobalCopy::GlobalCopy(Operation *local, const ShardingRule &rule)
    : copy(local->clone()) {
  OpBuilder builder(local->getContext());
  builder.setInsertionPointToEnd(&scratch);
  for (auto [index, tensor] : llvm::enumerate(rule.operands)) {
    Value operand = copy->getOperand(index);
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    auto type = cast<RankedTensorType>(widen(operand, rule, tensor));
    // A rule may hang on numbers of a constant: a divisor that is not zero, a
    // factor that is not infinite. Every rank takes its part of all of it;
    // parts of a splat are splats.
    Value source = getUnmoved(operand, type.getShape());
    ElementsAttr numbers;
    if (matchPattern(source, m_Constant(&numbers)))
      if (auto splat = dyn_cast<SplatElementsAttr>(numbers))
        numbers = splat.resizeSplat(type);
    if (numbers && numbers.getType() == type)
      copy->setOperand(index, arith::ConstantOp::create(
                                  builder, operand.getLoc(),
                                  cast<TypedAttr>(Attribute(numbers))));
    else
      copy->setOperand(index, scratch.addArgument(type, operand.getLoc()));
  }
  for (auto [result, tensor] :
       llvm::zip_equal(copy->getResults(), rule.results))
    result.setType(widen(result, rule, tensor));
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(copy))
    widenSlice(slice, shapeOf(local->getOperand(0)),
               shapeOf(slice.getSource()));
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(copy))
    widenSlice(slice, shapeOf(local->getOperand(1)), shapeOf(slice.getDest()));
  replaceCaptures(builder);
}

/// Offsets of positions, which Positions checks, are none on global types.
void GlobalCopy::replaceCaptures(OpBuilder &builder) {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(copy->getRegions(), captures);
  for (Value value : captures) {
    if (!value.getType().isIntOrIndex() || matchPattern(value, m_Constant()))
      continue;
    Value zero = arith::ConstantOp::create(
        builder, value.getLoc(), builder.getIntegerAttr(value.getType(), 0));
    for (Region &region : copy->getRegions())
      replaceAllUsesInRegionWith(value, zero, region);
  }
}

std::optional<ShardingRule> tp::getGlobalRule(Operation *local,
                                              const ShardingRule &shapes,
                                              std::string &reason) {
  return GlobalCopy(local, shapes).getRule(reason);
}

std::optional<ShardingRule> GlobalCopy::getRule(std::string &reason) {
  ScopedDiagnosticHandler handler(copy->getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (reason.empty())
                                      reason = diagnostic.str();
                                    return success();
                                  });
  FailureOr<ShardingRule> rule = getShardingRule(copy);
  if (failed(rule))
    return std::nullopt;
  return *rule;
}

namespace {
/// Two rules that may number their factors differently.
class RuleComparison {
public:
  RuleComparison(const ShardingRule &written, const ShardingRule &own)
      : written(written), own(own) {}

  bool sameTensor(const TensorFactors &a, const TensorFactors &b);
  /// `readsIndex` is left to the body where there is one.
  bool sameFactors(bool hasBody) const;

private:
  static SmallVector<unsigned> withoutOnes(const ShardingRule &rule,
                                           ArrayRef<unsigned> dim) {
    return llvm::filter_to_vector(
        dim, [&](unsigned f) { return rule.factors[f].size != 1; });
  }

  const ShardingRule &written, &own;
  /// From the factors of `written` to those of `own`, and back.
  DenseMap<unsigned, unsigned> forth, back;
};
} // namespace

bool RuleComparison::sameTensor(const TensorFactors &a,
                                const TensorFactors &b) {
  if (a.dims.size() != b.dims.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.dims, b.dims)) {
    SmallVector<unsigned> left = withoutOnes(written, x);
    SmallVector<unsigned> right = withoutOnes(own, y);
    if (left.size() != right.size())
      return false;
    for (auto [f, g] : llvm::zip_equal(left, right))
      if (forth.try_emplace(f, g).first->second != g ||
          back.try_emplace(g, f).first->second != f)
        return false;
  }
  return true;
}

bool RuleComparison::sameFactors(bool hasBody) const {
  return llvm::all_of(forth, [&](auto pair) {
    const Factor &a = written.factors[pair.first];
    const Factor &b = own.factors[pair.second];
    return a.size == b.size && a.kind == b.kind && a.grain == b.grain &&
           a.total == b.total &&
           (a.kind != FactorKind::Reduction || a.reduction == b.reduction) &&
           (hasBody || a.readsIndex || !b.readsIndex);
  });
}

/// An initial value that a body does not read is a buffer.
static bool isUnread(Operation *op, unsigned index) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.isDpsInit(&op->getOpOperand(index)) &&
         !linalgOp.payloadUsesValueFromOperand(&op->getOpOperand(index));
}

std::string tp::checkRule(Operation *op) {
  ShardingRule written =
      op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName()).toRule();
  std::string reason;
  std::optional<ShardingRule> own = getGlobalRule(op, written, reason);
  if (!own)
    return "expected an operation with a rule: " + reason;
  RuleComparison comparison(written, *own);
  bool same = written.operands.size() <= own->operands.size() &&
              written.results.size() == own->results.size();
  for (unsigned i = 0; same && i < written.operands.size(); ++i)
    same = comparison.sameTensor(written.operands[i], own->operands[i]) &&
           (written.linearity[i] == own->linearity[i] || isUnread(op, i));
  for (unsigned i = 0; same && i < written.results.size(); ++i)
    same = comparison.sameTensor(written.results[i], own->results[i]);
  if (same && comparison.sameFactors(op->getNumRegions() != 0))
    return "";
  return "expected tp.rule to be its rule, " + toString(*own) + ", got " +
         toString(written);
}
