//===- AttentionKernel.cpp - Attention on a device ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionKernel.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "AttentionArguments.h"
#include "AttentionCopies.h"
#include "AttentionMasks.h"
#include "AttentionOrder.h"
#include "AttentionPages.h"
#include "AttentionSplits.h"
#include "tp/Conversion/Kernels/GpuModule.h"

using namespace mlir;
using namespace tp;

/// Blocks of a head walk over its keys and values.
static AttentionOrder getOrder(const AttentionShape &shape,
                               const AttentionTiles &tiles) {
  int64_t bytes = shape.keyCapacity * (shape.headSize + shape.valueSize) *
                  shape.getBytes(shape.keyType);
  return {tiles.splits, tiles.getBlocks(shape), shape.keyHeads,
          shape.batch,  shape.causal,           bytes};
}

namespace {

class AttentionKernel {
public:
  AttentionKernel(OpBuilder &builder, Location loc, const AttentionShape &shape,
                  const AttentionTiles &tiles, Value shared,
                  ArrayRef<BlockArgument> arguments);
  void run();

private:
  KernelEmitter e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  Value shared;
  AttentionArguments call;
  Value thread, lane, warpRow, keyWarp, block, split, keyHead, batch;
  Value blockRow;
  /// The queries of the block's batch entry that it may take rows of: the first
  /// (i64) and their number (i32).
  Value firstQuery, queries;
  std::optional<AttentionTileCopies> copies;
  std::optional<AttentionPages> pages;
  Value firstKey; ///< over pages: the first that any query sees

  /// A tensor of rows [batch, length, heads * head size] from `base` on.
  Value getRow(Value base, Value position, Value stride, Value head,
               int64_t size, Type type);
  GlobalRow getQueryRow(Value base, Value stride, Value row, int64_t size);
  Value isInHead(Value row);
  void findQueries();
  void prepareCopies();
  Value getMaskRow();
  void compute();
  FoundRow findKey(Value key, int64_t size);
  void loadPages(Value stage, Value start);
  void loadTile(Value tile, Value firstTile);
  Value getStage(Value tile, Value firstTile);
  void addBias(Fragments &scores, Value start, Value warpKey,
               AttentionSoftmax &softmax);
  void exchange(SoftmaxState &state, AttentionSoftmax &softmax);
  SmallVector<Value> readSinks(AttentionSoftmax &softmax);
  void finish(SoftmaxState &state, AttentionSoftmax &softmax,
              AttentionSplits &splits, AttentionProducts &products);
  void write(const SoftmaxState &state, ArrayRef<Value> logarithms,
             AttentionProducts &products);
};

} // namespace

AttentionKernel::AttentionKernel(OpBuilder &builder, Location loc,
                                 const AttentionShape &shape,
                                 const AttentionTiles &tiles, Value shared,
                                 ArrayRef<BlockArgument> arguments)
    : e(builder, loc), shape(shape), tiles(tiles), shared(shared),
      call(AttentionArguments::read(e, shape, tiles, arguments)) {
  thread = e.threadId();
  lane = e.rem(thread, 32);
  Value warp = e.div(thread, 32);
  warpRow = e.mul(e.rem(warp, tiles.rowWarps), tiles.getWarpRows());
  keyWarp = e.div(warp, tiles.rowWarps);
  AttentionOrder::Place place = getOrder(shape, tiles).locate(e, e.blockId(0));
  split = place.split;
  block = place.block;
  // The last rows see the most keys.
  if (shape.causal)
    block = e.sub(e.int32(tiles.getBlocks(shape) - 1), block);
  keyHead = place.head;
  batch = place.batch;
  if (shape.pages)
    pages.emplace(e, shape, tiles, call.rows, call.positions, call.table);
}

