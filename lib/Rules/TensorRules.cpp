//===- TensorRules.cpp - Rules of tensor and of tp's identities
//-------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements without computing. Dimensions that they take
// as they are shard; those that they cut, join or index are whole.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

static unsigned addWhole(ShardingRule &rule, int64_t size) {
  return rule.addFactor(size, FactorKind::Whole,
                        "x" + std::to_string(rule.factors.size()));
}

static unsigned addParallel(ShardingRule &rule, int64_t size) {
  return rule.addFactor(size, FactorKind::Parallel,
                        "d" + std::to_string(rule.factors.size()));
}

static void addOperand(ShardingRule &rule, TensorFactors tensor,
                       Linearity linearity) {
  rule.operands.push_back(std::move(tensor));
  rule.linearity.push_back(linearity);
}

static LocalValues clone(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange resultTypes, const LocalContext &) {
  return cloneLocal(op, builder, operands, resultTypes);
}

static PadStates knowNothing(Operation *op, unsigned, ArrayRef<PadState>) {
  return PadStates(op->getNumResults(), PadState::Anything);
}

//===----------------------------------------------------------------------===//
// Sources and identities
//===----------------------------------------------------------------------===//

/// The result is what one asks for: empty, splat, parameter.
static FailureOr<ShardingRule> getSourceRule(Operation *op) {
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    addOperand(rule, {}, Linearity::None);
  rule.results.push_back(addDims(rule, getShape(op->getResult(0))));
  return rule;
}

static LocalValues buildLocalParameter(Operation *op, OpBuilder &builder,
                                       ValueRange, TypeRange resultTypes,
                                       const LocalContext &) {
  // The loader needs the sharding to read this rank's part.
  Operation *local = builder.clone(*op);
  local->getResult(0).setType(resultTypes[0]);
  return SmallVector<Value>(local->getResults());
}

static PadStates getParameterStates(Operation *, unsigned, ArrayRef<PadState>) {
  return {PadState::Zero};
}

static PadStates getSplatStates(Operation *op, unsigned, ArrayRef<PadState>) {
  Value input = cast<tensor::SplatOp>(op).getInput();
  bool isZero =
      matchPattern(input, m_AnyZeroFloat()) || matchPattern(input, m_Zero());
  return {isZero ? PadState::Zero : PadState::Anything};
}

static FailureOr<ShardingRule> getIdentityRule(Operation *op) {
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  TensorFactors dims = addDims(rule, getShape(op->getOperand(0)));
  addOperand(rule, dims, Linearity::Multilinear);
  rule.results.push_back(dims);
  return rule;
}

