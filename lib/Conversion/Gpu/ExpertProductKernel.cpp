//===- ExpertProductKernel.cpp - Products of experts on a device ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block multiplies a tile of slots of one expert (its *left* rows) with rows
// of that expert's matrices (its *right* rows), both contiguous along the
// reduction; see ExpertKernels.h. Copies of the next step run beside the
// products of this one. Rows of gate and up alternate by eight in shared
// memory,
//
//        right row      0-7        8-15     16-23       24-31    ...
//        is             gate 0-7   up 0-7   gate 8-15   up 8-15
//
// so that a lane holds both numbers of a position, and one tile of results is
// behind the other. Left rows and columns that there are not repeat the last:
// they have no part in the others, and are not written.
//
//===----------------------------------------------------------------------===//

#include "ExpertKernels.h"
#include "TensorCores.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Dialect/NN/IR/Gating.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;

/// Bytes that one instruction moves at most.
static constexpr int64_t widestCopy = 16;

namespace {
/// One of the two products.
struct Operands {
  /// Left rows are those of `rowOf`, or slots themselves.
  bool gathers;
  Value left;
  int64_t leftPitch;
  /// Matrices [experts, limit, size]: gate and up, or one.
  SmallVector<Value> right;
  int64_t limit, size;
  int64_t rightPerColumn() const { return right.size(); }
};

class ExpertProductKernel {
public:
  ExpertProductKernel(OpBuilder &builder, Location loc,
                      const ExpertShape &shape, const ExpertTiles &tiles,
                      Value shared, ArrayRef<BlockArgument> arguments,
                      bool isGate);
  void run();

private:
  KernelEmitter e;
  const ExpertShape &shape;
  const ExpertTiles &tiles;
  ExpertScratch scratch;
  Value shared;
  ExpertArguments call;
  bool isGate;
  Operands operands;
  Value thread, lane, warpRow, warpColumn;
  Value expert, first, count, column; ///< of the block's tile

  int64_t getSizeBytes() const { return operands.size * shape.getBytes(); }
  /// Bytes that a row divides into.
  int64_t getChunk() const {
    return std::max<int64_t>(
        std::min<int64_t>(widestCopy, getSizeBytes() & -getSizeBytes()),
        shape.getBytes());
  }
  Value getLeftRow(Value row);
  Value getRightRow(Value row);
  Value isAligned();
  void copyUnit(Value to, Value from, int64_t bytes, Value isThere);
  void copyUnits(Value stage, Value skip, int64_t bytes);
  void copyStep(Value step, ArrayRef<Value> pointers, Value aligned);
  SmallVector<Value> getPointers();
  void multiply(Value stage, Fragments &sums);
  void multiplyFused(Value left, Value right, Fragments &sums);
  void compute();
  void write(const Fragments &sums);
  void writeGate(const Fragment &sums, int64_t half, Value line);
  void writeSums(const Fragment &sums, int64_t half, Value line);
};
} // namespace

ExpertProductKernel::ExpertProductKernel(OpBuilder &builder, Location loc,
                                         const ExpertShape &shape,
                                         const ExpertTiles &tiles, Value shared,
                                         ArrayRef<BlockArgument> arguments,
                                         bool isGate)
    : e(builder, loc), shape(shape), tiles(tiles), scratch(shape, tiles),
      shared(shared), call(ExpertArguments::read(e, arguments)),
      isGate(isGate) {
  if (isGate)
    operands = {
        true,    call.input, shape.k * shape.getBytes(), {call.gate, call.up},
        shape.f, shape.k};
  else
    operands = {false,
                e.offset(call.scratch, e.int64(scratch.inner)),
                scratch.widthPitch,
                {call.down},
                shape.n,
                shape.f};
  thread = e.threadId();
  lane = e.rem(thread, 32);
  Value warp = e.div(thread, 32);
  warpRow = e.mul(e.rem(warp, tiles.rowWarps), tiles.getWarpRows());
  warpColumn = e.mul(e.div(warp, tiles.rowWarps), tiles.getWarpColumns());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Where row `row` of the block's left rows begins.
Value ExpertProductKernel::getLeftRow(Value row) {
  Value slot = e.add(first, e.least(row, e.sub(count, 1)));
  if (operands.gathers) {
    Value place = e.add(e.mul(e.toInt64(slot), 4), e.int64(scratch.rowOf));
    slot = e.load(e.i32, e.offset(call.scratch, place), 4);
  }
  return e.offset(operands.left, e.mul(e.toInt64(slot), operands.leftPitch));
}

Value ExpertProductKernel::getRightRow(Value row) {
  Value base = operands.right.front(), own = row;
  if (isGate) {
    Value isUp =
        e.compare(arith::CmpIPredicate::ne, e.bitAnd(e.div(row, 8), 1), 0);
    base = e.select(isUp, operands.right[1], base);
    own = e.add(e.mul(e.div(row, 16), 8), e.rem(row, 8));
  }
  own = e.least(e.add(column, own), operands.limit - 1);
  Value line = e.add(e.mul(e.toInt64(expert), operands.limit), e.toInt64(own));
  return e.offset(base, e.mul(line, getSizeBytes()));
}

/// Whether all rows of the call begin at a chunk.
Value ExpertProductKernel::isAligned() {
  Value bits = LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, operands.left);
  for (Value pointer : operands.right)
    bits = e.bitOr(bits,
                   LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, pointer));
  return e.compare(arith::CmpIPredicate::eq, e.bitAnd(bits, getChunk() - 1), 0);
}

