//===- RunTest.cpp - a whole program on several ranks ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs program.c by tp-run at several degrees, one of
// which does not divide the hidden size, and holds it against loops; then all
// the ways in which a run can go wrong, with the message that the user reads.
//
//===----------------------------------------------------------------------===//

#include "RunFixture.h"

#include "../launcher/Launcher.h"
#include "../session/Session.h"
#include "tprt/artifact.h"

#include <chrono>
#include <cmath>

using namespace tprt;
using namespace tprt::test;

TEST(Run, SameResultAtEveryDegree) {
  for (int64_t ranks : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE(ranks);
    Fixture f(ranks);
    auto result = f.run(f.weights() + f.input() + " --repeat 3 --stats=json" +
                        " --output " + (f.directory / "y.safetensors") +
                        " --timeline " + (f.directory / "t.json"));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    f.expectY(readOutput(f.directory / "y.safetensors"));

    json stats = json::parse(result.out);
    EXPECT_EQ(stats["ranks"].size(), size_t(ranks));
    EXPECT_EQ(stats["steps"]["entries"]["mlp"]["seconds"].size(), 3u);
    EXPECT_GT(stats["load"]["bytes"].get<int64_t>(), 0);
    EXPECT_EQ(stats["ranks"][0]["stated_peak_bytes"], 100000);
    EXPECT_GT(stats["ranks"][0]["arena"]["used"].get<int64_t>(), 0);

    json trace = json::parse(readFile(f.directory / "t.json"));
    std::map<std::string, int> counts;
    // The collective has a row of its own then, and the wait for it an event.
    bool isStarted = ranks % 2 == 0;
    for (const json &event : trace["traceEvents"]) {
      ++counts[event["name"].get<std::string>()];
      if (event["name"] == "all_reduce") {
        EXPECT_EQ(event["args"]["ledger"], 0);
        EXPECT_EQ(event["args"]["location"], "m.w2");
        EXPECT_EQ(event["tid"].get<int64_t>() >= ranks, isStarted);
      }
    }
    int64_t local = (kHidden + ranks - 1) / ranks;
    std::map<std::string, int> expected = {
        {"process_name", 1},
        {"thread_name", isStarted ? 2 * ranks : ranks},
        {detail::join("gemm w1 ", local, "x", kIn), 6 * ranks},
        {detail::join("gemm 1 ", kOut, "x", local), 3 * ranks},
        {"all_reduce", 3 * ranks},
        {"scale", 3 * ranks},
        {"step", 3 * ranks}};
    if (isStarted)
      expected["wait for all_reduce"] = 3 * ranks;
    EXPECT_EQ(counts, expected);
  }
}

TEST(Run, BytesReadAreTheShards) {
  // Sharded weights are read once over all ranks, replicated ones by each.
  Fixture f(2);
  SessionOptions options;
  auto session = Session::open(f.directory / "p.tpa", options);
  ASSERT_TRUE(bool(session)) << session.status().message();
  ASSERT_OK((*session)->loadWeights(f.directory / ""));
  json stats = json::parse(*(*session)->stats());
  int64_t expected = 4 * (kIn * kHidden + kHidden + kHidden * kOut + kOut + 2);
  EXPECT_EQ(stats["load"]["bytes"], expected);
}

TEST(Run, RandomWeightsDoNotDependOnTheDegree) {
  std::vector<float> first;
  for (int64_t ranks : {1, 3, 4}) {
    Fixture f(ranks);
    auto result = f.run("--weights random:7" + f.input() + " --output " +
                        (f.directory / "y.safetensors"));
    ASSERT_EQ(result.code, 0) << result.err;
    std::vector<float> y = readOutput(f.directory / "y.safetensors");
    ASSERT_EQ(y.size(), size_t(kRows * kOut));
    if (first.empty())
      first = y;
    EXPECT_NE(y[0], 0);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], first[i], 1e-5);
  }
}

