//===- HopperTest.cpp - Each primitive of sm_90 in the emulator -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of primitives.cu on random data beside plain references, and
// every mistake that they can be told to make.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"
#include "Emulator.h"
#include "Faults.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <random>

using testing::HasSubstr;

namespace {

/// A device allocation.
template <typename T>
class Memory {
public:
  explicit Memory(size_t count, T fill = T())
      : bytes(count * sizeof(T) + 1024, 0) {
    data = reinterpret_cast<T *>(
        (reinterpret_cast<uintptr_t>(bytes.data()) + 1023) / 1024 * 1024);
    std::fill(data, data + count, fill);
    tpEmulatorRegister(data, count * sizeof(T));
  }
  ~Memory() { tpEmulatorUnregister(data); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  T &operator[](size_t i) { return data[i]; }

  T *data;

private:
  std::vector<char> bytes;
};

float widen(uint16_t bits, bool isBf16) {
  return isBf16 ? std::bit_cast<float>(uint32_t(bits) << 16)
                : float(std::bit_cast<_Float16>(bits));
}
uint16_t narrow(float value, bool isBf16) {
  return isBf16 ? uint16_t(std::bit_cast<uint32_t>(value) >> 16)
                : std::bit_cast<uint16_t>(_Float16(value));
}

class HopperTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    auto bitcode = llvm::MemoryBuffer::getFile(TP_PRIMITIVES_BITCODE);
    ASSERT_TRUE(bool(bitcode));
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("hopper", "so", path));
    llvm::Error error = tp::emulator::emulateKernels((*bitcode)->getBuffer(),
                                                     /*ptxHash=*/0, true, path);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    char message[256];
    emulator = tpEmulatorOpen(path.c_str(), message, sizeof message);
    ASSERT_TRUE(emulator) << message;
  }
  static void TearDownTestSuite() {
    tpEmulatorClose(emulator);
    llvm::sys::fs::remove(path);
  }

  /// The findings of a launch of one block, a line each.
  std::string launch(const std::string &kernel, uint32_t threads,
                     uint32_t bytes, std::vector<void *> arguments) {
    std::string text;
    tpEmulatorLaunch(
        emulator, kernel.c_str(), {1, 1, 1}, {threads, 1, 1}, bytes,
        arguments.data(), seed,
        [](void *context, const char *finding) {
          *static_cast<std::string *>(context) += std::string(finding) + "\n";
        },
        &text);
    return text;
  }

  /// Runs a product of primitives.cu; `worst` becomes the largest difference in
  /// units of what rounding allows.
  std::string multiply(const std::string &kernel, int columns, int depth,
                       int adds, Fault fault, double &worst) {
    bool isBf16 = kernel.find("bf16") != std::string::npos;
    bool isShared = kernel.starts_with("shared");
    Memory<uint16_t> a(64 * depth), b(columns * depth);
    Memory<float> d(64 * columns, 7);
    for (int i = 0; i < 64 * depth; ++i)
      a[i] = narrow(normal(random), isBf16);
    for (int i = 0; i < columns * depth; ++i)
      b[i] = narrow(normal(random), isBf16);
    float start = 3;
    unsigned faults = fault == kRight ? 0 : 1u << fault;
    std::string text =
        launch(kernel, 128, (64 + columns) * depth * 2,
               {&a.data, &b.data, &d.data, &start, &depth, &adds, &faults});
    worst = 0;
    for (int row = 0; row < 64; ++row)
      for (int n = 0; n < columns; ++n) {
        double sum = isShared && !adds ? 0 : start, sizes = sum;
        for (int k = 0; k < depth; ++k) {
          double product =
              double(widen(a[row * depth + k], isBf16)) *
              widen(b[isShared ? n * depth + k : k * columns + n], isBf16);
          sum += product;
          sizes += std::fabs(product);
        }
        // Each step rounds, and errs by a unit of its largest term.
        double allowed = std::ldexp(sizes, -23) * 1.5 * depth / 16;
        double difference = std::fabs(d[row * columns + n] - sum);
        worst = difference <= allowed * worst ? worst : difference / allowed;
      }
    return text;
  }

  static inline llvm::SmallString<128> path;
  static inline TpEmulator *emulator = nullptr;
  uint64_t seed = 0;
  std::mt19937 random{34};
  std::normal_distribution<float> normal;
};

