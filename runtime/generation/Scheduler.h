//===- Scheduler.h - which tokens the next step computes --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Continuous batching. A step takes, in the order in which requests came: one
// token of each that generates; then prompts in chunks, as many tokens as the
// step has left; then new prompts, while there are rows for them and pages for
// all of the prompt and one token more. When a request needs a page and there
// is none, the youngest loses its own and waits in front: what it had is
// computed again, unless its pages are still kept. So the oldest always goes
// on. Used by one thread.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_SCHEDULER_H
#define TPRT_GENERATION_SCHEDULER_H

#include "Pages.h"
#include "Sampler.h"
#include "Statistics.h"
#include "StepModel.h"

#include <chrono>
#include <deque>
#include <memory>

namespace tprt::generation {

class Scheduler {
public:
  Scheduler(const Generation &program, StepModel &model,
            SharedStatistics &statistics);

  /// A request that checkRequest has passed; numbers rise.
  void add(uint64_t number, Request request);
  /// Ends a request, if there is one of that number.
  void cancel(uint64_t number, std::vector<Event> &events);
  /// True if there is nothing to compute.
  bool idle() const { return running.empty() && waiting.empty(); }
  int64_t queued() const { return int64_t(waiting.size()); }
  /// Takes one step; adds what came of it. An error is the model's.
  Status step(std::vector<Event> &events);

  const Pages &cache() const { return pages; }

private:
  using Clock = std::chrono::steady_clock;

  struct Sequence {
    uint64_t number;
    Request request;
    std::vector<int32_t> tokens; ///< the prompt and what was generated
    std::vector<int32_t> ends;   ///< ids that end the answer
    int64_t computed = 0;        ///< tokens whose keys and values are in pages
    int64_t furthest = 0;        ///< the most that `computed` ever was
    std::vector<int32_t> pages;  ///< -1: given back, behind the window
    int64_t fullPages = 0, oldPages = 0; ///< kept if any, and given back
    uint64_t serial = 0;                 ///< of the last kept page
    Clock::time_point last;              ///< token, or the arrival
    int64_t told = 1; ///< the prompt's tokens whose probability is not awaited
    std::vector<uint32_t> allowed; ///< of the next token, by the mask
    Status maskError;
    bool isComplete = false; ///< as the mask says
    /// True if no token is to be chosen any more.
    bool isEnded() const {
      return isComplete || !maskError.ok() || request.maxTokens == 0;
    }

    int64_t prompt() const { return int64_t(request.prompt.size()); }
    int64_t generated() const { return int64_t(tokens.size()) - prompt(); }
    int64_t left() const { return int64_t(tokens.size()) - computed; }
    /// True if log-probabilities of the prompt are still to be told.
    bool wantsPrompt() const {
      return request.promptLogProbabilities >= 0 && told < prompt();
    }
  };
  using Owner = std::unique_ptr<Sequence>;

  void compose();
  bool reserve(Sequence &sequence);
  bool admit();
  size_t addRow(Sequence &sequence, int64_t begin, const int32_t *ids,
                int64_t count);
  void put(Sequence &sequence, int64_t first, int64_t count);
  void putGuesses(Sequence &sequence);
  void prefill(Sequence &sequence);
  int64_t endOf(size_t row) const;
  void takeRow(size_t row, const float *logits, std::vector<Event> &events);
  bool isGuessRight(size_t row) const;
  bool isAtEnd(size_t row) const;
  void chooseNext(const Sequence &sequence, size_t row, bool isLast);
  void release(Sequence &sequence);
  void noteComputed(Sequence &sequence, int64_t count);
  void keepPages(Sequence &sequence);
  History historyOf(const Sequence &sequence) const;
  void askMasks();
  void dropOverruled();
  std::vector<bool> rowsOfLogits() const;
  bool isAwaited(size_t row) const;
  Event tellPrompt(Sequence &sequence, size_t row, const float *logits);
  Event endWithout(const Sequence &sequence);
  Status explain(const Status &status);
  Event sample(Sequence &sequence, size_t row, const float *logits);
  void gauge();

  const Generation program;
  StepModel &model;
  SharedStatistics &statistics;
  Pages pages;
  Sampler sampler;
  Sampling::Ids excluded;
  int64_t longest; ///< tokens of a sequence
  Batch batch;
  std::vector<Owner> running;        ///< by number
  std::deque<Owner> waiting;         ///< by number
  std::vector<Sequence *> scheduled; ///< by row; null once it has ended
  std::vector<bool> guessed;         ///< by row: its token is not known to come
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_SCHEDULER_H
