//===- GenerateTest.cpp - tp-run --generate -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program generate.c, as an artifact for any degree: the same tokens on
// threads and processes, what is refused, and an interrupt.
//
//===----------------------------------------------------------------------===//

#include "GenerateFixture.h"

#include <chrono>
#include <csignal>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <thread>

using namespace tprt;
using namespace tprt::test;

/// Each prompt as if it were alone, on any number of ranks of either kind.
TEST(Generate, TheSameTokensOnAnyRanks) {
  for (int64_t ranks : {1, 2, 3})
    for (const char *backend : {"threads", "processes"}) {
      SCOPED_TRACE(detail::join(ranks, " ", backend));
      GenerateFixture f(ranks);
      auto result = f.run(f.output() +
                          " --max-tokens 20 --temperature 0.9 --top-k 30 "
                          "--min-p 0.01 --top-p 0.95 --seed 11 --stop-ids 3,4 "
                          "--stats=json --backend " +
                          backend);
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err, "");
      Request request;
      request.maxTokens = 20;
      request.sampling.temperature = 0.9f;
      request.sampling.topK = 30;
      request.sampling.minP = 0.01f;
      request.sampling.topP = 0.95f;
      request.sampling.seed = 11;
      request.stopIds = {3, 4};
      json answers = f.answers();
      ASSERT_EQ(answers.size(), f.prompts.size());
      int64_t tokens = 0, stops = 0;
      for (size_t i = 0; i < answers.size(); ++i) {
        request.prompt = f.prompts[i];
        auto alone = generateAlone(kProgram, request);
        EXPECT_EQ(answers[i]["ids"], json(alone)) << i;
        bool isStop =
            alone.back() == 3 || alone.back() == 4 || alone.back() == 7;
        EXPECT_EQ(answers[i]["finish"], isStop ? "stop" : "length");
        EXPECT_EQ(answers[i].size(), 2u);
        tokens += int64_t(alone.size());
        stops += isStop;
      }
      EXPECT_GT(stops, 0);
      json stats = json::parse(result.out)["generation"];
      EXPECT_EQ(stats["requests"]["finished"], f.prompts.size());
      EXPECT_EQ(stats["tokens"]["generated"], tokens);
      EXPECT_GT(stats["tokens"]["prefix_hits"], 0);
      EXPECT_GT(stats["tokens_per_second"], 0);
      const json &decode = stats["decode"];
      EXPECT_GT(decode["steps"], 0);
      EXPECT_LT(decode["steps"], stats["steps"]["count"]);
      EXPECT_GT(decode["tokens"], 0);
      EXPECT_LT(decode["tokens"], stats["tokens"]["generated"]);
      EXPECT_LT(decode["seconds"], stats["steps"]["seconds"]);
      EXPECT_DOUBLE_EQ(decode["tokens_per_second"],
                       double(decode["tokens"]) / double(decode["seconds"]));
      EXPECT_GT(stats["seconds_to_first_token"]["p99"], 0);
      EXPECT_GE(stats["seconds_between_tokens"]["p99"],
                stats["seconds_between_tokens"]["p50"]);
      EXPECT_EQ(stats["cache"]["used"], 0);
      EXPECT_EQ(stats["cache"]["pages"], kCells / kPage);
    }
}

TEST(Generate, GreedyAndLogProbabilities) {
  GenerateFixture f(2);
  auto result = f.run(f.output() + " --logprobs 2");
  ASSERT_EQ(result.code, 0) << result.err;
  json answer = f.answers()[1];
  Request request;
  request.prompt = f.prompts[1];
  auto alone = generateAlone(kProgram, request);
  EXPECT_EQ(answer["ids"], json(alone));
  ASSERT_EQ(answer["logprobs"].size(), alone.size());
  std::vector<int32_t> tokens = f.prompts[1];
  for (size_t i = 0; i < alone.size(); ++i) {
    auto logits = logitsAfter(kProgram, tokens);
    double sum = 0;
    for (float x : logits)
      sum += std::exp(x);
    const json &one = answer["logprobs"][i];
    ASSERT_EQ(one["top"].size(), 2u);
    EXPECT_EQ(one["top"][0][0], alone[i]);
    EXPECT_NEAR(one["logprob"].get<double>(),
                logits[size_t(alone[i])] - std::log(sum), 1e-5);
    tokens.push_back(alone[i]);
  }
}

