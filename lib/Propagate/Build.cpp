//===- Build.cpp - From IR to the state that propagation works on ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One state per value, one node per operation that has a rule, ties for what
// has one sharding by construction (tp.repeat, calls, returned values), and a
// seed for every axis that the user wrote. Rules are asked for once.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Rules/Rules.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;

Propagation::Propagation(MeshOp meshOp)
    : meshOp(meshOp), mesh(meshOp.getMesh().toMesh()),
      meshSymbol(FlatSymbolRefAttr::get(meshOp.getSymNameAttr())) {}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

int Propagation::addState(Type type) {
  auto shaped = cast<RankedTensorType>(type);
  ValueState state;
  state.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
  if (shaped.getElementType().isIntOrFloat())
    state.elementBytes =
        std::max<int64_t>(1, shaped.getElementTypeBitWidth() / 8);
  else if (shaped.getElementType().isIndex())
    state.elementBytes = 8;
  state.sharding = TensorSharding::replicated(shaped.getRank(), /*open=*/true);
  state.dimReasons.resize(shaped.getRank());
  states.push_back(std::move(state));
  return states.size() - 1;
}

int Propagation::getState(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return -1;
  auto [it, isNew] = stateOf.try_emplace(value, -1);
  if (isNew) {
    int state = addState(value.getType());
    stateOf[value] = state;
    return state;
  }
  return it->second;
}

