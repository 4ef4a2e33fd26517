//===- Results.cpp - what a run says of itself
//-----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Results.h"

#include "../tensors/NotFinite.h"
#include "tprt/units.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tprt;

/// Element i of a result, whose floats are f32.
static double elementOf(const HostTensor &tensor, int64_t i) {
  if (tensor.type == TPRT_F32) {
    float x;
    std::memcpy(&x, tensor.bytes.data() + 4 * i, 4);
    return x;
  }
  TensorView view{fileTypeOf(tensor.type), tensor.shape, tensor.bytes};
  return double(readInteger(view, i).value_or(0));
}

static std::string numberText(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

static std::string describe(const HostTensor &tensor) {
  // Longer results show so many elements at either end.
  constexpr int64_t kMost = 16, kEnds = 4;
  int64_t count = elementCount(tensor.shape), finite = 0;
  std::string line = detail::join(tensor.name, ": ", typeName(tensor.type), " ",
                                  formatShape(tensor.shape));
  if (count == 0)
    return line + ", no elements\n";
  double least = std::numeric_limits<double>::infinity(), largest = -least,
         sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = elementOf(tensor, i);
    if (!std::isfinite(x))
      continue;
    ++finite;
    least = std::min(least, x);
    largest = std::max(largest, x);
    sum += x;
  }
  if (count > 1 && finite)
    line += detail::join(", min ", numberText(least), ", mean ",
                         numberText(sum / double(finite)), ", max ",
                         numberText(largest));
  if (finite < count)
    line += detail::join(", ", count - finite, " not finite");
  line += ":";
  for (int64_t i = 0; i < count; ++i) {
    if (count > kMost && i == kEnds) {
      line += " ...";
      i = count - kEnds;
    }
    line += " " + numberText(elementOf(tensor, i));
  }
  return line + "\n";
}

std::string tprt::describeResults(const std::vector<HostTensor> &results) {
  std::string text;
  for (const HostTensor &tensor : results)
    text += describe(tensor);
  return text;
}

/// True if nothing but minus infinity is not finite, which masks that are
/// weights of a program give by right.
static bool isMasked(const HostTensor &tensor) {
  for (int64_t i = 0, count = elementCount(tensor.shape); i < count; ++i)
    if (!(elementOf(tensor, i) < std::numeric_limits<double>::infinity()))
      return false;
  return true;
}

Status tprt::explainNotFinite(Session &session,
                              const std::vector<HostTensor> &results) {
  for (const HostTensor &tensor : results) {
    NotFinite counts;
    int64_t count = elementCount(tensor.shape);
    countNotFinite(fileTypeOf(tensor.type), tensor.bytes.data(), count, counts);
    if (!counts.any() || isMasked(tensor))
      continue;
    const std::string &cause = session.notFiniteWeights();
    if (cause.empty())
      return {};
    return userError("output '", tensor.name,
                     "': ", counts.nans + counts.infinities, " of ", count,
                     " values are not finite: ", cause);
  }
  return {};
}

static std::string onRanks(const Session &session) {
  int64_t ranks = session.manifest().mesh.size();
  return detail::join(" on ", ranks, ranks == 1 ? " rank" : " ranks");
}

static std::string tokensIn(int64_t count, const char *what, double seconds) {
  return detail::join(count, count == 1 ? " token" : " tokens", what, " in ",
                      formatSeconds(seconds));
}

std::string tprt::describeAnswers(const Session &session, size_t prompts,
                                  double seconds,
                                  const generation::Statistics &statistics) {
  const generation::Statistics &s = statistics;
  std::string text = detail::join(
      "answered ", prompts, prompts == 1 ? " prompt" : " prompts",
      onRanks(session), ": weights in ", formatSeconds(session.loadSeconds()),
      ", answers in ", formatSeconds(seconds));
  text += "; " + tokensIn(s.promptComputed, " of prompts",
                          s.seconds - s.decodeSeconds);
  if (s.decodeTokens == 0)
    return text;
  char rate[32];
  std::snprintf(rate, sizeof rate, s.decodeRate() < 100 ? "%.1f" : "%.0f",
                s.decodeRate());
  return detail::join(text, ", then ",
                      tokensIn(s.decodeTokens, "", s.decodeSeconds), " (", rate,
                      " tokens/s)");
}

std::string tprt::describeRun(const Session &session,
                              const std::vector<int64_t> &entries,
                              int64_t repeat) {
  const Manifest &manifest = session.manifest();
  std::string text = "ran ", steps;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string &name = manifest.entries[size_t(entries[i])].name;
    text += (i ? ", " : "") + name;
    if (std::find(entries.begin(), entries.begin() + long(i), entries[i]) !=
        entries.begin() + long(i))
      continue;
    const StepTimes &times = session.stepTimes(entries[i]);
    if (times.count == 0)
      continue;
    steps += ", " + (entries.size() > 1 ? name : std::string("step")) + " " +
             formatSeconds(times.median());
  }
  text += repeat == 1 ? " once" : detail::join(" ", repeat, " times");
  text += onRanks(session);
  if (!manifest.parameters.empty())
    steps = ", weights in " + formatSeconds(session.loadSeconds()) + steps;
  if (!steps.empty())
    text += ": " + steps.substr(2);
  return repeat > 1 ? text + " (median)" : text;
}
