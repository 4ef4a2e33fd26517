//===- RowGenerator.cpp - Row kernels as GPU functions --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All threads of a warp, and of a block, run the same code: a thread whose
// vector or row does not exist skips reads and writes, never a shuffle or a
// barrier. Threads without a row look at the last one.
//
//===----------------------------------------------------------------------===//

#include "RowWriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tp/Support/Bytes.h"
#include <limits>

using namespace mlir;
using namespace tp;

namespace {

/// Vectors of a thread that a loop does at a time.
constexpr int64_t vectorsTogether = 4;
/// Registers for what is loaded ahead.
constexpr int64_t maxLoadRegisters = 32;

} // namespace

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

LaneValue RowWriter::loadOperand(KernelOp &op, OpOperand &operand,
                                 ArrayRef<Value> position, int64_t laneDim) {
  if (!slot || scalars.count(operand.get()))
    return RowEmitter::loadOperand(op, operand, position, laneDim);
  TensorAccess access{operand.get(),
                      op.getCommonMap(op.op.getMatchingIndexingMap(&operand))};
  if (auto found = slot->find(access); found != slot->end())
    return found->second;
  LaneValue lane = RowEmitter::loadOperand(op, operand, position, laneDim);
  (*slot)[access] = lane;
  return lane;
}

void RowWriter::storeResult(KernelOp &op, unsigned result,
                            const LaneValue &lane, ArrayRef<Value> position,
                            int64_t laneDim) {
  if (!isStored(op.op->getResult(result)))
    return;
  (void)emitIf(storeGuard, [&]() {
    RowEmitter::storeResult(op, result, lane, position, laneDim);
    return success();
  });
}

/// Registers are 32 bits: narrow lanes are kept in pairs or fours.
Type RowWriter::getPackedType(const LoopShape &of, Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  int64_t bits = of.width * element.getIntOrFloatBitWidth();
  if (of.width == 1)
    return element;
  if (element.getIntOrFloatBitWidth() < 32 && bits % 32 == 0)
    return VectorType::get({bits / 32}, builder.getI32Type());
  return VectorType::get({of.width}, element);
}

Value RowWriter::pack(const LaneValue &lane) {
  Value value = emitter.toVector(lane);
  Type element = getElementTypeOrSelf(value.getType());
  int64_t bits = emitter.width * element.getIntOrFloatBitWidth();
  if (emitter.width == 1 || element.getIntOrFloatBitWidth() >= 32 ||
      bits % 32 != 0)
    return value;
  return LLVM::BitcastOp::create(
      builder, loc, VectorType::get({bits / 32}, builder.getI32Type()), value);
}