void ExpertProductKernel::copyUnit(Value to, Value from, int64_t bytes,
                                   Value isThere) {
  if (bytes >= 4)
    return e.copyAsync(to, from, bytes, isThere);
  Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                         e.builder.getI16IntegerAttr(0));
  Value value = e.choose(
      isThere,
      [&] { return KernelEmitter::Values{e.load(e.i16, from, bytes)}; },
      [&] { return KernelEmitter::Values{zero}; })[0];
  e.store(value, to, bytes);
}

/// Any rows, a unit of `bytes` at a time.
void ExpertProductKernel::copyUnits(Value stage, Value skip, int64_t bytes) {
  int64_t units = tiles.stepBytes / bytes, place = 0;
  auto copy = [&](int64_t rows, function_ref<Value(Value)> getRow) {
    Value to = e.offset(stage, place);
    e.keptLoop(
        thread, e.int32(rows * units), tiles.getThreads(), [&](Value index) {
          Value row = e.div(index, units);
          Value own = e.mul(e.rem(index, units), bytes);
          Value from = e.add(skip, own);
          copyUnit(e.offset(to, e.add(e.mul(row, tiles.getPitch()), own)),
                   e.offset(getRow(row), e.toInt64(from)), bytes,
                   e.compare(arith::CmpIPredicate::slt, from, getSizeBytes()));
        });
    place += rows * tiles.getPitch();
  };
  copy(tiles.getRows(), [&](Value row) { return getLeftRow(row); });
  copy(tiles.getColumns(), [&](Value row) { return getRightRow(row); });
}

/// Where this thread's units of 16 bytes begin in its rows, left then right.
SmallVector<Value> ExpertProductKernel::getPointers() {
  int64_t units = tiles.stepBytes / widestCopy;
  int64_t pass = tiles.getThreads() / units;
  assert(tiles.getRows() % pass == 0 && tiles.getColumns() % pass == 0);
  Value row = e.div(thread, units);
  Value skip = e.toInt64(e.mul(e.rem(thread, units), widestCopy));
  SmallVector<Value> pointers;
  for (int64_t start = 0; start < tiles.getRows(); start += pass)
    pointers.push_back(e.offset(getLeftRow(e.add(row, start)), skip));
  for (int64_t start = 0; start < tiles.getColumns(); start += pass)
    pointers.push_back(e.offset(getRightRow(e.add(row, start)), skip));
  return pointers;
}

