//===- GenerationTest.cpp - pages, schedules and engines ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a model that is made up: what a request gives does not depend on chunks,
// on who else runs, on shared pages and on pages taken away.
//
//===----------------------------------------------------------------------===//

#include "FakeModel.h"

#include "../generation/Generator.h"

#include <map>

using namespace tprt;
using namespace tprt::test;

static Generation program(int64_t page, int64_t rows, int64_t cells,
                          int64_t chunk, int64_t window = 0) {
  return {.page = page,
          .context = 40,
          .rows = rows,
          .cells = cells,
          .chunk = chunk,
          .vocabulary = 50,
          .window = window,
          .stopIds = {}};
}

static Request request(std::vector<int32_t> prompt, int64_t maxTokens) {
  Request r;
  r.prompt = std::move(prompt);
  r.maxTokens = maxTokens;
  return r;
}

TEST(Generation, PagesAreFoundByAllThatIsBefore) {
  Pages pages(5, 2);
  std::vector<int32_t> text{5, 7, 1, 2, 9};
  int32_t a = pages.take(), b = pages.take();
  uint64_t first = pages.keep(a, 0, text.data());
  uint64_t second = pages.keep(b, first, text.data() + 2);
  EXPECT_NE(first, second);
  auto chain = pages.find(text, 2);
  EXPECT_EQ(chain.pages, (std::vector<int32_t>{a, b}));
  EXPECT_EQ(chain.serial, second);
  EXPECT_EQ(pages.users(a), 2);
  EXPECT_EQ(pages.find(text, 1).pages, std::vector<int32_t>{a});
  EXPECT_TRUE(pages.find({1, 2, 5, 7}, 2).pages.empty());
  EXPECT_EQ(pages.find({5, 7, 2, 1}, 2).pages, std::vector<int32_t>{a});
  // The same tokens, computed a second time: the first page stays the known
  // one, the second is its owner's alone.
  int32_t c = pages.take();
  EXPECT_EQ(pages.keep(c, 0, text.data()), first);
  EXPECT_FALSE(pages.isKept(c));
}

TEST(Generation, KeptPagesGoWhenTheirPlaceIsNeeded) {
  Pages pages(3, 1);
  std::vector<int32_t> text{4, 5};
  int32_t a = pages.take(), b = pages.take();
  uint64_t serial = pages.keep(a, 0, text.data());
  pages.keep(b, serial, text.data() + 1);
  EXPECT_EQ(pages.available(), 1);
  pages.release(b);
  pages.release(a);
  EXPECT_EQ(pages.available(), 3);
  EXPECT_EQ(pages.keptUnused(), 2);
  EXPECT_NE(pages.take(), b); // the free one first
  EXPECT_EQ(pages.take(), b); // then the one that was released first
  EXPECT_EQ(pages.find(text, 2).pages, std::vector<int32_t>{a});
  EXPECT_EQ(pages.take(), -1);
  EXPECT_EQ(pages.available(), 0);
}

namespace {
/// A scheduler on a model of its own, and what its requests gave.
struct Script {
  SharedStatistics statistics;
  FakeModel model;
  Scheduler scheduler;
  std::map<uint64_t, std::vector<int32_t>> tokens;
  std::map<uint64_t, std::vector<Event>> prompts; ///< events of the prompt
  std::map<uint64_t, Finish> ends;
  std::map<uint64_t, bool> hasLast; ///< True if the last event has a token.

