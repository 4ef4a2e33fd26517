//===- RunFixture.h - a small program and its files -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program.c as an artifact for any degree, with a checkpoint, an input and the
// result to expect, in a temporary directory; and tp-run on it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_RUNFIXTURE_H
#define TPRT_TEST_RUNFIXTURE_H

#include "TestUtil.h"

#include "../tensors/Tensor.h"
#include "tprt/artifact.h"

#include <fstream>
#include <sys/wait.h>

namespace tprt::test {

constexpr int64_t kRows = 5, kIn = 12, kHidden = 22, kOut = 7;

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline json parameter(const char *name, int64_t base, Shape source, Shape shape,
                      Shape local, json sharding) {
  return {{"names", {std::string("m.") + name, name}},
          {"count", 1},
          {"first", 0},
          {"base", base},
          {"source_shape", source},
          {"shape", shape},
          {"sharding", sharding},
          {"local_shape", local},
          {"type", "f32"}};
}

inline json gemm(int64_t id, int64_t n, int64_t k, const char *activation) {
  return {{"id", id},         {"m", kRows},      {"n", n},
          {"k", k},           {"x_type", "f32"}, {"w_type", "f32"},
          {"y_type", "f32"},  {"bias", true},    {"activation", activation},
          {"residual", false}};
}

/// On an even number of ranks the collective is started and awaited.
inline json mlpManifest(int64_t ranks) {
  int64_t local = (kHidden + ranks - 1) / ranks;
  json none = json::array();
  json tp = json::array({{{"axis", "tp"}}});
  json m = emptyManifest(ranks);
  json x = {{"name", "x"},
            {"type", "f32"},
            {"shape", {kRows, kIn}},
            {"sharding", {none, none}},
            {"local_shape", {kRows, kIn}}};
  json y = x;
  y["name"] = "y";
  y["shape"] = y["local_shape"] = {kRows, kOut};
  json entries = json::array();
  for (const char *name :
       {"mlp", "fail", "stall", "mismatch", "differ", "fail-beside"})
    entries.push_back({{"name", name},
                       {"inputs", std::string(name) == "mlp" ? json::array({x})
                                                             : json::array()},
                       {"outputs", json::array({y})},
                       {"arena_bytes", kRows * local * 4},
                       {"comm_bytes", kRows * kOut * 4},
                       {"scratch_bytes", 0},
                       {"peak_bytes", 100000}});
  m["entries"] = entries;
  m["gemms"] = {gemm(0, local, kIn, "relu"), gemm(1, kOut, local, "none")};
  m["gemms"][0]["locations"] = {"m.w1"};
  // The first weight is stored transposed.
  json w1 = parameter("w1", 0, {kIn, kHidden}, {kHidden, kIn}, {local, kIn},
                      {tp, none});
  w1["permutation"] = {1, 0};
  json b2 = parameter("b2", 3, {kOut}, {kOut}, {kOut}, json::array({none}));
  b2["partial"] = tp;
  json factor = parameter("factor", 4, {3}, {1}, {1}, json::array({none}));
  factor["slice"] = {{"offsets", {1}}, {"sizes", {1}}};
  m["parameters"] = {
      w1, parameter("b1", 1, {kHidden}, {kHidden}, {local}, json::array({tp})),
      parameter("w2", 2, {kOut, kHidden}, {kOut, kHidden}, {kOut, local},
                {none, tp}),
      b2, factor};
  m["ignored"] = {"*.inv_freq"};
  m["kernels"] = {{{"name", "scale"}}};
  m["collectives"] = json::array({{{"id", 0},
                                   {"kind", "all_reduce"},
                                   {"reduction", "sum"},
                                   {"type", "f32"},
                                   {"axes", tp},
                                   {"input_shape", {kRows, kOut}},
                                   {"output_shape", {kRows, kOut}},
                                   {"count", 1},
                                   {"bytes", kRows * kOut * 4},
                                   {"asynchronous", ranks % 2 == 0},
                                   {"cause", "partial sum of w2"},
                                   {"annotation", "w1"},
                                   {"location", "m.w2"},
                                   {"pass", "test"}}});
  return m;
}

/// The program adds up the addends of all ranks itself.
inline json peersManifest(int64_t ranks) {
  json m = mlpManifest(ranks);
  m["collectives"][0]["asynchronous"] = false;
  m["collectives"][0]["peers"] = true;
  return m;
}

inline std::string constantsFor(int64_t ranks, const json &manifest) {
  bool peers = manifest["collectives"][0].value("peers", false);
  int64_t sizes[5] = {kRows, kIn, (kHidden + ranks - 1) / ranks, kOut,
                      peers ? ranks : 0};
  return {reinterpret_cast<char *>(sizes), sizeof(sizes)};
}

/// Files of one run, and the values to expect.
struct Fixture {
  TemporaryDirectory directory;
  std::vector<float> x, w1, b1, w2, b2, factor, y;
  std::vector<TestTensor> checkpoint;