TEST_F(HopperTest, Products) {
  for (const char *form : {"shared", "registers"})
    for (const char *type : {"bf16", "f16"})
      for (int columns : {64, 128})
        for (int depth : {64, 192}) {
          std::string kernel =
              std::string(form) + "_" + type + "_" + std::to_string(columns);
          seed = depth == 64 ? 0 : columns + 1;
          double worst;
          EXPECT_EQ(multiply(kernel, columns, depth, 0, kRight, worst), "");
          EXPECT_LE(worst, 1) << kernel << " " << depth;
          EXPECT_EQ(multiply(kernel, columns, depth, 1, kRight, worst), "");
          EXPECT_LE(worst, 1) << kernel << " " << depth;
        }
}

TEST_F(HopperTest, ProductsWithMistakes) {
  double worst;
  EXPECT_EQ(multiply("shared_bf16_64", 64, 64, 0, kWrongSwizzle, worst), "");
  EXPECT_GT(worst, 1000);
  const std::pair<Fault, const char *> mistakes[] = {
      {kNoProxyFence, "no tp_proxy_fence: an operand written by thread"},
      {kNoBarrier, "data race: an operand of warp"},
      {kNoFence, "product without tp_wgmma_fence"},
      {kNoCommit, "product not waited for: the thread ends before"},
      {kNoWait, "product not waited for: the thread ends before"},
      {kReadEarly, "accumulator of a running product read: no tp_wgmma_wait"},
      {kWriteEarly, "accumulator of a running product written"},
      {kOperandOverwritten, "operand of a running product written: a product "
                            "of warp"}};
  for (auto [fault, text] : mistakes)
    for (seed = 0; seed < 3; ++seed)
      EXPECT_THAT(multiply("shared_bf16_64", 64, 64, 0, fault, worst),
                  HasSubstr(text))
          << "seed " << seed;
  EXPECT_THAT(multiply("registers_f16_64", 64, 64, 0, kNoFence, worst),
              HasSubstr("operand in registers written after the last "
                        "tp_wgmma_fence"));
  EXPECT_THAT(multiply("registers_f16_64", 64, 64, 0, kWrongSwizzle, worst),
              "");
  EXPECT_GT(worst, 1000);
}

TEST_F(HopperTest, WarpsThatAreNoWarpgroup) {
  Memory<float> d(256);
  EXPECT_THAT(launch("four_warps", 256, 8192, {&d.data}),
              AllOf(HasSubstr("where 96 of 128 threads of warpgroup 0 have "
                              "come"),
                    HasSubstr("where 32 of 128 threads of warpgroup 1 have "
                              "come")));
}

/// A tensor of random numbers and a box of it.
struct Tensor {
  Tensor(std::vector<int> sizes, std::vector<int> boxes, std::vector<int> at,
         int padding) {
    test.rank = sizes.size();
    int64_t stride = 2;
    for (int i = 0; i < test.rank; ++i) {
      test.size[i] = sizes[i];
      test.box[i] = boxes[i];
      test.at[i] = at[i];
      test.stride[i] = stride;
      stride = (stride * sizes[i] + padding + 15) / 16 * 16;
    }
    elements = stride / 2;
  }
  int boxBytes() const {
    int bytes = 2;
    for (int i = 0; i < test.rank; ++i)
      bytes *= test.box[i];
    return bytes;
  }

  BoxTest test = {};
  int64_t elements;
};

/// The box's element at `place`: places count as they lie before the swizzle.
uint16_t getElement(const BoxTest &test, int place) {
  const char *from = reinterpret_cast<const char *>(test.base);
  for (int i = 0; i < test.rank; ++i) {
    int at = test.at[i] + place % test.box[i];
    place /= test.box[i];
    if (at < 0 || at >= test.size[i])
      return 0;
    from += at * test.stride[i];
  }
  uint16_t element;
  memcpy(&element, from, 2);
  return element;
}

