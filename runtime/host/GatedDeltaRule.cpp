//===- GatedDeltaRule.cpp - linear attention with a gated state -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hands blocks of the states' columns to the workers: a block of one value head
// goes through all positions by itself, so that prefill and decode are the same
// loop and give the same bits however a text is cut into steps.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Parallel.h"
#include "../support/SimdRecurrence.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tprt;

namespace {

/// The operands of a call.
struct DeltaCall {
  int64_t batch, seq, keyHeads, valueHeads, keySize, valueSize;
  const float *query, *key, *value, *decay, *beta;

  int64_t blocksPerHead() const {
    return (valueSize + kDeltaColumns - 1) / kDeltaColumns;
  }
  /// Floats of a block's state.
  int64_t stateFloats() const { return keySize * kDeltaColumns; }
  /// The first of a head's positions in values.
  int64_t valueAt(int64_t entry, int64_t head, int64_t position) const {
    return ((entry * seq + position) * valueHeads + head) * valueSize;
  }
  int64_t headAt(int64_t entry, int64_t head, int64_t position) const {
    return (entry * seq + position) * valueHeads + head;
  }

  DeltaBlock block(int64_t entry, int64_t head, int64_t column, int64_t begin,
                   int64_t end) const {
    int64_t keyHead = head / (valueHeads / keyHeads);
    int64_t keys = ((entry * seq + begin) * keyHeads + keyHead) * keySize;
    int64_t heads = headAt(entry, head, begin);
    return {end - begin,
            keySize,
            std::min(kDeltaColumns, valueSize - column),
            query + keys,
            key + keys,
            keyHeads * keySize,
            value + valueAt(entry, head, begin) + column,
            valueHeads * valueSize,
            decay + heads,
            beta ? beta + heads : nullptr,
            valueHeads};
  }
};

const float *floats(const void *p) { return static_cast<const float *>(p); }
float *floats(void *p) { return static_cast<float *>(p); }

/// Tokens that follow each other in one text.
struct DeltaSegment {
  int64_t begin, end;
  int64_t slot; ///< of the state before them; -1: zeros
};

/// One call of paged_gated_delta_rule.
struct PagedDelta {
  DeltaCall call;
  int64_t numSlots;
  const int32_t *slots;
  const float *pool;
  float *out, *next;
  std::vector<DeltaSegment> segments;

  int64_t stateAt(int64_t slot, int64_t head) const {
    return (slot * call.valueHeads + head) * call.keySize * call.valueSize;
  }
  bool isSlot(int64_t slot) const { return slot >= 0 && slot < numSlots; }

  void findSegments(const int32_t *sources);
  void run(int64_t head, int64_t column) const;
  /// Copies a block's columns of a slot to `state`, or back.
  void load(int64_t slot, int64_t head, int64_t column, float *state) const;
  void keep(int64_t slot, int64_t head, int64_t column,
            const float *state) const;
};

} // namespace

void PagedDelta::findSegments(const int32_t *sources) {
  for (int64_t t = 0; t < call.seq; ++t) {
    int64_t source = sources[t];
    if (t > 0 && source >= 0 && source < call.seq) {
      segments.back().end = t + 1;
      continue;
    }
    int64_t slot = source - call.seq;
    segments.push_back({t, t + 1, source >= 0 && isSlot(slot) ? slot : -1});
  }
}

void PagedDelta::load(int64_t slot, int64_t head, int64_t column,
                      float *state) const {
  std::fill_n(state, call.stateFloats(), 0.0f);
  if (slot < 0)
    return;
  const float *from = pool + stateAt(slot, head) + column;
  int64_t columns = std::min(kDeltaColumns, call.valueSize - column);
  for (int64_t i = 0; i < call.keySize; ++i)
    std::copy_n(from + i * call.valueSize, columns, state + i * kDeltaColumns);
}

void PagedDelta::keep(int64_t slot, int64_t head, int64_t column,
                      const float *state) const {
  float *to = next + stateAt(slot, head) + column;
  int64_t columns = std::min(kDeltaColumns, call.valueSize - column);
  for (int64_t i = 0; i < call.keySize; ++i)
    std::copy_n(state + i * kDeltaColumns, columns, to + i * call.valueSize);
}

