//===- Gguf.cpp - headers of GGUF files -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After eight bytes of magic and version come the number of tensors and of
// metadata entries, the entries (key, type, value), and for each tensor its
// name, dimensions with the innermost first, type, and offset in the data,
// which begins at the next multiple of the alignment.
//
//===----------------------------------------------------------------------===//

#include "tprt/gguf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

using namespace tprt;

namespace {

using Elements = GgufElements;

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, Elements::Floats, FileType::F32, 0, false},
    {1, "F16", 1, 2, Elements::Floats, FileType::F16, 0, false},
    {30, "BF16", 1, 2, Elements::Floats, FileType::BF16, 0, false},
    {2, "Q4_0", 32, 18, Elements::Nibbles, FileType::F16, 32, false},
    {3, "Q4_1", 32, 20, Elements::Nibbles, FileType::F16, 32, true},
    {6, "Q5_0", 32, 22, Elements::Bytes, FileType::F16, 32, false},
    {7, "Q5_1", 32, 24, Elements::Bytes, FileType::F16, 32, true},
    {8, "Q8_0", 32, 34, Elements::Bytes, FileType::F16, 32, false},
    {10, "Q2_K", 256, 84, Elements::Nibbles, FileType::F32, 16, true},
    {11, "Q3_K", 256, 110, Elements::Nibbles, FileType::F32, 16, false},
    {12, "Q4_K", 256, 144, Elements::Nibbles, FileType::F32, 32, true},
    {13, "Q5_K", 256, 176, Elements::Bytes, FileType::F32, 32, true},
    {14, "Q6_K", 256, 210, Elements::Bytes, FileType::F32, 16, false},
    {20, "IQ4_NL", 32, 18, Elements::Bytes, FileType::F16, 32, false},
    {23, "IQ4_XS", 256, 136, Elements::Bytes, FileType::F32, 32, false},
    {39, "MXFP4", 32, 17, Elements::E2M1, FileType::U8, 32, false},
};

/// Types that are known and not read, for messages.
constexpr std::pair<uint32_t, std::string_view> kOtherTypes[] = {
    {9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
    {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
    {24, "I8"},      {25, "I16"},   {26, "I32"},     {27, "I64"},
    {28, "F64"},     {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},
    {40, "NVFP4"},   {41, "Q1_0"}};

constexpr int64_t kMaxDims = 4, kMaxName = 1 << 10, kMaxText = 1 << 12,
                  kMaxList = 1 << 16, kMaxElements = int64_t(1) << 48;

/// Types of metadata values.
enum Kind : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  Text,
  List,
  U64,
  I64,
  F64
};
/// Bytes of a number; 0: it is none.
constexpr int64_t kKindBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Reads a header front to back, a window of the file at a time.
class Parser {
public:
  Parser(const std::string &name, int64_t size, const ReadBytes &read)
      : name(name), size(size), readBytes(read) {}
  Expected<Gguf> run();

private:
  static constexpr int64_t kWindow = 1 << 18;

  template <typename... Parts>
  Status fail(Parts &&...parts) const {
    return userError(name, ": ", std::forward<Parts>(parts)...);
  }
  Status take(void *to, int64_t bytes, std::string_view what);
  Status skip(int64_t bytes, std::string_view what);
  template <typename T>
  Expected<T> number(std::string_view what) {
    T value;
    TPRT_TRY(take(&value, sizeof value, what));
    return value;
  }
  /// Nothing where it is longer than `most`, and is skipped.
  Expected<std::optional<std::string>> text(int64_t most,
                                            std::string_view what);
  Expected<std::string> readName(std::string_view what);
  Expected<std::optional<int64_t>> integer(uint32_t kind,
                                           std::string_view what);
  Status readEntry(Gguf &file);
  Status readList(Gguf &file, const std::string &key);
  Status readTensor(Gguf &file);
  Status placeTensors(Gguf &file);

  const std::string &name;
  int64_t size, position = 0;
  const ReadBytes &readBytes;
  std::string window;
  int64_t windowStart = 0;
};

} // namespace

Status Parser::take(void *to, int64_t bytes, std::string_view what) {
  if (bytes > size - position)
    return fail("the file ends inside of ", what, " (truncated?)");
  bool isThere = position >= windowStart &&
                 position + bytes <= windowStart + int64_t(window.size());
  if (!isThere) {
    window.resize(size_t(std::min(std::max(bytes, kWindow), size - position)));
    windowStart = position;
    TPRT_TRY(readBytes(position, window.data(), int64_t(window.size())));
  }
  std::memcpy(to, window.data() + (position - windowStart), size_t(bytes));
  position += bytes;
  return {};
}

Status Parser::skip(int64_t bytes, std::string_view what) {
  if (bytes < 0 || bytes > size - position)
    return fail("the file ends inside of ", what, " (truncated?)");
  position += bytes;
  return {};
}

