//===- Safetensors.cpp - headers of .safetensors files --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tprt/safetensors.h"

#include "Cursor.h"
#include "tprt/foreign.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

using namespace tprt;
using nlohmann::json;

namespace {

constexpr uint64_t kMaxHeader = 100'000'000;

/// Reads a tensor whose offsets count in data of `dataBytes` bytes.
TensorPlace parseTensor(const Cursor &tensor, int64_t dataBytes) {
  TensorPlace place{};
  std::string text = tensor["dtype"].string();
  std::optional<FileType> type = parseFileType(text);
  if (!type)
    tensor["dtype"].fail("unknown dtype '", text, "'");
  place.type = *type;
  place.bytes =
      tensor["shape"].tensorBytes(place.shape, kFileTypes[int(*type)].bytes);
  std::vector<Cursor> span = tensor["data_offsets"].list(2, "[begin, end]");
  int64_t begin = span[0].integer(0), end = span[1].integer(0);
  if (begin > end)
    tensor.fail("data_offsets end at ", end, " before their begin ", begin);
  if (end > dataBytes)
    tensor.fail("data_offsets end at ", end, ", but the file holds ", dataBytes,
                " bytes of data (truncated?)");
  if (end - begin != place.bytes)
    tensor.fail(text, " ", formatShape(place.shape), " takes ", place.bytes,
                " bytes, data_offsets span ", end - begin);
  tensor.end();
  place.offset = begin;
  return place;
}

/// The tensors must cover the data without gap or overlap.
Status checkCover(const TensorPlaces &tensors, int64_t dataBytes) {
  std::vector<const TensorPlaces::value_type *> order;
  order.reserve(tensors.size());
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  // Empty tensors may share an offset with their neighbour: they come first.
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return std::tie(a->second.offset, a->second.bytes, a->first) <
           std::tie(b->second.offset, b->second.bytes, b->first);
  });
  int64_t position = 0;
  const std::string *previous = nullptr;
  for (const auto *tensor : order) {
    const auto &[name, place] = *tensor;
    if (place.offset < position)
      return userError("tensor '", name, "' overlaps tensor '", *previous, "'");
    if (place.offset > position)
      return userError("bytes ", position, " to ", place.offset,
                       " before tensor '", name, "' belong to no tensor");
    position = place.offset + place.bytes;
    previous = &name;
  }
  if (position != dataBytes)
    return userError(dataBytes - position, " bytes lie past the last tensor");
  return {};
}

/// Tensors of a header, whose offsets count in data of `dataBytes` bytes.
Expected<TensorPlaces> parseHeader(std::string_view text,
                                   const std::string &where,
                                   int64_t dataBytes) {
  TensorPlaces tensors;
  bool hasMetadata = false;
  auto take = [&](std::string name, const json &value) {
    if (name == "__metadata__") {
      Cursor metadata(value, where + "." + name);
      for (const auto &[key, item] : metadata.items("entry"))
        (void)item.string();
      return !std::exchange(hasMetadata, true);
    }
    TensorPlace place = parseTensor(
        {value, Cursor::itemPath(where, "tensor", name)}, dataBytes);
    size_t before = tensors.size();
    tensors.emplace_hint(tensors.end(), std::move(name), std::move(place));
    return tensors.size() != before;
  };
  TPRT_TRY(parseMembers(text, 8, take).in(where + ": header"));
  TPRT_TRY(checkCover(tensors, dataBytes).in(where));
  return tensors;
}

} // namespace

Expected<TensorPlaces> tprt::readSafetensorsHeader(const std::string &where,
                                                   int64_t size,
                                                   const ReadBytes &read) {
  if (size < 8)
    return userError(where, ": expected at least 8 bytes, got ", size,
                     " (truncated?)");
  uint64_t length;
  char head[kTellingBytes];
  int64_t telling = std::min<int64_t>(size, kTellingBytes);
  TPRT_TRY(read(0, head, telling));
  if (auto is = describeForeign({head, size_t(telling)}); !is.empty())
    return userError(where, " ", is);
  std::memcpy(&length, head, 8);
  if (length > kMaxHeader)
    return userError(where, ": header of ", length,
                     " bytes exceeds the limit of ", kMaxHeader);
  int64_t begin = 8 + int64_t(length);
  if (begin > size)
    return userError(where, ": header of ", length,
                     " bytes reaches past the end of the file (truncated?)");
  std::string text(length, '\0');
  TPRT_TRY(read(8, text.data(), int64_t(length)));
  if (text.empty() || text[0] != '{')
    return userError(where, ": the header does not begin with '{'");
  auto places = catchSchemaError(
      where, [&] { return parseHeader(text, where, size - begin); });
  if (places)
    for (auto &[tensor, place] : *places)
      place.offset += begin;
  return places;
}