  explicit Script(const Generation &program)
      : model(program), scheduler(program, model, statistics) {
    model.pages = &scheduler.cache();
  }
  void take(const std::vector<Event> &events) {
    for (const Event &event : events) {
      EXPECT_FALSE(ends.count(event.request)) << "an event after the last";
      EXPECT_TRUE(event.error.ok() || event.error.code() == Code::User);
      if (event.isOfPrompt) {
        EXPECT_TRUE(tokens[event.request].empty());
        prompts[event.request].push_back(event);
      } else if (event.token >= 0)
        tokens[event.request].push_back(event.token);
      if (event.finish != Finish::None)
        ends[event.request] = event.finish;
      hasLast[event.request] = event.token >= 0;
    }
  }
  void step() {
    std::vector<Event> events;
    ASSERT_OK(scheduler.step(events));
    take(events);
  }
  void cancel(uint64_t number) {
    std::vector<Event> events;
    scheduler.cancel(number, events);
    take(events);
  }
  void finish() {
    for (int64_t i = 0; i < 100'000 && !scheduler.idle(); ++i)
      step();
    EXPECT_TRUE(scheduler.idle());
    EXPECT_EQ(scheduler.cache().available(), scheduler.cache().count());
  }
};
} // namespace

TEST(Generation, SingleTokensGoBeforePrompts) {
  Generation p = program(4, 3, 200, 8);
  Script run(p);
  run.scheduler.add(1, request({1, 2, 3}, 9));
  run.step();
  EXPECT_EQ(run.tokens[1].size(), 1u);
  // 20 tokens: 7 beside the one of request 1, twice, and the rest.
  std::vector<int32_t> prompt(20, 6);
  run.scheduler.add(2, request(prompt, 9));
  for (size_t i = 2; i <= 4; ++i) {
    EXPECT_EQ(run.tokens[2].size(), 0u);
    run.step();
    EXPECT_EQ(run.tokens[1].size(), i);
  }
  EXPECT_EQ(run.tokens[2].size(), 1u);
  run.finish();
  EXPECT_EQ(run.tokens[1], generateAlone(p, request({1, 2, 3}, 9)));
  EXPECT_EQ(run.tokens[2], generateAlone(p, request(prompt, 9)));
}

TEST(Generation, ACommonBeginningIsComputedOnce) {
  Generation p = program(4, 2, 80, 64);
  Script run(p);
  // Exactly three pages: the last token is computed again, in a page that is
  // not shared.
  std::vector<int32_t> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  run.scheduler.add(1, request(prompt, 3));
  run.finish();
  EXPECT_EQ(run.statistics.get().prefixHits, 0);
  run.scheduler.add(2, request(prompt, 3));
  run.finish();
  EXPECT_EQ(run.statistics.get().prefixHits, 8);
  prompt.push_back(13);
  run.scheduler.add(3, request(prompt, 3));
  run.finish();
  EXPECT_EQ(run.statistics.get().prefixHits, 20);
  EXPECT_EQ(run.tokens[1], run.tokens[2]);
  EXPECT_EQ(run.tokens[3], generateAlone(p, request(prompt, 3)));
}

TEST(Generation, TheYoungestGivesItsPagesAway) {
  Generation p = program(2, 4, 20, 16);
  Script run(p);
  std::map<uint64_t, Request> requests;
  for (uint64_t n = 1; n <= 4; ++n) {
    requests[n] = request({int32_t(n), 2, 3}, 12);
    run.scheduler.add(n, requests[n]);
  }
  run.finish();
  EXPECT_GT(run.statistics.get().recomputed, 0);
  EXPECT_EQ(run.statistics.get().pagesUsedMost, 10);
  for (const auto &[n, r] : requests)
    EXPECT_EQ(run.tokens[n], generateAlone(p, r)) << n;
}

/// A prompt that fills its pages waits for one more: it is not let in to lose
/// them at its first token.
TEST(Generation, APromptNeedsRoomForOneToken) {
  Generation p = program(4, 2, 8, 8);
  Script run(p);
  run.scheduler.add(1, request({1}, 3));
  run.scheduler.add(2, request({1, 2, 3, 4}, 2));
  run.step();
  EXPECT_EQ(run.statistics.get().waiting, 1);
  run.finish();
  EXPECT_EQ(run.statistics.get().recomputed, 0);
  EXPECT_EQ(run.tokens[2], generateAlone(p, request({1, 2, 3, 4}, 2)));
}

/// A model that says the last two tokens again and again is guessed in turn.
TEST(Generation, GuessesComeTogether) {
  Generation p = program(4, 4, 200, 8);
  Request r = request({7, 8, 9, 7, 8, 9, 7, 8}, 12);
  r.guesses = 3;
  // Only these may come, in turn: the answer is what is guessed.
  Script run(p), plain(p);
  run.scheduler.add(1, r);
  run.model.cycle = plain.model.cycle = {7, 8, 9};
  run.finish();
  r.guesses = 0;
  plain.scheduler.add(1, r);
  plain.finish();
  EXPECT_EQ(run.tokens[1], plain.tokens[1]);
  EXPECT_EQ(run.tokens[1].size(), 12u);
  Statistics s = run.statistics.get();
  EXPECT_EQ(s.guessed, s.guessedRight);
  EXPECT_EQ(s.guessedRight + s.steps, 12);
  EXPECT_LE(s.steps, 4);
  EXPECT_EQ(plain.statistics.get().steps, 12);
}

TEST(Generation, EndsOfARequest) {
  Generation p = program(4, 2, 80, 8);
  Request alone = request({3, 1, 4}, 30);
  std::vector<int32_t> all = generateAlone(p, alone);
  Script run(p);
  run.scheduler.add(1, alone);
  alone.stopIds = {all[4]};
  run.scheduler.add(2, alone);
  alone.stopIds = {};
  alone.maxTokens = 1000;
  run.scheduler.add(3, alone);
  run.finish();
  EXPECT_EQ(run.tokens[1], all);
  EXPECT_EQ(run.ends[1], Finish::Length);
  // The stop id is the last one.
  auto stop = std::find(all.begin(), all.end(), all[4]) + 1;
  EXPECT_EQ(run.tokens[2], std::vector<int32_t>(all.begin(), stop));
  EXPECT_EQ(run.ends[2], Finish::Stop);
  EXPECT_EQ(run.tokens[3].size(), 37u); // the context's end
  EXPECT_EQ(run.ends[3], Finish::Length);

  // The program's own stops, and a request that does not want them.
  p.stopIds = {all[4]};
  Script again(p);
  alone.maxTokens = 30;
  again.scheduler.add(1, alone);
  alone.ignoreStops = true;
  again.scheduler.add(2, alone);
  again.finish();
  EXPECT_EQ(again.tokens[1], run.tokens[2]);
  EXPECT_EQ(again.tokens[2], all);
}

/// Allows some tokens after each text, and ends it after `length` of them.
static TokenMask randomMask(int64_t length, int64_t rare) {
  return [=](std::span<const int32_t> text,
             std::span<uint32_t> allowed) -> Expected<bool> {
    uint64_t state = mix(text.empty() ? 7 : uint64_t(text.back()));
    for (size_t id = 0; id < 50; ++id)
      if (mix(state + text.size() + id) % uint64_t(rare) == 0)
        allowed[id / 32] |= 1u << (id % 32);
    return int64_t(text.size()) < length;
  };
}

static Request randomRequest(std::mt19937 &random, const Generation &p) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  int64_t longest = std::min(p.context, p.cells);
  Request r;
  // Few beginnings, so that many are common.
  int32_t style = int32_t(below(3));
  for (int64_t i = 1 + below(longest - 1); i > 0; --i)
    r.prompt.push_back(below(12) ? style : int32_t(below(p.vocabulary)));
  r.maxTokens = 1 + below(20);
  if (below(2)) {
    r.sampling.temperature = 0.8f;
    r.sampling.seed = random();
    r.sampling.topK = below(10);
    r.sampling.presence = below(2) ? 0.5f : 0;
  }
  if (below(3) == 0) {
    auto id = [&] { return int32_t(below(p.vocabulary)); };
    Sampling &s = r.sampling;
    s.noRepeat = below(2) ? 1 + below(3) : 0;
    s.minTokens = below(6);
    s.suppressed = {id(), id(), id()};
    s.suppressedFirst = {id(), id()};
    s.badWords = {{id()}, {id(), id()}};
    s.repetition = below(2) ? 1.2f : 1;
    int32_t forced = id();
    if (below(2) &&
        !std::count(s.suppressed.begin(), s.suppressed.end(), forced)) {
      s.forcedFirst = below(2) ? forced : -1;
      s.forcedLast = {forced, id()};
    }
  }
  if (below(3) == 0)
    r.stopIds = {int32_t(below(p.vocabulary))};
  if (below(4) == 0)
    r.mask = randomMask(below(30), 2 + below(5));
  r.guesses = below(2) ? below(7) : 0;
  if (below(4) == 0) {
    r.promptLogProbabilities = below(3);
    r.maxTokens = below(3) ? r.maxTokens : 0;
  }
  return r;
}

