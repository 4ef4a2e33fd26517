//===- Parameters.cpp - Values of tp.parameter ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both providers look a parameter's elements up in the checkpoint's tensor,
// through the box and the permutation of its source.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Parameters.h"

#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interfaces/ShardingInterface.h"
#include "tp/Support/Indices.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <bit>
#include <cmath>

using namespace mlir;

namespace tp::interp {

double uniform(uint64_t seed, StringRef name, uint64_t counter) {
  // splitmix64 of the three mixed together.
  uint64_t x = seed * 0x9E3779B97F4A7C15 ^ llvm::xxh3_64bits(name);
  x += (counter + 1) * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  x ^= x >> 31;
  return double(x >> 11) * 0x1p-53;
}

int64_t getIntegerEnd(ParameterOp op) {
  for (OpOperand &use : op.getResult().getUses())
    if (auto numbers = dyn_cast<IntegerOperandsOpInterface>(use.getOwner()))
      if (auto range = numbers.getIntegerRange(use))
        return range->end;
  return 0;
}

/// Call `visit(element, position)` for each element of the parameter with its
/// row-major position in the checkpoint's tensor.
template <typename Visit>
static void forEachElement(const ParameterRequest &request, Visit visit) {
  if (!request.source) {
    int64_t elements = 1;
    for (int64_t size : request.shape)
      elements *= size;
    for (int64_t i = 0; i < elements; ++i)
      visit(i, i);
    return;
  }
  ArrayRef<int64_t> shape = request.source.getShape();
  ArrayRef<int64_t> offsets = request.source.getOffsets();
  ArrayRef<int64_t> permutation = request.source.getPermutation();
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  int64_t base = 0;
  for (auto [offset, stride] : llvm::zip(offsets, strides))
    base += offset * stride;
  for (auto [dim, stride] : llvm::enumerate(strides))
    stride *= request.source.getStep(dim);
  forEachIndex(request.shape,
               [&](MutableArrayRef<int64_t> index, int64_t element) {
                 int64_t position = base;
                 for (auto [dim, i] : llvm::enumerate(index))
                   position += i * strides[permutation[dim]];
                 visit(element, position);
               });
}

/// The position in the file's tensor, of which several elements of the
/// parameter may be the same one; `position` is that in the unpacked one.
static int64_t getStoredPosition(const ParameterRequest &request,
                                 int64_t position) {
  if (!request.storage || request.storage.getRepeat().empty())
    return position;
  ArrayRef<int64_t> shape = request.getCheckpointShape();
  SmallVector<int64_t> index(shape.size());
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return request.storage.locate(shape, index).first;
}

/// Packed elements: what the words of the file would hold is made up, so that
/// who unpacks them otherwise has others.
static Tensor makeUpPacked(const ParameterRequest &request, uint64_t seed) {
  StorageAttr storage = request.storage;
  ArrayRef<int64_t> shape = request.getCheckpointShape();
  Tensor tensor(request.shape, request.type);
  SmallVector<int64_t> index(shape.size());
  forEachElement(request, [&](int64_t element, int64_t position) {
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      index[d] = position % shape[d];
      position /= shape[d];
    }
    auto [word, part] = storage.locate(shape, index);
    double number = uniform(seed, request.name,
                            word * storage.getElementsPerWord() + part) *
                    double(int64_t(1) << storage.getBits());
    tensor.setInt(element, int64_t(number) - storage.getOffset());
  });
  return tensor;
}

/// The integers of a quantised weight: its values, its zero points, or the
/// numbers of its groups.
static Tensor makeUpIntegers(const ParameterRequest &request, uint64_t seed) {
  int64_t half = int64_t(1) << (std::min<unsigned>(request.type.width, 4) - 1);
  int64_t first = request.end ? 0 : -half,
          count = request.end ? request.end : 2 * half;
  Tensor tensor(request.shape, request.type);
  forEachElement(request, [&](int64_t element, int64_t position) {
    double part =
        uniform(seed, request.name, getStoredPosition(request, position));
    tensor.setInt(element, first + int64_t(part * double(count)));
  });
  return tensor;
}

FailureOr<Tensor>
RandomParameters::get(const ParameterRequest &request,
                      function_ref<InFlightDiagnostic()> emitError) {
  if (!request.type.isFloat() && request.storage)
    return request.storage.getBits() ? makeUpPacked(request, seed)
                                     : makeUpIntegers(request, seed);
  if (!request.type.isFloat())
    return emitError() << "expected random parameter '" << request.name
                       << "' to be of a float type, got integers: give it "
                          "values with --weights DIR";
  // The range is that of the file's tensor, whatever it is read as.
  SmallVector<int64_t> shape(request.getCheckpointShape());
  if (request.storage)
    for (auto [size, times] : llvm::zip(shape, request.storage.getRepeat()))
      size /= times;
  double low = 0.75, width = 0.5;
  if (shape.size() >= 2) {
    int64_t size = std::max<int64_t>(
        1, std::min(shape[shape.size() - 1], shape[shape.size() - 2]));
    width = 2 * std::sqrt(3.0 / double(size));
    low = -width / 2;
  } else if (StringRef(request.name).contains("bias")) {
    low = -0.5;
    width = 1;
  }
  Tensor tensor(request.shape, request.type);
  bool isPower = request.type.kind == ElementType::E8M0;
  forEachElement(request, [&](int64_t element, int64_t position) {
    double value = low + width * uniform(seed, request.name,
                                         getStoredPosition(request, position));
    if (isPower)
      value = std::exp2(std::round(std::log2(std::abs(value) + 0x1p-10)));
    tensor.setFloat(element, value);
  });
  return tensor;
}