LaneValue RowWriter::unpack(Value packed, Value tensor) {
  if (emitter.width == 1)
    return {packed, false, nullptr};
  Type type = emitter.getVectorType(getElementTypeOrSelf(tensor.getType()));
  if (packed.getType() != type)
    packed = LLVM::BitcastOp::create(builder, loc, type, packed);
  return {packed, true, nullptr};
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The position of the vector of number `vector` (an integer).
SmallVector<Value> RowWriter::getPosition(const LoopShape &of, Value vector) {
  SmallVector<Value> position(rowIndices);
  Type type = vector.getType();
  size_t numDims = plan.numRowDims;
  for (const KernelLoop &loop : plan.loops)
    numDims = std::max(numDims, plan.numRowDims + loop.sizes.size());
  position.resize(numDims, emitter.constantIndex(0));
  Value rest = vector;
  for (size_t i = of.dims.size(); i-- > 0;) {
    bool isLane = i + 1 == of.dims.size();
    int64_t size =
        isLane ? llvm::divideCeil(of.sizes[i], of.width) : of.sizes[i];
    Value at = rest;
    if (i > 0) {
      at = e.rem(rest, size);
      rest = e.div(rest, size);
    }
    if (isLane)
      at = e.mul(at, of.width);
    if (isLane && of.phase)
      at = e.add(at, getPhase().head);
    position[of.dims[i]] = toIndex(at);
  }
  return position;
}

//===----------------------------------------------------------------------===//
// Loops over the columns of a row
//===----------------------------------------------------------------------===//

/// A barrier if the loop reads what other threads have written since the last.
void RowWriter::emitBarriers(unsigned number) {
  bool needed = false;
  const KernelLoop &loop = plan.loops[number];
  const LoopShape &own = schedule.loops[number];
  for (KernelOp *op : loop.ops)
    forEachRead(plan, *op, [&](OpOperand &operand, TensorAccess access) {
      KernelOp *producer = plan.tensors.find(access.first)->second.producer;
      if (!producer || producer->loop == number ||
          visible.contains(access.first.getAsOpaquePointer()))
        return;
      bool sameThread =
          loop.kind != KernelOp::Kind::Mixed &&
          plan.loops[producer->loop].kind != KernelOp::Kind::Mixed &&
          !own.dims.empty() && own.sharesLike(schedule.loops[producer->loop]) &&
          getWrite(*producer, cast<OpResult>(access.first).getResultNumber()) ==
              access;
      needed |= !sameThread;
    });
  if (!needed)
    return;
  gpu::BarrierOp::create(builder, loc);
  noteBarrier(number);
}

/// All threads see what loops before `number` have written.
void RowWriter::noteBarrier(unsigned number) {
  for (unsigned i = 0; i < number; ++i)
    for (KernelOp *op : plan.loops[i].ops)
      for (Value result : op->op->getResults())
        visible.insert(result.getAsOpaquePointer());
}

LogicalResult RowWriter::emitVector(const KernelLoop &loop, Value vector,
                                    MutableArrayRef<Accumulator> accumulators) {
  emitter.width = shape->width;
  emitter.phase = shape->phase;
  if (loop.kind == KernelOp::Kind::Mixed)
    return emitMixed(*loop.ops.front(), vector);
  SmallVector<Value> position = getPosition(*shape, vector);
  if (llvm::any_of(accumulators, [](auto &a) { return a.selection; })) {
    place = e.mul(vector, shape->width);
    if (shape->phase)
      place = e.add(place, getPhase().head);
  }
  return emitAt(loop, position, shape->width, accumulators);
}

LogicalResult RowWriter::emitAt(const KernelLoop &loop,
                                ArrayRef<Value> position, int64_t width,
                                MutableArrayRef<Accumulator> accumulators) {
  DenseMap<Value, LaneValue> tensors;
  // The first accumulators of a vector are vectors.
  unsigned index = width == shape->width ? 0 : 1;
  if (failed(emitStep(loop, position, width, shape->getLaneDim(), index,
                      accumulators, tensors)))
    return failure();
  if (!slot)
    return success();
  for (auto [op, operand] : shape->preloads)
    loadOperand(*op, *operand, position, shape->getLaneDim());
  for (const TensorAccess &access : shape->keeps)
    if (auto made = tensors.find(access.first); made != tensors.end())
      (*slot)[access] = made->second;
  return success();
}

/// Calls `visit` with what a loop reads at each position and does not make.
template <typename Visit>
static void forEachLoad(const KernelPlan &plan, const KernelLoop &loop,
                        Visit visit) {
  for (KernelOp *op : loop.ops)
    forEachRead(plan, *op, [&](OpOperand &operand, TensorAccess access) {
      KernelOp *producer = plan.tensors.find(access.first)->second.producer;
      if (!producer || &plan.loops[producer->loop] != &loop)
        visit(*op, operand, access);
    });
}

/// Registers of what a loop reads for one vector.
int64_t RowWriter::countRegisters(const KernelLoop &loop) {
  llvm::SetVector<TensorAccess> reads;
  int64_t registers = 0;
  forEachLoad(plan, loop, [&](KernelOp &, OpOperand &, TensorAccess access) {
    Type element = getElementTypeOrSelf(access.first.getType());
    if (reads.insert(access))
      registers += llvm::divideCeil(shape->width * getElementBytes(element), 4);
  });
  return registers;
}

/// Reads into `slot` what the loop needs at a position.
void RowWriter::preload(const KernelLoop &loop, ArrayRef<Value> position,
                        int64_t width) {
  emitter.width = width;
  emitter.phase = shape->phase;
  forEachLoad(plan, loop, [&](KernelOp &op, OpOperand &operand, TensorAccess) {
    // The value that a reduction starts with is added once, at its end.
    if (op.kind == KernelOp::Kind::Map || op.op.isDpsInput(&operand))
      loadOperand(op, operand, position, shape->getLaneDim());
  });
}

LogicalResult RowWriter::emitMixed(KernelOp &op, Value vector) {
  MixedOrder order = getMixedOrder(op);
  SmallVector<Value> position = getPosition(*shape, vector);
  position.resize(op.rows.size() + op.columns.size());
  SmallVector<Value> accumulators;
  return emitMixedNest(op, order, order.numParallel, position, accumulators);
}

/// A loop over a thread's vectors, several at a time so that their loads are
/// under way together.
LogicalResult RowWriter::emitLong(const KernelLoop &loop,
                                  MutableArrayRef<Accumulator> accumulators) {
  int64_t threads = schedule.threadsPerRow;
  bool isMixed = loop.kind == KernelOp::Kind::Mixed;
  int64_t together = 1;
  // Wide vectors need more registers to be computed with, and threads of large
  // blocks have fewer.
  bool isTight = shape->width > 4 || schedule.blockThreads > 512;
  int64_t most = isTight ? maxLoadRegisters / 2 : maxLoadRegisters;
  while (!isMixed && together < vectorsTogether &&
         2 * together * countRegisters(loop) <= most)
    together *= 2;
  int64_t chunk = threads * together;
  int64_t whole = shape->leastVectors / chunk * chunk;
  auto emitPart = [&](int64_t begin, Value end,
                      int64_t count) -> LogicalResult {
    Value first = threadOfRow;
    if (begin > 0)
      first = e.add(first, begin);
    if (hasRow)
      end = e.select(hasRow, end, i32(0));
    SmallVector<Value> carried = tp::pack(accumulators);
    auto each = scf::ForOp::create(builder, loc, first, end,
                                   i32(threads * count), carried);
    OpBuilder::InsertionGuard guard(builder);
    if (carried.empty())
      builder.setInsertionPoint(each.getBody()->getTerminator());
    else
      builder.setInsertionPointToStart(each.getBody());
    tp::unpack(accumulators, SmallVector<Value>(each.getRegionIterArgs()));
    SmallVector<Slot> loads(count);
    SmallVector<Value> vectors(count, each.getInductionVar());
    for (int64_t i = 0; i < count; ++i) {
      slot = isMixed ? nullptr : &loads[i];
      if (i > 0)
        vectors[i] = e.add(vectors[i], i * threads);
      if (count > 1)
        preload(loop, getPosition(*shape, vectors[i]), shape->width);
    }
    for (int64_t i = 0; i < count; ++i) {
      slot = isMixed ? nullptr : &loads[i];
      if (failed(emitVector(loop, vectors[i], accumulators)))
        return failure();
    }
    slot = nullptr;
    if (!carried.empty())
      scf::YieldOp::create(builder, loc, tp::pack(accumulators));
    tp::unpack(accumulators, SmallVector<Value>(each.getResults()));
    return success();
  };
  Slot edge;
  SmallVector<Value> edgePosition;
  Value hasEdge;
  if (shape->phase) {
    std::tie(edgePosition, hasEdge) = getEdgePosition();
    slot = &edge;
    preload(loop, edgePosition, 1);
    slot = nullptr;
  }
  if (whole > 0 && failed(emitPart(0, i32(whole), together)))
    return failure();
  if (whole < shape->vectors &&
      failed(emitPart(
          whole, shape->phase ? getPhase().count : i32(shape->vectors), 1)))
    return failure();
  if (!shape->phase)
    return success();
  return emitEdge(loop, edgePosition, hasEdge, edge, accumulators);
}

/// The slots of the loops that are shared like the present one.
SmallVector<RowWriter::Slot> &RowWriter::getKept() {
  for (auto &[like, slots] : kept)
    if (like->sharesLike(*shape))
      return slots;
  // The last one is for the element beside the vectors.
  kept.push_back({shape, SmallVector<Slot>(shape->slots + 1)});
  return kept.back().second;
}

/// True if the thread has a vector in slot `i`; null: it has.
Value RowWriter::emitHasVector(int64_t i, Value vector) {
  if ((i + 1) * schedule.threadsPerRow <= shape->leastVectors)
    return hasRow;
  Value end = shape->phase ? getPhase().count : i32(shape->vectors);
  Value inBounds = e.compare(arith::CmpIPredicate::ult, vector, end);
  if (!hasRow)
    return inBounds;
  return e.bitAnd(hasRow, inBounds);
}

/// Slot `i` of the thread: `keeping` has what earlier loops of this shape have
/// kept, `own` what this one reads.
LogicalResult RowWriter::emitSlot(const KernelLoop &loop, int64_t i,
                                  Slot &keeping, Slot own,
                                  MutableArrayRef<Accumulator> accumulators) {
  Value vector = threadOfRow;
  if (i > 0)
    vector = e.add(vector, i * schedule.threadsPerRow);
  Value condition = emitHasVector(i, vector);
  slot = &own;
  if (!condition) {
    if (failed(emitVector(loop, vector, accumulators)))
      return failure();
    for (const TensorAccess &access : shape->keeps)
      keeping[access] = own.lookup(access);
    slot = nullptr;
    return success();
  }
  SmallVector<Value> before = tp::pack(accumulators);
  SmallVector<Type> types;
  for (const TensorAccess &access : shape->keeps)
    types.push_back(getPackedType(*shape, access.first));
  llvm::append_range(types, TypeRange(ValueRange(before)));
  auto branch = scf::IfOp::create(builder, loc, types, condition,
                                  /*withElseRegion=*/!types.empty());
  if (failed(emitBranch(branch, loop, vector, own, accumulators, before)))
    return failure();
  slot = nullptr;
  emitter.width = shape->width;
  for (auto [position, access] : llvm::enumerate(shape->keeps))
    keeping[access] = unpack(branch.getResult(position), access.first);
  tp::unpack(accumulators, SmallVector<Value>(branch.getResults().drop_front(
                               shape->keeps.size())));
  return success();
}

/// The vector where the thread has one, else what was there `before`; what is
/// kept of no vector is read by nobody.
LogicalResult RowWriter::emitBranch(scf::IfOp branch, const KernelLoop &loop,
                                    Value vector, Slot &own,
                                    MutableArrayRef<Accumulator> accumulators,
                                    ArrayRef<Value> before) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitVector(loop, vector, accumulators)))
    return failure();
  if (branch.getNumResults() == 0)
    return success();
  emitter.width = shape->width;
  SmallVector<Value> yielded, otherwise;
  for (const TensorAccess &access : shape->keeps)
    yielded.push_back(pack(own.lookup(access)));
  llvm::append_range(yielded, tp::pack(accumulators));
  scf::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointToStart(branch.elseBlock());
  for (const TensorAccess &access : shape->keeps)
    otherwise.push_back(LLVM::PoisonOp::create(
        builder, loc, getPackedType(*shape, access.first)));
  llvm::append_range(otherwise, before);
  scf::YieldOp::create(builder, loc, otherwise);
  return success();
}

