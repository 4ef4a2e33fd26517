//===- FakeModel.h - a program that a test makes up -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its logits are a function of all tokens and positions that the last one sees,
// which it writes to pages and reads from there, as attention does: one wrong
// page, cell or position gives other logits. Free pages are overwritten with
// what gives no logits at all.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKEMODEL_H
#define TPRT_TEST_FAKEMODEL_H

#include "TestUtil.h"

#include "../generation/Scheduler.h"

#include <atomic>
#include <cmath>
#include <new>

namespace tprt::test {

using namespace tprt::generation;

/// Adds one token to the state of those before.
inline uint64_t mixIn(uint64_t state, int64_t token, int64_t position) {
  return mix(state ^ mix(uint64_t(token) << 32 | uint64_t(position)));
}

inline void logitsOf(uint64_t state, int64_t vocabulary, float *logits) {
  for (int64_t id = 0; id < vocabulary; ++id)
    logits[id] = float(mix(state + uint64_t(id)) >> 40) * 0x1p-21f - 4;
}

/// The logits that follow `tokens`, without pages.
inline std::vector<float> logitsAfter(const Generation &program,
                                      const std::vector<int32_t> &tokens) {
  int64_t count = int64_t(tokens.size());
  uint64_t state = 0;
  for (int64_t p = program.window ? std::max<int64_t>(count - program.window, 0)
                                  : 0;
       p < count; ++p)
    state = mixIn(state, tokens[size_t(p)], p);
  std::vector<float> logits(size_t(program.vocabulary));
  logitsOf(state, program.vocabulary, logits.data());
  return logits;
}

/// All that the request gives when it is alone.
inline std::vector<int32_t> generateAlone(const Generation &program,
                                          const Request &request) {
  Sampler sampler(program.vocabulary);
  std::vector<int32_t> tokens = request.prompt;
  auto longest = size_t(std::min(program.context, program.cells));
  std::vector<int32_t> ends = endsOf(program, request);
  auto prompt = int64_t(request.prompt.size());
  if (request.maxTokens == 0)
    return {};
  do {
    std::vector<uint32_t> allowed;
    if (request.mask) {
      allowed.resize(size_t(program.vocabulary + 31) / 32);
      auto goesOn = request.mask(
          std::span(tokens).subspan(request.prompt.size()), allowed);
      if (!goesOn || !*goesOn)
        break;
    }
    bool isLast = tokens.size() + 1 >= longest ||
                  int64_t(tokens.size()) - prompt + 1 >= request.maxTokens;
    auto token =
        sampler.choose(logitsAfter(program, tokens).data(), request.sampling,
                       {tokens, prompt, isLast, ends, allowed});
    if (!token)
      break;
    tokens.push_back(*token);
  } while (!std::count(ends.begin(), ends.end(), tokens.back()) &&
           tokens.size() < longest &&
           tokens.size() - request.prompt.size() < size_t(request.maxTokens));
  return {tokens.begin() + long(request.prompt.size()), tokens.end()};
}

class FakeModel final : public StepModel {
public:
  explicit FakeModel(const Generation &program)
      : program(program), cells(size_t(program.cells)),
        values(size_t(program.rows * program.vocabulary)),
        sampler(program.vocabulary) {}

  /// The owner of the pages; null: they are not looked at.
  const Pages *pages = nullptr;
  int64_t steps = 0, ends = 0;
  Status broken;         ///< what every step returns
  int64_t throwsAt = -1; ///< the step that has no memory
  /// Tokens that come in turn, by position; none: any may come.
  std::vector<int32_t> cycle;
  std::vector<std::string> aborts;

  void end() override { ++ends; }
  void abort(const Status &status) override {
    aborts.push_back(status.message());
  }
  Status failure() override {
    return isLost ? lostError("rank 1 is lost") : Status();
  }
  std::atomic<bool> isLost = false; ///< a rank is, whether or not steps run

  /// Rows that nobody wants hold no numbers.
  Expected<const float *> logits(const std::vector<bool> &wanted) override {
    EXPECT_LE(wanted.size(), size_t(program.rows));
    EXPECT_GT(std::count(wanted.begin(), wanted.end(), true), 0);
    for (size_t row = 0; row < size_t(program.rows); ++row)
      if (row >= wanted.size() || !wanted[row])
        std::fill_n(values.begin() + int64_t(row) * program.vocabulary,
                    program.vocabulary, NAN);
    return static_cast<const float *>(values.data());
  }