TEST(Run, InputsThatAreMadeUp) {
  // By name or all of them, the same values; results are told where no file
  // gets them, and what ran.
  Fixture f(2);
  auto named = f.run("--weights random:3 --input x=random:5");
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_TRUE(named.out.starts_with(
      detail::join("y: f32 [", kRows, ", ", kOut, "], min ")))
      << named.out;
  EXPECT_TRUE(inOrder(
      named.err, {"tp-run: ran mlp once on 2 ranks: weights in ", ", step "}))
      << named.err;
  EXPECT_EQ(f.run("--weights random:3 --input random:5").out, named.out);
  EXPECT_NE(f.run("--weights random:3 --input random:6").out, named.out);
  // Values that a file gives are not made up.
  auto given = f.run("--weights random:3" + f.input());
  EXPECT_EQ(f.run("--weights random:3 --input random:6" + f.input()).out,
            given.out);
  auto often = f.run("--weights random:3 --input random:5 --repeat 4");
  EXPECT_TRUE(often.err.starts_with("tp-run: ran mlp 4 times on 2 ranks: "))
      << often.err;
  EXPECT_TRUE(often.err.ends_with(" (median)\n")) << often.err;
  auto refuse = [&](const std::string &inputs, int code,
                    const std::string &text) {
    auto result = f.run("--weights random:3 " + inputs);
    EXPECT_EQ(result.code, code) << inputs;
    EXPECT_EQ(result.err, "tp-run: error: " + text + "\n");
  };
  refuse("--input x=random:", 2,
         "input 'x=random:': expected a natural number as the seed");
  refuse("--input z=random:1", 1, "unknown input 'z'; the program takes 'x'");
  refuse("--input random:1 --input random:2", 2,
         "input 'random:2': random:1 is there for all other inputs already");
}

TEST(Run, NpyInAndOut) {
  Fixture f(2);
  ASSERT_OK(
      writeTensors(f.directory / "x.npy",
                   {{"x", TPRT_F32, {kRows, kIn}, toBytes(TPRT_F32, f.x)}}));
  auto result = f.run(f.weights() + " --input x=" + (f.directory / "x.npy") +
                      " --output " + (f.directory / "y.npy"));
  ASSERT_EQ(result.code, 0) << result.err;
  auto file = TensorFile::open(f.directory / "y.npy");
  ASSERT_TRUE(bool(file)) << file.status().message();
  EXPECT_EQ(file->tensors().at("").shape, (Shape{kRows, kOut}));
  f.expectY(toFloats(TPRT_F32, std::string(file->tensors().at("").bytes)));
}

TEST(Run, ErrorOfOneRankEndsAll) {
  Fixture f(4);
  auto result = f.run(f.weights() + " --entry fail");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err,
            "tp-run: error: rank 1: gemm 99 is not in the manifest\n");
  // In the middle of a collective.
  result = f.run(f.weights() + " --entry fail-beside");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err,
            "tp-run: error: rank 1: gemm 99 is not in the manifest\n");
}

TEST(Run, StalledRankIsNamed) {
  Fixture f(2);
  auto start = std::chrono::steady_clock::now();
  auto result = f.run(f.weights() + " --entry stall --timeout 0.5");
  auto seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err,
            "tp-run: error: rank 0 waited in collective 0 (all_reduce, layer "
            "7, m.w2): rank 1 did not arrive within 0.5 s, last seen after "
            "the beginning or end of a step\n");
  EXPECT_LT(seconds, std::chrono::seconds(10));
}

TEST(Run, RanksInDifferentCallsAreNamed) {
  Fixture f(2);
  auto result = f.run(f.weights() + " --entry mismatch");
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(
      inOrder(result.err, {"ranks disagree: rank ", " is in collective 0 (",
                           ", rank ", " in collective 0 ("}))
      << result.err;
  EXPECT_NE(result.err.find("layer 2, m.w2)"), std::string::npos);
}

TEST(Run, ReplicatedResultsAreCompared) {
  Fixture f(2);
  auto result = f.run(f.weights() + " --entry differ");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err,
            "tp-run: error: output 'y': rank 1 differs from rank 0 near "
            "element 0, though both hold the same part\n");
}

