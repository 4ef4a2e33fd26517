//===- Memory.cpp - memory of the device and of the host ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation, protection and the classification of addresses. The functions of
// the driver that speak of memory are at the end.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "Device.h"
#include "Module.h"
#include "Scheduler.h"
#include "Stream.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace fake;

namespace {

constexpr size_t kRange = size_t(1) << 38; // addresses, not memory
constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;

struct Allocation {
  size_t size;
  char *pages;
  size_t pageBytes;
};

struct State {
  char *range = nullptr;
  size_t used = 0;
  size_t bytes = 0;
  bool open = false;
  std::map<uintptr_t, Allocation> device;
  std::map<uintptr_t, size_t> freed;
  std::map<uintptr_t, size_t> pinned;
  std::map<uintptr_t, bool> pinnedOwned;
  struct sigaction previous = {};
};

State &state() {
  static State *state = new State;
  return *state;
}

size_t roundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The entry that begins at or before an address, or null.
template <typename Map>
typename Map::const_iterator before(const Map &map, uintptr_t address) {
  auto place = map.upper_bound(address);
  return place == map.begin() ? map.end() : std::prev(place);
}

void onFault(int signal, siginfo_t *info, void *) {
  State &s = state();
  char *address = static_cast<char *>(info->si_addr);
  if (s.range && address >= s.range && address < s.range + kRange) {
    const std::string &node = Scheduler::get().running();
    std::string text =
        "fake-cuda: " + (s.open && !node.empty() ? node : "the host") +
        " touched " + describe(address) + "\n";
    if (write(STDERR_FILENO, text.data(), text.size()) < 0)
      _exit(1);
  }
  // Returning repeats the access under the handler that was there before.
  sigaction(signal, &s.previous, nullptr);
}

} // namespace

void fake::initialiseMemory() {
  State &s = state();
  if (s.range)
    return;
  void *range = mmap(nullptr, kRange, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    std::perror("fake-cuda: cannot reserve addresses");
    std::abort();
  }
  s.range = static_cast<char *>(range);
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &s.previous);
}

Span fake::spanOf(const void *pointer) {
  State &s = state();
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto begin = reinterpret_cast<uintptr_t>(s.range);
  if (s.range && address >= begin && address < begin + kRange) {
    auto found = before(s.device, address);
    if (found != s.device.end() && address < found->first + found->second.size)
      return {Place::Device, reinterpret_cast<char *>(found->first),
              found->second.size};
    return {Place::NoDevice, nullptr, 0};
  }
  auto found = before(s.pinned, address);
  if (found != s.pinned.end() && address < found->first + found->second)
    return {Place::Pinned, reinterpret_cast<char *>(found->first),
            found->second};
  return {Place::Pageable, nullptr, 0};
}

bool fake::onDevice(const void *address, size_t bytes) {
  Span span = spanOf(address);
  return span.place == Place::Device &&
         static_cast<const char *>(address) + bytes <= span.begin + span.size;
}

std::string fake::describe(const void *pointer) {
  State &s = state();
  auto address = reinterpret_cast<uintptr_t>(pointer);
  char text[200];
  auto live = before(s.device, address);
  auto dead = before(s.freed, address);
  if (live != s.device.end() && address < live->first + live->second.size)
    std::snprintf(text, sizeof(text),
                  "byte %zu of an allocation of %zu bytes of device memory",
                  size_t(address - live->first), live->second.size);
  else if (dead != s.freed.end() && address < dead->first + dead->second)
    std::snprintf(text, sizeof(text),
                  "byte %zu of freed device memory (%zu bytes)",
                  size_t(address - dead->first), dead->second);
  else if (live != s.device.end())
    std::snprintf(text, sizeof(text),
                  "device address %p, %zu bytes past an allocation of %zu",
                  pointer, size_t(address - live->first - live->second.size),
                  live->second.size);
  else
    std::snprintf(text, sizeof(text), "device address %p, never allocated",
                  pointer);
  return text;
}

void fake::openMemory() {
  State &s = state();
  if (s.open)
    return;
  s.open = true;
  for (auto &[address, allocation] : s.device)
    mprotect(allocation.pages, allocation.pageBytes, PROT_READ | PROT_WRITE);
}

CloseMemory::~CloseMemory() {
  State &s = state();
  if (!s.open)
    return;
  s.open = false;
  for (auto &[address, allocation] : s.device)
    mprotect(allocation.pages, allocation.pageBytes, PROT_NONE);
}

size_t fake::deviceBytes() { return state().bytes; }

size_t fake::deviceCapacity() {
  static size_t bytes =
      size_t(environmentNumber("TP_FAKE_CUDA_MEMORY", int64_t(8) << 30));
  return bytes;
}

void fake::forEachDeviceSpan(void (*visit)(void *, char *, size_t),
                             void *context) {
  for (auto &[address, allocation] : state().device)
    visit(context, reinterpret_cast<char *>(address), allocation.size);
}

