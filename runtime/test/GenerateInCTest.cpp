//===- GenerateInCTest.cpp - generation by the C interface ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions and generators of generate.c in one process and in two, which may
// be lost, run out of memory, or fork.
//
//===----------------------------------------------------------------------===//

#include "GenerateFixture.h"

#include "../generation/Generator.h"
#include "../generation/SessionModel.h"

#include "tprt/tprt.h"

#include <csignal>
#include <functional>
#include <sys/wait.h>

using namespace std::string_literals;
using namespace tprt;
using namespace tprt::test;

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

/// Generates on rank 0 while rank 1 follows; the exit code of a rank is 0 if
/// all was as it should be.
static int generateAsRank(const GenerateFixture &f, int rank) {
  tprt_session *session = openRank(f, rank, 0);
  if (!session)
    return 2;
  tprt_generator *generator = nullptr;
  int32_t code = tprt_generate_open(session, 0, &generator);
  if (rank != 0) {
    std::string expected = "rank 1 cannot open a generator: rank 0 does, and "
                           "the others call tprt_follow";
    if (code != 1 || tprt_generate_error() != expected)
      return 3;
    if (tprt_lead(session) != 1 ||
        tprt_error(session) != "rank 1 cannot lead: rank 0 does, and the "
                               "others call tprt_follow"s)
      return 7;
    code = tprt_follow(session);
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
  auto codes = onTwoRanks([&](int rank) { return generateAsRank(f, rank); });
  EXPECT_EQ(codes, (std::pair(0, 0)));
}

/// Nothing runs, and nobody has asked to be called.
TEST(Generate, ALostRankIsToldWhileNothingRuns) {
  GenerateFixture f(2);
  auto codes = onTwoRanks([&](int rank) {
    tprt_session *session = openRank(f, rank, 1);
    if (!session)
      return 2;
    if (rank == 1) {
      alarm(1); // ends the process in the middle of it
      return 100 + tprt_follow(session);
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
  Expected<const float *> logits(const std::vector<bool> &wanted) override {
    return model->logits(wanted);
  }
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

/// Zero in a field leaves the checkpoint's default, unless it is said to be
/// given; a caller of an older header knows nothing of that.
TEST(Generate, ZerosThatAreGivenInC) {
  json config = {{"file", "generation_config.json"},
                 {"defaults", {{"temperature", 0.8}, {"top_k", 5}}},
                 {"ignored", json::array()}};
  GenerateFixture f(1, 0, {{"generation", {{"config", config}}}});
  tprt_session *session = nullptr;
  std::string weights = f.directory / "none.safetensors";
  ASSERT_EQ(tprt_open((f.directory / "p.tpa").c_str(), nullptr, &session), 0);
  ASSERT_EQ(tprt_load_weights(session, weights.c_str()), 0);
  tprt_generator *generator = nullptr;
  ASSERT_EQ(tprt_generate_open(session, 3, &generator), 0);
  Request request;
  request.prompt = f.prompts[3];
  request.maxTokens = 12;
  request.sampling.seed = 9;
  tprt_request asked{};
  asked.size = sizeof(asked);
  asked.prompt = request.prompt.data();
  asked.prompt_count = int64_t(request.prompt.size());
  asked.max_tokens = 12;
  asked.seed = 9;
  auto expectTokens = [&](uint64_t given, float temperature, int64_t topK) {
    SCOPED_TRACE(given);
    asked.given = given;
    request.sampling.temperature = temperature;
    request.sampling.topK = topK;
    uint64_t number = 0;
    ASSERT_EQ(tprt_generate_submit(generator, &asked, 1, &number), 0)
        << tprt_generate_error();
    for (int32_t token : generateAlone(kProgram, request)) {
      tprt_event event{};
      event.size = sizeof(event);
      ASSERT_EQ(tprt_generate_next(generator, 60, &event), 0);
      EXPECT_EQ(event.token, token);
    }
  };
  expectTokens(0, 0.8f, 5);
  expectTokens(TPRT_GIVEN_TEMPERATURE, 0, 5);
  expectTokens(TPRT_GIVEN_TOP_K, 0.8f, 0);
  asked.temperature = 1.5f;
  expectTokens(TPRT_GIVEN_TEMPERATURE | TPRT_GIVEN_TOP_K, 1.5f, 0);
  asked.size = offsetof(tprt_request, given);
  asked.temperature = 0;
  expectTokens(TPRT_GIVEN_TEMPERATURE, 0.8f, 5);
  asked.size = sizeof(asked);
  asked.given = 1 << 6 | TPRT_GIVEN_TOP_P;
  uint64_t number = 0;
  EXPECT_EQ(tprt_generate_submit(generator, &asked, 1, &number), 1);
  EXPECT_STREQ(tprt_generate_error(),
               "tprt_request: given: expected TPRT_GIVEN_* bits, got 96");
  asked.size = offsetof(tprt_request, prompt_log_probabilities) - 8;
  EXPECT_EQ(tprt_generate_submit(generator, &asked, 1, &number), 1);
  EXPECT_EQ(std::string(tprt_generate_error())
                .find("tprt_request: expected a size of "),
            0u);
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
  EXPECT_EQ(tprt_follow(session), 1);
  EXPECT_STREQ(tprt_error(session),
               "rank 0 follows nobody: it calls tprt_lead");
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