/// The prompt's tokens but the first, each with the probability that the text
/// before it gives.
static void expectPrompt(const Generation &p, const Request &r,
                         const std::vector<Event> &events, bool isWhole) {
  size_t count = r.promptLogProbabilities < 0 ? 0 : r.prompt.size() - 1;
  if (isWhole)
    ASSERT_EQ(events.size(), count);
  ASSERT_LE(events.size(), count);
  Sampler sampler(p.vocabulary);
  for (size_t i = 0; i < events.size(); ++i) {
    std::vector<int32_t> before(r.prompt.begin(),
                                r.prompt.begin() + long(i) + 1);
    EXPECT_EQ(events[i].token, r.prompt[i + 1]);
    EXPECT_EQ(events[i].logProbabilities,
              sampler.logProbabilities(logitsAfter(p, before).data(),
                                       r.prompt[i + 1],
                                       r.promptLogProbabilities));
  }
}

TEST(Generation, AMaskDecides) {
  Generation p = program(4, 2, 80, 8);
  Request r = request({3, 1, 4}, 30);
  std::vector<std::vector<int32_t>> asked;
  r.mask = [&](std::span<const int32_t> text,
               std::span<uint32_t> allowed) -> Expected<bool> {
    asked.emplace_back(text.begin(), text.end());
    EXPECT_EQ(std::vector(allowed.begin(), allowed.end()),
              (std::vector<uint32_t>{0, 0}));
    allowed[text.size() % 2] = 1u << (text.size() + 3);
    return text.size() < 4;
  };
  Script run(p);
  run.scheduler.add(1, r);
  run.finish();
  EXPECT_EQ(run.tokens[1], (std::vector<int32_t>{3, 36, 5, 38}));
  EXPECT_EQ(run.ends[1], Finish::Stop);
  EXPECT_EQ(asked, (std::vector<std::vector<int32_t>>{
                       {}, {3}, {3, 36}, {3, 36, 5}, {3, 36, 5, 38}}));

  r.mask = [](auto, auto) -> Expected<bool> { return true; };
  auto failing = r;
  failing.mask = [](auto, auto) -> Expected<bool> {
    return userError("the grammar is too complex");
  };
  run.scheduler.add(2, r);
  run.scheduler.add(3, failing);
  std::vector<Event> events;
  ASSERT_OK(run.scheduler.step(events));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].error.message(),
            "no token can follow position 2: suppress_tokens, "
            "no_repeat_ngram_size and the like exclude the whole vocabulary, "
            "or all of it that the answer's grammar allows");
  EXPECT_EQ(events[1].error.message(), "the grammar is too complex");
  EXPECT_EQ(run.scheduler.cache().available(), run.scheduler.cache().count());
}

