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

} // namespace

Status AttentionEngine::run(int64_t id, const AttentionCall &call) {
  if (id < 0 || id >= int64_t(attentions.size()))
    return internalError("attention ", id, " is not in the manifest");
  const Attention &a = attentions[id];
  if (call.kvLen < 0 || call.kvLen > a.kvCapacity)
    return internalError("attention ", id, ": expected at most ", a.kvCapacity,
                         " keys, got ", call.kvLen);
  bool masked = a.mask == Attention::Mask::KeyPadding;
  if (!!call.mask != masked)
    return internalError("attention ", id,
                         ": the mask is not as the manifest says");

  const Simd &kernels = simd();
  int64_t padded = alignUp(a.headSize, kHeadPadding);
  int64_t keyBlocks = (call.kvLen + kKeyBlock - 1) / kKeyBlock;
  int64_t paddedKeys = keyBlocks * kKeyBlock;
  int64_t sharing = a.qHeads / a.kvHeads;
  // Few queries: several heads share a block. Many: one head per block.
  int64_t headsPerBlock = std::clamp<int64_t>(kQueryBlock / a.qLen, 1, sharing);
  int64_t queriesPerBlock = std::min(a.qLen, kQueryBlock / headsPerBlock);
  int64_t headBlocks = (sharing + headsPerBlock - 1) / headsPerBlock;
  int64_t queryBlocks = (a.qLen + queriesPerBlock - 1) / queriesPerBlock;

  // Scratch: tiles of a wave, the mask of every batch entry, a block's own.
  int64_t pairs = a.batch * a.kvHeads;
  int64_t keyFloats = paddedKeys * a.headSize;
  int64_t pairFloats = alignUp(keyFloats + paddedKeys * padded, 16);
  int64_t wave = std::clamp<int64_t>(
      kWaveBytes / std::max<int64_t>(4 * pairFloats, 1), 1, pairs);
  int64_t maskFloats = masked ? alignUp(a.batch * paddedKeys, 16) : 0;
  int64_t ownFloats = alignUp(attentionScratch(padded), 16);
  int64_t floats = wave * pairFloats + maskFloats + workers() * ownFloats;
  if (floats * 4 > scratch.size()) {
    auto larger = Buffer::allocate(floats * 4);
    if (!larger)
      return larger.status();
    scratch = std::move(*larger);
  }
  float *tiles = reinterpret_cast<float *>(scratch.data());
  float *keyMask = tiles + wave * pairFloats;
  float *own = keyMask + maskFloats;

  if (masked)
    for (int64_t b = 0; b < a.batch; ++b)
      for (int64_t j = 0; j < paddedKeys; ++j)
        keyMask[b * paddedKeys + j] =
            j < call.kvLen && maskAt(a, call.mask, b * a.kvCapacity + j)
                ? 0.0f
                : -std::numeric_limits<float>::infinity();

  for (int64_t first = 0; first < pairs; first += wave) {
    int64_t count = std::min(wave, pairs - first);
    parallelItems(count * keyBlocks, [&](int64_t item, int64_t) {
      int64_t slot = item / keyBlocks, base = item % keyBlocks * kKeyBlock;
      int64_t batch = (first + slot) / a.kvHeads;
      int64_t head = (first + slot) % a.kvHeads;
      int64_t rows = std::min(kKeyBlock, call.kvLen - base);
      int64_t position = batch * a.kvCapacity + base;
      float *keys = tiles + slot * pairFloats;
      float *values = keys + keyFloats;
      kernels.packKeys(
          a.type, row(a, call.k, position * call.kStride + head * a.headSize),
          call.kStride, rows, a.headSize, keys + base * a.headSize);
      kernels.packValues(
          a.type, row(a, call.v, position * call.vStride + head * a.headSize),
          call.vStride, rows, a.headSize, padded, values + base * padded);
    });

    int64_t blocks = headBlocks * queryBlocks;
    parallelItems(count * blocks, [&](int64_t item, int64_t worker) {
      // The longest rows of a causal mask first: they end together.
      int64_t slot = item / blocks, block = blocks - 1 - item % blocks;
      int64_t batch = (first + slot) / a.kvHeads;
      int64_t head = (first + slot) % a.kvHeads * sharing +
                     block % headBlocks * headsPerBlock;
      int64_t query = block / headBlocks * queriesPerBlock;
      AttentionBlock task;
      task.type = a.type;
      task.heads =
          std::min(headsPerBlock, sharing - block % headBlocks * headsPerBlock);
      task.queries = std::min(queriesPerBlock, a.qLen - query);
      task.headSize = a.headSize;
      task.paddedHeadSize = padded;
      int64_t position = batch * a.qLen + query;
      task.q = row(a, call.q, position * call.qStride + head * a.headSize);
      task.qStride = call.qStride;
      task.out = const_cast<void *>(
          row(a, call.out, position * call.outStride + head * a.headSize));
      task.outStride = call.outStride;
      task.lse = call.lse
                     ? call.lse + (batch * a.qHeads + head) * a.qLen + query
                     : nullptr;
      task.lseStride = a.qLen;
      task.keys = tiles + slot * pairFloats;
      task.values = task.keys + keyFloats;
      task.keyMask = masked ? keyMask + batch * paddedKeys : nullptr;
      task.kvLen = call.kvLen;
      task.position = call.qOffset + query;
      task.causal = a.causal;
      task.window = a.window;
      task.scale = float(a.scale);
      task.scratch = own + worker * ownFloats;
      kernels.attend(task);
    });
  }
  return {};
}

int32_t HostFunctions::attention(tprt_rank *rank, int32_t id, const void *q,
                                 int64_t qStride, const void *k,
                                 int64_t kStride, const void *v,
                                 int64_t vStride, const void *mask,
                                 int64_t kvLen, int64_t qOffset, void *out,
                                 int64_t outStride, void *lse) {
  auto &host = *static_cast<HostRank *>(rank);
  return host.traced(Timeline::Kind::Attention, id, 0, [&] {
    return host.engine<AttentionEngine>(TPRT_SLOT_attention)
        .run(id, {q, qStride, k, kStride, v, vStride, mask, kvLen, qOffset, out,
                  outStride, static_cast<float *>(lse)});
  });
}