LogicalResult Propagation::seed(Operation *op, int state, ShardingAttr sharding,
                                unsigned priority, const std::string &who,
                                bool isState) {
  assert(sharding.getMesh() == meshSymbol &&
         "the module has one mesh, and shardings name a mesh that is there");
  if (!sharding.getPartial().empty() && !isState)
    return op->emitError()
           << who << ": expected an annotation without partial axes: what is "
           << "partial follows from the program";
  TensorSharding wanted = sharding.toSharding(mesh);
  ValueState &target = states[state];
  if (std::string why = verifySharding(target.shape, wanted, mesh);
      !why.empty())
    return op->emitError() << who << ": " << why;
  for (auto [d, dim] : llvm::enumerate(wanted.dims)) {
    dim.axes = canonicalize(dim.axes);
    int64_t shards = getShardCount(dim.axes);
    int64_t grains = target.shape[d] / dim.grain;
    // Heads, and caches that lie as they do, may leave the last ranks without.
    bool mayBeEmpty = dim.grain != 1 || dim.hasBlocks() || isState;
    if (shards > grains && shards > 1 && !mayBeEmpty)
      return op->emitError()
             << who << ": dimension " << d << " has " << grains
             << " elements, which cannot be cut into " << shards << " shards";
    for (const AxisRef &ref : dim.axes) {
      if (findReason(state, d, ref.axis))
        continue;
      Seed seed{who + " dim " + std::to_string(d) + " on " + mesh.getName(ref),
                priority};
      seeds.push_back(std::move(seed));
      target.dimReasons[d].push_back(
          {ref.axis, static_cast<int>(seeds.size()) - 1});
    }
  }
  target.sharding = std::move(wanted);
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

int Propagation::addNode(Node node) {
  int index = nodes.size();
  node.factors = FactorShardings(node.rule.factors.size());
  for (int state : node.operands)
    if (state >= 0) {
      states[state].users.push_back(index);
      if (!llvm::is_contained(states[state].nodes, index))
        states[state].nodes.push_back(index);
    }
  for (int state : node.results)
    if (state >= 0) {
      if (!node.isTie)
        states[state].producer = index;
      if (!llvm::is_contained(states[state].nodes, index))
        states[state].nodes.push_back(index);
    }
  nodes.push_back(std::move(node));
  return index;
}

void Propagation::tie(Operation *op, int from, int to) {
  if (from < 0 || to < 0 || from == to)
    return;
  Node node;
  node.op = op;
  node.isTie = true;
  node.operands = {from};
  node.results = {to};
  TensorFactors dims;
  for (int64_t size : states[from].shape)
    dims.dims.push_back({node.rule.addFactor(size)});
  node.rule.operands = {dims};
  node.rule.results = {dims};
  node.rule.linearity = {Linearity::None};
  addNode(std::move(node));
}

void Propagation::tieSlices(Operation *op, int whole, int slice,
                            bool wholeIsResult) {
  if (whole < 0 || slice < 0)
    return;
  Node node;
  node.op = op;
  node.isTie = true;
  TensorFactors wholeDims, sliceDims;
  wholeDims.dims.push_back(
      {node.rule.addFactor(states[whole].shape[0], FactorKind::Whole)});
  for (int64_t size : states[slice].shape) {
    unsigned factor = node.rule.addFactor(size);
    wholeDims.dims.push_back({factor});
    sliceDims.dims.push_back({factor});
  }
  node.operands = {wholeIsResult ? slice : whole};
  node.results = {wholeIsResult ? whole : slice};
  node.rule.operands = {wholeIsResult ? sliceDims : wholeDims};
  node.rule.results = {wholeIsResult ? wholeDims : sliceDims};
  node.rule.linearity = {Linearity::None};
  // The iteration's dimension is never cut.
  states[whole].sharding.dims[0].open = false;
  addNode(std::move(node));
}

LogicalResult Propagation::buildRepeat(RepeatOp repeat) {
  std::string where = toString(repeat.getLoc());
  for (auto [index, init, arg, result] :
       llvm::enumerate(repeat.getInits(), repeat.getCarriedArgs(),
                       repeat.getCarriedResults())) {
    int state = getState(result);
    if (state < 0)
      continue;
    stateOf[arg] = state;
    carried.push_back({repeat, state});
    if (ShardingAttr sharding = getSharding(result)) {
      std::string who = "carried value " + std::to_string(index) + " of " +
                        (where.empty() ? "tp.repeat" : where);
      if (failed(seed(repeat, state, sharding, 1, who)))
        return failure();
    }
    tie(repeat, getState(init), state);
  }
  for (auto [value, arg] :
       llvm::zip(repeat.getStacked(), repeat.getStackedArgs()))
    tieSlices(repeat, getState(value), getState(arg), /*wholeIsResult=*/false);
  if (failed(buildBlock(*repeat.getBodyBlock())))
    return failure();
  unsigned numCarried = repeat.getInits().size();
  for (auto [index, value] : llvm::enumerate(repeat.getYield().getOperands())) {
    Value result = repeat.getResult(index);
    if (index < numCarried) {
      tie(repeat, getState(value), getState(result));
      continue;
    }
    int state = getState(result);
    tieSlices(repeat, state, getState(value), /*wholeIsResult=*/true);
    if (ShardingAttr sharding = getSharding(result))
      if (failed(seed(repeat, state, sharding, 1,
                      "stacked result " + std::to_string(index - numCarried) +
                          " of " + (where.empty() ? "tp.repeat" : where))))
        return failure();
  }
  return success();
}

LogicalResult Propagation::buildCall(Operation *op) {
  auto call = cast<func::CallOp>(op);
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, call.getCalleeAttr());
  assert(callee && "the call's verifier found the function");
  if (callee.isExternal()) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "cannot be sharded: " << call.getCalleeAttr()
                              << " has no body to propagate through";
    diag.attachNote(callee.getLoc()) << "declared here";
    return diag;
  }
  for (auto [value, arg] : llvm::zip(op->getOperands(), callee.getArguments()))
    tie(op, getState(value), getState(arg));
  for (auto [result, state] :
       llvm::zip(op->getResults(), functionResults[callee]))
    if (state >= 0)
      stateOf[result] = state;
  return success();
}

LogicalResult Propagation::buildOperation(Operation *op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return buildRepeat(repeat);
  if (isa<func::CallOp>(op))
    return buildCall(op);
  if (isa<YieldOp>(op))
    return success(); // tied by buildRepeat
  if (isa<func::ReturnOp>(op)) {
    for (auto [value, state] :
         llvm::zip(op->getOperands(), functionResults[op->getParentOp()]))
      tie(op, getState(value), state);
    return success();
  }
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    int state = getState(constraint.getResult());
    std::string where = toString(op->getLoc());
    if (failed(seed(op, state, constraint.getSharding(), 1,
                    where.empty() ? "constraint" : "constraint at " + where)))
      return failure();
    tie(op, getState(constraint.getInput()), state);
    return success();
  }
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    int state = getState(parameter.getResult());
    if (ShardingAttr sharding = getSharding(parameter.getResult()))
      return seed(op, state, sharding, 0, parameter.getName().str());
    return success();
  }

  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::none_of(op->getOperandTypes(), isTensor) &&
      llvm::none_of(op->getResultTypes(), isTensor))
    return success();
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  Node node;
  node.op = op;
  node.rule = std::move(*rule);
  for (Value operand : op->getOperands())
    node.operands.push_back(getState(operand));
  for (Value result : op->getResults())
    node.results.push_back(getState(result));
  if (node.rule.operands.size() != node.operands.size() ||
      node.rule.results.size() != node.results.size() ||
      node.rule.linearity.size() != node.operands.size())
    return op->emitOpError()
           << "has a sharding rule of " << node.rule.operands.size()
           << " operands and " << node.rule.results.size()
           << " results, expected " << node.operands.size() << " and "
           << node.results.size();
  addNode(std::move(node));
  return success();
}

