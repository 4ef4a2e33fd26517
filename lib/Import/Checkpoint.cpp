//===- Checkpoint.cpp - Names, shapes and types of a checkpoint -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A safetensors file is eight bytes of header length, a JSON header, and the
// data, which the tensors must cover from end to end without overlap.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/Checkpoint.h"
#include "JsonFile.h"

#include "tprt/filetypes.h"
#include "tprt/foreign.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr uint64_t lengthBytes = 8;
/// The format's own limit.
static constexpr uint64_t maxHeaderBytes = 100000000;
static constexpr size_t maxIndexBytes = 100000000;
static constexpr unsigned maxHeaderNesting = 4;
static constexpr size_t maxRank = 16;

/// Bytes per element, or 0 for an unknown type.
static uint64_t getElementBytes(StringRef dtype) {
  for (const tprt::FileTypeRow &row : tprt::kFileTypes)
    if (dtype == row.name)
      return row.bytes;
  return 0;
}

static std::string readEntry(const json::Value &value, uint64_t dataBytes,
                             CheckpointTensor &tensor) {
  const json::Object *entry = value.getAsObject();
  if (!entry)
    return "expected an object, got " + showJson(value);
  std::optional<StringRef> dtype = entry->getString("dtype");
  uint64_t elementBytes = dtype ? getElementBytes(*dtype) : 0;
  if (!elementBytes) {
    const json::Value *got = entry->get("dtype");
    return "unknown dtype " + (got ? showJson(*got) : std::string("(none)"));
  }
  tensor.dtype = dtype->str();

  const json::Array *shape = entry->getArray("shape");
  if (!shape || shape->size() > maxRank)
    return llvm::formatv("expected a shape of at most {0} sizes", maxRank);
  uint64_t bytes = elementBytes;
  for (const json::Value &dim : *shape) {
    std::optional<int64_t> size = dim.getAsInteger();
    if (!size || *size < 0)
      return "expected sizes of at least 0, got " + showJson(dim);
    bool overflow = false;
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(*size), &overflow);
    if (overflow)
      return "the shape's size overflows";
    tensor.shape.push_back(*size);
  }

  const json::Array *offsets = entry->getArray("data_offsets");
  std::optional<uint64_t> begin, end;
  if (offsets && offsets->size() == 2) {
    begin = (*offsets)[0].getAsUINT64();
    end = (*offsets)[1].getAsUINT64();
  }
  if (!begin || !end)
    return "expected data_offsets to be two offsets, got " +
           (entry->get("data_offsets") ? showJson(*entry->get("data_offsets"))
                                       : std::string("none"));
  if (*begin > *end || *end > dataBytes)
    return llvm::formatv("data_offsets [{0}, {1}] lie outside the {2} bytes of "
                         "data",
                         *begin, *end, dataBytes);
  if (*end - *begin != bytes)
    return llvm::formatv("data_offsets [{0}, {1}] hold {2} bytes, expected {3} "
                         "from dtype and shape",
                         *begin, *end, *end - *begin, bytes);
  tensor.begin = *begin;
  tensor.end = *end;
  return "";
}

/// The format's metadata are strings by name.
static std::string checkMetadata(const json::Value &value) {
  const json::Object *metadata = value.getAsObject();
  if (!metadata)
    return "expected an object, got " + showJson(value);
  for (const auto &[key, item] : *metadata)
    if (item.kind() != json::Value::String)
      return "expected " + quoted(key) + " to be a string, got " +
             showJson(item);
  return "";
}