/// The manifest's defaults hold on any rank, until an option says otherwise.
TEST(Generate, DefaultsOfTheCheckpoint) {
  json config = {{"file", "generation_config.json"},
                 {"defaults",
                  {{"repetition_penalty", 1.5},
                   {"temperature", 0.8},
                   {"suppress_tokens", {1, 2}},
                   {"no_repeat_ngram_size", 2},
                   {"max_new_tokens", 9}}},
                 {"ignored", {"low_memory: it is"}}};
  Request request;
  Sampling &s = request.sampling;
  auto expect = [&](const GenerateFixture &f, const std::string &options,
                    const std::string &log) {
    auto result = f.run(f.output() + " --stats=json --seed 3 " + options);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, log);
    json answers = f.answers();
    for (size_t i = 0; i < answers.size(); ++i) {
      request.prompt = f.prompts[i];
      EXPECT_EQ(answers[i]["ids"], json(generateAlone(kProgram, request))) << i;
    }
  };
  std::string log =
      "tp-run: generation_config.json: defaults of requests: max_new_tokens 9, "
      "no_repeat_ngram_size 2, repetition_penalty 1.5, suppress_tokens [1,2], "
      "temperature 0.8; --generation-config none leaves them out\n"
      "tp-run: generation_config.json: ignored: low_memory: it is\n";
  for (const char *backend : {"threads", "processes"}) {
    GenerateFixture f(2, 0, {{"generation", {{"config", config}}}});
    std::string on = std::string("--backend ") + backend;
    s = {};
    s.repetition = 1.5f;
    s.noRepeat = 2;
    s.suppressed = {1, 2};
    s.seed = 3;
    s.temperature = 0.8f;
    request.maxTokens = 9;
    expect(f, on, log);
    s.temperature = 0;
    s.repetition = 1;
    request.maxTokens = 4;
    expect(f, on + " --temperature 0 --repetition-penalty 1 --max-tokens 4",
           log);
    s = {};
    request.maxTokens = 16;
    expect(f, on + " --generation-config none", "");
  }
  // Tokens run out: an error of the request, and none of ours.
  config["defaults"] = {{"no_repeat_ngram_size", 1}, {"min_new_tokens", 60}};
  GenerateFixture f(1, 0, {{"generation", {{"config", config}}}});
  f.write("prompts.json", "[[1, 2]]");
  auto result = f.run(f.output() + " --max-tokens 60");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(inOrder(result.err,
                      {"prompt 0: no token can follow position ",
                       ": suppress_tokens, no_repeat_ngram_size and the like "
                       "exclude the whole vocabulary"}))
      << result.err;
}

TEST(Generate, AnswersGoToStandardOutput) {
  GenerateFixture f(2);
  ASSERT_EQ(f.run(f.output() + " --max-tokens 3").code, 0);
  for (const char *output : {"", " --output -"}) {
    auto result = f.run(std::string("--max-tokens 3") + output);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out), f.answers());
    EXPECT_TRUE(inOrder(result.err, {"tp-run: answered ",
                                     " prompts on 2 ranks: "
                                     "weights in ",
                                     ", answers in ", " tokens of prompts in ",
                                     ", then ", " tokens in ", " tokens/s)\n"}))
        << result.err;
  }
}

