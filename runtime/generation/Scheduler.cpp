//===- Scheduler.cpp - which tokens the next step computes ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"

#include <algorithm>
#include <cmath>

using namespace tprt;
using namespace tprt::generation;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

Scheduler::Scheduler(const Generation &program, StepModel &model,
                     SharedStatistics &statistics)
    : program(program), model(model), statistics(statistics),
      pages(program.pages(), program.page), sampler(program.vocabulary),
      longest(program.longest()), batch(program) {
  statistics.update([&](Statistics &s) {
    s.context = longest;
    s.vocabulary = this->program.vocabulary;
    s.stopIds = this->program.stopIds;
    s.mayGuess = this->program.convInputs == 0;
    s.defaults = this->program.config.text;
    s.notes = notesOn(this->program);
    s.pages = pages.count();
    s.pageSize = pages.size();
  });
}

void Scheduler::add(uint64_t number, Request request) {
  auto sequence = std::make_unique<Sequence>();
  sequence->number = number;
  sequence->tokens = request.prompt;
  sequence->ends = endsOf(program, request);
  sequence->request = std::move(request);
  sequence->last = Clock::now();
  waiting.push_back(std::move(sequence));
}

void Scheduler::cancel(uint64_t number, std::vector<Event> &events) {
  auto endIn = [&](auto &list) {
    auto found = std::find_if(list.begin(), list.end(), [&](const Owner &s) {
      return s->number == number;
    });
    if (found == list.end())
      return;
    release(**found);
    list.erase(found);
    events.push_back({number, -1, Finish::Cancelled});
    statistics.update([](Statistics &s) { ++s.cancelled; });
  };
  endIn(running);
  endIn(waiting);
  gauge();
}

/// Brings the statistics of what there is now up to date.
void Scheduler::gauge() {
  statistics.update([&](Statistics &s) {
    s.running = int64_t(running.size());
    s.waiting = queued();
    s.pagesUsed = pages.count() - pages.available();
    s.pagesUsedMost = std::max(s.pagesUsedMost, s.pagesUsed);
    s.pagesKept = pages.keptUnused();
  });
}

//===----------------------------------------------------------------------===//
// Pages of a sequence
//===----------------------------------------------------------------------===//

