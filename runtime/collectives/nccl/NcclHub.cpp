//===- NcclHub.cpp - ranks with a device each, over NCCL ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NcclHub.h.
//
//===----------------------------------------------------------------------===//

#include "NcclHub.h"

#include "../../cuda/libraries/CublasLt.h"
#include "NcclWorld.h"

using namespace tprt;

Status tprt::checkDevices(int64_t ranks, bool products) {
  constexpr const char *kNeed = "backend 'nccl'";
  auto cuda = Driver::get();
  if (!cuda)
    return cuda.status().in(kNeed);
  TPRT_TRY(
      (*cuda)->check((*cuda)->cuInit(0), "starting the CUDA driver").in(kNeed));
  int devices = 0;
  TPRT_TRY((*cuda)
               ->check((*cuda)->cuDeviceGetCount(&devices), "counting devices")
               .in(kNeed));
  if (devices == 0)
    return userError(kNeed, ": the CUDA driver sees no device on this machine; "
                            "CUDA_VISIBLE_DEVICES may hide them");
  if (products)
    if (auto library = CublasLt::get(); !library)
      return library.status().in(kNeed);
  if (ranks > 1)
    if (auto library = Nccl::get(); !library)
      return library.status().in(kNeed);
  return {};
}

NcclHub::NcclHub(std::unique_ptr<SideChannel> channel)
    : side(std::move(channel)) {
  ranks = side->size();
}

/// checkDevices has opened the libraries.
std::unique_ptr<World> NcclHub::world(int64_t) {
  const Nccl *nccl = ranks > 1 ? *Nccl::get() : nullptr;
  return std::make_unique<NcclWorld>(*side, **Driver::get(), nccl);
}
