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

#include "../format/Json.h"
#include "Tensor.h"
#include "tprt/foreign.h"

#include <algorithm>

#include <cassert>
#include <cstring>
#include <set>

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

uint64_t natural(const json &value, const std::string &what) {
  if (!value.is_number_unsigned())
    throw userError(what, ": expected a natural number, got ", value.dump());
  return value.get<uint64_t>();
}

TensorPlace parseTensor(const std::string &name, const json &value,
                        uint64_t dataSize) {
  std::string what = "tensor '" + name + "'";
  if (!value.is_object())
    throw userError(what, ": expected an object, got ", value.type_name());
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key))
      throw userError(what, ": missing key '", key, "'");
  if (value.size() != 3)
    throw userError(what, ": unknown keys");
  if (!value["dtype"].is_string())
    throw userError(what, ": expected a string as dtype, got ",
                    value["dtype"].dump());
  std::string typeText = value["dtype"].get<std::string>();
  std::optional<FileType> type = parseFileType(typeText);
  if (!type)
    throw userError(what, ": unknown dtype '", typeText, "'");
  if (!value["shape"].is_array() || value["shape"].size() > 32)
    throw userError(what, ": expected a list of at most 32 sizes as shape");

  TensorPlace place{*type, {}, 0, 0};
  uint64_t bytes = fileTypeBytes(*type);
  for (const json &size : value["shape"]) {
    uint64_t n = natural(size, what + ": shape");
    if (n > INT64_MAX || __builtin_mul_overflow(bytes, n, &bytes))
      throw userError(what, ": shape overflows");
    place.shape.push_back(int64_t(n));
  }
  const json &offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2)
    throw userError(what, ": expected [begin, end] as data_offsets, got ",
                    offsets.dump());
  uint64_t begin = natural(offsets[0], what + ": data_offsets");
  uint64_t end = natural(offsets[1], what + ": data_offsets");
  if (begin > end)
    throw userError(what, ": data_offsets end at ", end, " before their begin ",
                    begin);
  if (end > dataSize)
    throw userError(what, ": data_offsets end at ", end,
                    ", but the file holds ", dataSize,
                    " bytes of data (truncated?)");
  if (end - begin != bytes)
    throw userError(what, ": ", typeText, " ", formatShape(place.shape),
                    " takes ", bytes, " bytes, data_offsets span ",
                    end - begin);
  place.offset = int64_t(begin);
  place.bytes = int64_t(bytes);
  return place;
}

/// Offsets are those from the header's end on.
std::map<std::string, TensorPlace> parseHeader(const json &header,
                                               uint64_t dataSize) {
  assert(header.is_object() && "it begins with '{'");
  std::map<std::string, TensorPlace> tensors;
  // Empty tensors may share an offset with their neighbour: they come first.
  std::set<std::tuple<int64_t, int64_t, std::string>> order;
  for (const auto &item : header.items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object())
        throw userError("__metadata__ is not an object");
      continue;
    }
    TensorPlace place = parseTensor(item.key(), item.value(), dataSize);
    order.insert({place.offset, place.bytes, item.key()});
    tensors[item.key()] = std::move(place);
  }
  int64_t position = 0;
  std::string previous;
  for (const auto &[begin, bytes, name] : order) {
    if (begin < position)
      throw userError("tensor '", name, "' overlaps tensor '", previous, "'");
    if (begin > position)
      throw userError("bytes ", position, " to ", begin, " before tensor '",
                      name, "' belong to no tensor");
    position = begin + bytes;
    previous = name;
  }
  if (uint64_t(position) != dataSize)
    throw userError(dataSize - uint64_t(position),
                    " bytes lie past the last tensor");
  return tensors;
}

using Places = std::map<std::string, TensorPlace>;

/// Of a file of `size` bytes, of which read(offset, data, bytes) gets some.
template <typename Read>
Expected<Places> readHeader(Read read, uint64_t size, const std::string &name) {
  std::string where = "'" + name + "'";
  if (size < 8)
    return userError(where, ": expected at least 8 bytes, got ", size,
                     " (truncated?)");
  uint64_t length;
  char head[kTellingBytes];
  int64_t telling = std::min<int64_t>(int64_t(size), kTellingBytes);
  TPRT_TRY(read(0, head, telling));
  if (auto is = describeForeign({head, size_t(telling)}); !is.empty())
    return userError(where, " ", is);
  std::memcpy(&length, head, 8);
  if (length > kMaxHeader)
    return userError(where, ": header of ", length,
                     " bytes exceeds the limit of ", kMaxHeader);
  if (length > size - 8)
    return userError(where, ": header of ", length,
                     " bytes reaches past the end of the file (truncated?)");
  std::string text(length, '\0');
  TPRT_TRY(read(8, text.data(), int64_t(length)));
  if (text.empty() || text[0] != '{')
    return userError(where, ": the header does not begin with '{'");
  TPRT_ASSIGN(auto header, parseJson(text, 8).in(where + ": header"));
  try {
    Places places = parseHeader(header, size - 8 - length);
    for (auto &[tensor, place] : places)
      place.offset += int64_t(8 + length);
    return places;
  } catch (const Status &refusal) {
    return refusal.in(where);
  } catch (const json::exception &error) {
    return userError(where, ": header: ", error.what());
  }
}

} // namespace

Expected<Places> tprt::readSafetensorsHeader(const InputFile &file,
                                             const std::string &name) {
  return readHeader(
      [&](int64_t offset, void *data, int64_t bytes) {
        return file.read(offset, data, bytes);
      },
      uint64_t(file.size()), name);
}

Expected<std::map<std::string, TensorView>>
SafetensorsFile::parse(std::string_view bytes, const std::string &name) {
  auto places = readHeader(
      [&](int64_t offset, void *data, int64_t count) {
        std::memcpy(data, bytes.data() + offset, size_t(count));
        return Status();
      },
      bytes.size(), name);
  if (!places)
    return places.status();
  std::map<std::string, TensorView> tensors;
  for (auto &[tensor, place] : *places)
    tensors[tensor] = {place.type, place.shape,
                       bytes.substr(size_t(place.offset), size_t(place.bytes))};
  return tensors;
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  SafetensorsFile result;
  TPRT_ASSIGN(result.file, LoadedFile::open(path));
  TPRT_ASSIGN(result.list, parse(result.file.bytes(), path));
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
