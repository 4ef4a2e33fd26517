//===- ProductPath.cpp - how a processor multiplies -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductPath.h"

#include <dnnl.hpp>

#include <iterator>

using namespace tprt;

static constexpr ProductPath kPaths[] = {
    {"AMX", dnnl_cpu_isa_avx512_core_amx, false, true, 4, true, true},
    // Zen 4 and later multiply as many pairs of bf16 as numbers in f32.
    {"bf16 by AVX-512", dnnl_cpu_isa_avx512_core_bf16, true, true, 8, false,
     true},
    {"f32 by AVX-512", dnnl_cpu_isa_avx512_core, false, false, 8, false, true},
    {"f32", 0, false, false, 8, false, false},
};

const ProductPath &tprt::chooseProductPath(unsigned isas, bool isAmd) {
  for (const ProductPath &path : kPaths)
    if ((isas & path.needs) == path.needs && (isAmd || !path.isAmdAlone))
      return path;
  return *std::prev(std::end(kPaths));
}

bool tprt::multipliesBytes(unsigned isas) {
  return (isas & dnnl_cpu_isa_avx512_core_vnni) ==
         dnnl_cpu_isa_avx512_core_vnni;
}

const ProductPath &tprt::productPath() {
  return chooseProductPath(unsigned(dnnl::get_effective_cpu_isa()),
                           __builtin_cpu_is("amd"));
}
