//===- GemmParts.h - what a GEMM engine works with --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scratch, oneDNN's primitives by their sizes, and the rows and products of one
// call. Included by Gemm.cpp alone.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_GEMMPARTS_H
#define TPRT_HOST_GEMMPARTS_H

#include "../support/Memory.h"
#include "../support/Parallel.h"
#include "../support/QuantizedWeight.h"

#include <dnnl.hpp>

#include <map>

namespace tprt {

/// Buffer that only grows.
struct Scratch {
  Buffer buffer;
  Expected<void *> get(int64_t bytes) {
    TPRT_TRY(buffer.reserve(bytes));
    return static_cast<void *>(buffer.data());
  }
};

/// While it lives, oneDNN leaves what this thread does to it alone.
class OneWorker {
public:
  OneWorker() : before(workers()) { setWorkers(1); }
  ~OneWorker() { setWorkers(before); }

private:
  int before;
};

/// A primitive with the memory objects it is run on.
struct Product {
  dnnl::primitive primitive;
  dnnl::memory src, weights, dst, scratchpad;
  dnnl::primitive reorder = {}; ///< from `plain` to the layout of weights
  dnnl::memory plain = {};
};

/// dst[m, n] = src[m, k] * weights[n, k], in f32 from `type`, in s32 from i8.
/// Either operand may be a block of the weights of a GEMM.
struct InnerProduct {
  tprt_type type;
  int64_t m, n, k;
  bool takesBlockFirst; ///< src is the block
  int64_t wStride = 0;  ///< of weights that are given as [k, n]
  auto operator<=>(const InnerProduct &) const = default;
};

/// The buffers that a thread multiplies with.
struct WorkerContext {
  explicit WorkerContext(const dnnl::engine &engine) : stream(engine) {}
  dnnl::stream stream;
  Scratch weights, result, transposed, pad;
  std::map<InnerProduct, Product> products;
};

/// Rows of x, one after the other `stride` elements apart, in the type computed
/// in.
struct Rows {
  tprt_type compute;
  int64_t first, count, k; ///< `first` of those that the call is given
  const void *x = nullptr;
  int64_t stride = 0;
  bool isFew = false;           ///< our own loop multiplies them
  const void *packed = nullptr; ///< or as a second operand of this layout
  dnnl::memory::desc layout = {};
  const int32_t *sums = nullptr; ///< of each row, if these are integers
};

/// A product of them, and the columns of a block of its weights.
struct Call : tprt_gemm_call {
  const Gemm &gemm;
  const QuantizedWeight *quantized = nullptr; ///< or null; in place of w
  int64_t block = 0;

  int64_t blocks() const { return (gemm.n + block - 1) / block; }
  int64_t rowBytes() const {
    return quantized ? quantized->rowBytes() : gemm.k * typeBytes(gemm.wType);
  }
};

} // namespace tprt

#endif // TPRT_HOST_GEMMPARTS_H
