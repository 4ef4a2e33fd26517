//===- Cores.h - the cores that a rank computes on --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many threads a rank starts and where they run: no more than the process'
// affinity mask and its control groups' quota allow, and within one NUMA node
// where that costs no thread. And how much memory the ranks of a host may have.
// `root` stands for `/` where tests bring files of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_CORES_H
#define TPRT_SUPPORT_CORES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tprt {

/// Cores by number, ascending.
using CoreList = std::vector<int>;

/// The affinity mask of the calling thread.
CoreList ownCores();
/// Whole cores of CPU time that the control groups (v1 or v2) of this process
/// and those above them leave it, at least 1; none without a limit.
std::optional<int> coreQuota(const std::string &root = "");
/// Cores that this process may use: of the mask, within the quota.
int availableCores(const std::string &root = "");
/// Bytes of memory that the machine has, or that the control groups leave this
/// process if that is less.
int64_t memoryLimit(const std::string &root = "");
/// The cores of each NUMA node, without nodes that have none.
std::vector<CoreList> numaNodes(const std::string &root = "");

/// The threads and cores of one rank.
struct CoreShare {
  int threads = 1;
  CoreList cores; ///< empty: wherever the process may run
};
/// The share of rank `self` of a host, whose ranks have these masks: launchers
/// give all ranks the same, or each its own.
CoreShare shareOf(const std::vector<CoreList> &masks, size_t self,
                  const std::string &root = "");
/// Keeps the calling thread, and those that it starts, on these cores.
void runOn(const CoreList &cores);

} // namespace tprt

#endif // TPRT_SUPPORT_CORES_H
