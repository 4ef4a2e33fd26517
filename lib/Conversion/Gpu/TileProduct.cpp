//===- TileProduct.cpp - A product of two tiles of rows -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TileProduct.h.
//
//===----------------------------------------------------------------------===//

#include "TileProduct.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;

/// Bytes that one instruction moves at most.
static constexpr int64_t widestCopy = 16;

TileProduct::TileProduct(KernelEmitter &emitter, Type type,
                         const ProductTiles &tiles, Value shared,
                         TileOperand left, TileOperand right,
                         ArrayRef<Value> bases)
    : e(emitter), type(type), tiles(tiles), shared(shared),
      left(std::move(left)), right(std::move(right)), thread(e.threadId()),
      lane(e.rem(thread, 32)) {
  Value warp = e.div(thread, 32);
  warpRow = e.mul(e.rem(warp, tiles.rowWarps), tiles.getWarpRows());
  warpColumn = e.mul(e.div(warp, tiles.rowWarps), tiles.getWarpColumns());
  int64_t lines = this->left.lineBytes | this->right.lineBytes;
  chunk = std::max(std::min(widestCopy, lines & -lines), getBytes());
  Value bits = e.int64(0);
  for (Value base : bases)
    bits =
        e.bitOr(bits, LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, base));
  isAligned = e.compare(arith::CmpIPredicate::eq, e.bitAnd(bits, chunk - 1), 0);
}

/// Eight lines at the same column lie in different banks.
TileProduct::Layout TileProduct::getLayout(Type type, const ProductTiles &tiles,
                                           bool isAcross, int64_t rows) {
  int64_t element = getElementBytes(type);
  int64_t lines = isAcross ? tiles.stepBytes / element : rows;
  int64_t bytes = isAcross ? rows * element : tiles.stepBytes;
  return {lines, bytes, bytes + 16};
}

int64_t TileProduct::getSharedBytes(Type type, const ProductTiles &tiles,
                                    bool isLeftAcross, bool isRightAcross) {
  return 2 * (getLayout(type, tiles, isLeftAcross, tiles.getRows())
                  .getStageBytes() +
              getLayout(type, tiles, isRightAcross, tiles.getColumns())
                  .getStageBytes());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void TileProduct::copyUnit(Value to, Value from, int64_t bytes,
                           Value inBounds) {
  if (bytes >= 4)
    return e.copyAsync(to, from, bytes, inBounds);
  Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                         e.builder.getI16IntegerAttr(0));
  Value value = e.ifElse(
      inBounds,
      [&] { return KernelEmitter::Values{e.load(e.i16, from, bytes)}; },
      [&] { return KernelEmitter::Values{zero}; })[0];
  e.store(value, to, bytes);
}

/// Along the reduction a thread's units of 16 bytes stay in their lines: where
/// they begin there.
SmallVector<Value> TileProduct::getPointers(bool isLeft) {
  const TileOperand &operand = isLeft ? left : right;
  SmallVector<Value> pointers;
  if (operand.isAcross || operand.make || chunk != widestCopy)
    return pointers;
  Layout layout = getLayout(isLeft);
  int64_t units = layout.bytes / widestCopy;
  int64_t pass = tiles.getThreads() / units;
  assert(layout.lines % pass == 0);
  Value line = e.div(thread, units);
  Value skip = e.toInt64(e.mul(e.rem(thread, units), widestCopy));
  for (int64_t first = 0; first < layout.lines; first += pass)
    pointers.push_back(e.offset(operand.getLine(e.add(line, first)), skip));
  return pointers;
}

/// Starts the copies of one operand's part of a step, units of `bytes`; zeros
/// arrive for what there is not. Passes of 16 bytes are written out.
void TileProduct::copyOperand(bool isLeft, Value stage, Value step, Value size,
                              int64_t bytes, ArrayRef<Value> pointers) {
  const TileOperand &operand = isLeft ? left : right;
  if (operand.make)
    return;
  Layout layout = getLayout(isLeft);
  int64_t units = layout.bytes / bytes;
  auto isLess = [&](Value a, Value b) {
    return e.compare(arith::CmpIPredicate::slt, a, b);
  };
  auto copy = [&](Value line, Value own, Value pointer) {
    Value to = e.offset(stage, e.add(e.mul(line, layout.pitch), own));
    if (operand.isAcross) {
      Value position = e.add(e.mul(step, layout.lines), line);
      Value at = e.add(operand.skipped, own);
      Value inBounds = e.bitAnd(isLess(position, size),
                                isLess(at, e.int32(operand.lineBytes)));
      Value from = operand.getLine(e.min(position, e.sub(size, 1)));
      return copyUnit(to, e.offset(from, e.toInt64(at)), bytes, inBounds);
    }
    Value skip = e.mul(step, tiles.stepBytes), at = e.add(skip, own);
    Value inBounds = isLess(at, e.int32(operand.lineBytes));
    // It has the thread's place in its line.
    Value from = pointer ? e.offset(pointer, e.toInt64(skip))
                         : e.offset(operand.getLine(line), e.toInt64(at));
    copyUnit(to, from, bytes, inBounds);
  };
  if (bytes < widestCopy)
    return e.loopNoUnroll(thread, e.int32(layout.lines * units),
                          tiles.getThreads(), [&](Value index) {
                            copy(e.div(index, units),
                                 e.mul(e.rem(index, units), bytes), {});
                          });
  int64_t pass = tiles.getThreads() / units;
  assert(pass > 0 && layout.lines % pass == 0);
  Value line = e.div(thread, units);
  Value own = e.mul(e.rem(thread, units), bytes);
  for (int64_t i = 0; i < layout.lines / pass; ++i)
    copy(e.add(line, i * pass), own,
         pointers.empty() ? Value() : pointers[size_t(i)]);
}