/// Each token is computed or found once; all others are computed again. The
/// last of an answer is neither.
static void expectCounts(Script &run,
                         const std::map<uint64_t, Request> &requests) {
  Statistics s = run.statistics.get();
  int64_t most = 0, cancelled = 0, prompts = 0;
  for (const auto &[number, r] : requests) {
    auto count = int64_t(r.prompt.size() + run.tokens[number].size());
    prompts += int64_t(r.prompt.size());
    if (run.ends[number] == Finish::Cancelled)
      cancelled += count;
    else
      most += count - run.hasLast[number];
  }
  int64_t once = s.computedTokens - s.computedAgain + s.prefixHits;
  EXPECT_GE(once, most);
  EXPECT_LE(once, most + cancelled);
  EXPECT_LE(s.promptComputed, prompts);
  EXPECT_GE(s.promptComputed + s.prefixHits, prompts - cancelled);
  EXPECT_EQ(s.recomputed == 0 && s.computedAgain > 0, false);
}

/// Random programs and scripts: 300 here; TPRT_SCRIPTS asks for more.
TEST(Generation, RandomScripts) {
  const char *more = std::getenv("TPRT_SCRIPTS");
  int scripts = more ? std::atoi(more) : 300;
  int64_t hits = 0, recomputed = 0, old = 0, guessed = 0, right = 0;
  for (int script = 0; script < scripts; ++script) {
    unsigned seed = kSeed + unsigned(script);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    int64_t page = 1 + below(5);
    Generation p = program(page, 1 + below(5), page * (2 + below(20)),
                           1 + below(20), below(3) ? 0 : 1 + below(12));
    Script run(p);
    std::map<uint64_t, Request> requests;
    for (int64_t i = 0; i < 60; ++i) {
      if (below(4) == 0) {
        uint64_t number = requests.size() + 1;
        requests[number] = randomRequest(random, p);
        ASSERT_OK(checkRequest(p, requests[number]));
        run.scheduler.add(number, requests[number]);
      }
      if (script % 2 && below(15) == 0 && !requests.empty())
        run.cancel(1 + uint64_t(below(int64_t(requests.size()))));
      run.step();
    }
    run.finish();
    for (const auto &[number, r] : requests) {
      std::vector<int32_t> alone = generateAlone(p, r);
      if (run.ends[number] == Finish::Cancelled)
        alone.resize(std::min(alone.size(), run.tokens[number].size()));
      ASSERT_EQ(run.tokens[number], alone) << "request " << number;
      expectPrompt(p, r, run.prompts[number],
                   run.ends[number] != Finish::Cancelled &&
                       run.ends[number] != Finish::Error);
    }
    expectCounts(run, requests);
    Statistics s = run.statistics.get();
    hits += s.prefixHits;
    recomputed += s.recomputed;
    old += p.window > 0;
    guessed += s.guessed;
    right += s.guessedRight;
    EXPECT_EQ(s.finished + s.cancelled, int64_t(requests.size()));
    EXPECT_EQ(s.running + s.waiting + s.pagesUsed, 0);
  }
  // The scripts do what they are there for.
  EXPECT_GT(hits, 0);
  EXPECT_GT(recomputed, 0);
  EXPECT_GT(old, 0);
  EXPECT_GT(right, 0);
  EXPECT_GT(guessed, right);
}