std::unique_ptr<SafetensorsParameters>
SafetensorsParameters::open(MLIRContext *context, StringRef directory,
                            ArrayRef<std::string> excluded) {
  FailureOr<Checkpoint> checkpoint = Checkpoint::open(context, directory);
  auto patterns = TensorPatterns::parse(context, "--ignore", excluded);
  if (failed(checkpoint) || failed(patterns))
    return nullptr;
  checkpoint->exclude(*patterns);
  Location loc = UnknownLoc::get(context);
  if (!checkpoint->hasWeights()) {
    mlir::emitError(loc) << "expected safetensors files in " << directory
                         << ", got none";
    return nullptr;
  }
  std::unique_ptr<SafetensorsParameters> result(
      new SafetensorsParameters(directory));
  for (const auto &[name, tensor] : checkpoint->getTensors()) {
    std::unique_ptr<CheckpointFile> &file = result->files[tensor.file];
    if (!file) {
      SmallString<128> path(directory);
      llvm::sys::path::append(path, tensor.file);
      llvm::Expected<CheckpointFile> opened = CheckpointFile::open(path);
      if (!opened) {
        mlir::emitError(loc) << "cannot read " << path << ": "
                             << llvm::toString(opened.takeError());
        return nullptr;
      }
      file = std::make_unique<CheckpointFile>(std::move(*opened));
    }
    result->entries[name] = {tensor, file.get()};
  }
  return result;
}

LogicalResult
SafetensorsParameters::compare(const ParameterRequest &request,
                               ArrayRef<std::string> names,
                               function_ref<InFlightDiagnostic()> emitError) {
  FloatKind type = FloatKind::F32;
  if (request.type.kind == ElementType::BF16)
    type = FloatKind::BF16;
  else if (request.type.kind == ElementType::F16)
    type = FloatKind::F16;
  auto first = entries.end();
  for (const std::string &name : names) {
    auto entry = entries.find(name);
    if (first == entries.end())
      first = entry;
    if (entry == entries.end() || entry == first)
      continue;
    llvm::Expected<bool> equal =
        comparer.areEqual(first->second.tensor, entry->second.tensor, type);
    if (!equal)
      return emitError() << "cannot compare '" << first->getKey() << "' with '"
                         << name << "': " << llvm::toString(equal.takeError());
    if (!*equal)
      return emitError() << "tensors '" << first->getKey() << "' and '" << name
                         << "' of the checkpoint stand for the same parameter "
                            "but hold different values; --ignore NAME says "
                            "which is not to be read";
  }
  return success();
}

FailureOr<SmallVector<const SafetensorsParameters::Entry *>>
SafetensorsParameters::find(const ParameterRequest &request,
                            function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<std::string> spellings{request.name};
  spellings.append(request.alternatives.begin(), request.alternatives.end());
  ArrayRef<int64_t> whole = request.getCheckpointShape();
  SmallVector<int64_t> stored(
      request.storage ? request.storage.getFileShape(whole) : whole);
  ArrayRef<int64_t> shape = getTensorShape(request.name, stored);
  auto fits = [&](ArrayRef<int64_t> got) {
    return request.storage ? request.storage.accepts(got, shape) : got == shape;
  };
  SmallVector<const Entry *> found;
  for (auto [e, name] : llvm::enumerate(getTensorNames(request.name, whole))) {
    SmallVector<std::string> names;
    for (const std::string &spelling : spellings)
      names.push_back(getTensorNames(spelling, whole)[e]);
    auto entry = entries.end();
    for (const std::string &one : names)
      if (entry == entries.end())
        entry = entries.find(one);
    if (entry == entries.end())
      return emitError() << "the checkpoint has no tensor '" << name << "'";
    const CheckpointTensor &tensor = entry->second.tensor;
    if (!fits(tensor.shape)) {
      InFlightDiagnostic diagnostic = emitError();
      diagnostic << "expected tensor '" << entry->getKey() << "' of shape [";
      llvm::interleaveComma(shape, diagnostic);
      diagnostic << "], got [";
      llvm::interleaveComma(tensor.shape, diagnostic);
      return diagnostic << "]";
    }
    if (!found.empty() && found[0]->tensor.dtype != tensor.dtype)
      return emitError() << "expected tensor '" << entry->getKey()
                         << "' of type " << found[0]->tensor.dtype
                         << ", as the others of its stack are, got "
                         << tensor.dtype;
    if (!request.storage && failed(compare(request, names, emitError)))
      return failure();
    found.push_back(&entry->second);
  }
  return found;
}