LogicalResult RowWriter::emitSlots(const KernelLoop &loop,
                                   MutableArrayRef<Accumulator> accumulators) {
  int64_t threads = schedule.threadsPerRow;
  emitter.width = shape->width;
  if (!shape->unrolled)
    return emitLong(loop, accumulators);
  SmallVector<Slot> &slots = getKept();
  // Loads of all slots that every thread has are under way before any store.
  int64_t numWhole = hasRow ? 0 : shape->leastVectors / threads;
  SmallVector<Slot> loads(slots.begin(), slots.end());
  SmallVector<Value> edgePosition;
  Value hasEdge;
  if (shape->phase) {
    std::tie(edgePosition, hasEdge) = getEdgePosition();
    slot = &loads.back();
    preload(loop, edgePosition, 1);
  }
  if (numWhole > 1 && numWhole * countRegisters(loop) <= maxLoadRegisters)
    for (int64_t i = 0; i < numWhole; ++i) {
      slot = &loads[i];
      Value vector = e.add(threadOfRow, i * threads);
      preload(loop, getPosition(*shape, vector), shape->width);
    }
  for (int64_t i = 0; i < shape->slots; ++i)
    if (failed(emitSlot(loop, i, slots[i], loads[i], accumulators)))
      return failure();
  if (!shape->phase)
    return success();
  Slot &own = loads.back();
  if (failed(emitEdge(loop, edgePosition, hasEdge, own, accumulators)))
    return failure();
  for (const TensorAccess &access : shape->keeps)
    slots.back()[access] = own.lookup(access);
  return success();
}

