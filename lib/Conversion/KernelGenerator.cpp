//===- KernelGenerator.cpp - Row kernels as loops of vectors --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop is emitted over its outer columns one by one and over the last in
// vectors; what is left at the end is done in vectors of half, a quarter, ...
// of the width, so that any length works. Reductions keep several vector
// accumulators, because one would wait for the adder's latency at every step.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "LaneEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

namespace {

/// Vector accumulators of one reduction; 4 hide the latency of an addition.
constexpr int64_t numAccumulators = 4;

/// The operation that combines accumulator `position` with a new value, and the
/// new value; null if the body is not of that form.
struct Combiner {
  Operation *op = nullptr;
  Value other;
};

Combiner findCombiner(linalg::GenericOp op, unsigned position) {
  Block *body = op.getBody();
  Value accumulator = body->getArgument(op.getNumDpsInputs() + position);
  Value yielded = body->getTerminator()->getOperand(position);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner ||
      !yielded.hasOneUse())
    return {};
  if (!isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
           arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MulIOp,
           arith::OrIOp, arith::AndIOp, arith::XOrIOp, arith::MaxSIOp,
           arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(combiner) ||
      yielded.getType().isIndex())
    return {};
  Value other = combiner->getOperand(combiner->getOperand(0) == accumulator);
  return {combiner, other};
}

/// A running reduction.
struct Accumulator {
  KernelOp *op;
  unsigned position;
  Combiner combiner;
  /// f32 for narrow floats.
  Type type;
  /// Vector accumulators (of the loop's width), then one scalar for what is
  /// left; only the scalar where there is no combiner.
  SmallVector<Value> values;
};

class Generator {
public:
  Generator(func::FuncOp kernel, const KernelPlan &plan, int64_t vectorBits)
      : kernel(kernel), plan(plan), builder(kernel.getContext()),
        emitter(builder, kernel.getLoc()), loc(kernel.getLoc()),
        fullWidth(vectorBits / 32) {}

  FailureOr<func::FuncOp> run();

private:
  func::FuncOp kernel;
  const KernelPlan &plan;
  OpBuilder builder;
  LaneEmitter emitter;
  Location loc;
  int64_t fullWidth;
  /// Where tensors are.
  DenseMap<Value, TensorMemory> memories;
  SmallVector<SmallVector<TensorMemory>> resultMemories;
  /// Scalars: constants and index arguments; per row also row scalars.
  DenseMap<Value, LaneValue> scalars;
  /// Values of the current row.
  SmallVector<Value> rowIndices;

  LogicalResult emitPrologue(func::FuncOp body);
  LogicalResult emitRow(Value row);
  LogicalResult emitLoop(const KernelLoop &loop);
  LogicalResult emitNest(const KernelLoop &loop, unsigned depth,
                         SmallVector<Value> &position,
                         MutableArrayRef<Accumulator> accumulators);
  LogicalResult emitInner(const KernelLoop &loop, SmallVector<Value> &position,
                          MutableArrayRef<Accumulator> accumulators);
  LogicalResult emitStep(const KernelLoop &loop, ArrayRef<Value> position,
                         int64_t width, unsigned accumulator,
                         MutableArrayRef<Accumulator> accumulators);
  LogicalResult emitOp(KernelOp &op, ArrayRef<Value> position,
                       DenseMap<Value, LaneValue> &tensors,
                       DenseMap<Value, LaneValue> &lanes, int64_t laneDim,
                       Operation *skip);
  LogicalResult emitMixed(KernelOp &op);
  LogicalResult emitMixedNest(KernelOp &op, ArrayRef<unsigned> order,
                              unsigned depth, unsigned numParallel,
                              int64_t laneColumn, SmallVector<Value> &position,
                              SmallVector<Value> &accumulators);
  /// scf.for (or, for one iteration, straight code) with carried values.
  LogicalResult
  emitFor(int64_t begin, int64_t end, int64_t step,
          SmallVectorImpl<Value> &carried,
          function_ref<LogicalResult(Value, SmallVectorImpl<Value> &)> body);