/// The bits of an element of at most 64, little-endian.
static uint64_t readBits(const char *at, int64_t bytes) {
  uint64_t bits = 0;
  for (int64_t i = bytes - 1; i >= 0; --i)
    bits = bits << 8 | uint8_t(at[i]);
  return bits;
}

/// A float of one of the types that files have.
static double toDouble(StringRef fileType, ElementType type, uint64_t bits) {
  if (fileType == "F32")
    return std::bit_cast<float>(uint32_t(bits));
  if (fileType == "BF16")
    return std::bit_cast<float>(uint32_t(bits) << 16);
  if (fileType == "F16")
    return llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits))
        .convertToDouble();
  if (fileType == "F8_E4M3")
    type = {ElementType::E4M3, 8};
  else if (fileType == "F8_E5M2")
    type = {ElementType::E5M2, 8};
  return fromNarrowBits(type, bits);
}

FailureOr<Tensor>
SafetensorsParameters::unpack(const ParameterRequest &request,
                              ArrayRef<const Entry *> found,
                              function_ref<InFlightDiagnostic()> emitError) {
  StorageAttr storage = request.storage;
  std::string data;
  for (const Entry *entry : found) {
    size_t from = data.size();
    data.resize(from + entry->tensor.end - entry->tensor.begin);
    if (llvm::Error error = entry->file->read(
            entry->tensor.begin,
            MutableArrayRef<char>(data.data(), data.size()).drop_front(from)))
      return emitError() << "cannot read " << entry->file->getPath() << ": "
                         << llvm::toString(std::move(error));
  }
  ArrayRef<int64_t> shape = request.getCheckpointShape();
  int64_t words = 1;
  for (int64_t size : storage.getFileShape(shape))
    words *= size;
  int64_t bytes = words ? int64_t(data.size()) / words : 1;
  StringRef fileType = found.front()->tensor.dtype;
  Tensor tensor(request.shape, request.type);
  SmallVector<int64_t> index(shape.size());
  forEachElement(request, [&](int64_t element, int64_t position) {
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      index[d] = position % shape[d];
      position /= shape[d];
    }
    auto [word, part] = storage.locate(shape, index);
    uint64_t bits = readBits(data.data() + word * bytes, bytes);
    if (int64_t width = storage.getBits())
      bits = bits >> (part * width) & ((uint64_t(1) << width) - 1);
    else if (!request.type.isFloat())
      bits = uint64_t(
          wrapTo({ElementType::Int, uint8_t(bytes * 8)}, int64_t(bits)));
    if (request.type.isFloat())
      tensor.setFloat(element, toDouble(fileType, request.type, bits));
    else
      tensor.setInt(element, int64_t(bits) - storage.getOffset());
  });
  return tensor;
}

FailureOr<Tensor>
SafetensorsParameters::get(const ParameterRequest &request,
                           function_ref<InFlightDiagnostic()> emitError) {
  auto found = find(request, emitError);
  if (failed(found))
    return failure();
  int64_t each = 1;
  for (int64_t size : found->front()->tensor.shape)
    each *= size;
  if (request.storage)
    return unpack(request, *found, emitError);
  Tensor tensor(request.shape, request.type);
  auto copyAs = [&](int64_t bytes, auto readElement) -> FailureOr<Tensor> {
    std::vector<std::string> data;
    for (const Entry *entry : *found) {
      data.emplace_back(size_t(bytes * each), '\0');
      if (llvm::Error error =
              entry->file->read(entry->tensor.begin, data.back()))
        return emitError() << "cannot read " << entry->file->getPath() << ": "
                           << llvm::toString(std::move(error));
    }
    forEachElement(request, [&](int64_t element, int64_t position) {
      auto value =
          readElement(data[position / each].data() + bytes * (position % each));
      if (request.type.isFloat())
        tensor.setFloat(element, double(value));
      else
        tensor.setInt(element, int64_t(value));
    });
    return tensor;
  };
  namespace le = llvm::support::endian;
  StringRef dtype = found->front()->tensor.dtype;
  if (dtype == "F32")
    return copyAs(4, [](const char *at) {
      return std::bit_cast<float>(le::read32le(at));
    });
  if (dtype == "BF16")
    return copyAs(2, [](const char *at) {
      return std::bit_cast<float>(uint32_t(le::read16le(at)) << 16);
    });
  if (dtype == "F16")
    return copyAs(2, [](const char *at) {
      return llvm::APFloat(llvm::APFloat::IEEEhalf(),
                           llvm::APInt(16, le::read16le(at)))
          .convertToDouble();
    });
  if (dtype == "F64")
    return copyAs(8, [](const char *at) {
      return std::bit_cast<double>(le::read64le(at));
    });
  if (dtype == "I64")
    return copyAs(8, [](const char *at) { return int64_t(le::read64le(at)); });
  if (dtype == "I32")
    return copyAs(
        4, [](const char *at) { return int64_t(int32_t(le::read32le(at))); });
  return emitError() << "tensor '" << request.name << "' is of type " << dtype
                     << ": expected F64, F32, BF16, F16, I64 or I32";
}

} // namespace tp::interp
