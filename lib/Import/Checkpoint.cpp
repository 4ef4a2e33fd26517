//===- Checkpoint.cpp - Names, shapes and types of a checkpoint -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Import/Checkpoint.h"
#include "CheckpointReader.h"
#include "JsonFile.h"

#include "tp/Import/GgufConfig.h"
#include "tprt/gguf.h"
#include "tprt/safetensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr size_t maxIndexBytes = 100000000;

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

tprt::ReadBytes getReader(const CheckpointFile &file) {
  return [&](int64_t offset, char *to, int64_t bytes) -> tprt::Status {
    if (llvm::Error error = file.read(uint64_t(offset), {to, size_t(bytes)}))
      return tprt::userError(file.getPath().str(), ": ",
                             llvm::toString(std::move(error)));
    return {};
  };
}

/// Reads no more of the file than its header. Returns what is wrong with it, or
/// an empty string.
static std::string readFile(StringRef path,
                            llvm::StringMap<CheckpointTensor> &tensors) {
  llvm::Expected<CheckpointFile> file = CheckpointFile::open(path.str());
  if (!file)
    return (path + ": " + llvm::toString(file.takeError())).str();
  auto places = tprt::readSafetensorsHeader(
      path.str(), int64_t(file->getSize()), getReader(*file));
  if (!places)
    return places.status().message();
  std::string name = llvm::sys::path::filename(file->getPath()).str();
  for (const auto &[tensor, place] : *places)
    tensors[tensor] = {tprt::kFileTypes[int(place.type)].name,
                       llvm::to_vector(place.shape), uint64_t(place.offset),
                       uint64_t(place.offset + place.bytes), name};
  return "";
}

/// Likewise, of a GGUF file. Its tensors have no bytes of their own: they are
/// computed when they are read.
static std::string readBlocks(StringRef path,
                              llvm::StringMap<CheckpointTensor> &tensors) {
  llvm::Expected<CheckpointFile> file = CheckpointFile::open(path.str());
  if (!file)
    return (path + ": " + llvm::toString(file.takeError())).str();
  auto header = tprt::readGguf("'" + path.str() + "'", int64_t(file->getSize()),
                               getReader(*file));
  if (!header)
    return header.status().message();
  auto parts = tprt::mapGguf("'" + path.str() + "'", *header);
  if (!parts)
    return parts.status().message();
  std::string name = llvm::sys::path::filename(path).str();
  for (const auto &[tensor, part] : *parts)
    tensors[tensor] = {tprt::kFileTypes[int(part.place.type)].name,
                       llvm::to_vector(part.place.shape), 0, 0, name};
  return "";
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
    llvm::Expected<Glob> glob = Glob::create(text);
    if (!glob)
      return emitError(UnknownLoc::get(context))
             << option << ": malformed pattern " << quoted(text) << ": "
             << llvm::toString(glob.takeError());
    result.globs.push_back(std::move(*glob));
  }
  return result;
}

bool TensorPatterns::match(StringRef name) const {
  return llvm::any_of(globs,
                      [&](const Glob &glob) { return glob.match(name); });
}

SmallVector<std::string>
TensorPatterns::getUnmatched(const llvm::StringSet<> &names) const {
  SmallVector<std::string> unmatched;
  for (const Glob &glob : globs)
    if (llvm::none_of(names.keys(),
                      [&](StringRef name) { return glob.match(name); }))
      unmatched.push_back(glob.getText().str());
  return unmatched;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

const CheckpointTensor *Checkpoint::find(StringRef name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

void Checkpoint::replace(
    StringRef name, ArrayRef<std::pair<std::string, CheckpointTensor>> by) {
  tensors.erase(name);
  for (const auto &[own, tensor] : by)
    tensors[own] = tensor;
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
      return emitError(UnknownLoc::get(context)) << why;
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

/// Says that model.safetensors wins over an index that names other files.
static void noteIndexBeside(MLIRContext *context, StringRef single,
                            StringRef index) {
  FailureOr<llvm::StringMap<llvm::StringSet<>>> files = failure();
  {
    // It is not read, whatever is wrong with it.
    ScopedDiagnosticHandler quiet(context,
                                  [](Diagnostic &) { return success(); });
    if (auto file = JsonFile::read(context, index, maxIndexBytes)) {
      ObjectReader reader(*file, file->getRoot());
      files = readWeightMap(reader);
    }
  }
  if (succeeded(files) && files->size() == 1 &&
      files->contains(llvm::sys::path::filename(single)))
    return;
  emitRemark(UnknownLoc::get(context))
      << "'" << single << "' is read, and not the files that "
      << llvm::sys::path::filename(index) << " beside it names";
}

FailureOr<Checkpoint> Checkpoint::open(MLIRContext *context,
                                       StringRef directory) {
  Checkpoint checkpoint;
  if (isGgufFile(directory)) {
    StringRef parent = llvm::sys::path::parent_path(directory);
    checkpoint.directory = parent.empty() ? "." : parent.str();
    checkpoint.weights = true;
    if (std::string why = readBlocks(directory, checkpoint.tensors);
        !why.empty())
      return emitError(UnknownLoc::get(context)) << why;
    return checkpoint;
  }
  checkpoint.directory = directory.str();
  SmallString<128> single(directory), index(directory), blocks(directory);
  llvm::sys::path::append(single, "model.safetensors");
  llvm::sys::path::append(index, "model.safetensors.index.json");
  llvm::sys::path::append(blocks, StringRef(tprt::kGgufFile));
  bool isSingle = llvm::sys::fs::exists(single);
  bool hasIndex = llvm::sys::fs::exists(index);
  if (!isSingle && !hasIndex) {
    checkpoint.weights = llvm::sys::fs::exists(blocks);
    if (!checkpoint.weights)
      return checkpoint;
    if (std::string why = readBlocks(blocks, checkpoint.tensors); !why.empty())
      return emitError(UnknownLoc::get(context)) << why;
    return checkpoint;
  }
  checkpoint.weights = true;
  if (!isSingle) {
    if (failed(checkpoint.readIndex(context, index)))
      return failure();
    return checkpoint;
  }
  if (std::string why = readFile(single, checkpoint.tensors); !why.empty())
    return emitError(UnknownLoc::get(context)) << why;
  if (hasIndex)
    noteIndexBeside(context, single, index);
  return checkpoint;
}

} // namespace tp