/// Every thread goes through the whole row; one of them stores.
LogicalResult
RowWriter::emitSequential(const KernelLoop &loop,
                          MutableArrayRef<Accumulator> accumulators) {
  SmallVector<Value> carried = tp::pack(accumulators);
  auto each = scf::ForOp::create(builder, loc, i32(0), i32(shape->vectors),
                                 i32(1), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(each.getBody());
  tp::unpack(accumulators, SmallVector<Value>(each.getRegionIterArgs()));
  if (failed(emitVector(loop, each.getInductionVar(), accumulators)))
    return failure();
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, tp::pack(accumulators));
  tp::unpack(accumulators, SmallVector<Value>(each.getResults()));
  return success();
}

LogicalResult RowWriter::emitLoop(unsigned number) {
  const KernelLoop &loop = plan.loops[number];
  shape = &schedule.loops[number];
  emitBarriers(number);
  if (loop.kind == KernelOp::Kind::Mixed)
    return emitSlots(loop, {});
  SmallVector<Accumulator> accumulators;
  for (KernelOp *op : loop.ops)
    if (op->kind == KernelOp::Kind::Reduce)
      llvm::append_range(accumulators, makeAccumulators(*op));
  // A loop of one position is done by every thread of the row.
  bool isShared = !shape->dims.empty() && !shape->sequential;
  if (isShared)
    addSelections(accumulators);
  if (isShared && shape->phase)
    getPhase(); // for all that follows
  for (Accumulator &accumulator : accumulators) {
    emitter.width = 1;
    if (accumulator.combiner || accumulator.selection) {
      Value identity = getIdentity(accumulator);
      emitter.width = shape->width;
      if (accumulator.selection && shape->width > 1)
        accumulator.values.push_back(emitter.getVectorOf(identity));
      accumulator.values.push_back(identity);
      continue;
    }
    OpOperand *init =
        accumulator.op->op.getDpsInitOperand(accumulator.position);
    accumulator.values.push_back(
        loadOperand(*accumulator.op, *init, rowIndices, -1).value);
  }
  storeGuard = isShared ? Value() : isLeader;
  LogicalResult result = shape->sequential ? emitSequential(loop, accumulators)
                         : isShared ? emitSlots(loop, accumulators)
                                    : emitVector(loop, i32(0), accumulators);
  if (failed(result))
    return failure();
  if (isShared && !accumulators.empty()) {
    reduceLanes(accumulators);
    reduceThreads(accumulators);
    finishSelections(accumulators);
    if (schedule.threadsPerRow > 32)
      noteBarrier(number + 1);
  }
  storeGuard = isLeader;
  for (Accumulator &accumulator : accumulators) {
    if (accumulator.position == accumulator.op->op.getNumDpsInits())
      continue;                // where a selected element stood
    if (accumulator.selection) // its lanes are in the scalar
      accumulator.values = {accumulator.values.back()};
    SmallVector<Value> at(rowIndices);
    at.append(accumulator.op->columns.size(), emitter.constantIndex(0));
    if (failed(finish(accumulator, at)))
      return failure();
  }
  storeGuard = nullptr;
  return success();
}

