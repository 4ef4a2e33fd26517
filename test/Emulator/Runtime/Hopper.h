//===- Hopper.h - State of the instructions of sm_90 ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarriers, copies of boxes, products of warpgroups and shares of registers of
// the block that runs. kernels/device/hopper.h declares the primitives.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_HOPPER_H
#define TP_TEST_EMULATOR_HOPPER_H

#include "Clock.h"
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <vector>

namespace tp::emulator {

/// Text of the instruction at work: the kernel's name, a number, the
/// instruction. Equal exactly if it is the same instruction.
using Site = const char *;

inline constexpr uint32_t warpSize = 32;
inline constexpr uint32_t warpgroupSize = 128;
inline constexpr uint32_t chunkBytes = 16;

struct Mbarrier {
  uint32_t offset; ///< in shared memory
  uint32_t party;  ///< in clocks
  uint32_t maker, madeAt;
  bool isShown = false; ///< to the copy engine
  uint32_t count;       ///< arrivals that end a phase
  uint32_t missing;     ///< arrivals
  int64_t bytes = 0;    ///< that have still to come
  uint32_t phase = 0;   ///< the one that runs
  KnowledgeSum arrived;
  Knowledge ended; ///< what the last phase that ended passes on
};

/// A tensor map as the primitives make it, in 128 bytes.
struct TensorMap {
  static constexpr uint32_t bytes = 128, maxRank = 5;
  static constexpr uint64_t madeHere = 0x70616D726F736E74;
  uint64_t mark;
  const char *base;
  uint32_t rank;
  uint32_t described; ///< bit n: dimension n
  int32_t size[maxRank], box[maxRank];
  int64_t stride[maxRank]; ///< bytes; that of dimension 0 is not used
};
static_assert(sizeof(TensorMap) <= TensorMap::bytes);

/// Elements have 16 bits.
inline constexpr uint32_t elementBytes = 2;

/// The copy of a box that is under way.
struct BoxCopy {
  TensorMap map;
  int at[TensorMap::maxRank];
  uint32_t target; ///< offset in shared memory
  Mbarrier *barrier;
  uint32_t phase;  ///< of the barrier, when the copy began
  Knowledge known; ///< to the thread that began it
  uint32_t thread;
  Site site;

  uint32_t rowBytes() const { return map.box[0] * elementBytes; }
  uint64_t rows() const {
    uint64_t count = 1;
    for (uint32_t i = 1; i < map.rank; ++i)
      count *= map.box[i];
    return count;
  }
  uint64_t bytes() const { return rows() * rowBytes(); }
};

/// The place to which the 128-byte swizzle moves the chunk at `offset`.
inline uint32_t swizzle(uint32_t offset) {
  return offset ^ (offset >> 7 & 7) << 4;
}

/// A product's instruction: d [64, columns] from 16 products each.
struct ProductKind {
  uint32_t columns;
  float (*widen)(uint16_t);
  bool hasRegisters; ///< A is in registers
  uint32_t operands() const { return hasRegisters ? 3 : 4; }
};

/// Threads of a warpgroup on their way to one operation.
struct WarpgroupMeeting {
  uint32_t warpgroup, present = 0;
  const char *operation;
  Site site;
  uint64_t *in[warpgroupSize];
};

/// Accumulators of a thread that have no value yet.
struct RunningProduct {
  float *accumulators;
  std::vector<float> values;
  uint32_t group;
  Site site;
};

/// Words of four bytes of a thread's stack, numbered from its top down: a
/// kernel uses few of all that there are.
class WordSet {
public:
  bool contains(size_t word) const { return word < bits.size() && bits[word]; }
  void insert(size_t word) {
    if (word >= bits.size())
      bits.resize(word + 1);
    bits[word] = true;
  }
  void erase(size_t word) {
    if (word < bits.size())
      bits[word] = false;
  }
  void clear() { bits.clear(); }

private:
  std::vector<bool> bits;
};

struct ThreadProducts {
  bool hasFenced = false;
  uint32_t groups = 0;   ///< committed
  uint32_t finished = 0; ///< of these, by the last wait
  uint32_t open = 0;     ///< products since the last commit
  std::vector<RunningProduct> running;
  bool hasBegun = false; ///< there was a product
  /// Since the last fence the thread has touched these words, or written; and
  /// accumulators without a value.
  WordSet touched, written, undefined;
};

/// Shared memory that products of a group read for a warp, until its wait.
struct OperandReads {
  uint32_t warp, group;
  Site site;
  bool isDone = false;
  std::array<uint32_t, warpSize> times{}; ///< of lanes at their wait; 0: none
};

/// Registers of each thread of a warpgroup.
struct RegisterShares {
  uint32_t most = 0; ///< that the counts add up to
  std::vector<uint32_t> counts;
};

struct HopperBlock {
  std::map<uint32_t, Mbarrier> mbarriers; ///< by offset
  std::deque<BoxCopy> copies;
  /// By place in global memory, how often a map was published there.
  std::map<const char *, uint32_t> tensorMaps;
  std::vector<WarpgroupMeeting> meetings; ///< per warpgroup
  std::deque<OperandReads> reads;
  /// For each warp, those of which a lane has not waited, oldest first.
  std::vector<std::vector<OperandReads *>> warpReads;
  /// For each chunk of shared memory, who reads it; empty: nobody does.
  std::vector<std::vector<OperandReads *>> chunkReads;
  RegisterShares registers;
  /// Operands and result of the product at work.
  std::vector<float> a, b, d;
};

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_HOPPER_H
