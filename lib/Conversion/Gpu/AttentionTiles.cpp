//===- AttentionTiles.cpp - Sizes of a device's attention kernel ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionTiles.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"

#include "HopperAttention.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace tp;

/// Shared memory that every architecture from sm_80 on gives a block.
static constexpr int64_t sharedBytes = 99 << 10;
/// Blocks that fill a card: larger tiles are taken only if as many remain.
static constexpr int64_t blocksOfCard = 128;
/// Multiprocessors of a large card, blocks of each that keep enough copies
/// under way.
static constexpr int64_t multiprocessors = 132;
static constexpr int64_t blocksTogether = 2;
/// Tiles that are worth a second kernel, and a block of their own.
static constexpr int64_t tilesToSplit = 8;
static constexpr int64_t leastTiles = 2;
static constexpr int64_t largestSplits = 160;
/// The largest second and third extent of a grid.
static constexpr int64_t gridLimit = 65535;
static constexpr int64_t largestHead = 256;
/// Registers of a thread, of 255, that may hold outputs, scores and queries.
static constexpr int64_t accumulators = 144;
/// The registers that a thread needs beside them, generously.
static int64_t getOtherRegisters(bool isWide) { return isWide ? 112 : 72; }
/// Registers, and bytes of shared memory, of a multiprocessor (the least of
/// sm_80, sm_90, sm_100); a block takes 1 KiB more than it asks for.
static constexpr int64_t registerFile = 64 << 10;
static constexpr int64_t sharedFile = 164 << 10;

static Type typeOrNull(Value value) {
  return value ? getElementTypeOrSelf(value) : Type();
}

template <typename Op>
static AttentionShape readShape(Op op, RankedTensorType query,
                                RankedTensorType key) {
  AttentionShape shape;
  shape.batch = query.getDimSize(0);
  shape.queryLength = query.getDimSize(1);
  shape.keyCapacity = key.getDimSize(1);
  shape.keyHeads = key.getDimSize(2);
  shape.maskType = typeOrNull(op.getMask());
  shape.biasType = typeOrNull(op.getBias());
  if (op.getBias())
    shape.biasHeads =
        cast<RankedTensorType>(op.getBias().getType()).getDimSize(0);
  if constexpr (requires { op.getSinks(); })
    shape.sinksType = typeOrNull(op.getSinks());
  shape.causal = op.getCausal();
  shape.window = op.getWindow().value_or(0);
  shape.scale = op.getScale().convertToDouble();
  shape.softCap = op.getSoftCap() ? op.getSoftCap()->convertToDouble() : 0;
  return shape;
}

template <>
AttentionShape readShape(nn::PagedAttentionOp op, RankedTensorType query,
                         RankedTensorType key) {
  auto table = cast<RankedTensorType>(op.getTable().getType());
  int64_t tokens = query.getDimSize(1);
  AttentionShape shape;
  shape.pages = PagesShape{int64_t(op.getPage()), key.getDimSize(0),
                           table.getDimSize(0), table.getDimSize(1)};
  shape.batch = tokens <= shape.pages->rows ? std::max<int64_t>(tokens, 1) : 1;
  shape.queryLength = tokens / shape.batch;
  shape.keyCapacity = shape.pages->slots * shape.pages->page;
  shape.keyHeads = key.getDimSize(1);
  shape.causal = true;
  shape.biasType = typeOrNull(op.getBias());
  shape.biasHeads = op.getBias() ? query.getDimSize(2) : 0;
  shape.sinksType = typeOrNull(op.getSinks());
  shape.window = op.getWindow().value_or(0);
  shape.scale = op.getScale().convertToDouble();
  shape.softCap = op.getSoftCap() ? op.getSoftCap()->convertToDouble() : 0;
  return shape;
}

static LogicalResult checkShape(Operation *op, const AttentionShape &shape,
                                StringRef heads = "KV heads") {
  bool isBackward = isa<nn::AttentionBackwardOp>(op);
  Type query = op->getOperand(isBackward).getType();
  Type key = op->getOperand(isBackward + 1).getType();
  for (Type type : {shape.queryType, shape.keyType})
    if (!type.isF32() && !type.isBF16() && !type.isF16())
      return op->emitOpError("expected elements f32, bf16 or f16 for a device, "
                             "got ")
             << type;
  for (Value operand : op->getOperands())
    if (auto type = cast<RankedTensorType>(operand.getType());
        type.getNumElements() == 0)
      return op->emitOpError("expected at least one query and key for a "
                             "device, got ")
             << query << " and " << key;
  if (int64_t size = std::max(shape.headSize, shape.valueSize);
      size > largestHead)
    return op->emitOpError("expected heads of at most ")
           << largestHead << " elements for a device, got " << size
           << ": its tiles would not fit a block's registers";
  if (shape.batch > gridLimit || shape.keyHeads > gridLimit)
    return op->emitOpError("expected a batch and ")
           << heads << " of at most " << gridLimit << " for a device, got "
           << shape.batch << " and " << shape.keyHeads
           << ": they are a grid's extents";
  // Blocks have 16 rows and more, of the derivative two parts.
  int64_t rows = shape.getRows();
  if (isBackward)
    rows = 2 * std::max(shape.queryLength, shape.keyCapacity);
  int64_t most = std::numeric_limits<int32_t>::max();
  if (int64_t blocks =
          shape.batch * shape.keyHeads * int64_t(llvm::divideCeil(rows, 16));
      blocks > most)
    return op->emitOpError("expected at most ")
           << most << " times 16 rows of all heads for a device, got " << blocks
           << ": they are a grid's extent";
  // Positions within a head are 32-bit, with room for a tile past the end.
  int64_t positions = std::numeric_limits<int32_t>::max() / 2;
  int64_t keys = shape.keyCapacity;
  if (shape.pages)
    keys = std::max(keys, shape.pages->cells);
  if (keys > positions || shape.getRows() > positions)
    return op->emitOpError("expected at most ")
           << positions << " keys, and query rows of one KV head, got " << keys
           << " and " << shape.getRows();
  return success();
}

