//===- Weights.cpp - parameters from checkpoints --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter is a slice of the checkpoint's tensor, permuted, cut into blocks
// and padded with zeros; all of that is one strided copy with a conversion.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"

#include "../format/Cursor.h"
#include "../support/Region.h"
#include "../support/Simd.h"
#include "tprt/artifact.h"
#include "tprt/foreign.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fnmatch.h>
#include <mutex>
#include <set>

using namespace tprt;

namespace {

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

using Tensors = Weights::Tensors;

Status addFile(const std::string &path, Tensors &tensors) {
  TPRT_ASSIGN(auto opened, InputFile::open(path));
  auto file = std::make_shared<const InputFile>(std::move(opened));
  TPRT_ASSIGN(auto places, readSafetensorsHeader(*file, path));
  for (const auto &[name, place] : places) {
    auto [found, inserted] = tensors.insert({name, {place, name, path, file}});
    if (!inserted)
      return userError("tensor '", name, "' is in '", found->second.path,
                       "' and in '", path, "'");
  }
  return {};
}

/// The files that an index says tensors to be in.
std::map<std::string, std::string> parseIndex(const Cursor &index) {
  std::map<std::string, std::string> files;
  for (const auto &[tensor, item] : index["weight_map"].items("tensor")) {
    std::string name = files[tensor] = item.string();
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      item.fail("expected the name of a file beside the index, got '", name,
                "'");
  }
  return files;
}

Status addIndex(const std::filesystem::path &path, Tensors &tensors) {
  std::string where = "'" + path.string() + "'";
  TPRT_ASSIGN(auto file, LoadedFile::open(path.string()));
  TPRT_ASSIGN(auto index, parseJson(file.bytes(), 8).in(where));
  TPRT_ASSIGN(auto files, readJson(index, where, parseIndex));
  std::set<std::string> names;
  for (const auto &[tensor, name] : files)
    names.insert(name);
  for (const std::string &name : names)
    TPRT_TRY(addFile((path.parent_path() / name).string(), tensors));
  for (const auto &[tensor, name] : files) {
    auto found = tensors.find(tensor);
    if (found == tensors.end() ||
        found->second.path != (path.parent_path() / name).string())
      return userError(where, ": tensor '", tensor, "' is not in '", name, "'");
  }
  return {};
}

Status openCheckpoint(const std::string &spec, Tensors &tensors) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path path(spec);
  if (fs::is_regular_file(path, ignored))
    return addFile(spec, tensors);
  bool isThere = fs::is_directory(path, ignored);
  if (!isThere && looksLikeHubName(spec) &&
      !fs::is_directory(path.parent_path(), ignored))
    return userError("weights '", spec, "' ", kHubAdvice);
  if (!isThere)
    return userError("weights '", spec,
                     "': no such directory or .safetensors file (random "
                     "weights: random:SEED)");
  if (fs::exists(path / "model.safetensors", ignored))
    return addFile((path / "model.safetensors").string(), tensors);
  if (fs::exists(path / "model.safetensors.index.json", ignored))
    return addIndex(path / "model.safetensors.index.json", tensors);
  for (std::string_view name : kPickledWeights)
    if (fs::exists(path / name, ignored))
      return userError("weights '", spec, "': ", name,
                       " is in PyTorch's own format, which is not read because "
                       "it can hold code: save the model again with "
                       "save_pretrained, which writes safetensors");
  return userError("weights '", spec,
                   "': expected model.safetensors or "
                   "model.safetensors.index.json in the directory");
}

/// `'a', 'b' and 7 more`.
std::string nameSome(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 5; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 5)
    text += " and " + std::to_string(names.size() - 5) + " more";
  return text;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Elements of one source tensor as f32: of a checkpoint, or made up. What
/// cannot be read is noted and said at the end.
class Source {
public:
  /// Elements that are read at a time, at most.
  static constexpr int64_t kMost = 1 << 14;

  /// Tensors of one type and shape, one behind the other.
  explicit Source(const std::vector<Weights::Located> &tensors)
      : tensors(tensors.data()), type(*floatTypeOf(tensors[0].place.type)),
        each(std::max<int64_t>(1, elementCount(tensors[0].place.shape))) {}
  Source(uint64_t seed, const std::string &name, const Parameter &parameter)
      : parameter(&parameter), key(mix(seed) ^ checksum(name)) {}

