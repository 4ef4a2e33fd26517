//===- CudaLoaderTest.cpp - parameters on their way to a device -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of parameters through pinned buffers that hold a row or a few, against
// what the host loads. The library that stands for CUDA copies as late as it
// may: a buffer that is written too early shows.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../cuda/CudaDevice.h"
#include "../cuda/ParameterLoader.h"
#include "../rank/Rank.h"

#include <cstdlib>

using namespace tprt;
using namespace tprt::test;

namespace {

json parameter(int64_t base, const char *name, Shape shape, Shape local,
               json sharding) {
  return {{"names", {name}},
          {"count", 1},
          {"first", 0},
          {"base", base},
          {"source_shape", shape},
          {"shape", shape},
          {"sharding", sharding},
          {"local_shape", local},
          {"type", "bf16"}};
}

void checkLoads(int64_t pinnedBytes) {
  json none = json::array(), tp = json::array({{{"axis", "tp"}}});
  json m = emptyManifest(2);
  json transposed = parameter(2, "table", {40, 33}, {33, 20}, {none, tp});
  transposed["shape"] = {33, 40};
  transposed["permutation"] = {1, 0};
  m["parameters"] = {
      parameter(0, "table", {40, 33}, {20, 33}, {tp, none}),
      parameter(1, "scalar", json::array(), json::array(), json::array()),
      transposed,
      parameter(3, "table", {40, 33}, {20, 33}, {tp, none}),
      parameter(4, "cube", {5, 7, 9}, {5, 4, 9}, {none, tp, none}),
      parameter(5, "vector", {1001}, {501}, json::array({tp}))};
  auto manifest = Manifest::parse(m.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  auto weights = Weights::open("random:5", *manifest);
  ASSERT_TRUE(bool(weights)) << weights.status().message();
  ParameterPlan plan(*manifest);
  // The same part of the same tensor is held once.
  ASSERT_EQ(plan.tensors.size(), 5u);
  ASSERT_EQ(plan.offsets[3], plan.offsets[0]);
  ASSERT_NE(plan.offsets[2], plan.offsets[0]);

  auto cuda = Driver::get();
  ASSERT_TRUE(bool(cuda)) << cuda.status().message();
  ASSERT_TRUE(bool(CudaDevice::count(**cuda)));
  auto device = CudaDevice::open(**cuda, 0);
  ASSERT_TRUE(bool(device)) << device.status().message();
  auto stream = makeStream(**cuda);
  ASSERT_TRUE(bool(stream));
  CUdeviceptr block = 0;
  ASSERT_OK(
      (*cuda)->check((*cuda)->cuMemAlloc(&block, size_t(plan.bytes)), "block"));
  auto host = allocatePinned(**cuda, plan.bytes);
  ASSERT_TRUE(bool(host));
  for (int64_t rank : {0, 1}) {
    int64_t last = 0;
    auto read = loadParameters(
        **cuda, *manifest, plan, *weights, {rank}, block, stream->get(),
        [&](CUevent event) {
          return (*cuda)->check((*cuda)->cuEventSynchronize(event), "wait");
        },
        [&](int64_t done) {
          EXPECT_GT(done, last);
          last = done;
        },
        pinnedBytes);
    ASSERT_TRUE(bool(read)) << read.status().message();
    ASSERT_OK((*cuda)->check((*cuda)->cuMemcpyDtoHAsync(host->get(), block,
                                                        size_t(plan.bytes),
                                                        stream->get()),
                             "copy"));
    ASSERT_OK(
        (*cuda)->check((*cuda)->cuStreamSynchronize(stream->get()), "wait"));
    for (size_t p = 0; p < manifest->parameters.size(); ++p) {
      const Parameter &parameter = manifest->parameters[p];
      std::string wanted(elementCount(parameter.localShape) * 2, '\0');
      ASSERT_TRUE(bool(weights->load(int64_t(p), 0, {rank}, wanted.data())));
      std::string got(static_cast<char *>(host->get()) + plan.offsets[p],
                      wanted.size());
      EXPECT_TRUE(got == wanted) << "parameter " << p << " of rank " << rank
                                 << " with " << pinnedBytes << " bytes";
    }
  }
}

} // namespace

TEST(CudaLoader, PiecesThroughPinnedBuffers) {
  // Libraries are opened once per process: a program of its own per size.
  if (const char *bytes = std::getenv("TPRT_TEST_PINNED_BYTES"))
    return checkLoads(std::atoll(bytes));
  std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const char *bytes : {"1", "100", "700", "1000000"}) {
    std::string command =
        "env TPRT_CUDA_LIBRARY=" TP_FAKE_CUDA " TPRT_TEST_PINNED_BYTES=" +
        std::string(bytes) + " '" + self +
        "' --gtest_filter=CudaLoader.PiecesThroughPinnedBuffers >&2";
    EXPECT_EQ(std::system(command.c_str()), 0) << bytes << " bytes";
  }
}
