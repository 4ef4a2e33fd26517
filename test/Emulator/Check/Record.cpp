//===- Record.cpp - What kernels are called with --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter's observer sees every value of the program. A kernel's own
// function is then run alone on the operands: for its results, and several
// times with disturbed rounding for their tolerance.
//
//===----------------------------------------------------------------------===//

#include "Record.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Interpreter/Parameters.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Epilogue.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::emulator;
using namespace tp::interp;

/// Approximate instructions make zeros of what is smaller.
static constexpr double leastNormal = 0x1p-126;
/// The error that approximate instructions may add, in parts of the largest
/// element.
static constexpr double approximation = 2e-6;

static double getLargest(const Tensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (double value = std::abs(tensor.getFloat(i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

/// Widens the tolerance by what the disturbance did.
static void addNoise(ExpectedResult &result, const Tensor &disturbed) {
  const Tensor &tensor = result.tensor;
  double noise = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double a = tensor.getNumber(i), b = disturbed.getNumber(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (same)
      continue;
    if (!tensor.getElementType().isFloat() || !std::isfinite(a - b)) {
      result.tolerance = -1;
      return;
    }
    noise = std::max(noise, std::abs(a - b));
  }
  if (result.tolerance >= 0)
    result.tolerance += 3 * noise;
}

FailureOr<SmallVector<ExpectedResult>>
tp::emulator::evaluate(func::FuncOp function, ArrayRef<Tensor> operands) {
  InterpreterStatistics statistics;
  InterpreterOptions options;
  options.statistics = &statistics;
  auto tensors = interpretOneRank(function, operands, options);
  if (failed(tensors))
    return failure();
  SmallVector<ExpectedResult> results;
  for (const Tensor &tensor : *tensors) {
    double tolerance = 0;
    if (tensor.getElementType().isFloat())
      tolerance =
          leastNormal +
          getLargest(tensor) *
              (approximation + getEpsilon(tensor.getElementType()) +
               0x1p-23 * std::sqrt(double(statistics.longestReduction)));
    results.push_back({tensor, tolerance});
  }
  options.statistics = nullptr;
  // The fewer elements, the more likely that one disturbance cancels out.
  int64_t numElements = 0;
  for (const Tensor &tensor : *tensors)
    numElements = std::max(numElements, tensor.getNumElements());
  unsigned numDisturbances = numElements < 4096 ? 8 : 2;
  for (unsigned i = 1; i <= numDisturbances; ++i) {
    options.disturbance = {Disturbance::Random, i, /*units=*/1,
                           /*wideAccumulators=*/i % 2 == 0};
    auto disturbed = interpretOneRank(function, operands, options);
    if (failed(disturbed))
      return failure();
    for (auto [result, tensor] : llvm::zip(results, *disturbed))
      addNoise(result, tensor);
  }
  return results;
}

SmallVector<int64_t> tp::emulator::cutKeys(nn::AttentionOp op, unsigned operand,
                                           int64_t keyLength) {
  Value value = op->getOperand(operand);
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(value.getType()).getShape());
  if (value == op.getBias())
    shape[2] = keyLength;
  else if (operand > 0 && value != op.getSinks())
    shape[1] = keyLength;
  return shape;
}

func::FuncOp tp::emulator::makeAttentionFunction(ModuleOp module,
                                                 nn::AttentionOp op,
                                                 int64_t keyLength) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    types.push_back(cast<RankedTensorType>(operand.getType())
                        .clone(cutKeys(op, i, keyLength)));
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  Type lse =
      RankedTensorType::get(query.getShape().drop_back(), builder.getF32Type());
  SmallVector<Type> resultTypes{op.getResult().getType(), lse};
  auto function =
      func::FuncOp::create(builder, op.getLoc(), "attention.reference",
                           builder.getFunctionType(types, resultTypes));
  function.setPrivate();
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  OperationState state(op.getLoc(), op->getName(), block->getArguments(),
                       resultTypes, op->getAttrs());
  Operation *attention = builder.create(state);
  func::ReturnOp::create(builder, op.getLoc(), attention->getResults());
  return function;
}

/// A private function of `module` that is `op` alone.
static func::FuncOp makeFunction(ModuleOp module, Operation *op) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, op->getLoc(), "library.reference",
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  function.setPrivate();
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  OperationState state(op->getLoc(), op->getName(), block->getArguments(),
                       op->getResultTypes(), op->getAttrs());
  Operation *copy = builder.create(state);
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  return function;
}

/// The operation of a product's function that the target has kernels for.
static LibraryOpInterface findOwnKernels(func::FuncOp function) {
  for (auto op : function.getOps<LibraryOpInterface>())
    if (op->hasAttr(kernelAttrName))
      return op;
  return {};
}

namespace {
/// Values for what a kernel never sees: products and the weights in them.
class StandIns {
public:
  StandIns(ModuleOp module, int64_t numRanks, uint64_t seed)
      : module(module), numRanks(numRanks), seed(seed) {}

  std::optional<SmallVector<RankTensors>> get(Operation *op) {
    if (isProduct(op)) {
      SmallVector<RankTensors> products;
      for (OpResult result : op->getResults())
        products.emplace_back(
            numRanks,
            makeRandom(result,
                       "product" + std::to_string(result.getResultNumber())));
      return products;
    }
    auto parameter = dyn_cast<ParameterOp>(op);
    if (!parameter)
      return std::nullopt;
    if (llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return isProduct(user); }))
      return SmallVector<RankTensors>(1, RankTensors(numRanks, Tensor()));
    if (cast<RankedTensorType>(parameter.getType()).getNumElements() <= most)
      return std::nullopt;
    return SmallVector<RankTensors>(
        1, RankTensors(numRanks,
                       makeRandom(op->getResult(0), parameter.getName())));
  }

private:
  /// Different random elements of a tensor. A prime: rows of any width that
  /// are some power of two apart differ.
  static constexpr int64_t most = 1048573;

  bool isProduct(Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return false;
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    auto kind = function->getAttrOfType<StringAttr>(kernelAttrName);
    return kind && kind.getValue() == "gemm" && !findOwnKernels(function);
  }

  /// Uniform with variance 1, the same on all ranks.
  Tensor makeRandom(Value value, StringRef name) {
    auto type = cast<RankedTensorType>(value.getType());
    Tensor tensor(type.getShape(), *getElementType(type));
    double width = 2 * std::sqrt(3.0);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if (i < most)
        tensor.setFloat(i, width * (uniform(seed, name, i) - 0.5));
      else
        tensor.copyElement(i, tensor, i - most);
    return tensor;
  }

  ModuleOp module;
  int64_t numRanks;
  uint64_t seed;
};