  void read(int64_t index, int64_t stride, int64_t count, float *out) const {
    if (!tensors)
      return makeUp(index, stride, count, out);
    int64_t size = typeBytes(type);
    char raw[kMost * 4];
    int64_t step = std::max<int64_t>(1, kMost / std::max<int64_t>(1, stride));
    for (int64_t i = 0; i < count; i += step) {
      int64_t part = std::min(step, count - i);
      fetch(index + i * stride, (part - 1) * stride + 1, raw);
      if (stride == 1)
        simd().widen(type, raw, out + i, part);
      for (int64_t k = 0; stride != 1 && k < part; ++k)
        simd().widen(type, raw + k * stride * size, out + i + k, 1);
    }
  }

  /// Copies elements as they are, if they are of this type.
  bool copy(tprt_type wanted, int64_t index, int64_t count, void *out) const {
    if (!tensors || type != wanted)
      return false;
    fetch(index, count, out);
    return true;
  }

  /// The first error of any thread's reads.
  Status status() const {
    std::lock_guard lock(mutex);
    return first;
  }

private:
  void makeUp(int64_t index, int64_t stride, int64_t count, float *out) const {
    if (parameter->init != Parameter::Init::Normal) {
      bool ones = parameter->init == Parameter::Init::Ones;
      std::fill_n(out, count, ones ? 1.0f : 0.0f);
      return;
    }
    simd().random(key, index, stride, count, out);
    constexpr double kDeviation = 0.02; // theirs
    if (auto scale = float(parameter->deviation / kDeviation); scale != 1)
      for (int64_t i = 0; i < count; ++i)
        out[i] *= scale;
    if (parameter->zeroRow < 0)
      return;
    int64_t row =
        elementCount(parameter->sourceShape) / parameter->sourceShape.front();
    // Element i is number index + i * stride of the tensor.
    auto firstFrom = [&](int64_t element) {
      int64_t steps = (element - index + stride - 1) / stride;
      return std::clamp<int64_t>(element > index ? steps : 0, 0, count);
    };
    std::fill(out + firstFrom(parameter->zeroRow * row),
              out + firstFrom((parameter->zeroRow + 1) * row), 0.0f);
  }

  void fetch(int64_t index, int64_t count, void *out) const {
    int64_t size = typeBytes(type);
    char *to = static_cast<char *>(out);
    while (count > 0) {
      int64_t at = index % each, part = std::min(count, each - at);
      Status status = tensors[index / each].read(at * size, to, part * size);
      if (!status.ok()) {
        std::lock_guard lock(mutex);
        if (first.ok())
          first = std::move(status);
        return;
      }
      index += part;
      count -= part;
      to += part * size;
    }
  }

  const Weights::Located *tensors = nullptr;
  tprt_type type = TPRT_F32;
  int64_t each = 0; ///< elements of a tensor
  const Parameter *parameter = nullptr;
  uint64_t key = 0;
  mutable std::mutex mutex;
  mutable Status first;
};

/// The local block of a parameter: where each of its dimensions is found.
struct Block {
  Shape valid;   ///< elements that exist; the rest is padding
  Shape strides; ///< in the source
  int64_t base = 0;
};

Block locate(const Parameter &p, const Mesh &mesh,
             const std::vector<int64_t> &coordinates) {
  size_t rank = p.shape.size();
  Shape sourceStrides = stridesOf(p.sourceShape);
  Block block;
  for (size_t d = 0; d < rank; ++d) {
    int64_t source = p.permutation[d];
    int64_t start = mesh.index(p.sharding[d], coordinates) * p.localShape[d];
    block.valid.push_back(
        std::clamp<int64_t>(p.shape[d] - start, 0, p.localShape[d]));
    block.strides.push_back(sourceStrides[source]);
    block.base += (p.sliceOffsets[source] + start) * sourceStrides[source];
  }
  for (const AxisRef &ref : p.partial)
    if (mesh.digit(ref, coordinates) != 0)
      block.valid.assign(std::max<size_t>(rank, 1), 0);
  return block;
}

