//===- Attention.cpp - tiled attention ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts attention into blocks for the kernels of Simd.cpp. KV heads are taken in
// waves whose packed tiles fit a fixed amount of memory; within a wave packing,
// then blocks of query rows, are spread over the rank's workers. Query heads
// that share a KV head read the same tiles.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "../support/Parallel.h"
#include "../support/Simd.h"

#include <algorithm>
#include <limits>

using namespace tprt;

namespace {

/// Bytes of packed keys and values that one wave may take.
constexpr int64_t kWaveBytes = int64_t(64) << 20;
/// Padding of the head size: the widest vector of any CPU level.
constexpr int64_t kHeadPadding = 16;

const void *row(const Attention &a, const void *base, int64_t elements) {
  return static_cast<const char *>(base) + elements * typeBytes(a.type);
}

bool maskAt(const Attention &a, const void *mask, int64_t i) {
  switch (a.maskType) {
  case TPRT_I64:
    return static_cast<const int64_t *>(mask)[i] != 0;
  case TPRT_I32:
    return static_cast<const int32_t *>(mask)[i] != 0;
  default:
    return static_cast<const int8_t *>(mask)[i] != 0;
  }
}

/// Writes the mask that is added to the scores of each key, of which each batch
/// entry has paddedKeys.
void fillMask(const Attention &a, const void *mask, int64_t kvLen,
              int64_t paddedKeys, float *keyMask) {
  for (int64_t b = 0; mask && b < a.batch; ++b)
    for (int64_t j = 0; j < paddedKeys; ++j)
      keyMask[b * paddedKeys + j] =
          j < kvLen && maskAt(a, mask, b * a.kvCapacity + j)
              ? 0.0f
              : -std::numeric_limits<float>::infinity();
}

/// The bias of a head of a batch entry; none without `data`.
AttentionBias biasOf(const Attention &a, const void *data, int64_t head) {
  AttentionBias bias;
  if (!data)
    return bias;
  bias.type = a.biasType;
  bias.queryStride = a.kvCapacity;
  bias.headStride = a.biasHeads == 1 ? 0 : a.qLen * a.kvCapacity;
  bias.data = static_cast<const char *>(data) +
              head * bias.headStride * typeBytes(a.biasType);
  return bias;
}

/// How a call is cut, and where its parts lie.
struct Blocks {
  Blocks(const Attention &a, const AttentionCall &call)
      : a(a), call(call), masked(a.mask == Attention::Mask::KeyPadding),
        padded(alignUp(a.valueSize, kHeadPadding)),
        keyBlocks((call.kvLen + kKeyBlock - 1) / kKeyBlock),
        paddedKeys(keyBlocks * kKeyBlock), sharing(a.qHeads / a.kvHeads),
        headsPerBlock(std::clamp<int64_t>(kQueryBlock / a.qLen, 1, sharing)),
        queriesPerBlock(std::min(a.qLen, kQueryBlock / headsPerBlock)),
        headBlocks((sharing + headsPerBlock - 1) / headsPerBlock),
        queryBlocks((a.qLen + queriesPerBlock - 1) / queriesPerBlock),
        pairs(a.batch * a.kvHeads), keyFloats(paddedKeys * a.headSize),
        pairFloats(alignUp(keyFloats + paddedKeys * padded, 16)),
        wave(std::clamp<int64_t>(
            kWaveBytes / std::max<int64_t>(4 * pairFloats, 1), 1, pairs)),
        maskFloats(masked ? alignUp(a.batch * paddedKeys, 16) : 0),
        sinkFloats(call.sinks ? alignUp(a.qHeads, 16) : 0),
        ownFloats(alignUp(attentionScratch(a.headSize, padded), 16)) {}

  /// The size of scratch: tiles of a wave, the mask of every batch entry, the
  /// sinks, and what each worker's block has of its own.
  int64_t floats() const {
    return wave * pairFloats + maskFloats + sinkFloats + workers() * ownFloats;
  }
  void place(float *scratch) {
    tiles = scratch;
    keyMask = tiles + wave * pairFloats;
    sinks = keyMask + maskFloats;
    own = sinks + sinkFloats;
    if (call.sinks)
      simd().widen(*a.sinksType, call.sinks, sinks, a.qHeads);
  }
  void packKeys(int64_t first, int64_t item);
  void attend(int64_t first, int64_t item, int64_t worker);

