//===- Timeline.h - what each rank did, and when ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events of one rank, recorded without locks or allocation in the common case,
// and written as a Chrome trace (chrome://tracing, Perfetto), a row per rank;
// and how long steps took. However many steps run, what is kept is bounded.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_RANK_TIMELINE_H
#define TPRT_RANK_TIMELINE_H

#include "../format/Manifest.h"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace tprt {

class Timeline {
public:
  enum class Kind : uint8_t {
    Kernel,
    Gemm,
    Attention,
    PagedAttention,
    Experts,
    Collective,
    Wait, ///< of the step, for a collective that was started
    Step
  };
  using Clock = std::chrono::steady_clock;

  explicit Timeline(bool enabled) : on(enabled) {
    if (on)
      events.reserve(1 << 14);
  }

  bool enabled() const { return on; }
  /// Ends the running kernel, if any, and begins an event that ends with end().
  void begin(Kind kind, int64_t id, int64_t layer);
  void end();
  /// Begins a kernel, which ends with the next event.
  void mark(int64_t id, int64_t layer) { begin(Kind::Kernel, id, layer); }
  void beginStep() { stepStart = Clock::now(); }
  void endStep();

  struct Event {
    Kind kind;
    int32_t id;
    int64_t layer;
    Clock::time_point start, stop;
  };
  /// An event, which may have been timed elsewhere. Of more than kMost the
  /// first half is forgotten.
  void add(const Event &event);
  static constexpr size_t kMost = 1 << 20;
  const std::vector<Event> &all() const { return events; }

  /// The events as bytes, for another process of this host, and back.
  std::string toBytes() const;
  static Timeline fromBytes(const std::string &bytes);

private:
  bool on, open = false;
  Event current;
  Clock::time_point stepStart;
  std::vector<Event> events;
};

/// Seconds of an entry's steps: the last kKept, the shortest of all, and how
/// many there were.
struct StepTimes {
  static constexpr int64_t kKept = 1000;
  int64_t count = 0;
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> last; ///< step i at i % kKept

  void add(double seconds);
  std::vector<double> inOrder() const;
  /// The quantile `q` of those kept.
  double quantile(double q) const;
  double median() const { return quantile(0.5); }
};

/// The trace of all ranks as JSON; times count from the first event.
std::string formatTrace(const Manifest &manifest,
                        const std::vector<const Timeline *> &ranks);

} // namespace tprt

#endif // TPRT_RANK_TIMELINE_H
