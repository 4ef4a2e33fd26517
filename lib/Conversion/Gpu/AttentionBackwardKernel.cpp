//===- AttentionBackwardKernel.cpp - Derivative of attention --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionBackwardKernel.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardKernel.h"

#include "AbiKinds.h"
#include "AttentionCopies.h"
#include "AttentionMasks.h"
#include "AttentionOrder.h"
#include "AttentionSoftmax.h"
#include "tp/Conversion/Kernels/GpuModule.h"

using namespace mlir;
using namespace tp;

/// The arguments of the function, all of them addresses.
#define BACKWARD_PARAMETERS(X)                                                 \
  X(query)                                                                     \
  X(key)                                                                       \
  X(value)                                                                     \
  X(mask)                                                                      \
  X(bias)                                                                      \
  X(cotangent)                                                                 \
  X(logSumExp)                                                                 \
  X(delta)                                                                     \
  X(dQuery)                                                                    \
  X(dKey)                                                                      \
  X(dValue)                                                                    \
  X(dBias)

namespace {

#define COUNT(name) +1
constexpr size_t numParameters = 0 BACKWARD_PARAMETERS(COUNT);
#undef COUNT
static_assert(abiKinds[TPRT_SLOT_attention_backward] == "4pppppppppppp" &&
                  numParameters == 12,
              "kernels get what the function gets");

/// Addresses in global memory.
struct Arguments {
#define MEMBER(name) Value name;
  BACKWARD_PARAMETERS(MEMBER)
#undef MEMBER
};

/// The order of a block for rows of one query head, which walks over the
/// columns.
AttentionOrder getOrder(const AttentionShape &shape,
                        const AttentionTiles &tiles, bool byKeys) {
  int64_t rows = byKeys ? shape.keyCapacity : shape.queryLength;
  int64_t columns = byKeys ? shape.queryLength : shape.keyCapacity;
  int64_t bytes =
      columns * (shape.headSize + shape.valueSize) * shape.getElementBytes();
  return {tiles.splits,     int64_t(llvm::divideCeil(rows, tiles.getRows())),
          shape.queryHeads, shape.batch,
          shape.causal,     byKeys ? bytes : bytes / shape.getSharing()};
}

/// A tensor [batch, length, heads, size] as a block sees it: one head of one
/// batch entry.
struct HeadOf {
  Value base;
  int64_t length, heads, size;
  Value head;
};

class BackwardKernel {
public:
  BackwardKernel(OpBuilder &builder, Location loc, const AttentionShape &shape,
                 const AttentionTiles &tiles, bool byKeys, Value shared,
                 ArrayRef<BlockArgument> arguments);
  void run();

private:
  KernelEmitter e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  bool byKeys; ///< rows are keys
  /// The shape of one query head, with no mask of padding if that hides rows.
  AttentionShape headShape;
  Value shared;
  Arguments call;
  Value thread, lane, warpRow, blockRow, part, head, keyHead, batch;
  std::array<HeadOf, 2> rows, columns;
  int64_t numRows, numColumns;
  std::optional<AttentionTileCopies> copies;
  std::optional<AttentionSoftmax> softmax;
  std::optional<AttentionMasks> masks;
  /// The first: scores, and sums of the second columns. The second: products of
  /// the second tensors, and sums of the first columns.
  std::array<std::unique_ptr<AttentionProducts>, 2> products;
  /// By queries: of the lane's rows g and g + 8.
  SmallVector<Value> rowShifts, rowDeltas;
  /// The derivatives of the tile's capped scores by those before.
  Fragments slopes;