  const Attention &a;
  const AttentionCall &call;
  bool masked;
  int64_t padded; ///< value size
  int64_t keyBlocks, paddedKeys;
  int64_t sharing; ///< query heads of a KV head
  /// Few queries: several heads share a block. Many: one head per block.
  int64_t headsPerBlock, queriesPerBlock, headBlocks, queryBlocks;
  int64_t pairs; ///< of a batch entry and a KV head
  int64_t keyFloats, pairFloats;
  int64_t wave; ///< pairs whose tiles there are at once
  int64_t maskFloats, sinkFloats, ownFloats;
  float *tiles = nullptr, *keyMask = nullptr, *sinks = nullptr, *own = nullptr;
};

/// A block of keys and values of the wave that begins at pair `first`.
void Blocks::packKeys(int64_t first, int64_t item) {
  int64_t slot = item / keyBlocks, base = item % keyBlocks * kKeyBlock;
  int64_t batch = (first + slot) / a.kvHeads;
  int64_t head = (first + slot) % a.kvHeads;
  int64_t rows = std::min(kKeyBlock, call.kvLen - base);
  int64_t position = batch * a.kvCapacity + base;
  float *keys = tiles + slot * pairFloats;
  float *values = keys + keyFloats;
  float *block = keys + base * a.headSize;
  if (rows < kKeyBlock)
    std::fill_n(block, a.headSize * kKeyBlock, 0.0f);
  simd().transpose(a.type,
                   row(a, call.k, position * call.kStride + head * a.headSize),
                   call.kStride, rows, a.headSize, block, kKeyBlock);
  simd().packValues(
      a.type, row(a, call.v, position * call.vStride + head * a.valueSize),
      call.vStride, rows, a.valueSize, padded, values + base * padded);
}

/// A block of queries of that wave.
void Blocks::attend(int64_t first, int64_t item, int64_t worker) {
  // The longest rows of a causal mask first: they end together.
  int64_t blocks = headBlocks * queryBlocks;
  int64_t slot = item / blocks, block = blocks - 1 - item % blocks;
  int64_t batch = (first + slot) / a.kvHeads;
  int64_t head =
      (first + slot) % a.kvHeads * sharing + block % headBlocks * headsPerBlock;
  int64_t query = block / headBlocks * queriesPerBlock;
  auto task = taskOf<AttentionBlock>(a);
  task.heads =
      std::min(headsPerBlock, sharing - block % headBlocks * headsPerBlock);
  task.queries = std::min(queriesPerBlock, a.qLen - query);
  task.paddedValueSize = padded;
  int64_t position = batch * a.qLen + query;
  task.q = row(a, call.q, position * call.qStride + head * a.headSize);
  task.qStride = call.qStride;
  task.out = const_cast<void *>(
      row(a, call.out, position * call.outStride + head * a.valueSize));
  task.outStride = call.outStride;
  task.lse = call.lse ? call.lse + position * a.qHeads + head : nullptr;
  task.lseStride = a.qHeads;
  task.keys = tiles + slot * pairFloats;
  task.values = task.keys + keyFloats;
  task.keyMask = masked ? keyMask + batch * paddedKeys : nullptr;
  task.bias = biasOf(a, call.bias, head);
  if (task.bias.data)
    task.bias.data = static_cast<const char *>(task.bias.data) +
                     query * a.kvCapacity * typeBytes(a.biasType);
  task.sinks = call.sinks ? sinks + head : nullptr;
  task.kvLen = call.kvLen;
  task.position = call.qOffset + query;
  task.causal = a.causal;
  task.scratch = own + worker * ownFloats;
  simd().attend(task);
}

} // namespace

Status AttentionEngine::check(int64_t id, int64_t kvLen, const void *mask,
                              const void *bias) const {
  if (id < 0 || id >= int64_t(attentions.size()))
    return internalError("attention ", id, " is not in the manifest");
  const Attention &a = attentions[id];
  if (kvLen < 0 || kvLen > a.kvCapacity)
    return internalError("attention ", id, ": expected at most ", a.kvCapacity,
                         " keys, got ", kvLen);
  if (!!mask != (a.mask == Attention::Mask::KeyPadding))
    return internalError("attention ", id,
                         ": the mask is not as the manifest says");
  if (!!bias != (a.biasHeads > 0))
    return internalError("attention ", id,
                         ": the bias is not as the manifest says");
  return {};
}

Status AttentionEngine::run(int64_t id, const AttentionCall &call) {
  TPRT_TRY(check(id, call.kvLen, call.mask, call.bias));
  const Attention &a = attentions[id];
  if (!!call.sinks != a.sinksType.has_value())
    return internalError("attention ", id,
                         ": the sinks are not as the manifest says");
  Blocks blocks(a, call);
  TPRT_TRY(scratch.reserve(blocks.floats() * 4));
  blocks.place(reinterpret_cast<float *>(scratch.data()));
  fillMask(a, call.mask, call.kvLen, blocks.paddedKeys, blocks.keyMask);
  for (int64_t first = 0; first < blocks.pairs; first += blocks.wave) {
    int64_t count = std::min(blocks.wave, blocks.pairs - first);
    parallelItems(count * blocks.keyBlocks,
                  [&](int64_t item, int64_t) { blocks.packKeys(first, item); });
    parallelItems(count * blocks.headBlocks * blocks.queryBlocks,
                  [&](int64_t item, int64_t worker) {
                    blocks.attend(first, item, worker);
                  });
  }
  return {};
}

