//===- NcclBackend.cpp - ranks with a device each, over NCCL --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NcclBackend.h.
//
//===----------------------------------------------------------------------===//

#include "NcclBackend.h"

#include "../BackendTable.h"
#include "NcclRankContext.h"

using namespace tprt;

NcclBackend::NcclBackend(std::unique_ptr<SideChannel> channel)
    : side(std::move(channel)) {
  ranks = side->size();
}

/// The libraries have been opened: the device's check has, and checkNccl.
std::unique_ptr<RankContext> NcclBackend::rankContext(int64_t) {
  const Nccl *nccl = ranks > 1 ? *Nccl::get() : nullptr;
  return std::make_unique<NcclRankContext>(*side, **Driver::get(), nccl);
}

namespace tprt {
Status checkNccl() { return Nccl::get().status(); }

Expected<std::unique_ptr<Backend>> connectNccl(const BackendOptions &options) {
  TPRT_ASSIGN(auto channel, connectRanks(*options.process, options.waits));
  return std::unique_ptr<Backend>(
      std::make_unique<NcclBackend>(std::move(channel)));
}
} // namespace tprt
