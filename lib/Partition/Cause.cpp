//===- Cause.cpp - Why a value must be resharded --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cause and the annotation that a collective's ledger entry names, found
// where the two shardings meet: a partial sum is followed back through linear
// operations to the contractions that began it, a gather is explained by the
// use that needs a dimension whole.
//
//===----------------------------------------------------------------------===//

#include "OpAnalysis.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Rules/Rules.h"

using namespace mlir;
using namespace tp;

bool tp::hasTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

ArrayRef<int64_t> tp::getGlobalShape(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type.getShape();
  return {};
}

FailureOr<TensorSharding> tp::getWrittenSharding(Operation *op, Value value,
                                                 const Mesh &mesh) {
  ShardingAttr attr = getSharding(value);
  if (!attr) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("expected every tensor to have a sharding, got one "
                        "without: run tp-propagate first");
    diagnostic.attachNote(value.getLoc()) << "the tensor is defined here";
    return diagnostic;
  }
  FailureOr<TensorSharding> sharding =
      attr.toSharding(mesh, [&] { return op->emitOpError(); });
  if (failed(sharding))
    return failure();
  if (sharding->isOpen())
    return op->emitOpError() << "expected closed shardings, got " << attr
                             << ": run tp-propagate first";
  return sharding;
}

MeshOp tp::getMeshToPartition(ModuleOp module) {
  MeshOp mesh = getUniqueMesh(module);
  if (!mesh)
    module.emitError(
        "expected the module to have exactly one tp.mesh to partition for");
  return mesh && succeeded(expectSizes(module)) ? mesh : MeshOp();
}

FailureOr<OpAnalysis> tp::analyzeOp(Operation *op, const Mesh &mesh) {
  OpAnalysis analysis;
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  analysis.rule = std::move(*rule);
  auto collect = [&](ValueRange values, auto &shardings,
                     auto &shapes) -> LogicalResult {
    for (Value value : values) {
      if (!isa<RankedTensorType>(value.getType())) {
        shardings.push_back(TensorSharding::replicated(0));
        shapes.emplace_back();
        continue;
      }
      FailureOr<TensorSharding> sharding = getWrittenSharding(op, value, mesh);
      if (failed(sharding))
        return failure();
      shardings.push_back(std::move(*sharding));
      shapes.emplace_back(getGlobalShape(value));
    }
    return success();
  };
  if (failed(collect(op->getOperands(), analysis.operands,
                     analysis.operandShapes)) ||
      failed(
          collect(op->getResults(), analysis.results, analysis.resultShapes)))
    return failure();
  analysis.resolved =
      resolveFactors(analysis.rule, analysis.operands, analysis.results,
                     analysis.operandShapes, analysis.resultShapes);
  return analysis;
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// "sequence" or "batch": what of an activation the operation's operands have
/// along factor `f`.
static StringRef getSplitName(const ShardingRule &rule, unsigned f) {
  for (const TensorFactors &operand : rule.operands)
    for (unsigned dim : {1, 0})
      if (operand.dims.size() >= 3 && llvm::is_contained(operand.dims[dim], f))
        return dim == 1 ? "sequence" : "batch";
  return "";
}

/// Describes the gradient that `value` becomes, in whichever layer.
static std::string describeGradient(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned index = use.getOperandNumber();
    if (auto yield = dyn_cast<YieldOp>(user)) {
      std::string text =
          describeGradient(yield->getParentOp()->getResult(index));
      if (!text.empty())
        return text;
    }
    auto function = dyn_cast<func::FuncOp>(user->getParentOp());
    auto mark = function && isa<func::ReturnOp>(user)
                    ? function.getResultAttrOfType<GradientAttr>(
                          index, TPDialect::getGradientAttrName())
                    : GradientAttr();
    if (mark)
      return "gradient of " + mark.getName().str();
  }
  return "";
}

/// Describes a reduced value to the program: a gradient, a state; empty if it
/// is neither.
static std::string describeSum(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  if (!function)
    return describeGradient(value);
  FlatSymbolRefAttr state = getArgState(function, argument.getArgNumber());
  return state ? "state @" + state.getValue().str() : "";
}

/// The contractions that made `value` partial over `axes`, as text, and what
/// they sum over.
static void findContractions(Value value, ArrayRef<AxisRef> axes,
                             const Mesh &mesh, DenseSet<Value> &seen,
                             SmallVectorImpl<std::string> &found,
                             StringRef &split) {
  if (!seen.insert(value).second || found.size() > 3)
    return;
  Operation *op = value.getDefiningOp();
  if (auto repeat = dyn_cast_or_null<RepeatOp>(op)) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    findContractions(repeat.getYield().getOperand(index), axes, mesh, seen,
                     found, split);
    return;
  }
  if (!op || isa<ReshardOp>(op))
    return;
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return;
  for (unsigned f = 0; f < analysis->rule.factors.size(); ++f)
    if (isReduced(analysis->rule, f) &&
        overlap(analysis->resolved.factors.axes[f], axes)) {
      std::string text = op->getName().getStringRef().str() + " over factor " +
                         analysis->getFactorName(f);
      if (!llvm::is_contained(found, text))
        found.push_back(std::move(text));
      if (split.empty())
        split = getSplitName(analysis->rule, f);
    }
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (overlap(analysis->resolved.operandPartial[index], axes) &&
        overlap(analysis->operands[index].partial, axes))
      findContractions(operand, axes, mesh, seen, found, split);
}

