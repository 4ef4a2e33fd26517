//===- Clock.h - What is known to have happened -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks. A party is a thread of the block, by its number, or behind the
// threads an mbarrier, which stands for the copies that it counts: its time is
// the number of phases that have ended.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_CLOCK_H
#define TP_TEST_EMULATOR_CLOCK_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tp::emulator {

/// For each party, its time up to which everything it did is known to have
/// happened; 0 for parties beyond the end. Null: nothing is known.
using Clock = std::shared_ptr<const std::vector<uint32_t>>;

inline bool covers(const Clock &clock, uint32_t party, uint32_t time) {
  return clock && party < clock->size() && (*clock)[party] >= time;
}

/// The knowledge of a thread, or that which a barrier passes on.
struct Knowledge {
  Clock happened;
  /// The part of it that a proxy fence has shown to products and to the copy
  /// engine.
  Clock fenced;
};

/// Adds up clocks.
class ClockSum {
public:
  void add(const Clock &clock) {
    if (!clock || clock == last)
      return;
    last = clock;
    if (times.size() < clock->size())
      times.resize(clock->size());
    for (size_t i = 0; i < clock->size(); ++i)
      times[i] = std::max(times[i], (*clock)[i]);
  }
  void add(uint32_t party, uint32_t time) {
    if (times.size() <= party)
      times.resize(party + 1);
    times[party] = std::max(times[party], time);
  }
  Clock get() const {
    if (times.empty())
      return nullptr;
    return std::make_shared<const std::vector<uint32_t>>(times);
  }

private:
  std::vector<uint32_t> times;
  Clock last; ///< kept: several in a row often know the same
};

/// Adds up what several know.
struct KnowledgeSum {
  ClockSum happened, fenced;

  void add(const Knowledge &known) {
    happened.add(known.happened);
    fenced.add(known.fenced);
  }
  Knowledge get() const { return {happened.get(), fenced.get()}; }
};

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_CLOCK_H
