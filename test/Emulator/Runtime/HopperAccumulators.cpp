//===- HopperAccumulators.cpp - What products use while they run ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of products, the accumulators that have no value before their wait,
// and the operands in shared memory that count as being read until then.
// Registers are words of a thread's stack: the optimiser keeps in memory what
// a primitive is given by address.
//
//===----------------------------------------------------------------------===//

#include "HopperCounts.h"
#include "Intrinsics.h"
#include <limits>

using namespace tp::emulator;

static constexpr uint32_t wordBytes = 4;

/// The number of the word in which the byte lies that is so far below the top.
static size_t getWord(size_t depth) { return (depth - 1) / wordBytes; }

void Launch::startProduct(const ProductKind &kind, uint32_t index, float *d,
                          bool adds, Site site) {
  ThreadProducts &own = threads[index].products;
  uint32_t count = kind.columns / 2;
  if (!stacks->contains(index, reinterpret_cast<char *>(d),
                        count * wordBytes)) {
    find("accumulators that are not registers", site, "of thread %u", index);
    giveUp();
  }
  size_t first = getWord(stacks->getDepth(index, reinterpret_cast<char *>(d)));
  own.hasBegun = true;
  if (!own.hasFenced)
    find("product without tp_wgmma_fence", site, "of thread %u", index);
  for (size_t i = 0; i < count; ++i)
    if (own.touched.contains(first - i)) {
      find("accumulator touched after the last tp_wgmma_fence", site,
           "number %zu of thread %u", i, index);
      break;
    }
  RunningProduct product{d, std::vector<float>(count), own.groups, site};
  bool hasRun = false;
  for (size_t i = 0; i < own.running.size(); ++i) {
    RunningProduct &other = own.running[i];
    if (other.accumulators >= d + count ||
        other.accumulators + other.values.size() <= d)
      continue;
    if (other.accumulators != d || other.values.size() != count)
      find("products of two shapes in the same accumulators", site,
           "the other runs since [%s]", other.site);
    else if (adds)
      product.values = other.values;
    hasRun = true;
    own.running.erase(own.running.begin() + i--);
  }
  if (adds && !hasRun)
    std::copy(d, d + count, product.values.begin());
  std::fill(d, d + count, std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < count; ++i)
    own.undefined.insert(first - i);
  own.running.push_back(std::move(product));
  ++own.open;
}

void Launch::accessRegisters(const char *address, uint32_t bytes, Access kind,
                             Site site) {
  ThreadProducts &own = thread().products;
  if (!own.hasBegun)
    return;
  size_t depth = stacks->getDepth(self, address);
  bool writes = kind != Access::Read;
  size_t first = getWord(depth), last = getWord(depth - bytes + 1);
  for (size_t i = first + 1; i-- > last;) {
    if (own.undefined.contains(i))
      find(writes ? "accumulator of a running product written"
                  : "accumulator of a running product read",
           site, "no tp_wgmma_wait has named it");
    own.touched.insert(i);
    if (writes)
      own.written.insert(i);
  }
}

void Launch::holdRegisters(const char *address, uint32_t count, Site site) {
  const ThreadProducts &own = thread().products;
  if (!own.hasBegun || !stacks->contains(self, address, count * wordBytes))
    return;
  size_t first = getWord(stacks->getDepth(self, address));
  for (size_t i = 0; i < count; ++i)
    if (own.undefined.contains(first - i))
      find("accumulator of a running product read", site,
           "no tp_wgmma_wait has named it");
}

void Launch::fenceProducts() {
  ThreadProducts &own = thread().products;
  own.hasFenced = true;
  own.touched.clear();
  own.written.clear();
}

void Launch::commitProducts() {
  ThreadProducts &own = thread().products;
  ++own.groups;
  own.open = 0;
}

void Launch::waitProducts(uint32_t pending, float *accumulators,
                          uint32_t count) {
  ThreadProducts &own = thread().products;
  if (own.groups > pending)
    own.finished = std::max(own.finished, own.groups - pending);
  auto &waited = hopper.warpReads[warp()];
  std::erase_if(waited, [&](OperandReads *reads) {
    if (reads->group >= own.finished)
      return false;
    reads->isDone = true;
    reads->times[lane()] = thread().time;
    return std::ranges::count(reads->times, 0) == 0;
  });
  std::erase_if(own.running, [&](RunningProduct &product) {
    if (product.group >= own.finished)
      return false;
    float *begin = product.accumulators;
    size_t word =
        getWord(stacks->getDepth(self, reinterpret_cast<char *>(begin)));
    bool isLeft = false;
    for (size_t i = 0; i < product.values.size(); ++i) {
      bool isNamed =
          begin + i >= accumulators && begin + i < accumulators + count;
      if (isNamed && own.undefined.contains(word - i)) {
        begin[i] = product.values[i];
        own.undefined.erase(word - i);
      }
      isLeft |= own.undefined.contains(word - i);
    }
    return !isLeft;
  });
}

void Launch::checkThreadEnd() {
  const ThreadProducts &own = thread().products;
  if (own.open != 0 || own.groups != own.finished)
    find("product not waited for",
         own.running.empty() ? "?" : own.running.back().site,
         "the thread ends before tp_wgmma_wait");
}

