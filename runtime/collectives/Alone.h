//===- Alone.h - one rank of many, without the others -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To measure what one rank computes: collectives do nothing, so that results
// mean nothing. For the host and for a device.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_ALONE_H
#define TPRT_COLLECTIVES_ALONE_H

#include "Hub.h"

#include <mutex>

namespace tprt {

class AloneHub : public Hub {
public:
  AloneHub(int64_t rank, int64_t ranks);

  std::unique_ptr<World> world(int64_t rank) override;
  Status failure() const override;
  void abort(const Status &status) override;

private:
  int64_t self;
  mutable std::mutex mutex; // guards what follows
  Status first;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_ALONE_H