  explicit Fixture(int64_t ranks, json manifest = {}) {
    std::mt19937 random(kSeed);
    x = randomFloats(random, kRows * kIn);
    w1 = randomFloats(random, kIn * kHidden);
    b1 = randomFloats(random, kHidden);
    w2 = randomFloats(random, kOut * kHidden);
    b2 = randomFloats(random, kOut);
    factor = {5, 2, 9};
    checkpoint = {{"m.w1", "F32", {kIn, kHidden}, toBytes(TPRT_F32, w1)},
                  {"m.b1", "F32", {kHidden}, toBytes(TPRT_F32, b1)},
                  {"m.w2", "F32", {kOut, kHidden}, toBytes(TPRT_F32, w2)},
                  {"b2", "F32", {kOut}, toBytes(TPRT_F32, b2)},
                  {"factor", "F32", {3}, toBytes(TPRT_F32, factor)},
                  {"rope.inv_freq", "F32", {1}, std::string(4, '\0')}};
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t o = 0; o < kOut; ++o) {
        double sum = b2[o];
        for (int64_t h = 0; h < kHidden; ++h) {
          double inner = b1[h];
          for (int64_t i = 0; i < kIn; ++i)
            inner += double(x[r * kIn + i]) * w1[i * kHidden + h];
          sum += std::max(inner, 0.0) * w2[o * kHidden + h];
        }
        y.push_back(float(2 * sum));
      }
    if (manifest.is_null())
      manifest = mlpManifest(ranks);
    writeCheckpoint();
    writeOrFail(
        "in.safetensors",
        safetensors({{"x", "F32", {kRows, kIn}, toBytes(TPRT_F32, x)}}));
    writeOrFail("p.tpa",
                writeArtifact({{"manifest", manifest.dump()},
                               {"code", readFile(TPRT_TEST_PROGRAM)},
                               {"constants", constantsFor(ranks, manifest)}}));
  }
  void writeCheckpoint() {
    writeOrFail("model.safetensors", safetensors(checkpoint));
  }
  void writeOrFail(const std::string &name, const std::string &bytes) {
    Status status = writeFile(directory / name, bytes);
    if (!status.ok())
      throw std::runtime_error(status.message());
  }
  void expectY(const std::vector<float> &got) const {
    ASSERT_EQ(got.size(), y.size());
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(got[i], y[i], 1e-4) << "at " << i;
  }

  struct Result {
    int code;
    std::string out, err;
  };
  /// Runs the program tp-run.
  Result run(const std::string &arguments) const {
    std::string command = std::string(TPRT_RUN) + " " + (directory / "p.tpa") +
                          " " + arguments + " >" + (directory / "out") + " 2>" +
                          (directory / "err");
    int status = std::system(command.c_str());
    return {WEXITSTATUS(status), readFile(directory / "out"),
            readFile(directory / "err")};
  }
  std::string weights() const { return "--weights " + (directory / ""); }
  std::string input() const {
    return " --input " + (directory / "in.safetensors");
  }
};

inline std::vector<float> readOutput(const std::string &path) {
  auto file = TensorFile::open(path);
  if (!file)
    return {};
  return toFloats(TPRT_F32, std::string(file->tensors().at("y").bytes));
}

} // namespace tprt::test

#endif // TPRT_TEST_RUNFIXTURE_H
