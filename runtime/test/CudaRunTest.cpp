//===- CudaRunTest.cpp - programs for a device, from end to end -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-run with the library that stands for CUDA on host memory: products and
// collectives on one and several ranks, as graphs and call by call, in each
// element type; what is measured; and what is refused, word by word. Generated
// kernels are the compiler's, and tested with it.
//
//===----------------------------------------------------------------------===//

#include "RankProcesses.h"
#include "tprt/tprt.h"

#include <cmath>
#include <functional>

using namespace tprt;
using namespace tprt::test;

namespace {

const std::string kFake =
    "TPRT_CUDA_LIBRARY=" TP_FAKE_CUDA " TPRT_CUBLASLT_LIBRARY=" TP_FAKE_CUDA
    " TPRT_NCCL_LIBRARY=" TP_FAKE_CUDA " ";

/// The scale of some products; f32 has no exact value of it.
constexpr double kScale = 0.3;

const char *programFor(int64_t ranks) {
  return ranks == 1   ? TPRT_TEST_DEVICE_1
         : ranks == 2 ? TPRT_TEST_DEVICE_2
                      : TPRT_TEST_DEVICE_4;
}

json value(const char *name, const char *type, Shape shape) {
  json none = json::array();
  return {{"name", name},
          {"type", type},
          {"shape", shape},
          {"sharding", json::array({none, none})},
          {"local_shape", shape}};
}

json product(int64_t id, const char *type, int64_t m, int64_t n, int64_t k) {
  json g = gemm(id, n, k, "none");
  g["m"] = m;
  g["x_type"] = g["w_type"] = g["y_type"] = type;
  g["bias"] = false;
  return g;
}

/// The manifest of device.c, all in one element type.
json deviceManifest(int64_t ranks, const char *type = "f32") {
  json m = mlpManifest(ranks);
  int64_t local = (kHidden + ranks - 1) / ranks;
  json x = value("x", type, {kRows, kIn});
  json w = value("w", type, {kIn, kOut});
  json outputs = json::array();
  for (const char *name : {"y0", "y1", "y2", "y3"})
    outputs.push_back(value(name, type, {kRows, kOut}));
  outputs.push_back(value("y4", type, {kIn, kOut}));
  outputs.push_back(value("y5", type, {kRows, kOut}));
  json entries = json::array();
  for (const char *name :
       {"mlp", "products", "stray", "missing", "loop", "adrift"}) {
    bool products = std::string(name) == "products";
    entries.push_back(
        {{"name", name},
         {"inputs", products ? json::array({x, w}) : json::array({x})},
         {"outputs",
          products ? outputs : json::array({value("y", type, {kRows, kOut})})},
         {"arena_bytes", kRows * local * 4},
         {"comm_bytes", 768},
         {"scratch_bytes", 0},
         {"peak_bytes", 1000}});
  }
  m["entries"] = entries;
  json gemms = m["gemms"];
  for (json &g : gemms) {
    g["x_type"] = g["w_type"] = g["y_type"] = g["bias_type"] = type;
  }
  json kn = product(2, type, kRows, kOut, kIn);
  kn["w_layout"] = "kn";
  json gelu = product(3, type, kRows, kOut, kIn);
  gelu["activation"] = "gelu_tanh";
  json residual = product(4, type, kRows, kOut, kIn);
  residual["residual"] = true;
  residual["scale"] = kScale;
  json relu = product(5, type, kRows, kOut, kIn);
  relu["activation"] = "relu";
  for (json *g : {&gelu, &relu}) {
    (*g)["bias"] = true;
    (*g)["bias_type"] = type;
  }
  json scaledRelu = product(7, type, kRows, kOut, kIn);
  scaledRelu["activation"] = "relu";
  scaledRelu["scale"] = -kScale;
  json km = product(6, type, kIn, kOut, kRows);
  km["w_layout"] = "kn";
  km["x_layout"] = "km";
  for (json *g : {&kn, &gelu, &residual, &relu, &km, &scaledRelu})
    gemms.push_back(*g);
  m["gemms"] = gemms;
  // The same tensor again, as a weight of other products: held once.
  json none = json::array();
  json again = parameter("w2", 5, {kOut, kHidden}, {kOut, kIn}, {kOut, kIn},
                         {none, none});
  again["slice"] = {{"offsets", {0, 3}}, {"sizes", {kOut, kIn}}};
  json tied = again;
  tied["base"] = 6;
  // The bias on every rank, for products that all compute.
  json bias = parameter("b2", 7, {kOut}, {kOut}, {kOut}, json::array({none}));
  m["parameters"].push_back(again);
  m["parameters"].push_back(tied);
  m["parameters"].push_back(bias);
  for (json &p : m["parameters"])
    p["type"] = type;
  json max = m["collectives"][0];
  m["collectives"][0]["type"] = type;
  max["id"] = 1;
  max["reduction"] = "max";
  max["count"] = 3;
  max["type"] = type;
  m["collectives"].push_back(max);
  m["kernels"] = json::array();
  m["target"]["device"] = "cuda";
  m["target"]["architectures"] = json::array({"sm_90"});
  return m;
}

struct DeviceFixture : Fixture {
  std::vector<float> w;

