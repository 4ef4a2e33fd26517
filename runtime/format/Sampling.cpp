//===- Sampling.cpp - reads how the next token is chosen ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sampling.h"

#include "Cursor.h"

using namespace tprt;

namespace {
/// Reads the keys of one object into the fields that they are.
class SamplingReader {
public:
  SamplingReader(const Cursor &object, int64_t vocabulary)
      : object(object), vocabulary(vocabulary) {}

  void number(const char *key, float &value) const {
    if (object.has(key))
      value = float(object[key].number());
  }
  bool count(const char *key, int64_t &value, int64_t least = 0) const {
    if (!object.has(key))
      return false;
    value = object[key].integer(least);
    return true;
  }
  void count(const char *key, std::optional<int64_t> &value) const {
    if (object.has(key))
      value = object[key].integer();
  }
  void id(const char *key, int32_t &value) const {
    if (object.has(key))
      value = idOf(object[key]);
  }
  void ids(const char *key, Sampling::Ids &value) const {
    if (object.has(key))
      value = idsOf(object[key]);
  }
  void sequences(const char *key, std::vector<Sampling::Ids> &value) const {
    if (!object.has(key))
      return;
    value.clear();
    for (const Cursor &item : object[key].list())
      value.push_back(sequenceOf(item));
  }
  void biases(const char *key,
              std::vector<std::pair<Sampling::Ids, float>> &value) const {
    if (!object.has(key))
      return;
    value.clear();
    for (const Cursor &item : object[key].list()) {
      auto pair = item.list(2, "[[ids], bias]");
      value.push_back({sequenceOf(pair[0]), float(pair[1].number())});
    }
  }
  void decay(const char *key, Sampling &sampling) const {
    if (!object.has(key))
      return;
    auto pair = object[key].list(2, "[start, factor]");
    sampling.decayStart = pair[0].integer(0);
    sampling.decayFactor = float(pair[1].number());
  }

private:
  int32_t idOf(const Cursor &item) const {
    return int32_t(item.integer(0, vocabulary - 1));
  }
  Sampling::Ids idsOf(const Cursor &cursor) const {
    Sampling::Ids ids;
    for (const Cursor &item : cursor.list())
      ids.push_back(idOf(item));
    return ids;
  }
  Sampling::Ids sequenceOf(const Cursor &cursor) const {
    Sampling::Ids ids = idsOf(cursor);
    if (ids.empty())
      cursor.fail("expected at least one id");
    return ids;
  }

  const Cursor &object;
  int64_t vocabulary;
};
} // namespace

void tprt::readSampling(const Cursor &object, int64_t vocabulary, Sampling &s,
                        AnswerLimit &limit) {
  SamplingReader read(object, vocabulary);
  read.biases("sequence_bias", s.sequenceBias);
  read.number("repetition_penalty", s.repetition);
  read.number("presence_penalty", s.presence);
  read.number("frequency_penalty", s.frequency);
  read.decay("exponential_decay_length_penalty", s);
  read.count("no_repeat_ngram_size", s.noRepeat);
  read.sequences("bad_words_ids", s.badWords);
  // Either least length replaces the other; the answer's wins over the text's.
  if (read.count("min_length", s.minLength))
    s.minTokens = 0;
  if (read.count("min_new_tokens", s.minTokens))
    s.minLength = 0;
  read.ids("suppress_tokens", s.suppressed);
  read.ids("begin_suppress_tokens", s.suppressedFirst);
  read.id("forced_bos_token_id", s.forcedFirst);
  read.ids("forced_eos_token_id", s.forcedLast);
  read.number("temperature", s.temperature);
  read.count("top_k", s.topK, INT64_MIN);
  read.number("min_p", s.minP);
  read.number("top_p", s.topP);
  AnswerLimit own;
  read.count("max_new_tokens", own.newTokens);
  read.count("max_length", own.length);
  if (own.newTokens || own.length)
    limit = own;
  object.end();
}
