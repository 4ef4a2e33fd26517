//===- TestUtil.h - what the runtime's tests share --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Seeded random numbers, temporary directories, safetensors images, and a
// manifest to start from. Every random test prints its seed on failure.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_TESTUTIL_H
#define TPRT_TEST_TESTUTIL_H

#include "../format/Manifest.h"
#include "../support/Memory.h"
#include "../support/Simd.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace tprt::test {

using nlohmann::json;

constexpr unsigned kSeed = 20261121;

/// Fails with the status' message.
#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    ::tprt::Status tprtStatus = (expression);                                  \
    ASSERT_TRUE(tprtStatus.ok()) << tprtStatus.message();                      \
  } while (false)

/// The whole message, so that a test says exactly what a user reads.
#define EXPECT_MESSAGE(status, text) EXPECT_EQ((status).message(), text)

/// True if `text` has the pieces one after the other.
inline bool inOrder(const std::string &text,
                    std::initializer_list<std::string_view> pieces) {
  size_t at = 0;
  for (std::string_view piece : pieces) {
    at = text.find(piece, at);
    if (at == std::string::npos)
      return false;
    at += piece.size();
  }
  return true;
}

inline std::vector<float> randomFloats(std::mt19937 &random, int64_t count,
                                       float scale = 1) {
  std::uniform_real_distribution<float> value(-scale, scale);
  std::vector<float> result(count);
  for (float &x : result)
    x = value(random);
  return result;
}

/// The values as bytes of a float type, and back.
inline std::string toBytes(tprt_type type, const std::vector<float> &values) {
  std::string bytes(values.size() * typeBytes(type), '\0');
  simd().narrow(type, values.data(), bytes.data(), int64_t(values.size()));
  return bytes;
}
inline std::vector<float> toFloats(tprt_type type, const std::string &bytes) {
  std::vector<float> values(bytes.size() / typeBytes(type));
  simd().widen(type, bytes.data(), values.data(), int64_t(values.size()));
  return values;
}
/// The values that the type can hold.
inline std::vector<float> rounded(tprt_type type,
                                  const std::vector<float> &values) {
  return toFloats(type, toBytes(type, values));
}

/// Half a unit in the last place of the type, relative.
inline float epsilon(tprt_type type) {
  return type == TPRT_F32 ? 6e-8f : type == TPRT_F16 ? 4.9e-4f : 3.9e-3f;
}

/// A directory that goes away.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("tprt-test-" + std::to_string(getpid()) + "-" +
            std::to_string(count++));
    std::filesystem::create_directory(path);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const {
    return (path / name).string();
  }
  std::filesystem::path path;
};

struct TestTensor {
  std::string name, dtype;
  Shape shape;
  std::string bytes;
};

inline std::string safetensors(const std::vector<TestTensor> &tensors) {
  json header = json::object();
  std::string data;
  for (const TestTensor &tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype},
        {"shape", tensor.shape},
        {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  std::string text = header.dump();
  uint64_t length = text.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + text + data;
}

/// A valid manifest of one entry without parameters.
inline json emptyManifest(int64_t ranks = 1) {
  json axis = {{"name", "tp"}, {"size", ranks}};
  json entry = {{"name", "main"},           {"inputs", json::array()},
                {"outputs", json::array()}, {"arena_bytes", 0},
                {"comm_bytes", 0},          {"scratch_bytes", 0},
                {"peak_bytes", 0}};
  return {{"abi", TPRT_ABI_VERSION},
          {"producer", "test"},
          {"model", {{"name", "m"}, {"architecture", "a"}}},
          {"target", {{"triple", "x86_64"}, {"features", json::array()}}},
          {"mesh", {{"axes", json::array({axis})}}},
          {"entries", json::array({entry})},
          {"parameters", json::array()},
          {"ignored", json::array()},
          {"gemms", json::array()},
          {"attentions", json::array()},
          {"collectives", json::array()},
          {"kernels", json::array()}};
}

} // namespace tprt::test

#endif // TPRT_TEST_TESTUTIL_H