LogicalResult RowWriter::emitRows() {
  Value block = arith::IndexCastUIOp::create(
      builder, loc, builder.getI32Type(),
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  threadOfRow = thread;
  rowOfBlock = i32(0);
  Value row = block;
  int64_t rows = plan.getRowCount();
  if (schedule.rowsPerBlock > 1) {
    Value threads = i32(schedule.threadsPerRow);
    threadOfRow = e.rem(thread, threads);
    rowOfBlock = e.div(thread, threads);
    row = e.mul(block, schedule.rowsPerBlock);
    row = e.add(row, rowOfBlock);
  }
  isLeader = e.compare(arith::CmpIPredicate::eq, threadOfRow, 0);
  if (rows % schedule.rowsPerBlock != 0 || rows == 0) {
    hasRow = e.compare(arith::CmpIPredicate::ult, row, rows);
    row = arith::MinUIOp::create(builder, loc, row,
                                 i32(std::max<int64_t>(0, rows - 1)));
    isLeader = e.bitAnd(isLeader, hasRow);
  }
  emitRowIndices(toIndex(row));
  return success();
}

//===----------------------------------------------------------------------===//
// Flat kernels
//===----------------------------------------------------------------------===//

LogicalResult RowWriter::emitFlat() {
  const KernelLoop &loop = plan.loops.front();
  shape = &schedule.loops.front();
  int64_t total = schedule.gridBlocks * schedule.blockThreads * shape->width;
  Type type =
      total < (int64_t(1) << 31) ? builder.getI32Type() : builder.getI64Type();
  Value block = arith::IndexCastUIOp::create(
      builder, loc, type,
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value own = arith::IndexCastUIOp::create(
      builder, loc, type,
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value vector = e.mul(block, schedule.blockThreads);
  vector = e.add(vector, own);
  rowIndices.assign(plan.rowSizes.size(), emitter.constantIndex(0));
  Slot values;
  slot = loop.kind == KernelOp::Kind::Mixed ? nullptr : &values;
  Value end = number(type, shape->vectors);
  Value inBounds;
  int64_t threads = schedule.gridBlocks * schedule.blockThreads;
  if (shape->vectors != threads)
    inBounds = e.compare(arith::CmpIPredicate::ult, vector, end);
  auto emitOwn = [&]() {
    return shape->phase ? emitLine(loop, vector) : emitVector(loop, vector, {});
  };
  if (shape->vectors > 0 && failed(emitIf(inBounds, emitOwn)))
    return failure();
  if (shape->remainder == 0)
    return success();
  // The thread after the last whole vector does what is left.
  Value isNext = e.compare(arith::CmpIPredicate::eq, vector, end);
  return emitIf(isNext, [&]() -> LogicalResult {
    int64_t at = shape->sizes.back() - shape->remainder;
    for (int64_t part = shape->width / 2; part >= 1; part /= 2) {
      if ((shape->remainder & part) == 0)
        continue;
      values.clear();
      DenseMap<Value, LaneValue> tensors;
      SmallVector<Value> position(rowIndices);
      position.append(loop.sizes.size(), emitter.constantIndex(0));
      position[shape->getLaneDim()] = emitter.constantIndex(at);
      if (failed(emitStep(loop, position, part, shape->getLaneDim(), 0, {},
                          tensors)))
        return failure();
      at += part;
    }
    return success();
  });
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void RowWriter::emitBuffers(Value scratch) {
  for (auto &[tensor, buffer] : schedule.buffers) {
    Value base = shared;
    if (!buffer.isShared) {
      Type i64 = builder.getI64Type();
      Value block = arith::IndexCastUIOp::create(
          builder, loc, i64,
          gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
      Value offset = e.mul(block, schedule.scratchBytesPerBlock);
      base = LLVM::GEPOp::create(builder, loc, scratch.getType(),
                                 builder.getI8Type(), scratch,
                                 ArrayRef<LLVM::GEPArg>{offset});
    }
    // Device scratch may be larger than 32 bits can count.
    Type type = buffer.isShared ? builder.getI32Type() : builder.getI64Type();
    Value row = rowOfBlock;
    if (!buffer.isShared)
      row = arith::ExtUIOp::create(builder, loc, type, row);
    Value offset = e.mul(row, buffer.rowBytes);
    offset = e.add(offset, buffer.offset);
    auto tensorType = cast<RankedTensorType>(tensor.getType());
    Value address =
        LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                            base, ArrayRef<LLVM::GEPArg>{offset});
    const LoopShape &made =
        schedule.loops[plan.tensors.find(tensor)->second.producer->loop];
    if (!made.phase) {
      memories[tensor] = {address, getStrides(tensorType, plan.numRowDims),
                          tensorType.getElementType(), 16};
      continue;
    }
    // As far from a line as the row of the whole tensor would be, so that its
    // vectors are aligned too: addressed as if the tensor was all there.
    SmallVector<int64_t> strides = getStrides(tensorType);
    AffineExpr before = getAffineConstantExpr(0, builder.getContext());
    for (unsigned i = 0; i < plan.numRowDims; ++i)
      before = before + builder.getAffineDimExpr(i) * strides[i];
    Value shift = toIndex(getRest(before, rowIndices, made.width));
    shift = e.sub(shift, emitter.emitAffine(before, rowIndices));
    int64_t bytes = getElementBytes(tensorType.getElementType());
    shift = e.mul(shift, emitter.constantIndex(bytes));
    shift =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), shift);
    memories[tensor] = {LLVM::GEPOp::create(builder, loc, base.getType(),
                                            builder.getI8Type(), address,
                                            ArrayRef<LLVM::GEPArg>{shift}),
                        strides, tensorType.getElementType(),
                        std::min<int64_t>(16, made.width * bytes)};
  }
}

void RowWriter::emitPrologue(gpu::GPUFuncOp function) {
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments())) {
    Value own = function.getArgument(i);
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      memories[argument] = {own, getStrides(type), type.getElementType(),
                            alignment.arguments[i]};
    else
      scalars[argument] = {
          arith::IndexCastOp::create(builder, loc, builder.getIndexType(), own),
          false, nullptr};
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes())) {
    auto type = cast<RankedTensorType>(result);
    resultMemories.push_back(
        {function.getArgument(kernel.getNumArguments() + i), getStrides(type),
         type.getElementType(), alignment.results[i]});
  }
  for (auto &[value, info] : plan.tensors)
    if (!info.results.empty())
      memories[value] = resultMemories[info.results.front()];
  emitConstants();
  thread = arith::IndexCastUIOp::create(
      builder, loc, builder.getI32Type(),
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
}