TEST(Generation, RequestsThatAreRefused) {
  Generation p = program(4, 2, 32, 8);
  auto message = [&](auto change) {
    Request r = request({1, 2}, 3);
    change(r);
    return checkRequest(p, r).message();
  };
  EXPECT_EQ(message([](Request &) {}), "");
  EXPECT_EQ(message([](Request &r) { r.prompt = {}; }),
            "expected at least one token");
  EXPECT_EQ(message([](Request &r) { r.prompt.resize(32); }),
            "expected at most 31 tokens, as the context of 32 must hold a new "
            "one too, got 32; a larger --context of tp-compile holds more");
  EXPECT_EQ(message([](Request &r) { r.prompt = {1, 50}; }),
            "position 1: expected an id in [0, 50), got 50");
  EXPECT_EQ(message([](Request &r) { r.stopIds = {-2}; }),
            "stop id 0: expected an id in [0, 50), got -2");
  EXPECT_EQ(message([](Request &r) { r.maxTokens = 0; }),
            "max-tokens: expected at least 1, got 0");
  EXPECT_EQ(message([](Request &r) { r.logProbabilities = 51; }),
            "logprobs: expected at most 50, got 51");
  EXPECT_EQ(message([](Request &r) { r.sampling.temperature = -1; }),
            "temperature: expected a number of at least 0, got -1");
  EXPECT_EQ(message([](Request &r) { r.sampling.topP = 1.5; }),
            "top-p: expected a number in [0, 1], got 1.5");
  EXPECT_EQ(message([](Request &r) { r.sampling.minP = NAN; }),
            "min-p: expected a number in [0, 1], got nan");
  EXPECT_EQ(message([](Request &r) { r.sampling.topK = -1; }),
            "top-k: expected at least 0, got -1");
  EXPECT_EQ(message([](Request &r) { r.sampling.repetition = 0; }),
            "repetition penalty: expected a number above 0, got 0");
  EXPECT_EQ(message([](Request &r) { r.sampling.bias = {{1, INFINITY}}; }),
            "bias: expected a number, got inf");
  EXPECT_EQ(message([](Request &r) { r.sampling.sequenceBias = {{{1}, NAN}}; }),
            "sequence_bias: expected a number, got nan");
  EXPECT_EQ(
      message([](Request &r) { r.sampling.sequenceBias = {{{1, 50}, 1}}; }),
      "sequence_bias 1: expected an id in [0, 50), got 50");
  EXPECT_EQ(message([](Request &r) { r.sampling.decayFactor = 0; }),
            "exponential_decay_length_penalty: expected a factor above 0, got "
            "0");
  EXPECT_EQ(message([](Request &r) {
              r.sampling.suppressed = {3, 4};
              r.sampling.forcedLast = {4, 3};
            }),
            "forced_eos_token_id: expected a token that is not in "
            "suppress_tokens, got 4");
  EXPECT_EQ(message([](Request &r) {
              r.sampling.suppressed = {3};
              r.sampling.forcedFirst = 3;
            }),
            "forced_bos_token_id: expected a token that is not in "
            "suppress_tokens, got 3");
}