/// Copies a matrix of rows x columns into rows of `ldc` elements. Transposed
/// sources go through tiles that are read in the source's order, high enough
/// that a read is worth its call.
void copyMatrix(const Source &source, int64_t base, int64_t rows,
                int64_t columns, int64_t rowStride, int64_t columnStride,
                tprt_type type, char *target, int64_t ldc) {
  constexpr int64_t kHeight = 1024, kWidth = 32;
  int64_t bytes = typeBytes(type);
  if (columnStride == 1) {
    bool dense = rowStride == columns && ldc == columns;
    parallelFor(rows, 8, [&](int64_t begin, int64_t end, int64_t) {
      float buffer[Source::kMost];
      // Rows without a gap between them are one.
      int64_t step = dense ? end - begin : 1, length = step * columns;
      for (int64_t r = begin; r < end; r += step) {
        int64_t from = base + r * rowStride;
        if (source.copy(type, from, length, target + r * ldc * bytes))
          continue;
        for (int64_t c = 0; c < length; c += Source::kMost) {
          int64_t n = std::min(Source::kMost, length - c);
          source.read(from + c, 1, n, buffer);
          simd().narrow(type, buffer, target + (r * ldc + c) * bytes, n);
        }
      }
    });
    return;
  }
  int64_t bands = (rows + kHeight - 1) / kHeight;
  int64_t strips = (columns + kWidth - 1) / kWidth;
  parallelFor(bands * strips, 1, [&](int64_t begin, int64_t end, int64_t) {
    float column[kHeight], tile[kHeight][kWidth];
    for (int64_t item = begin; item < end; ++item) {
      int64_t r = item / strips * kHeight, c = item % strips * kWidth;
      int64_t height = std::min(kHeight, rows - r);
      int64_t width = std::min(kWidth, columns - c);
      for (int64_t j = 0; j < width; ++j) {
        source.read(base + r * rowStride + (c + j) * columnStride, rowStride,
                    height, column);
        for (int64_t i = 0; i < height; ++i)
          tile[i][j] = column[i];
      }
      for (int64_t i = 0; i < height; ++i)
        simd().narrow(type, tile[i], target + ((r + i) * ldc + c) * bytes,
                      width);
    }
  });
}

