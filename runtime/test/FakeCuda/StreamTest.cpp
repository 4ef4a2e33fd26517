//===- StreamTest.cpp - orders, events, captured graphs -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that the edges order always comes out right; work that they do not order
// comes out wrong for some round.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

using namespace fake::test;

namespace {

constexpr int kRounds = 50;

/// Fill `data` with 1 on one stream, copy it to `copy` on another; with or
/// without an event between. Returns the byte that the copy saw.
int fillAndCopy(char *data, char *copy, CUstream first, CUstream second,
                bool ordered) {
  static CUevent done = event();
  cuMemsetD8Async(address(data), 0, 64, first);
  cuMemsetD8Async(address(copy), 9, 64, second);
  cuStreamSynchronize(first);
  cuStreamSynchronize(second);
  cuMemsetD8Async(address(data), 1, 64, first);
  if (ordered) {
    cuEventRecord(done, first);
    cuStreamWaitEvent(second, done, 0);
  }
  cuMemcpyDtoDAsync(address(copy), address(data), 64, second);
  cuStreamSynchronize(second);
  cuStreamSynchronize(first);
  return host(copy, 1)[0];
}

} // namespace

TEST(Stream, OrderIsAnyWithoutAnEvent) {
  isolated([] {
    char *data = device<char>(64), *copy = device<char>(64);
    CUstream first = stream(), second = stream();
    int seen[2] = {};
    for (int i = 0; i < kRounds; ++i)
      ++seen[fillAndCopy(data, copy, first, second, false)];
    EXPECT_GT(seen[0], 0);
    EXPECT_GT(seen[1], 0);
  });
}

TEST(Stream, AnEventOrders) {
  isolated([] {
    char *data = device<char>(64), *copy = device<char>(64);
    CUstream first = stream(), second = stream();
    for (int i = 0; i < kRounds; ++i)
      EXPECT_EQ(fillAndCopy(data, copy, first, second, true), 1);
  });
}

TEST(Stream, ADroppedWaitShows) {
  isolated(
      [] {
        char *data = device<char>(64), *copy = device<char>(64);
        CUstream first = stream(), second = stream();
        int wrong = 0;
        for (int i = 0; i < kRounds; ++i) {
          int seen = fillAndCopy(data, copy, first, second, true);
          wrong += seen != 1;
          EXPECT_TRUE(seen == 1 || i == 9) << i;
        }
        EXPECT_EQ(wrong, 1);
      },
      {{"TP_FAKE_CUDA_DROP_WAIT", "10"}, {"TP_FAKE_CUDA_SEED", "3"}});
}

TEST(Stream, RunsNothingBeforeSomebodyWaits) {
  isolated(
      [] {
        auto *flag = pinned<unsigned>(1);
        *flag = 0;
        CUdeviceptr there;
        OK(cuMemHostGetDevicePointer(&there, flag, 0));
        CUstream s = stream();
        OK(cuMemsetD32Async(there, 7, 1, s));
        EXPECT_EQ(*flag, 0u);
        OK(cuStreamSynchronize(s));
        EXPECT_EQ(*flag, 7u);
      },
      {{"TP_FAKE_CUDA_IDLE_MS", "1000000"}});
}

TEST(Stream, GoesOnByItself) {
  isolated([] {
    auto *flag = pinned<unsigned>(1);
    *flag = 0;
    CUdeviceptr there;
    OK(cuMemHostGetDevicePointer(&there, flag, 0));
    OK(cuMemsetD32Async(there, 7, 1, stream()));
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 7)
      usleep(1000);
  });
}

TEST(Stream, TheLegacyStreamWaitsForBlockingOnes) {
  isolated([] {
    char *data = device<char>(64);
    CUstream blocking;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    for (int i = 0; i < kRounds; ++i) {
      OK(cuMemsetD8Async(address(data), 1, 64, blocking));
      OK(cuMemsetD8Async(address(data), 2, 64, nullptr));
      EXPECT_EQ(host(data, 1)[0], 2);
      OK(cuMemsetD8Async(address(data), 3, 64, nullptr));
      OK(cuMemsetD8Async(address(data), 4, 64, blocking));
      OK(cuStreamSynchronize(blocking));
      EXPECT_EQ(host(data, 1)[0], 4);
    }
  });
}