TEST(Generate, Refusals) {
  GenerateFixture f(2);
  std::string prompts = f.directory / "prompts.json";
  std::string error = "tp-run: error: ";
  std::string where = error + "prompts '" + prompts + "'";
  for (const char *outputs : {"--output a.npy", "--output a.json --output -"})
    f.refuse(outputs, 2,
             error + "--generate: expected one --output FILE.json for what is "
                     "generated, or none or - for standard output");
  f.refuse("--stats=json", 2,
           error +
               "--stats: expected --output FILE.json beside it, as standard "
               "output has the answers");
  f.refuse(f.output() + " --entry step_1", 2,
           "tp-run: error: --entry excludes --generate; tp-run --help lists "
           "the options");
  f.refuse(f.output() + " --top-p 2", 2,
           error + "top-p: expected a number in [0, 1], got 2");
  std::pair<const char *, const char *> faults[] = {
      {"{}", ": expected a list, got object"},
      {"[[1], 2]", "[1]: expected a list, got number"},
      {"[[1], []]", "[1]: expected at least one token"},
      {"[[1, \"a\"]]", "[0][1]: expected an integer, got \"a\""},
      {"[[1, 2.5]]", "[0][1]: expected an integer, got 2.5"},
      {"[[1], [4, 50]]", "[1][1]: expected an integer in [0, 49], got 50"},
      {"[[99999999999]]",
       "[0][0]: expected an integer in [0, 49], got 99999999999"}};
  for (auto [text, message] : faults) {
    f.write("prompts.json", text);
    f.refuse(f.output(), 1, where + message);
  }
  f.write("prompts.json", json::array({std::vector<int>(64, 1)}).dump());
  f.refuse(f.output(), 1,
           where + "[0]: expected at most 63 tokens, as the context of "
                   "64 must hold a new one too, got 64; a larger --context of "
                   "tp-compile holds more");
  f.write("prompts.json", "[[1,]");
  auto result = f.run(f.output());
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(inOrder(result.err, {where, ": invalid JSON: "})) << result.err;

  // Options of --generate alone, and a program that has no steps.
  Fixture plain(2);
  auto alone = plain.run(plain.weights() + " --max-tokens 3");
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(alone.err, "tp-run: error: --max-tokens requires --generate; "
                       "tp-run --help lists the options\n");
  alone =
      plain.run(plain.weights() + " --generate " + prompts + " " + f.output());
  EXPECT_EQ(alone.code, 1);
  EXPECT_EQ(alone.err,
            error + "the program cannot generate: it has no steps; tp-compile "
                    "DIR --generate makes one that can\n");
}

TEST(Generate, ManifestsThatContradictThemselves) {
  GenerateFixture chunk(1, 0, {{"generation", {{"chunk", 16}}}});
  chunk.refuse(chunk.output(), 1,
               "tp-run: error: expected an entry 'step_16' for chunks of that "
               "many tokens; the artifact has none");
  json config = {{"file", "f"},
                 {"defaults", {{"suppress_tokens", {50}}}},
                 {"ignored", json::array()}};
  GenerateFixture ids(1, 0, {{"generation", {{"config", config}}}});
  ids.refuse(ids.output(), 1,
             "tp-run: error: artifact '" + (ids.directory / "p.tpa") +
                 "': manifest.generation.config.defaults.suppress_tokens[0]: "
                 "expected an integer in [0, 49], got 50");
  GenerateFixture cells(1, 0, {{"generation", {{"cells", 126}}}});
  cells.refuse(cells.output(), 1,
               "tp-run: error: artifact '" + (cells.directory / "p.tpa") +
                   "': manifest.generation.cells: expected whole pages of 4, "
                   "got 126");
}

/// True if a process handles a signal.
static bool handles(pid_t process, int signal) {
  std::string status = readFile("/proc/" + std::to_string(process) + "/status");
  size_t at = status.find("SigCgt:");
  return at != std::string::npos &&
         std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1) & 1;
}

namespace {
/// tp-run while it generates. Each step takes a while, so that what is done to
/// it comes before the end.
struct Generating {
  GenerateFixture f{2, 20'000'000};
  pid_t process;