/// Uses of one parameter in one block are one value: they get one state.
static void unifyParameters(Block &block, llvm::DenseMap<Value, int> &stateOf,
                            llvm::function_ref<int(Value)> getState) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, Value> first;
  for (auto parameter : block.getOps<ParameterOp>()) {
    auto [it, isNew] =
        first.try_emplace({parameter.getNameAttr(), parameter.getSourceAttr()},
                          parameter.getResult());
    int state = getState(it->second);
    if (!isNew)
      stateOf[parameter.getResult()] = state;
  }
}

LogicalResult Propagation::buildBlock(Block &block) {
  unifyParameters(block, stateOf, [&](Value value) { return getState(value); });
  for (Operation &op : block)
    if (failed(buildOperation(&op)))
      return failure();
  return success();
}

/// Programs whose weights are arguments: states that begin with parameters, and
/// matrices and vectors of floats, count as parameters beside activations,
/// which have a batch dimension more.
static bool isParameterLike(func::FuncOp function, unsigned index) {
  FlatSymbolRefAttr symbol = getArgState(function, index);
  StateOp state = symbol ? lookupState(function, symbol) : StateOp();
  if (state && state.getParameter())
    return true;
  auto shaped = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  return shaped.getRank() <= 2 && isa<FloatType>(shaped.getElementType());
}

LogicalResult Propagation::buildFunctionSignature(Operation *op) {
  auto function = cast<func::FuncOp>(op);
  if (!function.isExternal() && !function.getBody().hasOneBlock())
    return function.emitOpError("cannot be sharded: expected one block, got "
                                "control flow between several");
  auto name = [&](DictionaryAttr attrs, StringRef kind, unsigned index) {
    if (auto state = attrs ? attrs.getAs<FlatSymbolRefAttr>(
                                 TPDialect::getStateAttrName())
                           : FlatSymbolRefAttr())
      return state.getValue().str();
    auto given = attrs ? attrs.getAs<StringAttr>(TPDialect::getNameAttrName())
                       : StringAttr();
    return given ? given.str() : (kind + " " + Twine(index)).str();
  };
  // Values that do not move: states, and gradients as their parameters.
  auto isFixed = [](Type type, FlatSymbolRefAttr state, DictionaryAttr attrs) {
    return isa<FloatType>(getElementTypeOrSelf(type)) &&
           (state ||
            (attrs && attrs.contains(TPDialect::getGradientAttrName())));
  };
  SmallVector<int> &results = functionResults[op];
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Type type = function.getResultTypes()[i];
    results.push_back(isa<RankedTensorType>(type) ? addState(type) : -1);
    ShardingAttr sharding = getResultSharding(function, i);
    if (sharding && results.back() >= 0 &&
        failed(seed(op, results.back(), sharding,
                    isFixed(type, getResultState(function, i),
                            function.getResultAttrDict(i))
                        ? 0
                        : 1,
                    name(function.getResultAttrDict(i), "result", i),
                    bool(getResultState(function, i)))))
      return failure();
  }
  if (function.isExternal())
    return success();
  for (BlockArgument arg : function.getArguments()) {
    int state = getState(arg);
    if (state < 0)
      continue;
    unsigned i = arg.getArgNumber();
    if (ShardingAttr sharding = getSharding(arg))
      if (failed(seed(op, state, sharding,
                      isParameterLike(function, i) ||
                              isFixed(arg.getType(), getArgState(function, i),
                                      DictionaryAttr())
                          ? 0
                          : 1,
                      name(function.getArgAttrDict(i), "argument", i),
                      bool(getArgState(function, i)))))
        return failure();
  }
  collectStates(function);
  return success();
}