Status AttentionEngine::runBackward(int64_t id,
                                    const AttentionBackwardCall &call) {
  TPRT_TRY(check(id, 0, call.mask, call.bias));
  const Attention &a = attentions[id];
  int64_t keys = a.kvCapacity, padded = alignUp(a.headSize, kHeadPadding);
  int64_t paddedValue = alignUp(a.valueSize, kHeadPadding);
  int64_t paddedKeys = alignUp(keys, kKeyBlock);
  int64_t maskFloats = call.mask ? a.batch * paddedKeys : 0;
  int64_t own =
      alignUp(attentionBackwardScratch(a.qLen, padded, paddedValue), 16);
  TPRT_TRY(scratch.reserve((maskFloats + workers() * own) * 4));
  auto *keyMask = reinterpret_cast<float *>(scratch.data());
  fillMask(a, call.mask, keys, paddedKeys, keyMask);
  parallelItems(a.batch * a.qHeads, [&](int64_t item, int64_t worker) {
    int64_t batch = item / a.qHeads, head = item % a.qHeads;
    int64_t kvHead = head / (a.qHeads / a.kvHeads);
    auto task = taskOf<AttentionBackwardHead>(a);
    task.paddedHeadSize = padded;
    task.paddedValueSize = paddedValue;
    task.qStride = a.qHeads * a.headSize;
    task.outStride = a.qHeads * a.valueSize;
    task.kStride = a.kvHeads * a.headSize;
    task.vStride = a.kvHeads * a.valueSize;
    // The head's first row in [batch, length, heads, size].
    auto firstRow = [&](int64_t length, int64_t heads, int64_t own,
                        int64_t size) {
      return (batch * length * heads + own) * size;
    };
    int64_t query = firstRow(a.qLen, a.qHeads, head, a.headSize);
    task.q = row(a, call.q, query);
    task.cotangent =
        row(a, call.cotangent, firstRow(a.qLen, a.qHeads, head, a.valueSize));
    task.k = row(a, call.k, firstRow(keys, a.kvHeads, kvHead, a.headSize));
    task.v = row(a, call.v, firstRow(keys, a.kvHeads, kvHead, a.valueSize));
    task.lse = call.lse + batch * a.qLen * a.qHeads + head;
    task.delta = call.delta + batch * a.qLen * a.qHeads + head;
    task.rowStride = a.qHeads;
    task.keyMask = call.mask ? keyMask + batch * paddedKeys : nullptr;
    task.bias = biasOf(a, call.bias, head);
    task.qLen = a.qLen;
    task.kvLen = keys;
    task.position = keys - a.qLen;
    task.causal = a.causal;
    task.dq = const_cast<void *>(row(a, call.dq, query));
    task.dk = call.dk + firstRow(keys, a.qHeads, head, a.headSize);
    task.dv = call.dv + firstRow(keys, a.qHeads, head, a.valueSize);
    task.dbias = call.dbias ? call.dbias + item * a.qLen * keys : nullptr;
    task.scratch = keyMask + maskFloats + worker * own;
    simd().attendBackward(task);
  });
  return {};
}

int32_t HostFunctions::attention(tprt_rank *rank, int32_t id, const void *q,
                                 int64_t qStride, const void *k,
                                 int64_t kStride, const void *v,
                                 int64_t vStride, const void *mask,
                                 const void *bias, const void *sinks,
                                 int64_t kvLen, int64_t qOffset, void *out,
                                 int64_t outStride, void *lse) {
  auto &host = *static_cast<HostRank *>(rank);
  return host.traced(Timeline::Kind::Attention, id, host.layer, [&] {
    return host.engine<AttentionEngine>(TPRT_SLOT_attention)
        .run(id, {q, qStride, k, kStride, v, vStride, mask, bias, sinks, kvLen,
                  qOffset, out, outStride, static_cast<float *>(lse)});
  });
}

int32_t HostFunctions::attention_backward(
    tprt_rank *rank, int32_t id, const void *q, const void *k, const void *v,
    const void *mask, const void *bias, const void *cotangent, const void *lse,
    const void *delta, void *dq, void *dk, void *dv, void *dbias) {
  auto &host = *static_cast<HostRank *>(rank);
  return host.traced(Timeline::Kind::Attention, id, host.layer, [&] {
    return host.engine<AttentionEngine>(TPRT_SLOT_attention)
        .runBackward(id, {q, k, v, mask, bias, cotangent,
                          static_cast<const float *>(lse),
                          static_cast<const float *>(delta), dq,
                          static_cast<float *>(dk), static_cast<float *>(dv),
                          static_cast<float *>(dbias)});
  });
}
