//===- Interpreter.cpp - Evaluate programs of tensors op by op ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control: functions, calls, the repeated layer, parameters, and the choice of
// who evaluates an operation. An operation that sees one rank at a time is
// evaluated once for all ranks whose operands are the same memory, so that
// replicated work costs what it costs on one device.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interfaces/ShardingInterface.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Rules/Combiner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tp::interp {

/// Values from above that the regions of `op` use.
static SmallVector<Value> getCapturedValues(Operation *op) {
  SmallVector<Value> captured;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()) &&
          !llvm::is_contained(captured, operand))
        captured.push_back(operand);
  });
  return captured;
}

const DenseMap<Operation *, SmallVector<Value, 2>> &
Engine::getLastUses(Block &block) {
  auto found = lastUses.find(&block);
  if (found != lastUses.end())
    return found->second;
  DenseMap<Operation *, SmallVector<Value, 2>> result;
  auto add = [&](Value value) {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
    if (!last)
      last = value.getDefiningOp();
    if (last && !last->hasTrait<OpTrait::IsTerminator>())
      result[last].push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    add(argument);
  for (Operation &op : block)
    for (Value value : op.getResults())
      add(value);
  return lastUses[&block] = std::move(result);
}

FailureOr<SmallVector<RankTensors>> Engine::runBlock(Block &block,
                                                     Frame &frame) {
  // Looked up once: nested blocks may move the map's entries.
  DenseMap<Operation *, SmallVector<Value, 2>> dying = getLastUses(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(runOp(&op, frame)))
      return failure();
    if (options.observer && !inDecomposition && depth == 1) {
      SmallVector<RankTensors> results;
      for (Value result : op.getResults())
        results.push_back(frame[result]);
      if (failed(options.observer(&op, op.getResults(), results, iterations)))
        return failure();
      for (auto [result, tensors] : llvm::zip(op.getResults(), results))
        frame[result] = std::move(tensors);
    }
    for (Value value : dying.lookup(&op))
      frame.erase(value);
  }
  SmallVector<RankTensors> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(frame[value]);
  return results;
}

FailureOr<SmallVector<RankTensors>>
Engine::runFunction(func::FuncOp function, ArrayRef<RankTensors> arguments) {
  if (function.isExternal())
    return function.emitError()
           << "the interpreter needs the body of " << function.getSymNameAttr();
  if (!function.getBody().hasOneBlock())
    return function.emitError()
           << "the interpreter runs functions of one block, got several";
  if (depth > 64)
    return function.emitError() << "calls are nested deeper than 64";
  if (arguments.size() != function.getNumArguments())
    return function.emitError() << "expected " << function.getNumArguments()
                                << " arguments, got " << arguments.size();
  Frame frame;
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    if (int64_t(arguments[index].size()) != options.numRanks)
      return function.emitError()
             << "expected argument " << index << " for " << options.numRanks
             << " ranks, got " << arguments[index].size();
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      for (const Tensor &tensor : arguments[index])
        if (tensor.getShape() != type.getShape() ||
            tensor.getElementType() != getElementType(type))
          return function.emitError()
                 << "expected argument " << index << " to be of "
                 << argument.getType() << ", got another shape or type";
    frame[argument] = arguments[index];
  }
  if (options.observer && !inDecomposition && depth == 0) {
    SmallVector<RankTensors> given(arguments);
    if (failed(options.observer(function, function.getArguments(), given,
                                iterations)))
      return failure();
  }
  ++depth;
  FailureOr<SmallVector<RankTensors>> results =
      runBlock(function.getBody().front(), frame);
  --depth;
  return results;
}

LogicalResult checkNumElements(Operation *op, Type type, int64_t most) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || llvm::is_contained(tensor.getShape(), 0))
    return success();
  int64_t room = most;
  for (int64_t size : tensor.getShape())
    room /= size;
  if (room > 0)
    return success();
  return op->emitError() << "expected a tensor of at most " << most
                         << " elements, got " << type;
}

LogicalResult Engine::checkSizes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped)
      continue;
    if (!shaped.hasStaticShape())
      return op->emitError()
             << "the interpreter needs static shapes, got " << type;
    if (!getElementType(type))
      return op->emitError()
             << "the interpreter has no element type of " << type;
    if (failed(checkNumElements(op, type, options.maxElements)))
      return failure();
  }
  return success();
}

