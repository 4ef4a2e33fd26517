//===- Gemm.h - matrix products by oneDNN -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's matrix products. Weights are read as they lie in memory, [n, k],
// so that whatever else reads them reads the same; primitives are made once per
// shape. Results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_GEMM_H
#define TPRT_HOST_GEMM_H

#include "../support/QuantizedWeight.h"
#include "HostRank.h"

#include <memory>

namespace tprt {

class GemmEngine final : public Engine {
public:
  /// To be made, and used, on the rank's thread.
  explicit GemmEngine(const Manifest &manifest)
      : GemmEngine(manifest.gemms,
                   manifest.generation ? manifest.generation->rows : 0) {}
  /// A program that generates has steps for up to `texts` sequences.
  explicit GemmEngine(const std::vector<Gemm> &gemms, int64_t texts = 0);
  ~GemmEngine() override;

  /// See tprt_api::gemms.
  Status run(const tprt_gemm_call *calls, int64_t count);
  Status run(const tprt_gemm_call &call) { return run(&call, 1); }
  /// The same product by a quantised weight in place of call.w, which is
  /// ignored as the type of w in the manifest is. Sums are in f32; up to eight
  /// rows give the same bits alone and together.
  Status run(const tprt_gemm_call &call, const QuantizedWeight &weight);

  int64_t scratchBytes() const override;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tprt

#endif // TPRT_HOST_GEMM_H