/// Writes one operand's part of a step, 16 bytes at a time.
void TileProduct::makeOperand(const TileOperand &operand, const Layout &layout,
                              Value stage, Value step) {
  int64_t size = widestCopy / getBytes(), units = layout.bytes / widestCopy;
  e.loopNoUnroll(
      thread, e.int32(layout.lines * units), tiles.getThreads(),
      [&](Value index) {
        Value line = e.div(index, units), unit = e.rem(index, units);
        Value position = e.add(e.mul(step, getSteps()), e.mul(unit, size));
        KernelEmitter::Values numbers = operand.make(line, position, size);
        if (!type.isF32()) {
          for (size_t i = 0; i < numbers.size() / 2; ++i)
            numbers[i] = e.pack(numbers[2 * i], numbers[2 * i + 1], type);
          numbers.truncate(numbers.size() / 2);
        }
        Value to = e.offset(
            stage, e.add(e.mul(line, layout.pitch), e.mul(unit, widestCopy)));
        e.store(e.makeVector(numbers), to, widestCopy);
      });
}

void TileProduct::copyStep(Value step, Value size, ArrayRef<Value> leftPointers,
                           ArrayRef<Value> rightPointers) {
  Value stage = getStage(step);
  auto copy = [&](int64_t bytes) {
    copyOperand(true, stage, step, size, bytes, leftPointers);
    copyOperand(false, e.offset(stage, getLayout(true).getStageBytes()), step,
                size, bytes, rightPointers);
    return KernelEmitter::Values();
  };
  e.ifElse(
      isAligned, [&] { return copy(chunk); }, [&] { return copy(getBytes()); });
  if (right.make)
    makeOperand(right, getLayout(false),
                e.offset(stage, getLayout(true).getStageBytes()), step);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void TileProduct::multiplyTensorCores(Value leftStage, Value rightStage,
                                      Fragments &sums) {
  TensorCores cores(e, type);
  int64_t leftPitch = getLayout(true).pitch,
          rightPitch = getLayout(false).pitch;
  // Across, a block of 16 lines and 16 columns is read transposed: matrices 1
  // and 2 of left operands change places by the lanes' other way.
  Value ofLeft = left.isAcross ? e.add(cores.getPlaceByColumns(lane, leftPitch),
                                       e.mul(warpRow, getBytes()))
                               : e.add(cores.getPlaceByRows(lane, leftPitch),
                                       e.mul(warpRow, leftPitch));
  Value ofRight = right.isAcross
                      ? e.add(cores.getPlaceByRows(lane, rightPitch),
                              e.mul(warpColumn, getBytes()))
                      : e.add(cores.getPlaceByColumns(lane, rightPitch),
                              e.mul(warpColumn, rightPitch));
  leftStage = e.offset(leftStage, ofLeft);
  rightStage = e.offset(rightStage, ofRight);
  for (int64_t step = 0; step < getSteps(); step += 16) {
    SmallVector<TensorCores::Registers> rows;
    for (int64_t row = 0; row < tiles.getWarpRows(); row += 16)
      rows.push_back(cores.load(
          e.offset(leftStage, left.isAcross ? step * leftPitch + 2 * row
                                            : row * leftPitch + 2 * step),
          left.isAcross));
    for (int64_t tile = 0; tile < tiles.tiles; tile += 2) {
      TensorCores::Registers own = cores.load(
          e.offset(rightStage, right.isAcross
                                   ? step * rightPitch + 16 * tile
                                   : 8 * tile * rightPitch + 2 * step),
          right.isAcross);
      for (auto [fragment, row] : llvm::zip_equal(sums, rows)) {
        cores.multiply(fragment[tile], row, own[0], own[1]);
        cores.multiply(fragment[tile + 1], row, own[2], own[3]);
      }
    }
  }
}

/// Four positions of the reduction at a time.
void TileProduct::multiplyFused(Value leftStage, Value rightStage,
                                Fragments &sums) {
  int64_t leftPitch = getLayout(true).pitch,
          rightPitch = getLayout(false).pitch;
  Value row = e.add(warpRow, e.div(lane, 4));
  Value column = e.add(warpColumn, e.mul(e.rem(lane, 4), 2));
  leftStage = e.offset(leftStage, e.mul(row, left.isAcross ? 4 : leftPitch));
  rightStage =
      e.offset(rightStage, e.mul(column, right.isAcross ? 4 : rightPitch));
  using Four = std::array<Value, 4>;
  auto loadLeft = [&](Value at, int64_t own) {
    if (!left.isAcross)
      return loadFour(e, e.offset(at, own * leftPitch));
    Four four;
    for (int64_t i = 0; i < 4; ++i)
      four[i] = e.load(e.f32, e.offset(at, i * leftPitch + 4 * own), 4);
    return four;
  };
  auto loadRight = [&](Value at, int64_t own) -> std::array<Four, 2> {
    if (!right.isAcross)
      return {loadFour(e, e.offset(at, own * rightPitch)),
              loadFour(e, e.offset(at, (own + 1) * rightPitch))};
    std::array<Four, 2> both;
    for (int64_t i = 0; i < 4; ++i) {
      Value pair = e.load(VectorType::get(2, e.f32),
                          e.offset(at, i * rightPitch + 4 * own), 8);
      for (int64_t side = 0; side < 2; ++side)
        both[side][i] = LLVM::ExtractElementOp::create(e.builder, e.loc, pair,
                                                       e.int32(side));
    }
    return both;
  };
  auto advance = [&](Value stage, bool isAcross, int64_t pitch, Value step) {
    return e.offset(stage, e.mul(step, isAcross ? pitch : 4));
  };
  carryingLoop(e, sums, e.int32(0), e.int32(getSteps()), 4, [&](Value step) {
    Value leftAt = advance(leftStage, left.isAcross, leftPitch, step);
    Value rightAt = advance(rightStage, right.isAcross, rightPitch, step);
    SmallVector<Four> rows;
    for (int64_t own = 0; own < tiles.getWarpRows(); own += 8)
      rows.push_back(loadLeft(leftAt, own));
    for (int64_t tile = 0; tile < tiles.tiles; ++tile) {
      std::array<Four, 2> own = loadRight(rightAt, 8 * tile);
      for (int64_t side = 0; side < 2; ++side)
        for (auto [half, four] : llvm::enumerate(rows)) {
          Value &sum = sums[half / 2][tile][half % 2 * 2 + side];
          for (int64_t i = 0; i < 4; ++i)
            sum = e.fma(four[i], own[side][i], sum);
        }
    }
  });
}

void TileProduct::multiply(Value stage, Fragments &sums) {
  Value rightStage = e.offset(stage, getLayout(true).getStageBytes());
  if (type.isF32())
    multiplyFused(stage, rightStage, sums);
  else
    multiplyTensorCores(stage, rightStage, sums);
}

Fragments TileProduct::makeSums() const {
  return Fragments(tiles.fragments, makeZeros(e, tiles.tiles));
}

void TileProduct::accumulate(Fragments &sums, Value size) {
  SmallVector<Value> leftPointers = getPointers(true),
                     rightPointers = getPointers(false);
  Value steps = e.div(e.add(size, getSteps() - 1), getSteps());
  e.ifThen(e.compare(arith::CmpIPredicate::sgt, steps, 0),
           [&] { copyStep(e.int32(0), size, leftPointers, rightPointers); });
  e.commitCopies();
  carryingLoop(e, sums, e.int32(0), steps, 1, [&](Value step) {
    e.waitForCopies();
    e.barrier();
    Value next = e.add(step, 1);
    e.ifThen(e.compare(arith::CmpIPredicate::slt, next, steps),
             [&] { copyStep(next, size, leftPointers, rightPointers); });
    e.commitCopies();
    multiply(getStage(step), sums);
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TileProduct::visitRows(Visit visit) {
  Value own = e.add(warpRow, e.div(lane, 4));
  for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment)
    for (int64_t half = 0; half < 2; ++half)
      visit(e.add(own, 16 * fragment + 8 * half), fragment, half);
}

Value TileProduct::getOwnColumn() {
  return e.add(warpColumn, e.mul(e.rem(lane, 4), 2));
}