/// The result is the operand. Copied first: a new entry may move the others.
static void forward(Operation *op, DenseMap<Value, RankTensors> &frame) {
  RankTensors value = frame[op->getOperand(0)];
  frame[op->getResult(0)] = std::move(value);
}

FailureOr<SmallVector<RankTensors>>
Engine::runOnRanks(Operation *op, ArrayRef<RankTensors> operands,
                   Frame &frame) {
  SmallVector<RankTensors> captured;
  if (op->getNumRegions())
    for (Value value : getCapturedValues(op))
      captured.push_back(frame[value]);
  SmallVector<RankTensors> results(op->getNumResults(),
                                   RankTensors(options.numRanks));
  for (int64_t rank = 0; rank < options.numRanks; ++rank) {
    auto sameAs = [&](int64_t other) {
      auto shares = [&](const RankTensors &value) {
        return value[rank].sharesWith(value[other]) &&
               value[rank].getShape() == value[other].getShape();
      };
      return llvm::all_of(operands, shares) && llvm::all_of(captured, shares);
    };
    int64_t same = 0;
    while (same < rank && !sameAs(same))
      ++same;
    if (same < rank) {
      for (RankTensors &result : results)
        result[rank] = result[same];
      continue;
    }
    Results local, fromAbove;
    for (const RankTensors &value : operands)
      local.push_back(value[rank]);
    for (const RankTensors &value : captured)
      fromAbove.push_back(value[rank]);
    FailureOr<Results> values = runLocal(op, local, fromAbove);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip(results, *values))
      result[rank] = value;
  }
  return results;
}

LogicalResult Engine::runOp(Operation *op, Frame &frame) {
  if (failed(checkSizes(op)))
    return failure();
  if (options.substitute && !inDecomposition && depth == 1)
    if (auto values = options.substitute(op)) {
      for (auto [result, value] : llvm::zip(op->getResults(), *values))
        frame[result] = std::move(value);
      return success();
    }
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return runRepeat(repeat, frame);
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return runParameter(parameter, frame);
  if (isa<ShardingConstraintOp>(op)) {
    forward(op, frame);
    return success();
  }
  if (isa<ReshardOp>(op)) {
    if (options.numRanks != 1)
      return op->emitError() << "expected collectives in a per-rank program, "
                                "got a reshard that was not carried out";
    forward(op, frame);
    return success();
  }
  if (op->getName().getDialectNamespace() == "tp" && !isa<JoinOp>(op))
    return runRanked(op, frame);

  SmallVector<RankTensors> operands;
  for (Value operand : op->getOperands())
    operands.push_back(frame[operand]);
  FailureOr<SmallVector<RankTensors>> results = [&] {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          op, call.getCalleeAttr());
      assert(callee && "the call's verifier found the function");
      return runFunction(callee, operands);
    }
    return isa<DecomposeOpInterface>(op) ? runDecomposition(op, operands)
                                         : runOnRanks(op, operands, frame);
  }();
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip(op->getResults(), *results))
    frame[value] = std::move(result);
  return success();
}

