//===- quantized_tiles.cu - Many rows times a quantised weight ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block multiplies a tile of rows of x with a tile of lines of the weight, 64
// columns of both at a time. Two stages are in shared memory: rows of x come
// there by asynchronous copies; the weight is read packed to registers while
// the stage before is multiplied, and unpacked to shared memory after. Eight
// warps, two by four, have 16 * rowTiles by 8 * columnTiles sums each.
//
// With `lateScales` what is multiplied is q - zero, which 16 bits hold exactly,
// and the f32 sums of a group's columns are scaled. Otherwise, where groups are
// no multiples of 16 columns, numbers are scaled and rounded to x's type. An x
// of f32 is multiplied as the sum of `parts` numbers of bf16, each the rest of
// the one before.
//
//===----------------------------------------------------------------------===//

#include "quantized_product.h"

TP_SHAPE(bool, lateScales)
TP_SHAPE(int, parts)

namespace {
using namespace quantized;

inline constexpr int kThreads = 256;
inline constexpr int kColumns = 64; ///< of a stage
/// Bytes from a row to the next in shared memory: neighbours lie in other
/// banks.
inline constexpr int kPitch = 2 * kColumns + 16, kWidePitch = 4 * kColumns + 32;

__device__ uint32_t pack(float low, float high) {
  return shape::xType() == F16 ? packF16(low, high) : packBf16(low, high);
}

template <int rowTiles, int columnTiles>
class TileProduct {
  static constexpr int blockRows = 32 * rowTiles;
  static constexpr int blockLines = 32 * columnTiles;
  /// Units of a stage that a thread reads.
  static constexpr int ownUnits = (blockLines * 4 + kThreads - 1) / kThreads;

public:
  __device__ explicit TileProduct(const Product &call)
      : call(call), firstRow(blockIdx.y * blockRows),
        firstLine(blockIdx.x * blockLines),
        width(loadWidth(call.weight.values, rowBytes())),
        xWidth(loadWidth(call.x,
                         int64_t(shape::k()) * typeBytes(shape::xType()))) {}

  __device__ void run() {
    const int stages = (shape::k() + kColumns - 1) / kColumns;
    startRows(0);
    loadLines(0);
    storeLines(0);
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
      waitForCopies();
      __syncthreads();
      const bool isLast = stage + 1 == stages;
      if (!isLast) {
        startRows(stage + 1);
        loadLines(stage + 1);
      }
      multiply(stage, isLast);
      if (!isLast)
        storeLines(stage + 1);
    }
    finishAll();
  }

private:
  const Product &call;
  const int firstRow, firstLine, width, xWidth;
  uint4 units[ownUnits];
  /// Of the columns since the last that were scaled, and what was scaled.
  float parts[rowTiles][columnTiles][4] = {};
  float sums[rowTiles][columnTiles][4] = {};

  __device__ static int pitch() {
    return shape::xType() == F32 ? kWidePitch : kPitch;
  }
  __device__ static char *getRows(int stage) {
    return dynamic_shared_memory + stage % 2 * (blockRows * pitch());
  }
  __device__ static char *getLines(int stage) {
    return dynamic_shared_memory + 2 * blockRows * pitch() +
           stage % 2 * (blockLines * kPitch);
  }
  __device__ static int unitsOfLine() { return isNibble() ? 2 : 4; }

  /// Starts the copies of a stage's rows of x, by chunks of 16 bytes. Behind
  /// the last column there are zeros; rows that there are not repeat the last.
  __device__ void startRows(int stage) {
    const int bytes = typeBytes(shape::xType());
    const int chunks = kColumns * bytes / 16, size = 16 / bytes;
#pragma unroll 1
    for (int i = threadIdx.x; i < blockRows * chunks; i += kThreads) {
      const int column = stage * kColumns + i % chunks * size;
      const int64_t row = min(firstRow + i / chunks, shape::rows() - 1);
      const char *from = call.x + (row * shape::k() + column) * bytes;
      char *to = getRows(stage) + i / chunks * pitch() + i % chunks * 16;
      if (xWidth == 16 && column < shape::k())
        startCopy(to, from);
      else
        copyElements(to, from, size, shape::k() - column);
    }
    endCopies();
  }

