//===- Gemm.h - matrix products by oneDNN -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's matrix products. A parameter's weight is packed once, in the
// layout that oneDNN prefers for the largest row count, and every product of
// that weight uses that layout, whatever its row count, bias or activation;
// primitives are made once per row count. Where the processor
// has no bf16 arithmetic, and always for f16, weights stay in 16 bits in
// memory, in the packed order, and are widened block by block into the product
// in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_GEMM_H
#define TPRT_HOST_GEMM_H

#include "HostRank.h"

#include <memory>

namespace tprt {

class GemmEngine final : public Engine {
public:
  /// To be made, and used, on the rank's thread.
  explicit GemmEngine(const Manifest &manifest) : GemmEngine(manifest.gemms) {}
  explicit GemmEngine(const std::vector<Gemm> &gemms);
  ~GemmEngine() override;

  /// Packs weights [n, k] of gemms[id]; the handle serves every GEMM of the
  /// same sizes and types of x and w, and lives as long as the engine.
  Expected<const void *> pack(int64_t id, const void *weights);

  /// See tprt_api::gemm.
  Status run(int64_t id, int64_t rows, const void *x, int64_t xStride,
             const void *w, const void *bias, const void *residual, void *y,
             int64_t yStride);

  int64_t weightBytes() const override;
  int64_t scratchBytes() const override;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tprt

#endif // TPRT_HOST_GEMM_H
