//===- JsonFile.cpp - Reading untrusted JSON with errors at the key -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See JsonFile.h. Nesting is counted on the text, strings skipped, because the
// parser underneath recurses once per level and would overflow its stack.
//
//===----------------------------------------------------------------------===//

#include "JsonFile.h"
#include "mlir/IR/Location.h"
#include "tp/Support/JsonNesting.h"
#include "tprt/foreign.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <charconv>
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr unsigned maxNesting = 32;
static constexpr size_t maxShown = 80;

std::string checkJsonNesting(StringRef text, unsigned maxDepth) {
  if (!isJsonNestingAtMost(text, maxDepth))
    return llvm::formatv("nested deeper than {0} levels", maxDepth);
  return "";
}

std::string showJson(const json::Value &value) {
  // The parser's printer writes 17 digits.
  if (std::optional<double> number = value.getAsNumber();
      number && !value.getAsInteger()) {
    char digits[32];
    return std::string(digits,
                       std::to_chars(digits, std::end(digits), *number).ptr);
  }
  std::string text;
  llvm::raw_string_ostream(text) << value;
  if (text.size() > maxShown) {
    size_t end = maxShown;
    while (end > 0 && (text[end] & 0xc0) == 0x80)
      --end;
    text = text.substr(0, end) + "...";
  }
  return text;
}

std::string quoted(StringRef name) {
  return showJson(json::Value(json::fixUTF8(name)));
}

void listSome(InFlightDiagnostic &diag, ArrayRef<std::string> texts) {
  constexpr size_t maxListed = 8;
  llvm::interleave(
      texts.take_front(maxListed), diag,
      [&](const std::string &text) { diag << text; }, ", ");
  if (texts.size() > maxListed)
    diag << " and " << texts.size() - maxListed << " more";
}

std::optional<JsonFile> JsonFile::read(MLIRContext *context, StringRef path,
                                       size_t maxBytes, StringRef arrayKey) {
  uint64_t size = 0;
  if (std::error_code ec = llvm::sys::fs::file_size(path, size)) {
    emitError(UnknownLoc::get(context))
        << "cannot read " << path << ": " << ec.message();
    return std::nullopt;
  }
  if (size > maxBytes) {
    emitError(UnknownLoc::get(context))
        << path << ": expected at most " << maxBytes << " bytes, got " << size;
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/true,
      /*IsVolatile=*/true); // read, not mapped
  if (!buffer) {
    emitError(UnknownLoc::get(context))
        << "cannot read " << path << ": " << buffer.getError().message();
    return std::nullopt;
  }
  return parse(context, path, (*buffer)->getBuffer().str(), arrayKey);
}

/// The text with a number in the place of each Infinity, which Python writes
/// though JSON has no such word. Nothing is moved.
static std::string replaceInfinities(std::string text) {
  constexpr StringLiteral word = "Infinity", number = "1e999999";
  static_assert(word.size() == number.size());
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && isInString)
      ++i;
    else if (text[i] == '"')
      isInString = !isInString;
    else if (!isInString && StringRef(text).substr(i).starts_with(word))
      text.replace(i, number.size(), number);
  }
  return text;
}

