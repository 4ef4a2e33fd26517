//===- GemmPlans.h - GEMMs by cuBLASLt --------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest's GEMMs on a device. Before the first step the calls that it
// will make are noted; each distinct one gets a plan, whose algorithm is the
// fastest of those that cuBLASLt suggests, tried once, with the caches as empty
// as a step finds them. All ranks take the same algorithm, so that values
// computed alike on several ranks have the same bits.
//
// Products of the same few rows run beside each other, on streams of their own:
// each reads its weights and fills a device for a moment only, and what one
// takes to begin and to end would be time in which little is read.
//
// cuBLASLt counts matrices by columns: row-major y = x w^T is the column-major
// Y[n, rows] = W^T[n, k] X[k, rows], without moving anything.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_GEMMPLANS_H
#define TPRT_CUDA_GEMMPLANS_H

#include "libraries/Libraries.h"

#include "../format/Manifest.h"
#include "tprt/abi.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>

namespace tprt {

class GemmPlans {
public:
  using Call = tprt_gemm_call;
  /// Scratch for calls like these, in bytes.
  static int64_t workspaceBytes(const std::vector<Gemm> &gemms);

  /// Gives every rank all ranks' bytes.
  using Exchange =
      std::function<Expected<std::vector<std::string>>(const std::string &)>;

  /// An error for a product that cuBLASLt does not have.
  static Status check(const std::vector<Gemm> &gemms);

  GemmPlans();
  ~GemmPlans();
  Status open(const Driver &cuda, const CublasLt &lt,
              const std::vector<Gemm> &gemms, CUstream stream,
              CUdeviceptr workspace, int64_t cacheBytes, AwaitEvent await);

  /// Makes plans for calls like these and tries their algorithms on the calls'
  /// buffers, whose contents are lost.
  Status plan(const std::vector<Call> &calls, const Exchange &exchange);
  /// Enqueues planned calls, of which none reads or writes what another writes.
  /// What was enqueued before is done before all of them, what comes later
  /// behind all.
  Status run(std::span<const Call> calls);

private:
  struct Plan;
  /// The key of a plan: GEMM, rows, strides, alignment of the addresses.
  using Key =
      std::tuple<int64_t, int64_t, int64_t, int64_t, int, int, int, int>;
  static Key keyOf(const Call &call);
  std::string describe(const Call &call) const;
  Status describeProduct(const Call &call, Plan &plan) const;
  Expected<std::unique_ptr<Plan>> makePlan(const Call &call) const;
  /// A stream with scratch of its own.
  struct Lane {
    Stream owner;
    Event done; ///< what was enqueued last
    CUstream stream = nullptr;
    CUdeviceptr workspace = 0;
    int64_t workspaceBytes = 0;
    bool isBusy = false;
  };

  Status enqueue(const Plan &plan, size_t algorithm, const Call &call,
                 const Lane &lane) const;
  Lane &laneOf(size_t number, const Plan &plan);
  Expected<Plan *> find(const Call &call) const;
  Status emptyCache() const;
  Status measure(const Plan &plan, const Call &call, std::string &times) const;

  const Driver *cuda = nullptr;
  const CublasLt *lt = nullptr;
  Handle<cublasLtHandle_t, &CublasLt::cublasLtDestroy, CublasLt> handle;
  const std::vector<Gemm> *gemms = nullptr;
  int64_t cacheBytes = 0; ///< of the device
  AwaitEvent await;
  std::vector<Lane> lanes; ///< the first is that of all other work
  Event begun;
  std::map<Key, std::unique_ptr<Plan>> plans;
};

} // namespace tprt

#endif // TPRT_CUDA_GEMMPLANS_H
