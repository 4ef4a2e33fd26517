//===- TestUtil.h - tests of the library for tests --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library keeps one device per process, reads its environment once and
// stays broken after a fault, as CUDA does. So every test runs in processes of
// its own.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_TESTUTIL_H
#define TPRT_TEST_FAKECUDA_TESTUTIL_H

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define OK(call) ASSERT_EQ(call, decltype(call)(0)) << #call

namespace fake::test {

using Environment = std::vector<std::pair<const char *, const char *>>;

/// Starts a process that makes a context current and runs the body; its exit
/// status is 1 if an expectation of the body failed.
inline pid_t start(const std::function<void()> &body,
                   const Environment &environment = {}) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child)
    return child;
  for (auto [name, value] : environment)
    setenv(name, value, 1);
  auto run = [&] {
    CUcontext context;
    CUdevice device;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    body();
  };
  run();
  std::fflush(stdout);
  _exit(testing::Test::HasFailure());
}

/// The status that waitpid gives.
inline int finish(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

inline void isolated(const std::function<void()> &body,
                     const Environment &environment = {}) {
  EXPECT_EQ(finish(start(body, environment)), 0);
}

/// Device memory of T; never freed.
template <typename T>
T *device(size_t count) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, count * sizeof(T)), CUDA_SUCCESS);
  return reinterpret_cast<T *>(address);
}

inline CUdeviceptr address(const void *data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

template <typename T>
T *device(const std::vector<T> &values) {
  T *data = device<T>(values.size());
  EXPECT_EQ(cuMemcpyHtoDAsync(address(data), values.data(),
                              values.size() * sizeof(T), nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  return data;
}

template <typename T>
std::vector<T> host(const T *data, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync(values.data(), address(data), count * sizeof(T),
                              nullptr),
            CUDA_SUCCESS);
  return values;
}

template <typename T>
T *pinned(size_t count) {
  void *data = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&data, count * sizeof(T), 0), CUDA_SUCCESS);
  return static_cast<T *>(data);
}

inline CUstream stream() {
  CUstream made = nullptr;
  EXPECT_EQ(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  return made;
}

inline CUevent event() {
  CUevent made = nullptr;
  EXPECT_EQ(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  return made;
}

} // namespace fake::test

#endif // TPRT_TEST_FAKECUDA_TESTUTIL_H
