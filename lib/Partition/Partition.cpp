//===- Partition.cpp - tp-partition ---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the per-rank body of each function beside the global one, operation by
// operation, and then drops the global one. What each operation's local form is
// says its sharding rule's owner (tp::buildLocal); here are the types,
// reshards, masks and repeated layers.
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"
#include "Needs.h"
#include "OpAnalysis.h"
#include "PaddingAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tp/Partition/Derive.h"
#include "tp/Partition/Passes.h"
#include "tp/Partition/Steps.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Rules/Rules.h"

namespace tp {
#define GEN_PASS_DEF_PARTITION
#include "tp/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// Converts one function.
class Converter {
public:
  Converter(const Mesh &mesh, FlatSymbolRefAttr meshSymbol, int64_t &nextId)
      : mesh(mesh), meshSymbol(meshSymbol), padding(mesh), nextId(nextId) {}

  LogicalResult run(func::FuncOp function);

  int64_t numMasks = 0;

private:
  LogicalResult convertBlock(Block &from, OpBuilder &builder);
  LogicalResult convert(Operation *op, OpBuilder &builder);
  LogicalResult convertRepeat(RepeatOp op, OpBuilder &builder);
  void convertReshard(ReshardOp op, OpBuilder &builder);
  /// The steps from `from` to `to`, each collective with an id of its own.
  Value buildSteps(OpBuilder &builder, Location loc, Value value,
                   ArrayRef<int64_t> shape, TensorSharding from,
                   const TensorSharding &to, LedgerAttr reason);
  Value buildMask(OpBuilder &builder, Location loc, Value global, Value local,
                  const Mask &mask);
  /// A mask of a dimension that is not cut in blocks.
  Value buildPlainMask(OpBuilder &builder, Location loc, Value local,
                       ArrayRef<int64_t> shape, ShardingAttr sharding,
                       const Mask &mask);

  ShardingAttr attrOf(MLIRContext *context, const TensorSharding &sharding) {
    return ShardingAttr::get(context, meshSymbol, mesh, sharding);
  }
  /// The local type of a global value; other types stay.
  Type localType(Type type, ShardingAttr sharding) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    return tensor.clone(
        getLocalShape(tensor.getShape(), sharding.toSharding(mesh)));
  }
  SmallVector<Type> localTypes(ValueRange values) {
    SmallVector<Type> types;
    for (Value value : values)
      types.push_back(localType(value.getType(), getSharding(value)));
    return types;
  }