  using Outputs = SmallVector<Fragments>;
  KernelEmitter::Values flatten(const Outputs &outputs);
  void assign(Outputs &outputs, ValueRange values);
  Value getRow(const HeadOf &tensor, Value position, Type type);
  Value getStatistic(Value base, Value query);
  void prepare();
  void loadRows();
  Value getStage(Value tile);
  int64_t getStatisticsOffset() const { return tiles.getSharedBytes(); }
  void loadTile(Value tile);
  void loadStatistics(Value stage, Value start);
  std::pair<Value, Value> readStatistics(Value stage, int64_t tile,
                                         int64_t number);
  Value getShift(Value logSumExp);
  void addBias(Fragments &scores, Value start);
  Fragments getProbabilities(Value stage, Value start);
  Fragments getScoreDerivatives(const Fragments &probabilities, Value stage,
                                Value start);
  void writeBias(const Fragment &derivatives, Value start);
  void clearBias();
  void addTile(Outputs &outputs, Value tile, bool wantsKeys, bool wantsValues);
  void walk(bool wantsKeys, bool wantsValues);
  Value isVisibleKey(Value key);
  void writeQueries(const Fragment &output);
  void writeKeys(const Fragment &output, Value base, int64_t size,
                 AttentionProducts &products);
  /// The copies of the first (queries and keys) or second of rows and columns.
  AttentionCopies &getCopies(size_t number) {
    return number == 0 ? copies->ofHead() : copies->ofValue();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The block's state
//===----------------------------------------------------------------------===//

static int64_t getMaskBytes(const AttentionShape &shape) {
  return std::max(1u, shape.maskType.getIntOrFloatBitWidth() / 8);
}

BackwardKernel::BackwardKernel(OpBuilder &builder, Location loc,
                               const AttentionShape &shape,
                               const AttentionTiles &tiles, bool byKeys,
                               Value shared, ArrayRef<BlockArgument> arguments)
    : e(builder, loc), shape(shape), tiles(tiles), byKeys(byKeys),
      headShape(shape), shared(shared) {
  headShape.keyHeads = headShape.queryHeads;
  if (byKeys)
    headShape.maskType = Type();
  auto next = arguments.begin();
#define READ(name)                                                             \
  call.name = LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,     \
                                            Value(*next++));
  BACKWARD_PARAMETERS(READ)
#undef READ
  thread = e.threadId();
  lane = e.rem(thread, 32);
  warpRow = e.mul(e.div(thread, 32), tiles.getWarpRows());
  AttentionOrder::Place place =
      getOrder(shape, tiles, byKeys).locate(e, e.blockId(0));
  part = place.split;
  Value block = place.block;
  // The last queries see the most keys, the first keys have the most queries.
  if (shape.causal && !byKeys)
    block =
        e.sub(e.int32(llvm::divideCeil(shape.queryLength, tiles.getRows()) - 1),
              block);
  blockRow = e.mul(block, tiles.getRows());
  head = place.head;
  keyHead = e.div(head, shape.getSharing());
  batch = place.batch;
  auto ofQueries = [&](Value base, int64_t size) {
    return HeadOf{base, shape.queryLength, shape.queryHeads, size, head};
  };
  auto ofKeys = [&](Value base, int64_t size) {
    return HeadOf{base, shape.keyCapacity, shape.keyHeads, size, keyHead};
  };
  rows = {ofQueries(call.query, shape.headSize),
          ofQueries(call.cotangent, shape.valueSize)};
  columns = {ofKeys(call.key, shape.headSize),
             ofKeys(call.value, shape.valueSize)};
  if (byKeys)
    std::swap(rows, columns);
  numRows = rows[0].length;
  numColumns = columns[0].length;
}

/// Row `position` (i64) of the tensor.
Value BackwardKernel::getRow(const HeadOf &tensor, Value position, Type type) {
  Value line = e.add(e.mul(e.toInt64(batch), tensor.length), position);
  Value index = e.add(e.mul(line, tensor.heads), e.toInt64(tensor.head));
  return e.offset(tensor.base,
                  e.mul(index, tensor.size * shape.getBytes(type)));
}

/// The address of query `query` (i32) in one of [batch, queries, heads].
Value BackwardKernel::getStatistic(Value base, Value query) {
  Value line =
      e.add(e.mul(e.toInt64(batch), shape.queryLength), e.toInt64(query));
  Value index = e.add(e.mul(line, shape.queryHeads), e.toInt64(head));
  return e.offset(base, e.mul(index, 4));
}

void BackwardKernel::prepare() {
  auto getAddress = [&](Value pointer) -> Value {
    return LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, pointer);
  };
  SmallVector<Value> ofHead{getAddress(call.query), getAddress(call.key)};
  if (!byKeys)
    ofHead.push_back(getAddress(call.dQuery));
  copies.emplace(
      e, headShape, tiles, ofHead,
      ArrayRef<Value>{getAddress(call.value), getAddress(call.cotangent)});
  softmax.emplace(e, headShape, tiles);
  Value maskRow;
  if (headShape.maskType)
    maskRow =
        e.offset(call.mask, e.mul(e.toInt64(batch),
                                  shape.keyCapacity * getMaskBytes(shape)));
  int64_t offset = shape.keyCapacity - shape.queryLength;
  masks.emplace(e, headShape, tiles,
                byKeys ? Sight::ofKeys(shape) : Sight::ofQueries(shape),
                e.int64(numColumns), e.int64(byKeys ? -offset : offset),
                e.int32(numRows), maskRow, blockRow, warpRow, e.int32(0), lane);
  products[0] = AttentionProducts::create(e, headShape, tiles, tiles.head,
                                          tiles.value, lane);
  products[1] = AttentionProducts::create(e, headShape, tiles, tiles.value,
                                          tiles.head, lane);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void BackwardKernel::loadRows() {
  for (auto [number, tensor] : llvm::enumerate(rows))
    getCopies(number).load(
        e.offset(shared, number * tiles.getRows() * tiles.head.pitch),
        tiles.getRows(), thread, [&](Value row) {
          Value own = e.add(blockRow, row);
          return GlobalRow{getRow(tensor, e.toInt64(own), shape.type),
                           e.compare(arith::CmpIPredicate::slt, own, numRows)};
        });
  if (byKeys)
    return;
  for (int64_t half = 0; half < 2; ++half) {
    Value query =
        e.add(e.add(blockRow, warpRow), e.add(e.div(lane, 4), 8 * half));
    // Rows past the end are not written.
    query = e.min(query, shape.queryLength - 1);
    auto read = [&](Value base) {
      return e.load(e.f32, getStatistic(base, query), 4);
    };
    rowShifts.push_back(getShift(read(call.logSumExp)));
    rowDeltas.push_back(read(call.delta));
  }
}

/// The value that is added to offsets in shared memory for the tile's stage.
Value BackwardKernel::getStage(Value tile) {
  return e.rem(e.sub(tile, masks->firstTile), 2);
}

/// Starts the copies of a tile of columns.
void BackwardKernel::loadTile(Value tile) {
  Value stage = getStage(tile);
  Value first = e.mul(tile, tiles.keys);
  Value place = e.offset(shared, e.mul(stage, tiles.getStageBytes()));
  int64_t offsets[] = {tiles.getKeysOffset(), tiles.getValuesOffset()};
  for (auto [number, tensor] : llvm::enumerate(columns)) {
    int64_t pitch = tensor.heads * tensor.size * shape.getElementBytes();
    getCopies(number).load(
        e.offset(place, offsets[number]), tiles.keys, thread,
        GlobalRows{getRow(tensor, e.toInt64(first), shape.type), e.int64(pitch),
                   e.sub(e.int32(numColumns), first)});
  }
  if (byKeys)
    loadStatistics(stage, first);
}

/// By keys: each column has its log-sum-exp and delta.
void BackwardKernel::loadStatistics(Value stage, Value start) {
  Value place = e.offset(shared, e.add(e.mul(stage, 8 * tiles.keys),
                                       e.int32(getStatisticsOffset())));
  e.loopNoUnroll(
      thread, e.int32(2 * tiles.keys), tiles.getThreads(), [&](Value index) {
        Value query = e.add(start, e.rem(index, tiles.keys));
        Value inBounds =
            e.compare(arith::CmpIPredicate::slt, query, shape.queryLength);
        query = e.min(query, shape.queryLength - 1);
        Value isFirst = e.compare(arith::CmpIPredicate::slt, index, tiles.keys);
        Value from = LLVM::SelectOp::create(e.builder, e.loc, isFirst,
                                            call.logSumExp, call.delta);
        e.copyAsync(e.offset(place, e.mul(index, 4)), getStatistic(from, query),
                    4, inBounds);
      });
}

/// Reads a number of the lane's two columns of `tile`: 0 is the log-sum-exp, 1
/// delta.
std::pair<Value, Value>
BackwardKernel::readStatistics(Value stage, int64_t tile, int64_t number) {
  Value place = e.offset(
      shared, e.add(e.mul(stage, 8 * tiles.keys), e.mul(e.rem(lane, 4), 8)));
  int64_t offset = getStatisticsOffset() + 4 * number * tiles.keys + 32 * tile;
  Value pair = e.load(VectorType::get(2, e.f32), e.offset(place, offset), 8);
  auto get = [&](int64_t i) {
    return LLVM::ExtractElementOp::create(e.builder, e.loc, pair, e.int32(i));
  };
  return {get(0), get(1)};
}

//===----------------------------------------------------------------------===//
// A tile's share of the results
//===----------------------------------------------------------------------===//

/// To base 2. A query that sees no key has none.
Value BackwardKernel::getShift(Value logSumExp) {
  Value isNone = e.compare(arith::CmpFPredicate::OEQ, logSumExp,
                           e.float32(-std::numeric_limits<double>::infinity()));
  return e.select(isNone, e.float32(0),
                  e.mulf(logSumExp, e.float32(llvm::numbers::log2e)));
}

/// Rows and columns that there are not read the last ones' and are not used.
void BackwardKernel::addBias(Fragments &scores, Value start) {
  if (!shape.biasType)
    return;
  int64_t bytes = shape.getBytes(shape.biasType);
  int64_t rowBytes = bytes, columnBytes = bytes;
  (byKeys ? columnBytes : rowBytes) *= shape.keyCapacity;
  Value base = call.bias;
  if (shape.biasHeads > 1)
    base = e.offset(base, e.mul(e.toInt64(head),
                                shape.queryLength * shape.keyCapacity * bytes));
  Value firstRow = e.add(e.add(blockRow, warpRow), e.div(lane, 4));
  Value firstColumn = e.add(start, e.mul(e.rem(lane, 4), 2));
  softmax->addBias(
      scores, shape.biasType,
      [&](int64_t first) {
        Value row = e.min(e.add(firstRow, first), numRows - 1);
        return e.offset(base, e.mul(e.toInt64(row), rowBytes));
      },
      [&](int64_t first) {
        Value column = e.min(e.add(firstColumn, first), numColumns - 1);
        return e.mul(e.toInt64(column), columnBytes);
      });
}

Fragments BackwardKernel::getProbabilities(Value stage, Value start) {
  Value place = e.offset(shared, e.mul(stage, tiles.getStageBytes()));
  Fragments scores =
      products[0]->multiplyKeys(e.offset(place, tiles.getKeysOffset()));
  softmax->scale(scores);
  if (shape.softCap != 0)
    slopes = softmax->getSlopes(scores);
  addBias(scores, start);
  Fragments result = masks->apply(scores, start);
  for (auto [tile, values] : llvm::enumerate(result.front())) {
    SmallVector<Value> shifts(rowShifts);
    if (byKeys) {
      auto [first, second] = readStatistics(stage, tile, 0);
      shifts = {getShift(first), getShift(second)};
    }
    for (int64_t i = 0; i < 4; ++i)
      values[i] = softmax->getPower(values[i], shifts[byKeys ? i % 2 : i / 2]);
  }
  return result;
}

Fragments BackwardKernel::getScoreDerivatives(const Fragments &probabilities,
                                              Value stage, Value start) {
  Value place = e.offset(shared, e.mul(stage, tiles.getStageBytes()));
  Fragments result =
      products[1]->multiplyKeys(e.offset(place, tiles.getValuesOffset()));
  Fragment biases = result.front();
  for (auto [tile, values] : llvm::enumerate(result.front())) {
    SmallVector<Value> deltas(rowDeltas);
    if (byKeys) {
      auto [first, second] = readStatistics(stage, tile, 1);
      deltas = {first, second};
    }
    for (int64_t i = 0; i < 4; ++i) {
      Value delta = deltas[byKeys ? i % 2 : i / 2];
      Value difference = e.addf(values[i], e.negate(delta));
      Value own = probabilities.front()[tile][i];
      biases[tile][i] = e.mulf(own, difference);
      values[i] = e.mulf(e.mulf(own, e.float32(shape.scale)), difference);
      if (shape.softCap != 0)
        values[i] = e.mulf(values[i], slopes.front()[tile][i]);
    }
  }
  if (shape.wantsBias && !byKeys)
    writeBias(biases, start);
  return result;
}

/// The derivative by the bias of a tile of keys, which begins at key `start`.
void BackwardKernel::writeBias(const Fragment &derivatives, Value start) {
  Value line = e.add(e.mul(batch, shape.queryHeads), head);
  Value first = e.mul(e.toInt64(line), shape.queryLength);
  Value column = e.add(start, e.mul(e.rem(lane, 4), 2));
  for (int64_t half = 0; half < 2; ++half) {
    Value query =
        e.add(e.add(blockRow, warpRow), e.add(e.div(lane, 4), 8 * half));
    Value index =
        e.add(e.mul(e.add(first, e.toInt64(query)), shape.keyCapacity),
              e.toInt64(column));
    Value place = e.offset(call.dBias, e.mul(index, 4));
    e.ifThen(e.compare(arith::CmpIPredicate::slt, query, numRows), [&] {
      for (auto [tile, values] : llvm::enumerate(derivatives))
        for (int64_t side = 0; side < 2; ++side) {
          int64_t skip = 8 * int64_t(tile) + side;
          e.ifThen(e.compare(arith::CmpIPredicate::slt, e.add(column, skip),
                             numColumns),
                   [&] {
                     e.store(values[2 * half + side], e.offset(place, 4 * skip),
                             4);
                   });
        }
    });
  }
}

/// Zeros for the tiles of keys that no row of the block sees.
void BackwardKernel::clearBias() {
  Value zero = e.float32(0);
  Fragment zeros(tiles.keys / 8, {zero, zero, zero, zero});
  auto clear = [&](Value from, Value to) {
    e.loopNoUnroll(from, to, 1, [&](Value tile) {
      writeBias(zeros, e.mul(tile, tiles.keys));
    });
  };
  Value count = e.int32(llvm::divideCeil(numColumns, tiles.keys));
  clear(e.int32(0), e.min(masks->firstTile, count));
  clear(e.max(masks->firstTile, masks->endTile), count);
}

void BackwardKernel::addTile(Outputs &outputs, Value tile, bool wantsKeys,
                             bool wantsValues) {
  Value stage = getStage(tile), start = e.mul(tile, tiles.keys);
  Value place = e.offset(shared, e.mul(stage, tiles.getStageBytes()));
  if (headShape.maskType)
    masks->readPadding(start);
  Fragments probabilities = getProbabilities(stage, start);
  size_t next = 0;
  if (wantsValues)
    products[0]->multiplyValues(outputs[next++], probabilities,
                                e.offset(place, tiles.getValuesOffset()));
  if (wantsKeys)
    products[1]->multiplyValues(
        outputs[next], getScoreDerivatives(probabilities, stage, start),
        e.offset(place, tiles.getKeysOffset()));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

KernelEmitter::Values BackwardKernel::flatten(const Outputs &outputs) {
  KernelEmitter::Values values;
  for (const Fragments &fragments : outputs)
    for (const auto &tile : fragments.front())
      llvm::append_range(values, tile);
  return values;
}

void BackwardKernel::assign(Outputs &outputs, ValueRange values) {
  size_t next = 0;
  for (Fragments &fragments : outputs)
    for (auto &tile : fragments.front())
      for (Value &value : tile)
        value = values[next++];
}

/// Through the place of the warp's rows in shared memory, so that global memory
/// is written in whole chunks.
void BackwardKernel::writeQueries(const Fragment &output) {
  Value place = e.offset(shared, e.mul(warpRow, tiles.head.pitch));
  products[1]->storeOutputs(output, place);
  e.warpBarrier();
  Value firstRow = e.add(blockRow, warpRow);
  HeadOf tensor = rows[0];
  tensor.base = call.dQuery;
  copies->ofHead().store(place, tiles.getWarpRows(), lane, [&](Value row) {
    Value own = e.add(firstRow, row);
    return GlobalRow{getRow(tensor, e.toInt64(own), shape.type),
                     e.compare(arith::CmpIPredicate::slt, own, numRows)};
  });
}

/// True if the mask of padding shows a key (i32) that there is.
Value BackwardKernel::isVisibleKey(Value key) {
  int64_t bytes = getMaskBytes(shape);
  Value index =
      e.add(e.mul(e.toInt64(batch), shape.keyCapacity), e.toInt64(key));
  Value loaded = e.load(e.builder.getIntegerType(8 * bytes),
                        e.offset(call.mask, e.mul(index, bytes)), bytes);
  return e.compare(arith::CmpIPredicate::ne, loaded, 0);
}

/// The sums of the lane's two keys, in f32, for the query head.
void BackwardKernel::writeKeys(const Fragment &output, Value base, int64_t size,
                               AttentionProducts &products) {
  HeadOf tensor{base, shape.keyCapacity, shape.queryHeads, size, head};
  for (int64_t half = 0; half < 2; ++half) {
    Value key =
        e.add(e.add(blockRow, warpRow), e.add(e.div(lane, 4), 8 * half));
    e.ifThen(e.compare(arith::CmpIPredicate::slt, key, numRows), [&] {
      Value row = getRow(tensor, e.toInt64(key), e.f32);
      Value isSeen = shape.maskType ? isVisibleKey(key) : Value();
      products.visitColumns(
          output, half, [&](Value own, int64_t first, ArrayRef<Value> values) {
            for (auto [i, value] : llvm::enumerate(values)) {
              int64_t column = first + int64_t(i);
              if (column >= size)
                break;
              Value sum =
                  isSeen ? e.select(isSeen, value, e.float32(0)) : value;
              auto store = [&] {
                Value place = e.offset(row, e.toInt64(e.mul(own, 4)));
                e.store(sum, e.offset(place, 4 * column), 4);
              };
              // The last lanes' columns of the tile may pad the head.
              if (first + 16 <= size)
                store();
              else
                e.ifThen(e.compare(arith::CmpIPredicate::slt,
                                   e.add(own, column), size),
                         store);
            }
          });
    });
  }
}

void BackwardKernel::walk(bool wantsKeys, bool wantsValues) {
  Value zero = e.float32(0);
  Outputs outputs;
  auto addOutput = [&](const RowLayout &layout) {
    outputs.push_back(
        Fragments(1, Fragment(layout.padded / 8, {zero, zero, zero, zero})));
  };
  if (wantsValues)
    addOutput(tiles.value);
  if (wantsKeys)
    addOutput(tiles.head);
  auto carried = e.loop(
      masks->firstTile, masks->endTile, 1, flatten(outputs),
      [&](Value tile, ValueRange values) {
        assign(outputs, values);
        e.waitForCopies();
        e.barrier();
        Value next = e.add(tile, 1);
        e.ifThen(e.compare(arith::CmpIPredicate::slt, next, masks->endTile),
                 [&] { loadTile(next); });
        e.commitCopies();
        addTile(outputs, tile, wantsKeys, wantsValues);
        return flatten(outputs);
      });
  assign(outputs, carried);
  e.waitForCopies();
  e.barrier();
  if (!byKeys)
    return writeQueries(outputs[0].front());
  size_t next = 0;
  if (wantsValues)
    writeKeys(outputs[next++].front(), call.dValue, shape.valueSize,
              *products[0]);
  if (wantsKeys)
    writeKeys(outputs[next].front(), call.dKey, shape.headSize, *products[1]);
}

void BackwardKernel::run() {
  prepare();
  copies->clearPadding(shared, thread);
  loadRows();
  e.ifThen(
      e.compare(arith::CmpIPredicate::slt, masks->firstTile, masks->endTile),
      [&] { loadTile(masks->firstTile); });
  e.commitCopies();
  products[0]->setQueries(e.offset(shared, e.mul(warpRow, tiles.head.pitch)));
  Value second = e.offset(shared, tiles.getRows() * tiles.head.pitch);
  products[1]->setQueries(e.offset(second, e.mul(warpRow, tiles.value.pitch)));
  if (!byKeys) {
    if (shape.wantsBias)
      clearBias();
    return walk(/*wantsKeys=*/true, /*wantsValues=*/false);
  }
  if (tiles.splits == 1)
    return walk(true, true);
  e.ifElse(
      e.compare(arith::CmpIPredicate::eq, part, 0),
      [&] {
        walk(true, false);
        return KernelEmitter::Values();
      },
      [&] {
        walk(false, true);
        return KernelEmitter::Values();
      });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void generate(gpu::GPUModuleOp module, StringRef name,
                     const AttentionShape &shape, bool byKeys, Location loc) {
  AttentionTiles tiles = AttentionTiles::chooseBackward(shape, byKeys);
  LLVM::GlobalOp shared = getSharedMemory(module, loc);
  OpBuilder builder(module.getContext());
  SmallVector<Type> types(numParameters,
                          LLVM::LLVMPointerType::get(builder.getContext()));
  Launch launch;
  launch.grid = {getOrder(shape, tiles, byKeys).getBlocks(), 1, 1};
  launch.block = {tiles.getThreads(), 1, 1};
  // Behind the tiles: two stages of two numbers for each column.
  launch.sharedBytes = tiles.getSharedBytes() + (byKeys ? 16 * tiles.keys : 0);
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name, types, launch);
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(tiles.residentBlocks));
  Value memory = LLVM::AddressOfOp::create(builder, loc, shared);
  BackwardKernel(builder, loc, shape, tiles, byKeys, memory,
                 kernel.getArguments())
      .run();
  gpu::ReturnOp::create(builder, loc);
}

void tp::generateAttentionBackward(gpu::GPUModuleOp module, StringRef byQueries,
                                   StringRef byKeys,
                                   const AttentionShape &shape, Location loc) {
  generate(module, byQueries, shape, /*byKeys=*/false, loc);
  generate(module, byKeys, shape, /*byKeys=*/true, loc);
}
