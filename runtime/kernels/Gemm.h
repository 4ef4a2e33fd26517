//===- Gemm.h - matrix products by oneDNN -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank's matrix products. A parameter's weight is packed once, in the
// layout that oneDNN prefers for the largest row count, and every row count
// uses that layout; primitives are made once per row count. Where the processor
// has no bf16 arithmetic, and always for f16, weights stay in 16 bits in
// memory, in the packed order, and are widened block by block into the product
// in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_KERNELS_GEMM_H
#define TPRT_KERNELS_GEMM_H

#include "../core/Manifest.h"
#include "../core/Memory.h"

#include <memory>

namespace tprt {

class GemmEngine {
public:
  /// To be made, and used, on the rank's thread.
  explicit GemmEngine(const std::vector<Gemm> &gemms);
  ~GemmEngine();

  /// Packs weights [n, k] of gemms[id]; the handle lives as long as the engine.
  Expected<const void *> pack(int64_t id, const void *weights);

  /// See tprt_api::gemm.
  Status run(int64_t id, int64_t rows, const void *x, int64_t xStride,
             const void *w, const void *bias, const void *residual, void *y,
             int64_t yStride);

  /// Packed weights, and scratch, in bytes.
  int64_t weightBytes() const;
  int64_t scratchBytes() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tprt

#endif // TPRT_KERNELS_GEMM_H
