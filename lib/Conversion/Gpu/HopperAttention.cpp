//===- HopperAttention.cpp - Launches of attention_sm90.cu ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HopperAttention.h.
//
//===----------------------------------------------------------------------===//

#include "HopperAttention.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace tp;

/// Blocks that run at once: one on each multiprocessor.
static constexpr int64_t mostBlocks = 132;
/// The share of the second-level cache (50 MiB) for keys and values.
static constexpr int64_t cacheBytes = 32 << 20;
static constexpr int64_t largestHead = 128, tileKeys = 128;
/// Rows for which the kernel pays: half a tile of the smaller kind.
static constexpr int64_t leastRows = 64;
/// Panels begin at multiples of this, and the launch does not say where its
/// shared memory begins.
static constexpr int64_t alignment = 1024;
/// Tokens of a step over pages that shared memory has room to list.
static constexpr int64_t mostListed = 16 << 10, listedBytes = 2;

namespace {
/// As Plan of attention_sm90_copies.h has them.
struct HopperTiles {
  int64_t head, consumers;

  explicit HopperTiles(const AttentionShape &shape) {
    head = std::max(shape.headSize, shape.valueSize) <= 64 ? 64 : 128;
    consumers = head == 64 ? 3 : 2;
  }
  int64_t getRows() const { return 64 * consumers; }
  int64_t getThreads() const { return 128 * (consumers + 1); }
  int64_t getSharedBytes() const {
    constexpr int64_t stages = 2, maps = 3 * 128;
    constexpr int64_t barriers = 128; // and masks of tiles
    int64_t rowBytes = 2 * head;
    return 2 * getRows() * rowBytes + 2 * stages * tileKeys * rowBytes +
           barriers + maps + alignment - 1;
  }
};
} // namespace

/// Tiles consist of whole pages, the rows of which lie as the copy engine
/// takes them, and all tokens of a step are listed in shared memory.
static bool hasHopperPages(const AttentionShape &shape) {
  int64_t page = shape.pages->page;
  return shape.findsTokens() && page % 8 == 0 && tileKeys % page == 0 &&
         shape.queryLength <= mostListed;
}

bool tp::hasHopperAttention(const AttentionShape &shape,
                            const AttentionTiles &tiles) {
  return tiles.splits == 1 && (!shape.pages || hasHopperPages(shape)) &&
         shape.queryType == shape.keyType &&
         (shape.type.isBF16() || shape.type.isF16()) && !shape.biasType &&
         std::max(shape.headSize, shape.valueSize) <= largestHead &&
         shape.getSharing() <= HopperTiles(shape).getRows() &&
         shape.getRows() >= leastRows;
}

/// The number of heads whose keys and values the second-level cache holds.
static int64_t getHeadsTogether(const AttentionShape &shape) {
  int64_t lines = shape.keyHeads * shape.batch;
  if (!shape.causal)
    return 1;
  int64_t bytes = shape.keyCapacity * (shape.headSize + shape.valueSize) *
                  AttentionShape::getBytes(shape.keyType);
  return std::clamp<int64_t>(cacheBytes / std::max<int64_t>(bytes, 1), 1,
                             lines);
}

static int64_t getSinkType(Type type) {
  return !type ? 0 : type.isF32() ? 1 : type.isBF16() ? 2 : 3;
}

KernelImage tp::getHopperAttention(const AttentionShape &shape,
                                   MLIRContext *context) {
  HopperTiles tiles(shape);
  Builder builder(context);
  NamedAttrList numbers;
  auto append = [&](StringRef name, int64_t value) {
    numbers.append(name, builder.getI64IntegerAttr(value));
  };
  append("batch", shape.batch);
  append("queries", shape.queryLength);
  append("keyCapacity", shape.keyCapacity);
  append("keyHeads", shape.keyHeads);
  append("sharing", shape.getSharing());
  append("headSize", shape.headSize);
  append("valueSize", shape.valueSize);
  append("causal", shape.causal);
  append("window", shape.window);
  append("headsTogether", getHeadsTogether(shape));
  append("maskBytes",
         shape.maskType
             ? std::max(1u, shape.maskType.getIntOrFloatBitWidth() / 8)
             : 0);
  append("sinkType", getSinkType(shape.sinksType));
  numbers.append("scale", builder.getF32FloatAttr(shape.scale));
  numbers.append("softCap", builder.getF32FloatAttr(shape.softCap));

  // Over pages each token may be a work item.
  int64_t queries = shape.pages ? 1 : tiles.getRows() / shape.getSharing();
  int64_t items = llvm::divideCeil(shape.queryLength, queries) *
                  shape.keyHeads * shape.batch;
  Launch launch;
  launch.grid = {std::min(items, mostBlocks), 1, 1};
  append("blocks", launch.grid[0]);
  launch.block = {tiles.getThreads(), 1, 1};
  launch.sharedBytes = tiles.getSharedBytes();
  if (shape.pages) {
    launch.sharedBytes += listedBytes * shape.queryLength;
    append("page", shape.pages->page);
    append("cells", shape.pages->cells);
    append("tableRows", shape.pages->rows);
    append("slots", shape.pages->slots);
  }
  StringRef type = shape.type.isBF16() ? "bf16" : "f16";
  std::string entry =
      ((shape.pages ? "paged_attention_sm90_" : "attention_sm90_") + type +
       "_" + Twine(tiles.head))
          .str();
  return {"sm_90a",
          {"attention_sm90", entry, numbers.getDictionary(context)},
          launch};
}