/// Parameters of a request, of the checkpoint, and of neither.
TEST(Generation, ParametersOfARequest) {
  Generation p = program(4, 2, 32, 8);
  auto made = [&](const char *parameters) {
    return makeRequest(p, {1, 2, 3}, nlohmann::json::parse(parameters),
                       "parameters");
  };
  EXPECT_EQ(made("{}")->maxTokens, 16);
  p.config.file = "generation_config.json";
  p.config.sampling.repetition = 1.5f;
  p.config.sampling.temperature = 0.7f;
  p.config.sampling.minTokens = 4;
  p.config.limit.length = 10;
  p.config.ignored = {"low_memory: why"};
  p.config.text = R"({"temperature":0.7,"suppress_tokens":[1,22,333,1,22,333,)"
                  R"(1,22,333,1,22,333,1,22,333,1,22,333,1,22,333]})";
  EXPECT_EQ(
      notesOn(p),
      (std::vector<std::string>{
          "generation_config.json: defaults of requests: suppress_tokens "
          "[1,22,333,1,22,333,1,22,333,1,22,333,1,22,333,1,22,333,1,22,"
          "..., temperature 0.7; --generation-config none leaves them out",
          "generation_config.json: ignored: low_memory: why"}));
  EXPECT_EQ(made("{}")->maxTokens, 7);
  EXPECT_EQ(made("{}")->sampling.repetition, 1.5f);
  auto own = made(R"({"temperature": 0, "min_length": 5, "max_length": 8})");
  EXPECT_EQ(own->sampling.temperature, 0);
  EXPECT_EQ(own->sampling.minLength, 5);
  EXPECT_EQ(own->sampling.minTokens, 0);
  EXPECT_EQ(own->sampling.repetition, 1.5f);
  EXPECT_EQ(own->maxTokens, 5);
  auto none = made(R"({"generation_config": "none", "top_k": 3})");
  EXPECT_EQ(none->sampling.repetition, 1);
  EXPECT_EQ(none->sampling.topK, 3);
  EXPECT_EQ(none->maxTokens, 16);
  EXPECT_MESSAGE(made(R"({"max_length": 3})").status(),
                 "the prompt has 3 tokens, and max_length 3 of parameters "
                 "leaves none for an answer; a request that says how many new "
                 "tokens it wants does not ask it");
  for (auto [text, message] :
       {std::pair(R"({"top_q": 1})", ": unknown key 'top_q'"),
        {R"({"top_p": "all"})", ".top_p: expected a number, got string"},
        {R"({"top_k": 1.5})", ".top_k: expected an integer, got 1.5"},
        {R"({"suppress_tokens": [4, 50]})",
         ".suppress_tokens[1]: expected an integer in [0, 49], got 50"},
        {R"({"bad_words_ids": [[4], []]})",
         ".bad_words_ids[1]: expected at least one id"},
        {R"({"sequence_bias": [[[4]]]})",
         ".sequence_bias[0]: expected [[ids], bias], got 1 items"},
        {R"({"exponential_decay_length_penalty": [1, 2, 3]})",
         ".exponential_decay_length_penalty: expected [start, factor], got 3 "
         "items"},
        {R"({"generation_config": "other"})",
         ".generation_config: expected one of 'none', got 'other'"},
        {"[]", ": expected an object, got array"}})
    EXPECT_MESSAGE(made(text).status(), std::string("parameters") + message);
}

