//===- AttentionSplits.cpp - Blocks that share the keys of a row ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second kernel has a block for each row. A thread owns a column of the
// head; several groups of threads share the splits, so that the reads of all
// splits are under way together. Each warp works out the weights by itself, a
// split per lane; groups add up through shared memory, in order.
//
//===----------------------------------------------------------------------===//

#include "AttentionSplits.h"

#include "AttentionArguments.h"

#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tp;

/// Most threads of a block of the second kernel, and splits that a group is
/// worth.
static constexpr int64_t combineThreads = 512;
static constexpr int64_t splitsOfGroup = 8;

static int64_t countParts(const AttentionShape &shape,
                          const AttentionTiles &tiles) {
  return shape.batch * shape.keyHeads * shape.getRows() * tiles.splits;
}

int64_t AttentionSplits::getScratchBytes(const AttentionShape &shape,
                                         const AttentionTiles &tiles) {
  if (tiles.splits == 1)
    return 0;
  return llvm::alignTo(countParts(shape, tiles) * (tiles.value.padded + 2) * 4,
                       64);
}

void AttentionSplits::narrow(Value &first, Value &end, Value split) {
  Value count = e.max(e.sub(end, first), 0);
  auto getBorder = [&](Value number) {
    return e.add(first, e.div(e.mul(count, number), tiles.splits));
  };
  end = getBorder(e.add(split, 1));
  first = getBorder(split);
}

Value AttentionSplits::getPart(Value line, Value row) {
  Value number = e.add(e.mul(line, shape.getRows()), row);
  return e.mul(e.toInt64(number), tiles.splits);
}

Value AttentionSplits::getSums(Value scratch, Value line, Value row) {
  return e.offset(scratch, e.mul(getPart(line, row), tiles.value.padded * 4));
}

Value AttentionSplits::getPairs(Value scratch, Value line, Value row) {
  Value first =
      e.offset(scratch, countParts(shape, tiles) * tiles.value.padded * 4);
  return e.offset(first, e.mul(getPart(line, row), 8));
}