  explicit DeviceFixture(int64_t ranks, json manifest = {}) : Fixture(ranks) {
    if (manifest.is_null())
      manifest = deviceManifest(ranks);
    writeProgram(manifest, ranks);
    std::mt19937 random(kSeed + 1);
    w = randomFloats(random, kIn * kOut);
    writeOrFail(
        "in.safetensors",
        safetensors({{"x", "F32", {kRows, kIn}, toBytes(TPRT_F32, x)}}));
    writeOrFail("both.safetensors",
                safetensors({{"x", "F32", {kRows, kIn}, toBytes(TPRT_F32, x)},
                             {"w", "F32", {kIn, kOut}, toBytes(TPRT_F32, w)}}));
  }
  void writeProgram(const json &manifest, int64_t ranks) {
    writeOrFail("p.tpa", writeArtifact({{"manifest", manifest.dump()},
                                        {"code", readFile(programFor(ranks))},
                                        {"kernels.ptx", std::string("//\0", 3)},
                                        {"kernels.sm_90", "machine code"},
                                        {"constants", "constants"}}));
  }
  Result runWith(const std::string &environment,
                 const std::string &arguments) const {
    std::string command = "env " + environment + " " + TPRT_RUN + " " +
                          (directory / "p.tpa") + " " + weights() + " " +
                          arguments + " >" + (directory / "out") + " 2>" +
                          (directory / "err");
    int status = std::system(command.c_str());
    return {WEXITSTATUS(status), readFile(directory / "out"),
            readFile(directory / "err")};
  }
  Result runFake(const std::string &arguments,
                 const std::string &environment = "") const {
    return runWith(kFake + environment, "--input " +
                                            (directory / "in.safetensors") +
                                            " " + arguments);
  }
  std::string output() const {
    return " --output " + (directory / "y.safetensors");
  }
  std::vector<float> read(const std::string &name) const {
    auto file = TensorFile::open(directory / "y.safetensors");
    EXPECT_TRUE(bool(file)) << file.status().message();
    return toFloats(TPRT_F32, std::string(file->tensors().at(name).bytes));
  }
  /// The program without factor.
  void expectHalf() const {
    std::vector<float> got = read("y");
    ASSERT_EQ(got.size(), y.size());
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(got[i], y[i] / 2, 1e-4) << "at " << i;
  }
};

/// Expects `body` to be true in a process of its own, whose CUDA is the library
/// that stands for it.
void expectOnFake(const std::function<bool()> &body) {
  pid_t child = fork();
  if (child == 0) {
    for (const char *name :
         {"TPRT_CUDA_LIBRARY", "TPRT_CUBLASLT_LIBRARY", "TPRT_NCCL_LIBRARY"})
      setenv(name, TP_FAKE_CUDA, 1);
    _exit(!body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace

//===----------------------------------------------------------------------===//
// Programs that run
//===----------------------------------------------------------------------===//

TEST(CudaRun, RanksAndGraphs) {
  for (int64_t ranks : {1, 2, 4}) {
    DeviceFixture f(ranks);
    for (const char *environment :
         {"TP_FAKE_CUDA_SEED=1", "TP_FAKE_CUDA_SEED=2 TPRT_CUDA_GRAPHS=0"}) {
      auto result = f.runFake("--repeat 2" + f.output(), environment);
      ASSERT_EQ(result.code, 0) << ranks << " " << environment << result.err;
      f.expectHalf();
    }
  }
}

/// A device and a backend are chosen apart: one rank on a device needs none
/// that moves the memory of devices.
TEST(CudaRun, OneRankNeedsNoTransport) {
  DeviceFixture f(1);
  std::string nowhere = kFake + "TPRT_NCCL_LIBRARY=/nowhere.so ";
  std::string input =
      "--input " + (f.directory / "in.safetensors") + f.output();
  for (const char *backend : {"", " --backend threads", " --backend nccl"}) {
    auto result = f.runWith(nowhere, input + backend);
    ASSERT_EQ(result.code, 0) << backend << result.err;
    f.expectHalf();
  }
  Hosts host(f, {nowhere}, "threads 20 threads");
  EXPECT_EQ(host.list[0]->wait(30), 0) << host.text(*host.list[0]);
}

/// One device needs neither a starter nor another rank, and a host that loses
/// one keeps its device.
TEST(CudaRun, HostPrograms) {
  DeviceFixture one(1);
  Hosts alone(one, {kFake}, "nccl 20 nccl");
  EXPECT_EQ(alone.list[0]->wait(30), 0) << alone.text(*alone.list[0]);
  EXPECT_EQ(alone.text(*alone.list[0]),
            "steps\nclosed within 1 s, told 0 times\ngoes on\n");

  DeviceFixture two(2);
  std::vector<std::string> environments = hostEnvironments(2, 5);
  for (std::string &environment : environments)
    environment = kFake + environment;
  Hosts hosts(two, environments, "nccl -1");
  ASSERT_EQ(kill(hosts.list[1]->process, SIGKILL), 0);
  Running &survivor = *hosts.list[0];
  EXPECT_EQ(survivor.wait(30), 0) << hosts.text(survivor);
  std::string lost = "returned 3: rank 0: rank 1 is lost: its process ended";
  EXPECT_TRUE(
      inOrder(hosts.text(survivor), {"told of rank 1, code 3", "step " + lost,
                                     "another " + lost, "closed within 1 s"}))
      << hosts.text(survivor);
  EXPECT_EQ(survivor.errors(), "");
}

/// Results in the program's own type, and widened.
TEST(CudaRun, NativeResults) {
  DeviceFixture f(1, deviceManifest(1, "bf16"));
  expectOnFake([&] {
    tprt_session *session = nullptr;
    bool good =
        tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session) == 0 &&
        tprt_load_weights(session, (f.directory / "").c_str()) == 0;
    Shape xShape{kRows, kIn}, yShape{kRows, kOut};
    std::string own(kRows * kOut * 2, '\0');
    std::vector<float> wide(kRows * kOut);
    tprt_tensor x{sizeof(x),     "x",        "F32",          2,
                  xShape.data(), f.x.data(), kRows * kIn * 4};
    tprt_tensor y{sizeof(y),          "y", "BF16", 2, yShape.data(), own.data(),
                  int64_t(own.size())};
    good = good && tprt_run(session, 0, &x, 1, &y, 1) == 0;
    y.dtype = "F32";
    y.data = wide.data();
    y.bytes = kRows * kOut * 4;
    good = good && tprt_run(session, 0, &x, 1, &y, 1) == 0 &&
           toFloats(TPRT_BF16, own) == wide && std::abs(wide[3]) > 0;
    y.dtype = "I32";
    good = good && tprt_run(session, 0, &x, 1, &y, 1) == 1 &&
           std::string(tprt_error(session)) ==
               "output 'y': expected elements of type BF16 or F32, got I32";
    tprt_close(session);
    return good;
  });
}

/// A device that stands still for good, wherever that happens, is a lost rank:
/// neither the run nor its end waits for it.
TEST(CudaRun, ADeviceThatNeverAnswers) {
  std::mt19937 random(kSeed);
  DeviceFixture f(1);
  std::string arguments = "--repeat 3 --timeout 0.4 --load-timeout 0.4";
  int lost = 0;
  for (int n = 0; n < 8; ++n) {
    uint64_t after = n < 2 ? uint64_t(n) : random() % 400;
    std::string stuck = detail::join("TP_FAKE_CUDA_STUCK_AFTER=", after,
                                     n % 2 ? " TPRT_CUDA_GRAPHS=0" : "");
    SCOPED_TRACE(detail::join("seed ", kSeed, ": ", stuck));
    auto result = f.runFake(arguments + f.output(), stuck);
    lost += result.code == 3;
    EXPECT_TRUE(result.code == 3 || (result.code == 0 && n >= 2)) << result.err;
    if (result.code == 3)
      EXPECT_TRUE(
          inOrder(result.err, {"tp-run: error: rank 0: ",
                               ": its device did not answer within 0.4 s"}))
          << result.err;
  }
  EXPECT_GE(lost, 3);
}

/// Each of several ranks is stuck, and none of them in a collective.
TEST(CudaRun, DevicesThatNeverAnswer) {
  DeviceFixture f(2);
  auto result = f.runFake("--timeout 0.5 --load-timeout 0.5" + f.output(),
                          "TP_FAKE_CUDA_STUCK_AFTER=3");
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("device did nothing for 0.5 s"), std::string::npos)
      << result.err;
}

/// The device's memory is taken once, whatever was given first.
TEST(CudaRun, WeightsAfterWrongOnes) {
  DeviceFixture f(1), wrong(1);
  wrong.checkpoint[1].shape[0] += 1;
  wrong.checkpoint[1].bytes.resize(wrong.checkpoint[1].bytes.size() + 4);
  wrong.writeCheckpoint();
  expectOnFake([&] {
    tprt_session *session = nullptr;
    if (tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session))
      return false;
    bool right =
        tprt_load_weights(session, "/nowhere") == 1 &&
        tprt_load_weights(session, (wrong.directory / "").c_str()) == 1;
    right &= tprt_load_weights(session, (f.directory / "").c_str()) == 0;
    std::vector<float> y(size_t(kRows * kOut));
    tprt_tensor in{}, out{};
    in.size = out.size = sizeof(in);
    right &= tprt_describe_input(session, 0, 0, &in, nullptr) == 0 &&
             tprt_describe_output(session, 0, 0, &out) == 0;
    in.data = f.x.data();
    out.data = y.data();
    right &= tprt_run(session, 0, &in, 1, &out, 1) == 0;
    for (size_t i = 0; i < y.size(); ++i)
      right &= std::abs(y[i] - f.y[i] / 2) < 1e-4;
    tprt_close(session);
    return right;
  });
}

TEST(CudaRun, ProductsInEachType) {
  for (const char *type : {"f32", "bf16", "f16"}) {
    DeviceFixture f(2, deviceManifest(2, type));
    auto result =
        f.runWith(kFake, "--entry products --input " +
                             (f.directory / "both.safetensors") + f.output());
    ASSERT_EQ(result.code, 0) << type << result.err;
    tprt_type element = *parseType(type);
    // The values as the device gets them.
    std::vector<float> x = rounded(element, f.x), w = rounded(element, f.w);
    std::vector<float> b2 = rounded(element, f.b2);
    std::vector<float> w2 = rounded(element, f.w2);
    auto dot = [&](int64_t r, int64_t n, bool kn) {
      double sum = 0;
      for (int64_t k = 0; k < kIn; ++k)
        sum += double(x[r * kIn + k]) *
               (kn ? w[k * kOut + n] : w2[n * kHidden + 3 + k]);
      return sum;
    };
    std::vector<float> y[6];
    for (int i = 0; i < 6; ++i)
      y[i] = f.read("y" + std::to_string(i));
    auto expect = [&](int i, int64_t at, double wanted, const char *what) {
      EXPECT_NEAR(y[i][at], wanted,
                  4 * epsilon(element) * (1 + std::fabs(wanted)) +
                      (element == TPRT_F32 ? 1e-5 : 0))
          << type << " " << what << " at " << at;
    };
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t n = 0; n < kOut; ++n) {
        int64_t at = r * kOut + n;
        expect(0, at, dot(r, n, true), "weights [k, n]");
        double z = dot(r, n, false) + b2[n];
        double gelu =
            z / 2 *
            (1 + std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)));
        expect(1, at, gelu, "bias and gelu");
        double scaled = kScale * dot(r, n, false);
        expect(2, at, scaled + y[0][at], "scale and residual");
        double relu = std::max(z, 0.0);
        expect(3, at, scaled + rounded(element, {float(relu)})[0],
               "residual in place");
        expect(5, at, std::max(-scaled, 0.0), "scale and relu");
      }
    for (int64_t i = 0; i < kIn; ++i)
      for (int64_t n = 0; n < kOut; ++n) {
        double sum = 0;
        for (int64_t r = 0; r < kRows; ++r)
          sum += double(x[r * kIn + i]) * y[0][r * kOut + n];
        expect(4, i * kOut + n, sum, "x [k, m]");
      }
  }
}