class Recorder {
public:
  Recorder(ModuleOp module, int64_t numRanks)
      : module(module), numRanks(numRanks) {}

  LogicalResult observe(Operation *op, ValueRange results,
                        ArrayRef<RankTensors> tensors,
                        ArrayRef<int64_t> iterations) {
    for (auto [value, held] : llvm::zip(results, tensors))
      values[value] = held;
    if (auto repeat = dyn_cast<RepeatOp>(op))
      if (iterations.size() > depthOf(op))
        return enterIteration(repeat, iterations.back());
    // The second iteration's slices lie where the size of one puts them.
    bool isFirst = true, isSecond = true, isLast = true;
    size_t level = iterations.size();
    for (auto repeat = op->getParentOfType<RepeatOp>(); repeat;
         repeat = repeat->getParentOfType<RepeatOp>()) {
      int64_t at = iterations[--level] - repeat.getFirstIndex();
      isFirst &= at == 0;
      isSecond &= at == 1;
      isLast &= at == int64_t(repeat.getCount()) - 1;
    }
    if (!isFirst && !isSecond && !isLast)
      return success();
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
      auto kind = kernel->getAttrOfType<StringAttr>(kernelAttrName);
      if (kind && kind.getValue() == "rows")
        return record(op, call.getCallee(), kernel, {}, iterations);
      if (LibraryOpInterface product = findOwnKernels(kernel))
        return record(op, getKernels(product).front(), kernel, product,
                      iterations);
    } else if (auto library = dyn_cast<LibraryOpInterface>(op)) {
      auto kernel = op->getAttrOfType<FlatSymbolRefAttr>(kernelAttrName);
      if (!kernel)
        return op->emitOpError("names no kernel");
      func::FuncOp function = makeFunction(module, op);
      LogicalResult result =
          record(op, kernel.getValue(), function, library, iterations);
      function.erase();
      return result;
    }
    return success();
  }

  std::vector<KernelCall> calls;