void AttentionKernel::prepareCopies() {
  auto getAddresses = [&](ArrayRef<std::pair<Value, Value>> tensors) {
    SmallVector<Value> addresses;
    for (auto [pointer, stride] : tensors)
      addresses.push_back(
          LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, pointer));
    // Copies over pages are whole rows, which chunks divide.
    if (!shape.pages)
      for (auto [pointer, stride] : tensors)
        addresses.push_back(e.mul(stride, shape.getElementBytes()));
    return addresses;
  };
  copies.emplace(e, shape, tiles,
                 getAddresses({{call.query, call.queryStride},
                               {call.key, call.keyStride}}),
                 getAddresses({{call.value, call.valueStride},
                               {call.output, call.outputStride}}));
}

/// Finds the block's queries and rows, and where they stand.
void AttentionKernel::findQueries() {
  queries = e.int32(shape.queryLength);
  if (!shape.findsTokens()) {
    blockRow = e.mul(block, tiles.getRows());
    firstQuery = e.mul(e.toInt64(batch), shape.queryLength);
    if (pages)
      pages->place(batch, queries, call.queryOffset, call.keyLength);
    return;
  }
  blockRow = e.int32(0);
  firstQuery = e.toInt64(block);
  queries = pages->countTokens(block, lane);
  pages->place(block, queries, call.queryOffset, call.keyLength);
}

Value AttentionKernel::getRow(Value base, Value position, Value stride,
                              Value head, int64_t size, Type type) {
  Value elements = e.add(e.mul(position, stride), e.mul(e.toInt64(head), size));
  return e.offset(base, e.mul(elements, shape.getBytes(type)));
}

/// True if the KV head has row `row`.
Value AttentionKernel::isInHead(Value row) {
  return e.compare(arith::CmpIPredicate::slt, row,
                   e.mul(queries, shape.getSharing()));
}

/// Row `row` of the KV head, of a tensor of queries or outputs.
GlobalRow AttentionKernel::getQueryRow(Value base, Value stride, Value row,
                                       int64_t size) {
  Value head =
      e.add(e.mul(keyHead, shape.getSharing()), e.rem(row, shape.getSharing()));
  Value position = e.add(firstQuery, e.toInt64(e.div(row, shape.getSharing())));
  return {getRow(base, position, stride, head, size, shape.queryType),
          isInHead(row)};
}

/// Over pages: the row of a key that some query of the block may see.
FoundRow AttentionKernel::findKey(Value key, int64_t size) {
  return pages->find(key, firstKey, e.toInt32(call.keyLength), size);
}

/// Loads the pages that begin at key `start` to a stage.
void AttentionKernel::loadPages(Value stage, Value start) {
  Value none = e.int64(0);
  auto getTile = [&](Value base, int64_t place, int64_t size) {
    return TileOf{e.offset(stage, place),
                  getRow(base, none, none, keyHead, size, shape.keyType)};
  };
  SmallVector<TileOf> tilesOf{
      getTile(call.key, tiles.getKeysOffset(), shape.headSize),
      getTile(call.value, tiles.getValuesOffset(), shape.valueSize)};
  auto load = [&](AttentionCopies &own, ArrayRef<TileOf> list, int64_t size) {
    own.load(list, tiles.keys, thread,
             [&](Value row) { return findKey(e.add(start, row), size); });
  };
  if (copies->areOne())
    return load(copies->ofHead(), tilesOf, shape.headSize);
  load(copies->ofHead(), tilesOf[0], shape.headSize);
  load(copies->ofValue(), tilesOf[1], shape.valueSize);
}

/// Starts the copies of a tile of keys and values.
void AttentionKernel::loadTile(Value tile, Value firstTile) {
  Value stage = getStage(tile, firstTile);
  if (pages)
    return loadPages(stage, e.mul(tile, tiles.keys));
  Value start = e.toInt64(e.mul(tile, tiles.keys));
  Value first = e.add(e.mul(e.toInt64(batch), shape.keyCapacity), start);
  Value left = e.toInt32(e.sub(call.keyLength, start));
  auto load = [&](AttentionCopies &own, Value base, Value stride, int64_t size,
                  int64_t place) {
    own.load(
        e.offset(stage, place), tiles.keys, thread,
        GlobalRows{getRow(base, first, stride, keyHead, size, shape.keyType),
                   e.mul(stride, shape.getElementBytes()), left});
  };
  load(copies->ofHead(), call.key, call.keyStride, shape.headSize,
       tiles.getKeysOffset());
  load(copies->ofValue(), call.value, call.valueStride, shape.valueSize,
       tiles.getValuesOffset());
}