TEST(CudaRun, StatsAndTimeline) {
  DeviceFixture f(2);
  auto result = f.runFake("--repeat 3 --stats json --timeline " +
                          (f.directory / "trace.json") + f.output());
  ASSERT_EQ(result.code, 0) << result.err;
  f.expectHalf();
  json stats = json::parse(result.out);
  ASSERT_EQ(stats["ranks"].size(), 2u);
  auto aligned = [](int64_t elements) { return alignUp(4 * elements, 256); };
  int64_t half = kHidden / 2;
  int64_t parameters = aligned(half * kIn) + aligned(half) +
                       aligned(kOut * half) + aligned(kOut) + aligned(1) +
                       aligned(kOut * kIn) + aligned(kOut);
  for (const json &rank : stats["ranks"]) {
    // The tied tensor is held once.
    EXPECT_EQ(rank["parameter_bytes"], parameters);
    EXPECT_EQ(rank["arena"]["stated"], kRows * half * 4);
    EXPECT_EQ(rank["comm"]["used"], 768);
    const json &device = rank["device"];
    EXPECT_GE(int64_t(device["allocated_bytes"]),
              parameters + kRows * half * 4 + 768 + (int64_t(32) << 20));
    EXPECT_TRUE(device.contains("context_bytes"));
    EXPECT_TRUE(device.contains("communicator_bytes"));
  }
  const json &steps = stats["steps"]["entries"]["mlp"];
  EXPECT_EQ(steps["device_seconds"].size(), 3u);
  EXPECT_TRUE(stats["load"].contains("gigabytes_per_second"));

  json trace = json::parse(readFile(f.directory / "trace.json"));
  std::map<std::string, int> categories;
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == "X") {
      ++categories[event["cat"]];
      EXPECT_GE(double(event["dur"]), 0);
      // Collectives have rows of their own: they overlap with the rest.
      bool apart = int64_t(event["tid"]) >= 2;
      EXPECT_EQ(apart, event["cat"] == "collective");
    }
  EXPECT_EQ(categories["gemm"], 2 * 2 * 3);
  EXPECT_EQ(categories["collective"], 2 * 4 * 3);
  EXPECT_EQ(categories["step"], 2 * 3);
}