LogicalResult Engine::runRepeat(RepeatOp op, Frame &frame) {
  Block &body = *op.getBodyBlock();
  int64_t count = op.getCount();
  SmallVector<RankTensors> carried;
  for (Value init : op.getInits())
    carried.push_back(frame[init]);
  SmallVector<RankTensors> stackedResults;
  for (Value result : op.getStackedResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    RankTensors tensors;
    for (int64_t rank = 0; rank < options.numRanks; ++rank)
      tensors.push_back(Tensor(type.getShape(), *getElementType(type)));
    stackedResults.push_back(std::move(tensors));
  }
  for (int64_t done = 0; done < count; ++done) {
    int64_t i = op.getReverse() ? count - 1 - done : done;
    int64_t index = op.getFirstIndex() + i;
    frame[op.getIndex()] =
        RankTensors(options.numRanks, Tensor::scalarInt(index));
    for (auto [argument, value] : llvm::zip(op.getCarriedArgs(), carried))
      frame[argument] = value;
    for (auto [argument, operand] :
         llvm::zip(op.getStackedArgs(), op.getStacked())) {
      RankTensors slices;
      for (const Tensor &tensor : frame[operand]) {
        SmallVector<int64_t> sizes(tensor.getShape()), from(sizes.size(), 0);
        sizes[0] = 1;
        from[0] = i;
        Tensor slice(sizes, tensor.getElementType());
        slice.copyBox(tensor, from, SmallVector<int64_t>(sizes.size(), 0),
                      sizes);
        slices.push_back(slice.reshaped(ArrayRef(sizes).drop_front()));
      }
      frame[argument] = std::move(slices);
    }
    iterations.push_back(index);
    if (options.observer && !inDecomposition && depth == 1) {
      SmallVector<RankTensors> given(carried);
      if (failed(options.observer(op, op.getCarriedArgs(), given, iterations)))
        return failure();
    }
    FailureOr<SmallVector<RankTensors>> yielded = runBlock(body, frame);
    iterations.pop_back();
    if (failed(yielded))
      return failure();
    carried.assign(yielded->begin(), yielded->begin() + carried.size());
    for (auto [stack, slices] : llvm::zip(
             stackedResults, ArrayRef(*yielded).drop_front(carried.size())))
      for (auto [tensor, slice] : llvm::zip(stack, slices)) {
        SmallVector<int64_t> sizes(slice.getShape());
        sizes.insert(sizes.begin(), 1);
        SmallVector<int64_t> zero(sizes.size(), 0), to = zero;
        to[0] = i;
        tensor.copyBox(slice.reshaped(sizes), zero, to, sizes);
      }
  }
  for (auto [value, tensors] : llvm::zip(op.getCarriedResults(), carried))
    frame[value] = tensors;
  for (auto [value, tensors] :
       llvm::zip(op.getStackedResults(), stackedResults))
    frame[value] = tensors;
  return success();
}

LogicalResult Engine::runParameter(ParameterOp op, Frame &frame) {
  if (!options.parameters)
    return op.emitError()
           << "the interpreter was given no values for parameters";
  RankedTensorType type = getUnpackedType(op);
  ParameterRequest request;
  // The innermost loop around the operation is the one that runs.
  int64_t index = iterations.empty() ? 0 : iterations.back();
  request.name = instantiate(op.getName(), index);
  if (std::optional<ArrayAttr> names = op.getAlternatives())
    for (auto name : names->getAsRange<StringAttr>())
      request.alternatives.push_back(instantiate(name, index));
  request.source = op.getSourceAttr();
  request.storage = op.getStorageAttr();
  request.end = getIntegerEnd(op);
  request.shape.assign(type.getShape().begin(), type.getShape().end());
  request.type = *getElementType(type);
  FailureOr<Tensor> tensor =
      options.parameters->get(request, [&] { return op.emitError(); });
  if (failed(tensor))
    return failure();
  ShardingAttr sharding = getSharding(op.getResult());
  // Once a quantised weight is stored, the program reads its bytes, and those
  // of scales that are powers of two.
  auto stored = op->getAttrOfType<TypeAttr>(storedTypeAttrName);
  bool isBytes = stored || getElementType(op.getType()) != request.type;
  auto store = [&](const Tensor &part) {
    return isBytes ? packBytes(part) : part;
  };
  if (options.numRanks == 1 || !sharding) {
    frame[op.getResult()] = RankTensors(options.numRanks, store(*tensor));
    return success();
  }
  FailureOr<Mesh> mesh = getMesh(op, sharding.getMesh());
  if (failed(mesh))
    return failure();
  TensorSharding layout = sharding.toSharding(*mesh);
  auto local =
      cast<RankedTensorType>(stored ? stored.getValue() : op.getType());
  if (getLocalShape(request.shape, layout) != local.getShape()) {
    InFlightDiagnostic diag = op.emitError()
                              << "expected the local type of " << type
                              << " with the sharding given, got " << local;
    diag.attachNote(lookupMesh(op, sharding.getMesh()).getLoc())
        << "the mesh is here";
    return diag;
  }
  // Once scheduled, an addend that one rank of a group has is a parameter.
  if (auto axes = op->getAttrOfType<AxisListAttr>("tp.partial")) {
    FailureOr<AxisList> partial =
        resolveAxes(axes, *mesh, [&] { return op.emitError(); });
    if (failed(partial))
      return failure();
    layout.partial = *partial;
  }
  RankTensors parts = distribute(*tensor, layout, *mesh);
  for (Tensor &part : parts)
    part = store(part);
  frame[op.getResult()] = std::move(parts);
  return success();
}

