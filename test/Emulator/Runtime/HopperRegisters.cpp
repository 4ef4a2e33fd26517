//===- HopperRegisters.cpp - Shares of a block's registers ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setmaxnreg. A block has what its threads begin with: as many registers as fit
// a multiprocessor, by eights. A warpgroup that takes more waits until others
// have given.
//
//===----------------------------------------------------------------------===//

#include "HopperCounts.h"
#include "Intrinsics.h"
#include <numeric>

using namespace tp::emulator;

static constexpr uint32_t registersOfProcessor = 64 << 10, mostOfThread = 255;

static void evaluate(Launch &launch, WarpgroupMeeting &meeting,
                     const void *what, Site site) {
  launch.setRegisters(meeting.warpgroup, *static_cast<const int32_t *>(what),
                      site);
}

/// `count` registers are taken, -`count` given to others.
void Launch::setRegisters(uint32_t warpgroup, int32_t count, Site site) {
  RegisterShares &shares = hopper.registers;
  if (shares.counts.empty()) {
    if (kernel.maxThreads == 0 && kernel.requiredThreads[0] == 0)
      find("shares of registers without .maxntid", site,
           "the assembler ignores them");
    uint32_t most = kernel.maxThreads ? kernel.maxThreads : threads.size();
    uint32_t own = std::min(registersOfProcessor / most, mostOfThread) / 8 * 8;
    shares.counts.assign(threads.size() / warpgroupSize, own);
    shares.most = own * shares.counts.size();
  }
  uint32_t before = shares.counts[warpgroup];
  uint32_t after = std::abs(count);
  if (count > 0 ? after < before : after > before)
    find(count > 0 ? "registers taken that the warpgroup has"
                   : "registers given that the warpgroup does not have",
         site, "%u, of %u", after, before);
  shares.counts[warpgroup] = after;
  for (Thread &thread : threads)
    if (thread.state == Thread::Waiting && thread.waitsForRegisters) {
      thread.waitsForRegisters = false;
      thread.state = Thread::Ready;
    }
}

/// Waits until the registers are there.
void Launch::waitForRegisters(Site site) {
  const RegisterShares &shares = hopper.registers;
  while (std::accumulate(shares.counts.begin(), shares.counts.end(), 0u) >
         shares.most) {
    thread().waitsForRegisters = true;
    waitAt(site);
  }
}

static void give(const int32_t *count, uint64_t *in, Site site) {
  current->meetWarpgroup("setmaxnreg.dec", count, in, site, evaluate);
}
static void take(const int32_t *count, uint64_t *in, Site site) {
  current->meetWarpgroup("setmaxnreg.inc", count, in, site, evaluate);
  current->waitForRegisters(site);
}

#define TP_REGISTERS(count)                                                    \
  TP_EMULATE(tp_give_registers_##count) {                                      \
    static constexpr int32_t change = -count;                                  \
    give(&change, in, site);                                                   \
  }                                                                            \
  TP_EMULATE(tp_take_registers_##count) {                                      \
    static constexpr int32_t change = count;                                   \
    take(&change, in, site);                                                   \
  }
TP_EMULATED_REGISTERS(TP_REGISTERS)