  const Mesh &mesh;
  FlatSymbolRefAttr meshSymbol;
  PaddingAnalysis padding;
  int64_t &nextId;
  IRMapping mapping;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

Value Converter::buildSteps(OpBuilder &builder, Location loc, Value value,
                            ArrayRef<int64_t> shape, TensorSharding from,
                            const TensorSharding &to, LedgerAttr reason) {
  MLIRContext *context = builder.getContext();
  for (const ReshardStage &stage : planReshardStages(shape, from, to, mesh)) {
    BlockView view{stage.split, shape, stage.shape};
    bool isView = !stage.split.empty();
    from = stage.from;
    if (isView)
      value =
          expandBlocks(builder, loc, value, view, attrOf(context, from), mesh);
    for (const ReshardStep &step : stage.plan.steps) {
      LedgerAttr entry;
      if (!step.getRow().isLocal())
        entry = LedgerAttr::get(context, nextId++, reason.getCause(),
                                reason.getAnnotation(), reason.getPass());
      value = tp::buildStep(builder, loc, value, stage.shape, from, step, mesh,
                            meshSymbol, entry);
      from = step.result;
    }
    if (isView)
      value = collapseBlocks(builder, loc, value, view,
                             attrOf(context, joinView(stage, shape)), mesh);
  }
  return value;
}

void Converter::convertReshard(ReshardOp op, OpBuilder &builder) {
  mapping.map(op.getResult(),
              buildSteps(builder, op.getLoc(), mapping.lookup(op.getInput()),
                         getGlobalShape(op.getInput()),
                         op.getFrom().toSharding(mesh),
                         op.getTo().toSharding(mesh), op.getLedgerAttr()));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value Converter::buildPlainMask(OpBuilder &builder, Location loc, Value local,
                                ArrayRef<int64_t> shape, ShardingAttr sharding,
                                const Mask &mask) {
  const DimSharding dim = sharding.toSharding(mesh).dims[mask.dim];
  linalg::GenericOp generic = buildPaddingMask(
      builder, loc, local, mask, shape[mask.dim], meshSymbol, mesh, dim.axes);
  ShardingRule shapes;
  TensorFactors dims;
  for (int64_t size : shape)
    dims.dims.push_back({shapes.addFactor(size, FactorKind::Parallel)});
  shapes.results = {dims};
  // The buffer is as local as the result.
  Operation *empty = generic.getDpsInitOperand(0)->get().getDefiningOp();
  ShardingAttr complete = sharding;
  if (!sharding.getPartial().empty())
    complete = ShardingAttr::get(builder.getContext(), sharding.getMesh(),
                                 sharding.getDims(), {}, ReductionKind::Sum);
  setSharding(empty->getResult(0), complete);
  setOwnRule(empty, shapes);
  shapes.operands = {dims, dims};
  setSharding(generic.getResult(0), sharding);
  setOwnRule(generic, shapes);
  ++numMasks;
  return generic.getResult(0);
}

/// `local` with the padding of a dimension overwritten: of one that is cut in
/// blocks, that past the last block and that of each block.
Value Converter::buildMask(OpBuilder &builder, Location loc, Value global,
                           Value local, const Mask &mask) {
  ShardingAttr sharding = getSharding(global);
  ArrayRef<int64_t> shape = getGlobalShape(global);
  TensorSharding have = sharding.toSharding(mesh);
  if (!have.dims[mask.dim].hasBlocks())
    return buildPlainMask(builder, loc, local, shape, sharding, mask);
  ReshardStage stage = splitBlocks(shape, have, mask.dim);
  BlockView view{stage.split, shape, stage.shape};
  ShardingAttr inView = attrOf(builder.getContext(), stage.from);
  local = expandBlocks(builder, loc, local, view, inView, mesh);
  for (unsigned dim : {mask.dim, mask.dim + 1})
    if (getPadding(stage.shape[dim], stage.from.dims[dim]) != 0)
      local = buildPlainMask(builder, loc, local, stage.shape, inView,
                             {dim, mask.value});
  return collapseBlocks(builder, loc, local, view, sharding, mesh);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult Converter::convert(Operation *op, OpBuilder &builder) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return convertRepeat(repeat, builder);
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    convertReshard(reshard, builder);
    return success();
  }
  if (isa<func::ReturnOp, YieldOp>(op) || !hasTensors(op)) {
    builder.clone(*op, mapping)->removeAttr(becauseAttrName);
    return success();
  }
  MLIRContext *context = op->getContext();
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    Type global = parameter.getType();
    auto local = cast<ParameterOp>(builder.clone(*op, mapping));
    local->removeAttr(becauseAttrName);
    local->setAttr(TPDialect::getGlobalTypeAttrName(), TypeAttr::get(global));
    local.getResult().setType(cast<RankedTensorType>(
        localType(global, getSharding(parameter.getResult()))));
    return success();
  }
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return failure();
  // Every rank has all of a constant table and takes its part.
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (constant && !isa<SplatElementsAttr>(constant.getValue())) {
    Value value = builder.clone(*op)->getResult(0);
    value.getDefiningOp()->removeAttr(becauseAttrName);
    ArrayRef<int64_t> shape = getGlobalShape(value);
    TensorSharding from = TensorSharding::replicated(shape.size());
    setSharding(value, attrOf(context, from));
    value.getDefiningOp()->setAttr(TPDialect::getRuleAttrName(),
                                   RuleAttr::get(context, analysis->rule));
    value = buildSteps(builder, op->getLoc(), value, shape, from,
                       analysis->results[0], nullptr);
    mapping.map(op->getResult(0), value);
    return success();
  }
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Value local = mapping.lookup(operand.get());
    for (const Mask &mask : padding.getMasks(operand))
      local = buildMask(builder, op->getLoc(), operand.get(), local, mask);
    operands.push_back(local);
  }
  ArrayRef<unsigned> guarded = padding.getGuardedFactors(op);
  numMasks += guarded.size();
  LocalContext localContext(mesh, meshSymbol, analysis->rule,
                            analysis->resolved.factors, guarded);
  FailureOr<SmallVector<Value>> results = buildLocal(
      op, builder, operands, localTypes(op->getResults()), localContext);
  if (failed(results))
    return failure();
  mapping.map(op->getResults(), *results);
  if (isa<ShardingConstraintOp>(op) || results->empty())
    return success();
  Operation *local = results->front().getDefiningOp();
  // The notes on an operation (its id) stay on a form built anew.
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!local->hasAttr(attribute.getName()))
      local->setAttr(attribute.getName(), attribute.getValue());
  local->removeAttr(becauseAttrName);
  local->setAttr(TPDialect::getShardingsAttrName(),
                 op->getAttr(TPDialect::getShardingsAttrName()));
  if (guarded.empty())
    local->setAttr(TPDialect::getRuleAttrName(),
                   RuleAttr::get(context, analysis->rule));
  else
    setOwnRule(local, analysis->rule);
  return success();
}

