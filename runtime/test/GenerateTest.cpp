//===- GenerateTest.cpp - tp-run --generate -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program generate.c, as an artifact for any degree: the same tokens on
// threads and processes, what is refused, and an interrupt.
//
//===----------------------------------------------------------------------===//

#include "FakeModel.h"
#include "RunFixture.h"

#include "../generation/Generator.h"
#include "../generation/SessionModel.h"

#include "tprt/tprt.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

constexpr int64_t kPage = 4, kContext = 64, kBatchRows = 3, kCells = 128,
                  kVocabulary = 50;

const Generation kProgram{.page = kPage,
                          .context = kContext,
                          .rows = kBatchRows,
                          .cells = kCells,
                          .chunk = 8,
                          .vocabulary = kVocabulary,
                          .window = 0,
                          .stopIds = {7}};

json valueOf(const char *name, const char *type, Shape shape, Shape local,
             json sharding) {
  return {{"name", name},
          {"type", type},
          {"shape", shape},
          {"sharding", sharding},
          {"local_shape", local}};
}

json generateManifest(int64_t ranks) {
  json none = json::array();
  auto whole = [&](const char *name, const char *type, Shape shape) {
    return valueOf(name, type, shape, shape, json(shape.size(), none));
  };
  int64_t local = (kVocabulary + ranks - 1) / ranks;
  json m = emptyManifest(ranks), entries = json::array();
  json cells = whole("cells", "i64", {kCells});
  m["states"] = {cells};
  cells["state"] = 0;
  for (int64_t tokens : {1, 4, 8}) {
    json entry = m["entries"][0];
    entry["name"] = "step_" + std::to_string(tokens);
    entry["inputs"] = {whole("ids", "i32", {1, tokens}),
                       whole("starts", "i32", {kBatchRows + 1}),
                       whole("context", "i32", {kBatchRows}),
                       whole("table", "i32", {kBatchRows, kContext / kPage}),
                       cells,
                       whole("positions", "i32", {kBatchRows}),
                       whole("seeds", "i64", {kBatchRows}),
                       whole("temperatures", "f32", {kBatchRows}),
                       whole("top_k", "i32", {kBatchRows}),
                       whole("top_p", "f32", {kBatchRows}),
                       whole("min_p", "f32", {kBatchRows})};
    entry["outputs"] = {valueOf("logits", "f32", {kBatchRows, kVocabulary},
                                {kBatchRows, local},
                                {none, json::array({{{"axis", "tp"}}})}),
                        cells, whole("tokens", "i32", {kBatchRows}),
                        whole("logprobs", "f32", {kBatchRows})};
    entries.push_back(entry);
  }
  m["entries"] = entries;
  m["generation"] = {{"page", kPage},      {"context", kContext},
                     {"rows", kBatchRows}, {"cells", kCells},
                     {"chunk", 8},         {"vocabulary", kVocabulary},
                     {"window", 0},        {"stop_ids", {7}}};
  return m;
}

/// Files of one run; its program begins as the other fixture's.
struct GenerateFixture {
  TemporaryDirectory directory;
  std::vector<std::vector<int32_t>> prompts;

  /// `change` is merged into the manifest.
  explicit GenerateFixture(int64_t ranks, int64_t spins = 0,
                           const json &change = json::object()) {
    json manifest = generateManifest(ranks);
    manifest.merge_patch(change);
    int64_t sizes[5] = {kPage, kBatchRows, kContext / kPage,
                        (kVocabulary + ranks - 1) / ranks, spins};
    write("p.tpa",
          writeArtifact({{"manifest", manifest.dump()},
                         {"code", readFile(TPRT_TEST_GENERATE)},
                         {"constants",
                          {reinterpret_cast<char *>(sizes), sizeof(sizes)}}}));
    write("none.safetensors", safetensors({}));
    std::mt19937 random(kSeed);
    for (size_t length : {1, 3, 4, 5, 8, 9, 30, 62, 4}) {
      prompts.emplace_back();
      for (size_t i = 0; i < length; ++i)
        prompts.back().push_back(int32_t(random() % kVocabulary));
    }
    prompts.back() = {prompts[6].begin(), prompts[6].begin() + 20};
    write("prompts.json", json(prompts).dump());
  }
  void write(const std::string &name, const std::string &bytes) {
    Status status = writeFile(directory / name, bytes);
    if (!status.ok())
      throw std::runtime_error(status.message());
  }
  std::string command(const std::string &arguments) const {
    return std::string(TPRT_RUN) + " " + (directory / "p.tpa") + " --weights " +
           (directory / "none.safetensors") + " --generate " +
           (directory / "prompts.json") + " " + arguments;
  }
  std::string output() const { return "--output " + (directory / "out.json"); }
  json answers() const { return json::parse(readFile(directory / "out.json")); }
  Fixture::Result run(const std::string &arguments) const {
    int status = std::system((command(arguments) + " >" + (directory / "out") +
                              " 2>" + (directory / "err"))
                                 .c_str());
    return {WEXITSTATUS(status), readFile(directory / "out"),
            readFile(directory / "err")};
  }
  void refuse(const std::string &arguments, int code,
              const std::string &message) const {
    auto result = run(arguments);
    EXPECT_EQ(result.code, code);
    EXPECT_EQ(result.err, message + "\n");
  }
};

} // namespace

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
    auto result = f.run(f.output() + " --seed 3 " + options);
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

