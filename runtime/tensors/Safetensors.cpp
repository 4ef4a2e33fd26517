//===- Safetensors.cpp - checked headers ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes .safetensors. Checkpoints come from strangers: the header's
// length, nesting, names, types, shapes and offsets are checked, and the
// tensors must cover the data without gap or overlap, before anything is read.
//
//===----------------------------------------------------------------------===//

#include "../format/Cursor.h"
#include "Tensor.h"
#include "tprt/foreign.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

using namespace tprt;
using nlohmann::json;

std::optional<FileType> tprt::parseFileType(std::string_view text,
                                            const char *FileTypeRow::*column) {
  for (size_t i = 0; !text.empty() && i < std::size(kFileTypes); ++i)
    if (text == kFileTypes[i].*column)
      return FileType(i);
  return std::nullopt;
}

FileType tprt::fileTypeOf(tprt_type type) {
  constexpr FileType kTypes[] = {
#define TPRT_ROW(id, name, bytes) FileType::id,
      TPRT_TYPES(TPRT_ROW)
#undef TPRT_ROW
  };
  return kTypes[type];
}

std::optional<tprt_type> tprt::floatTypeOf(FileType type) {
  for (tprt_type known : {TPRT_F32, TPRT_BF16, TPRT_F16})
    if (fileTypeOf(known) == type)
      return known;
  return std::nullopt;
}

namespace {

constexpr uint64_t kMaxHeader = 100'000'000;

/// Of data of `dataBytes` bytes, in which offsets count.
TensorPlace parseTensor(const Cursor &tensor, int64_t dataBytes) {
  TensorPlace place{};
  std::string text = tensor["dtype"].string();
  std::optional<FileType> type = parseFileType(text);
  if (!type)
    tensor["dtype"].fail("unknown dtype '", text, "'");
  place.type = *type;
  place.bytes = tensor["shape"].tensorBytes(place.shape, fileTypeBytes(*type));
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

using Places = std::map<std::string, TensorPlace>;

/// The tensors must cover the data without gap or overlap.
Status checkCover(const Places &tensors, int64_t dataBytes) {
  std::vector<const Places::value_type *> order;
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
Expected<Places> parseHeader(std::string_view text, const std::string &where,
                             int64_t dataBytes) {
  Places tensors;
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

Expected<Places> tprt::readSafetensorsHeader(const InputFile &file,
                                             const std::string &name) {
  std::string where = "'" + name + "'";
  int64_t size = file.size();
  if (size < 8)
    return userError(where, ": expected at least 8 bytes, got ", size,
                     " (truncated?)");
  uint64_t length;
  char head[kTellingBytes];
  int64_t telling = std::min<int64_t>(size, kTellingBytes);
  TPRT_TRY(file.read(0, head, telling));
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
  TPRT_TRY(file.read(8, text.data(), int64_t(length)));
  if (text.empty() || text[0] != '{')
    return userError(where, ": the header does not begin with '{'");
  auto places = catchSchemaError(
      where, [&] { return parseHeader(text, where, size - begin); });
  if (places)
    for (auto &[tensor, place] : *places)
      place.offset += begin;
  return places;
}

Expected<TensorFile> TensorFile::open(const std::string &path) {
  TPRT_ASSIGN(auto file, InputFile::open(path));
  Places places;
  if (path.ends_with(".npy")) {
    TPRT_ASSIGN(places[""], readNpyHeader(file, path));
  } else {
    TPRT_ASSIGN(places, readSafetensorsHeader(file, path));
  }
  TensorFile result;
  TPRT_ASSIGN(result.memory, Buffer::allocate(file.size()));
  TPRT_TRY(file.read(0, result.memory.data(), file.size()));
  for (const auto &[name, place] : places)
    result.list[name] = {
        place.type,
        place.shape,
        {result.memory.data() + place.offset, size_t(place.bytes)}};
  return result;
}

Expected<OutputFile> tprt::createSafetensors(
    const std::string &path,
    const std::vector<std::pair<std::string, TensorPlace>> &tensors,
    bool isCheckpoint) {
  json header = json::object();
  if (isCheckpoint)
    header["__metadata__"] = {{"format", "pt"}};
  int64_t position = 0;
  for (const auto &[name, place] : tensors) {
    header[name] = {{"dtype", fileTypeName(place.type)},
                    {"shape", place.shape},
                    {"data_offsets", {position, position + place.bytes}}};
    position += place.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  TPRT_ASSIGN(auto file, OutputFile::create(path));
  TPRT_TRY(file.write(&length, sizeof(length)));
  TPRT_TRY(file.write(text.data(), text.size()));
  return file;
}

static Status writeSafetensors(const std::string &path,
                               const std::vector<HostTensor> &tensors) {
  std::vector<std::pair<std::string, TensorPlace>> places;
  for (const HostTensor &tensor : tensors)
    places.push_back({tensor.name,
                      {fileTypeOf(tensor.type), tensor.shape, 0,
                       int64_t(tensor.bytes.size())}});
  TPRT_ASSIGN(auto file, createSafetensors(path, places));
  for (const HostTensor &tensor : tensors)
    TPRT_TRY(file.write(tensor.bytes.data(), tensor.bytes.size()));
  return file.commit();
}

static Status writeNpy(const std::string &path, const HostTensor &tensor) {
  std::string descr = kFileTypes[int(fileTypeOf(tensor.type))].npy;
  if (descr.empty())
    return userError("'", path, "': .npy has no ", typeName(tensor.type),
                     "; use .safetensors");
  std::string shape;
  for (int64_t size : tensor.shape)
    shape += std::to_string(size) + ",";
  std::string text = "{'descr': '" + descr +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  uint16_t length = text.size();
  bytes.append(reinterpret_cast<const char *>(&length), 2);
  return writeFile(path, bytes + text + tensor.bytes);
}

Status tprt::writeTensors(const std::string &path,
                          const std::vector<HostTensor> &tensors) {
  if (path.ends_with(".safetensors"))
    return writeSafetensors(path, tensors);
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1)
      return userError("'", path, "': .npy holds one tensor, there are ",
                       tensors.size(), "; use .safetensors");
    return writeNpy(path, tensors[0]);
  }
  return userError("'", path,
                   "': expected a name ending in .safetensors or .npy");
}