/// Rows and vectors of a row are counted in 32 bits, with room for a step past
/// the end; blocks are what a grid has.
LogicalResult RowWriter::checkLimits() {
  constexpr int64_t blocks = std::numeric_limits<int32_t>::max();
  constexpr int64_t counted = int64_t(1) << 30;
  if (schedule.gridBlocks > blocks)
    return kernel.emitOpError("expected at most ")
           << blocks << " blocks of threads for a device, got "
           << schedule.gridBlocks;
  if (schedule.flat)
    return success();
  if (plan.getRowCount() > counted)
    return kernel.emitOpError("expected at most ")
           << counted << " rows for a device, got " << plan.getRowCount();
  for (const LoopShape &loop : schedule.loops)
    if (loop.vectors > counted)
      return kernel.emitOpError("expected at most ")
             << counted << " vectors in a row for a device, got "
             << loop.vectors << " of " << loop.width << " elements";
  return success();
}

FailureOr<gpu::GPUFuncOp> RowWriter::run() {
  if (failed(checkLimits()))
    return failure();
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes()) {
    if (!isa<RankedTensorType>(type) && !type.isIndex())
      return kernel.emitOpError("expected tensors and indices as arguments of "
                                "a kernel, got ")
             << type;
    types.push_back(type.isIndex() ? builder.getI64Type() : pointer);
  }
  types.append(kernel.getNumResults(), pointer);
  bool hasScratch = schedule.scratchBytesPerBlock > 0;
  if (hasScratch)
    types.push_back(pointer);

  builder.setInsertionPointToEnd(module.getBody());
  LLVM::GlobalOp global;
  if (schedule.sharedBytes > 0)
    global = LLVM::GlobalOp::create(
        builder, loc,
        LLVM::LLVMArrayType::get(builder.getI8Type(), schedule.sharedBytes),
        /*isConstant=*/false, LLVM::Linkage::Internal,
        (kernel.getName() + "_shared").str(), Attribute(), /*alignment=*/16,
        /*addrSpace=*/3);
  auto function = gpu::GPUFuncOp::create(builder, loc, kernel.getName(),
                                         builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(schedule.blockThreads), 1, 1}));
  // Left to itself the assembler aims at several large blocks at once and
  // spills.
  if (schedule.blockThreads > 512)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(1));
  // No result's memory is an operand's, but for states: the planner of buffers
  // sees to it.
  for (auto [i, type] : llvm::enumerate(types)) {
    if (type != pointer || kernel->hasAttr(inPlaceAttrName))
      continue;
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    if (i < kernel.getNumArguments())
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
  }
  builder.setInsertionPointToStart(&function.getBody().front());
  emitPrologue(function);
  if (global)
    shared = LLVM::AddressOfOp::create(builder, loc, global);
  if (schedule.flat) {
    if (failed(emitFlat()))
      return failure();
  } else {
    if (failed(emitRows()))
      return failure();
    emitBuffers(hasScratch ? function.getArguments().back() : Value());
    for (unsigned i = 0; i < plan.loops.size(); ++i)
      if (failed(emitLoop(i)))
        return failure();
  }
  gpu::ReturnOp::create(builder, loc);
  return function;
}

FailureOr<gpu::GPUFuncOp> tp::generateGpuRows(func::FuncOp kernel,
                                              const KernelPlan &plan,
                                              const RowSchedule &schedule,
                                              const KernelAlignment &alignment,
                                              gpu::GPUModuleOp module) {
  return RowWriter(kernel, plan, schedule, alignment, module).run();
}