TEST(Run, CommandLine) {
  Fixture f(1);
  auto expect = [&](const std::string &arguments, int code,
                    const std::string &text) {
    auto result = f.run(arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_NE(result.err.find(text), std::string::npos) << arguments << "\n"
                                                        << result.err;
  };
  expect("", 2,
         "tp-run: error: --weights is required (random:1 makes values up); "
         "tp-run --help lists the options\n");
  expect(f.weights() + " --nonsense", 2, "--nonsense");
  expect(f.weights() + " --repeat 0", 2,
         "tp-run: error: --repeat: expected a number above 0, got '0'");
  for (const char *value : {"nan", "inf", "-1", "1e999", "x"})
    expect(f.weights() + " --timeout " + value, 2,
           std::string("--timeout: expected a number above 0, got '") + value);
  for (const char *value : {"99999999999999999999", "1.5"})
    expect(f.weights() + " --repeat " + value, 2,
           detail::join("--repeat: expected a whole number, at most "
                        "9223372036854775807, got '",
                        value, "'"));
  expect(f.weights() + " --output ''", 2, "--output: expected a value, got ''");
  expect(f.weights() + " --input =random:1", 2,
         "input '=random:1': expected a name before '='");
  expect(f.weights() + f.input() + " --output y.npy --output mlp=y.npy", 2,
         "output 'y.npy' is given twice; give each output a file of its own");
  for (const char *name : {"in.safetensors", "model.safetensors"}) {
    std::string read = f.directory / name;
    expect(f.weights() + f.input() + " --output " + read, 1,
           "output '" + read + "' is '" + read +
               "', which the run reads; give it another name");
  }
  expect(f.weights() + " --timeout x", 2,
         "--timeout: expected a number above 0, got 'x'");
  // A name with '=' in it is one of a file if it begins like a path.
  expect(
      f.weights() + f.input() + " --output rows=2.npy", 1,
      "output 'rows=2.npy': no entry 'rows'; the artifact has 'mlp', 'fail', "
      "'stall', 'mismatch', 'differ', 'fail-beside'; a file of that name is "
      "'./rows=2.npy'");
  expect(f.weights() + f.input() + " --output " + (f.directory / "rows=2.npy"),
         0, "");
  EXPECT_TRUE(std::filesystem::exists(f.directory.path / "rows=2.npy"));
  expect(f.weights() + " --stats=xml", 2, "--stats");
#ifndef TPRT_HAS_CUDA
  expect(f.weights() + f.input() + " --backend nccl", 1,
         "backend 'nccl' is not in this build, which was made without CUDA's "
         "headers (cuda.h, cublasLt.h, nccl.h): install the CUDA toolkit and "
         "libnccl-dev and configure with -DTPRT_CUDA=ON; this build has: "
         "threads, processes, mpi");
#else
  expect(f.weights() + f.input() + " --backend nccl", 1,
         "the program is made for the CPU, backend 'nccl' is for CUDA devices; "
         "run it with --backend threads, processes or mpi, or compile it with "
         "--target cuda");
#endif
  expect(f.weights() + f.input() + " --backend gloo", 2,
         "unknown backend 'gloo'; this build has: threads, processes, mpi");
  expect(f.weights() + " --entry none", 1,
         "no entry 'none'; the artifact has 'mlp', 'fail'");
  expect(
      f.weights(), 1,
      "missing input 'x' (f32 [5, 12]) of entry 'mlp'; --input NAME=FILE.npy "
      "gives it, and random:1 makes it up\n");
  expect(f.weights() + f.input() + " --output y.txt", 2,
         "output 'y.txt': expected a name ending in .safetensors or .npy");
  expect(f.weights() + f.input() + " --timeline t.html", 2,
         "--timeline 't.html': expected a name ending in .json, for a Chrome "
         "trace");
  expect(f.weights() + " --input x=x.txt", 2,
         "input 'x=x.txt': expected a file ending in .npy or .safetensors, or "
         "random:SEED");
  expect(f.weights() + " --input " + (f.directory / "x.npy"), 2,
         "x.npy': a .npy file needs a name: NAME=");
  expect(f.weights() + " --input z=" + (f.directory / "in.safetensors"), 1,
         "in.safetensors' has no tensor 'z'");
  // A name twice, in one file and in two.
  for (std::string again : {"x=" + (f.directory / "in.safetensors"),
                            f.directory / "in.safetensors"})
    expect(f.weights() + f.input() + " --input " + again, 1,
           "input 'x' is given twice, by '");
  expect("--weights random:x" + f.input(), 2,
         "weights 'random:x': expected a natural number as the seed");
  expect("--weights /nowhere" + f.input(), 1, "no such directory");
  std::filesystem::create_directory(f.directory / "adapter");
  ASSERT_TRUE(
      writeFile(f.directory / "adapter/adapter_config.json", "{}").ok());
  expect("--weights " + (f.directory / "adapter") + f.input(), 1,
         "adapter': adapter_config.json says that an adapter is to be added to "
         "another model: expected a whole model; merge it with ");
  expect(f.weights() + f.input() + " --only-rank 1", 1,
         "is made for 1 ranks, which has no rank 1");
  expect(f.weights() + f.input() + " --only-rank 0 --output y.npy", 2,
         "--output is refused with --only-rank: without collectives the "
         "results mean nothing");
  expect("--help", 0, "");
}

TEST(Run, OneRankAlone) {
  Fixture f(3);
  for (const char *backend : {"threads", "processes"}) {
    auto result = f.run(f.weights() + f.input() + " --only-rank 2 --repeat 3 " +
                        "--stats json --backend " + backend);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "tp-run: only rank 2 of 3 ran, without collectives: "
                          "results mean nothing\n");
    json stats = json::parse(result.out);
    EXPECT_EQ(stats["ranks"].size(), 1u);
    EXPECT_EQ(stats["ranks"][0]["rank"], 2);
    EXPECT_EQ(stats["steps"]["count"], 3);
  }
}