class BoxesTest : public HopperTest {
protected:
  /// `missing` elements of the tensor are not in its allocation; `room` is what
  /// the box has in shared memory, if that is less than it needs.
  std::string copy(Tensor tensor, std::initializer_list<Fault> list,
                   int64_t missing = 0, int room = 0) {
    int bytes = room ? room : tensor.boxBytes();
    Memory<uint16_t> from(tensor.elements - missing);
    Memory<char> map(128);
    result = std::make_unique<Memory<uint16_t>>(bytes / 2, 0xAAAA);
    for (int64_t i = 0; i < tensor.elements - missing; ++i)
      from[i] = random();
    tensor.test.base = from.data;
    unsigned faults = 0;
    for (Fault fault : list)
      faults |= 1u << fault;
    std::string text =
        launch("box", 64, (bytes + 1023) / 1024 * 1024 + 1024 + 128 + 8,
               {&tensor.test, &map.data, &result->data, &bytes, &faults});
    isRight = true;
    for (int place = 0; place < bytes / 2; ++place) {
      int chunk = place / 8 ^ place / 64 % 8;
      isRight &=
          (*result)[chunk * 8 + place % 8] == getElement(tensor.test, place);
    }
    return text;
  }

  std::unique_ptr<Memory<uint16_t>> result;
  bool isRight = false;
};

TEST_F(BoxesTest, LieSwizzled) {
  const Tensor tensors[] = {
      {{64, 16, 1, 1}, {64, 16, 1, 1}, {0, 0, 0, 0}, 0},
      {{128, 40, 3, 2}, {64, 16, 2, 1}, {64, 8, 1, 1}, 32},
      {{100, 9, 3, 2}, {64, 16, 2, 2}, {64, -3, 1, 1}, 0}, // out of range
      {{72, 5, 7, 2, 2}, {64, 3, 5, 1, 2}, {-8, 2, 4, 1, 0}, 6},
      {{40, 4, 7, 2, 2}, {64, 4, 4, 1, 1}, {3, 0, 5, 0, 1}, 0},
      {{64, 8, 2, 2}, {32, 8, 2, 2}, {32, 0, 0, 0}, 0}, // half a panel
      {{8, 2, 2, 2}, {64, 4, 2, 2}, {64, 8, 8, 8}, 0}}; // all outside
  for (const Tensor &tensor : tensors)
    for (seed = 0; seed < 2; ++seed) {
      EXPECT_EQ(copy(tensor, {}), "");
      EXPECT_TRUE(isRight) << "rank " << tensor.test.rank << ", seed " << seed;
    }
  EXPECT_EQ(copy(tensors[0], {kStoreBefore}), "");
  EXPECT_TRUE(isRight);
}

