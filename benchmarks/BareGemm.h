//===- BareGemm.h - a product in the bare library ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GEMM by which a program's products are judged.
//
//===----------------------------------------------------------------------===//

#ifndef BENCHMARKS_BAREGEMM_H
#define BENCHMARKS_BAREGEMM_H

#include "../runtime/format/Manifest.h"
#include "../runtime/support/Memory.h"

#include <dnnl.hpp>

#include <cstring>
#include <unordered_map>
#include <vector>

namespace tprt {

/// One GEMM of the manifest in oneDNN, every layout left to it.
class Bare {
public:
  explicit Bare(const Gemm &gemm) {
    using namespace dnnl;
    auto any = memory::format_tag::any;
    memory::desc x({gemm.m, gemm.k}, type(gemm.xType), any);
    memory::desc w({gemm.n, gemm.k}, type(gemm.wType), any);
    memory::desc y({gemm.m, gemm.n}, type(gemm.yType), any);
    inner_product_forward::primitive_desc made(
        {prop_kind::forward_inference, x, w, y}, engine);
    primitive = inner_product_forward(made);
    for (auto [argument, desc] : {std::pair{DNNL_ARG_SRC, made.src_desc()},
                                  {DNNL_ARG_WEIGHTS, made.weights_desc()},
                                  {DNNL_ARG_DST, made.dst_desc()}}) {
      memories.push_back(std::move(*Buffer::allocate(desc.get_size() + 64)));
      std::memset(memories.back().data(), 0, desc.get_size());
      arguments.insert(
          {argument, memory(desc, engine, memories.back().data())});
    }
  }
  void run() {
    primitive.execute(stream, arguments);
    stream.wait();
  }

private:
  static dnnl::memory::data_type type(tprt_type type) {
    return type == TPRT_BF16  ? dnnl::memory::data_type::bf16
           : type == TPRT_F16 ? dnnl::memory::data_type::f16
                              : dnnl::memory::data_type::f32;
  }
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::inner_product_forward primitive;
  std::vector<Buffer> memories;
  std::unordered_map<int, dnnl::memory> arguments;
};

} // namespace tprt

#endif // BENCHMARKS_BAREGEMM_H