/// The last first.
void Scheduler::release(Sequence &sequence) {
  while (!sequence.pages.empty()) {
    if (sequence.pages.back() >= 0)
      pages.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
  sequence.oldPages = 0; // admit() says the rest
}

/// Gives the sequence a page for its next token; takes those of the youngest
/// if there are none. False if that was this one.
bool Scheduler::reserve(Sequence &sequence) {
  while (int64_t(sequence.pages.size()) * pages.size() <= sequence.computed) {
    int32_t page = pages.take();
    if (page >= 0) {
      sequence.pages.push_back(page);
      continue;
    }
    Owner youngest = std::move(running.back());
    running.pop_back();
    release(*youngest);
    bool isSelf = youngest.get() == &sequence;
    waiting.push_front(std::move(youngest));
    statistics.update([](Statistics &s) { ++s.recomputed; });
    if (isSelf)
      return false;
  }
  return true;
}

/// Lets the first that waits run, if there are pages for it.
bool Scheduler::admit() {
  Sequence &sequence = *waiting.front();
  int64_t count = int64_t(sequence.tokens.size());
  // The last token is computed in any case: its logits are wanted.
  // So is all of a prompt whose tokens' probabilities are.
  int64_t most = sequence.wantsPrompt() ? 0 : (count - 1) / pages.size();
  Pages::Chain chain = pages.find(sequence.tokens, most);
  sequence.pages = chain.pages;
  // For one token more.
  int64_t missing = count / pages.size() + 1 - int64_t(sequence.pages.size());
  if (missing > pages.available()) {
    release(sequence);
    return false;
  }
  while (missing-- > 0)
    sequence.pages.push_back(pages.take());
  sequence.fullPages = int64_t(chain.pages.size());
  sequence.serial = chain.serial;
  sequence.computed = sequence.fullPages * pages.size();
  // A page that it lost and finds again is no hit.
  int64_t found = std::max<int64_t>(0, sequence.computed - sequence.furthest);
  sequence.furthest += found;
  statistics.update([&](Statistics &s) { s.prefixHits += found; });
  running.push_back(std::move(waiting.front()));
  waiting.pop_front();
  return true;
}

/// Counts tokens that a step has computed: each once, and otherwise as computed
/// again, where the sequence had lost its pages.
void Scheduler::noteComputed(Sequence &sequence, int64_t count) {
  sequence.computed += count;
  int64_t before = sequence.furthest;
  sequence.furthest = std::max(before, sequence.computed);
  auto inPrompt = [&](int64_t end) { return std::min(end, sequence.prompt()); };
  statistics.update([&](Statistics &s) {
    s.computedTokens += count;
    s.computedAgain += count - (sequence.furthest - before);
    s.promptComputed += inPrompt(sequence.furthest) - inPrompt(before);
  });
}

/// Keeps the pages that have become full, and gives back those that no later
/// token sees.
void Scheduler::keepPages(Sequence &sequence) {
  int64_t size = pages.size();
  for (int64_t &i = sequence.fullPages; (i + 1) * size <= sequence.computed;
       ++i)
    sequence.serial = pages.keep(sequence.pages[size_t(i)], sequence.serial,
                                 sequence.tokens.data() + i * size);
  if (program.window == 0)
    return;
  // The next token, at `computed`, sees those above computed - window.
  for (int64_t &i = sequence.oldPages;
       (i + 1) * size <= sequence.computed - program.window + 1; ++i) {
    pages.release(sequence.pages[size_t(i)]);
    sequence.pages[size_t(i)] = -1;
  }
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// A row for tokens at positions `begin` and on.
size_t Scheduler::addRow(Sequence &sequence, int64_t begin, const int32_t *ids,
                         int64_t count) {
  int64_t row = batch.rows++, width = program.tablePages();
  batch.context[size_t(row)] = int32_t(begin);
  std::copy_n(ids, count, batch.ids.begin() + batch.tokens);
  batch.tokens += count;
  auto table = batch.table.begin() + row * width;
  std::fill(std::copy(sequence.pages.begin(), sequence.pages.end(), table),
            table + width, -1);
  batch.starts[size_t(row + 1)] = int32_t(batch.tokens);
  scheduled.push_back(&sequence);
  guessed.push_back(false);
  return size_t(row);
}

/// Gives `count` tokens of the sequence a row, from number `first` of those
/// that are left.
void Scheduler::put(Sequence &sequence, int64_t first, int64_t count) {
  int64_t begin = sequence.computed + first;
  size_t row = addRow(sequence, begin, sequence.tokens.data() + begin, count);
  chooseNext(sequence, row, first + count == sequence.left());
}

/// Returns what followed the text's last tokens where it had them before:
/// `most` tokens at most, from the last such place. None if the last two are
/// new together.
static std::span<const int32_t> lookUp(const std::vector<int32_t> &text,
                                       int64_t most) {
  auto size = int64_t(text.size());
  for (int64_t length : {3, 2})
    for (int64_t end = size - 1; end >= length; --end)
      if (std::equal(text.end() - length, text.end(),
                     text.begin() + (end - length)))
        return std::span(text).subspan(size_t(end),
                                       size_t(std::min(most, size - end)));
  return {};
}

/// Gives guesses of what follows the sequence's last token, which has the row
/// before, rows of their own: as far as the step, the answer and the pages have
/// room that nobody else asks for. Rows of one text see each other's keys, and
/// those of a wrong guess are written again before anybody sees them.
void Scheduler::putGuesses(Sequence &sequence) {
  const Request &request = sequence.request;
  int64_t size = int64_t(sequence.tokens.size());
  int64_t most = std::min({request.guesses, program.rows - batch.rows,
                           program.chunk - batch.tokens, longest - 1 - size,
                           request.maxTokens - sequence.generated() - 1});
  bool isHostsChoice = request.sampling.isAdjusted() ||
                       request.sampling.isRestricted() || request.mask;
  if (most <= 0 || isHostsChoice || sequence.left() != 1)
    return;
  int64_t begin = size;
  std::span<const int32_t> ids = lookUp(sequence.tokens, most);
  for (const int32_t &id : ids) {
    bool needsPage = begin >= int64_t(sequence.pages.size()) * pages.size();
    // Others may need one for their next token.
    if (needsPage && pages.available() <= int64_t(running.size()))
      return;
    if (needsPage)
      sequence.pages.push_back(pages.take());
    size_t row = addRow(sequence, begin++, &id, 1);
    chooseNext(sequence, row, /*isLast=*/true);
    guessed[row] = true;
    statistics.update([](Statistics &s) { ++s.guessed; });
  }
}

/// Gives the step as much of the sequence's prompt as there is room for. A
/// step has the logits of each row's last token alone, so where those of the
/// whole prompt are wanted each token is a row of its own: rows of one text see
/// each other's keys, which a layer writes before any row reads them.
void Scheduler::prefill(Sequence &sequence) {
  int64_t count = std::min(sequence.left(), program.chunk - batch.tokens);
  if (!sequence.wantsPrompt())
    return put(sequence, 0, count);
  count = std::min(count, program.rows - batch.rows);
  for (int64_t i = 0; i < count; ++i)
    put(sequence, i, 1);
}

/// How many tokens of its text a row has behind it.
int64_t Scheduler::endOf(size_t row) const {
  return batch.context[row] + batch.starts[row + 1] - batch.starts[row];
}

/// True if the row has the last token of its text, so that the next is chosen.
bool Scheduler::isAtEnd(size_t row) const {
  return endOf(row) == int64_t(scheduled[row]->tokens.size());
}

History Scheduler::historyOf(const Sequence &sequence) const {
  return {sequence.tokens, sequence.prompt(),
          sequence.generated() + 1 >= sequence.request.maxTokens ||
              int64_t(sequence.tokens.size()) + 1 >= longest,
          sequence.ends, sequence.allowed};
}

/// Has the program choose the sequence's next token, if there is one and it
/// can. It knows nothing of excluded tokens, but the best of all is also the
/// best of those that are left, unless it is excluded itself.
void Scheduler::chooseNext(const Sequence &sequence, size_t row, bool isLast) {
  const Request &request = sequence.request;
  const Sampling &sampling = request.sampling;
  bool isRestricted = sampling.isRestricted() || request.mask;
  bool canChoose = !sampling.isAdjusted() &&
                   !(isRestricted && sampling.isCut()) && request.maxTokens > 0;
  batch.positions[row] = isLast && canChoose ? int32_t(endOf(row)) : -1;
  batch.seeds[row] = int64_t(sampling.seed);
  batch.temperatures[row] = sampling.temperature;
  batch.topK[row] = int32_t(std::min(sampling.topK, program.vocabulary));
  batch.topP[row] = sampling.topP;
  batch.minP[row] = sampling.minP;
}

void Scheduler::compose() {
  batch.tokens = batch.rows = 0;
  scheduled.clear();
  guessed.clear();
  // A page that is taken from the youngest makes the list shorter at its end.
  for (size_t i = 0; i < running.size() && batch.tokens < program.chunk; ++i)
    if (running[i]->left() == 1 && reserve(*running[i]))
      put(*running[i], 0, 1);
  auto hasRoom = [&] {
    return batch.tokens < program.chunk && batch.rows < program.rows;
  };
  for (const Owner &sequence : running)
    if (sequence->left() > 1 && hasRoom())
      prefill(*sequence);
  while (!waiting.empty() && hasRoom() &&
         int64_t(running.size()) < program.rows && admit())
    prefill(*running.back());
  size_t certain = scheduled.size();
  for (size_t row = 0; row < certain && hasRoom(); ++row)
    if (isAtEnd(row))
      putGuesses(*scheduled[row]);
  for (int64_t row = batch.rows; row < program.rows; ++row) {
    batch.starts[size_t(row + 1)] = int32_t(batch.tokens);
    batch.context[size_t(row)] = 0;
    batch.positions[size_t(row)] = -1;
    std::fill_n(batch.table.begin() + row * program.tablePages(),
                program.tablePages(), -1);
  }
  std::fill(batch.ids.begin() + batch.tokens, batch.ids.end(), 0);
}

/// Has the masks say which tokens may be chosen now.
void Scheduler::askMasks() {
  for (size_t row = 0; row < scheduled.size(); ++row) {
    Sequence &sequence = *scheduled[row];
    const Request &request = sequence.request;
    if (!request.mask || !isAtEnd(row) || sequence.isEnded())
      continue;
    sequence.allowed.assign(size_t(program.vocabulary + 31) / 32, 0);
    Expected<bool> goesOn =
        request.mask(std::span(sequence.tokens).subspan(request.prompt.size()),
                     sequence.allowed);
    sequence.maskError = goesOn.status();
    sequence.isComplete = goesOn && !*goesOn;
  }
}

/// Forgets tokens that the program has chosen and the rules do not let stand.
void Scheduler::dropOverruled() {
  for (size_t row = 0; row < scheduled.size(); ++row) {
    const Sequence &sequence = *scheduled[row];
    const Sampling &sampling = sequence.request.sampling;
    int32_t &token = batch.chosen[row];
    bool isRestricted = sampling.isRestricted() || sequence.request.mask;
    if (isAtEnd(row) && token >= 0 && isRestricted && !sequence.isEnded() &&
        isOverruled(sampling, historyOf(sequence), token, excluded))
      token = -1;
  }
}

/// The rows whose logits the host needs: a token must be chosen from them here,
/// or its rivals are asked for. Other rows cost nothing by that.
std::vector<bool> Scheduler::rowsOfLogits() const {
  std::vector<bool> wanted(scheduled.size());
  for (size_t row = 0; row < scheduled.size(); ++row) {
    const Sequence &sequence = *scheduled[row];
    bool isChosenHere =
        (guessed[row] || isAtEnd(row)) && !sequence.isEnded() &&
        (batch.chosen[row] < 0 || sequence.request.logProbabilities > 0);
    wanted[row] = isChosenHere || isAwaited(row);
  }
  return wanted;
}

/// True if the row tells the probability of a prompt's token.
bool Scheduler::isAwaited(size_t row) const {
  const Sequence &sequence = *scheduled[row];
  int64_t end = endOf(row);
  return sequence.wantsPrompt() && end >= sequence.told &&
         end < sequence.prompt();
}

/// The probability of the prompt's token that follows the row's.
Event Scheduler::tellPrompt(Sequence &sequence, size_t row,
                            const float *logits) {
  int64_t end = endOf(row);
  Event event{sequence.number, sequence.tokens[size_t(end)]};
  event.isOfPrompt = true;
  event.logProbabilities = sampler.logProbabilities(
      logits, event.token, sequence.request.promptLogProbabilities);
  sequence.told = end + 1;
  return event;
}

/// The last event of a sequence without a new token.
Event Scheduler::endWithout(const Sequence &sequence) {
  Event event{sequence.number};
  event.error = sequence.maskError;
  event.finish = !event.error.ok()     ? Finish::Error
                 : sequence.isComplete ? Finish::Stop
                                       : Finish::Length;
  statistics.update([&](Statistics &s) {
    s.promptTokens += sequence.generated() == 0 ? sequence.prompt() : 0;
  });
  return event;
}

/// Logits that are no numbers are our fault only if the weights are numbers.
Status Scheduler::explain(const Status &status) {
  if (status.code() != Code::Internal)
    return status;
  std::string cause = model.notFiniteWeights();
  return cause.empty() ? status : userError(status.message(), ": ", cause);
}

/// The next token of a sequence, in that row of the step.
Event Scheduler::sample(Sequence &sequence, size_t row, const float *logits) {
  const Request &request = sequence.request;
  if (sequence.isEnded())
    return endWithout(sequence);
  Event event{sequence.number};
  Expected<int32_t> token = batch.chosen[row];
  if (*token < 0)
    token = sampler.choose(logits, request.sampling, historyOf(sequence));
  if (!token) {
    event.finish = Finish::Error;
    event.error = explain(token.status());
    return event;
  }
  event.token = *token;
  if (request.logProbabilities >= 0 && !logits)
    event.logProbabilities = {{*token, batch.logprobs[row]}};
  else if (request.logProbabilities >= 0)
    event.logProbabilities =
        sampler.logProbabilities(logits, *token, request.logProbabilities);
  bool isFirst = sequence.generated() == 0;
  statistics.update([&](Statistics &s) {
    ++s.generatedTokens;
    s.promptTokens += isFirst ? sequence.prompt() : 0;
    (isFirst ? s.firstToken : s.betweenTokens).add(secondsSince(sequence.last));
  });
  sequence.last = Clock::now();
  sequence.tokens.push_back(*token);
  const std::vector<int32_t> &ends = sequence.ends;
  if (std::find(ends.begin(), ends.end(), *token) != ends.end())
    event.finish = Finish::Stop;
  else if (sequence.generated() >= request.maxTokens ||
           int64_t(sequence.tokens.size()) >= longest)
    event.finish = Finish::Length;
  return event;
}

/// True if the row's guess is the token that has come, so that the row is as if
/// it had been computed after it.
bool Scheduler::isGuessRight(size_t row) const {
  const Sequence &sequence = *scheduled[row];
  return isAtEnd(row) &&
         batch.ids[size_t(batch.starts[row])] == sequence.tokens.back();
}

/// Tells what came of the row of a step that has run.
void Scheduler::takeRow(size_t row, const float *logits,
                        std::vector<Event> &events) {
  Sequence &sequence = *scheduled[row];
  if (guessed[row]) {
    if (!isGuessRight(row))
      return;
    noteComputed(sequence, 1);
    statistics.update([](Statistics &s) { ++s.guessedRight; });
  }
  keepPages(sequence);
  if (isAwaited(row))
    events.push_back(tellPrompt(sequence, row, logits));
  if (!isAtEnd(row))
    return;
  events.push_back(sample(sequence, row, logits));
  if (events.back().finish == Finish::None)
    return;
  release(sequence);
  // Rows of guesses may follow.
  std::replace(scheduled.begin(), scheduled.end(), &sequence,
               static_cast<Sequence *>(nullptr));
  std::erase_if(running, [&](const Owner &s) { return s.get() == &sequence; });
  statistics.update([](Statistics &s) { ++s.finished; });
}

Status Scheduler::step(std::vector<Event> &events) {
  if (idle())
    return {};
  auto start = Clock::now();
  int64_t prefilled = 0, generated = 0;
  statistics.update([&](const Statistics &s) {
    prefilled = s.promptComputed + s.computedAgain;
    generated = s.generatedTokens;
  });
  compose();
  gauge();
  auto modelStart = Clock::now();
  TPRT_TRY(model.step(batch));
  for (size_t row = 0; row < scheduled.size(); ++row)
    if (!guessed[row])
      noteComputed(*scheduled[row], batch.starts[row + 1] - batch.starts[row]);
  askMasks();
  dropOverruled();
  std::vector<bool> wanted = rowsOfLogits();
  const float *all = nullptr;
  if (std::count(wanted.begin(), wanted.end(), true) > 0) {
    TPRT_ASSIGN(all, model.logits(wanted));
  }
  double modelSeconds = secondsSince(modelStart);
  for (size_t row = 0; row < scheduled.size(); ++row) {
    const float *logits =
        wanted[row] ? all + int64_t(row) * program.vocabulary : nullptr;
    if (scheduled[row])
      takeRow(row, logits, events);
  }
  gauge();
  statistics.update([&](Statistics &s) {
    ++s.steps;
    double seconds = secondsSince(start);
    s.seconds += seconds;
    s.hostSeconds += seconds - modelSeconds;
    if (s.promptComputed + s.computedAgain != prefilled)
      return;
    ++s.decodeSteps;
    s.decodeSeconds += seconds;
    s.decodeTokens += s.generatedTokens - generated;
  });
  return {};
}