  Status step(Batch &batch) override {
    if (steps++ == throwsAt)
      throw std::bad_alloc();
    TPRT_TRY(broken);
    poison();
    EXPECT_GT(batch.tokens, 0);
    EXPECT_LE(batch.tokens, program.chunk);
    EXPECT_EQ(batch.starts[0], 0);
    EXPECT_EQ(batch.starts[size_t(program.rows)], batch.tokens);
    for (size_t i = size_t(batch.tokens); i < batch.ids.size(); ++i)
      EXPECT_EQ(batch.ids[i], 0);
    for (int64_t row = 0; row < program.rows; ++row)
      write(batch, row);
    for (int64_t row = 0; row < program.rows; ++row)
      read(batch, row);
    for (int64_t row = 0; row < program.rows; ++row)
      choose(batch, size_t(row));
    return {};
  }

private:
  struct Cell {
    int64_t token = -1, position = -1;
  };

  void poison() {
    for (int32_t page = 0; pages && page < pages->count(); ++page)
      if (pages->users(page) == 0 && !pages->isKept(page))
        std::fill_n(cells.begin() + page * program.page, program.page, Cell{});
  }

  int32_t pageAt(const Batch &batch, int64_t row, int64_t position) const {
    return batch
        .table[size_t(row * program.tablePages() + position / program.page)];
  }

  void write(const Batch &batch, int64_t row) {
    int64_t first = batch.starts[size_t(row)];
    int64_t end = batch.starts[size_t(row + 1)];
    EXPECT_LE(first, end);
    if (row >= batch.rows)
      EXPECT_EQ(first, end);
    for (int64_t i = first; i < end; ++i) {
      int64_t position = batch.context[size_t(row)] + i - first;
      int32_t page = pageAt(batch, row, position);
      ASSERT_GE(page, 0);
      if (pages) {
        EXPECT_EQ(pages->users(page), 1) << "a shared page is written";
        EXPECT_FALSE(pages->isKept(page)) << "a kept page is written";
      }
      cells[size_t(page * program.page + position % program.page)] = {
          batch.ids[size_t(i)], position};
    }
  }

  void read(const Batch &batch, int64_t row) {
    int64_t tokens = batch.starts[size_t(row + 1)] - batch.starts[size_t(row)];
    int64_t length = batch.context[size_t(row)] + tokens;
    float *out = values.data() + row * program.vocabulary;
    std::fill_n(out, program.vocabulary, std::nanf(""));
    if (tokens == 0)
      return;
    int64_t first =
        program.window ? std::max<int64_t>(length - program.window, 0) : 0;
    uint64_t state = 0;
    for (int64_t p = first; p < length; ++p) {
      int32_t page = pageAt(batch, row, p);
      if (page < 0)
        return;
      const Cell &cell = cells[size_t(page * program.page + p % program.page)];
      if (cell.position != p)
        return;
      state = mixIn(state, cell.token, cell.position);
    }
    logitsOf(state, program.vocabulary, out);
    if (!cycle.empty())
      out[cycle[size_t(length) % cycle.size()]] += 100;
  }

  /// Every fifth token cannot be told.
  void choose(Batch &batch, size_t row) {
    int32_t position = batch.positions[row];
    batch.chosen[row] = -1;
    if (position < 0 || ++choices % 5 == 0)
      return;
    EXPECT_GT(batch.starts[row + 1], batch.starts[row]);
    EXPECT_EQ(position,
              batch.context[row] + batch.starts[row + 1] - batch.starts[row]);
    Sampling sampling;
    sampling.seed = uint64_t(batch.seeds[row]);
    sampling.temperature = batch.temperatures[row];
    sampling.topK = batch.topK[row];
    sampling.topP = batch.topP[row];
    sampling.minP = batch.minP[row];
    const float *logits = values.data() + int64_t(row) * program.vocabulary;
    std::vector<int32_t> tokens(size_t(position), 0);
    auto token = sampler.choose(logits, sampling, {tokens, position});
    if (!token)
      return;
    batch.chosen[row] = *token;
    batch.logprobs[row] =
        sampler.logProbabilities(logits, *token, 0).front().second;
  }

  const Generation program;
  std::vector<Cell> cells;
  std::vector<float> values; ///< logits
  Sampler sampler;
  int64_t choices = 0;
};

} // namespace tprt::test

#endif // TPRT_TEST_FAKEMODEL_H