std::optional<JsonFile> JsonFile::parse(MLIRContext *context, StringRef path,
                                        std::string text, StringRef arrayKey) {
  JsonFile file(context, path);
  Location whole = FileLineColLoc::get(context, path, 1, 1);
  file.text = std::move(text);
  if (auto is = tprt::describeForeign(file.text); !is.empty()) {
    emitError(whole) << path << " " << StringRef(is);
    return std::nullopt;
  }
  if (std::string why = checkJsonNesting(file.text, maxNesting); !why.empty()) {
    emitError(whole) << "malformed JSON: " << why;
    return std::nullopt;
  }
  auto parsed = json::parse(replaceInfinities(file.text));
  if (!parsed) {
    // The parser's text is "[line:column, byte=offset]: what".
    std::string what = llvm::toString(parsed.takeError());
    StringRef rest = what;
    unsigned line = 1, column = 1;
    if (rest.consume_front("[")) {
      rest.consumeInteger(10, line);
      rest.consume_front(":");
      rest.consumeInteger(10, column);
      rest = rest.split("]: ").second;
    }
    emitError(FileLineColLoc::get(context, path, line, column))
        << "malformed JSON: " << (rest.empty() ? StringRef(what) : rest);
    return std::nullopt;
  }
  if (std::optional<RepeatedKey> twice = findRepeatedKey(file.text)) {
    emitError(file.getLoc(twice->offset))
        << "expected " << quoted(twice->key)
        << " once, got it twice with different values";
    return std::nullopt;
  }
  bool isArray = !arrayKey.empty();
  if (isArray ? !parsed->getAsArray() : !parsed->getAsObject()) {
    emitError(whole) << "expected a JSON " << (isArray ? "array" : "object")
                     << ", got " << showJson(*parsed);
    return std::nullopt;
  }
  if (isArray)
    file.root = json::Object{{arrayKey, std::move(*parsed)}};
  else
    file.root = std::move(*parsed);
  return file;
}

size_t JsonFile::find(StringRef key, size_t from) const {
  if (key.empty())
    return from;
  std::string pattern = ("\"" + key + "\"").str();
  for (size_t at = text.find(pattern, from); at != std::string::npos;
       at = text.find(pattern, at + 1)) {
    StringRef after = StringRef(text).substr(at + pattern.size()).ltrim();
    if (after.starts_with(":"))
      return at;
  }
  return from;
}

Location JsonFile::getLoc(size_t offset) const {
  StringRef before = StringRef(text).substr(0, offset);
  size_t line = before.count('\n') + 1;
  size_t lastNewline = before.rfind('\n');
  size_t column =
      lastNewline == StringRef::npos ? offset + 1 : offset - lastNewline;
  return FileLineColLoc::get(context, path, line, column);
}

ObjectReader::ObjectReader(const JsonFile &file, const json::Object &object,
                           StringRef name)
    : file(file), object(object), name(name), start(file.find(name, 0)) {}

Location ObjectReader::getLoc(StringRef key) const {
  return file.getLoc(file.find(resolve(key), start));
}

StringRef ObjectReader::resolve(StringRef key) const {
  const json::Value *value = object.get(key);
  if (value && value->kind() != json::Value::Null)
    return key;
  for (auto [first, second] : secondNames)
    if (first == key && object.get(second))
      return second;
  return key;
}

void ObjectReader::join(const ObjectReader &nested) {
  hasFailed |= nested.hasFailed;
  ignored.append(nested.ignored);
}

InFlightDiagnostic ObjectReader::error(StringRef key) {
  hasFailed = true;
  return emitError(getLoc(key));
}

std::string ObjectReader::getPath(StringRef key) const {
  key = resolve(key);
  return name.empty() ? key.str() : name + "." + key.str();
}

bool ObjectReader::has(StringRef key) const {
  const json::Value *value = object.get(resolve(key));
  return value && value->kind() != json::Value::Null;
}

const json::Value *ObjectReader::get(StringRef key) {
  seen.insert(key);
  seen.insert(resolve(key));
  return has(key) ? object.get(resolve(key)) : nullptr;
}

int64_t ObjectReader::getInt(StringRef key, std::optional<int64_t> fallback,
                             int64_t min, int64_t max) {
  const json::Value *value = get(key);
  if (!value && fallback)
    return *fallback;
  if (!value) {
    error() << "missing " << getPath(key) << ": expected an integer";
    return min;
  }
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < min || *number > max) {
    error(key) << "expected " << getPath(key) << " to be an integer from "
               << min << " to " << max << ", got " << showJson(*value);
    return min;
  }
  return *number;
}

