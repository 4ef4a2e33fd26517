//===- Safetensors.cpp - files of tensors ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes .safetensors and .npy files.
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

#include <nlohmann/json.hpp>

using namespace tprt;
using nlohmann::json;

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

Expected<TensorPlaces> tprt::readSafetensorsHeader(const InputFile &file,
                                                   const std::string &path) {
  return readSafetensorsHeader("'" + path + "'", file.size(),
                               [&](int64_t offset, char *to, int64_t bytes) {
                                 return file.read(offset, to, bytes);
                               });
}

Expected<TensorFile> TensorFile::open(const std::string &path) {
  TPRT_ASSIGN(auto file, InputFile::open(path));
  TensorPlaces places;
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