CUresult fake::allocateDevice(CUdeviceptr *address, size_t bytes) {
  State &s = state();
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  size_t pageBytes = roundUp(bytes, kPage);
  if (s.bytes + pageBytes > deviceCapacity() ||
      s.used + pageBytes + kPage > kRange)
    return CUDA_ERROR_OUT_OF_MEMORY;
  char *pages = s.range + s.used;
  s.used += pageBytes + kPage;
  if (mprotect(pages, pageBytes, PROT_READ | PROT_WRITE) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  madvise(pages, pageBytes, MADV_HUGEPAGE); // protecting them is cheaper
  std::memset(pages, 0xff, pageBytes);      // NaN in every float type
  if (!s.open)
    mprotect(pages, pageBytes, PROT_NONE);
  char *begin = pages + pageBytes - roundUp(bytes, kAlignment);
  s.device[reinterpret_cast<uintptr_t>(begin)] = {bytes, pages, pageBytes};
  s.bytes += pageBytes;
  announce(begin, bytes);
  *address = reinterpret_cast<CUdeviceptr>(begin);
  return CUDA_SUCCESS;
}

CUresult fake::freeDevice(CUdeviceptr address) {
  State &s = state();
  auto found = s.device.find(uintptr_t(address));
  if (found == s.device.end())
    return CUDA_ERROR_INVALID_VALUE;
  Allocation &allocation = found->second;
  s.bytes -= allocation.pageBytes;
  renounce(reinterpret_cast<char *>(found->first));
  s.freed[found->first] = allocation.size;
  madvise(allocation.pages, allocation.pageBytes, MADV_DONTNEED);
  mprotect(allocation.pages, allocation.pageBytes, PROT_NONE);
  s.device.erase(found);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// The driver's functions
//===----------------------------------------------------------------------===//

CUresult cuMemAlloc(CUdeviceptr *dptr, size_t bytesize) {
  Guard guard;
  TRY(ready());
  TRY(refuseInCapture("cuMemAlloc"));
  return allocateDevice(dptr, bytesize);
}

CUresult cuMemFree(CUdeviceptr dptr) {
  Guard guard;
  TRY(ready());
  if (!dptr)
    return CUDA_SUCCESS;
  TRY(refuseInCapture("cuMemFree"));
  if (!onDevice(reinterpret_cast<void *>(dptr), 1))
    return CUDA_ERROR_INVALID_VALUE;
  Scheduler::get().waitAll();
  TRY(Scheduler::get().failure());
  return freeDevice(dptr);
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  Guard guard;
  TRY(ready());
  if (!free || !total)
    return CUDA_ERROR_INVALID_VALUE;
  *total = deviceCapacity();
  *free = deviceCapacity() - deviceBytes();
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int flags) {
  Guard guard;
  TRY(ready());
  TRY(refuseInCapture("cuMemHostAlloc"));
  if (!pp || bytesize == 0 || flags & ~7u)
    return CUDA_ERROR_INVALID_VALUE;
  void *data = std::aligned_alloc(kPage, roundUp(bytesize, kPage));
  if (!data)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(data, 0xff, bytesize);
  auto address = reinterpret_cast<uintptr_t>(data);
  state().pinned[address] = bytesize;
  state().pinnedOwned[address] = true;
  *pp = data;
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *pdptr, void *p,
                                   unsigned int Flags) {
  Guard guard;
  TRY(ready());
  if (!pdptr || Flags || spanOf(p).place != Place::Pinned)
    return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p) {
  Guard guard;
  TRY(ready());
  TRY(refuseInCapture("cuMemFreeHost"));
  State &s = state();
  auto address = reinterpret_cast<uintptr_t>(p);
  auto found = s.pinned.find(address);
  if (found == s.pinned.end() || !s.pinnedOwned[address])
    return CUDA_ERROR_INVALID_VALUE;
  Scheduler::get().waitAll();
  s.pinned.erase(found);
  s.pinnedOwned.erase(address);
  std::free(p);
  return Scheduler::get().failure();
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int flags) {
  Guard guard;
  TRY(ready());
  TRY(refuseInCapture("cuMemHostRegister"));
  if (environmentNumber("TP_FAKE_CUDA_REGISTER", 1) == 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!p || bytesize == 0 || flags & ~15u)
    return CUDA_ERROR_INVALID_VALUE;
  if (spanOf(p).place != Place::Pageable)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  auto address = reinterpret_cast<uintptr_t>(p);
  state().pinned[address] = bytesize;
  state().pinnedOwned[address] = false;
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *p) {
  Guard guard;
  TRY(ready());
  TRY(refuseInCapture("cuMemHostUnregister"));
  State &s = state();
  auto address = reinterpret_cast<uintptr_t>(p);
  auto found = s.pinned.find(address);
  if (found == s.pinned.end() || s.pinnedOwned[address])
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  Scheduler::get().waitAll();
  s.pinned.erase(found);
  s.pinnedOwned.erase(address);
  return Scheduler::get().failure();
}