//===----------------------------------------------------------------------===//
// The generator's thread
//===----------------------------------------------------------------------===//

/// Many threads submit and cancel; every answer that is finished is the one
/// that the request gives alone, and no page is held at the end.
TEST(Generation, ManyThreads) {
  constexpr int kThreads = 8, kEach = 8;
  Generation p = program(3, 6, 120, 16);
  auto owner = std::make_unique<FakeModel>(p);
  FakeModel &model = *owner;
  {
    Generator generator(p, std::move(owner));
    std::mutex mutex;
    std::map<uint64_t, Request> requests;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(kSeed + t);
        for (int i = 0; i < kEach; ++i) {
          Request r = randomRequest(random, p);
          std::lock_guard lock(mutex);
          auto numbers = generator.submit({r});
          ASSERT_TRUE(bool(numbers)) << numbers.status().message();
          requests[numbers->front()] = r;
          if (random() % 3 == 0)
            generator.cancel(numbers->front() - random() % 2);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    generator.drain();
    auto late = generator.submit({request({1}, 1)});
    EXPECT_EQ(late.status().message(),
              "the generator takes no more requests: it is drained");
    std::map<uint64_t, std::vector<int32_t>> tokens;
    std::map<uint64_t, Finish> ends;
    while (true) {
      auto event = generator.next(60);
      ASSERT_TRUE(bool(event)) << event.status().message();
      if (!*event)
        break;
      if ((*event)->token >= 0 && !(*event)->isOfPrompt)
        tokens[(*event)->request].push_back((*event)->token);
      if ((*event)->finish != Finish::None)
        ends[(*event)->request] = (*event)->finish;
    }
    ASSERT_EQ(ends.size(), size_t(kThreads * kEach));
    for (const auto &[number, r] : requests) {
      std::vector<int32_t> alone = generateAlone(p, r);
      if (ends[number] == Finish::Cancelled)
        alone.resize(std::min(alone.size(), tokens[number].size()));
      EXPECT_EQ(tokens[number], alone) << number;
    }
    EXPECT_EQ(generator.statistics().pagesUsed, 0);
    EXPECT_EQ(model.ends, 0);
  }
}

TEST(Generation, TheQueueIsBounded) {
  Generation p = program(4, 1, 40, 8);
  Generator generator(p, std::make_unique<FakeModel>(p), 2);
  EXPECT_EQ(generator.submit({request({1}, 1), request({1, 99}, 1)})
                .status()
                .message(),
            "prompt 1: position 1: expected an id in [0, 50), got 99");
  std::vector<Request> three(3, request({1}, 1));
  EXPECT_EQ(generator.submit(three).status().message(),
            "the queue is full: 0 of at most 2 requests wait");
  three.pop_back();
  EXPECT_TRUE(bool(generator.submit(three)));
}

TEST(Generation, AFailureEndsTheGenerator) {
  Generation p = program(4, 1, 40, 8);
  auto model = std::make_unique<FakeModel>(p);
  model->broken = lostError("rank 1 is lost");
  Generator generator(p, std::move(model));
  ASSERT_TRUE(bool(generator.submit({request({1}, 1)})));
  auto event = generator.next(60);
  ASSERT_FALSE(bool(event));
  EXPECT_EQ(event.status().code(), Code::Lost);
  EXPECT_EQ(event.status().message(), "rank 1 is lost");
  EXPECT_EQ(generator.submit({request({1}, 1)}).status().message(),
            "rank 1 is lost");
}

/// No event comes, and yet nobody waits for one.
TEST(Generation, ARankThatIsLostWhileNothingRuns) {
  Generation p = program(4, 1, 40, 8);
  auto owner = std::make_unique<FakeModel>(p);
  FakeModel &model = *owner;
  Generator generator(p, std::move(owner));
  auto event = generator.next(0.1);
  ASSERT_TRUE(bool(event)) << event.status().message();
  EXPECT_FALSE(*event);
  // While somebody waits for long, and for those that only look.
  std::thread loser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    model.isLost = true;
  });
  event = generator.next(3600);
  loser.join();
  for (int n = 0; n < 2; ++n, event = generator.next(0)) {
    ASSERT_FALSE(bool(event));
    EXPECT_EQ(event.status().code(), Code::Lost);
    EXPECT_EQ(event.status().message(), "rank 1 is lost");
  }
  EXPECT_EQ(generator.submit({request({1}, 1)}).status().message(),
            "rank 1 is lost");
}