  /// `left` elements of `size`, and zeros.
  __device__ void copyElements(char *to, const char *from, int size, int left) {
#pragma unroll
    for (int j = 0; j < size; ++j)
      if (shape::xType() == F32)
        reinterpret_cast<uint32_t *>(to)[j] =
            j < left ? reinterpret_cast<const uint32_t *>(from)[j] : 0;
      else
        reinterpret_cast<uint16_t *>(to)[j] =
            j < left ? reinterpret_cast<const uint16_t *>(from)[j]
                     : uint16_t(0);
  }

  __device__ void loadLines(int stage) {
#pragma unroll
    for (int i = 0; i < ownUnits; ++i) {
      const int own = threadIdx.x + i * kThreads;
      if (own >= blockLines * unitsOfLine())
        continue;
      const int64_t line = min(firstLine + own / unitsOfLine(), shape::n() - 1);
      units[i] = loadUnit(call.weight.values + line * rowBytes(),
                          stage * unitsOfLine() + own % unitsOfLine(),
                          rowBytes(), width);
    }
  }

  __device__ void storeLines(int stage) {
    const int size = isNibble() ? 32 : 16;
#pragma unroll
    for (int i = 0; i < ownUnits; ++i) {
      const int own = threadIdx.x + i * kThreads;
      if (own >= blockLines * unitsOfLine())
        continue;
      const int line = own / unitsOfLine(), unit = own % unitsOfLine();
      char *to = getLines(stage) + line * kPitch + unit * size * 2;
#pragma unroll
      for (int j = 0; j < size; j += 8) {
        float numbers[8];
        dequantize(
            call.weight, units[i], j, min(firstLine + line, shape::n() - 1),
            stage * kColumns + unit * size + j, !shape::lateScales(), numbers);
        uint4 packed;
#pragma unroll
        for (int pair = 0; pair < 4; ++pair)
          packed[pair] = pack(numbers[2 * pair], numbers[2 * pair + 1]);
        *reinterpret_cast<uint4 *>(to + 2 * j) = packed;
      }
    }
  }

  __device__ static int getWarpRow() { return warp() / 4 * (16 * rowTiles); }
  __device__ static int getWarpLine() { return warp() % 4 * (8 * columnTiles); }

  /// 16 products of each sum, columns 16 * slice on.
  __device__ void multiplySlice(int stage, int slice) {
    const char *lines = getLines(stage) +
                        (getWarpLine() + lane() / 4) * kPitch + slice * 32 +
                        lane() % 4 * 4;
    uint32_t right[columnTiles][2];
#pragma unroll
    for (int tile = 0; tile < columnTiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        right[tile][half] = *reinterpret_cast<const uint32_t *>(
            lines + tile * 8 * kPitch + half * 16);
#pragma unroll
    for (int i = 0; i < rowTiles; ++i) {
      uint32_t left[3][4];
      loadLeft(stage, slice, i, left);
#pragma unroll
      for (int part = 0; part < 3; ++part) {
        if (part >= shape::parts())
          continue;
#pragma unroll
        for (int tile = 0; tile < columnTiles; ++tile)
          if (shape::xType() == F16)
            tp_mma_f16(parts[i][tile], left[part], right[tile][0],
                       right[tile][1]);
          else
            tp_mma_bf16(parts[i][tile], left[part], right[tile][0],
                        right[tile][1]);
      }
    }
  }

  /// Rows 16 * tile on of the warp's, in parts.
  __device__ void loadLeft(int stage, int slice, int tile,
                           uint32_t (&left)[3][4]) {
    const int bytes = typeBytes(shape::xType());
    const char *rows = getRows(stage) +
                       (getWarpRow() + tile * 16 + lane() / 4) * pitch() +
                       (slice * 16 + lane() % 4 * 2) * bytes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const char *from = rows + i % 2 * 8 * pitch() + i / 2 * 8 * bytes;
      if (shape::xType() != F32) {
        left[0][i] = *reinterpret_cast<const uint32_t *>(from);
        continue;
      }
      float low = reinterpret_cast<const float *>(from)[0];
      float high = reinterpret_cast<const float *>(from)[1];
#pragma unroll
      for (int part = 0; part < 3; ++part) {
        left[part][i] = packBf16(low, high);
        low = getRest(low, left[part][i] << 16);
        high = getRest(high, left[part][i] & 0xffff0000);
      }
    }
  }
  /// What a number is more than one of bf16; that of infinity is none.
  __device__ static float getRest(float number, uint32_t bits) {
    const float taken = __builtin_bit_cast(float, bits);
    return taken == number ? 0.0f : number - taken;
  }