/// The begin of shared memory, moved so that the offsets of the tiles give
/// those of this tile's stage.
Value AttentionKernel::getStage(Value tile, Value firstTile) {
  Value stage = e.rem(e.sub(tile, firstTile), 2);
  return e.offset(shared, e.mul(stage, tiles.getStageBytes()));
}

/// Adds the bias to a tile of scores. Rows and keys that there are not read the
/// last ones' and are not used.
void AttentionKernel::addBias(Fragments &scores, Value start, Value warpKey,
                              AttentionSoftmax &softmax) {
  if (!shape.biasType)
    return;
  int64_t bytes = shape.getBytes(shape.biasType), sharing = shape.getSharing();
  Value column = e.add(e.add(start, warpKey), e.mul(e.rem(lane, 4), 2));
  auto findLine = [&](int64_t first) {
    Value row = e.add(e.add(e.add(blockRow, warpRow), e.div(lane, 4)), first);
    Value head = e.add(e.mul(keyHead, sharing), e.rem(row, sharing));
    Value query = e.toInt64(e.min(e.div(row, sharing), shape.queryLength - 1));
    // The bias of pages is of positions, whatever the query.
    Value line = pages ? e.toInt64(head) : query;
    if (!pages && shape.biasHeads > 1)
      line = e.add(e.mul(e.toInt64(head), shape.queryLength), query);
    return e.offset(call.bias, e.mul(line, shape.keyCapacity * bytes));
  };
  softmax.addBias(scores, shape.biasType, findLine, [&](int64_t first) {
    Value key = e.min(e.add(column, first), shape.keyCapacity - 1);
    return e.mul(e.toInt64(key), bytes);
  });
}

/// Reads the sinks of the lane's rows.
SmallVector<Value> AttentionKernel::readSinks(AttentionSoftmax &softmax) {
  SmallVector<Value> sinks;
  for (int64_t i = 0; i < 2 * tiles.fragments; ++i) {
    Value row = e.add(e.add(e.add(blockRow, warpRow), e.div(lane, 4)), 8 * i);
    Value head = e.add(e.mul(keyHead, shape.getSharing()),
                       e.rem(row, shape.getSharing()));
    sinks.push_back(softmax.readSink(call.sinks, shape.sinksType, head));
  }
  return sinks;
}

/// Brings together what the warps have that share rows: all but the first
/// write their state to shared memory (the tiles are not needed any more), the
/// first takes it in. Lanes have the same rows in each.
void AttentionKernel::exchange(SoftmaxState &state, AttentionSoftmax &softmax) {
  if (tiles.keyWarps == 1)
    return;
  int64_t count = state.flatten().size();
  assert((tiles.keyWarps - 1) * tiles.rowWarps * count * 128 <=
         2 * tiles.getStageBytes());
  Value rowWarp = e.div(warpRow, tiles.getWarpRows());
  auto getPlace = [&](Value warp) {
    Value slot = e.add(e.mul(warp, tiles.rowWarps), rowWarp);
    Value bytes = e.add(e.mul(slot, count * 128), e.mul(lane, 4));
    return e.offset(e.offset(shared, tiles.getKeysOffset()), bytes);
  };
  e.ifThen(e.compare(arith::CmpIPredicate::ne, keyWarp, 0), [&] {
    Value place = getPlace(e.sub(keyWarp, 1));
    for (auto [i, value] : llvm::enumerate(state.flatten()))
      e.store(value, e.offset(place, 128 * int64_t(i)), 4);
  });
  e.barrier();
  auto merged = e.ifElse(
      e.compare(arith::CmpIPredicate::eq, keyWarp, 0),
      [&] {
        SoftmaxState sum = state;
        for (int64_t warp = 1; warp < tiles.keyWarps; ++warp) {
          Value place = getPlace(e.int32(warp - 1));
          softmax.merge(sum, [&](int64_t i) {
            return e.load(e.f32, e.offset(place, 128 * i), 4);
          });
        }
        return sum.flatten();
      },
      [&] { return state.flatten(); });
  state.assign(merged);
}