TEST(Stream, EventsTellTimeAndState) {
  isolated([] {
    CUevent begin, end;
    OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    CUstream s = stream();
    float milliseconds = -1;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end),
              CUDA_ERROR_INVALID_HANDLE);
    char *data = device<char>(1 << 20);
    OK(cuEventRecord(begin, s));
    OK(cuMemsetD8Async(address(data), 1, 1 << 20, s));
    OK(cuEventRecord(end, s));
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end),
              CUDA_ERROR_NOT_READY);
    CUresult state;
    while ((state = cuEventQuery(end)) == CUDA_ERROR_NOT_READY)
      ;
    OK(state);
    OK(cuEventElapsedTime(&milliseconds, begin, end));
    EXPECT_GT(milliseconds, 0);
    OK(cuEventDestroy(end));
    EXPECT_EQ(cuEventRecord(end, s), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(Capture, ReplaysWithItsEdgesAlone) {
  isolated([] {
    char *data = device<char>(64), *copy = device<char>(64);
    CUstream first = stream(), second = stream();
    CUevent fork = event(), join = event();
    for (bool ordered : {true, false}) {
      OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      OK(cuEventRecord(fork, first));
      if (!ordered) // forked before the fill: the copy may come first
        OK(cuStreamWaitEvent(second, fork, 0));
      OK(cuMemsetD8Async(address(data), 1, 64, first));
      if (ordered) {
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
      }
      OK(cuMemcpyDtoDAsync(address(copy), address(data), 64, second));
      OK(cuEventRecord(join, second));
      OK(cuStreamWaitEvent(first, join, 0));
      EXPECT_EQ(cuEventQuery(join), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      CUgraph graph = nullptr;
      EXPECT_EQ(cuStreamEndCapture(first, &graph),
                CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

      OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      if (!ordered) {
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
      }
      OK(cuMemsetD8Async(address(data), 1, 64, first));
      if (ordered) {
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
      }
      OK(cuMemcpyDtoDAsync(address(copy), address(data), 64, second));
      OK(cuEventRecord(join, second));
      OK(cuStreamWaitEvent(first, join, 0));
      OK(cuStreamEndCapture(first, &graph));
      CUgraphExec executable;
      OK(cuGraphInstantiate(&executable, graph, 0));
      OK(cuGraphDestroy(graph));
      OK(cuGraphUpload(executable, first));
      int seen[2] = {};
      for (int i = 0; i < kRounds; ++i) {
        OK(cuMemsetD8Async(address(data), 0, 64, first));
        OK(cuGraphLaunch(executable, first));
        OK(cuStreamSynchronize(first));
        ++seen[int(host(copy, 1)[0])];
      }
      EXPECT_EQ(seen[0] == 0, ordered);
      EXPECT_GT(seen[1], 0);
      OK(cuGraphExecDestroy(executable));
    }
  });
}

TEST(Capture, RefusesWhatWaitsOrAllocates) {
  isolated([] {
    CUstream s = stream();
    CUgraph graph;
    CUevent e = event();
    auto attempt = [&](auto call, CUstreamCaptureMode mode, CUresult wanted) {
      OK(cuStreamBeginCapture(s, mode));
      EXPECT_EQ(call(), wanted);
      EXPECT_EQ(cuStreamEndCapture(s, &graph),
                wanted == CUDA_SUCCESS ? CUDA_SUCCESS
                                       : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    };
    auto allocate = [] {
      CUdeviceptr data;
      return cuMemAlloc(&data, 64);
    };
    CUresult refused = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    attempt(allocate, CU_STREAM_CAPTURE_MODE_GLOBAL, refused);
    attempt(allocate, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, refused);
    attempt(allocate, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS);
    attempt([&] { return cuStreamSynchronize(s); },
            CU_STREAM_CAPTURE_MODE_RELAXED, refused);
    attempt([&] { return cuEventSynchronize(e); },
            CU_STREAM_CAPTURE_MODE_GLOBAL, refused);
    char byte;
    char *data = device<char>(1);
    attempt([&] { return cuMemcpyDtoHAsync(&byte, address(data), 1, s); },
            CU_STREAM_CAPTURE_MODE_RELAXED, refused);
  });
}

TEST(Capture, RefusesUnjoinedAndForeignWork) {
  isolated([] {
    CUstream first = stream(), second = stream();
    CUevent e = event(), outside = event();
    char *data = device<char>(1);
    CUgraph graph;
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(e, first));
    OK(cuStreamWaitEvent(second, e, 0));
    OK(cuMemsetD8Async(address(data), 1, 1, second));
    EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(cuStreamEndCapture(first, &graph),
              CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

    OK(cuEventRecord(outside, second));
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(cuStreamWaitEvent(first, outside, 0),
              CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    EXPECT_EQ(cuStreamEndCapture(first, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(e, first));
    OK(cuStreamWaitEvent(second, e, 0));
    EXPECT_EQ(cuStreamEndCapture(second, &graph),
              CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(cuStreamEndCapture(first, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  });
}

// The edge is left out, but the capture is still complete.
TEST(Capture, ADroppedWaitShows) {
  isolated(
      [] {
        char *data = device<char>(64), *copy = device<char>(64);
        CUstream first = stream(), second = stream();
        CUevent fork = event(), join = event();
        OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuMemsetD8Async(address(data), 1, 64, first));
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
        OK(cuMemcpyDtoDAsync(address(copy), address(data), 64, second));
        OK(cuEventRecord(join, second));
        OK(cuStreamWaitEvent(first, join, 0));
        CUgraph graph;
        OK(cuStreamEndCapture(first, &graph));
        CUgraphExec executable;
        OK(cuGraphInstantiate(&executable, graph, 0));
        int wrong = 0;
        for (int i = 0; i < kRounds; ++i) {
          OK(cuMemsetD8Async(address(data), 0, 64, first));
          OK(cuGraphLaunch(executable, first));
          OK(cuStreamSynchronize(first));
          wrong += host(copy, 1)[0] != 1;
        }
        EXPECT_GT(wrong, 0);
      },
      {{"TP_FAKE_CUDA_DROP_WAIT", "1"}});
}