static LocalValues forward(Operation *, OpBuilder &, ValueRange operands,
                           TypeRange, const LocalContext &) {
  return SmallVector<Value>{operands[0]};
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The dimensions of `expanded` are factors; each of the other side is the
/// product of its group.
static std::pair<TensorFactors, TensorFactors>
addGroups(ShardingRule &rule, ArrayRef<int64_t> expanded,
          ArrayRef<ReassociationIndices> groups, unsigned collapsedRank) {
  TensorFactors wide, narrow;
  for (int64_t size : expanded) {
    wide.dims.emplace_back();
    // A dimension of size one takes no part in a product.
    if (size != 1)
      wide.dims.back().push_back(addParallel(rule, size));
  }
  narrow.dims.resize(collapsedRank);
  for (auto [dim, group] : llvm::enumerate(groups))
    for (int64_t index : group)
      llvm::append_range(narrow.dims[dim], wide.dims[index]);
  return {wide, narrow};
}

static FailureOr<ShardingRule> getExpandRule(Operation *operation) {
  auto op = cast<tensor::ExpandShapeOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  auto [wide, narrow] =
      addGroups(rule, getShape(op.getResult()), op.getReassociationIndices(),
                op.getSrcType().getRank());
  addOperand(rule, narrow, Linearity::Multilinear);
  rule.results.push_back(wide);
  return rule;
}

static FailureOr<ShardingRule> getCollapseRule(Operation *operation) {
  auto op = cast<tensor::CollapseShapeOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  auto [wide, narrow] =
      addGroups(rule, getShape(op.getSrc()), op.getReassociationIndices(),
                op.getResultType().getRank());
  addOperand(rule, wide, Linearity::Multilinear);
  rule.results.push_back(narrow);
  return rule;
}

static LocalValues buildLocalExpand(Operation *operation, OpBuilder &builder,
                                    ValueRange operands, TypeRange resultTypes,
                                    const LocalContext &) {
  auto op = cast<tensor::ExpandShapeOp>(operation);
  return SmallVector<Value>{
      tensor::ExpandShapeOp::create(builder, op.getLoc(), resultTypes[0],
                                    operands[0], op.getReassociationIndices())};
}

//===----------------------------------------------------------------------===//
// Slices, concatenation, padding
//===----------------------------------------------------------------------===//

/// The factors of the two sides of a slice: `large` is cut to `small`, of which
/// dimensions of size one may have been dropped. Whole dimensions shard.
static FailureOr<std::pair<TensorFactors, TensorFactors>>
addSlice(Operation *op, ShardingRule &rule,
         OffsetSizeAndStrideOpInterface slice, ArrayRef<int64_t> large,
         const llvm::SmallBitVector &dropped) {
  std::pair<TensorFactors, TensorFactors> factors;
  for (auto [dim, size] : llvm::enumerate(large)) {
    int64_t cut = slice.getStaticSizes()[dim];
    if (ShapedType::isDynamic(cut))
      return op->emitOpError() << "expected static sizes to shard, got a "
                                  "dynamic size of dimension "
                               << dim;
    bool isFull = cut == size && !slice.isDynamicOffset(dim) &&
                  slice.getStaticOffset(dim) == 0 &&
                  !slice.isDynamicStride(dim) &&
                  slice.getStaticStride(dim) == 1;
    SmallVector<unsigned, 2> inner, outer;
    if (isFull) {
      outer.push_back(addParallel(rule, size));
      inner = outer;
    } else {
      outer.push_back(addWhole(rule, size));
      if (cut != 1)
        inner.push_back(addWhole(rule, cut));
    }
    factors.first.dims.push_back(std::move(outer));
    if (!dropped.test(dim))
      factors.second.dims.push_back(std::move(inner));
  }
  return factors;
}

static FailureOr<ShardingRule> getExtractSliceRule(Operation *operation) {
  auto op = cast<tensor::ExtractSliceOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  auto factors = addSlice(op, rule, op, op.getSourceType().getShape(),
                          op.getDroppedDims());
  if (failed(factors))
    return failure();
  addOperand(rule, factors->first, Linearity::Multilinear);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    addOperand(rule, {}, Linearity::None);
  rule.results.push_back(factors->second);
  return rule;
}

static FailureOr<ShardingRule> getInsertSliceRule(Operation *operation) {
  auto op = cast<tensor::InsertSliceOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  auto factors =
      addSlice(op, rule, op, op.getDestType().getShape(), op.getDroppedDims());
  if (failed(factors))
    return failure();
  addOperand(rule, factors->second, Linearity::Additive);
  addOperand(rule, factors->first, Linearity::Additive);
  for (unsigned i = 2; i < op->getNumOperands(); ++i)
    addOperand(rule, {}, Linearity::None);
  rule.results.push_back(factors->first);
  return rule;
}

/// `sizes` with those of dimensions that are full replaced by the local ones.
static SmallVector<OpFoldResult>
getLocalSizes(OpBuilder &builder, OffsetSizeAndStrideOpInterface op,
              ArrayRef<int64_t> global, ArrayRef<int64_t> local) {
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (local[dim] != global[dim])
      size = builder.getIndexAttr(local[dim]);
  return sizes;
}

/// Offsets, sizes and strides with their dynamic values from `operands`.
static SmallVector<OpFoldResult> remap(ArrayRef<OpFoldResult> values,
                                       ValueRange from, ValueRange to) {
  SmallVector<OpFoldResult> result(values);
  for (OpFoldResult &value : result)
    if (auto dynamic = dyn_cast<Value>(value))
      value = to[std::distance(from.begin(), llvm::find(from, dynamic))];
  return result;
}

static LocalValues buildLocalExtractSlice(Operation *operation,
                                          OpBuilder &builder,
                                          ValueRange operands,
                                          TypeRange resultTypes,
                                          const LocalContext &) {
  auto op = cast<tensor::ExtractSliceOp>(operation);
  ValueRange old = op->getOperands();
  return SmallVector<Value>{tensor::ExtractSliceOp::create(
      builder, op.getLoc(), cast<RankedTensorType>(resultTypes[0]), operands[0],
      remap(op.getMixedOffsets(), old, operands),
      getLocalSizes(builder, op, op.getSourceType().getShape(),
                    getShape(operands[0])),
      remap(op.getMixedStrides(), old, operands))};
}

static LocalValues buildLocalInsertSlice(Operation *operation,
                                         OpBuilder &builder,
                                         ValueRange operands, TypeRange,
                                         const LocalContext &) {
  auto op = cast<tensor::InsertSliceOp>(operation);
  ValueRange old = op->getOperands();
  return SmallVector<Value>{tensor::InsertSliceOp::create(
      builder, op.getLoc(), operands[0], operands[1],
      remap(op.getMixedOffsets(), old, operands),
      getLocalSizes(builder, op, op.getDestType().getShape(),
                    getShape(operands[1])),
      remap(op.getMixedStrides(), old, operands))};
}

static FailureOr<ShardingRule> getConcatRule(Operation *operation) {
  auto op = cast<tensor::ConcatOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  TensorFactors dims = addDims(rule, op.getResultType().getShape());
  unsigned joined = dims.dims[op.getDim()].front();
  rule.factors[joined].kind = FactorKind::Whole;
  Linearity linearity =
      op.getInputs().size() == 1 ? Linearity::Multilinear : Linearity::Additive;
  for (Value input : op.getInputs()) {
    TensorFactors tensor = dims;
    tensor.dims[op.getDim()] = {addWhole(rule, getShape(input)[op.getDim()])};
    addOperand(rule, std::move(tensor), linearity);
  }
  rule.results.push_back(dims);
  return rule;
}

static FailureOr<ShardingRule> getPadRule(Operation *operation) {
  auto op = cast<tensor::PadOp>(operation);
  if (failed(expectStatic(op)) || failed(expectNoCaptures(op)))
    return failure();
  ShardingRule rule;
  TensorFactors source, result;
  ArrayRef<int64_t> large = op.getResultType().getShape();
  for (auto [dim, size] : llvm::enumerate(op.getSourceType().getShape())) {
    bool isFull = op.getStaticLow()[dim] == 0 && op.getStaticHigh()[dim] == 0;
    // The padding may depend on the position in a dimension that has none.
    bool isRead = !op.getRegion().getArgument(dim).use_empty();
    source.dims.push_back(
        {isFull && !isRead ? addParallel(rule, size) : addWhole(rule, size)});
    result.dims.push_back(
        {isFull ? source.dims.back().front() : addWhole(rule, large[dim])});
  }
  Value padding = op.getConstantPaddingValue();
  bool isLinear = padding && (matchPattern(padding, m_AnyZeroFloat()) ||
                              matchPattern(padding, m_Zero()));
  addOperand(rule, source, isLinear ? Linearity::Multilinear : Linearity::None);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    addOperand(rule, {}, Linearity::None);
  rule.results.push_back(result);
  return rule;
}

/// Padding of the dimensions that are not padded here: zero if both sides are.
static PadStates getPadStates(Operation *op, unsigned factor,
                              ArrayRef<PadState> operands) {
  Value padding = cast<tensor::PadOp>(op).getConstantPaddingValue();
  if (padding && matchPattern(padding, m_AnyZeroFloat()))
    return keepStates(op, factor, operands);
  return knowNothing(op, factor, operands);
}

//===----------------------------------------------------------------------===//
// Single elements and rows
//===----------------------------------------------------------------------===//

static FailureOr<ShardingRule> getGatherRule(Operation *operation) {
  auto op = cast<tensor::GatherOp>(operation);
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  ArrayRef<int64_t> source = op.getSourceType().getShape();
  TensorFactors indices =
      addDims(rule, op.getIndicesType().getShape().drop_back());
  TensorFactors result = indices, tensor;
  indices.dims.push_back(
      {addWhole(rule, op.getIndicesType().getShape().back())});
  unsigned batch = indices.dims.size() - 1;
  bool keepsDims = op.getResultType().getRank() ==
                   static_cast<int64_t>(batch + source.size());
  for (auto [dim, size] : llvm::enumerate(source)) {
    bool isGathered =
        llvm::is_contained(op.getGatherDims(), static_cast<int64_t>(dim));
    tensor.dims.push_back(
        {isGathered ? addWhole(rule, size) : addParallel(rule, size)});
    if (!isGathered)
      result.dims.push_back(tensor.dims.back());
    else if (keepsDims)
      result.dims.emplace_back();
  }
  addOperand(rule, tensor, Linearity::Multilinear);
  addOperand(rule, indices, Linearity::None);
  rule.results.push_back(result);
  return rule;
}

/// The padding of the source's slices is what the source's padding is.
static PadStates getGatherStates(Operation *, unsigned,
                                 ArrayRef<PadState> operands) {
  return {operands[0] == PadState::None ? PadState::Anything : operands[0]};
}

/// tensor.extract and tensor.from_elements: tensors are whole.
static FailureOr<ShardingRule> getWholeRule(Operation *op) {
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  for (Value operand : op->getOperands())
    addOperand(rule, addDims(rule, getShape(operand), FactorKind::Whole),
               Linearity::None);
  for (Value result : op->getResults())
    rule.results.push_back(addDims(rule, getShape(result), FactorKind::Whole));
  return rule;
}

RuleProvider tp::getTensorRules(Operation *op) {
  using Provider = RuleProvider;
  return llvm::TypeSwitch<Operation *, Provider>(op)
      .Case<tensor::EmptyOp>(
          [](auto) { return Provider{getSourceRule, clone, knowNothing}; })
      .Case<tensor::SplatOp>(
          [](auto) { return Provider{getSourceRule, clone, getSplatStates}; })
      .Case<ParameterOp>([](auto) {
        return Provider{getSourceRule, buildLocalParameter, getParameterStates};
      })
      .Case<tensor::CastOp>(
          [](auto) { return Provider{getIdentityRule, clone, keepStates}; })
      .Case<ShardingConstraintOp>(
          [](auto) { return Provider{getIdentityRule, forward, keepStates}; })
      .Case<tensor::ExpandShapeOp>([](auto) {
        return Provider{getExpandRule, buildLocalExpand, keepStates};
      })
      .Case<tensor::CollapseShapeOp>(
          [](auto) { return Provider{getCollapseRule, clone, keepStates}; })
      .Case<tensor::ExtractSliceOp>([](auto) {
        return Provider{getExtractSliceRule, buildLocalExtractSlice,
                        keepStates};
      })
      .Case<tensor::InsertSliceOp>([](auto) {
        return Provider{getInsertSliceRule, buildLocalInsertSlice, keepStates};
      })
      .Case<tensor::ConcatOp>(
          [](auto) { return Provider{getConcatRule, clone, keepStates}; })
      .Case<tensor::PadOp>([](auto) {
        return Provider{getPadRule, cloneWithConstants, getPadStates};
      })
      .Case<tensor::GatherOp>(
          [](auto) { return Provider{getGatherRule, clone, getGatherStates}; })
      .Case<tensor::ExtractOp, tensor::FromElementsOp>(
          [](auto) { return Provider{getWholeRule, clone, knowNothing}; })
      .Default([](Operation *) { return Provider(); });
}