/// A scratch function whose body is the decomposition of `op`, with one
/// argument per operand.
static FailureOr<func::FuncOp> buildDecomposition(Operation *op,
                                                  ModuleOp scratch) {
  OpBuilder builder = OpBuilder::atBlockEnd(scratch.getBody());
  auto type =
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
  auto function = func::FuncOp::create(builder, op->getLoc(), "d", type);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(op->getOperands(), block->getArguments());
  Operation *clone = builder.clone(*op, mapping);
  clone->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  func::ReturnOp::create(builder, op->getLoc(), clone->getResults());
  // Decompositions may use operations that decompose further.
  while (true) {
    DecomposeOpInterface next;
    for (Operation &inner : *block)
      if ((next = dyn_cast<DecomposeOpInterface>(&inner)))
        break;
    if (!next)
      return function;
    OpBuilder before(next);
    FailureOr<SmallVector<Value>> values = next.decompose(before);
    if (failed(values))
      return next->emitError() << "the operation does not decompose";
    next->replaceAllUsesWith(*values);
    next->erase();
  }
}

FailureOr<SmallVector<RankTensors>>
Engine::runDecomposition(Operation *op, ArrayRef<RankTensors> operands) {
  func::FuncOp function = decompositions.lookup(op);
  if (!function) {
    if (!scratch)
      scratch = ModuleOp::create(op->getLoc());
    FailureOr<func::FuncOp> built = buildDecomposition(op, *scratch);
    if (failed(built))
      return failure();
    decompositions[op] = function = *built;
  }
  bool outer = std::exchange(inDecomposition, true);
  std::optional<ElementType> before = decompositionReader;
  for (Value result : op->getResults())
    if (std::optional<ElementType> reader = findReader(result))
      decompositionReader = reader;
  FailureOr<SmallVector<RankTensors>> results = runFunction(function, operands);
  inDecomposition = outer;
  decompositionReader = before;
  return results;
}

/// For each output of `op`: whether it is a sum that is kept in double.
SmallVector<bool> Engine::getWideOutputs(linalg::LinalgOp op) {
  SmallVector<bool> wide;
  for (auto [number, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    bool isReduced = false;
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      isReduced |=
          kind == utils::IteratorType::reduction && !map.isFunctionOfDim(dim);
    Type element = getElementTypeOrSelf(init.get().getType());
    bool mayBeWide = element.isF32() || (options.disturbance.wideAccumulators &&
                                         (element.isF16() || element.isBF16()));
    std::optional<Combiner> combiner;
    if (isReduced && mayBeWide)
      combiner = matchCombiner(op, number);
    wide.push_back(combiner && combiner->kind == CombinerKind::Sum);
  }
  return wide;
}

/// Operations that a sum may go through before it is finished.
static bool isLinearReader(Operation *op) {
  auto isLinear = [](Operation &inner) {
    return isa<arith::TruncFOp, arith::ExtFOp, arith::AddFOp, arith::SubFOp,
               arith::NegFOp, arith::MulFOp, arith::ConstantOp>(inner) ||
           inner.hasTrait<OpTrait::IsTerminator>();
  };
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return llvm::all_of(*structured.getBlock(), isLinear);
  return isLinear(*op) || isa<ShardingConstraintOp, tensor::CollapseShapeOp,
                              tensor::ExpandShapeOp>(op);
}

/// The values that a sum becomes next by this use, not finished yet: a linear
/// result, or in an iteration and behind it the value before.
static SmallVector<Value> getUnfinished(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto repeat = dyn_cast<RepeatOp>(user))
    return {repeat.getBody().getArgument(number + 1)};
  if (auto repeat = dyn_cast<RepeatOp>(user->getParentOp());
      repeat && user->hasTrait<OpTrait::IsTerminator>()) {
    SmallVector<Value> next{repeat->getResult(number)};
    if (number < repeat.getInits().size())
      next.push_back(repeat.getBody().getArgument(number + 1));
    return next;
  }
  return isLinearReader(user) ? SmallVector<Value>(user->getResults())
                              : SmallVector<Value>();
}