TEST(Generate, Refusals) {
  GenerateFixture f(2);
  std::string prompts = f.directory / "prompts.json";
  std::string error = "tp-run: error: ";
  std::string where = error + "prompts '" + prompts + "'";
  f.refuse("", 1,
           error + "--generate: expected one --output FILE.json for what is "
                   "generated");
  f.refuse("--output a.npy", 1,
           error + "--generate: expected one --output FILE.json for what is "
                   "generated");
  f.refuse(
      f.output() + " --entry step_1", 2,
      "tp-run: error: --entry excludes --generate\nRun with --help for more "
      "information.");
  f.refuse(f.output() + " --top-p 2", 1,
           where + "[0]: top-p: expected a number in [0, 1], got 2");
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
  EXPECT_EQ(alone.err, "tp-run: error: --max-tokens requires --generate\nRun "
                       "with --help for more information.\n");
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

/// A rank of two that are processes; rank 0 generates. Its exit code is 0 if
/// all was as it should be.
static int generateAsRank(const GenerateFixture &f, int rank) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(20'000 + getppid() % 10'000).c_str(), 1);
  tprt_options options{};
  options.size = sizeof(options);
  options.backend = "processes";
  tprt_session *session = nullptr;
  std::string weights = f.directory / "none.safetensors";
  if (tprt_open((f.directory / "p.tpa").c_str(), &options, &session) ||
      tprt_load_weights(session, weights.c_str()))
    return 2;
  tprt_generator *generator = nullptr;
  int32_t code = tprt_generate_open(session, 0, &generator);
  if (rank != 0) {
    std::string expected = "rank 1 cannot open a generator: rank 0 does, and "
                           "the others call tprt_generate_follow";
    if (code != 1 || tprt_generate_error() != expected)
      return 3;
    code = tprt_generate_follow(session);
    tprt_close(session);
    return code ? 4 : 0;
  }
  tprt_request request{};
  request.size = sizeof(request);
  request.prompt = f.prompts[3].data();
  request.prompt_count = int64_t(f.prompts[3].size());
  uint64_t number = 0;
  if (code || tprt_generate_submit(generator, &request, 1, &number))
    return 5;
  Request same;
  same.prompt = f.prompts[3];
  for (int32_t token : generateAlone(kProgram, same)) {
    tprt_event event{};
    event.size = sizeof(event);
    if (tprt_generate_next(generator, 60, &event) || event.token != token)
      return 6;
  }
  tprt_generate_close(generator);
  tprt_close(session);
  return 0;
}

TEST(Generate, TheOtherRanksFollow) {
  GenerateFixture f(2);
  std::vector<pid_t> children;
  for (int rank = 0; rank < 2; ++rank) {
    children.push_back(fork());
    if (children.back() == 0)
      _exit(generateAsRank(f, rank));
  }
  for (pid_t child : children) {
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

namespace {

/// This process is one of two ranks; `world` tells tests apart.
void setPlace(int rank, int world) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT",
         std::to_string(30'000 + (getppid() + world) % 10'000).c_str(), 1);
}

/// Rank `rank` of two that are processes, open, with its weights.
tprt_session *openRank(const GenerateFixture &f, int rank, int world) {
  setPlace(rank, world);
  tprt_options options{};
  options.size = sizeof(options);
  options.backend = "processes";
  tprt_session *session = nullptr;
  if (tprt_open((f.directory / "p.tpa").c_str(), &options, &session) ||
      tprt_load_weights(session, (f.directory / "none.safetensors").c_str()))
    return nullptr;
  return session;
}

/// Runs both ranks, each in a process of its own, and returns their exit codes.
std::pair<int, int> onTwoRanks(const std::function<int(int)> &body) {
  pid_t children[2];
  for (int rank : {0, 1}) {
    children[rank] = fork();
    if (children[rank] == 0)
      _exit(body(rank));
  }
  int codes[2] = {-1, -1};
  for (int rank : {0, 1}) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return {codes[0], codes[1]};
}

bool saysLost(int32_t code) {
  return code == 3 && std::string(tprt_generate_error())
                          .starts_with("rank 0: rank 1 is lost: its process "
                                       "ended; it was last seen ");
}

} // namespace