Expected<std::optional<std::string>> Parser::text(int64_t most,
                                                  std::string_view what) {
  TPRT_ASSIGN(auto length, number<uint64_t>(what));
  if (length > uint64_t(size - position))
    return fail("a text of ", length, " bytes in ", what,
                " reaches past the end of the file (truncated?)");
  if (int64_t(length) > most) {
    TPRT_TRY(skip(int64_t(length), what));
    return std::optional<std::string>();
  }
  std::string value(length, '\0');
  TPRT_TRY(take(value.data(), int64_t(length), what));
  return std::optional(std::move(value));
}

Expected<std::string> Parser::readName(std::string_view what) {
  TPRT_ASSIGN(auto value, text(kMaxName, what));
  bool isPrintable =
      value && !value->empty() &&
      std::all_of(value->begin(), value->end(),
                  [](unsigned char c) { return c > ' ' && c < 127; });
  if (!isPrintable)
    return fail("expected the name in ", what, " to be 1 to ", kMaxName,
                " printable characters");
  return std::move(*value);
}

Expected<std::optional<int64_t>> Parser::integer(uint32_t kind,
                                                 std::string_view what) {
  uint64_t raw = 0; // Files are little-endian, and so are the machines.
  int64_t bytes = kKindBytes[kind];
  TPRT_TRY(take(&raw, bytes, what));
  if (kind == F32 || kind == F64)
    return std::optional<int64_t>();
  bool isSigned = kind == I8 || kind == I16 || kind == I32;
  if (isSigned) {
    int shift = int(64 - 8 * bytes);
    return std::optional(int64_t(raw << shift) >> shift);
  }
  if (kind == U64 && raw > uint64_t(INT64_MAX))
    return fail(what, " has the value ", raw, ", which is too large");
  return std::optional(int64_t(raw));
}

Status Parser::readList(Gguf &file, const std::string &key) {
  std::string what = "metadata '" + key + "'";
  TPRT_ASSIGN(auto kind, number<uint32_t>(what));
  TPRT_ASSIGN(auto count, number<uint64_t>(what));
  if (kind > F64 || kind == List)
    return fail(what, ": expected a list of numbers or texts, got one of type ",
                kind);
  int64_t least = kind == Text ? 8 : kKindBytes[kind];
  if (count > uint64_t(size - position) / uint64_t(least))
    return fail(what, ": a list of ", count,
                " items reaches past the end of the file (truncated?)");
  if (kind == Text) {
    for (uint64_t i = 0; i < count; ++i)
      TPRT_TRY(text(0, what).status());
    return {};
  }
  if (count > kMaxList)
    return skip(int64_t(count) * least, what);
  std::vector<int64_t> items;
  for (uint64_t i = 0; i < count; ++i) {
    TPRT_ASSIGN(auto item, integer(kind, what));
    if (item)
      items.push_back(*item);
  }
  if (items.size() == count)
    file.lists[key] = std::move(items);
  return {};
}

Status Parser::readEntry(Gguf &file) {
  TPRT_ASSIGN(auto key, readName("a key of the metadata"));
  std::string what = "metadata '" + key + "'";
  if (!file.keys.insert(key).second)
    return fail(what, " is there twice");
  TPRT_ASSIGN(auto kind, number<uint32_t>(what));
  if (kind > F64)
    return fail(what, " has the unknown type ", kind);
  if (kind == List)
    return readList(file, key);
  if (kind == Text) {
    TPRT_ASSIGN(auto value, text(kMaxText, what));
    if (value)
      file.texts[key] = std::move(*value);
    return {};
  }
  if (kind == F32) {
    TPRT_ASSIGN(file.numbers[key], number<float>(what));
    return {};
  }
  if (kind == F64) {
    TPRT_ASSIGN(file.numbers[key], number<double>(what));
    return {};
  }
  TPRT_ASSIGN(auto value, integer(kind, what));
  if (value)
    file.integers[key] = *value;
  return {};
}

static Expected<const GgufType *> findType(uint32_t id,
                                           const std::string &where) {
  const auto *type =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const GgufType &one) { return one.id == id; });
  if (type != std::end(kTypes))
    return type;
  const auto *other =
      std::find_if(std::begin(kOtherTypes), std::end(kOtherTypes),
                   [&](const auto &one) { return one.first == id; });
  std::string known;
  for (const GgufType &one : kTypes)
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  return userError(where, " is of type ",
                   other == std::end(kOtherTypes)
                       ? "number " + std::to_string(id)
                       : std::string(other->second),
                   ", which is not read: expected one of ", known,
                   "; llama-quantize makes such a file of the F16 one");
}