private:
  /// The number of tp.repeat around `op`.
  static size_t depthOf(Operation *op) {
    size_t depth = 0;
    for (auto repeat = op->getParentOfType<RepeatOp>(); repeat;
         repeat = repeat->getParentOfType<RepeatOp>())
      ++depth;
    return depth;
  }

  LogicalResult enterIteration(RepeatOp repeat, int64_t index) {
    values[repeat.getIndex()] = RankTensors(numRanks, Tensor::scalarInt(index));
    int64_t at = index - repeat.getFirstIndex();
    for (auto [argument, stacked] :
         llvm::zip(repeat.getStackedArgs(), repeat.getStacked())) {
      auto type = cast<RankedTensorType>(argument.getType());
      RankTensors slices;
      for (const Tensor &whole : values[stacked]) {
        Tensor slice(type.getShape(), whole.getElementType());
        for (int64_t i = 0; i < slice.getNumElements(); ++i)
          slice.copyElement(i, whole, at * slice.getNumElements() + i);
        slices.push_back(slice);
      }
      values[argument] = slices;
      stackedOffsets[argument] = at * getTensorBytes(type);
    }
    return success();
  }

  int64_t getOffset(Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return 0;
    ViewedTensor view = getViewedTensor(value);
    return view.byteOffset + stackedOffsets.lookup(view.root);
  }

  /// The state that `value`, of `block`, is the old value or a layer's slice
  /// of.
  static FlatSymbolRefAttr getOldState(Value value) {
    auto argument = dyn_cast<BlockArgument>(getViewedTensor(value).root);
    if (!argument)
      return {};
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent))
      return getArgState(function, argument.getArgNumber());
    auto repeat = cast<RepeatOp>(parent);
    int64_t stacked = int64_t(argument.getArgNumber()) - 1 -
                      int64_t(repeat.getInits().size());
    return stacked < 0 ? FlatSymbolRefAttr()
                       : getOldState(repeat.getStacked()[stacked]);
  }

  /// The state that `value` becomes, or a layer's slice of.
  static FlatSymbolRefAttr getNewState(Value value) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        return getResultState(user->getParentOfType<func::FuncOp>(),
                              use.getOperandNumber());
      if (isa<YieldOp>(user))
        return getNewState(
            user->getParentOp()->getResult(use.getOperandNumber()));
    }
    return {};
  }

  /// By result.
  static SmallVector<int64_t> getReplaced(Operation *op) {
    SmallVector<int64_t> replaced;
    for (Value result : op->getResults()) {
      replaced.push_back(-1);
      FlatSymbolRefAttr state = getNewState(result);
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        if (state && isa<RankedTensorType>(operand.getType()) &&
            getOldState(operand) == state)
          replaced.back() = i;
    }
    return replaced;
  }

  /// Records where and how `library`, which is `op` or in the function that it
  /// calls, has its operands and results.
  static LogicalResult addLibrary(KernelCall &call, Operation *op,
                                  func::FuncOp function,
                                  LibraryOpInterface library) {
    call.library = library;
    for (StringRef name : ArrayRef(getKernels(library)).drop_front())
      call.then.push_back(name.str());
    call.resultValues = llvm::to_vector_of<Value>(library->getResults());
    if (library == op) {
      call.operandValues = llvm::to_vector(library->getOperands());
      return success();
    }
    call.operandValues = llvm::to_vector_of<Value>(function.getArguments());
    EpilogueReader reader(library, {/*scale=*/true, /*residual=*/true, {}});
    for (Operation &next : function.getBody().front().without_terminator())
      if (&next != library && !isa<arith::ConstantOp>(next) &&
          failed(reader.add(&next)))
        return failure();
    call.use.epilogue = reader.epilogue;
    return success();
  }

  LogicalResult record(Operation *op, StringRef kernel, func::FuncOp function,
                       LibraryOpInterface library,
                       ArrayRef<int64_t> iterations) {
    SmallVector<int64_t> ranks{0};
    if (numRanks > 1)
      ranks.push_back(numRanks - 1);
    for (int64_t rank : ranks) {
      KernelCall call;
      call.kernel = kernel.str();
      if (library && failed(addLibrary(call, op, function, library)))
        return failure();
      Operation *owner =
          library ? library.getOperation() : function.getOperation();
      if (auto scratch = owner->getAttrOfType<IntegerAttr>("tp.scratch_bytes"))
        call.scratchBytes = scratch.getInt();
      call.rank = rank;
      for (Value operand : op->getOperands()) {
        auto found = values.find(operand);
        if (found == values.end())
          return op->emitOpError("has an operand that was not recorded");
        call.operands.push_back(found->second[rank]);
        call.isScalar.push_back(!isa<RankedTensorType>(operand.getType()));
        call.operandOffsets.push_back(getOffset(operand));
      }
      for (Value result : op->getResults())
        call.resultOffsets.push_back(
            getResultOffset(op, cast<OpResult>(result),
                            iterations.empty() ? 0 : iterations.back()));
      if (!call.library)
        call.replaced = getReplaced(op);
      auto results = evaluate(function, call.operands);
      if (failed(results))
        return failure();
      // Tensor cores take weights of the operands' type, the reference's are
      // f32.
      if (isa<nn::AttentionBackwardOp, nn::ExpertsBackwardOp>(op))
        for (ExpectedResult &result : *results)
          if (result.tolerance >= 0)
            result.tolerance += 2 * getLargest(result.tensor) *
                                getEpsilon(call.operands[0].getElementType());
      call.results = std::move(*results);
      calls.push_back(std::move(call));
    }
    return success();
  }

  /// Within the arena; a stacked result lies at its iteration's slice.
  static int64_t getResultOffset(Operation *op, OpResult result,
                                 int64_t iteration) {
    auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName);
    if (!buffers)
      return 0;
    auto buffer = cast<BufferAttr>(buffers[result.getResultNumber()]);
    StringRef space = buffer.getSpace().getValue();
    if (space == "arena" || space == "comm")
      return buffer.getOffset();
    if (space != "stacked")
      return 0;
    auto repeat = op->getParentOfType<RepeatOp>();
    return (iteration - repeat.getFirstIndex()) *
           getTensorBytes(cast<RankedTensorType>(result.getType()));
  }

  ModuleOp module;
  int64_t numRanks;
  DenseMap<Value, RankTensors> values;
  DenseMap<Value, int64_t> stackedOffsets;
};
} // namespace