/// True if a lane's wait for the reading products is known to the present
/// thread.
bool Launch::isReadBefore(const OperandReads &reads) const {
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (reads.times[lane] != 0 &&
        isKnown(reads.warp * warpSize + lane, reads.times[lane]))
      return true;
  return false;
}

/// Checks that no product reads what is about to be written.
void Launch::checkOperandReads(size_t offset, uint32_t bytes, Site site) {
  if (hopper.chunkReads.empty())
    return;
  for (size_t i = offset / chunkBytes; i * chunkBytes < offset + bytes; ++i) {
    for (const OperandReads *reads : hopper.chunkReads[i])
      if (!reads->isDone)
        find("operand of a running product written", site,
             "a product of warp %u at [%s] was not waited for", reads->warp,
             reads->site);
      else if (!isReadBefore(*reads))
        find("data race", site,
             "shared memory read by a product of warp %u at [%s], no barrier "
             "behind its wait",
             reads->warp, reads->site);
    hopper.chunkReads[i].clear();
  }
}

/// Checks and notes that a product reads the chunk at `offset`, which is
/// swizzled, for a warp. What a lane of the warp knows is known to it.
void Launch::readOperand(uint32_t warp, uint32_t offset, Site site) {
  offset = swizzle(offset);
  findRegion(arena.base + offset, chunkBytes, Space::Shared, site);
  if (!isChecked())
    return;
  auto someLane = [&](auto condition) {
    for (uint32_t i = warp * warpSize; i < (warp + 1) * warpSize; ++i)
      if (condition(i, threads[i].known))
        return true;
    return false;
  };
  const Cell *last = nullptr;
  forEachCell(arena, offset, chunkBytes, [&](const Cell &cell, size_t at) {
    if (last && last->writeBlock == cell.writeBlock &&
        last->writeThread == cell.writeThread &&
        last->writeClock == cell.writeClock && last->inFlight == cell.inFlight)
      return;
    last = &cell;
    uint32_t writer = cell.writeThread, time = cell.writeClock;
    if (cell.writeBlock != blockNumber) {
      find("uninitialised shared memory", site, "%s is an operand",
           nameShared(at).c_str());
    } else if (cell.inFlight) {
      find("asynchronous copy not waited for", site,
           "its target is an operand before the wait");
    } else if (!someLane([&](uint32_t lane, const Knowledge &known) {
                 return lane == writer || covers(known.happened, writer, time);
               })) {
      find("data race", site,
           "an operand of warp %u written by %s, no barrier between", warp,
           nameParty(writer).c_str());
    } else if (writer < threads.size() &&
               !someLane([&](uint32_t, const Knowledge &known) {
                 return covers(known.fenced, writer, time);
               })) {
      find("no tp_proxy_fence", site,
           "an operand written by %s is not shown to products",
           nameParty(writer).c_str());
    }
  });
  // A later product of the warp stands for earlier ones, which end before it.
  if (hopper.chunkReads.empty())
    hopper.chunkReads.resize(arena.bytes / chunkBytes + 1);
  auto &list = hopper.chunkReads[offset / chunkBytes];
  std::erase_if(list, [&](OperandReads *reads) { return reads->warp == warp; });
  list.push_back(findReads(warp, site));
}

/// The record of what the present group of the warp's products reads.
OperandReads *Launch::findReads(uint32_t warp, Site site) {
  auto &waited = hopper.warpReads[warp];
  uint32_t group = threads[warp * warpSize].products.groups;
  if (waited.empty() || waited.back()->group != group) {
    OperandReads reads;
    reads.warp = warp;
    reads.group = group;
    reads.site = site;
    hopper.reads.push_back(reads);
    waited.push_back(&hopper.reads.back());
  }
  return waited.back();
}

/// Meets the other lanes of the warp.
static void meetWarp(const char *operation, uint64_t *in, uint64_t *out,
                     Site site) {
  current->meet(operation, ~0u, in, out, site, /*aligned=*/true,
                [](Launch &, Meeting &, uint32_t, Site) {});
}

TP_EMULATE(tp_wgmma_fence) {
  static const char operation[] = "wgmma.fence";
  meetWarp(operation, in, out, site);
  current->fenceProducts();
}
TP_EMULATE(tp_wgmma_commit) {
  static const char operation[] = "wgmma.commit_group";
  meetWarp(operation, in, out, site);
  current->commitProducts();
}

static void wait(uint32_t pending, uint32_t count, uint64_t *in, uint64_t *out,
                 Site site) {
  static const char operation[] = "wgmma.wait_group";
  meetWarp(operation, in, out, site);
  current->waitProducts(pending, get<float *>(in[0]), count);
}
static void hold(uint32_t count, uint64_t *in, Site site) {
  current->holdRegisters(get<const char *>(in[0]), count, site);
}

#define TP_WAITS(count)                                                        \
  TP_EMULATE(tp_wgmma_wait_0_##count) { wait(0, count, in, out, site); }       \
  TP_EMULATE(tp_wgmma_wait_1_##count) { wait(1, count, in, out, site); }       \
  TP_EMULATE(tp_hold_##count) { hold(count, in, site); }                       \
  TP_EMULATE(tp_hold_words_##count) { hold(count, in, site); }
TP_EMULATED_ACCUMULATORS(TP_WAITS)