  __device__ void multiply(int stage, bool isLast) {
#pragma unroll
    for (int slice = 0; slice < kColumns / 16; ++slice) {
      multiplySlice(stage, slice);
      if (!shape::lateScales() || shape::groupK() == 0)
        continue;
      const int end = stage * kColumns + (slice + 1) * 16;
      if (end % shape::groupK() == 0 || (isLast && slice == kColumns / 16 - 1))
        scaleParts(min(end, shape::k()) - 1);
    }
  }

  /// Adds what was multiplied since the last time, whose group column `column`
  /// is in.
  __device__ void scaleParts(int column) {
#pragma unroll
    for (int tile = 0; tile < columnTiles; ++tile)
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const float scale = readScale(
            call.weight, findGroup(call.weight, getLine(tile, side), column));
#pragma unroll
        for (int i = 0; i < rowTiles; ++i)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float &part = parts[i][tile][2 * half + side];
            float &sum = sums[i][tile][2 * half + side];
            sum = __builtin_fmaf(part, scale, sum);
            part = 0;
          }
      }
  }

  /// The line of the weight, which is a column of y, that a sum is of.
  __device__ int getLine(int tile, int side) {
    return min(firstLine + getWarpLine() + tile * 8 + lane() % 4 * 2 + side,
               shape::n() - 1);
  }

  __device__ void finishAll() {
    if (!shape::lateScales() || shape::groupK() == 0) {
#pragma unroll
      for (int i = 0; i < rowTiles; ++i)
#pragma unroll
        for (int tile = 0; tile < columnTiles; ++tile)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const float scale =
                shape::lateScales()
                    ? readScale(call.weight,
                                findGroup(call.weight, getLine(tile, j % 2), 0))
                    : 1.0f;
            sums[i][tile][j] = parts[i][tile][j] * scale;
          }
    }
#pragma unroll
    for (int i = 0; i < rowTiles; ++i)
#pragma unroll
      for (int tile = 0; tile < columnTiles; ++tile)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int row =
              firstRow + getWarpRow() + i * 16 + lane() / 4 + j / 2 * 8;
          const int line =
              firstLine + getWarpLine() + tile * 8 + lane() % 4 * 2 + j % 2;
          if (row < shape::rows() && line < shape::n())
            finish(call, row, line, sums[i][tile][j]);
        }
  }
};
} // namespace

// quantized_tiles_<rows of a block>_<lines of it>.
#define TP_QUANTIZED_TILES(rows, lines)                                        \
  extern "C" __global__ void quantized_tiles_##rows##_##lines(                 \
      TP_QUANTIZED_PARAMETERS) {                                               \
    const Product call = TP_QUANTIZED_PRODUCT;                                 \
    TileProduct<rows / 32, lines / 32>(call).run();                            \
  }
TP_QUANTIZED_TILES(32, 32)
TP_QUANTIZED_TILES(64, 32)
TP_QUANTIZED_TILES(64, 128)
TP_QUANTIZED_TILES(128, 128)
#undef TP_QUANTIZED_TILES