std::string readSafetensorsHeader(StringRef data, uint64_t fileSize,
                                  llvm::StringMap<CheckpointTensor> &tensors) {
  if (fileSize < lengthBytes || data.size() < lengthBytes)
    return llvm::formatv("truncated: expected at least {0} bytes, got {1}",
                         lengthBytes, fileSize);
  if (auto is = tprt::describeForeign(data); !is.empty())
    return std::string(is);
  uint64_t length = llvm::support::endian::read64le(data.data());
  if (length > maxHeaderBytes)
    return llvm::formatv("expected a header of at most {0} bytes, got {1}",
                         maxHeaderBytes, length);
  if (length > fileSize - lengthBytes || data.size() < lengthBytes + length)
    return llvm::formatv("truncated: the header needs {0} bytes, the file has "
                         "{1}",
                         lengthBytes + length, fileSize);
  StringRef text = data.substr(lengthBytes, length);
  if (std::string why = checkJsonNesting(text, maxHeaderNesting); !why.empty())
    return "malformed header: " + why;
  auto parsed = json::parse(text);
  if (!parsed)
    return "malformed header: " + llvm::toString(parsed.takeError());
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return "malformed header: expected a JSON object";

  uint64_t dataBytes = fileSize - lengthBytes - length;
  SmallVector<std::pair<StringRef, CheckpointTensor>> entries;
  for (const auto &[name, value] : *root) {
    if (StringRef(name) == "__metadata__") {
      if (std::string why = checkMetadata(value); !why.empty())
        return "__metadata__: " + why;
      continue;
    }
    CheckpointTensor tensor;
    tensor.dataStart = lengthBytes + length;
    if (std::string why = readEntry(value, dataBytes, tensor); !why.empty())
      return "tensor " + quoted(name) + ": " + why;
    entries.emplace_back(name, std::move(tensor));
  }
  llvm::sort(entries, [](const auto &a, const auto &b) {
    return std::tie(a.second.begin, a.second.end, a.first) <
           std::tie(b.second.begin, b.second.end, b.first);
  });
  uint64_t covered = 0;
  for (const auto &[name, tensor] : entries) {
    if (tensor.begin != covered)
      return llvm::formatv(
          "tensor {0}: data_offsets [{1}, {2}] {3} the "
          "tensor before, which ends at {4}",
          quoted(name), tensor.begin, tensor.end,
          tensor.begin < covered ? "overlap" : "leave a hole after", covered);
    covered = tensor.end;
  }
  if (covered != dataBytes)
    return llvm::formatv("the tensors cover {0} of {1} bytes of data", covered,
                         dataBytes);
  for (auto &[name, tensor] : entries)
    tensors[name] = std::move(tensor);
  return "";
}

llvm::Expected<CheckpointFile> CheckpointFile::open(StringRef path) {
  llvm::Expected<llvm::sys::fs::file_t> opened =
      llvm::sys::fs::openNativeFileForRead(path);
  if (!opened)
    return opened.takeError();
  CheckpointFile file;
  file.path = path.str();
  file.file = *opened;
  llvm::sys::fs::file_status status;
  if (std::error_code ec = llvm::sys::fs::status(*opened, status))
    return llvm::errorCodeToError(ec);
  file.size = status.getSize();
  return file;
}

CheckpointFile::~CheckpointFile() {
  if (file != llvm::sys::fs::kInvalidFile)
    (void)llvm::sys::fs::closeFile(file);
}

llvm::Error CheckpointFile::read(uint64_t offset,
                                 MutableArrayRef<char> to) const {
  // More than 2 GiB are not read at once.
  constexpr size_t mostBytes = size_t(1) << 30;
  for (size_t done = 0; done < to.size();) {
    llvm::Expected<size_t> count = llvm::sys::fs::readNativeFileSlice(
        file, to.slice(done, std::min(mostBytes, to.size() - done)),
        offset + done);
    if (!count)
      return count.takeError();
    if (*count == 0)
      return llvm::createStringError(
          llvm::formatv("it became shorter while it was read: expected {0} "
                        "bytes at {1}, got {2}",
                        to.size(), offset, done));
    done += *count;
  }
  return llvm::Error::success();
}

/// Reads no more of the file than its header.
static std::string readFile(StringRef path,
                            llvm::StringMap<CheckpointTensor> &tensors) {
  llvm::Expected<CheckpointFile> file = CheckpointFile::open(path);
  if (!file)
    return llvm::toString(file.takeError());
  uint64_t size = file->getSize(), length = 0;
  std::string data(std::min<uint64_t>(tprt::kTellingBytes, size), '\0');
  if (llvm::Error error = file->read(0, data))
    return llvm::toString(std::move(error));
  if (data.size() >= lengthBytes)
    length = llvm::support::endian::read64le(data.data());
  // A length beyond the limit is reported from the first bytes alone.
  if (length <= maxHeaderBytes) {
    data.resize(std::min(lengthBytes + length, size));
    if (llvm::Error error = file->read(0, data))
      return llvm::toString(std::move(error));
  }
  return readSafetensorsHeader(data, size, tensors);
}

/// A file of the checkpoint must be in its directory.
static bool isPlainFileName(StringRef name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(StringRef("/\\\0", 3)) == StringRef::npos;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

FailureOr<TensorPatterns>
TensorPatterns::parse(MLIRContext *context, StringRef option,
                      ArrayRef<std::string> patterns) {
  TensorPatterns result;
  for (const std::string &text : patterns) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
    if (!glob)
      return emitError(UnknownLoc::get(context))
             << option << ": malformed pattern " << quoted(text) << ": "
             << llvm::toString(glob.takeError());
    result.texts.push_back(text);
    result.globs.push_back(std::move(*glob));
  }
  return result;
}

