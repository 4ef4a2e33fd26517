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
  if (fs::is_regular_file(path, ignored) && path.extension() == ".json")
    return userError("weights '", spec,
                     "' is a file of a checkpoint: expected its directory, '",
                     path.parent_path().string(), "'");
  if (fs::is_regular_file(path, ignored))
    return addFile(spec, tensors);
  bool isThere = fs::is_directory(path, ignored);
  if (!isThere && looksLikeHubName(spec) &&
      !fs::is_directory(path.parent_path(), ignored))
    return userError("weights '", spec, "' ", kHubAdvice,
                     "; random:SEED makes weights up");
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

/// The local block of a parameter, from the source: the elements that exist,
/// without padding.
Box locate(const Parameter &p, const Mesh &mesh,
           const std::vector<int64_t> &coordinates) {
  Shape source = stridesOf(p.sourceShape), local = stridesOf(p.localShape);
  Box box;
  for (size_t d = 0; d < p.shape.size(); ++d) {
    int64_t from = p.permutation[d];
    int64_t start = mesh.index(p.sharding[d], coordinates) * p.localShape[d];
    box.dimensions.push_back(
        {std::clamp<int64_t>(p.shape[d] - start, 0, p.localShape[d]),
         source[from], local[d]});
    box.fromStart += (p.sliceOffsets[from] + start) * source[from];
  }
  if (mesh.index(p.partial, coordinates) != 0)
    box.dimensions.assign(1, {0, 1, 1});
  return box;
}

/// Elements that are one behind the other in the source.
void copyRuns(const Source &source, const Box &box, tprt_type type,
              char *target) {
  int64_t bytes = typeBytes(type);
  forEachRun(box, [&](int64_t from, int64_t to, int64_t length) {
    if (source.copy(type, from, length, target + to * bytes))
      return;
    float buffer[Source::kMost];
    for (int64_t c = 0; c < length; c += Source::kMost) {
      int64_t n = std::min(Source::kMost, length - c);
      source.read(from + c, 1, n, buffer);
      simd().narrow(type, buffer, target + (to + c) * bytes, n);
    }
  });
}

/// Others: tiles that are read in the source's order, high enough that a read
/// is worth its call.
void copyTransposed(const Source &source, const Box &box, tprt_type type,
                    char *target) {
  constexpr int64_t kHeight = 1024, kWidth = 32;
  const auto &row = box.dimensions.end()[-2], &column = box.dimensions.back();
  forEachTile(
      box, kHeight, kWidth,
      [&](int64_t from, int64_t to, int64_t height, int64_t width) {
        float values[kHeight], tile[kHeight][kWidth];
        for (int64_t j = 0; j < width; ++j) {
          source.read(from + j * column.from, row.from, height, values);
          for (int64_t i = 0; i < height; ++i)
            tile[i][j] = values[i];
        }
        for (int64_t i = 0; i < height; ++i)
          simd().narrow(type, tile[i],
                        target + (to + i * row.to) * typeBytes(type), width);
      },
      /*least=*/1);
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

  Box box = locate(p, manifest->mesh, coordinates);
  Shape localShape = p.localShape;
  if (rows >= 0 && !localShape.empty()) {
    auto &row = box.dimensions[0];
    localShape[0] = rows;
    box.fromStart += first * row.from;
    row.extent = std::clamp<int64_t>(row.extent - first, 0, rows);
  }
  int64_t count = 1;
  for (const auto &d : box.dimensions)
    count *= d.extent;
  char *out = static_cast<char *>(target);
  // Padding is zeros; all else is written below.
  if (count != elementCount(localShape))
    std::memset(out, 0, elementCount(localShape) * typeBytes(p.type));
  if (count == 0)
    return int64_t(0);

  box = simplified(std::move(box));
  if (box.dimensions.back().from == 1)
    copyRuns(source, box, p.type, out);
  else
    copyTransposed(source, box, p.type, out);
  TPRT_TRY(source.status());
  return tensors ? count * fileTypeBytes(tensors->front().place.type)
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