TEST(CudaRun, RandomWeightsAreTheHosts) {
  // The same program for the host gives what random weights should.
  DeviceFixture f(2);
  std::string command = "env " + kFake + TPRT_RUN + " " +
                        (f.directory / "p.tpa") +
                        " --weights random:7 --input " +
                        (f.directory / "in.safetensors") + f.output();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::vector<float> device = f.read("y");
  Fixture host(2);
  auto result = host.run("--weights random:7" + host.input() + " --output " +
                         (host.directory / "y.safetensors"));
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<float> wanted = readOutput(host.directory / "y.safetensors");
  // If there is one dimension, `factor` is one.
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(device[i], wanted[i], 1e-5) << "at " << i;
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

namespace {
/// The message without the directory and "tp-run: error: ".
std::string messageOf(const DeviceFixture &f, const Fixture::Result &result) {
  std::string text = result.err;
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace(f.directory.path.string(), "DIR");
  replace(TP_FAKE_CUDA, "FAKE");
  replace(TPRT_TEST_IMPORTS, "OTHER");
  replace("tp-run: error: ", "");
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}
} // namespace

TEST(CudaRun, BackendsAndDevices) {
  DeviceFixture f(1), two(2);
  auto refused = [&](const std::string &environment,
                     const std::string &arguments) {
    auto result = f.runFake(arguments, environment);
    EXPECT_EQ(result.code, 1) << result.err;
    return messageOf(f, result);
  };
  EXPECT_EQ(refused("", "--backend processes"),
            "artifact 'DIR/p.tpa': the program is made for CUDA devices, "
            "backend 'processes' is for the CPU; run it with --backend threads "
            "or nccl, or compile it with --target cpu");
  EXPECT_EQ(messageOf(two, two.runFake("--backend threads", "")),
            "artifact 'DIR/p.tpa': the program is made for CUDA devices, "
            "backend 'threads' is for the CPU; run it with --backend nccl, or "
            "compile it with --target cpu");
  EXPECT_EQ(refused("TP_FAKE_CUDA_DEVICES=0", ""),
            "artifact 'DIR/p.tpa': cannot use CUDA: "
            "CUDA_ERROR_NO_DEVICE "
            "(no CUDA-capable device is detected)");
  EXPECT_EQ(refused("TPRT_CUDA_LIBRARY=/nowhere/libcuda.so", ""),
            "artifact 'DIR/p.tpa': cannot open the CUDA driver: "
            "/nowhere/libcuda.so: cannot open shared object file: No such file "
            "or directory (TPRT_CUDA_LIBRARY names this file)");
  EXPECT_EQ(refused(std::string("TPRT_CUDA_LIBRARY=") + TPRT_TEST_EXPORTS, ""),
            std::string("artifact 'DIR/p.tpa': the CUDA driver (") +
                TPRT_TEST_EXPORTS +
                ") has no function 'cuInit': it is too old for this build; "
                "update it, or name another file in TPRT_CUDA_LIBRARY");
  EXPECT_EQ(
      refused(std::string("TPRT_CUBLASLT_LIBRARY=") + TPRT_TEST_EXPORTS, ""),
      std::string("artifact 'DIR/p.tpa': cuBLASLt (") + TPRT_TEST_EXPORTS +
          ") has no function 'cublasLtCreate': it is too old for this build; "
          "update it, or name another file in TPRT_CUBLASLT_LIBRARY");
  EXPECT_EQ(refused("TP_FAKE_CUDA_ARCH=7.5", ""),
            "rank 0: device 0 (host memory in the place of a device, compute "
            "capability 7.5): expected a device of compute capability 8.0 or "
            "later, got 7.5; the artifact has kernels as ptx, sm_90");
  std::string small = refused("TP_FAKE_CUDA_MEMORY=20000000", "");
  EXPECT_TRUE(small.starts_with("rank 0: device 0 (host memory in the place of "
                                "a device, compute capability 9.9): the "
                                "program needs 47."))
      << small;
  EXPECT_TRUE(inOrder(small, {": the program needs ", " on the device, ",
                              " of 19.1 MiB",
                              " are free; use more ranks, or a smaller batch "
                              "or sequence"}))
      << small;

  Fixture host(1);
  auto result = host.run(host.weights() + host.input() + " --backend nccl");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err,
            "tp-run: error: artifact '" + (host.directory / "p.tpa") +
                "': the program is made for the CPU, backend 'nccl' is for "
                "CUDA devices; run it with --backend threads, processes or "
                "mpi, or compile it with --target cuda\n");
}