static void readTypes(AttentionShape &shape, RankedTensorType query,
                      RankedTensorType key, Value value) {
  shape.valueSize = cast<RankedTensorType>(value.getType()).getShape().back();
  shape.queryHeads = query.getDimSize(2);
  shape.headSize = query.getDimSize(3);
  shape.queryType = query.getElementType();
  shape.keyType = key.getElementType();
  shape.type = shape.queryType == shape.keyType
                   ? shape.queryType
                   : Type(Float32Type::get(query.getContext()));
}

FailureOr<AttentionShape> AttentionShape::get(Operation *op) {
  auto query = cast<RankedTensorType>(op->getOperand(0).getType());
  auto key = cast<RankedTensorType>(op->getOperand(1).getType());
  auto paged = dyn_cast<nn::PagedAttentionOp>(op);
  if (paged && paged.getKeyScales())
    return op->emitOpError("reads a quantised cache, which devices have no "
                           "kernel for: expected keys and values of floats");
  AttentionShape shape = paged
                             ? readShape(paged, query, key)
                             : readShape(cast<nn::AttentionOp>(op), query, key);
  readTypes(shape, query, key, op->getOperand(2));
  if (failed(checkShape(op, shape)))
    return failure();
  // A block that has room for one token need not find it.
  if (shape.findsTokens() &&
      AttentionTiles::choose(shape).getRows() < 2 * shape.getSharing()) {
    std::swap(shape.batch, shape.queryLength);
    if (failed(checkShape(op, shape)))
      return failure();
  }
  return shape;
}

FailureOr<AttentionShape> AttentionShape::get(nn::AttentionBackwardOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto key = cast<RankedTensorType>(op.getKey().getType());
  AttentionShape shape = readShape(op, query, key);
  readTypes(shape, query, key, op.getValue());
  shape.wantsBias = bool(op.getDBias());
  AttentionShape headShape = shape; // a block has a query head
  headShape.keyHeads = shape.queryHeads;
  if (failed(checkShape(op, headShape, "query heads")))
    return failure();
  return shape;
}

RowLayout RowLayout::get(int64_t size, int64_t elementBytes) {
  int64_t padded = llvm::alignTo(size, 16);
  // An odd number of 16-byte chunks: eight rows at the same column, which is
  // what ldmatrix reads at once, then lie in different banks.
  return {size, padded, padded * elementBytes + 16};
}

static void setLayouts(AttentionTiles &tiles, const AttentionShape &shape) {
  tiles.head = RowLayout::get(shape.headSize, shape.getElementBytes());
  tiles.value = RowLayout::get(shape.valueSize, shape.getElementBytes());
}

/// As many blocks as have room for what a thread's `registers` are, and shared
/// memory.
static int64_t getResidentBlocks(const AttentionTiles &tiles, int64_t registers,
                                 int64_t sharedBytes) {
  return std::max<int64_t>(
      1, std::min(registerFile / (registers * tiles.getThreads()),
                  sharedFile / (sharedBytes + 1024)));
}