/// Whether it can be a tensor of the parameter, behind others of it.
Status checkTensor(const Weights::Located &tensor, const Parameter &p,
                   const std::vector<Weights::Located> &before) {
  const TensorPlace &place = tensor.place;
  std::string where = "'" + tensor.path + "': tensor '" + tensor.name + "'";
  if (!floatTypeOf(place.type))
    return userError(where, ": expected type F32, BF16 or F16, got ",
                     fileTypeName(place.type));
  if (place.shape != p.tensorShape())
    return userError(where, ": expected shape ", formatShape(p.tensorShape()),
                     ", got ", formatShape(place.shape));
  if (!before.empty() && place.type != before[0].place.type)
    return userError(where, ": expected type ",
                     fileTypeName(before[0].place.type), ", that of '",
                     before[0].name, "', got ", fileTypeName(place.type));
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Expected<Weights> Weights::open(const std::string &spec,
                                const Manifest &manifest,
                                const std::string &states) {
  Weights weights;
  weights.manifest = &manifest;
  if (spec.starts_with("random:") || spec.starts_with("init:")) {
    std::string number = spec.substr(spec.find(':') + 1);
    if (number.empty() || number.size() > 18 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      return userError("weights '", spec,
                       "': expected a natural number as the seed");
    weights.seed = std::stoull(number);
    return weights;
  }

  Tensors tensors;
  TPRT_TRY(openCheckpoint(spec, tensors));
  weights.all = tensors;
  if (!states.empty())
    TPRT_TRY(addFile(states, tensors));
  std::set<std::string> used;
  std::vector<std::string> missing;
  for (const Parameter &p : manifest.parameters)
    for (int64_t i = 0; i < p.count; ++i) {
      // The other names are other spellings of the same tensor: a checkpoint
      // that stores a tied tensor twice is read under the first.
      std::vector<std::vector<std::string>> names;
      for (size_t a = 0; a < p.names.size(); ++a) {
        names.push_back(p.tensorsOf(a, i));
        used.insert(names[a].begin(), names[a].end());
      }
      auto &slot = weights.slots.emplace_back();
      for (size_t e = 0; e < names[0].size(); ++e) {
        auto found = tensors.end();
        for (size_t a = 0; a < names.size() && found == tensors.end(); ++a)
          found = tensors.find(names[a][e]);
        if (found == tensors.end()) {
          missing.push_back(names[0][e]);
          continue;
        }
        const Located &tensor = found->second;
        TPRT_TRY(checkTensor(tensor, p, slot));
        slot.push_back(tensor);
      }
    }
  if (!missing.empty())
    return userError("weights '", spec,
                     "': the checkpoint lacks tensors that the program needs: ",
                     nameSome(missing));
  std::vector<std::string> unused;
  for (const auto &[name, located] : tensors) {
    bool ignored = std::any_of(manifest.ignored.begin(), manifest.ignored.end(),
                               [&, &name = name](const std::string &pattern) {
                                 return fnmatch(pattern.c_str(), name.c_str(),
                                                FNM_NOESCAPE) == 0;
                               });
    if (!used.count(name) && !ignored)
      unused.push_back(name);
  }
  if (!unused.empty())
    return userError("weights '", spec,
                     "': the checkpoint has tensors that the program does not "
                     "use: ",
                     nameSome(unused));
  return weights;
}

Status Weights::Located::read(int64_t offset, void *data, int64_t bytes) const {
  return file->read(place.offset + offset, data, bytes)
      .in("tensor '" + name + "'");
}

Expected<int64_t> Weights::load(int64_t parameter, int64_t instance,
                                const std::vector<int64_t> &coordinates,
                                void *target, int64_t first,
                                int64_t rows) const {
  const Parameter &p = manifest->parameters[parameter];
  const std::vector<Located> *tensors =
      slots.empty() ? nullptr : &slots[p.base + instance];
  Source source =
      tensors ? Source(*tensors) : Source(seed, p.nameOf(0, instance), p);

  Block block = locate(p, manifest->mesh, coordinates);
  Shape localShape = p.localShape;
  if (rows >= 0 && !localShape.empty()) {
    localShape[0] = rows;
    block.base += first * block.strides[0];
    block.valid[0] = std::clamp<int64_t>(block.valid[0] - first, 0, rows);
  }
  char *out = static_cast<char *>(target);
  int64_t bytes = typeBytes(p.type);
  // Padding is zeros; all else is written below.
  if (block.valid != localShape)
    std::memset(out, 0, elementCount(localShape) * bytes);
  if (std::count(block.valid.begin(), block.valid.end(), 0))
    return int64_t(0);

  // The last two dimensions are a matrix; those before it are walked.
  Shape valid = block.valid, strides = block.strides, local = localShape;
  while (valid.size() < 2) {
    valid.insert(valid.begin(), 1);
    strides.insert(strides.begin(), 0);
    local.insert(local.begin(), 1);
  }
  if (p.shape.empty())
    strides[1] = 1;
  size_t outer = valid.size() - 2;
  Shape outerSizes(valid.begin(), valid.end() - 2), to = stridesOf(local);
  for (int64_t m = 0; m < elementCount(outerSizes); ++m) {
    auto [from, target] = offsetsAt(m, outerSizes, strides, to);
    copyMatrix(source, block.base + from, valid[outer], valid[outer + 1],
               strides[outer], strides[outer + 1], p.type, out + target * bytes,
               local[outer + 1]);
  }
  TPRT_TRY(source.status());
  return tensors ? elementCount(block.valid) *
                       fileTypeBytes(tensors->front().place.type)
                 : int64_t(0);
}

Expected<uint64_t> Weights::fingerprint() const {
  std::string text = std::to_string(seed);
  constexpr int64_t kSample = 256;
  std::vector<Located> tensors;
  for (const auto &slot : slots)
    tensors.insert(tensors.end(), slot.begin(), slot.end());
  for (const Located &tensor : tensors) {
    const TensorPlace &place = tensor.place;
    text += fileTypeName(place.type) + formatShape(place.shape);
    int64_t last = std::max<int64_t>(0, place.bytes - kSample);
    for (int64_t at : {int64_t(0), place.bytes / 2, last}) {
      char sample[kSample];
      int64_t size = std::min(kSample, place.bytes - at);
      TPRT_TRY(tensor.read(at, sample, size));
      text.append(sample, size_t(size));
    }
  }
  return checksum(text);
}