TEST(CudaRun, KernelsThatAreMissing) {
  DeviceFixture f(1);
  auto refused = [&](const std::vector<Section> &kernels) {
    std::vector<Section> sections{{"manifest", deviceManifest(1).dump()},
                                  {"code", readFile(programFor(1))},
                                  {"constants", "constants"}};
    sections.insert(sections.end(), kernels.begin(), kernels.end());
    f.writeOrFail("p.tpa", writeArtifact(sections));
    auto result = f.runFake("");
    EXPECT_EQ(result.code, 1) << result.err;
    return messageOf(f, result);
  };
  EXPECT_EQ(refused({}),
            "artifact 'DIR/p.tpa': section 'kernels.ptx' is missing");
  EXPECT_EQ(refused({{"kernels.ptx", "//"}, {"kernels.sm_90", "code"}}),
            "artifact 'DIR/p.tpa': section 'kernels.ptx': expected a "
            "null-terminated text");
}

TEST(CudaRun, CallsThatNoDeviceHas) {
  DeviceFixture f(1);
  auto result = f.runFake("--entry missing");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(messageOf(f, result), "rank 0: gemm 99 is not in the manifest");
  result = f.runFake("--entry loop");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(messageOf(f, result),
            "rank 0: cannot capture entry 'loop' as a graph: 'parallel_for' of "
            "the host in an artifact that is made for a device");
  // The device finds it later; it is said all the same, on one rank or two.
  for (int64_t ranks : {1, 2}) {
    DeviceFixture g(ranks);
    result = g.runFake("--entry stray");
    EXPECT_EQ(result.code, 5) << result.err;
    EXPECT_NE(result.err.find("while timing gemm 0 (5 rows, n "),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
        << result.err;
  }
}

TEST(CudaRun, ErrorsInsideAStep) {
  DeviceFixture f(1);
  auto expect = [&](const char *environment, const std::string &wanted) {
    auto result = f.runFake("--entry adrift", environment);
    EXPECT_EQ(result.code, 5) << result.err;
    EXPECT_NE(result.err.find("tp-run: error: rank 0: entry 'adrift': "),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find(": CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
                              "access was encountered); " +
                              wanted + "\n"),
              std::string::npos)
        << result.err;
  };
  expect("TPRT_CUDA_GRAPHS=1", "the step ran as a graph: with "
                               "TPRT_CUDA_GRAPHS=0 it runs call by call");
  expect("TPRT_CUDA_GRAPHS=0",
         "the last call that was started is gemm 0 (layer 0), and an earlier "
         "one may be "
         "at fault: with CUDA_LAUNCH_BLOCKING=1 each call waits for the one "
         "before");
}

TEST(CudaRun, ProductsThatCublasLtLacks) {
  auto refusal = [](const char *key, json value) {
    json m = deviceManifest(1);
    m["gemms"][3][key] = value;
    if (std::string(key) == "x_type")
      m["gemms"][3]["w_type"] = m["gemms"][3]["y_type"] =
          m["gemms"][3]["bias_type"] = "bf16";
    DeviceFixture f(1, m);
    auto result = f.runWith(kFake, "--entry products --input " +
                                       (f.directory / "both.safetensors"));
    EXPECT_EQ(result.code, 1) << result.err;
    return messageOf(f, result);
  };
  EXPECT_EQ(refusal("activation", "silu"),
            "rank 0: gemm 3: cuBLASLt has the activations relu and gelu_tanh, "
            "got silu");
  EXPECT_EQ(refusal("activation", "gelu_erf"),
            "rank 0: gemm 3: cuBLASLt has the activations relu and gelu_tanh, "
            "got gelu_erf");
  EXPECT_EQ(refusal("residual", true),
            "rank 0: gemm 3: cuBLASLt adds a residual before the activation, "
            "expected activation none, got gelu_tanh");
  EXPECT_EQ(refusal("bias_type", "bf16"),
            "rank 0: gemm 3: expected a bias of the result's type f32, got "
            "bf16");
  EXPECT_EQ(refusal("y_type", "bf16"),
            "rank 0: gemm 3: expected a result of type f32, got bf16");
  EXPECT_EQ(refusal("x_type", "f32"),
            "rank 0: gemm 3: expected operands of one type, got f32 and bf16");
}
