//===- ProductPath.h - how a processor multiplies ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way of Gemm.cpp that a kind of processor takes: a table, measured by
// benchmarks/run under each of oneDNN's limits. Having an instruction is no
// reason to use it: bf16 dot products at half the rate of f32's multiplications
// lose against blocks that are widened in a worker's cache.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_PRODUCTPATH_H
#define TPRT_HOST_PRODUCTPATH_H

#include <cstdint>

namespace tprt {

struct ProductPath {
  const char *name;
  unsigned needs;  ///< of oneDNN's instruction sets, a dnnl_cpu_isa_t
  bool isAmdAlone; ///< other processors that have these are slower so
  /// bf16 by bf16 is multiplied as it is, for more than fewRows rows; else, as
  /// f16 always, it is widened to f32.
  bool multipliesBf16;
  int64_t fewRows; ///< of bf16 that our own loop takes
  bool hasTiles;   ///< products in bf16 take a small part of f32's time
  /// Weights in f32 are brought to panels, block by block; oneDNN's sgemm
  /// brings operands of any size to panels.
  bool hasPanels;
};

/// The first of the table that a processor can take whose instruction sets are
/// these; the last needs none.
const ProductPath &chooseProductPath(unsigned isas, bool isAmd);

/// True if bytes are multiplied by bytes faster than as floats, without a sum
/// that saturates, by instruction sets like these.
bool multipliesBytes(unsigned isas);

/// The path of this machine, within the limit that ONEDNN_MAX_CPU_ISA sets.
const ProductPath &productPath();

} // namespace tprt

#endif // TPRT_HOST_PRODUCTPATH_H
