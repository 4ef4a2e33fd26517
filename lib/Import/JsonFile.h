//===- JsonFile.h - JSON with errors at the key -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a checkpoint come from strangers. A JsonFile checks size and
// nesting before the parser, which recurses, sees the text; an ObjectReader
// hands out typed values, remembers which keys were read, and places each
// error at the key that caused it. Errors are collected rather than ending the
// reading, so that a user sees all of them at once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_JSONFILE_H
#define TP_LIB_IMPORT_JSONFILE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace tp {

/// An error if `text` is nested too deeply, or an empty string.
std::string checkJsonNesting(llvm::StringRef text, unsigned maxDepth);

/// A value as one would write it in JSON, shortened for a message.
std::string showJson(const llvm::json::Value &value);
/// A name in double quotes, with anything unprintable escaped.
std::string quoted(llvm::StringRef name);
/// The first few of the texts, with commas between them.
void listSome(mlir::InFlightDiagnostic &diag,
              llvm::ArrayRef<std::string> texts);

/// The limit of a config.json.
inline constexpr size_t maxConfigBytes = 8 << 20;

/// A JSON text whose root is an object.
class JsonFile {
public:
  /// Reads the file. Emits an error and returns nothing if it is missing,
  /// larger than `maxBytes`, nested deeper than 32, malformed, or no object, or
  /// if an object in it has a key twice with different values. With `arrayKey`
  /// the file holds an array instead, which becomes the value of that key of
  /// the root.
  static std::optional<JsonFile> read(mlir::MLIRContext *context,
                                      llvm::StringRef path, size_t maxBytes,
                                      llvm::StringRef arrayKey = "");

  /// The same of a text, which errors call `path`.
  static std::optional<JsonFile> parse(mlir::MLIRContext *context,
                                       llvm::StringRef path, std::string text,
                                       llvm::StringRef arrayKey = "");

  const llvm::json::Object &getRoot() const { return *root.getAsObject(); }
  llvm::StringRef getPath() const { return path; }
  /// The place of `key` after `from` (an offset into the text), or the start of
  /// the file if it is not there.
  size_t find(llvm::StringRef key, size_t from) const;
  mlir::Location getLoc(size_t offset) const;

private:
  JsonFile(mlir::MLIRContext *context, llvm::StringRef path)
      : context(context), path(path), root(nullptr) {}

  mlir::MLIRContext *context;
  std::string path;
  std::string text;
  llvm::json::Value root;
};

/// Reads config.json of a checkpoint: that of a directory, or what the metadata
/// of a GGUF file stand for. Emits an error and returns nothing where there is
/// none.
std::optional<JsonFile> readConfigFile(mlir::MLIRContext *context,
                                       llvm::StringRef model);

/// Typed access to one object of a file.
class ObjectReader {
public:
  ObjectReader(const JsonFile &file, const llvm::json::Object &object,
               llvm::StringRef name = "");

  const JsonFile &getFile() const { return file; }
  /// True once any error was emitted through this reader or a nested one.
  bool failed() const { return hasFailed; }
  void fail() { hasFailed = true; }
  /// Takes over what a reader of a nested object found: that it failed, and
  /// which keys it ignored.
  void join(const ObjectReader &nested);
  /// `key` may also be called `second`: what is asked of the one is read from
  /// the other where that is the one that is there. A file with both names must
  /// give them one value.
  void addSecondName(llvm::StringRef key, llvm::StringRef second) {
    secondNames.push_back({key, second});
  }
  /// The location of `key` (or where the object begins).
  mlir::Location getLoc(llvm::StringRef key) const;
  /// An error at `key` (or at the object's start).
  mlir::InFlightDiagnostic error(llvm::StringRef key = "");
  /// The key as a user knows it: `rope_parameters.factor`.
  std::string getPath(llvm::StringRef key) const;

  /// The value, unless the key is absent or null. Counts as read.
  const llvm::json::Value *get(llvm::StringRef key);
  /// True if the key is there and not null.
  bool has(llvm::StringRef key) const;
  /// True if the key is there, null included.
  bool isPresent(llvm::StringRef key) const { return object.get(resolve(key)); }

  /// An integer of [min, max]; without `fallback` the key is required.
  int64_t getInt(llvm::StringRef key, std::optional<int64_t> fallback,
                 int64_t min, int64_t max);
  /// A positive, finite number.
  double getPositive(llvm::StringRef key, std::optional<double> fallback);
  /// A number from 0 to below 1.
  double getProbability(llvm::StringRef key, double fallback);
  bool getBool(llvm::StringRef key, bool fallback);
  std::optional<std::string> getString(llvm::StringRef key);
  const llvm::json::Object *getObject(llvm::StringRef key);
  const llvm::json::Array *getArray(llvm::StringRef key);

  /// An error unless the key is absent, null or equal to `expected`.
  void require(llvm::StringRef key, const llvm::json::Value &expected,
               llvm::StringRef reason);
  /// Marks keys as having no influence on the result.
  void ignore(llvm::ArrayRef<llvm::StringLiteral> keys);
  /// True if something was refused already, so that the caller reads no more.
  /// What it has left unread is then no error in finish().
  bool endsEarly() { return endedEarly |= failed(); }
  /// An error for every key that was neither read nor ignored, unless it is
  /// null or false: such a key may change the result. With `isRead`, the error
  /// is for those keys alone for which it is true, unless they are null; the
  /// others become those that were ignored.
  void finish(llvm::function_ref<bool(llvm::StringRef)> isRead = nullptr);
  /// The paths of keys that were ignored, in the alphabet's order.
  llvm::ArrayRef<std::string> getIgnored() const { return ignored; }

private:
  /// The name by which the file knows `key`.
  llvm::StringRef resolve(llvm::StringRef key) const;
  void checkSecondNames();

  const JsonFile &file;
  const llvm::json::Object &object;
  std::string name;
  size_t start;
  llvm::StringSet<> seen;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> secondNames;
  llvm::SmallVector<std::string> ignored;
  bool hasFailed = false, endedEarly = false;
};

} // namespace tp

#endif // TP_LIB_IMPORT_JSONFILE_H