  explicit Generating(const char *backend) {
    f.write("prompts.json", "[[1], [2]]");
    process = fork();
    if (process == 0) {
      std::string command =
          "exec " + f.command(f.output() + " --max-tokens 60 --backend " +
                              backend + " 2>" + (f.directory / "err"));
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    int status;
    while (!hasBegun(backend) && waitpid(process, &status, WNOHANG) == 0)
      ;
  }
  /// The ranks' processes.
  std::vector<pid_t> ranks() const {
    std::string id = std::to_string(process);
    std::stringstream list(
        readFile("/proc/" + id + "/task/" + id + "/children"));
    std::vector<pid_t> found;
    for (pid_t rank; list >> rank;)
      found.push_back(rank);
    return found;
  }
  /// A rank handles interrupts once the weights are loaded. Before it has
  /// become one, it is the shell or as the launcher, which have handlers of
  /// their own.
  bool hasBegun(const char *backend) const {
    auto isReady = [](pid_t rank, std::string_view file, const char *tells) {
      std::string path = "/proc/" + std::to_string(rank) + "/";
      return readFile(path + std::string(file)).find(tells) !=
                 std::string::npos &&
             handles(rank, SIGUSR1);
    };
    if (backend == std::string("threads"))
      return isReady(process, "comm", "tp-run");
    auto all = ranks();
    return all.size() == 2 && std::all_of(all.begin(), all.end(), [&](pid_t r) {
             return isReady(r, "environ", "TPRT_RANK=");
           });
  }
  /// The exit code.
  int wait() const {
    int status;
    if (waitpid(process, &status, 0) != process)
      return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};
} // namespace

/// The text generated so far is written, whichever signal asks for the end, and
/// whether tp-run, all of its processes or one rank gets it.
TEST(Generate, AnInterruptEndsItCleanly) {
  enum To { Launcher, Group, Rank0, Rank1 };
  struct Case {
    const char *backend;
    int signal;
    To to;
  };
  for (Case c :
       {Case{"threads", SIGINT, Launcher}, Case{"threads", SIGTERM, Launcher},
        Case{"processes", SIGINT, Launcher}, Case{"processes", SIGTERM, Group},
        Case{"processes", SIGTERM, Rank0}, Case{"processes", SIGTERM, Rank1},
        Case{"processes", SIGUSR1, Launcher}}) {
    SCOPED_TRACE(detail::join(c.backend, " ", strsignal(c.signal), " ", c.to));
    Generating run(c.backend);
    if (c.to == Group)
      for (pid_t rank : run.ranks())
        kill(rank, c.signal);
    kill(c.to >= Rank0 ? run.ranks()[c.to - Rank0] : run.process, c.signal);
    ASSERT_EQ(run.wait(), 0);
    json answers = run.f.answers();
    ASSERT_EQ(answers.size(), 2u);
    for (const json &answer : answers) {
      EXPECT_EQ(answer["finish"], "interrupted");
      EXPECT_LT(answer["ids"].size(), 60u);
    }
  }
}

/// The one that generates, or the one that follows: it is named, and nothing is
/// written, not in part either.
TEST(Generate, AKilledRankEndsIt) {
  for (size_t rank : {0, 1}) {
    SCOPED_TRACE(rank);
    Generating run("processes");
    auto ranks = run.ranks();
    ASSERT_EQ(ranks.size(), 2u);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    auto start = std::chrono::steady_clock::now();
    kill(ranks[rank], SIGKILL);
    EXPECT_EQ(run.wait(), 3);
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(passed.count(), 5);
    std::string log = readFile(run.f.directory / "err");
    EXPECT_TRUE(inOrder(log, {detail::join("rank ", rank,
                                           " was killed by "
                                           "signal 9 (Killed)"),
                              "it was last seen"}))
        << log;
    std::set<std::string> files;
    for (const auto &file :
         std::filesystem::directory_iterator(run.f.directory.path))
      files.insert(file.path().filename());
    EXPECT_EQ(files, (std::set<std::string>{"err", "none.safetensors", "p.tpa",
                                            "prompts.json"}));
  }
}