FailureOr<std::vector<KernelCall>>
tp::emulator::recordCalls(ModuleOp module, func::FuncOp function,
                          ArrayRef<Tensor> inputs, uint64_t seed,
                          bool isSampled) {
  Mesh mesh;
  if (MeshOp op = getUniqueMesh(module))
    mesh = op.getMesh().toMesh();
  int64_t numRanks = mesh.getNumRanks();
  SmallVector<RankTensors> arguments;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto sharding = function.getArgAttrOfType<ShardingAttr>(
        i, TPDialect::getShardingAttrName());
    TensorSharding layout = sharding && numRanks > 1
                                ? sharding.toSharding(mesh)
                                : TensorSharding::replicated(input.getRank());
    arguments.push_back(distribute(input, layout, mesh));
  }
  Recorder recorder(module, numRanks);
  RandomParameters parameters(seed);
  InterpreterOptions options;
  options.numRanks = numRanks;
  options.parameters = &parameters;
  options.observer = [&](Operation *op, ValueRange values,
                         ArrayRef<RankTensors> tensors,
                         ArrayRef<int64_t> iterations) {
    return recorder.observe(op, values, tensors, iterations);
  };
  StandIns standIns(module, numRanks, seed);
  if (isSampled)
    options.substitute = [&](Operation *op) { return standIns.get(op); };
  if (failed(interpret(function, arguments, options)))
    return failure();
  return std::move(recorder.calls);
}