double ObjectReader::getPositive(StringRef key,
                                 std::optional<double> fallback) {
  const json::Value *value = get(key);
  if (!value && fallback)
    return *fallback;
  if (!value) {
    error() << "missing " << getPath(key) << ": expected a positive number";
    return 1;
  }
  std::optional<double> number = value->getAsNumber();
  if (!number || !std::isfinite(*number) || *number <= 0) {
    error(key) << "expected " << getPath(key)
               << " to be a positive number, got " << showJson(*value);
    return 1;
  }
  return *number;
}

double ObjectReader::getProbability(StringRef key, double fallback) {
  const json::Value *value = get(key);
  if (!value)
    return fallback;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0 && *number < 1)
    return *number;
  error(key) << "expected " << getPath(key)
             << " to be a number from 0 to below 1, got " << showJson(*value);
  return fallback;
}

bool ObjectReader::getBool(StringRef key, bool fallback) {
  const json::Value *value = get(key);
  if (!value)
    return fallback;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  error(key) << "expected " << getPath(key) << " to be true or false, got "
             << showJson(*value);
  return fallback;
}

std::optional<std::string> ObjectReader::getString(StringRef key) {
  const json::Value *value = get(key);
  if (!value)
    return std::nullopt;
  if (std::optional<StringRef> string = value->getAsString())
    return string->str();
  error(key) << "expected " << getPath(key) << " to be a string, got "
             << showJson(*value);
  return std::nullopt;
}

const json::Object *ObjectReader::getObject(StringRef key) {
  const json::Value *value = get(key);
  if (!value)
    return nullptr;
  if (const json::Object *nested = value->getAsObject())
    return nested;
  error(key) << "expected " << getPath(key) << " to be an object, got "
             << showJson(*value);
  return nullptr;
}

const json::Array *ObjectReader::getArray(StringRef key) {
  const json::Value *value = get(key);
  if (!value)
    return nullptr;
  if (const json::Array *array = value->getAsArray())
    return array;
  error(key) << "expected " << getPath(key) << " to be an array, got "
             << showJson(*value);
  return nullptr;
}

void ObjectReader::require(StringRef key, const json::Value &expected,
                           StringRef reason) {
  const json::Value *value = get(key);
  if (value && *value != expected)
    error(key) << "unsupported " << getPath(key) << ": " << reason
               << "; expected " << showJson(expected) << ", got "
               << showJson(*value);
}

void ObjectReader::ignore(ArrayRef<llvm::StringLiteral> keys) {
  for (StringRef key : keys)
    seen.insert(key);
}

void ObjectReader::checkSecondNames() {
  for (auto [key, second] : secondNames) {
    const json::Value *value = object.get(key), *other = object.get(second);
    if (!value || !other || value->kind() == json::Value::Null ||
        other->kind() == json::Value::Null || !seen.contains(key))
      continue;
    seen.insert(second);
    if (*value != *other)
      error(second) << second << " " << showJson(*other) << " contradicts "
                    << key << " " << showJson(*value)
                    << ", which is another name for it; remove one of them";
  }
}

void ObjectReader::finish(llvm::function_ref<bool(StringRef)> isRead) {
  checkSecondNames();
  if (endedEarly)
    return;
  SmallVector<StringRef> unknown;
  for (const auto &entry : object) {
    if (seen.contains(entry.first) || entry.second.kind() == json::Value::Null)
      continue;
    if (isRead && !isRead(entry.first))
      ignored.push_back(getPath(entry.first));
    else if (isRead || entry.second.getAsBoolean() != false)
      unknown.push_back(entry.first);
  }
  llvm::sort(ignored);
  llvm::sort(unknown); // The object's order is that of a hash table.
  for (StringRef key : unknown)
    error(key) << "unknown key " << quoted(getPath(key)) << " with value "
               << showJson(*object.get(key))
               << ": it may change the result; remove it if it does not";
}

} // namespace tp
