//===- Devices.cpp - the table of devices ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Devices.h.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include "../host/HostRank.h"
#ifdef TPRT_HAS_CUDA
#include "../cuda/CudaRank.h"
#endif

using namespace tprt;

namespace {

using Made = std::unique_ptr<tprt_rank>;

struct DeviceRow {
  const char *target; ///< of tp-compile
  const char *what;   ///< in words
  /// A rank that computes on it.
  Made (*make)(const Manifest &, const Program &, Backend &, int64_t rank,
               bool timeline);
  /// An error where this machine lacks what the program needs; null: nothing
  /// can lack.
  Status (*check)(const Manifest &) = nullptr;
  const char *missing = nullptr; ///< why there is no `make` in this build
};

template <typename Rank>
Made make(const Manifest &manifest, const Program &program, Backend &backend,
          int64_t rank, bool timeline) {
  return std::make_unique<Rank>(manifest, program, backend, rank, timeline);
}

/// By Device.
constexpr DeviceRow kDevices[] = {
    {"cpu", "the CPU", make<HostRank>},
#ifdef TPRT_HAS_CUDA
    {"cuda", "CUDA devices", make<CudaRank>, checkCuda},
#else
    {"cuda", "CUDA devices", nullptr, nullptr, kNoCuda},
#endif
};

const DeviceRow &deviceOf(Device device) { return kDevices[int(device)]; }

} // namespace

Status tprt::checkProgram(const BackendRow &backend, const Manifest &manifest,
                          int64_t ranks) {
  const DeviceRow &device = deviceOf(manifest.device);
  if (!device.make)
    return userError("the program is made for ", device.what,
                     ", but they are not in this build, ", device.missing,
                     ", or compile it without --target ", device.target);
  if (!backend.serves(manifest.device, ranks))
    return userError(
        "the program is made for ", device.what, ", backend '", backend.name,
        "' is for ", deviceOf(backend.memory).what, "; run it with --backend ",
        backendsFor(manifest.device, ranks), ", or compile it with --target ",
        deviceOf(backend.memory).target);
  if (device.check)
    TPRT_TRY(device.check(manifest));
  if (ranks > 1 && backend.check)
    return backend.check().in(detail::join("backend '", backend.name, "'"));
  return {};
}

Made tprt::makeRank(const Manifest &manifest, const Program &program,
                    Backend &backend, int64_t rank, bool timeline) {
  return deviceOf(manifest.device)
      .make(manifest, program, backend, rank, timeline);
}
