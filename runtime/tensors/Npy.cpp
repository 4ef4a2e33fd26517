//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads .npy, versions 1 to 3. The header is a Python dictionary with three
// known keys; it is read as JSON, and nothing is evaluated.
// Conversions of file tensors to the types of programs live here too.
//
//===----------------------------------------------------------------------===//

#include "../format/Json.h"
#include "../support/Simd.h"
#include "Tensor.h"

#include <algorithm>
#include <cstring>

using namespace tprt;
using nlohmann::json;

/// The header as JSON: other quotes, brackets and words, and no comma before
/// what closes.
static std::string asJson(std::string_view header) {
  std::string text;
  for (char c : header) {
    c = c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c;
    if (c == ']' || c == '}')
      if (size_t last = text.find_last_not_of(" \n");
          last < text.size() && text[last] == ',')
        text.resize(last);
    text += c == 'T' ? 't' : c == 'F' ? 'f' : c;
  }
  return text;
}

/// Of a file of `size` bytes, of which read(offset, data, bytes) gets some.
template <typename Read>
static Expected<TensorPlace> readHeader(Read read, int64_t size,
                                        const std::string &name) {
  auto error = [&](auto &&...parts) {
    return userError("'", name, "': ", parts...);
  };
  char head[12] = {};
  TPRT_TRY(read(0, head, std::min<int64_t>(size, sizeof(head))));
  if (size < 10 || std::string_view(head, 6) != "\x93NUMPY")
    return error("not a .npy file (wrong magic)");
  int major = (unsigned char)head[6];
  int64_t begin, length;
  if (major == 1) {
    uint16_t field;
    std::memcpy(&field, head + 8, 2);
    begin = 10, length = field;
  } else if ((major == 2 || major == 3) && size >= 12) {
    uint32_t field;
    std::memcpy(&field, head + 8, 4);
    begin = 12, length = field;
  } else {
    return error("expected .npy version 1, 2 or 3, got ", major);
  }
  if (length > size - begin)
    return error("header reaches past the end of the file (truncated?)");

  std::string text(size_t(length), '\0');
  TPRT_TRY(read(begin, text.data(), length));
  auto header = parseJson(asJson(text), 4);
  auto has = [&](const char *key, auto isType) {
    return header->contains(key) && ((*header)[key].*isType)();
  };
  if (!header || !header->is_object() || header->size() != 3 ||
      !has("descr", &json::is_string) ||
      !has("fortran_order", &json::is_boolean) ||
      !has("shape", &json::is_array))
    return error("malformed header");
  Shape shape;
  for (const json &extent : (*header)["shape"]) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      return error("malformed header");
    shape.push_back(extent.get<int64_t>());
  }
  std::string descr = (*header)["descr"];
  if ((*header)["fortran_order"].get<bool>())
    return error("expected row-major order, got column-major (use "
                 "numpy.ascontiguousarray)");
  std::optional<FileType> type = parseFileType(descr, &FileTypeRow::npy);
  if (!type)
    return error("unsupported element type '", descr, "'");
  int64_t bytes = fileTypeBytes(*type);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return error("shape overflows");
  int64_t data = begin + length;
  if (size - data != bytes)
    return error("expected ", bytes, " bytes of data for shape ",
                 formatShape(shape), ", got ", size - data);
  return TensorPlace{*type, shape, data, bytes};
}

Expected<TensorPlace> tprt::readNpyHeader(const InputFile &file,
                                          const std::string &name) {
  return readHeader(
      [&](int64_t offset, void *data, int64_t bytes) {
        return file.read(offset, data, bytes);
      },
      file.size(), name);
}

Expected<TensorView> NpyFile::parse(std::string_view bytes,
                                    const std::string &name) {
  TPRT_ASSIGN(auto place, readHeader(
                              [&](int64_t offset, void *data, int64_t count) {
                                std::memcpy(data, bytes.data() + offset,
                                            size_t(count));
                                return Status();
                              },
                              int64_t(bytes.size()), name));
  return TensorView{place.type, place.shape,
                    bytes.substr(size_t(place.offset))};
}

Expected<NpyFile> NpyFile::open(const std::string &path) {
  NpyFile result;
  TPRT_ASSIGN(result.file, LoadedFile::open(path));
  TPRT_ASSIGN(result.view, parse(result.file.bytes(), path));
  return result;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Element i, of type T.
template <typename T>
static T load(std::string_view bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

std::optional<int64_t> tprt::readInteger(const TensorView &view, int64_t i) {
#define TPRT_READ(name, T)                                                     \
  case FileType::name:                                                         \
    return load<T>(view.bytes, i);
  switch (view.type) {
    TPRT_READ(I64, int64_t)
    TPRT_READ(I32, int32_t)
    TPRT_READ(I16, int16_t)
    TPRT_READ(I8, int8_t)
    TPRT_READ(U32, uint32_t)
    TPRT_READ(U16, uint16_t)
    TPRT_READ(U8, uint8_t)
  case FileType::BOOL:
    return load<uint8_t>(view.bytes, i) != 0;
  default:
    return std::nullopt;
  }
#undef TPRT_READ
}

Expected<HostTensor> tprt::convertTensor(const TensorView &view, tprt_type type,
                                         const std::string &what) {
  int64_t count = elementCount(view.shape);
  HostTensor result{"", type, view.shape,
                    std::string(count * typeBytes(type), '\0')};
  auto mistyped = [&] {
    return userError(what, ": expected elements of type ", typeName(type),
                     ", got ", fileTypeName(view.type));
  };
  if (isFloat(type)) {
    std::vector<float> wide(count);
    if (auto from = floatTypeOf(view.type)) {
      simd().widen(*from, view.bytes.data(), wide.data(), count);
    } else if (view.type == FileType::F64) {
      for (int64_t i = 0; i < count; ++i)
        wide[i] = float(load<double>(view.bytes, i));
    } else {
      return mistyped();
    }
    simd().narrow(type, wide.data(), result.bytes.data(), count);
    return result;
  }
  // Little-endian: the first bytes of a number are the number in fewer.
  int64_t size = typeBytes(type), limit = INT64_MAX >> (64 - 8 * size);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> value = readInteger(view, i);
    if (!value)
      return mistyped();
    if (*value > limit || *value < -limit - 1)
      return userError(what, ": element ", i, " is ", *value,
                       ", which does not fit ", typeName(type));
    std::memcpy(result.bytes.data() + i * size, &*value, size_t(size));
  }
  return result;
}