/// Nothing runs, and nobody has asked to be called.
TEST(Generate, ALostRankIsToldWhileNothingRuns) {
  GenerateFixture f(2);
  auto codes = onTwoRanks([&](int rank) {
    tprt_session *session = openRank(f, rank, 1);
    if (!session)
      return 2;
    if (rank == 1) {
      alarm(1); // ends the process in the middle of it
      return 100 + tprt_generate_follow(session);
    }
    tprt_generator *generator = nullptr;
    if (tprt_generate_open(session, 0, &generator))
      return 4;
    tprt_event event{};
    event.size = sizeof(event);
    int32_t code = 0;
    while (!code)
      code = tprt_generate_next(generator, 0.01, &event);
    if (!saysLost(code) || !saysLost(tprt_generate_next(generator, 60, &event)))
      return 5;
    tprt_generate_close(generator);
    tprt_close(session);
    return 0;
  });
  EXPECT_EQ(codes, (std::pair(0, -SIGALRM)));
}

/// The steps of a session, until rank 0 has no memory.
class Forgetful final : public StepModel {
public:
  explicit Forgetful(std::unique_ptr<StepModel> model)
      : model(std::move(model)) {}
  Status step(Batch &batch) override {
    if (++steps == 3)
      throw std::bad_alloc();
    return model->step(batch);
  }
  Expected<const float *> logits() override { return model->logits(); }
  void end() override { model->end(); }
  void abort(const Status &status) override { model->abort(status); }
  Status failure() override { return model->failure(); }

private:
  std::unique_ptr<StepModel> model;
  int steps = 0;
};

/// The other rank waits for an order without limit, and hears of it.
TEST(Generate, AnExceptionOfRankZeroEndsAll) {
  GenerateFixture f(2);
  auto body = [&](int rank) -> Status {
    setPlace(rank, 2);
    SessionOptions options;
    options.backend = "processes";
    TPRT_ASSIGN(auto session, Session::open(f.directory / "p.tpa", options));
    TPRT_TRY(session->loadWeights(f.directory / "none.safetensors"));
    if (rank == 1)
      return follow(*session);
    TPRT_ASSIGN(auto program, generationOf(session->manifest()));
    TPRT_ASSIGN(auto model, SessionModel::make(*session));
    Generator generator(program, std::make_unique<Forgetful>(std::move(model)));
    Request request;
    request.prompt = f.prompts[3];
    TPRT_TRY(generator.submit({request}).status());
    auto event = generator.next(60);
    while (event && *event)
      event = generator.next(60);
    return event.status();
  };
  auto codes = onTwoRanks([&](int rank) {
    Status status = body(rank);
    return status.message() == "std::bad_alloc" ? int(status.code()) : 100;
  });
  EXPECT_EQ(codes, (std::pair(4, 4)));
}

/// A child has none of the threads, and is told so; the parent goes on.
TEST(Generate, AForkedChildIsToldSo) {
  GenerateFixture f(2);
  tprt_session *session = nullptr;
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  std::string weights = f.directory / "none.safetensors";
  ASSERT_EQ(tprt_load_weights(session, weights.c_str()), 0);
  tprt_generator *generator = nullptr;
  ASSERT_EQ(tprt_generate_open(session, 3, &generator), 0);
  tprt_request asked{};
  asked.size = sizeof(asked);
  asked.prompt = f.prompts[3].data();
  asked.prompt_count = int64_t(f.prompts[3].size());
  tprt_event event{};
  event.size = sizeof(event);
  uint64_t number = 0;
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    alarm(30);
    auto isTold = [&](const char *error, const char *what) {
      return std::string(error) ==
             detail::join("process ", getpid(), " was forked from process ",
                          parent, ", which opened the ", what,
                          ": threads and devices stay with that one; open "
                          "another ",
                          what,
                          " in this process (in Python, start processes with "
                          "multiprocessing's method 'spawn')");
    };
    int wrong = 0;
    wrong += tprt_generate_submit(generator, &asked, 1, &number) != 1;
    wrong += !isTold(tprt_generate_error(), "generator");
    wrong += tprt_generate_next(generator, 60, &event) != 1;
    tprt_generate_cancel(generator, 1);
    tprt_generate_drain(generator);
    wrong += std::string(tprt_generate_stats(generator)) != "{}";
    wrong += tprt_load_weights(session, weights.c_str()) != 1;
    wrong += !isTold(tprt_error(session), "session");
    wrong += tprt_run(session, 0, nullptr, 0, nullptr, 0) != 1;
    wrong += tprt_reset_states(session) != 1;
    wrong += tprt_read_states(session, nullptr, 0) != 1;
    wrong += tprt_entry(session, nullptr) != -1;
    wrong += tprt_stats(session) != nullptr;
    tprt_generator *second = nullptr;
    wrong += tprt_generate_open(session, 3, &second) != 1;
    wrong += !isTold(tprt_generate_error(), "session");
    tprt_abort(session, "no");
    tprt_generate_close(generator);
    tprt_close(session);
    // One of its own works.
    wrong += tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session) != 0;
    wrong += tprt_load_weights(session, weights.c_str()) != 0;
    tprt_close(session);
    exit(wrong);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(tprt_generate_submit(generator, &asked, 1, &number), 0);
  ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
  EXPECT_EQ(event.request, number);
  tprt_generate_close(generator);
  tprt_close(session);
}

