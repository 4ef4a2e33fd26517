//===- Launch.h - One launch of a kernel ------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a launch and what its parts do: the scheduler (Scheduler.cpp),
// memory and its checks (Memory.cpp), barriers and operations of a warp
// (Sync.cpp) and findings (Report.cpp). The intrinsics' definitions work on
// `current`, the launch that the calling host thread is in.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_LAUNCH_H
#define TP_TEST_EMULATOR_LAUNCH_H

#include "Clock.h"
#include "Emulator.h"
#include "Fiber.h"
#include "Hopper.h"
#include "Module.h"
#include "Shadow.h"
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tp::emulator {

inline constexpr uint32_t maxThreads = 1024;
inline constexpr uint32_t maxStaticShared = 48 << 10;

/// A cp.async that is under way: done at the wait, as late as is allowed.
struct AsyncCopy {
  char *target;
  const char *source;
  uint32_t bytes, copied; ///< what is not copied becomes zero
  Site site;
};

struct Thread {
  enum State : uint8_t { Ready, Waiting, Done };
  void *stackPointer;
  State state;
  uint32_t index[3];
  Site waitsAt;
  uint32_t time;
  Knowledge known;
  ThreadProducts products;
  const Mbarrier *waitsFor;
  bool waitsForRegisters;
  std::map<const char *, uint32_t> tensorMaps; ///< versions acquired
  std::vector<AsyncCopy> open;                 ///< no group yet
  std::list<std::vector<AsyncCopy>> committed; ///< oldest first
};

/// Lanes of a warp on their way to one operation; nobody is, once all have met.
struct Meeting {
  const char *operation;
  uint32_t mask, present = 0;
  uint64_t *in[warpSize], *out[warpSize];
};

/// Arrivals at one of the block's 16 named barriers.
struct Barrier {
  struct Arrival {
    uint32_t thread;
    bool waits;
    Site site;
    uint32_t time;
    Knowledge known;
  };
  std::vector<Arrival> arrivals;
  uint32_t count = 0; ///< of threads, as the arrivals said; 0: all
};

enum class Access { Read, Write, Atomic, AsyncWrite };
/// The memory that an instruction's address space allows.
enum class Space { Any, Shared };

class Launch {
public:
  Launch(const ModuleTable &module, const KernelEntry &kernel,
         TpEmulatorDim grid, TpEmulatorDim block, uint32_t dynamicBytes,
         void **arguments, uint64_t seed, TpEmulatorReport report,
         void *reportContext);
  ~Launch();
  /// Runs all blocks; returns the number of findings.
  int32_t run();

  // For the intrinsics.
  Thread &thread() { return threads[self]; }
  uint32_t lane() const { return self % warpSize; }
  uint32_t warp() const { return self / warpSize; }
  bool isChecked() const { return module.checked; }

  /// Checks and notes an access that the code generator takes as aligned to
  /// `alignment` bytes.
  void access(const void *address, uint32_t bytes, uint32_t alignment,
              Access kind, Space space, Site site);
  /// Evaluates one lane of a meeting; called by the last lane to arrive, in the
  /// order of lanes.
  using Evaluate = void (*)(Launch &, Meeting &, uint32_t lane, Site);
  /// Meets the other lanes of `mask` at an operation. `aligned` operations need
  /// all lanes at the same instruction.
  void meet(const char *operation, uint32_t mask, uint64_t *in, uint64_t *out,
            Site site, bool aligned, Evaluate evaluate);
  /// Arrives at named barrier `id` with `count` threads in all (0: all of the
  /// block) and, if `waits`, stays until it is complete.
  void barrier(uint32_t id, uint32_t count, bool aligned, bool waits,
               Site site);
  /// Makes all that the lanes of the meeting did known to each of them.
  void orderLanes(uint32_t lanes);
  void copyAsync(void *target, const void *source, uint32_t bytes,
                 uint32_t copied, Site site);
  void commitCopies();
  /// Completes all but the `pending` youngest groups.
  void waitCopies(uint32_t pending);
  /// And what is in no group.
  void waitAllCopies();

  /// Records a finding once per kind and place.
  [[gnu::format(printf, 4, 5)]] void find(const char *kind, Site site,
                                          const char *format, ...);
  /// Gives up the launch; does not return.
  [[noreturn]] void giveUp();

  // Instructions of sm_90 (hopper.h of kernels/device). Hopper*.cpp
  void initMbarrier(const char *place, uint32_t count, Site site);
  void showMbarriers();
  /// Arrives, and has the phase wait for `bytes` of copies besides.
  void arriveMbarrier(const char *place, int64_t bytes, Site site);
  void waitMbarrier(const char *place, uint32_t parity, Site site);
  void fenceProxy();
  /// Meets the other threads of the warpgroup, the last of which evaluates.
  using EvaluateWarpgroup = void (*)(Launch &, WarpgroupMeeting &,
                                     const void *what, Site);
  void meetWarpgroup(const char *operation, const void *what, uint64_t *in,
                     Site site, EvaluateWarpgroup evaluate);
  void multiply(const ProductKind &kind, WarpgroupMeeting &meeting, Site site);
  void fenceProducts();
  void commitProducts();
  void waitProducts(uint32_t pending, float *accumulators, uint32_t count);
  /// Checks and notes an access to what a primitive takes for registers.
  void accessRegisters(const char *address, uint32_t bytes, Access kind,
                       Site site);
  /// The assembler has `count` of them computed here.
  void holdRegisters(const char *address, uint32_t count, Site site);
  void setRegisters(uint32_t warpgroup, int32_t count, Site site);
  void waitForRegisters(Site site);
  void publishTensorMap(char *global, const char *map, Site site);
  void acquireTensorMap(const char *global, Site site);
  void copyBox(char *to, const char *map, const char *barrier, const int *at,
               uint32_t rank, Site site);

  /// True if inexact instructions get errors.
  bool hasErrors() const { return seed != 0; }
  /// A number of [-1, 1] that depends on the seed, the operation and its
  /// operand only: the hardware's errors are the same each time.
  double error(const char *operation, uint64_t operand) const;

  TpEmulatorDim grid, block;
  uint32_t blockIndex[3] = {};
  char *shared() { return arena.base; }

private:
  int32_t tellFindings() const;
  // Scheduler.cpp and Sync.cpp
  static void enterThread();
  void runBlock();
  void resolveStuck(uint32_t left);
  uint32_t liveLanes(uint32_t warp) const;
  uint32_t liveThreads() const;
  void yield();
  void waitAt(Site site);
  void shuffle(std::vector<uint32_t> &order);
  // Memory.cpp
  Region *findRegion(const char *address, uint32_t bytes, Space space,
                     Site site);
  const char *sharedName(size_t offset) const;
  /// "byte 16 of @buffer"
  std::string nameShared(size_t offset) const;
  std::string nameParty(uint32_t party) const;
  bool isKnown(uint32_t party, uint32_t time) const;
  /// Calls visit(cell, offset) for the cells of a part of a region.
  template <typename Visit>
  void forEachCell(Region &region, size_t offset, size_t bytes, Visit visit) {
    region.forEachCell(
        offset, bytes, [this](Cell &cell) { separateReaders(cell); }, visit);
  }
  /// Gives a copy of a cell further readers of its own.
  void separateReaders(Cell &cell);
  void checkWrites(Cell &cell, const Region &region, Access kind, Site site);
  void noteRead(Cell &cell);
  int32_t unorderedReader(const Cell &cell) const;
  void complete(std::vector<AsyncCopy> &copies);
  // Sync.cpp
  void release(Barrier &barrier, bool whole);
  // Hopper*.cpp
  Mbarrier &findMbarrier(const char *place, Site site);
  void endPhase(Mbarrier &barrier);
  std::string describeWait(uint32_t index) const;
  void checkOperands(const ProductKind &kind, WarpgroupMeeting &meeting,
                     uint32_t thread, Site site);
  void multiplyRow(uint32_t columns, const float *a, float *own);
  void readOperand(uint32_t warp, uint32_t offset, Site site);
  OperandReads *findReads(uint32_t warp, Site site);
  void gatherOperands(const ProductKind &kind, WarpgroupMeeting &meeting,
                      Site site);
  void startProduct(const ProductKind &kind, uint32_t thread, float *d,
                    bool adds, Site site);
  bool isReadBefore(const OperandReads &reads) const;
  void checkOperandReads(size_t offset, uint32_t bytes, Site site);
  void checkBox(const BoxCopy &copy, uint32_t rank, Site site);
  void readBox(const BoxCopy &copy, Site site);
  void reserveBox(const BoxCopy &copy, Site site);
  bool completeBox();
  void checkThreadEnd();
  uint32_t draw(uint32_t count);

  const ModuleTable &module;
  const KernelEntry &kernel;
  uint32_t dynamicBytes;
  void **arguments;
  uint64_t seed, randomState;
  TpEmulatorReport report;
  void *reportContext;

  Stacks *stacks;
  void *scheduler = nullptr;
  std::vector<Thread> threads;
  uint32_t self = 0;
  uint32_t blockNumber = 0; ///< from 1 on
  bool over = false;
  std::vector<std::vector<Meeting>> meetings; ///< per warp
  Barrier barriers[16];

  HopperBlock hopper;
  Region arena;
  std::vector<Region> globals; ///< by address
  size_t lastGlobal = 0;
  std::vector<std::vector<Readers>> moreReaders;
  uint64_t accesses = 0, accessLimit;
  bool endsAtFinding;
  std::set<std::pair<std::string, std::string>> seen;
  std::set<std::pair<const char *, Site>> seenAddresses;
  /// Told when the launch is over: a fiber's stack is small.
  std::vector<std::string> findings;
};

extern thread_local Launch *current [[gnu::tls_model("initial-exec")]];

/// The settings of tpEmulatorSetAccessLimit and tpEmulatorSetEndsAtFinding.
uint64_t getAccessLimit();
bool getEndsAtFinding();
/// The ranges that were registered, by address.
std::vector<std::pair<char *, size_t>> getRegisteredRanges();

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_LAUNCH_H