  SmallVector<Accumulator> makeAccumulators(KernelOp &op, int64_t width);
  LogicalResult finish(Accumulator &accumulator, ArrayRef<Value> position);
  LaneValue loadOperand(KernelOp &op, OpOperand &operand,
                        ArrayRef<Value> position, int64_t laneDim);
  void storeResult(KernelOp &op, unsigned result, const LaneValue &lane,
                   ArrayRef<Value> position, int64_t laneDim);
  FailureOr<TensorMemory> findMemory(Value tensor);
  bool hasMemory(Value tensor) {
    const KernelTensor &info = plan.tensors.find(tensor)->second;
    return info.scratchOffset >= 0 || !info.results.empty();
  }
  bool isNarrow(Type type) { return type.isBF16() || type.isF16(); }
  Value toType(Value value, Type type);
};

} // namespace

/// Converts between a narrow float and f32.
Value Generator::toType(Value value, Type type) {
  if (getElementTypeOrSelf(value.getType()) == type)
    return value;
  return type.isF32() ? emitter.widen(value) : emitter.narrow(value, type);
}

FailureOr<TensorMemory> Generator::findMemory(Value tensor) {
  auto found = memories.find(tensor);
  if (found != memories.end())
    return found->second;
  return kernel.emitOpError("reads a tensor by computed indices that is made "
                            "in the same kernel");
}

