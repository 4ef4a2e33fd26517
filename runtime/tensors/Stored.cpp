//===- Stored.cpp - quantised parameters from checkpoints -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block is read in tiles of rows and columns. Runs of the file's last
// dimension are read at once and unpacked into numbers; a tile is then packed
// as it lies in memory. Where the file has the dimensions in the other order
// (GPTQ, AWQ), a tile is wide and flat, so that runs are worth their calls.
//
//===----------------------------------------------------------------------===//

#include "Stored.h"

#include "../support/Parallel.h"
#include "../support/QuantizedWeight.h"
#include "../support/Region.h"
#include "../support/Simd.h"
#include "tprt/artifact.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

using namespace tprt;

namespace {

/// One logical dimension of a block.
struct Axis {
  int64_t extent; ///< elements that exist
  int64_t from;   ///< the first, in the unpacked tensor of the file
  int64_t to;     ///< the first, in the part
  int64_t step;   ///< how far neighbours are apart there
  int64_t file;   ///< which dimension of the file it is
};

/// Scales that are made up, with which made-up values have about the deviation
/// that other weights are made up with.
constexpr float kMadeUpScale = 1.0f / 128;

class Loader {
public:
  Loader(const StoredSource &source, const Mesh &mesh,
         const std::vector<int64_t> &coordinates, char *target, int64_t first,
         int64_t rows);
  Expected<int64_t> run();

private:
  /// Words of the file that a thread has read last, and their numbers.
  struct Run {
    std::vector<char> words;
    std::vector<float> floats;
    int64_t position = -1, count = 0;
  };
  using Index = std::vector<int64_t>; ///< in the unpacked tensor, file order

  Status runBlock();
  size_t rank() const { return axes.size(); }
  bool isFloat() const { return type != TPRT_I8 && type != TPRT_I32; }
  void runTile(const Index &lead, int64_t row, int64_t rowCount, int64_t column,
               int64_t columnCount);
  /// Elements of the file's last dimension from `index` on.
  bool read(Run &run, Index index, int64_t count, int32_t *numbers,
            float *floats);
  bool fetch(Run &run, int64_t position, int64_t count);
  void makeUp(const Index &index, int64_t count, int32_t *numbers,
              float *floats) const;
  bool convert(const Run &run, int64_t index, int64_t first, int64_t part,
               int64_t count, int32_t *numbers, float *floats);
  void fail(Status status);
  void store(int64_t at, int64_t column, const int32_t *numbers,
             const float *floats, int64_t stride, int64_t count);

  const StoredSource &source;
  const Parameter &parameter;
  const Storage &storage;
  tprt_type type;
  char *target;
  /// The blocks of the part, and the dimensions of that which is being read.
  std::vector<std::vector<Axis>> blocks;
  std::vector<Axis> axes;
  Shape fileShape, fileStrides, targetRows;
  int64_t rowBytes = 1, wordBytes = 1;
  int64_t targetBytes = 0;
  std::atomic<int64_t> bytesRead{0};
  std::mutex mutex;
  Status status;
  std::atomic<bool> failed{false};
};

} // namespace

Loader::Loader(const StoredSource &source, const Mesh &mesh,
               const std::vector<int64_t> &coordinates, char *target,
               int64_t first, int64_t rows)
    : source(source), parameter(source.parameter), storage(*parameter.storage),
      type(parameter.type), target(target) {
  const Parameter &p = parameter;
  Shape local = p.localShape;
  if (rows >= 0)
    local[0] = rows;
  if (mesh.index(p.partial, coordinates) == 0)
    forEachBlock(blocksOf(p, mesh, coordinates, first, rows),
                 [&](const std::vector<DimRun> &runs) {
                   std::vector<Axis> &block = blocks.emplace_back();
                   for (size_t d = 0; d < runs.size(); ++d) {
                     int64_t file = p.permutation[d];
                     int64_t step = p.sliceSteps[size_t(file)];
                     block.push_back(
                         {runs[d].length,
                          p.sliceOffsets[file] + runs[d].start * step,
                          runs[d].local, step, file});
                   }
                 });
  targetBytes = p.localBytes(rows);
  fileShape = storage.fileShape(p.sourceShape);
  fileStrides = stridesOf(fileShape);
  int64_t count = 1;
  for (size_t d = 0; d + 1 < local.size(); ++d)
    count *= local[d];
  rowBytes = count ? targetBytes / count : 0;
  Shape outer(local.begin(), local.end() - (local.empty() ? 0 : 1));
  targetRows = stridesOf(outer);
  if (source.tensors)
    wordBytes = fileTypeBytes(source.tensors->front().place.type);
}