/// All states are read before one is written.
void PagedDelta::run(int64_t head, int64_t column) const {
  std::vector<float> states(segments.size() * call.stateFloats());
  auto stateOf = [&](size_t i) {
    return states.data() + int64_t(i) * call.stateFloats();
  };
  for (size_t i = 0; i < segments.size(); ++i)
    load(segments[i].slot, head, column, stateOf(i));
  for (size_t i = 0; i < segments.size(); ++i) {
    int64_t begin = segments[i].begin;
    for (int64_t t = begin; t < segments[i].end; ++t) {
      bool isKept = isSlot(slots[t]);
      if (!isKept && t + 1 < segments[i].end)
        continue;
      recurrenceLoops().forward(call.block(0, head, column, begin, t + 1),
                                stateOf(i),
                                out + call.valueAt(0, head, begin) + column);
      if (isKept)
        keep(slots[t], head, column, stateOf(i));
      begin = t + 1;
    }
  }
}

int32_t HostFunctions::gated_delta_rule(tprt_rank *, int64_t batch, int64_t seq,
                                        int64_t keyHeads, int64_t valueHeads,
                                        int64_t keySize, int64_t valueSize,
                                        const void *q, const void *k,
                                        const void *v, const void *decay,
                                        const void *beta, void *out) {
  DeltaCall call{batch,     seq,           keyHeads,    valueHeads,
                 keySize,   valueSize,     floats(q),   floats(k),
                 floats(v), floats(decay), floats(beta)};
  int64_t blocks = call.blocksPerHead();
  parallelItems(batch * valueHeads * blocks, [&](int64_t item, int64_t) {
    int64_t column = item % blocks * kDeltaColumns, head = item / blocks;
    int64_t entry = head / valueHeads;
    head %= valueHeads;
    std::vector<float> state(call.stateFloats());
    recurrenceLoops().forward(
        call.block(entry, head, column, 0, seq), state.data(),
        floats(out) + call.valueAt(entry, head, 0) + column);
  });
  return 0;
}

int32_t HostFunctions::gated_delta_rule_backward(
    tprt_rank *, int64_t batch, int64_t seq, int64_t keyHeads,
    int64_t valueHeads, int64_t keySize, int64_t valueSize,
    const void *cotangent, const void *q, const void *k, const void *v,
    const void *decay, const void *beta, void *dq, void *dk, void *dv,
    void *ddecay, void *dbeta) {
  DeltaCall call{batch,     seq,           keyHeads,    valueHeads,
                 keySize,   valueSize,     floats(q),   floats(k),
                 floats(v), floats(decay), floats(beta)};
  int64_t heads = batch * seq * valueHeads;
  for (void *sum : {dq, dk})
    std::memset(sum, 0, size_t(heads * keySize) * sizeof(float));
  for (void *sum : {ddecay, dbeta})
    if (sum)
      std::memset(sum, 0, size_t(heads) * sizeof(float));
  // One worker has all blocks of a head, as they add to the same sums.
  parallelItems(batch * valueHeads, [&](int64_t item, int64_t) {
    int64_t entry = item / valueHeads, head = item % valueHeads;
    std::vector<float> scratch(deltaBackwardScratch(seq, keySize));
    int64_t first = call.headAt(entry, head, 0);
    for (int64_t column = 0; column < valueSize; column += kDeltaColumns) {
      int64_t at = call.valueAt(entry, head, 0) + column;
      recurrenceLoops().backward(
          {call.block(entry, head, column, 0, seq), floats(cotangent) + at,
           floats(dq) + first * keySize, floats(dk) + first * keySize,
           valueHeads * keySize, floats(dv) + at, floats(ddecay) + first,
           dbeta ? floats(dbeta) + first : nullptr, scratch.data()});
    }
  });
  return 0;
}

int32_t HostFunctions::paged_gated_delta_rule(
    tprt_rank *, int64_t tokens, int64_t keyHeads, int64_t valueHeads,
    int64_t keySize, int64_t valueSize, int64_t numSlots, const void *q,
    const void *k, const void *v, const void *decay, const void *beta,
    const void *slots, const void *sources, const void *pool, void *out,
    void *next) {
  DeltaCall call{1,         tokens,        keyHeads,    valueHeads,
                 keySize,   valueSize,     floats(q),   floats(k),
                 floats(v), floats(decay), floats(beta)};
  PagedDelta step{call,
                  numSlots,
                  static_cast<const int32_t *>(slots),
                  floats(pool),
                  floats(out),
                  floats(next),
                  {}};
  int64_t size = valueHeads * keySize * valueSize * int64_t(sizeof(float));
  if (next != pool)
    std::memcpy(next, pool, size_t(numSlots * size));
  step.findSegments(static_cast<const int32_t *>(sources));
  int64_t blocks = call.blocksPerHead();
  parallelItems(valueHeads * blocks, [&](int64_t item, int64_t) {
    step.run(item / blocks, item % blocks * kDeltaColumns);
  });
  return 0;
}
