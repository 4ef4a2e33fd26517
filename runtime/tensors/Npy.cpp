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

Expected<TensorView> NpyFile::parse(std::string_view bytes,
                                    const std::string &name) {
  auto error = [&](auto &&...parts) {
    return userError("'", name, "': ", parts...);
  };
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY")
    return error("not a .npy file (wrong magic)");
  int major = (unsigned char)bytes[6];
  size_t begin, length;
  if (major == 1) {
    uint16_t field;
    std::memcpy(&field, bytes.data() + 8, 2);
    begin = 10, length = field;
  } else if ((major == 2 || major == 3) && bytes.size() >= 12) {
    uint32_t field;
    std::memcpy(&field, bytes.data() + 8, 4);
    begin = 12, length = field;
  } else {
    return error("expected .npy version 1, 2 or 3, got ", major);
  }
  if (length > bytes.size() - begin)
    return error("header reaches past the end of the file (truncated?)");

  auto header = parseJson(asJson(bytes.substr(begin, length)), 4);
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
  int64_t size = fileTypeBytes(*type);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(size, extent, &size))
      return error("shape overflows");
  std::string_view data = bytes.substr(begin + length);
  if (int64_t(data.size()) != size)
    return error("expected ", size, " bytes of data for shape ",
                 formatShape(shape), ", got ", data.size());
  return TensorView{*type, shape, data};
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

namespace {

template <typename T>
int64_t readAs(std::string_view bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return int64_t(value);
}

template <typename T>
void storeAs(std::string &bytes, int64_t i, int64_t value) {
  T narrow = T(value);
  std::memcpy(bytes.data() + i * sizeof(T), &narrow, sizeof(T));
}

} // namespace

std::optional<int64_t> tprt::readInteger(const TensorView &view, int64_t i) {
  switch (view.type) {
  case FileType::I64:
    return readAs<int64_t>(view.bytes, i);
  case FileType::I32:
    return readAs<int32_t>(view.bytes, i);
  case FileType::I16:
    return readAs<int16_t>(view.bytes, i);
  case FileType::I8:
    return readAs<int8_t>(view.bytes, i);
  case FileType::U32:
    return readAs<uint32_t>(view.bytes, i);
  case FileType::U16:
    return readAs<uint16_t>(view.bytes, i);
  case FileType::U8:
    return readAs<uint8_t>(view.bytes, i);
  case FileType::BOOL:
    return readAs<uint8_t>(view.bytes, i) != 0;
  default:
    return std::nullopt;
  }
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
      for (int64_t i = 0; i < count; ++i) {
        double value;
        std::memcpy(&value, view.bytes.data() + 8 * i, 8);
        wide[i] = float(value);
      }
    } else {
      return mistyped();
    }
    simd().narrow(type, wide.data(), result.bytes.data(), count);
    return result;
  }
  int64_t limit = type == TPRT_I8    ? INT8_MAX
                  : type == TPRT_I32 ? INT32_MAX
                                     : INT64_MAX;
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> value = readInteger(view, i);
    if (!value)
      return mistyped();
    if (*value > limit || *value < -limit - 1)
      return userError(what, ": element ", i, " is ", *value,
                       ", which does not fit ", typeName(type));
    if (type == TPRT_I64)
      storeAs<int64_t>(result.bytes, i, *value);
    else if (type == TPRT_I32)
      storeAs<int32_t>(result.bytes, i, *value);
    else
      storeAs<int8_t>(result.bytes, i, *value);
  }
  return result;
}
