//===- Scheduler.cpp - Blocks and threads in turn -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks run one after the other; the threads of a block run each until it
// waits, in the order of their indices or in one drawn from the seed, anew for
// every turn.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

using namespace tp::emulator;

thread_local Launch *tp::emulator::current [[gnu::tls_model("initial-exec")]] =
    nullptr;

/// The stacks of this host thread; it runs one launch at a time.
static Stacks &getStacks() {
  static thread_local Stacks stacks;
  return stacks;
}

Launch::Launch(const ModuleTable &module, const KernelEntry &kernel,
               TpEmulatorDim grid, TpEmulatorDim block, uint32_t dynamicBytes,
               void **arguments, uint64_t seed, TpEmulatorReport report,
               void *reportContext)
    : grid(grid), block(block), module(module), kernel(kernel),
      dynamicBytes(dynamicBytes), arguments(arguments), seed(seed),
      randomState(seed * 0x9E3779B97F4A7C15ull + 1), report(report),
      reportContext(reportContext), stacks(&getStacks()),
      accessLimit(getAccessLimit()), endsAtFinding(getEndsAtFinding()) {
  size_t bytes = kernel.dynamicOffset + dynamicBytes;
  size_t rounded = (bytes / dynamicAlignment + 1) * dynamicAlignment;
  arena =
      Region(static_cast<char *>(std::aligned_alloc(dynamicAlignment, rounded)),
             bytes);
  current = this;
}

Launch::~Launch() {
  std::free(arena.base);
  current = nullptr;
}

void Launch::shuffle(std::vector<uint32_t> &order) {
  if (seed == 0)
    return;
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draw(i)]);
}

/// A number below `count`: 0 without a seed.
uint32_t Launch::draw(uint32_t count) {
  if (seed == 0)
    return 0;
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState % count;
}

void Launch::yield() { tpEmulatorSwitch(&thread().stackPointer, scheduler); }

void Launch::waitAt(Site site) {
  thread().state = Thread::Waiting;
  thread().waitsAt = site;
  yield();
}

void Launch::giveUp() {
  over = true;
  yield();
  abort(); // nobody goes on with this fiber
}

void Launch::enterThread() {
  Launch &launch = *current;
  launch.kernel.function(launch.arguments);
  Thread &thread = launch.thread();
  const std::vector<AsyncCopy> *pending =
      thread.open.empty() ? nullptr : &thread.open;
  for (const auto &group : thread.committed)
    if (!group.empty())
      pending = &group;
  if (pending)
    launch.find("asynchronous copy not waited for", pending->front().site,
                "the thread ends before cp.async.wait");
  launch.checkThreadEnd();
  thread.state = Thread::Done;
  launch.yield();
  abort();
}

/// No thread can go on: says why, and lets those go on that the threads which
/// have exited kept waiting.
void Launch::resolveStuck(uint32_t left) {
  for (Barrier &barrier : barriers) {
    if (barrier.arrivals.size() != left || barrier.count != 0)
      continue;
    self = barrier.arrivals.front().thread;
    find("barrier after some threads have exited",
         barrier.arrivals.front().site, "%u of %zu left", left, threads.size());
    return release(barrier, true);
  }
  std::map<std::string, uint32_t> places;
  Site site = "?";
  for (uint32_t i = 0; i < threads.size(); ++i) {
    if (threads[i].state != Thread::Waiting)
      continue;
    if (places.empty()) {
      self = i;
      site = threads[i].waitsAt;
    }
    ++places["[" + std::string(threads[i].waitsAt) + "]" + describeWait(i)];
  }
  std::string text = std::to_string(threads.size() - left) + " have exited";
  for (const auto &[place, count] : places)
    text += ", " + std::to_string(count) + " wait at " + place;
  find("threads wait for each other for ever", site, "%s", text.c_str());
  over = true;
}

void Launch::runBlock() {
  for (Barrier &barrier : barriers)
    barrier.arrivals.clear();
  meetings.assign((threads.size() + warpSize - 1) / warpSize, {});
  hopper = HopperBlock();
  hopper.meetings.resize(threads.size() / warpgroupSize);
  hopper.warpReads.resize(meetings.size());
  moreReaders.clear();
  // A NaN in every float format.
  memset(arena.base, 0xff, arena.bytes);
  for (uint32_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread = Thread();
    thread.state = Thread::Ready;
    thread.time = 1;
    thread.index[0] = i % block.x;
    thread.index[1] = i / block.x % block.y;
    thread.index[2] = i / block.x / block.y;
    thread.stackPointer = stacks->prepare(i, enterThread);
  }
  std::vector<uint32_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t left = threads.size(); left != 0 && !over;) {
    bool ran = false;
    left = 0;
    shuffle(order);
    for (uint32_t i : order) {
      if (threads[i].state == Thread::Ready) {
        self = i;
        ran = true;
        tpEmulatorSwitch(&scheduler, threads[i].stackPointer);
        if (over)
          return;
      }
      left += threads[i].state != Thread::Done;
    }
    if (!hopper.copies.empty() && (!ran || (seed != 0 && draw(4) == 0)))
      completeBox();
    else if (!ran && left != 0)
      resolveStuck(left);
  }
  if (!over && !hopper.copies.empty()) {
    self = hopper.copies.front().thread;
    find("asynchronous copy not waited for", hopper.copies.front().site,
         "the block ends before the wait for its mbarrier");
  }
}

int32_t Launch::run() {
  threads.resize(size_t(block.x) * block.y * block.z);
  for (auto [base, bytes] : getRegisteredRanges())
    globals.emplace_back(base, bytes);
  for (uint32_t i = 0; i < module.constantCount; ++i)
    globals.emplace_back(
        static_cast<char *>(const_cast<void *>(module.constants[i].base)),
        module.constants[i].bytes);
  std::sort(globals.begin(), globals.end(),
            [](const Region &a, const Region &b) { return a.base < b.base; });

  std::vector<uint32_t> order(size_t(grid.x) * grid.y * grid.z);
  std::iota(order.begin(), order.end(), 0);
  shuffle(order);
  for (uint32_t index : order) {
    blockNumber = index + 1;
    blockIndex[0] = index % grid.x;
    blockIndex[1] = index / grid.x % grid.y;
    blockIndex[2] = index / grid.x / grid.y;
    runBlock();
    if (over)
      break;
  }
  return tellFindings();
}