bool TensorPatterns::match(StringRef name) const {
  return llvm::any_of(
      globs, [&](const llvm::GlobPattern &glob) { return glob.match(name); });
}

SmallVector<std::string>
TensorPatterns::getUnmatched(const llvm::StringSet<> &names) const {
  SmallVector<std::string> unmatched;
  for (auto [text, glob] : llvm::zip(texts, globs))
    if (llvm::none_of(names.keys(), [&, &glob = glob](StringRef name) {
          return glob.match(name);
        }))
      unmatched.push_back(text);
  return unmatched;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

const CheckpointTensor *Checkpoint::find(StringRef name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

void Checkpoint::exclude(const TensorPatterns &patterns) {
  SmallVector<std::string> names;
  for (StringRef name : tensors.keys())
    if (patterns.match(name))
      names.push_back(name.str());
  for (const std::string &name : names)
    tensors.erase(name);
}

/// The files that an index names, and the tensors that count of each.
static FailureOr<llvm::StringMap<llvm::StringSet<>>>
readWeightMap(ObjectReader &reader) {
  const json::Object *map = reader.getObject("weight_map");
  if (!map) {
    if (!reader.failed())
      reader.error() << "missing weight_map: expected an object";
    return failure();
  }
  llvm::StringMap<llvm::StringSet<>> files;
  for (const auto &[name, value] : *map) {
    std::optional<StringRef> fileName = value.getAsString();
    if (!fileName || !isPlainFileName(*fileName)) {
      reader.error(name) << "expected weight_map[" << quoted(name)
                         << "] to be the name of a file in the directory, got "
                         << showJson(value);
      return failure();
    }
    files[*fileName].insert(name);
  }
  return files;
}

LogicalResult Checkpoint::readIndex(MLIRContext *context, StringRef path) {
  std::optional<JsonFile> file = JsonFile::read(context, path, maxIndexBytes);
  if (!file)
    return failure();
  ObjectReader reader(*file, file->getRoot());
  auto files = readWeightMap(reader);
  if (failed(files))
    return failure();
  SmallVector<StringRef> order(files->keys());
  llvm::sort(order);
  SmallVector<std::string> unlisted;
  for (StringRef name : order) {
    SmallString<128> place(directory);
    llvm::sys::path::append(place, name);
    llvm::StringMap<CheckpointTensor> found;
    if (std::string why = readFile(place, found); !why.empty())
      return emitError(UnknownLoc::get(context)) << place << ": " << why;
    const llvm::StringSet<> &listed = (*files)[name];
    SmallVector<StringRef> names(listed.keys());
    llvm::sort(names);
    for (StringRef tensor : names)
      if (!found.contains(tensor)) {
        reader.error(tensor) << "tensor " << quoted(tensor) << " is not in "
                             << quoted(name) << ", where the index has it";
        return failure();
      }
    for (auto &entry : found) {
      if (!listed.contains(entry.first())) {
        unlisted.push_back(quoted(entry.first()) + " of " + name.str());
        continue;
      }
      entry.second.file = name.str();
      tensors[entry.first()] = std::move(entry.second);
    }
  }
  if (unlisted.empty())
    return success();
  llvm::sort(unlisted);
  auto remark = emitRemark(UnknownLoc::get(context));
  remark << path << " does not list " << unlisted.size()
         << (unlisted.size() == 1 ? " tensor" : " tensors")
         << " where the files have "
         << (unlisted.size() == 1 ? "it, which is" : "them, which are")
         << " not read there: ";
  listSome(remark, unlisted);
  return success();
}

FailureOr<Checkpoint> Checkpoint::open(MLIRContext *context,
                                       StringRef directory) {
  Checkpoint checkpoint;
  checkpoint.directory = directory.str();
  SmallString<128> single(directory), index(directory);
  llvm::sys::path::append(single, "model.safetensors");
  llvm::sys::path::append(index, "model.safetensors.index.json");
  bool isSingle = llvm::sys::fs::exists(single);
  if (!isSingle && !llvm::sys::fs::exists(index))
    return checkpoint;
  checkpoint.weights = true;
  if (!isSingle) {
    if (failed(checkpoint.readIndex(context, index)))
      return failure();
    return checkpoint;
  }
  if (std::string why = readFile(single, checkpoint.tensors); !why.empty())
    return emitError(UnknownLoc::get(context)) << single << ": " << why;
  for (auto &entry : checkpoint.tensors)
    entry.second.file = "model.safetensors";
  return checkpoint;
}

} // namespace tp