void AttentionSplits::store(const SoftmaxState &state,
                            AttentionProducts &products, Value scratch,
                            Value line, Value firstRow, Value before,
                            function_ref<Value(Value)> isRow, Value split,
                            Value lane) {
  Value isFirst = e.compare(arith::CmpIPredicate::eq, e.rem(lane, 4), 0);
  for (int64_t half = 0; half < 2 * tiles.fragments; ++half) {
    Value row = e.add(e.add(firstRow, e.div(lane, 4)), 8 * half);
    e.ifThen(isRow(row), [&] {
      row = e.add(row, before);
      Value own = e.toInt64(split);
      products.storeSums(state.outputs[half / 2], half % 2,
                         e.offset(getSums(scratch, line, row),
                                  e.mul(own, tiles.value.padded * 4)));
      e.ifThen(isFirst, [&] {
        e.store(e.makeVector({state.greatest[half], state.sum[half]}),
                e.offset(getPairs(scratch, line, row), e.mul(own, 8)), 8);
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// The second kernel
//===----------------------------------------------------------------------===//

namespace {
struct CombineShape {
  int64_t columns, groups;
  CombineShape(const AttentionShape &shape, const AttentionTiles &tiles)
      : columns(llvm::alignTo(shape.valueSize, 32)),
        groups(
            std::clamp<int64_t>(llvm::divideCeil(tiles.splits, splitsOfGroup),
                                1, combineThreads / columns)) {}
  int64_t getThreads() const { return columns * groups; }
};

class CombineKernel {
public:
  CombineKernel(OpBuilder &builder, Location loc, const AttentionShape &shape,
                const AttentionTiles &tiles, Value shared,
                ArrayRef<BlockArgument> arguments)
      : e(builder, loc), shape(shape), tiles(tiles), form(shape, tiles),
        softmax(e, shape, tiles), splits(e, shape, tiles), shared(shared),
        call(AttentionArguments::read(e, shape, tiles, arguments)) {}
  void run();

private:
  KernelEmitter e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  CombineShape form;
  AttentionSoftmax softmax;
  AttentionSplits splits;
  Value shared;
  AttentionArguments call;
  Value thread, group, column, row, keyHead, batch, line;

  void reduce(Value pairs, Value &shift, Value &sum);
  Value addUp(Value pairs, Value shift);
  Value addGroups(Value sum);
  void write(Value result, Value logarithm);
};
} // namespace

/// Over all splits, on each thread: what the powers are shifted by, their sum.
void CombineKernel::reduce(Value pairs, Value &shift, Value &sum) {
  Value lowest = e.float32(-std::numeric_limits<double>::infinity());
  Value lane = e.rem(thread, 32);
  SmallVector<std::pair<Value, Value>> own;
  Value greatest = lowest;
  for (int64_t first = 0; first < tiles.splits; first += 32) {
    Value split = e.add(lane, first);
    Value inBounds = e.compare(arith::CmpIPredicate::slt, split, tiles.splits);
    Value place =
        e.offset(pairs, e.toInt64(e.mul(e.min(split, tiles.splits - 1), 8)));
    Value pair = e.load(VectorType::get(2, e.f32), place, 8);
    auto get = [&](int64_t i) -> Value {
      return LLVM::ExtractElementOp::create(e.builder, e.loc, pair, e.int32(i));
    };
    own.push_back({e.select(inBounds, get(0), lowest), get(1)});
    greatest = e.maxf(greatest, own.back().first);
  }
  Value sink;
  if (shape.sinksType) {
    Value head = e.add(e.mul(keyHead, shape.getSharing()),
                       e.rem(row, shape.getSharing()));
    sink = softmax.readSink(call.sinks, shape.sinksType, head);
    greatest = e.maxf(greatest, sink);
  }
  shift = softmax.getShift(e.maxOfWarp(greatest));
  sum = e.float32(0);
  for (auto [score, powers] : own)
    sum = e.fma(powers, softmax.getPower(score, shift), sum);
  sum = e.sumOfWarp(sum);
  if (sink)
    sum = e.addf(sum, softmax.getPower(sink, shift));
}

/// This thread's column over the splits of its group: g, g + groups, ...
Value CombineKernel::addUp(Value pairs, Value shift) {
  Value sums =
      e.offset(splits.getSums(call.scratch, line, row),
               e.toInt64(e.mul(e.min(column, shape.valueSize - 1), 4)));
  SmallVector<std::pair<Value, Value>> own;
  for (int64_t first = 0; first < tiles.splits; first += form.groups) {
    Value split = e.add(group, first), place = split;
    bool mayEnd = first + form.groups > tiles.splits;
    if (mayEnd)
      place = e.min(split, tiles.splits - 1);
    place = e.toInt64(place);
    Value score = e.load(e.f32, e.offset(pairs, e.mul(place, 8)), 4);
    if (mayEnd)
      score =
          e.select(e.compare(arith::CmpIPredicate::slt, split, tiles.splits),
                   score, e.float32(-std::numeric_limits<double>::infinity()));
    own.push_back(
        {score,
         e.load(e.f32, e.offset(sums, e.mul(place, tiles.value.padded * 4)),
                4)});
  }
  Value sum = e.float32(0);
  for (auto [score, value] : own)
    sum = e.fma(value, softmax.getPower(score, shift), sum);
  return sum;
}

/// The groups' sums, on the threads of the first.
Value CombineKernel::addGroups(Value sum) {
  if (form.groups == 1)
    return sum;
  e.store(sum, e.offset(shared, e.mul(thread, 4)), 4);
  e.barrier();
  for (int64_t other = 1; other < form.groups; ++other)
    sum = e.addf(
        sum,
        e.load(e.f32,
               e.offset(shared, e.mul(e.add(column, other * form.columns), 4)),
               4));
  return sum;
}

void CombineKernel::write(Value result, Value logarithm) {
  int64_t sharing = shape.getSharing();
  Value head = e.add(e.mul(keyHead, sharing), e.rem(row, sharing));
  Value query = e.toInt64(e.div(row, sharing));
  e.ifThen(e.compare(arith::CmpIPredicate::slt, column, shape.valueSize), [&] {
    Value position = e.add(e.mul(e.toInt64(batch), shape.queryLength), query);
    Value element =
        e.add(e.mul(position, call.outputStride),
              e.toInt64(e.add(e.mul(head, shape.valueSize), column)));
    int64_t bytes = shape.getBytes(shape.queryType);
    if (!shape.queryType.isF32())
      result = LLVM::TruncOp::create(e.builder, e.loc, e.i16,
                                     e.pack(result, result, shape.queryType));
    e.store(result, e.offset(call.output, e.mul(element, bytes)), bytes);
  });
  if (!call.logSumExp)
    return;
  Value null = LLVM::ZeroOp::create(e.builder, e.loc, e.globalPointer);
  Value isWanted = LLVM::ICmpOp::create(
      e.builder, e.loc, LLVM::ICmpPredicate::ne, call.logSumExp, null);
  Value isFirst = e.compare(arith::CmpIPredicate::eq, column, 0);
  e.ifThen(e.bitAnd(isWanted, isFirst), [&] {
    Value place = e.add(e.mul(e.toInt64(batch), shape.queryLength), query);
    place = e.add(e.mul(place, shape.queryHeads), e.toInt64(head));
    e.store(logarithm, e.offset(call.logSumExp, e.mul(place, 4)), 4);
  });
}

void CombineKernel::run() {
  thread = e.threadId();
  group = e.div(thread, form.columns);
  column = e.rem(thread, form.columns);
  row = e.blockId(0);
  keyHead = e.blockId(1);
  batch = e.blockId(2);
  line = e.add(e.mul(batch, shape.keyHeads), keyHead);
  Value pairs = splits.getPairs(call.scratch, line, row);
  Value shift, sum;
  reduce(pairs, shift, sum);
  Value result = addGroups(addUp(pairs, shift));
  auto finish = [&] {
    write(e.mulf(result, softmax.getInverse(sum)),
          softmax.getLogarithm(sum, shift));
  };
  if (form.groups == 1)
    finish();
  else
    e.ifThen(e.compare(arith::CmpIPredicate::eq, group, 0), finish);
}

gpu::GPUFuncOp tp::generateAttentionCombine(gpu::GPUModuleOp module,
                                            StringRef name,
                                            const AttentionShape &shape,
                                            const AttentionTiles &tiles,
                                            Location loc) {
  CombineShape form(shape, tiles);
  LLVM::GlobalOp shared = getSharedMemory(module, loc);
  OpBuilder builder(module.getContext());
  Launch launch;
  launch.grid = {shape.getRows(), shape.keyHeads, shape.batch};
  launch.block = {form.getThreads(), 1, 1};
  launch.sharedBytes = form.groups > 1 ? form.getThreads() * 4 : 0;
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name,
                   AttentionArguments::getTypes(builder, shape, tiles), launch);
  Value memory = LLVM::AddressOfOp::create(builder, loc, shared);
  CombineKernel(builder, loc, shape, tiles, memory, kernel.getArguments())
      .run();
  gpu::ReturnOp::create(builder, loc);
  return kernel;
}