TEST_F(BoxesTest, WithMistakes) {
  Tensor tensor({72, 5, 7, 2, 2}, {64, 3, 5, 1, 2}, {0, 1, 2, 1, 0}, 6);
  Tensor four({64, 16, 2, 2}, {64, 16, 1, 1}, {0, 0, 1, 1}, 0);
  struct Mistake {
    std::vector<Fault> faults;
    const char *text;
  };
  const Mistake mistakes[] = {
      {{kStoreBefore, kNoProxyFence}, "no tp_proxy_fence: byte "},
      {{kMapNotZero}, "tensor map in memory that is not zero"},
      {{kNoDimension},
       "copy of a box that cannot be: of rank 4, map of rank 4, dimensions "
       "described 0x7"},
      {{kNoAcquire}, "no tp_tensor_map_acquire: the thread has not acquired"},
      {{kNoInit}, "mbarrier used before tp_mbarrier_init: at byte "},
      {{kNoInitFence}, "no tp_mbarrier_init_fence: the mbarrier at byte "},
      {{kFewerBytes},
       "more bytes than the mbarrier expects: a box of 2048 "
       "bytes, 2032 expected at byte "},
      {{kMoreBytes},
       "of @dynamic_shared_memory lacks 0 of 1 arrivals and 16 bytes"},
      {{kTwoArrivals}, "more arrivals than the mbarrier counts: at byte "},
      {{kNoArrive},
       "of @dynamic_shared_memory lacks 1 of 2 arrivals and 0 bytes"},
      {{kMisaligned},
       "misaligned access: box at byte 128 of "
       "@dynamic_shared_memory, offset 128, expected a "
       "multiple of 1024"},
      {{kNoWait}, "asynchronous copy not waited for"}};
  for (const Mistake &mistake : mistakes)
    for (seed = 0; seed < 3; ++seed) {
      std::string text;
      switch (mistake.faults.size()) {
      case 1:
        text = copy(four, {mistake.faults[0]});
        break;
      default:
        text = copy(four, {mistake.faults[0], mistake.faults[1]});
      }
      EXPECT_THAT(text, HasSubstr(mistake.text)) << "seed " << seed;
    }
  // The last row of the tensor is not in the allocation.
  EXPECT_THAT(copy(four, {}, 64), HasSubstr("global memory out of bounds"));
  Tensor wide = tensor, odd = tensor, large = tensor;
  wide.test.box[0] = 72;
  odd.test.stride[2] += 2;
  large.test.size[2] = 1000;
  large.test.box[2] = 257;
  EXPECT_THAT(copy(wide, {}),
              HasSubstr("dimension 0: bytes of the box 144, expected a "
                        "multiple of 16 up to 128, the span of the swizzle"));
  EXPECT_THAT(copy(odd, {}), HasSubstr("dimension 2: stride "));
  EXPECT_THAT(copy(large, {}),
              HasSubstr("dimension 2: box 257, expected 1 to 256"));
  large.test.box[2] = 256;
  EXPECT_THAT(copy(large, {}, 0, 4096),
              HasSubstr("shared memory out of bounds: a box of 196608 bytes at "
                        "byte 0 of @dynamic_shared_memory"));
}

class RingTest : public HopperTest {
protected:
  std::string multiply(int depth, Fault fault) {
    Memory<uint16_t> a(64 * depth), b(64 * depth);
    Memory<float> d(64 * 64, 7);
    Memory<char> maps(256);
    for (int i = 0; i < 64 * depth; ++i) {
      a[i] = narrow(normal(random), true);
      b[i] = narrow(normal(random), true);
    }
    unsigned faults = fault == kRight ? 0 : 1u << fault;
    std::string text =
        launch("ring", 384, 4 * 8192 + 128 + 256,
               {&a.data, &b.data, &d.data, &depth, &maps.data, &faults});
    isRight = true;
    for (int row = 0; row < 64; ++row)
      for (int n = 0; n < 64; ++n) {
        double sum = 0, sizes = 0;
        for (int k = 0; k < depth; ++k) {
          double product = double(widen(a[row * depth + k], true)) *
                           widen(b[n * depth + k], true);
          sum += product;
          sizes += std::fabs(product);
        }
        isRight &= std::fabs(d[row * 64 + n] - sum) <=
                   std::ldexp(sizes, -23) * 1.5 * depth / 16;
      }
    return text;
  }
  bool isRight = false;
};

TEST_F(RingTest, OfTwoStages) {
  for (seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(multiply(64 * 5, kRight), "") << "seed " << seed;
    EXPECT_TRUE(isRight) << "seed " << seed;
  }
}

TEST_F(RingTest, WithMistakes) {
  const std::pair<Fault, const char *> mistakes[] = {
      {kNoPhaseWait, "asynchronous copy not waited for: its target is an "
                     "operand before the wait"},
      {kStageReusedEarly, "its target is written again before the wait"},
      {kReleasedEarly, "shared memory read by a product of warp 0 at [ring"},
      {kNoArrive, "of @dynamic_shared_memory lacks 4 of 4 arrivals and 0 "
                  "bytes"}};
  for (auto [fault, text] : mistakes)
    EXPECT_THAT(multiply(64 * 5, fault), HasSubstr(text));
  EXPECT_THAT(multiply(64, kNoRegistersGiven),
              HasSubstr("where other warpgroups have not given registers"));
}

} // namespace