TEST(Run, OneRankAloneHasNoResults) {
  Fixture f(3);
  SessionOptions options;
  options.onlyRank = 1;
  auto session = Session::open(f.directory / "p.tpa", options);
  ASSERT_TRUE(bool(session)) << session.status().message();
  EXPECT_MESSAGE((*session)->outputs(0).status(),
                 "there are no results: only rank 1 ran, without collectives");
}

TEST(Run, StatisticsThatCannotBeWritten) {
  Fixture f(1);
  std::string command = std::string(TPRT_RUN) + " " + (f.directory / "p.tpa") +
                        " " + f.weights() + f.input() +
                        " --stats json >/dev/full 2>" + (f.directory / "err");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_EQ(readFile(f.directory / "err"),
            "tp-run: error: cannot write to standard output: No space left on "
            "device\n");
}

TEST(Run, MemoryThatIsNotThere) {
  EXPECT_MESSAGE(Buffer::allocate(int64_t(1) << 60).status(),
                 "cannot allocate 1048576.0 TiB: Cannot allocate memory");
}

TEST(Run, SectionsThatAreRefused) {
  TemporaryDirectory directory;
  std::string path = directory / "p.tpa";
  auto refusal = [&](const std::vector<Section> &sections) {
    EXPECT_TRUE(writeFile(path, writeArtifact(sections)).ok());
    std::string message = Session::open(path, {}).status().message();
    size_t at = message.find(path);
    return at == std::string::npos ? message
                                   : message.replace(at, path.size(), "P");
  };
  std::string manifest = mlpManifest(1).dump();
  EXPECT_EQ(refusal({{"manifest", manifest}, {"code", ""}}),
            "artifact 'P': section 'constants' is missing");
  EXPECT_EQ(refusal({{"manifest", manifest}, {"more", ""}}),
            "artifact 'P': unknown section 'more'");
  EXPECT_EQ(refusal({{"manifest", manifest},
                     {"code", ""},
                     {"constants", ""},
                     {"kernels.sm_90", ""}}),
            "artifact 'P': unknown section 'kernels.sm_90'");
}

TEST(Run, ArtifactsThatAreRefused) {
  auto refusal = [](json manifest, const std::string &code) {
    TemporaryDirectory directory;
    std::string path = directory / "p.tpa";
    EXPECT_TRUE(writeFile(path, writeArtifact({{"manifest", manifest.dump()},
                                               {"code", code},
                                               {"constants", ""}}))
                    .ok());
    std::string message = Session::open(path, {}).status().message();
    std::string prefix = "artifact '" + path + "': ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.substr(std::min(prefix.size(), message.size()));
  };
  std::string code = readFile(TPRT_TEST_PROGRAM);
  json m = mlpManifest(1);
  m["target"]["features"] = {"avx2", "avx99"};
  EXPECT_EQ(refusal(m, code), "the artifact needs CPU feature 'avx99', which "
                              "this runtime does not know");
  EXPECT_EQ(refusal(mlpManifest(1), "text"), "code: expected an ELF file");
  EXPECT_EQ(refusal(mlpManifest(1), code.substr(0, 300)),
            "code: the section headers are malformed");
  EXPECT_EQ(refusal(emptyManifest(), code),
            "code: the manifest has 1 entries, the code has 6");
  EXPECT_EQ(refusal(mlpManifest(1), readFile(TPRT_TEST_IMPORTS)),
            "code: expected no imported symbol, got 'puts'");
  EXPECT_EQ(refusal(mlpManifest(1), readFile(TPRT_TEST_EXPORTS)),
            "code: expected 'tprt_query' as the only exported symbol, got "
            "'another'");
  EXPECT_EQ(refusal(mlpManifest(1), readFile(TPRT_TEST_CONSTRUCTOR)),
            "code: expected no code that runs when loaded");
}