/// The axes of `from` that `to` lacks, by dimension; the first one cut less.
static std::optional<unsigned> findFreedDim(const TensorSharding &from,
                                            const TensorSharding &to,
                                            AxisList &freed) {
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(from.dims, to.dims))) {
    freed = subtractAxes(std::get<0>(pair).axes, std::get<1>(pair).axes);
    if (!freed.empty())
      return dim;
  }
  return std::nullopt;
}

/// "nn.linear splits factor n over "tp"": the use that takes the freed axes for
/// something else, or that cannot have the dimension split.
static std::string explainUse(OpOperand &use, unsigned dim,
                              ArrayRef<AxisRef> freed, const Mesh &mesh) {
  Operation *op = use.getOwner();
  std::string name = op->getName().getStringRef().str();
  std::string whole = "needs dimension " + std::to_string(dim) + " whole";
  if (isa<func::ReturnOp>(op))
    return "result " + std::to_string(use.getOperandNumber()) +
           " of the function is declared so";
  if (isa<RepeatOp, YieldOp>(op))
    return "the value carried by tp.repeat is";
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    // If a value is declared whole, the use that makes it worth it is told.
    for (OpOperand &next : constraint.getResult().getUses())
      if (std::string why = explainUse(next, dim, freed, mesh);
          StringRef(why).contains(" factor "))
        return why;
    return name + " " + whole;
  }
  // A declared value is resharded for its uses before this one is explained.
  if (isa<ReshardOp>(op))
    return name + " " + whole;
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return name + " " + whole;
  for (auto [f, factor] : llvm::enumerate(analysis->rule.factors))
    if (overlap(analysis->resolved.factors.axes[f], freed))
      return name + " splits factor " + analysis->getFactorName(f) + " over " +
             mesh.getName(freed) + " and " + whole;
  for (unsigned f : analysis->rule.operands[use.getOperandNumber()].dims[dim])
    if (analysis->rule.factors[f].kind == FactorKind::Whole)
      return name + " cannot split factor " + analysis->getFactorName(f);
  return name + " " + whole;
}

LedgerAttr tp::explainReshard(Value value, const TensorSharding &from,
                              const TensorSharding &to,
                              ArrayRef<OpOperand *> uses, const Mesh &mesh) {
  std::string cause;
  AxisList axes = subtractAxes(from.partial, to.partial);
  bool isActivation = from.getRank() >= 3;
  if (!axes.empty()) {
    SmallVector<std::string> contractions;
    DenseSet<Value> seen;
    StringRef summed;
    findContractions(value, axes, mesh, seen, contractions, summed);
    std::string subject = describeSum(value);
    if (!subject.empty() && !summed.empty())
      subject += ", " + summed.str() + " split";
    cause = "partial " + stringify(from.reduction).str() + " of ";
    cause += contractions.empty() ? "a value over " + mesh.getName(axes)
                                  : llvm::join(contractions, " and of ");
    AxisList unused;
    std::optional<unsigned> split = findFreedDim(to, from, unused);
    if (split && isActivation && *split == 1)
      cause =
          "sequence-parallel boundary: " + cause + ", split along dimension 1";
    else if (split)
      cause += ", split along dimension " + std::to_string(*split);
    if (!subject.empty())
      cause = subject + ": " + cause;
  } else if (std::optional<unsigned> dim = findFreedDim(from, to, axes)) {
    std::string why = explainUse(*uses.front(), *dim, axes, mesh);
    cause = isActivation && *dim == 1
                ? "sequence-parallel boundary: " + why
                : "conflict between " + toString(from, mesh) + " and " +
                      toString(to, mesh) + ": " + why;
  } else {
    cause = "conflict between " + toString(from, mesh) + " and " +
            toString(to, mesh);
  }

  // The annotation that put the axes there; else the one that the use follows.
  std::string annotation;
  auto lookFor = [&](ArrayRef<Because> entries) {
    for (const Because &entry : entries)
      for (const AxisRef &axis : axes)
        if (annotation.empty() && entry.axis == mesh.getAxis(axis.axis).name)
          annotation = entry.annotation;
  };
  lookFor(getBecause(value));
  for (OpOperand *use : uses)
    for (Value result : use->getOwner()->getResults())
      lookFor(getBecause(result));
  if (annotation.empty())
    annotation = "none";
  MLIRContext *context = value.getContext();
  return LedgerAttr::get(context, 0, StringAttr::get(context, cause),
                         StringAttr::get(context, annotation),
                         StringAttr::get(context, "tp-insert-reshards"));
}