/// The rows of one warp: through the place of its queries in shared memory, so
/// that global memory is written in whole chunks.
void AttentionKernel::write(const SoftmaxState &state,
                            ArrayRef<Value> logarithms,
                            AttentionProducts &products) {
  int64_t pitch = tiles.value.pitch;
  Value place = e.offset(shared, e.mul(warpRow, pitch));
  for (auto [i, fragment] : llvm::enumerate(state.outputs))
    products.storeOutputs(fragment, e.offset(place, 16 * int64_t(i) * pitch));
  e.warpBarrier();
  Value firstRow = e.add(blockRow, warpRow);
  copies->ofValue().store(place, tiles.getWarpRows(), lane, [&](Value row) {
    return getQueryRow(call.output, call.outputStride, e.add(firstRow, row),
                       shape.valueSize);
  });
  if (!call.logSumExp)
    return;
  Value null = LLVM::ZeroOp::create(e.builder, e.loc, e.globalPointer);
  Value isWanted = LLVM::ICmpOp::create(
      e.builder, e.loc, LLVM::ICmpPredicate::ne, call.logSumExp, null);
  Value isFirst = e.compare(arith::CmpIPredicate::eq, e.rem(lane, 4), 0);
  e.ifThen(e.bitAnd(isWanted, isFirst), [&] {
    for (auto [half, logarithm] : llvm::enumerate(logarithms)) {
      Value row = e.add(e.add(firstRow, e.div(lane, 4)), 8 * int64_t(half));
      e.ifThen(e.compare(arith::CmpIPredicate::slt, row, shape.getRows()), [&] {
        Value head = e.add(e.mul(keyHead, shape.getSharing()),
                           e.rem(row, shape.getSharing()));
        Value line = e.add(e.mul(e.toInt64(batch), shape.queryLength),
                           e.toInt64(e.div(row, shape.getSharing())));
        Value index = e.add(e.mul(line, shape.queryHeads), e.toInt64(head));
        e.store(logarithm, e.offset(call.logSumExp, e.mul(index, 4)), 4);
      });
    }
  });
}

void AttentionKernel::run() {
  if (shape.findsTokens())
    e.ifThen(pages->beginsRun(block), [&] { compute(); });
  else
    compute();
}

/// The batch entry's row of the mask; null without one.
Value AttentionKernel::getMaskRow() {
  if (!shape.maskType)
    return {};
  int64_t bytes = std::max(1u, shape.maskType.getIntOrFloatBitWidth() / 8);
  return e.offset(call.mask,
                  e.mul(e.toInt64(batch), shape.keyCapacity * bytes));
}

/// Writes the block's part of its rows: the results, or a part of their sums
/// for the kernel that puts the splits together.
void AttentionKernel::finish(SoftmaxState &state, AttentionSoftmax &softmax,
                             AttentionSplits &splits,
                             AttentionProducts &products) {
  if (tiles.splits > 1) {
    Value line = e.add(e.mul(batch, shape.keyHeads), keyHead);
    Value before = shape.findsTokens()
                       ? e.mul(e.toInt32(firstQuery), shape.getSharing())
                       : e.int32(0);
    splits.store(
        state, products, call.scratch, line, e.add(blockRow, warpRow), before,
        [&](Value row) { return isInHead(row); }, split, lane);
    return;
  }
  if (shape.sinksType)
    softmax.addSinks(state, readSinks(softmax));
  SmallVector<Value> logarithms = softmax.normalise(state);
  write(state, logarithms, products);
}

