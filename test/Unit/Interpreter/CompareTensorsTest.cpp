//===- CompareTensorsTest.cpp - Whether two tensors are one ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random boxes of random tensors against the definition, and a checkpoint whose
// parameter has two names, as the interpreter reads it.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/CompareTensors.h"
#include "Testing.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <random>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {

/// A directory with one file.
struct Directory {
  Directory() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("compare", path));
  }
  ~Directory() { (void)llvm::sys::fs::remove_directories(path); }

  void write(StringRef data) {
    SmallString<128> file(path);
    llvm::sys::path::append(file, "model.safetensors");
    std::error_code ec;
    llvm::raw_fd_ostream(file, ec) << data;
    EXPECT_FALSE(ec);
  }

  SmallString<128> path;
};

std::string bytesOf(ArrayRef<float> values, bool isHalf) {
  std::string bytes;
  for (float value : values) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    char word[4];
    llvm::support::endian::write32le(word, bits);
    bytes.append(isHalf ? word + 2 : word, isHalf ? 2 : 4);
  }
  return bytes;
}

/// Two tensors x and y (F32), each of `count` elements.
std::string checkpoint(ArrayRef<float> x, ArrayRef<float> y) {
  std::string data = bytesOf(x, false) + bytesOf(y, false);
  std::string header;
  llvm::raw_string_ostream(header)
      << R"({"x":{"dtype":"F32","shape":[)" << x.size()
      << R"(],"data_offsets":[0,)" << 4 * x.size()
      << R"(]},"y":{"dtype":"F32","shape":[)" << y.size()
      << R"(],"data_offsets":[)" << 4 * x.size() << "," << data.size() << "]}}";
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  return std::string(length, 8) + header + data;
}

/// The error when a parameter x, also known as y, is read; empty: nothing.
std::string readTwoNames(
    StringRef directory, ArrayRef<std::string> excluded = {},
    function_ref<void()> afterOpening = [] {}) {
  std::string message;
  ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto parameters =
      SafetensorsParameters::open(&getContext(), directory, excluded);
  EXPECT_TRUE(parameters);
  afterOpening();
  ParameterRequest request;
  request.name = "x";
  request.alternatives = {"y"};
  request.shape = {2};
  request.type = kF32;
  auto tensor = parameters->get(
      request, [] { return mlir::emitError(UnknownLoc::get(&getContext())); });
  EXPECT_EQ(succeeded(tensor), message.empty());
  return message;
}

} // namespace

TEST(CompareTensors, TwoNamesOfOneParameter) {
  Directory directory;
  directory.write(checkpoint({1, 2}, {1, 2}));
  EXPECT_EQ(readTwoNames(directory.path), "");
  directory.write(checkpoint({1, 2}, {1, 3}));
  EXPECT_EQ(readTwoNames(directory.path),
            "tensors 'x' and 'y' of the checkpoint stand for the same "
            "parameter but hold different values; --ignore NAME says which is "
            "not to be read");
  EXPECT_EQ(readTwoNames(directory.path, {"y"}), "");
  EXPECT_EQ(readTwoNames(directory.path, {"x"}), "");
  std::string message =
      readTwoNames(directory.path, {}, [&] { directory.write("short"); });
  EXPECT_TRUE(StringRef(message).starts_with(
      "cannot compare 'x' with 'y': it became shorter while it was read"))
      << message;
}

TEST(CompareTensors, RandomBoxes) {
  constexpr unsigned seed = 20261126;
  std::mt19937 random(seed);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Directory directory;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(llvm::formatv("seed {0}, round {1}", seed, round).str());
    SmallVector<int64_t> shape, offsets, sizes;
    int64_t count = 1, boxCount = 1;
    for (int64_t dim = draw(1, 4); dim > 0; --dim) {
      shape.push_back(draw(1, 6));
      offsets.push_back(draw(0, 1) ? draw(0, shape.back() - 1) : 0);
      bool isWhole = draw(0, 1) && offsets.back() == 0;
      sizes.push_back(isWhole ? shape.back()
                              : draw(1, shape.back() - offsets.back()));
      count *= shape.back();
      boxCount *= sizes.back();
    }
    // Small integers are the same in both types.
    std::vector<float> whole, part;
    for (int64_t i = 0; i < count; ++i)
      whole.push_back(float(draw(-9, 9)));
    for (int64_t i = 0; i < boxCount; ++i) {
      int64_t left = i, from = 0, stride = 1;
      for (size_t dim = shape.size(); dim-- > 0; left /= sizes[dim]) {
        from += (offsets[dim] + left % sizes[dim]) * stride;
        stride *= shape[dim];
      }
      part.push_back(whole[from]);
    }
    bool differs = draw(0, 1), isHalf = draw(0, 1);
    if (differs)
      part[draw(0, boxCount - 1)] += 1;
    std::string first = bytesOf(whole, false), second = bytesOf(part, isHalf);
    directory.write(first + second);
    CheckpointTensor a{"F32", shape, 0, first.size(), "model.safetensors"};
    CheckpointTensor b{isHalf ? "BF16" : "F32", sizes, first.size(),
                       first.size() + second.size(), "model.safetensors"};
    TensorComparer comparer(directory.path);
    SmallVector<int64_t> zeros(sizes.size(), 0);
    auto equal = comparer.areEqual({&a, shape, offsets}, {&b, sizes, zeros},
                                   sizes, FloatKind::F32);
    ASSERT_TRUE(bool(equal)) << llvm::toString(equal.takeError());
    EXPECT_EQ(*equal, !differs);
  }
}