LogicalResult Generator::emitFor(
    int64_t begin, int64_t end, int64_t step, SmallVectorImpl<Value> &carried,
    function_ref<LogicalResult(Value, SmallVectorImpl<Value> &)> body) {
  if (begin >= end)
    return success();
  if (begin + step >= end)
    return body(emitter.constantIndex(begin), carried);
  auto loop = scf::ForOp::create(builder, loc, emitter.constantIndex(begin),
                                 emitter.constantIndex(end),
                                 emitter.constantIndex(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inside(loop.getRegionIterArgs());
  if (failed(body(loop.getInductionVar(), inside)))
    return failure();
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, inside);
  carried.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

LaneValue Generator::loadOperand(KernelOp &op, OpOperand &operand,
                                 ArrayRef<Value> position, int64_t laneDim) {
  Value tensor = operand.get();
  if (auto found = scalars.find(tensor); found != scalars.end())
    return found->second;
  const TensorMemory &memory = memories.find(tensor)->second;
  AffineMap map = op.getCommonMap(op.op.getMatchingIndexingMap(&operand));
  return emitter.load(memory, LaneEmitter::getOffset(memory, map), position,
                      laneDim);
}

void Generator::storeResult(KernelOp &op, unsigned result,
                            const LaneValue &lane, ArrayRef<Value> position,
                            int64_t laneDim) {
  OpResult value = op.op->getResult(result);
  const KernelTensor &info = plan.tensors.find(value)->second;
  AffineMap map = op.getCommonMap(op.op.getIndexingMapMatchingResult(value));
  auto put = [&](const TensorMemory &memory) {
    emitter.store(lane, memory, LaneEmitter::getOffset(memory, map), position,
                  laneDim);
  };
  if (info.results.empty() && info.scratchOffset >= 0)
    put(memories.find(value)->second);
  for (unsigned index : info.results)
    put(resultMemories[index].front());
}

/// Emits the body of `op` for one position; `tensors` are values made at this
/// position, `lanes` receives the block's values.
LogicalResult Generator::emitOp(KernelOp &op, ArrayRef<Value> position,
                                DenseMap<Value, LaneValue> &tensors,
                                DenseMap<Value, LaneValue> &lanes,
                                int64_t laneDim, Operation *skip) {
  Block *body = op.op.getBody();
  for (OpOperand &operand : op.op->getOpOperands()) {
    BlockArgument argument = body->getArgument(operand.getOperandNumber());
    if (lanes.count(argument) || argument.use_empty())
      continue;
    auto made = tensors.find(operand.get());
    if (made != tensors.end())
      lanes[argument] = made->second;
    else if (skip == nullptr || !op.op.isDpsInit(&operand))
      lanes[argument] = loadOperand(op, operand, position, laneDim);
  }
  SmallVector<LaneValue> indices(op.op.getNumLoops());
  for (unsigned dim = 0; dim < indices.size(); ++dim) {
    indices[dim] = {emitter.constantIndex(0), false, nullptr};
    for (auto [i, row] : llvm::enumerate(op.rows))
      if (row == dim)
        indices[dim] = {position[i], false, nullptr};
    for (auto [i, column] : llvm::enumerate(op.columns))
      if (column == dim) {
        Value at = position[op.rows.size() + i];
        bool moving = int64_t(op.rows.size() + i) == laneDim;
        indices[dim] = moving ? emitter.makeConsecutive(at)
                              : LaneValue{at, false, nullptr};
      }
  }
  return emitter.emitBody(
      *body, lanes, indices, [&](Value tensor) { return findMemory(tensor); },
      skip);
}

/// The lane that `value` (in the body or outside) has.
static LaneValue findLane(const DenseMap<Value, LaneValue> &lanes,
                          Value value) {
  auto found = lanes.find(value);
  return found == lanes.end() ? LaneValue{value, false, nullptr}
                              : found->second;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<Accumulator> Generator::makeAccumulators(KernelOp &op,
                                                     int64_t width) {
  SmallVector<Accumulator> result;
  for (unsigned i = 0; i < op.op.getNumDpsInits(); ++i) {
    Accumulator accumulator{&op, i, findCombiner(op.op, i), nullptr, {}};
    Type element = op.op.getDpsInits()[i].getType();
    element = getElementTypeOrSelf(element);
    accumulator.type = accumulator.combiner.op && isNarrow(element)
                           ? Type(builder.getF32Type())
                           : element;
    result.push_back(accumulator);
  }
  // A body whose accumulators depend on each other is done element by element.
  if (llvm::any_of(result, [](auto &a) { return !a.combiner.op; }))
    for (Accumulator &accumulator : result) {
      accumulator.combiner = {};
      accumulator.type =
          getElementTypeOrSelf(op.op.getDpsInits()[accumulator.position]);
    }
  return result;
}

/// Combines what is left of an accumulator, adds the initial value once, and
/// puts the result where it belongs.
LogicalResult Generator::finish(Accumulator &accumulator,
                                ArrayRef<Value> position) {
  KernelOp &op = *accumulator.op;
  OpResult result = op.op->getResult(accumulator.position);
  Type element = getElementTypeOrSelf(result.getType());
  Value value = accumulator.values.back();
  emitter.width = 1;
  if (Operation *combiner = accumulator.combiner.op) {
    SmallVector<Value> vectors(ArrayRef(accumulator.values).drop_back());
    while (vectors.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < vectors.size(); i += 2)
        next.push_back(emitter.combine(combiner, vectors[i], vectors[i + 1]));
      if (vectors.size() % 2)
        next.push_back(vectors.back());
      vectors = next;
    }
    if (!vectors.empty())
      value = emitter.combine(combiner, emitter.reduce(combiner, vectors[0]),
                              value);
    OpOperand *init = op.op.getDpsInitOperand(accumulator.position);
    LaneValue initial = loadOperand(op, *init, position, -1);
    value = emitter.combine(combiner, toType(initial.value, accumulator.type),
                            value);
    value = toType(value, element);
  }
  LaneValue lane{value, false, nullptr};
  if (plan.tensors.find(result)->second.isRowScalar)
    scalars[result] = lane;
  storeResult(op, accumulator.position, lane, position, -1);
  return success();
}

//===----------------------------------------------------------------------===//
// Shared loops
//===----------------------------------------------------------------------===//

LogicalResult Generator::emitStep(const KernelLoop &loop,
                                  ArrayRef<Value> position, int64_t width,
                                  unsigned accumulatorIndex,
                                  MutableArrayRef<Accumulator> accumulators) {
  emitter.width = width;
  int64_t laneDim = loop.sizes.empty() ? -1 : int64_t(position.size()) - 1;
  DenseMap<Value, LaneValue> tensors;
  for (KernelOp *op : loop.ops) {
    DenseMap<Value, LaneValue> lanes(scalars);
    Operation *terminator = op->op.getBody()->getTerminator();
    if (op->kind == KernelOp::Kind::Map) {
      if (failed(emitOp(*op, position, tensors, lanes, laneDim, nullptr)))
        return failure();
      for (auto [i, yielded] : llvm::enumerate(terminator->getOperands())) {
        LaneValue lane = findLane(lanes, yielded);
        Value result = op->op->getResult(i);
        tensors[result] = lane;
        if (plan.tensors.find(result)->second.isRowScalar)
          scalars[result] = {lane.value, false, nullptr};
        if (hasMemory(result))
          storeResult(*op, i, lane, position, laneDim);
      }
      continue;
    }
    SmallVector<Accumulator *> own;
    for (Accumulator &accumulator : accumulators)
      if (accumulator.op == op)
        own.push_back(&accumulator);
    bool combines = own.front()->combiner.op != nullptr;
    if (!combines)
      for (Accumulator *accumulator : own)
        lanes[op->op.getBody()->getArgument(op->op.getNumDpsInputs() +
                                            accumulator->position)] = {
            accumulator->values.back(), false, nullptr};
    // With a combiner the accumulator is no operand of what is emitted: the
    // combining operations are left out and done on the accumulators.
    Operation *skip = combines ? own.front()->combiner.op : nullptr;
    if (combines && own.size() > 1) {
      // Several independent reductions: leave each combiner out in turn.
      for (Accumulator *accumulator : own)
        lanes[op->op.getBody()->getArgument(op->op.getNumDpsInputs() +
                                            accumulator->position)] = {
            emitter.getIdentity(accumulator->combiner.op,
                                accumulator->combiner.other.getType()),
            false, nullptr};
      skip = nullptr;
    }
    if (failed(emitOp(*op, position, tensors, lanes, laneDim, skip)))
      return failure();
    for (Accumulator *accumulator : own) {
      if (!combines) {
        accumulator->values.back() =
            findLane(lanes, terminator->getOperand(accumulator->position))
                .value;
        continue;
      }
      Operation *combiner = accumulator->combiner.op;
      Value value =
          emitter.toVector(findLane(lanes, accumulator->combiner.other));
      value = toType(value, accumulator->type);
      bool isFull = accumulatorIndex + 1 < accumulator->values.size();
      Value &into = isFull ? accumulator->values[accumulatorIndex]
                           : accumulator->values.back();
      if (!isFull)
        value = emitter.reduce(combiner, value);
      into = emitter.combine(combiner, into, value);
    }
  }
  return success();
}

static SmallVector<Value> pack(ArrayRef<Accumulator> accumulators) {
  SmallVector<Value> values;
  for (const Accumulator &accumulator : accumulators)
    llvm::append_range(values, accumulator.values);
  return values;
}

static void unpack(MutableArrayRef<Accumulator> accumulators,
                   ArrayRef<Value> values) {
  for (Accumulator &accumulator : accumulators)
    for (Value &value : accumulator.values) {
      value = values.front();
      values = values.drop_front();
    }
}

LogicalResult Generator::emitInner(const KernelLoop &loop,
                                   SmallVector<Value> &position,
                                   MutableArrayRef<Accumulator> accumulators) {
  int64_t size = loop.sizes.back();
  bool vectorise = llvm::all_of(
      accumulators, [](Accumulator &a) { return a.combiner.op != nullptr; });
  int64_t width = vectorise ? fullWidth : 1;
  int64_t unroll = accumulators.empty() || !vectorise ? 1 : numAccumulators;
  int64_t scalarSlot = numAccumulators;
  auto stepAt = [&](Value index, int64_t lanes, int64_t slot) -> LogicalResult {
    position.push_back(index);
    LogicalResult result = emitStep(loop, position, lanes, slot, accumulators);
    position.pop_back();
    return result;
  };
  int64_t mainEnd = size / (width * unroll) * (width * unroll);
  SmallVector<Value> carried = pack(accumulators);
  if (failed(emitFor(
          0, mainEnd, width * unroll, carried,
          [&](Value index, SmallVectorImpl<Value> &inside) -> LogicalResult {
            unpack(accumulators, inside);
            for (int64_t i = 0; i < unroll; ++i) {
              Value at = index;
              if (i > 0)
                at = arith::AddIOp::create(builder, loc, index,
                                           emitter.constantIndex(i * width));
              if (failed(stepAt(at, width, i)))
                return failure();
            }
            SmallVector<Value> next = pack(accumulators);
            inside.assign(next.begin(), next.end());
            return success();
          })))
    return failure();
  unpack(accumulators, carried);
  int64_t at = mainEnd, slot = 0;
  for (; at + width <= size; at += width)
    if (failed(stepAt(emitter.constantIndex(at), width, slot++)))
      return failure();
  for (int64_t part = width / 2; part >= 1; part /= 2)
    if (at + part <= size) {
      if (failed(stepAt(emitter.constantIndex(at), part, scalarSlot)))
        return failure();
      at += part;
    }
  return success();
}

LogicalResult Generator::emitNest(const KernelLoop &loop, unsigned depth,
                                  SmallVector<Value> &position,
                                  MutableArrayRef<Accumulator> accumulators) {
  if (depth + 1 == loop.sizes.size())
    return emitInner(loop, position, accumulators);
  SmallVector<Value> carried = pack(accumulators);
  LogicalResult result = emitFor(
      0, loop.sizes[depth], 1, carried,
      [&](Value index, SmallVectorImpl<Value> &inside) -> LogicalResult {
        unpack(accumulators, inside);
        position.push_back(index);
        if (failed(emitNest(loop, depth + 1, position, accumulators)))
          return failure();
        position.pop_back();
        SmallVector<Value> next = pack(accumulators);
        inside.assign(next.begin(), next.end());
        return success();
      });
  unpack(accumulators, carried);
  return result;
}

LogicalResult Generator::emitLoop(const KernelLoop &loop) {
  if (loop.kind == KernelOp::Kind::Mixed)
    return emitMixed(*loop.ops.front());
  SmallVector<Accumulator> accumulators;
  for (KernelOp *op : loop.ops)
    if (op->kind == KernelOp::Kind::Reduce)
      llvm::append_range(accumulators, makeAccumulators(*op, fullWidth));
  bool vectorise =
      !loop.sizes.empty() && llvm::all_of(accumulators, [](Accumulator &a) {
        return a.combiner.op != nullptr;
      });
  for (Accumulator &accumulator : accumulators) {
    emitter.width = fullWidth;
    if (!accumulator.combiner.op) {
      OpOperand *init =
          accumulator.op->op.getDpsInitOperand(accumulator.position);
      emitter.width = 1;
      accumulator.values.push_back(
          loadOperand(*accumulator.op, *init, rowIndices, -1).value);
      continue;
    }
    Operation *combiner = accumulator.combiner.op;
    if (vectorise && loop.sizes.back() >= fullWidth)
      for (int64_t i = 0; i < numAccumulators; ++i)
        accumulator.values.push_back(emitter.getIdentity(
            combiner, emitter.getVectorType(accumulator.type)));
    accumulator.values.push_back(
        emitter.getIdentity(combiner, accumulator.type));
  }
  SmallVector<Value> position(rowIndices);
  LogicalResult result =
      loop.sizes.empty()
          ? emitStep(loop, position, 1, numAccumulators, accumulators)
          : emitNest(loop, 0, position, accumulators);
  if (failed(result))
    return failure();
  for (Accumulator &accumulator : accumulators) {
    SmallVector<Value> at(rowIndices);
    at.append(accumulator.op->columns.size(), emitter.constantIndex(0));
    if (failed(finish(accumulator, at)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Mixed loops: parallel columns outside, reductions inside
//===----------------------------------------------------------------------===//

LogicalResult Generator::emitMixedNest(KernelOp &op, ArrayRef<unsigned> order,
                                       unsigned depth, unsigned numParallel,
                                       int64_t laneColumn,
                                       SmallVector<Value> &position,
                                       SmallVector<Value> &accumulators) {
  size_t numRows = op.rows.size();
  int64_t laneDim = laneColumn < 0 ? -1 : int64_t(numRows) + laneColumn;
  if (depth == numParallel) {
    accumulators.clear();
    for (unsigned i = 0; i < op.op.getNumDpsInits(); ++i)
      accumulators.push_back(emitter.toVector(
          loadOperand(op, *op.op.getDpsInitOperand(i), position, laneDim)));
  }
  auto finishParallel = [&]() {
    for (auto [i, value] : llvm::enumerate(accumulators))
      storeResult(op, i, {value, emitter.width != 1, nullptr}, position,
                  laneDim);
  };
  if (depth == order.size()) {
    DenseMap<Value, LaneValue> tensors, lanes(scalars);
    Block *body = op.op.getBody();
    for (auto [i, value] : llvm::enumerate(accumulators))
      lanes[body->getArgument(op.op.getNumDpsInputs() + i)] = {
          value, emitter.width != 1, nullptr};
    if (failed(emitOp(op, position, tensors, lanes, laneDim, nullptr)))
      return failure();
    for (auto [i, yielded] :
         llvm::enumerate(body->getTerminator()->getOperands()))
      accumulators[i] = emitter.toVector(findLane(lanes, yielded));
    if (order.size() == numParallel)
      finishParallel();
    return success();
  }
  unsigned column = order[depth];
  int64_t size = op.columnSizes[column];
  bool isReduction = depth >= numParallel;
  auto body = [&](Value index,
                  SmallVectorImpl<Value> &carried) -> LogicalResult {
    position[numRows + column] = index;
    SmallVector<Value> inside(carried.begin(), carried.end());
    if (failed(emitMixedNest(op, order, depth + 1, numParallel, laneColumn,
                             position, inside)))
      return failure();
    if (isReduction)
      carried.assign(inside.begin(), inside.end());
    return success();
  };
  if (isReduction) {
    if (failed(emitFor(0, size, 1, accumulators, body)))
      return failure();
    if (depth == numParallel)
      finishParallel();
    return success();
  }
  SmallVector<Value> none;
  if (int64_t(column) != laneColumn)
    return emitFor(0, size, 1, none, body);
  int64_t at = size / fullWidth * fullWidth;
  emitter.width = fullWidth;
  if (failed(emitFor(0, at, fullWidth, none, body)))
    return failure();
  for (int64_t part = fullWidth / 2; part >= 1; part /= 2)
    if (at + part <= size) {
      emitter.width = part;
      if (failed(body(emitter.constantIndex(at), none)))
        return failure();
      at += part;
    }
  return success();
}

LogicalResult Generator::emitMixed(KernelOp &op) {
  auto iterators = op.op.getIteratorTypesArray();
  SmallVector<unsigned> parallel, reductions;
  for (auto [i, dim] : llvm::enumerate(op.columns))
    (iterators[dim] == utils::IteratorType::parallel ? parallel : reductions)
        .push_back(i);
  // Lanes go along the last column of the result.
  AffineMap map =
      op.getCommonMap(op.op.getIndexingMapMatchingResult(op.op->getResult(0)));
  int64_t laneColumn = -1;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && dim.getPosition() >= op.rows.size())
      laneColumn = dim.getPosition() - op.rows.size();
  // The column of the lanes innermost among the parallel ones.
  llvm::erase(parallel, unsigned(laneColumn));
  if (laneColumn >= 0)
    parallel.push_back(laneColumn);
  unsigned numParallel = parallel.size();
  llvm::append_range(parallel, reductions);
  SmallVector<Value> position(rowIndices);
  position.append(op.columns.size(), emitter.constantIndex(0));
  SmallVector<Value> accumulators;
  emitter.width = 1;
  return emitMixedNest(op, parallel, 0, numParallel, laneColumn, position,
                       accumulators);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Row-major strides; the first `dropped` dimensions do not move the address.
static SmallVector<int64_t> getStrides(RankedTensorType type,
                                       unsigned dropped = 0) {
  SmallVector<int64_t> strides(type.getRank(), 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= int64_t(dropped); --dim) {
    strides[dim] = stride;
    stride *= type.getDimSize(dim);
  }
  return strides;
}

LogicalResult Generator::emitPrologue(func::FuncOp body) {
  Value context = body.getArgument(0);
  Type pointer = context.getType();
  Type i64 = builder.getI64Type();
  int64_t slot = 0;
  auto loadSlot = [&](Type type) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, i64, context,
                            ArrayRef<LLVM::GEPArg>{int32_t(slot++)});
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type) {
      memories[argument] = {loadSlot(pointer), getStrides(type),
                            type.getElementType()};
      continue;
    }
    if (!argument.getType().isIndex())
      return kernel.emitOpError("expected tensors and indices as arguments of "
                                "a kernel, got ")
             << argument.getType();
    scalars[argument] = {arith::IndexCastOp::create(builder, loc,
                                                    builder.getIndexType(),
                                                    loadSlot(i64)),
                         false, nullptr};
  }
  for (Type result : kernel.getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    resultMemories.push_back(
        {{loadSlot(pointer), getStrides(type), type.getElementType()}});
  }
  Value scratch;
  if (plan.scratchBytes > 0) {
    Value base = loadSlot(pointer);
    Value stride = loadSlot(i64);
    Value offset =
        arith::MulIOp::create(builder, loc, body.getArgument(3), stride);
    scratch = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                                  base, ArrayRef<LLVM::GEPArg>{offset});
  }
  for (auto &[value, info] : plan.tensors) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    if (info.splat) {
      auto elements = cast<DenseElementsAttr>(
          cast<arith::ConstantOp>(info.splat.getDefiningOp()).getValue());
      auto attr = cast<TypedAttr>(elements.getSplatValue<Attribute>());
      scalars[value] = {arith::ConstantOp::create(builder, loc, attr), false,
                        nullptr};
    } else if (info.isEmpty) {
      // An accumulator that starts from nothing in particular.
      scalars[value] = {
          arith::ConstantOp::create(
              builder, loc,
              cast<TypedAttr>(builder.getZeroAttr(type.getElementType()))),
          false, nullptr};
    } else if (!info.results.empty()) {
      memories[value] = resultMemories[info.results.front()].front();
    } else if (info.scratchOffset >= 0) {
      Value address = LLVM::GEPOp::create(
          builder, loc, pointer, builder.getI8Type(), scratch,
          ArrayRef<LLVM::GEPArg>{int32_t(info.scratchOffset)});
      memories[value] = {address, getStrides(type, plan.numRowDims),
                         type.getElementType()};
    }
  }
  // Scalars of the function itself.
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 ||
        isa<RankedTensorType>(op.getResult(0).getType()))
      continue;
    IRMapping mapping;
    for (Value operand : op.getOperands())
      mapping.map(operand, scalars.lookup(operand).value);
    scalars[op.getResult(0)] = {builder.clone(op, mapping)->getResult(0), false,
                                nullptr};
  }
  return success();
}