Status Parser::readTensor(Gguf &file) {
  GgufTensor tensor;
  TPRT_ASSIGN(tensor.name, readName("a tensor's entry"));
  std::string what = "tensor '" + tensor.name + "'";
  TPRT_ASSIGN(auto rank, number<uint32_t>(what));
  if (rank < 1 || rank > kMaxDims)
    return fail(what, ": expected 1 to ", kMaxDims, " dimensions, got ", rank);
  int64_t elements = 1;
  for (uint32_t d = 0; d < rank; ++d) {
    TPRT_ASSIGN(auto extent, number<uint64_t>(what));
    if (extent < 1 || extent > uint64_t(kMaxElements / elements))
      return fail(what, ": dimension ", d, " of ", extent,
                  " elements is empty or too large");
    elements *= int64_t(extent);
    tensor.shape.insert(tensor.shape.begin(), int64_t(extent));
  }
  TPRT_ASSIGN(auto id, number<uint32_t>(what));
  TPRT_ASSIGN(tensor.type, findType(id, name + ": " + what));
  TPRT_ASSIGN(auto offset, number<uint64_t>(what));
  if (offset > uint64_t(size))
    return fail(what, ": its data begins at byte ", offset,
                " of the data, past the end of the file (truncated?)");
  tensor.offset = int64_t(offset);
  if (tensor.shape.back() % tensor.type->blockElements != 0)
    return fail(what, ": expected rows of ", tensor.type->name,
                " in multiples of ", tensor.type->blockElements,
                " elements, got ", tensor.shape.back());
  if (tensor.type->elements != Elements::Floats && rank < 2)
    return fail(what,
                ": expected a tensor of one dimension to be of F32, F16 "
                "or BF16, got ",
                tensor.type->name);
  file.tensors.push_back(std::move(tensor));
  return {};
}

static int64_t bytesOf(const GgufTensor &tensor) {
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    elements *= extent;
  return elements / tensor.type->blockElements * tensor.type->blockBytes;
}

/// Offsets become those of the file; tensors lie in it, and not in each other.
Status Parser::placeTensors(Gguf &file) {
  int64_t alignment = 32;
  if (auto given = file.integers.find("general.alignment");
      given != file.integers.end())
    alignment = given->second;
  if (alignment < 1 || alignment > (1 << 20) || (alignment & (alignment - 1)))
    return fail("expected general.alignment to be a power of two of at most ",
                1 << 20, ", got ", alignment);
  int64_t data = (position + alignment - 1) / alignment * alignment;
  std::vector<const GgufTensor *> order;
  std::set<std::string_view> names;
  for (GgufTensor &tensor : file.tensors) {
    if (!names.insert(tensor.name).second)
      return fail("tensor '", tensor.name, "' is there twice");
    if (tensor.offset % alignment != 0)
      return fail("tensor '", tensor.name,
                  "': expected its data at a multiple "
                  "of ",
                  alignment, " bytes, got ", tensor.offset);
    int64_t bytes = bytesOf(tensor);
    if (data > size || tensor.offset > size - data ||
        bytes > size - data - tensor.offset)
      return fail("tensor '", tensor.name, "': its ", bytes, " bytes at byte ",
                  tensor.offset,
                  " of the data reach past the end of the file (truncated?)");
    tensor.offset += data;
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](auto *a, auto *b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + bytesOf(*order[i - 1]))
      return fail("tensor '", order[i]->name, "' overlaps tensor '",
                  order[i - 1]->name, "'");
  return {};
}

Expected<Gguf> Parser::run() {
  char magic[4];
  TPRT_TRY(take(magic, 4, "the magic number"));
  if (std::memcmp(magic, "GGUF", 4) != 0)
    return fail("expected a GGUF file, which begins with \"GGUF\"");
  TPRT_ASSIGN(auto version, number<uint32_t>("the version"));
  if (version != 2 && version != 3)
    return fail("expected version 2 or 3 of GGUF, little-endian, got ",
                version);
  TPRT_ASSIGN(auto tensors, number<uint64_t>("the number of tensors"));
  TPRT_ASSIGN(auto entries, number<uint64_t>("the number of entries"));
  Gguf file;
  // A count that is too large ends at the end of the file.
  for (uint64_t i = 0; i < entries; ++i)
    TPRT_TRY(readEntry(file));
  if (auto split = file.integers.find("split.count");
      split != file.integers.end() && split->second > 1)
    return fail("is one of ", split->second,
                " files of a model: `llama-gguf-split --merge` makes one file "
                "of them");
  for (uint64_t i = 0; i < tensors; ++i)
    TPRT_TRY(readTensor(file));
  TPRT_TRY(placeTensors(file));
  return file;
}

Expected<Gguf> tprt::readGguf(const std::string &name, int64_t size,
                              const ReadBytes &read) {
  return Parser(name, size, read).run();
}