std::optional<ElementType> Engine::findReader(Value value, unsigned depth) {
  static constexpr unsigned maxDepth = 4;
  if (depth == maxDepth || !options.disturbance.narrowAddends)
    return std::nullopt;
  for (OpOperand &use : value.getUses())
    for (Value next : getUnfinished(use)) {
      Type type = getElementTypeOrSelf(next.getType());
      if (type.isF16() || type.isBF16())
        return getElementType(type);
      if (isa<FloatType>(type))
        if (auto reader = findReader(next, depth + 1))
          return reader;
    }
  return std::nullopt;
}

FailureOr<Kernel *> Engine::getKernel(Operation *op) {
  std::unique_ptr<Kernel> &slot = kernels[op];
  if (slot)
    return slot.get();
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  FailureOr<std::unique_ptr<Kernel>> kernel = failure();
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    kernel = Kernel::compileIndexed(pad.getRegion().front());
  } else if (structured) {
    kernel =
        Kernel::compile(*structured.getBlock(), structured.getNumDpsInputs(),
                        getWideOutputs(structured));
  } else {
    kernel = Kernel::compileElementwise(op);
  }
  if (failed(kernel))
    return failure();
  slot = std::move(*kernel);
  return slot.get();
}

void Engine::finish(const LoopNest &nest, const Results &results) {
  if (!options.statistics)
    return;
  double work = 1;
  int64_t length = 1;
  for (auto [range, reduced] : llvm::zip(nest.ranges, nest.isReduction)) {
    work *= double(range);
    length *= reduced ? range : 1;
  }
  InterpreterStatistics &statistics = *options.statistics;
  statistics.work += work;
  statistics.longestReduction = std::max(statistics.longestReduction, length);
  for (const Tensor &result : results)
    statistics.coarsestEpsilon = std::max(statistics.coarsestEpsilon,
                                          getEpsilon(result.getElementType()));
}

FailureOr<Results> Engine::runElementwise(Operation *op,
                                          ArrayRef<Tensor> operands) {
  FailureOr<Kernel *> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  LoopNest nest;
  MLIRContext *context = op->getContext();
  ArrayRef<int64_t> shape;
  for (const Tensor &operand : operands)
    if (operand.getRank() > int64_t(shape.size()))
      shape = operand.getShape();
  nest.ranges.assign(shape.begin(), shape.end());
  nest.isReduction.assign(shape.size(), false);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  AffineMap scalar = AffineMap::get(shape.size(), 0, context);
  for (const Tensor &operand : operands)
    nest.inputs.push_back({operand, operand.getRank() == int64_t(shape.size())
                                        ? identity
                                        : scalar});
  for (Value result : op->getResults()) {
    // The kernel has a register of this type.
    nest.outputs.push_back(
        {Tensor(shape, *getElementType(result.getType())), identity});
  }
  std::string error;
  std::optional<Results> results =
      nest.run(**kernel, {}, getDisturber(), error);
  if (!results)
    return op->emitError() << error;
  finish(nest, *results);
  return *results;
}

/// True if the body is output + a * b, the factors possibly widened first.
static bool isContractionBody(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  Block &body = *op.getBlock();
  if (body.getNumArguments() != 3)
    return false;
  Type type = body.getArgument(2).getType();
  if (!type.isF32() && !type.isF64())
    return false;
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value product =
      add.getLhs() == body.getArgument(2) ? add.getRhs() : add.getLhs();
  if (add.getLhs() != body.getArgument(2) &&
      add.getRhs() != body.getArgument(2))
    return false;
  auto multiply = product.getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return false;
  auto getSource = [](Value value) {
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      return extend.getIn();
    return value;
  };
  Value a = getSource(multiply.getLhs()), b = getSource(multiply.getRhs());
  return (a == body.getArgument(0) && b == body.getArgument(1)) ||
         (a == body.getArgument(1) && b == body.getArgument(0));
}

/// The values that `op` captures in the order of its kernel.
static Results orderCaptured(Operation *op, const Kernel &kernel,
                             ArrayRef<Tensor> captured) {
  SmallVector<Value> above = getCapturedValues(op);
  Results ordered;
  for (Value value : kernel.getCaptured())
    ordered.push_back(captured[llvm::find(above, value) - above.begin()]);
  return ordered;
}