/// The same in the C interface.
TEST(Generate, InC) {
  GenerateFixture f(2);
  tprt_session *session = nullptr;
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  ASSERT_EQ(
      tprt_load_weights(session, (f.directory / "none.safetensors").c_str()),
      0);
  EXPECT_EQ(tprt_generate_follow(session), 1);
  EXPECT_STREQ(tprt_generate_error(),
               "rank 0 follows nobody: it calls tprt_generate_open");
  tprt_generator *generator = nullptr;
  ASSERT_EQ(tprt_generate_open(session, 3, &generator), 0);
  Request request;
  request.prompt = f.prompts[3];
  request.maxTokens = 6;
  request.sampling.temperature = 1;
  request.sampling.seed = 9;
  tprt_request asked{};
  asked.size = sizeof(asked);
  asked.prompt = request.prompt.data();
  asked.prompt_count = int64_t(request.prompt.size());
  asked.max_tokens = 6;
  asked.temperature = 1;
  asked.seed = 9;
  asked.log_probabilities = 3;
  std::vector<tprt_request> four(4, asked);
  uint64_t numbers[4] = {};
  EXPECT_EQ(tprt_generate_submit(generator, four.data(), 4, numbers),
            TPRT_QUEUE_FULL);
  EXPECT_STREQ(tprt_generate_error(),
               "the queue is full: 0 of at most 3 requests wait");
  four[1].top_k = -1;
  EXPECT_EQ(tprt_generate_submit(generator, four.data(), 2, numbers), 1);
  EXPECT_STREQ(tprt_generate_error(),
               "prompt 1: top-k: expected at least 0, got -1");
  ASSERT_EQ(tprt_generate_submit(generator, four.data(), 1, numbers), 0);
  tprt_generate_cancel(generator, 77); // nobody's
  tprt_generate_drain(generator);
  EXPECT_EQ(tprt_generate_submit(generator, four.data(), 1, numbers + 1),
            TPRT_DRAINED);
  std::vector<int32_t> tokens;
  tprt_event event{};
  event.size = sizeof(event);
  do {
    ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
    ASSERT_EQ(event.request, numbers[0]);
    tokens.push_back(event.token);
    ASSERT_EQ(event.count, 3);
    EXPECT_EQ(event.ids[0], event.token);
    EXPECT_GE(event.log_probabilities[1], event.log_probabilities[2]);
  } while (event.finish == TPRT_RUNNING);
  EXPECT_EQ(tokens, generateAlone(kProgram, request));
  ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
  EXPECT_EQ(event.request, 0u);
  json stats = json::parse(tprt_generate_stats(generator));
  EXPECT_EQ(stats["tokens"]["generated"], tokens.size());
  EXPECT_EQ(stats["context"], kContext);
  tprt_generate_close(generator);
  // The object wins over the fields, unless it is wrong.
  asked.parameters = "{\"temperature\": 0, \"suppress_tokens\": [5, 6]}";
  request.sampling.temperature = 0;
  request.sampling.suppressed = {5, 6};
  ASSERT_EQ(tprt_generate_open(session, 3, &generator), 0);
  ASSERT_EQ(tprt_generate_submit(generator, &asked, 1, numbers), 0);
  for (int32_t token : generateAlone(kProgram, request)) {
    ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
    EXPECT_EQ(event.token, token);
  }
  asked.parameters = "{\"temperature\": 0";
  EXPECT_EQ(tprt_generate_submit(generator, &asked, 1, numbers), 1);
  EXPECT_EQ(std::string(tprt_generate_error()).find("parameters: invalid JSON"),
            0u);
  asked.parameters = "{\"beams\": 2}";
  EXPECT_EQ(tprt_generate_submit(generator, &asked, 1, numbers), 1);
  EXPECT_STREQ(tprt_generate_error(), "parameters: unknown key 'beams'");
  tprt_generate_close(generator);
  // A second generator on the same session.
  ASSERT_EQ(tprt_generate_open(session, 0, &generator), 0);
  ASSERT_EQ(tprt_generate_submit(generator, four.data(), 1, numbers), 0);
  ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
  EXPECT_EQ(event.token, tokens[0]);
  tprt_generate_close(generator);
  tprt_close(session);
}

/// Whether a process handles a signal.
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
