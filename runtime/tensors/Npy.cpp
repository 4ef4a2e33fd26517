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

#include "../format/Cursor.h"
#include "../support/Simd.h"
#include "Tensor.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

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

/// The fields of the header: type, shape, and how many bytes these take.
static TensorPlace parseHeader(const Cursor &header) {
  TensorPlace place{};
  std::string descr = header["descr"].string();
  std::optional<FileType> type = parseFileType(descr, &FileTypeRow::npy);
  if (!type)
    header["descr"].fail("unsupported element type '", descr, "'");
  place.type = *type;
  if (header["fortran_order"].boolean())
    header["fortran_order"].fail("expected row-major order, got column-major "
                                 "(use numpy.ascontiguousarray)");
  place.bytes = header["shape"].tensorBytes(place.shape, fileTypeBytes(*type));
  header.end();
  return place;
}

Expected<TensorPlace> tprt::readNpyHeader(const InputFile &file,
                                          const std::string &name) {
  std::string where = "'" + name + "'";
  char head[12] = {};
  int64_t size = file.size();
  TPRT_TRY(file.read(0, head, std::min<int64_t>(size, sizeof(head))));
  if (size < 10 || std::string_view(head, 6) != "\x93NUMPY")
    return userError(where, ": not a .npy file (wrong magic)");
  int major = (unsigned char)head[6];
  if (major < 1 || major > 3)
    return userError(where, ": expected .npy version 1, 2 or 3, got ", major);
  int64_t begin = major == 1 ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, head + 8, size_t(begin - 8));
  if (length > size - begin)
    return userError(where,
                     ": header reaches past the end of the file (truncated?)");
  std::string text(size_t(length), '\0');
  TPRT_TRY(file.read(begin, text.data(), length));
  auto parsed = parseJson(asJson(text), 4);
  if (!parsed)
    return userError(where, ": malformed header");
  TPRT_ASSIGN(auto place, readJson(*parsed, where + ": header", parseHeader));
  place.offset = begin + length;
  if (size - place.offset != place.bytes)
    return userError(where, ": expected ", place.bytes,
                     " bytes of data for shape ", formatShape(place.shape),
                     ", got ", size - place.offset);
  return place;
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