/// Events that came before the failure are still delivered.
TEST(Generation, EventsComeBeforeTheFailure) {
  Generation p = program(4, 1, 40, 8);
  auto owner = std::make_unique<FakeModel>(p);
  FakeModel &model = *owner;
  Generator generator(p, std::move(owner));
  ASSERT_TRUE(bool(generator.submit({request({1, 2}, 3)})));
  for (int64_t told = 0; told < 3;) {
    auto event = generator.next(60);
    ASSERT_TRUE(bool(event) && *event);
    told += (*event)->token >= 0;
    model.isLost = told == 3;
  }
  EXPECT_EQ(generator.next(60).status().message(), "rank 1 is lost");
}

/// An exception is an error of this rank, of which the others are told.
TEST(Generation, AnExceptionEndsTheGenerator) {
  for (int64_t step : {0, 2}) {
    Generation p = program(4, 2, 40, 8);
    auto owner = std::make_unique<FakeModel>(p);
    FakeModel &model = *owner;
    model.throwsAt = step;
    Generator generator(p, std::move(owner));
    ASSERT_TRUE(bool(generator.submit({request({1, 2}, 9)})));
    auto event = generator.next(60);
    while (event && *event)
      event = generator.next(60);
    ASSERT_FALSE(bool(event)) << step;
    EXPECT_EQ(event.status().code(), Code::Internal);
    EXPECT_EQ(event.status().message(), "std::bad_alloc");
    EXPECT_EQ(model.aborts, std::vector<std::string>{"std::bad_alloc"});
    EXPECT_EQ(model.ends, 0);
    EXPECT_FALSE(bool(generator.submit({request({1}, 1)})));
  }
}