/// Starts the copies of a step; zeros arrive behind the end of rows.
void ExpertProductKernel::copyStep(Value step, ArrayRef<Value> pointers,
                                   Value aligned) {
  Value stage = e.offset(shared, e.mul(e.rem(step, 2), tiles.getStageBytes()));
  Value skip = e.mul(step, tiles.stepBytes);
  int64_t units = tiles.stepBytes / widestCopy;
  auto fast = [&] {
    Value own = e.mul(e.rem(thread, units), widestCopy);
    Value isThere =
        e.compare(arith::CmpIPredicate::slt, e.add(skip, own), getSizeBytes());
    Value to = e.offset(
        stage, e.add(e.mul(e.div(thread, units), tiles.getPitch()), own));
    for (auto [i, from] : llvm::enumerate(pointers)) {
      int64_t row = int64_t(i) * (tiles.getThreads() / units);
      e.copyAsync(e.offset(to, row * tiles.getPitch()),
                  e.offset(from, e.toInt64(skip)), widestCopy, isThere);
    }
    return KernelEmitter::Values();
  };
  auto byChunk = [&] {
    copyUnits(stage, skip, getChunk());
    return KernelEmitter::Values();
  };
  e.choose(
      aligned, [&] { return getChunk() == widestCopy ? fast() : byChunk(); },
      [&] {
        copyUnits(stage, skip, shape.getBytes());
        return KernelEmitter::Values();
      });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Fused multiply-adds, in the lanes that tensor cores have their results in.
void ExpertProductKernel::multiplyFused(Value left, Value right,
                                        Fragments &sums) {
  int64_t pitch = tiles.getPitch();
  left = e.offset(left, e.mul(e.div(lane, 4), pitch));
  right = e.offset(right, e.mul(e.rem(lane, 4), 2 * pitch));
  KernelEmitter::Values flat;
  for (const Fragment &fragment : sums)
    for (const auto &tile : fragment)
      llvm::append_range(flat, tile);
  auto index = [&](int64_t half, int64_t tile, int64_t side) {
    return (half / 2 * tiles.tiles + tile) * 4 + half % 2 * 2 + side;
  };
  flat = e.loop(e.int32(0), e.int32(tiles.stepBytes), widestCopy, flat,
                [&](Value skip, ValueRange carried) {
                  KernelEmitter::Values next(carried);
                  SmallVector<std::array<Value, 4>> rows;
                  for (int64_t half = 0; half < 2 * tiles.fragments; ++half)
                    rows.push_back(loadFour(
                        e, e.offset(e.offset(left, skip), 8 * half * pitch)));
                  for (int64_t tile = 0; tile < tiles.tiles; ++tile)
                    for (int64_t side = 0; side < 2; ++side) {
                      auto own =
                          loadFour(e, e.offset(e.offset(right, skip),
                                               (8 * tile + side) * pitch));
                      for (auto [half, row] : llvm::enumerate(rows))
                        for (auto [a, b] : llvm::zip_equal(row, own)) {
                          Value &sum = next[index(half, tile, side)];
                          sum = e.fma(a, b, sum);
                        }
                    }
                  return next;
                });
  for (auto [f, fragment] : llvm::enumerate(sums))
    for (auto [t, tile] : llvm::enumerate(fragment))
      for (int64_t i = 0; i < 4; ++i)
        tile[i] = flat[(f * tiles.tiles + t) * 4 + i];
}

/// sums += the warp's left rows * its right rows, of one stage.
void ExpertProductKernel::multiply(Value stage, Fragments &sums) {
  int64_t pitch = tiles.getPitch();
  Value left = e.offset(stage, e.mul(warpRow, pitch));
  Value right =
      e.offset(stage, e.mul(e.add(warpColumn, tiles.getRows()), pitch));
  if (shape.type.isF32())
    return multiplyFused(left, right, sums);
  TensorCores cores(e, shape.type);
  left = e.offset(left, cores.getPlaceByRows(lane, pitch));
  right = e.offset(right, cores.getPlaceByColumns(lane, pitch));
  for (int64_t skip = 0; skip < tiles.stepBytes; skip += 32) {
    SmallVector<TensorCores::Registers> rows;
    for (int64_t fragment = 0; fragment < tiles.fragments; ++fragment)
      rows.push_back(cores.load(e.offset(left, 16 * fragment * pitch + skip)));
    for (int64_t tile = 0; tile < tiles.tiles; tile += 2) {
      TensorCores::Registers own =
          cores.load(e.offset(right, 8 * tile * pitch + skip));
      for (auto [fragment, row] : llvm::zip_equal(sums, rows)) {
        cores.multiply(fragment[tile], row, own[0], own[1]);
        cores.multiply(fragment[tile + 1], row, own[2], own[3]);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void ExpertProductKernel::writeGate(const Fragment &sums, int64_t half,
                                    Value line) {
  Value own =
      e.add(e.add(column, e.div(warpColumn, 2)), e.mul(e.rem(lane, 4), 2));
  for (int64_t tile = 0; tile < tiles.tiles; tile += 2) {
    Value at = e.add(own, 4 * tile);
    // The pitch has room for both.
    e.when(e.compare(arith::CmpIPredicate::slt, at, operands.limit), [&] {
      SmallVector<Value> both;
      for (int64_t side = 0; side < 2; ++side) {
        Value gate = sums[tile][2 * half + side];
        both.push_back(e.mulf(
            nn::buildActivation(e.builder, e.loc, shape.activation, gate),
            sums[tile + 1][2 * half + side]));
      }
      Value place = e.offset(line, e.mul(e.toInt64(at), shape.getBytes()));
      e.store(shape.type.isF32() ? e.makeVector(both)
                                 : e.pack(both[0], both[1], shape.type),
              place, 2 * shape.getBytes());
    });
  }
}

void ExpertProductKernel::writeSums(const Fragment &sums, int64_t half,
                                    Value line) {
  Value own = e.add(e.add(column, warpColumn), e.mul(e.rem(lane, 4), 2));
  for (int64_t tile = 0; tile < tiles.tiles; ++tile) {
    Value at = e.add(own, 8 * tile);
    e.when(e.compare(arith::CmpIPredicate::slt, at, operands.limit), [&] {
      e.store(e.makeVector({sums[tile][2 * half], sums[tile][2 * half + 1]}),
              e.offset(line, e.mul(e.toInt64(at), 4)), 8);
    });
  }
}

void ExpertProductKernel::write(const Fragments &sums) {
  int64_t pitch = isGate ? scratch.widthPitch : scratch.outerPitch;
  Value base =
      e.offset(call.scratch, e.int64(isGate ? scratch.inner : scratch.outer));
  for (auto [i, fragment] : llvm::enumerate(sums))
    for (int64_t half = 0; half < 2; ++half) {
      Value row =
          e.add(e.add(warpRow, e.div(lane, 4)), 16 * int64_t(i) + 8 * half);
      e.when(e.compare(arith::CmpIPredicate::slt, row, count), [&] {
        Value line = e.offset(base, e.mul(e.toInt64(e.add(first, row)), pitch));
        if (isGate)
          writeGate(fragment, half, line);
        else
          writeSums(fragment, half, line);
      });
    }
}

void ExpertProductKernel::compute() {
  column = e.mul(e.blockId(1), tiles.getColumns() / operands.rightPerColumn());
  Value aligned = isAligned();
  SmallVector<Value> pointers;
  if (getChunk() == widestCopy)
    pointers = getPointers();
  int64_t steps = llvm::divideCeil(getSizeBytes(), tiles.stepBytes);
  copyStep(e.int32(0), pointers, aligned);
  e.commitCopies();
  Fragments sums(tiles.fragments, makeZeros(e, tiles.tiles));
  auto flatten = [&] {
    KernelEmitter::Values flat;
    for (const Fragment &fragment : sums)
      for (const auto &tile : fragment)
        llvm::append_range(flat, tile);
    return flat;
  };
  auto assign = [&](ValueRange flat) {
    for (auto [f, fragment] : llvm::enumerate(sums))
      for (auto [t, tile] : llvm::enumerate(fragment))
        for (int64_t i = 0; i < 4; ++i)
          tile[i] = flat[(f * tiles.tiles + t) * 4 + i];
  };
  assign(e.loop(
      e.int32(0), e.int32(steps), 1, flatten(),
      [&](Value step, ValueRange carried) {
        assign(carried);
        e.waitForCopies();
        e.barrier();
        Value next = e.add(step, 1);
        e.when(e.compare(arith::CmpIPredicate::slt, next, steps),
               [&] { copyStep(next, pointers, aligned); });
        e.commitCopies();
        multiply(e.offset(shared, e.mul(e.rem(step, 2), tiles.getStageBytes())),
                 sums);
        return flatten();
      }));
  write(sums);
}

void ExpertProductKernel::run() {
  Value place =
      e.add(e.mul(e.toInt64(e.blockId(0)), 16), e.int64(scratch.tiles));
  Value entry =
      e.load(VectorType::get(4, e.i32), e.offset(call.scratch, place), 16);
  auto get = [&](int64_t i) -> Value {
    return LLVM::ExtractElementOp::create(e.builder, e.loc, entry, e.int32(i));
  };
  expert = get(0);
  first = get(1);
  count = get(2);
  e.when(e.compare(arith::CmpIPredicate::sgt, count, 0), [&] { compute(); });
}

static void generate(gpu::GPUModuleOp module, StringRef name,
                     const ExpertShape &shape, const ExpertTiles &tiles,
                     Location loc, bool isGate) {
  OpBuilder builder(module.getContext());
  int64_t columns = tiles.getColumns() / (isGate ? 2 : 1);
  Launch launch;
  launch.grid = {tiles.getTiles(shape),
                 int64_t(llvm::divideCeil(isGate ? shape.f : shape.n, columns)),
                 1};
  launch.block = {tiles.getThreads(), 1, 1};
  launch.sharedBytes = 2 * tiles.getStageBytes();
  gpu::GPUFuncOp kernel = createKernel(
      module, builder, loc, name, ExpertArguments::getTypes(builder), launch);
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(2));
  Value shared =
      LLVM::AddressOfOp::create(builder, loc, getSharedMemory(module, loc));
  ExpertProductKernel(builder, loc, shape, tiles, shared, kernel.getArguments(),
                      isGate)
      .run();
  gpu::ReturnOp::create(builder, loc);
}

void tp::generateExpertGate(gpu::GPUModuleOp module, StringRef name,
                            const ExpertShape &shape, const ExpertTiles &tiles,
                            Location loc) {
  generate(module, name, shape, tiles, loc, /*isGate=*/true);
}

void tp::generateExpertDown(gpu::GPUModuleOp module, StringRef name,
                            const ExpertShape &shape, const ExpertTiles &tiles,
                            Location loc) {
  generate(module, name, shape, tiles, loc, /*isGate=*/false);
}