void Loader::fail(Status problem) {
  std::lock_guard lock(mutex);
  if (status.ok())
    status = std::move(problem);
  failed = true;
}

bool Loader::fetch(Run &run, int64_t position, int64_t count) {
  if (run.position == position && run.count == count)
    return true;
  run.words.resize(size_t(count * wordBytes));
  const std::vector<LocatedTensor> &tensors = *source.tensors;
  int64_t each = std::max<int64_t>(1, elementCount(tensors[0].place.shape));
  Status read = tensors[size_t(position / each)].read(
      position % each * wordBytes, run.words.data(), count * wordBytes);
  if (!read.ok()) {
    fail(std::move(read));
    return false;
  }
  bytesRead += count * wordBytes;
  run.position = position;
  run.count = count;
  if (storage.isFloat()) {
    run.floats.resize(size_t(count));
    simd().widen(*floatTypeOf(tensors[0].place.type), run.words.data(),
                 run.floats.data(), count);
  }
  return true;
}

void Loader::makeUp(const Index &index, int64_t count, int32_t *numbers,
                    float *floats) const {
  if (isFloat()) {
    std::fill_n(floats, count, kMadeUpScale);
    return;
  }
  if (storage.packed) {
    // An f16 of 1/1024 times 8 is kMadeUpScale; minima are what a nibble of
    // eight stands for, so that zero points are zero.
    bool isMinimum = source.name.find("zero_point") != std::string::npos;
    for (int64_t i = 0; i < count; ++i) {
      int64_t inBlock = (index.back() + i) % (storage.packed + 2);
      numbers[i] = inBlock == 0   ? 0x00
                   : inBlock == 1 ? 0x14
                                  : (isMinimum ? 64 : 8);
    }
    return;
  }
  // Exponents have no element; such a scale has the exponent 120.
  std::fill_n(numbers, count, storage.type == "U8" ? 120 : 0);
  if (!storage.element)
    return;
  int64_t position = 0;
  for (size_t d = 0; d < index.size(); ++d)
    position = position * parameter.sourceShape[d] + index[d];
  std::vector<float> random(size_t(count), 0.0f);
  simd().random(mix(source.seed) ^ checksum(source.name), position, 1, count,
                random.data());
  for (int64_t i = 0; i < count; ++i) {
    float value = random[size_t(i)] / kMadeUpScale;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    int32_t low = int32_t(bits >> 12), sign = value < 0;
    switch (*storage.element) {
    case QuantizedType::I8:
    case QuantizedType::I4:
    case QuantizedType::U4:
      numbers[i] = int32_t(std::clamp(std::nearbyint(value), -8.0f, 7.0f));
      break;
    // Numbers between a quarter and four.
    case QuantizedType::E4M3:
      numbers[i] = sign << 7 | (5 + (low & 3)) << 3 | (low >> 2 & 7);
      break;
    case QuantizedType::E5M2:
      numbers[i] = sign << 7 | (13 + (low & 3)) << 2 | (low >> 2 & 3);
      break;
    case QuantizedType::E2M1:
      numbers[i] = sign << 3 | (low & 7);
      break;
    }
  }
}

/// True if it may lie in memory as what it is.
static bool fits(int64_t number, const Storage &storage, tprt_type type) {
  if (type == TPRT_I32)
    return storage.end == 0 || (number >= 0 && number < storage.end);
  // Without elements they are zero points, or exponents of which 255 is none.
  if (!storage.element)
    return storage.type == "U8" ? number >= 0 && number < 255
                                : number >= -128 && number <= 127;
  switch (*storage.element) {
  case QuantizedType::I4:
    return number >= -8 && number <= 7;
  case QuantizedType::I8:
    return number >= -128 && number <= 127;
  default:
    return number >= 0 && number <= 255;
  }
}

