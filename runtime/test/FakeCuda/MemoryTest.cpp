//===- MemoryTest.cpp - copies, staging, faults ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actions that a host or a kernel must not take are refused or fault.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include <cmath>
#include <csignal>
#include <cstring>

using namespace fake::test;

TEST(Memory, IsNaNAtFirst) {
  isolated([] {
    for (float value : host(device<float>(100), 100))
      EXPECT_TRUE(std::isnan(value));
    for (uint16_t bits : host(device<uint16_t>(100), 100))
      EXPECT_EQ(bits, 0xffff);
  });
}

TEST(Memory, TheHostFaults) {
  EXPECT_EXIT(
      {
        int status = finish(start([] {
          float *data = device<float>(4);
          std::fprintf(stderr, "%f\n", double(*data));
        }));
        raise(WTERMSIG(status));
      },
      testing::KilledBySignal(SIGSEGV),
      "the host touched byte 0 of an allocation of 16 bytes");
}

TEST(Memory, LateCopiesShowAReusedStagingBuffer) {
  isolated([] {
    CUstream s = stream();
    char *data = device<char>(1), *staging = pinned<char>(1);
    *staging = 1;
    OK(cuMemcpyHtoDAsync(address(data), staging, 1, s));
    *staging = 2; // too early
    OK(cuStreamSynchronize(s));
    EXPECT_EQ(host(data, 1)[0], 2);

    char pageable = 1;
    OK(cuMemcpyHtoDAsync(address(data), &pageable, 1, s));
    pageable = 2;
    OK(cuStreamSynchronize(s));
    EXPECT_EQ(host(data, 1)[0], 1);

    *staging = 0;
    OK(cuMemcpyDtoHAsync(staging, address(data), 1, s));
    EXPECT_EQ(*staging, 0);
    OK(cuStreamSynchronize(s));
    EXPECT_EQ(*staging, 1);
    OK(cuMemcpyDtoHAsync(&pageable, address(data), 1, s));
    EXPECT_EQ(pageable, 1);
  });
}

TEST(Memory, CopiesRectanglesAndBoxes) {
  isolated([] {
    std::vector<char> values(2 * 3 * 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = char(i);
    char *from = device(values), *to = device(std::vector<char>(24, 99));
    CUDA_MEMCPY2D rectangle = {};
    rectangle.srcMemoryType = rectangle.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rectangle.srcDevice = address(from);
    rectangle.srcPitch = 4;
    rectangle.srcXInBytes = 1;
    rectangle.dstDevice = address(to);
    rectangle.dstPitch = 3;
    rectangle.WidthInBytes = 2;
    rectangle.Height = 3;
    OK(cuMemcpy2DAsync(&rectangle, nullptr));
    EXPECT_EQ(host(to, 9), (std::vector<char>{1, 2, 99, 5, 6, 99, 9, 10, 99}));
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = address(from);
    box.srcPitch = 4;
    box.srcHeight = 3;
    box.dstDevice = address(to);
    box.dstPitch = 2;
    box.dstHeight = 1;
    box.WidthInBytes = 2;
    box.Height = 1;
    box.Depth = 2;
    OK(cuMemcpy3DAsync(&box, nullptr));
    EXPECT_EQ(host(to, 5), (std::vector<char>{0, 1, 12, 13, 6}));
    rectangle.Height = 7; // past the end of `from`
    EXPECT_EQ(cuMemcpy2DAsync(&rectangle, nullptr), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Memory, RefusesWhatIsNotThere) {
  isolated([] {
    char *data = device<char>(100);
    char byte = 0;
    EXPECT_EQ(cuMemcpyHtoDAsync(address(data + 100), &byte, 1, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemsetD8Async(address(data + 50), 0, 51, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyHtoDAsync(address(&byte), &byte, 1, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(address(data)));
    EXPECT_EQ(cuMemFree(address(data)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemsetD8Async(address(data), 0, 1, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(&byte)),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuMemHostUnregister(&byte),
              CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostRegister(&byte, 1, 0));
    OK(cuMemHostUnregister(&byte));
  });
}

TEST(Memory, IsLimited) {
  isolated(
      [] {
        CUdeviceptr first, second;
        size_t free, total;
        OK(cuMemAlloc(&first, 600 << 10));
        OK(cuMemGetInfo(&free, &total));
        EXPECT_EQ(total, size_t(1) << 20);
        EXPECT_EQ(free, size_t(424) << 10);
        EXPECT_EQ(cuMemAlloc(&second, 600 << 10), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuMemFree(first));
        OK(cuMemAlloc(&second, 600 << 10));
      },
      {{"TP_FAKE_CUDA_MEMORY", "0x100000"}});
}

TEST(Memory, NeedsAContextOnEachThread) {
  EXPECT_EQ(finish(start([] {
              OK(cuCtxSetCurrent(nullptr));
              CUdeviceptr data;
              EXPECT_EQ(cuMemAlloc(&data, 1), CUDA_ERROR_INVALID_CONTEXT);
            })),
            0);
}

TEST(Module, TakesOnlyKnownPtx) {
  isolated([] {
    CUlibrary library;
    auto load = [&](const char *image) {
      return cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr,
                               nullptr, 0);
    };
    EXPECT_EQ(load("nothing"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(load("\177ELF\2\1\1"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_EQ(load(".version 8.0\n.target sm_80\n"), CUDA_ERROR_INVALID_PTX);
  });
}
