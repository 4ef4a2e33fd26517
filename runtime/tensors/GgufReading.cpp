//===- GgufReading.cpp - tensors of a GGUF file ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A read takes the blocks of a row that hold what is asked for, and keeps
// nothing.
//
//===----------------------------------------------------------------------===//

#include "GgufReading.h"

#include "../support/Simd.h"
#include "GgufBlocks.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

using Role = GgufPart::Role;

class GgufPartReader final : public ComputedTensor {
public:
  GgufPartReader(std::shared_ptr<const Gguf> file,
                 std::shared_ptr<const InputFile> bytes, GgufPart part)
      : file(std::move(file)), bytes(std::move(bytes)), part(std::move(part)),
        tensor(this->file->tensors[this->part.tensor]), type(*tensor.type),
        isVector(tensor.shape.size() == 1),
        rows(isVector ? tensor.shape[0] : this->part.place.shape[0]),
        rowElements(isVector ? 1 : tensor.shape.back()),
        rowBytes(this->part.place.bytes / rows) {}

  Status read(int64_t offset, void *data, int64_t bytes) const override;

private:
  /// The row of the file that has row `row`.
  int64_t sourceRow(int64_t row) const;
  Status readRow(int64_t row, int64_t begin, int64_t end, char *out) const;
  Status readFloats(int64_t row, int64_t begin, int64_t end, char *out) const;
  /// Writes what a block adds to the row.
  void write(const GgufBlock &block, char *out) const;

  std::shared_ptr<const Gguf> file;
  std::shared_ptr<const InputFile> bytes;
  GgufPart part;
  const GgufTensor &tensor;
  const GgufType &type;
  bool isVector;
  int64_t rows, rowElements, rowBytes;
};

} // namespace

int64_t GgufPartReader::sourceRow(int64_t row) const {
  if (part.headRows) {
    int64_t inHead = row % part.headRows, half = part.headRows / 2;
    row += inHead % half * 2 + inHead / half - inHead;
  }
  return part.firstRow + row;
}

Status GgufPartReader::readFloats(int64_t row, int64_t begin, int64_t end,
                                  char *out) const {
  int64_t at = tensor.offset + sourceRow(row) * rowElements * type.blockBytes;
  if (!part.isLessOne)
    return bytes->read(at + begin, out, end - begin);
  int64_t first = begin / 4, last = (end + 3) / 4;
  std::vector<float> values(size_t(last - first));
  TPRT_TRY(bytes->read(at + first * 4, values.data(), (last - first) * 4));
  for (float &value : values)
    value -= 1;
  std::memcpy(out, reinterpret_cast<char *>(values.data()) + begin - first * 4,
              size_t(end - begin));
  return {};
}

void GgufPartReader::write(const GgufBlock &block, char *out) const {
  int64_t count = type.blockElements, groups = count / type.group;
  if (part.role == Role::ScaleBlocks || part.role == Role::ZeroBlocks) {
    bool isScale = part.role == Role::ScaleBlocks;
    std::memcpy(out, isScale ? &block.factor : &block.leastFactor, 2);
    std::memcpy(out + 2, isScale ? block.codes : block.leastCodes,
                size_t(groups));
    return;
  }
  if (part.role == Role::Zeros) {
    std::memcpy(out, block.zeros, size_t(groups) * 4);
    return;
  }
  if (part.role == Role::Scales) {
    if (type.file == FileType::F32)
      std::memcpy(out, block.scales, size_t(groups) * 4);
    else if (type.file == FileType::U8)
      *out = char(uint8_t(block.scales[0]));
    else
      simd().narrow(TPRT_F16, block.scales, out, groups);
    return;
  }
  if (type.elements == GgufElements::Bytes) {
    std::memcpy(out, block.elements, size_t(count));
    return;
  }
  int origin = type.elements == GgufElements::Nibbles ? 8 : 0;
  for (int64_t i = 0; i < count; i += 2)
    out[i / 2] = char((block.elements[i] + origin) |
                      (block.elements[i + 1] + origin) << 4);
}

Status GgufPartReader::readRow(int64_t row, int64_t begin, int64_t end,
                               char *out) const {
  if (part.role == Role::Floats)
    return readFloats(row, begin, end, out);
  int64_t blocks = rowElements / type.blockElements, each = rowBytes / blocks;
  int64_t first = begin / each, last = (end + each - 1) / each;
  int64_t at =
      tensor.offset + (sourceRow(row) * blocks + first) * type.blockBytes;
  std::vector<uint8_t> raw(size_t((last - first) * type.blockBytes));
  TPRT_TRY(bytes->read(at, raw.data(), int64_t(raw.size())));
  std::vector<char> made(size_t((last - first) * each));
  GgufBlock block = {};
  for (int64_t b = 0; b < last - first; ++b) {
    decodeBlock(type, raw.data() + b * type.blockBytes,
                part.role == Role::Values, block);
    write(block, made.data() + b * each);
  }
  std::memcpy(out, made.data() + (begin - first * each), size_t(end - begin));
  return {};
}

Status GgufPartReader::read(int64_t offset, void *data, int64_t bytes) const {
  char *out = static_cast<char *>(data);
  bool isAsItIs = part.role == Role::Floats && !part.headRows;
  if (isAsItIs && bytes > 0)
    return readFloats(0, offset, offset + bytes, out)
        .in("tensor '" + part.name + "'");
  while (bytes > 0) {
    int64_t row = offset / rowBytes, begin = offset % rowBytes;
    int64_t end = std::min(rowBytes, begin + bytes);
    TPRT_TRY(readRow(row, begin, end, out).in("tensor '" + part.name + "'"));
    out += end - begin;
    offset += end - begin;
    bytes -= end - begin;
  }
  return {};
}

Expected<std::map<std::string, LocatedTensor>>
tprt::openGguf(const std::string &path) {
  TPRT_ASSIGN(auto opened, InputFile::open(path));
  auto bytes = std::make_shared<const InputFile>(std::move(opened));
  std::string where = "'" + path + "'";
  TPRT_ASSIGN(auto read, readGguf(where, bytes->size(),
                                  [&](int64_t offset, char *to, int64_t count) {
                                    return bytes->read(offset, to, count);
                                  }));
  auto file = std::make_shared<const Gguf>(std::move(read));
  TPRT_ASSIGN(auto parts, mapGguf(where, *file));
  std::map<std::string, LocatedTensor> tensors;
  auto add = [&](const GgufPart &part) {
    tensors[part.name] = {
        part.place, part.name, path, bytes,
        std::make_shared<const GgufPartReader>(file, bytes, part)};
  };
  for (auto &[name, part] : parts) {
    add(part);
    int64_t packed = file->tensors[part.tensor].type->packedGroups();
    bool isScale = part.role == Role::Scales;
    if (!packed || (!isScale && part.role != Role::Zeros))
      continue;
    std::string formOf = name;
    part.role = isScale ? Role::ScaleBlocks : Role::ZeroBlocks;
    part.name += kGgufBlocksEnd;
    int64_t &groups = part.place.shape.back(),
            rows = part.place.bytes / 4 / groups;
    groups = groups / packed * (packed + 2);
    part.place.type = FileType::I8;
    part.place.bytes = rows * groups;
    add(part);
    tensors[part.name].formOf = formOf;
  }
  return tensors;
}