bool Loader::convert(const Run &run, int64_t index, int64_t first, int64_t part,
                     int64_t count, int32_t *numbers, float *floats) {
  size_t last = fileShape.size() - 1;
  int64_t repeat = storage.repeat.empty() ? 1 : storage.repeat[last];
  bool packsRuns = storage.bits && storage.dim == int64_t(last);
  int64_t perWord = storage.elementsPerWord();
  uint32_t mask =
      storage.bits ? uint32_t((uint64_t(1) << storage.bits) - 1) : 0;
  // Floats of eight bits are bits, and so is U8.
  bool isSigned = storage.type == "I8";
  std::vector<int64_t> placeOf(size_t(perWord), 0);
  for (int64_t j = 0; j < perWord; ++j)
    placeOf[size_t(storage.order.empty() ? j : storage.order[size_t(j)])] = j;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = (index + i) / repeat, inWord = part;
    if (packsRuns) {
      inWord = at % perWord;
      at /= perWord;
    }
    at -= first;
    if (isFloat()) {
      floats[i] = run.floats[size_t(at)];
      if (!std::isfinite(floats[i])) {
        fail(userError("'", source.tensors->front().path, "': tensor '",
                       source.name, "': expected finite scales, got ",
                       floats[i]));
        return false;
      }
      continue;
    }
    int64_t number;
    if (storage.bits) {
      uint32_t word = 0;
      std::memcpy(&word, run.words.data() + at * wordBytes, size_t(wordBytes));
      number = word >> (placeOf[size_t(inWord)] * storage.bits) & mask;
    } else if (wordBytes == 4) {
      int32_t word;
      std::memcpy(&word, run.words.data() + at * 4, 4);
      number = word;
    } else {
      char byte = run.words[size_t(at)];
      number = isSigned ? int64_t(int8_t(byte)) : int64_t(uint8_t(byte));
    }
    number -= storage.offset;
    if (!fits(number, storage, type)) {
      fail(userError("'", source.tensors->front().path, "': tensor '",
                     source.name, "': ", number,
                     " does not fit what it is read as"));
      return false;
    }
    numbers[i] = int32_t(number);
  }
  return true;
}

bool Loader::read(Run &run, Index index, int64_t count, int32_t *numbers,
                  float *floats) {
  if (!source.tensors) {
    makeUp(index, count, numbers, floats);
    return true;
  }
  size_t last = fileShape.size() - 1;
  int64_t perWord = storage.elementsPerWord(), position = 0, part = 0;
  auto wordOf = [&](size_t d, int64_t i) {
    if (!storage.repeat.empty())
      i /= storage.repeat[d];
    return storage.bits && storage.dim == int64_t(d) ? i / perWord : i;
  };
  for (size_t d = 0; d < last; ++d) {
    position += wordOf(d, index[d]) * fileStrides[d];
    if (storage.bits && storage.dim == int64_t(d))
      part =
          (storage.repeat.empty() ? index[d] : index[d] / storage.repeat[d]) %
          perWord;
  }
  int64_t first = wordOf(last, index[last]),
          end = wordOf(last, index[last] + count - 1) + 1;
  return fetch(run, position + first, end - first) &&
         convert(run, index[last], first, part, count, numbers, floats);
}

/// Writes elements of one row of the target from `column` on, which are
/// `stride` apart.
void Loader::store(int64_t at, int64_t column, const int32_t *numbers,
                   const float *floats, int64_t stride, int64_t count) {
  char *row = target + at * rowBytes;
  if (isFloat()) {
    int64_t size = typeBytes(type);
    for (int64_t i = 0; i < count; ++i)
      simd().narrow(type, floats + i * stride, row + (column + i) * size, 1);
    return;
  }
  if (type == TPRT_I32) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(row + (column + i) * 4, numbers + i * stride, 4);
    return;
  }
  if (!storage.isNibble) {
    for (int64_t i = 0; i < count; ++i)
      row[column + i] = char(numbers[i * stride]);
    return;
  }
  // Tiles begin with a byte.
  for (int64_t i = 0; i < count; i += 2) {
    int32_t high = i + 1 < count ? numbers[(i + 1) * stride] : 0;
    row[(column + i) / 2] = char((numbers[i * stride] & 15) | (high & 15) << 4);
  }
}