void AttentionKernel::compute() {
  findQueries();
  prepareCopies();
  Value maskRow = getMaskRow();
  Value warpKey = e.mul(keyWarp, tiles.getWarpKeys());
  AttentionMasks masks(e, shape, tiles, Sight::ofQueries(shape), call.keyLength,
                       call.queryOffset, queries, maskRow, blockRow, warpRow,
                       warpKey, lane);
  firstKey = masks.firstKey;
  AttentionSplits splits(e, shape, tiles);
  if (tiles.splits > 1)
    splits.narrow(masks.firstTile, masks.endTile, split);
  AttentionSoftmax softmax(e, shape, tiles);
  auto products =
      AttentionProducts::create(e, shape, tiles, tiles.head, tiles.value, lane);

  copies->clearPadding(shared, thread);
  copies->ofHead().load(shared, tiles.getRows(), thread, [&](Value row) {
    return getQueryRow(call.query, call.queryStride, e.add(blockRow, row),
                       shape.headSize);
  });
  e.ifThen(e.compare(arith::CmpIPredicate::slt, masks.firstTile, masks.endTile),
           [&] { loadTile(masks.firstTile, masks.firstTile); });
  e.commitCopies();
  if (tiles.queriesInRegisters) {
    e.waitForCopies();
    e.barrier();
  }
  products->setQueries(e.offset(shared, e.mul(warpRow, tiles.head.pitch)));

  SoftmaxState state = softmax.getInitial();
  auto carried = e.loop(
      masks.firstTile, masks.endTile, 1, state.flatten(),
      [&](Value tile, ValueRange carriedIn) {
        state.assign(carriedIn);
        e.waitForCopies();
        e.barrier();
        Value next = e.add(tile, 1);
        e.ifThen(e.compare(arith::CmpIPredicate::slt, next, masks.endTile),
                 [&] { loadTile(next, masks.firstTile); });
        e.commitCopies();

        Value start = e.mul(tile, tiles.keys);
        masks.readPadding(start);
        if (pages)
          masks.readPages(start, [&](Value key) {
            return findKey(key, shape.headSize).inBounds;
          });
        Value stage = getStage(tile, masks.firstTile);
        Value keys = e.offset(stage, e.mul(warpKey, tiles.head.pitch));
        Fragments scores =
            products->multiplyKeys(e.offset(keys, tiles.getKeysOffset()));
        softmax.scale(scores);
        addBias(scores, start, warpKey, softmax);
        Fragments probabilities =
            softmax.update(state, masks.apply(scores, start));
        Value values = e.offset(stage, e.mul(warpKey, tiles.value.pitch));
        products->multiplyValues(state.outputs, probabilities,
                                 e.offset(values, tiles.getValuesOffset()));
        return state.flatten();
      });
  state.assign(carried);

  e.waitForCopies();
  e.barrier();
  softmax.finish(state);
  exchange(state, softmax);
  if (tiles.keyWarps == 1)
    finish(state, softmax, splits, *products);
  else
    e.ifThen(e.compare(arith::CmpIPredicate::eq, keyWarp, 0),
             [&] { finish(state, softmax, splits, *products); });
}

gpu::GPUFuncOp tp::generateAttention(gpu::GPUModuleOp module, StringRef name,
                                     const AttentionShape &shape,
                                     const AttentionTiles &tiles,
                                     Location loc) {
  LLVM::GlobalOp shared = getSharedMemory(module, loc);
  OpBuilder builder(module.getContext());
  Launch launch;
  launch.grid = {getOrder(shape, tiles).getBlocks(), 1, 1};
  launch.block = {tiles.getThreads(), 1, 1};
  launch.sharedBytes = tiles.getSharedBytes();
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name,
                   AttentionArguments::getTypes(builder, shape, tiles), launch);
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(tiles.residentBlocks));
  Value memory = LLVM::AddressOfOp::create(builder, loc, shared);
  AttentionKernel(builder, loc, shape, tiles, memory, kernel.getArguments())
      .run();
  gpu::ReturnOp::create(builder, loc);
  return kernel;
}
