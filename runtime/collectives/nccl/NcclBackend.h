//===- NcclBackend.h - ranks with a device each, over NCCL ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process per rank. How they find each other, agree, watch over each other
// and report is the side channel's work, the same as for processes on the host;
// NCCL moves the data of collectives and nothing else. In a world of one rank
// libnccl is not opened.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NCCL_NCCLBACKEND_H
#define TPRT_COLLECTIVES_NCCL_NCCLBACKEND_H

#include "../SideChannel.h"

namespace tprt {

class NcclBackend : public Backend {
public:
  explicit NcclBackend(std::unique_ptr<SideChannel> channel);

  std::unique_ptr<RankContext> rankContext(int64_t rank) override;
  SideChannel *channel() const override { return side.get(); }

private:
  std::unique_ptr<SideChannel> side;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_NCCL_NCCLBACKEND_H
