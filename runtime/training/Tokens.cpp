//===- Tokens.cpp - what a program is trained on --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tokens.h"

#include "../support/Simd.h"

#include <algorithm>

using namespace tprt;
using namespace tprt::training;

constexpr int64_t kIgnored = -100;

static bool isInteger(FileType type) {
  char element[8] = {};
  return type != FileType::BOOL &&
         readInteger({type, {1}, {element, sizeof(element)}}, 0).has_value();
}

Expected<TokenFile> TokenFile::open(const std::string &path, int64_t length,
                                    int64_t vocabulary) {
  TokenFile data;
  data.path = path, data.length = length, data.vocabulary = vocabulary;
  std::string where = "'" + path + "'";
  TPRT_ASSIGN(data.file, InputFile::open(path));
  if (path.ends_with(".npy")) {
    TPRT_ASSIGN(data.tokens, readNpyHeader(data.file, path));
  } else if (path.ends_with(".safetensors")) {
    TPRT_ASSIGN(auto tensors, readSafetensorsHeader(data.file, path));
    auto found = tensors.size() == 1 ? tensors.begin() : tensors.find("tokens");
    if (found == tensors.end())
      return userError(where,
                       ": expected one tensor, or one named 'tokens', "
                       "got ",
                       tensors.size(), " of other names");
    data.tokens = found->second;
    for (const auto &[name, tensor] : tensors)
      if (name != found->first && name != "labels")
        return userError(where, ": tensor '", name,
                         "' is not read: expected 'tokens' and, if wanted, "
                         "'labels' alone");
    if (auto labels = tensors.find("labels");
        labels != tensors.end() && labels != found) {
      data.labels = labels->second;
      if (data.labels->shape != data.tokens.shape)
        return userError(where,
                         ": tensor 'labels': expected the shape of the "
                         "tokens, ",
                         formatShape(data.tokens.shape), ", got ",
                         formatShape(data.labels->shape));
    }
  } else {
    return userError(where, ": expected token ids in a file ending in .npy or "
                            ".safetensors");
  }
  for (const TensorPlace *place :
       {&data.tokens, data.labels ? &*data.labels : &data.tokens})
    if (!isInteger(place->type))
      return userError(where, ": expected token ids of an integer type, got ",
                       fileTypeName(place->type));
  const Shape &shape = data.tokens.shape;
  int64_t width = length + 1;
  if (shape.size() == 2 && shape[1] != width)
    return userError(where, ": expected rows of ", width,
                     " tokens for a program that takes ", length, ", got ",
                     formatShape(shape), "; tp-compile --seq ",
                     std::max<int64_t>(1, shape[1] - 1),
                     " fits, or one stream [n], which is cut into rows");
  if (shape.empty() || shape.size() > 2)
    return userError(where, ": expected rows [n, ", width,
                     "] of token ids or one stream [n], got ",
                     formatShape(shape));
  data.count = shape.size() == 2 ? shape[0] : shape[0] / width;
  data.leftOver = shape.size() == 2 ? 0 : shape[0] % width;
  if (data.count == 0)
    return userError(where, ": expected at least one row of ", width,
                     " tokens, got ", elementCount(shape), " tokens");
  return data;
}

Expected<std::vector<int32_t>>
TokenFile::readRow(const TensorPlace &place, int64_t row, bool isLabels) const {
  int64_t width = length + 1, size = fileTypeBytes(place.type);
  std::string bytes(size_t(width * size), '\0');
  TPRT_TRY(
      file.read(place.offset + row * width * size, bytes.data(), width * size));
  std::vector<int32_t> result;
  for (int64_t i = 0; i < width; ++i) {
    int64_t id = *readInteger({place.type, {width}, bytes}, i);
    bool isIgnored = isLabels && id == kIgnored;
    if (!isIgnored && (id < 0 || id >= vocabulary))
      return userError("'", path, "': ", isLabels ? "label" : "token", " ", i,
                       " of row ", row, ": expected an id in [0, ", vocabulary,
                       ")", isLabels ? " or -100" : "", ", got ", id);
    result.push_back(int32_t(id));
  }
  return result;
}

Status TokenFile::read(int64_t row, int32_t *ids, int32_t *targets) const {
  TPRT_ASSIGN(auto all, readRow(tokens, row, false));
  std::copy(all.begin(), all.end() - 1, ids);
  if (labels) {
    TPRT_ASSIGN(all, readRow(*labels, row, true));
  }
  std::copy(all.begin() + 1, all.end(), targets);
  return {};
}

/// A permutation of the numbers below `rows`: a Feistel network on the next
/// power of four, walked until it comes to one of them, which takes four rounds
/// at most on average.
static int64_t shuffled(uint64_t key, int64_t rows, int64_t number) {
  int bits = 1;
  while (int64_t(1) << (2 * bits) < rows)
    ++bits;
  uint64_t mask = (uint64_t(1) << bits) - 1, at = uint64_t(number);
  do {
    uint64_t left = at >> bits, right = at & mask;
    for (uint64_t round = 0; round < 6; ++round)
      left =
          std::exchange(right, left ^ (mix(mix(key + round) ^ right) & mask));
    at = left << bits | right;
  } while (at >= uint64_t(rows));
  return int64_t(at);
}

int64_t training::rowAt(int64_t position, int64_t rows, bool isShuffled,
                        uint64_t seed) {
  int64_t pass = position / rows, number = position % rows;
  return isShuffled ? shuffled(mix(mix(seed) ^ uint64_t(pass)), rows, number)
                    : number;
}