LogicalResult Generator::emitRow(Value row) {
  // Positions of the row in the row dimensions, last varies fastest.
  rowIndices.assign(plan.rowSizes.size(), nullptr);
  Value rest = row;
  for (int64_t i = plan.rowSizes.size() - 1; i > 0; --i) {
    Value size = emitter.constantIndex(plan.rowSizes[i]);
    rowIndices[i] = arith::RemUIOp::create(builder, loc, rest, size);
    rest = arith::DivUIOp::create(builder, loc, rest, size);
  }
  if (!rowIndices.empty())
    rowIndices[0] = rest;
  DenseMap<Value, LaneValue> outside(scalars);
  for (const KernelLoop &loop : plan.loops)
    if (failed(emitLoop(loop)))
      return failure();
  scalars = outside;
  return success();
}

FailureOr<func::FuncOp> Generator::run() {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  builder.setInsertionPoint(kernel);
  auto body = func::FuncOp::create(
      builder, loc, (kernel.getName() + ".body").str(),
      builder.getFunctionType({pointer, i64, i64, i64}, {}));
  body.setPrivate();
  body->setAttr(kernelAttrName, builder.getStringAttr("body"));
  builder.setInsertionPointToStart(body.addEntryBlock());
  if (failed(emitPrologue(body)))
    return failure();
  Type index = builder.getIndexType();
  Value begin =
      arith::IndexCastOp::create(builder, loc, index, body.getArgument(1));
  Value end =
      arith::IndexCastOp::create(builder, loc, index, body.getArgument(2));
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, emitter.constantIndex(1));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    if (failed(emitRow(loop.getInductionVar())))
      return failure();
  }
  func::ReturnOp::create(builder, loc);
  return body;
}

FailureOr<func::FuncOp> tp::generateKernel(func::FuncOp kernel,
                                           const KernelPlan &plan,
                                           int64_t vectorBits) {
  return Generator(kernel, plan, vectorBits).run();
}