LogicalResult Converter::convertRepeat(RepeatOp op, OpBuilder &builder) {
  SmallVector<Value> inits, stacked;
  for (Value value : op.getInits())
    inits.push_back(mapping.lookup(value));
  for (Value value : op.getStacked())
    stacked.push_back(mapping.lookup(value));
  auto local = RepeatOp::create(builder, op.getLoc(), op.getCount(), inits,
                                stacked, localTypes(op.getStackedResults()),
                                op.getFirstIndex(), op.getReverse());
  local->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  local->removeAttr(becauseAttrName);
  Block *body = local.getBodyBlock();
  mapping.map(op.getBodyBlock()->getArguments(), body->getArguments());
  for (auto [from, to] :
       llvm::zip(op.getBodyBlock()->getArguments(), body->getArguments()))
    to.setLoc(from.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  if (failed(convertBlock(*op.getBodyBlock(), inner)))
    return failure();
  mapping.map(op.getResults(), local.getResults());
  return success();
}

LogicalResult Converter::convertBlock(Block &from, OpBuilder &builder) {
  for (Operation &op : from)
    if (failed(convert(&op, builder)))
      return failure();
  return success();
}

LogicalResult Converter::run(func::FuncOp function) {
  Block &global = function.getBody().front();
  if (failed(padding.run(global)))
    return failure();
  MLIRContext *context = function.getContext();
  auto globalName =
      StringAttr::get(context, TPDialect::getGlobalTypeAttrName());
  auto becauseName = StringAttr::get(context, becauseAttrName);

  auto *local = new Block();
  function.getBody().push_back(local);
  SmallVector<Type> inputs, results;
  for (BlockArgument arg : global.getArguments()) {
    unsigned index = arg.getArgNumber();
    inputs.push_back(localType(arg.getType(), getSharding(arg)));
    mapping.map(arg, local->addArgument(inputs.back(), arg.getLoc()));
    if (isa<RankedTensorType>(arg.getType()))
      function.setArgAttr(index, globalName, TypeAttr::get(arg.getType()));
    function.removeArgAttr(index, becauseName);
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    results.push_back(localType(type, getResultSharding(function, index)));
    if (isa<RankedTensorType>(type))
      function.setResultAttr(index, globalName, TypeAttr::get(type));
    function.removeResultAttr(index, becauseName);
  }
  OpBuilder builder = OpBuilder::atBlockEnd(local);
  LogicalResult converted = convertBlock(global, builder);
  if (failed(converted))
    return failure();
  global.erase();
  function.setFunctionType(FunctionType::get(context, inputs, results));
  return success();
}

/// An operation takes what it is given for what it needs: that must be so.
static LogicalResult checkServed(func::FuncOp function, const Mesh &mesh) {
  Needs needs(mesh);
  if (failed(needs.collect(function)))
    return failure();
  for (const auto &[value, targets] : needs.values) {
    const NeededSharding &need = targets.front();
    OpOperand *use = need.uses.front();
    FailureOr<TensorSharding> have =
        getWrittenSharding(use->getOwner(), value, mesh);
    if (failed(have))
      return failure();
    return use->getOwner()->emitOpError()
           << "operand " << use->getOperandNumber()
           << ": expected the sharding that is needed there, "
           << toString(need.sharding, mesh) << ", got " << toString(*have, mesh)
           << ": run tp-insert-reshards first";
  }
  return success();
}

namespace {
struct Partition : tp::impl::PartitionBase<Partition> {
  void runOnOperation() override {
    MeshOp meshOp = getMeshToPartition(getOperation());
    if (!meshOp)
      return signalPassFailure();
    Mesh mesh = meshOp.getMesh().toMesh();
    auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
    int64_t nextId = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("expected one block to partition");
        return signalPassFailure();
      }
      if (failed(checkServed(function, mesh)))
        return signalPassFailure();
      Converter converter(mesh, symbol, nextId);
      if (failed(converter.run(function)))
        return signalPassFailure();
      numMasks += converter.numMasks;
    }
    for (auto state : getOperation().getOps<StateOp>()) {
      auto global = cast<RankedTensorType>(state.getType());
      state->setAttr(TPDialect::getGlobalTypeAttrName(), TypeAttr::get(global));
      if (ShardingAttr sharding = state.getShardingAttr())
        state.setType(global.clone(
            getLocalShape(global.getShape(), sharding.toSharding(mesh))));
    }
    numCollectives += nextId;
  }
};
} // namespace