AttentionTiles AttentionTiles::choose(const AttentionShape &shape) {
  bool isWide = shape.type.isF32();
  AttentionTiles tiles;
  setLayouts(tiles, shape);
  tiles.rowBytes = std::max(tiles.head.pitch, tiles.value.pitch);
  int64_t widest = std::max(tiles.head.padded, tiles.value.padded);

  // Too few rows to fill the warps, or too few blocks to fill a card: smaller
  // blocks, whose warps split the keys instead.
  int64_t warps = isWide && widest > 128 ? 2 : 4;
  auto getBlocks = [&](int64_t rows) {
    return shape.batch * shape.keyHeads *
           int64_t(llvm::divideCeil(shape.getRows(), rows));
  };
  tiles.rowWarps = warps;
  while (tiles.rowWarps > 1 && (shape.getRows() <= 8 * tiles.rowWarps ||
                                getBlocks(16 * tiles.rowWarps) < blocksOfCard))
    tiles.rowWarps /= 2;
  tiles.keyWarps = warps / tiles.rowWarps;

  // Twice the rows per warp halve the reads of keys and values from shared
  // memory, if the accumulators leave room. Causal blocks are unlike each other
  // and fill a card if there are more of them.
  bool isSmall = widest <= (isWide ? 64 : 128);
  tiles.fragments = isSmall && tiles.keyWarps == 1 &&
                            shape.getRows() > 16 * tiles.rowWarps &&
                            getBlocks(32 * tiles.rowWarps) >=
                                (shape.causal ? 2 : 1) * blocksOfCard
                        ? 2
                        : 1;

  tiles.keys = isWide ? 32 : 64;
  auto getRegisters = [&] {
    return tiles.fragments * (tiles.value.padded + tiles.getWarpKeys()) / 2;
  };
  while (tiles.getSharedBytes() > sharedBytes ||
         (tiles.keys > 32 && getRegisters() > accumulators))
    tiles.keys /= 2;
  // A warp's keys are at least one step of the second product.
  int64_t leastKeys = isWide ? 8 : 16;
  while (tiles.getWarpKeys() < leastKeys) {
    tiles.keyWarps /= 2;
    if (shape.getRows() > 16 * tiles.rowWarps)
      tiles.rowWarps *= 2;
  }
  assert(tiles.getSharedBytes() <= sharedBytes);
  tiles.queriesInRegisters =
      !isWide &&
      getRegisters() + tiles.fragments * tiles.head.padded / 4 <= accumulators;

  int64_t registers = getRegisters() + getOtherRegisters(isWide);
  if (tiles.queriesInRegisters)
    registers += tiles.fragments * tiles.head.padded / 4;
  tiles.residentBlocks =
      getResidentBlocks(tiles, registers, tiles.getSharedBytes());

  // Few rows and many keys: several blocks for the keys of the same rows, as
  // many as run at once.
  int64_t blocks = getBlocks(tiles.getRows());
  int64_t seen = llvm::divideCeil(shape.keyCapacity, tiles.keys);
  // A window is all that it spans, causal or to both sides.
  if (shape.window > 0)
    seen = std::min<int64_t>(
        seen, (shape.window + shape.queryLength) / tiles.keys + 1);
  tiles.splits = 1;
  if (blocks < blocksOfCard && seen >= tilesToSplit)
    tiles.splits = std::clamp<int64_t>(
        multiprocessors * std::min(tiles.residentBlocks, blocksTogether) /
            blocks,
        1, std::min(seen / leastTiles, largestSplits));
  tiles.hasScratch = tiles.splits > 1 || hasHopperAttention(shape, tiles);
  return tiles;
}

AttentionTiles AttentionTiles::chooseBackward(const AttentionShape &shape,
                                              bool byKeys) {
  bool isWide = shape.type.isF32();
  AttentionTiles tiles;
  setLayouts(tiles, shape);
  tiles.rowBytes = tiles.head.pitch + tiles.value.pitch;
  tiles.fragments = tiles.keyWarps = 1;
  tiles.queriesInRegisters = false;

  // Rows enough for the warps, blocks enough for a card.
  int64_t rows = byKeys ? shape.keyCapacity : shape.queryLength;
  int64_t heads = shape.batch * shape.queryHeads;
  tiles.rowWarps = 4;
  while (tiles.rowWarps > 1 &&
         (rows <= 8 * tiles.rowWarps ||
          heads * int64_t(llvm::divideCeil(rows, 16 * tiles.rowWarps)) <
              blocksOfCard))
    tiles.rowWarps /= 2;

  // The sums of a result take half a register a column, and so do the scores of
  // a tile and their derivatives.
  int64_t most = isWide ? accumulators : accumulators + 24;
  int64_t leastKeys = isWide ? 8 : 16;
  int64_t ofHead = tiles.head.padded / 2, ofValue = tiles.value.padded / 2;
  // In f32 the two products one after the other would spill, whatever the
  // sizes.
  tiles.splits =
      byKeys && (isWide || ofHead + ofValue + 2 * leastKeys > most) ? 2 : 1;
  int64_t sums = !byKeys             ? ofHead
                 : tiles.splits == 1 ? ofHead + ofValue
                                     : std::max(ofHead, ofValue);
  auto getBytes = [&] {
    return tiles.getSharedBytes() + (byKeys ? 16 * tiles.keys : 0);
  };
  tiles.keys = isWide ? 32 : 64;
  while (tiles.keys > leastKeys &&
         (getBytes() > sharedBytes || sums + tiles.keys > most))
    tiles.keys /= 2;
  while (getBytes() > sharedBytes)
    tiles.rowWarps /= 2;
  tiles.residentBlocks = getResidentBlocks(
      tiles, sums + tiles.keys + getOtherRegisters(isWide), getBytes());
  return tiles;
}
