//===- NcclHub.cpp - ranks with a device each, over NCCL ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NcclHub.h.
//
//===----------------------------------------------------------------------===//

#include "NcclHub.h"

#include "../Backends.h"
#include "NcclWorld.h"

using namespace tprt;

NcclHub::NcclHub(std::unique_ptr<SideChannel> channel)
    : side(std::move(channel)) {
  ranks = side->size();
}

/// The libraries have been opened: the device's check has, and checkNccl.
std::unique_ptr<World> NcclHub::world(int64_t) {
  const Nccl *nccl = ranks > 1 ? *Nccl::get() : nullptr;
  return std::make_unique<NcclWorld>(*side, **Driver::get(), nccl);
}

namespace tprt {
Status checkNccl() { return Nccl::get().status(); }

Expected<std::unique_ptr<Hub>> connectNccl(const HubOptions &options) {
  TPRT_ASSIGN(auto channel, connectRanks(*options.place, options.waits));
  return std::unique_ptr<Hub>(std::make_unique<NcclHub>(std::move(channel)));
}
} // namespace tprt
