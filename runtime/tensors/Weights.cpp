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

#include "QuantizedReading.h"
#include "Stored.h"

#include "../support/Region.h"
#include "../support/Simd.h"
#include "tprt/artifact.h"
#include "tprt/names.h"

#include <algorithm>
#include <cstring>
#include <fnmatch.h>
#include <mutex>
#include <set>

using namespace tprt;

namespace {

using Tensors = Weights::Tensors;

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

/// Calls `body` with each block of the local part of a parameter, or of `rows`
/// of its rows from `first` on, from the source to the part: the elements that
/// exist, without padding.
void forEachBox(const Parameter &p, const Mesh &mesh,
                const std::vector<int64_t> &coordinates, int64_t first,
                int64_t rows, const std::function<void(const Box &)> &body) {
  if (mesh.index(p.partial, coordinates) != 0)
    return;
  Shape source = stridesOf(p.sourceShape), local = stridesOf(p.localShape);
  forEachBlock(blocksOf(p, mesh, coordinates, first, rows),
               [&](const std::vector<DimRun> &runs) {
                 Box box;
                 for (size_t d = 0; d < runs.size(); ++d) {
                   int64_t from = p.permutation[d];
                   int64_t step = p.sliceSteps[size_t(from)];
                   box.dimensions.push_back(
                       {runs[d].length, source[from] * step, local[d]});
                   box.fromStart +=
                       (p.sliceOffsets[from] + runs[d].start * step) *
                       source[from];
                   box.toStart += runs[d].local * local[d];
                 }
                 body(box);
               });
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

Shape withoutOnes(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

/// Returns true if a packed tensor of shape `got` has the elements of
/// `expected` in their order: ones do not count, and the file may have its last
/// dimension as two, groups and what is in each.
bool isStoredAs(Shape got, Shape expected, const Storage &storage) {
  got = withoutOnes(std::move(got));
  expected = withoutOnes(std::move(expected));
  if (storage.bits && got.size() == expected.size() + 1) {
    int64_t last = got.back();
    got.pop_back();
    got.back() *= last;
  }
  return got == expected;
}

/// True if it can stand for something of this shape.
Status checkTensor(const Weights::Located &tensor, const Shape &shape,
                   const std::optional<Storage> &storage = {}) {
  const TensorPlace &place = tensor.place;
  std::string where = "'" + tensor.path + "': tensor '" + tensor.name + "'";
  if (storage && !storage->isFloat()) {
    if (fileTypeName(place.type) != storage->type)
      return userError(where, ": expected type ", storage->type, ", got ",
                       fileTypeName(place.type));
  } else if (!floatTypeOf(place.type)) {
    return userError(where, ": expected type F32, BF16 or F16, got ",
                     fileTypeName(place.type));
  }
  if (storage ? !isStoredAs(place.shape, shape, *storage)
              : place.shape != shape)
    return userError(where, ": expected shape ", formatShape(shape), ", got ",
                     formatShape(place.shape));
  return {};
}

bool matchesAny(const std::vector<std::string> &patterns,
                const std::string &name) {
  return std::any_of(
      patterns.begin(), patterns.end(), [&](const std::string &pattern) {
        return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
      });
}

/// Finds the tensors of parameters.
class Matcher {
public:
  explicit Matcher(const Tensors &tensors) : tensors(tensors) {}

  /// The tensors of an instance, a stack's in the order of its positions. Of
  /// several names the first that is there is read.
  Expected<std::vector<Weights::Located>> match(const Parameter &p,
                                                int64_t instance);
  /// The part stands beside what it is a part of.
  Status match(const TensorPart &part, int64_t instance);

  bool isUsed(const std::string &name) const { return used.count(name); }
  /// Tensors that are there and not read, as others have their values.
  const std::set<std::string> &unread() const { return twice; }
  std::vector<SamePair> pairs() const;
  std::vector<std::string> missing;

private:
  void addPair(SamePair pair);

  const Tensors &tensors;
  std::set<std::string> used, twice;
  std::map<std::pair<std::string, std::string>, SamePair> known;
};

/// Templates may name one pair more than once; the widest type tells the most.
void Matcher::addPair(SamePair pair) {
  auto [found, isNew] =
      known.insert({{pair.a.tensor.name, pair.b.tensor.name}, pair});
  if (!isNew && pair.type == TPRT_F32)
    found->second.type = TPRT_F32;
}

std::vector<SamePair> Matcher::pairs() const {
  std::vector<SamePair> list;
  for (const auto &[names, pair] : known)
    list.push_back(pair);
  return list;
}

Expected<std::vector<Weights::Located>> Matcher::match(const Parameter &p,
                                                       int64_t instance) {
  std::vector<std::vector<std::string>> names;
  for (size_t a = 0; a < p.names.size(); ++a)
    names.push_back(p.tensorsOf(a, instance));
  std::vector<Weights::Located> slot;
  for (size_t e = 0; e < names[0].size(); ++e) {
    std::optional<TensorBox> first;
    for (size_t a = 0; a < names.size(); ++a) {
      used.insert(names[a][e]);
      auto found = tensors.find(names[a][e]);
      if (found == tensors.end())
        continue;
      const Weights::Located &tensor = found->second;
      TPRT_TRY(checkTensor(tensor, p.tensorShape(), p.storage));
      if (first && p.storage)
        return userError("'", tensor.path, "': tensors '", first->tensor.name,
                         "' and '", tensor.name,
                         "' stand for the same quantised parameter");
      TensorBox box{tensor, tensor.place.shape,
                    Shape(tensor.place.shape.size(), 0), patternOf(p.names[a])};
      if (first)
        addPair({*first, box, box.shape, p.type});
      else
        first = std::move(box);
    }
    if (!first) {
      missing.push_back(names[0][e]);
      continue;
    }
    const TensorPlace &place = first->tensor.place;
    if (!slot.empty() && place.type != slot[0].place.type)
      return userError("'", first->tensor.path, "': tensor '",
                       first->tensor.name, "': expected type ",
                       fileTypeName(slot[0].place.type), ", that of '",
                       slot[0].name, "', got ", fileTypeName(place.type));
    slot.push_back(std::move(first->tensor));
  }
  return slot;
}

/// The shape with its first `count` dimensions as one.
Shape joinFirst(const Shape &shape, int64_t count) {
  if (count == 1)
    return shape;
  Shape joined(shape.begin() + count - 1, shape.end());
  for (int64_t d = 0; d < count - 1; ++d)
    joined[0] *= shape[d];
  return joined;
}

Status Matcher::match(const TensorPart &p, int64_t instance) {
  std::string wholeName = nameOfLayer(p.whole, p.first + instance);
  auto whole = tensors.find(wholeName);
  if (whole == tensors.end())
    return {};
  std::string name = nameOfLayer(p.part, p.first + instance);
  size_t place = name.find("{e}");
  for (int64_t e = 0; e < (p.isStack() ? p.sizes[0] : 1); ++e) {
    std::string partName = name;
    Shape sizes = p.sizes, offsets = p.offsets, shape = p.sizes;
    if (p.isStack()) {
      partName.replace(place, 3, std::to_string(e));
      sizes[0] = 1, offsets[0] += e;
      shape.erase(shape.begin());
    }
    auto part = tensors.find(partName);
    if (part == tensors.end())
      continue;
    TPRT_TRY(checkTensor(whole->second, joinFirst(p.shape, p.joined)));
    TPRT_TRY(checkTensor(part->second, joinFirst(shape, p.joined)));
    if (used.insert(partName).second)
      twice.insert(partName);
    if (used.insert(wholeName).second)
      twice.insert(wholeName);
    addPair({{whole->second, p.shape, offsets, patternOf(p.whole)},
             {part->second, sizes, Shape(sizes.size(), 0), patternOf(p.part)},
             sizes,
             p.type});
  }
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Expected<std::optional<uint64_t>>
tprt::readWeightsSeed(const std::string &spec) {
  if (!spec.starts_with("random:") && !spec.starts_with("init:"))
    return std::optional<uint64_t>();
  std::string number = spec.substr(spec.find(':') + 1);
  if (number.empty() || number.size() > 18 ||
      number.find_first_not_of("0123456789") != std::string::npos)
    return userError("weights '", spec,
                     "': expected a natural number as the seed");
  return std::optional<uint64_t>(std::stoull(number));
}

Expected<Weights> Weights::open(const std::string &spec,
                                const Manifest &manifest,
                                const std::string &states) {
  Weights weights;
  weights.manifest = &manifest;
  TPRT_ASSIGN(auto seed, readWeightsSeed(spec));
  if (seed) {
    weights.seed = *seed;
    return weights;
  }

  TPRT_ASSIGN(auto files, CheckpointFiles::open(spec));
  std::erase_if(files.tensors, [&](const auto &tensor) {
    return matchesAny(manifest.excluded, tensor.first);
  });
  if (!manifest.quantize.empty())
    TPRT_TRY(quantizeTensors(manifest, files.tensors));
  weights.all = files.tensors;
  weights.unreadNote = files.note;
  if (!states.empty())
    TPRT_TRY(files.add(states));
  Matcher matcher(files.tensors);
  for (const Parameter &p : manifest.parameters)
    for (int64_t i = 0; i < p.count; ++i) {
      TPRT_ASSIGN(auto slot, matcher.match(p, i));
      weights.slots.push_back(std::move(slot));
    }
  for (const TensorPart &part : manifest.tensorParts)
    for (int64_t i = 0; i < part.count; ++i)
      TPRT_TRY(matcher.match(part, i));
  if (!matcher.missing.empty())
    return userError("weights '", spec,
                     "': the checkpoint lacks tensors that the program needs: ",
                     nameSome(matcher.missing));
  std::vector<std::string> unused;
  std::set<std::string> readAsForms;
  for (const auto &[name, located] : files.tensors)
    if (matcher.isUsed(name))
      readAsForms.insert(located.formOf);
  for (const auto &[name, located] : files.tensors)
    if (located.formOf.empty() && !readAsForms.count(name) &&
        !matcher.isUsed(name) && !matchesAny(manifest.ignored, name))
      unused.push_back(name);
  if (!unused.empty())
    return userError("weights '", spec,
                     "': the checkpoint has tensors that the program does not "
                     "use: ",
                     nameSome(unused));
  weights.pairs = matcher.pairs();
  for (const std::string &name : matcher.unread())
    weights.all.erase(name);
  return weights;
}

Status Weights::compareShare(int64_t share, int64_t shares) const {
  for (const SamePair &pair : pairs)
    TPRT_TRY(tprt::compareShare(pair, share, shares));
  return {};
}

Expected<int64_t> Weights::load(int64_t parameter, int64_t instance,
                                const std::vector<int64_t> &coordinates,
                                void *target, int64_t first,
                                int64_t rows) const {
  const Parameter &p = manifest->parameters[parameter];
  const std::vector<Located> *tensors =
      slots.empty() ? nullptr : &slots[p.base + instance];
  if (p.storage)
    return loadStored({p, p.nameOf(0, instance), tensors, seed}, manifest->mesh,
                      coordinates, target, first, rows);
  Source source =
      tensors ? Source(*tensors) : Source(seed, p.nameOf(0, instance), p);

  Shape localShape = p.localShape;
  if (rows >= 0 && !localShape.empty())
    localShape[0] = rows;
  std::vector<Box> boxes;
  int64_t count = 0;
  forEachBox(p, manifest->mesh, coordinates, first, rows, [&](const Box &box) {
    int64_t elements = 1;
    for (const Box::Dimension &d : box.dimensions)
      elements *= d.extent;
    count += elements;
    boxes.push_back(simplified(box));
  });
  char *out = static_cast<char *>(target);
  // Padding is zeros; all else is written below.
  if (count != elementCount(localShape))
    std::memset(out, 0, elementCount(localShape) * typeBytes(p.type));
  for (const Box &box : boxes)
    if (box.dimensions.back().from == 1)
      copyRuns(source, box, p.type, out);
    else
      copyTransposed(source, box, p.type, out);
  TPRT_TRY(source.status());
  return tensors ? count * fileTypeBytes(tensors->front().place.type)
                 : int64_t(0);
}

std::vector<Weights::Located> Weights::parameterTensors() const {
  std::vector<Located> tensors;
  std::set<std::string> names;
  for (const auto &slot : slots)
    for (const Located &tensor : slot)
      if (names.insert(tensor.name).second)
        tensors.push_back(tensor);
  return tensors;
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
