//===- Memory.h - memory of the device and of the host ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory lies in one reserved range of addresses that nobody can touch
// except while nodes run; an allocation ends at the end of a page, the next
// page is never accessible, and no address is given out twice. So a host that
// reads device memory, a kernel that leaves its buffer and a use after free
// fault, and the report says which. New memory holds NaNs.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_MEMORY_H
#define TPRT_TEST_FAKECUDA_MEMORY_H

#include "Api.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fake {

/// The kind of memory that an address belongs to.
enum class Place {
  Device,   ///< a live allocation of device memory
  NoDevice, ///< the device's range, but no live allocation
  Pinned,   ///< page-locked host memory
  Pageable  ///< other host memory
};

struct Span {
  Place place;
  char *begin; ///< of the allocation (null for Pageable)
  size_t size;
};

/// The allocation around an address.
Span spanOf(const void *address);

/// True if [address, address + bytes) is inside one live allocation of device
/// memory.
bool onDevice(const void *address, size_t bytes);

/// Makes device memory accessible until the running pass of the scheduler ends;
/// every node that touches it begins with this.
void openMemory();

/// Ends it.
struct CloseMemory {
  ~CloseMemory();
};

/// Describes in words where an address lies, for reports.
std::string describe(const void *address);

/// Reserves the range and installs the handler that reports faults in it.
void initialiseMemory();

CUresult allocateDevice(CUdeviceptr *address, size_t bytes);
CUresult freeDevice(CUdeviceptr address);

/// Live allocations and their bytes, for the statistics at exit and tests.
size_t deviceBytes();
size_t deviceCapacity();

/// Bytes copied from the device to the host until now.
size_t bytesToHost();

/// Calls visit(begin, bytes) for every live device allocation.
void forEachDeviceSpan(void (*visit)(void *context, char *begin, size_t bytes),
                       void *context);

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_MEMORY_H