FailureOr<Results> Engine::runLinalg(linalg::LinalgOp op,
                                     ArrayRef<Tensor> operands,
                                     ArrayRef<Tensor> captured) {
  if (!op.hasPureTensorSemantics())
    return op->emitError() << "the interpreter runs programs of tensors, got "
                              "an operation on buffers";
  LoopNest nest;
  llvm::append_range(nest.ranges, op.getStaticLoopRanges());
  assert(llvm::none_of(nest.ranges, ShapedType::isDynamic) &&
         "a dynamic tensor is refused where it comes to be");
  for (utils::IteratorType kind : op.getIteratorTypesArray())
    nest.isReduction.push_back(kind != utils::IteratorType::parallel);
  for (auto [index, operand] : llvm::enumerate(op->getOpOperands())) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op.isDpsInput(&operand))
      nest.inputs.push_back({operands[index], map});
    else
      nest.outputs.push_back({operands[index], map});
  }
  if (Disturber *disturber = getDisturber()) {
    std::optional<ElementType> reader = decompositionReader;
    for (Value result : op->getResults())
      if (!reader)
        reader = findReader(result);
    disturber->setReader(reader);
  }
  if (isContractionBody(op))
    if (std::optional<Tensor> result = runContraction(nest, getDisturber())) {
      Results results{*result};
      finish(nest, results);
      return results;
    }
  FailureOr<Kernel *> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  std::string error;
  std::optional<Results> results = nest.run(
      **kernel, orderCaptured(op, **kernel, captured), getDisturber(), error);
  if (!results)
    return op->emitError() << error;
  finish(nest, *results);
  return *results;
}

/// The values of a pad's region at every position, then the operand over them.
FailureOr<Results> Engine::runPad(tensor::PadOp op, ArrayRef<Tensor> operands,
                                  ArrayRef<Tensor> captured) {
  FailureOr<Kernel *> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  ArrayRef<int64_t> shape = op.getType().getShape();
  LoopNest nest;
  nest.ranges.assign(shape.begin(), shape.end());
  nest.isReduction.assign(shape.size(), false);
  nest.outputs.push_back(
      {Tensor(shape, operands[0].getElementType()),
       AffineMap::getMultiDimIdentityMap(shape.size(), op.getContext())});
  std::string error;
  std::optional<Results> results =
      nest.run(**kernel, orderCaptured(op, **kernel, captured),
               /*disturber=*/nullptr, error);
  if (!results)
    return op->emitError() << error;
  if (failed(placePadded(op, operands, results->front())))
    return failure();
  return *results;
}

FailureOr<Results> Engine::runLocal(Operation *op, ArrayRef<Tensor> operands,
                                    ArrayRef<Tensor> captured) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return runLinalg(structured, operands, captured);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return runPad(pad, operands, captured);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    std::optional<Tensor> tensor =
        getConstantTensor(constant.getValue(), constant.getType());
    if (!tensor)
      return op->emitError()
             << "the interpreter has no constant of this form and type "
             << constant.getType();
    return Results{*tensor};
  }
  if (std::optional<FailureOr<Results>> results =
          runTensorOp(op, operands, captured))
    return *results;
  if (Kernel::isSupported(op) ||
      isa<arith::MulUIExtendedOp, arith::MulSIExtendedOp>(op))
    return runElementwise(op, operands);
  return op->emitError() << "the interpreter has no operation '"
                         << op->getName() << "'";
}

FailureOr<SmallVector<RankTensors>>
interpret(func::FuncOp function, ArrayRef<RankTensors> arguments,
          const InterpreterOptions &options) {
  // Decompositions make operations of these, whatever the module has.
  function.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, math::MathDialect,
                    tensor::TensorDialect>();
  return Engine(options).runFunction(function, arguments);
}

FailureOr<SmallVector<Tensor>>
interpretOneRank(func::FuncOp function, ArrayRef<Tensor> arguments,
                 const InterpreterOptions &options) {
  SmallVector<RankTensors> ranked;
  for (const Tensor &argument : arguments)
    ranked.push_back({argument});
  FailureOr<SmallVector<RankTensors>> results =
      interpret(function, ranked, options);
  if (failed(results))
    return failure();
  SmallVector<Tensor> tensors;
  for (const RankTensors &result : *results)
    tensors.push_back(result[0]);
  return tensors;
}

} // namespace tp::interp
