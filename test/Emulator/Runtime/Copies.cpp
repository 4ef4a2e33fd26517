//===- Copies.cpp - Asynchronous and plain copies -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async takes effect at the wait, not before: a program that does not wait
// reads what was there. Plain copies and fills are LLVM's memory intrinsics.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"
#include <algorithm>

using namespace tp::emulator;

/// Operands: target, source and, if `partial`, how many bytes to read.
static void copyAsync(uint64_t *in, uint32_t bytes, bool partial, Site site) {
  uint32_t copied = bytes;
  if (partial) {
    copied = get<uint32_t>(in[2]);
    if (copied > bytes)
      current->find("asynchronous copy of too many bytes", site,
                    "%u, expected at most %u", copied, bytes);
    copied = std::min(copied, bytes);
  }
  current->copyAsync(get<void *>(in[0]), get<const void *>(in[1]), bytes,
                     copied, site);
}

#define TP_COPY(cache, bytes)                                                  \
  TP_EMULATE(cp_async_##cache##_shared_global_##bytes) {                       \
    copyAsync(in, bytes, false, site);                                         \
  }                                                                            \
  TP_EMULATE(cp_async_##cache##_shared_global_##bytes##_s) {                   \
    copyAsync(in, bytes, true, site);                                          \
  }
TP_COPY(ca, 4)
TP_COPY(ca, 8)
TP_COPY(ca, 16)
TP_COPY(cg, 16)

TP_EMULATE(cp_async_commit_group) { current->commitCopies(); }
TP_EMULATE(cp_async_wait_group) { current->waitCopies(get<uint32_t>(in[0])); }
TP_EMULATE(cp_async_wait_all) { current->waitAllCopies(); }

extern "C" void tpEmulateAccess(const void *address, uint32_t bytes,
                                uint32_t alignment, uint32_t kind,
                                uint32_t space, Site site) {
  current->access(address, bytes, alignment, Access(kind), Space(space), site);
}

extern "C" char *tpEmulateShared() { return current->shared(); }

static void checkRange(const void *address, uint64_t bytes, Access kind,
                       Site site) {
  // By bytes: the range may be long.
  for (uint64_t i = 0; i < bytes; ++i)
    current->access(static_cast<const char *>(address) + i, 1, 1, kind,
                    Space::Any, site);
}

extern "C" void tpEmulateMove(void *target, const void *source, uint64_t bytes,
                              Site site) {
  checkRange(source, bytes, Access::Read, site);
  checkRange(target, bytes, Access::Write, site);
  memmove(target, source, bytes);
}

extern "C" void tpEmulateFill(void *target, uint8_t value, uint64_t bytes,
                              Site site) {
  checkRange(target, bytes, Access::Write, site);
  memset(target, value, bytes);
}
