//===- Sequences.cpp - sequences shorter than compiled --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Sequences.h.
//
//===----------------------------------------------------------------------===//

#include "Sequences.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

/// The input of that name whose positions count.
const Input *findSequences(const Entry &entry, std::string_view name) {
  for (const Input &input : entry.inputs)
    if (input.sequences && input.name == name)
      return &input;
  return nullptr;
}

/// `32, 128 and 512`
std::string listLengths(const std::vector<Entry> &entries) {
  std::vector<int64_t> lengths;
  for (const Entry &entry : entries)
    if (entry.positions > 0)
      lengths.push_back(entry.positions);
  std::sort(lengths.begin(), lengths.end());
  std::string text;
  for (size_t i = 0; i < lengths.size(); ++i)
    text += (i == 0                   ? ""
             : i + 1 < lengths.size() ? ", "
                                      : " and ") +
            std::to_string(lengths[i]);
  return text;
}

/// Bytes of one position.
int64_t cellBytes(const Shape &shape, int64_t size) {
  for (size_t d = 2; d < shape.size(); ++d)
    size *= shape[d];
  return size;
}

int64_t leftOf(const SequenceFit &fit, int64_t row) {
  return fit.left.empty() ? 0 : fit.left[size_t(row)];
}

} // namespace

Expected<int64_t> tprt::chooseEntry(const std::vector<Entry> &entries,
                                    const NamedShapes &inputs) {
  int64_t chosen = -1, most = 0;
  std::string_view longest;
  for (const auto &[name, shape] : inputs)
    if (findSequences(entries[0], name) && shape.size() >= 2 &&
        shape[1] > most) {
      most = shape[1];
      longest = name;
    }
  if (most == 0)
    return 0;
  int64_t largest = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    int64_t positions = entries[i].positions;
    largest = std::max(largest, positions);
    if (positions >= most &&
        (chosen < 0 || positions < entries[size_t(chosen)].positions))
      chosen = int64_t(i);
  }
  if (chosen < 0)
    return userError("input '", longest, "': expected at most ", largest,
                     " positions, got ", most,
                     ": the program is compiled for sequences of ",
                     listLengths(entries));
  return chosen;
}

Expected<SequenceFit> tprt::fitSequences(const Entry &entry,
                                         const NamedShapes &inputs) {
  SequenceFit fit{entry.positions, {}};
  std::string_view first;
  for (const auto &[name, shape] : inputs) {
    if (!findSequences(entry, name) || shape.size() < 2)
      continue;
    if (!first.empty() && shape[1] != fit.positions)
      return userError("input '", name, "': expected ", fit.positions,
                       " positions as input '", first, "' has, got ", shape[1]);
    first = name;
    fit.positions = shape[1];
  }
  return fit;
}

Expected<SequenceFit> tprt::fitSequences(const Entry &entry,
                                         const InputValues &values) {
  NamedShapes shapes;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i])
      shapes.emplace_back(entry.inputs[i].name, values[i]->shape);
  TPRT_ASSIGN(SequenceFit fit, fitSequences(entry, shapes));
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] && entry.inputs[i].sequences && entry.inputs[i].rightPadded)
      fit.left = leftPadding(entry.inputs[i], *values[i]);
  return fit;
}

InputValues tprt::moveIn(const Entry &entry, const SequenceFit &fit,
                         const InputValues &values) {
  InputValues moved = values;
  for (size_t i = 0; i < values.size(); ++i) {
    const Input &input = entry.inputs[i];
    if (!input.sequences)
      continue;
    InputValue given;
    int64_t size = typeBytes(input.type);
    if (values[i]) {
      given = *values[i];
    } else {
      // Zeros have nothing to be moved; ones end with the sequence.
      if (input.defaultValue != Input::Default::Ones)
        continue;
      given.copy = ones(input.type, elementCount(input.shape) /
                                        entry.positions * fit.positions);
    }
    int64_t cell = cellBytes(input.shape, size);
    InputValue &made = moved[i].emplace();
    made.shape = input.shape;
    made.copy.assign(size_t(elementCount(input.shape) * size), '\0');
    for (int64_t row = 0; row < input.shape[0]; ++row) {
      int64_t left = leftOf(fit, row);
      std::memcpy(made.copy.data() + row * entry.positions * cell,
                  given.data() + (row * fit.positions + left) * cell,
                  size_t((fit.positions - left) * cell));
    }
  }
  return moved;
}

Shape tprt::shapeFor(const Output &output, const SequenceFit &fit) {
  Shape shape = output.shape;
  if (output.sequences)
    shape[1] = fit.positions;
  return shape;
}

void tprt::moveOut(const Output &output, const SequenceFit &fit,
                   const char *from, int64_t size, char *to) {
  int64_t cell = cellBytes(output.shape, size);
  for (int64_t row = 0; row < output.shape[0]; ++row) {
    int64_t left = leftOf(fit, row);
    char *at = to + row * fit.positions * cell;
    std::memset(at, 0, size_t(left * cell));
    std::memcpy(at + left * cell, from + row * output.shape[1] * cell,
                size_t((fit.positions - left) * cell));
  }
}