void Propagation::collectStates(Operation *op) {
  auto function = cast<func::FuncOp>(op);
  llvm::MapVector<Attribute, StateUse> uses;
  auto getUse = [&](FlatSymbolRefAttr symbol) -> StateUse & {
    StateUse &use = uses[symbol];
    use.symbol = symbol;
    use.function = op;
    return use;
  };
  for (BlockArgument arg : function.getArguments())
    if (FlatSymbolRefAttr symbol = getArgState(op, arg.getArgNumber()))
      getUse(symbol).argument = getState(arg);
  for (auto [i, state] : llvm::enumerate(functionResults[op]))
    if (FlatSymbolRefAttr symbol = getResultState(op, i))
      getUse(symbol).result = state;
  for (auto &[symbol, use] : uses)
    stateUses.push_back(use);
}

LogicalResult Propagation::build(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(buildFunctionSignature(function)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(buildBlock(function.getBody().front())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Annotations on results
//===----------------------------------------------------------------------===//

/// A value that costs nothing to make anew: empty, filled, a splat.
static bool isFree(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill->getNumResults() == 1 &&
           fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

void tp::duplicateFreeValues(ModuleOp module) {
  // Fills before the empty tensors that they fill.
  SmallVector<Operation *> candidates;
  module.walk([&](Operation *op) {
    if (isFree(op) && isa<RankedTensorType>(op->getResult(0).getType()))
      candidates.push_back(op);
  });
  for (Operation *op : llvm::reverse(candidates)) {
    OpBuilder builder(op);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : ArrayRef(uses).drop_front(uses.empty() ? 0 : 1)) {
      Operation *copy = builder.clone(*op);
      use->set(copy->getResult(0));
      // The tensor that a copied fill fills is its own too.
      if (isa<linalg::FillOp>(copy)) {
        OpOperand &out = copy->getOpOperand(1);
        OpBuilder before(copy);
        out.set(before.clone(*out.get().getDefiningOp())->getResult(0));
      }
    }
  }
}

/// A state of layers that stays as it is while they are visited: one that is
/// partial, and one that the function replaces, slice by slice in its place.
static bool isFixedStack(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  ShardingAttr sharding = argument ? getSharding(argument) : ShardingAttr();
  if (!sharding || !sharding.getDims().front().getAxes().empty())
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  FlatSymbolRefAttr symbol =
      function ? getArgState(function, argument.getArgNumber())
               : FlatSymbolRefAttr();
  if (!symbol)
    return false;
  if (!sharding.getPartial().empty())
    return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (getResultState(function, i) == symbol)
      return true;
  return false;
}

/// True if tp.repeat keeps the value for others, who may want it otherwise than
/// those in the layer: it stays as it was made.
static bool isStacked(OpOperand &use) {
  auto yield = dyn_cast<YieldOp>(use.getOwner());
  return yield && use.getOperandNumber() >=
                      cast<RepeatOp>(yield->getParentOp()).getInits().size();
}

void tp::outlineAnnotations(ModuleOp module, FlatSymbolRefAttr mesh) {
  StringRef name = TPDialect::getShardingsAttrName();
  SmallVector<Operation *> annotated;
  SmallVector<RepeatOp> repeats;
  module.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      if (!repeat.getStacked().empty())
        repeats.push_back(repeat);
    } else if (op->hasAttr(name) &&
               !isa<ParameterOp, ShardingConstraintOp>(op)) {
      annotated.push_back(op);
    }
  });
  for (Operation *op : annotated) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (ShardingAttr sharding = getSharding(result)) {
        auto constraint = ShardingConstraintOp::create(
            builder, op->getLoc(), result.getType(), result, sharding);
        result.replaceUsesWithIf(constraint.getResult(), [&](OpOperand &use) {
          return use.getOwner() != constraint && !isStacked(use);
        });
      }
    op->removeAttr(name);
  }
  for (RepeatOp repeat : repeats) {
    OpBuilder builder(repeat);
    for (OpOperand &operand : repeat.getStackedMutable()) {
      if (operand.get().getDefiningOp<ShardingConstraintOp>() ||
          isFixedStack(operand.get()))
        continue;
      auto type = cast<RankedTensorType>(operand.get().getType());
      SmallVector<DimShardingAttr> dims(
          type.getRank(),
          DimShardingAttr::get(builder.getContext(), {}, 1, /*isOpen=*/true));
      auto sharding = ShardingAttr::get(builder.getContext(), mesh, dims, {},
                                        ReductionKind::Sum);
      operand.set(ShardingConstraintOp::create(builder, repeat.getLoc(), type,
                                               operand.get(), sharding));
    }
  }
}