void Loader::runTile(const Index &lead, int64_t row, int64_t rowCount,
                     int64_t column, int64_t columnCount) {
  if (failed)
    return;
  size_t k = rank() - 1;
  const Axis &columns = axes[k];
  bool isInOrder = columns.file == int64_t(fileShape.size()) - 1;
  std::vector<int32_t> numbers(size_t(isFloat() ? 0 : rowCount * columnCount));
  std::vector<float> floats(size_t(isFloat() ? rowCount * columnCount : 0));
  Index index(fileShape.size(), 0);
  int64_t at = 0;
  for (size_t d = 0; d < k; ++d) {
    int64_t i = d + 1 < k ? lead[d] : row;
    index[size_t(axes[d].file)] = axes[d].from + i * axes[d].step;
    at += (axes[d].to + i) * targetRows[d];
  }
  Run run;
  // Runs of the file, without steps: rows of the tile, or its columns.
  size_t outer = size_t(isInOrder && k > 0 ? axes[k - 1].file : columns.file);
  int64_t runs = isInOrder ? rowCount : columnCount;
  int64_t length = isInOrder ? columnCount : rowCount;
  int64_t outerFrom = index[outer];
  int64_t outerStep = isInOrder && k > 0 ? axes[k - 1].step : columns.step;
  index[size_t(columns.file)] = columns.from + column * columns.step;
  if (!isInOrder)
    outerFrom = columns.from + column * columns.step;
  for (int64_t i = 0; i < runs; ++i) {
    if (k > 0 || !isInOrder)
      index[outer] = outerFrom + i * outerStep;
    if (!read(run, index, length, numbers.data() + i * length,
              floats.data() + i * length))
      return;
  }
  for (int64_t i = 0; i < rowCount; ++i) {
    int64_t from = isInOrder ? i * columnCount : i;
    store(at + i, columns.to + column, numbers.data() + from,
          floats.data() + from, isInOrder ? 1 : rowCount, columnCount);
  }
}

Expected<int64_t> Loader::run() {
  std::memset(target, 0, size_t(targetBytes));
  for (const std::vector<Axis> &block : blocks) {
    axes = block;
    TPRT_TRY(runBlock());
  }
  return bytesRead.load();
}

Status Loader::runBlock() {
  size_t k = rank() - 1;
  int64_t rows = k > 0 ? axes[k - 1].extent : 1, columns = axes[k].extent;
  bool isInOrder = axes[k].file == int64_t(fileShape.size()) - 1;
  bool isSwapped = k > 0 && axes[k - 1].file == int64_t(fileShape.size()) - 1;
  if (!isInOrder && !isSwapped)
    return internalError("'", source.name,
                         "': expected the rows or the columns of a quantised "
                         "tensor last in the file");
  if (storage.isNibble && axes[k].to % 2 != 0)
    return internalError("'", source.name,
                         "': expected blocks of packed elements to begin with "
                         "a byte");
  if ((isInOrder ? axes[k] : axes[k - 1]).step != 1)
    return internalError("'", source.name,
                         "': expected no steps in the last dimension of a "
                         "quantised tensor in the file");
  // Widths are even, so that tiles share no byte.
  int64_t width = isInOrder ? 1 << 13 : 64;
  int64_t height = isInOrder ? 32 : 1 << 12;
  int64_t wide = (columns + width - 1) / width,
          high = (rows + height - 1) / height, leads = 1;
  for (size_t d = 0; d + 2 < rank(); ++d)
    leads *= axes[d].extent;
  parallelItems(leads * high * wide, [&](int64_t item, int64_t) {
    int64_t column = item % wide * width, row = item / wide % high * height;
    int64_t left = item / wide / high;
    Index lead(rank(), 0);
    for (size_t d = rank() < 2 ? 0 : rank() - 2; d-- > 0;) {
      lead[d] = left % axes[d].extent;
      left /= axes[d].extent;
    }
    runTile(lead, row, std::min(height, rows - row), column,
            std::min(width, columns - column));
  });
  return status;
}

Expected<int64_t> tprt::loadStored(const StoredSource &source, const Mesh &mesh,
                                   const std::vector<int64_t> &coordinates,
                                   void *target, int64_t first, int64_t rows) {
  if (source.parameter.shape.empty())
    return internalError("'", source.name,
                         "': expected a quantised parameter to have a "
                         "dimension");
  Loader loader(source, mesh, coordinates, static_cast<char *>(target), first,
                rows);
  return loader.run();
}
