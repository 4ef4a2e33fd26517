//===- Profile.cpp - Reading the figures of a device ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Profile.h. A key that is not known is an error, and so is a number that
// no device has.
//
//===----------------------------------------------------------------------===//

#include "tp/Cost/Profile.h"

#include "tp/Support/JsonNesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace tp;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The profiles of the project
//===----------------------------------------------------------------------===//

namespace {
struct Shipped {
  llvm::StringLiteral name;
  llvm::StringRef text;
};
} // namespace

template <size_t N>
static llvm::StringRef textOf(const unsigned char (&bytes)[N]) {
  return llvm::StringRef(reinterpret_cast<const char *>(bytes), N);
}

#include "Profiles.inc"

llvm::SmallVector<llvm::StringRef> tp::getProfileNames() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Shipped &profile : shippedProfiles)
    names.push_back(profile.name);
  return names;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Brackets nested deeper than any profile has.
static constexpr unsigned maxDepth = 8;

/// Reports the first key of `object` that is none of `known`.
static bool checkKeys(const json::Value &value,
                      llvm::ArrayRef<llvm::StringLiteral> known,
                      json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected an object");
    return false;
  }
  for (const auto &[key, inner] : *object)
    if (!llvm::is_contained(known, llvm::StringRef(key))) {
      path.field(key).report("unknown key");
      return false;
    }
  return true;
}

/// Reads a number above zero and at most `most`.
static bool readNumber(const json::Value &value, double &number,
                       json::Path path, double most = HUGE_VAL) {
  std::optional<double> found = value.getAsNumber();
  if (found && *found > 0 && *found <= most && std::isfinite(*found)) {
    number = *found;
    return true;
  }
  if (most == 1)
    path.report("expected a number above 0 and at most 1");
  else
    path.report("expected a positive number");
  return false;
}

static bool readShare(const json::Value &value, double &share,
                      json::Path path) {
  return readNumber(value, share, path, 1);
}

namespace {
using ReadValue = bool (*)(const json::Value &, double &, json::Path);
}

/// Reads {"value": NUMBER, "source": TEXT}.
static bool readFigure(const json::Value &value, double &number,
                       json::Path path, ReadValue read) {
  if (!checkKeys(value, {"value", "source"}, path))
    return false;
  const json::Object &object = *value.getAsObject();
  if (!object.getString("source")) {
    path.field("source").report("expected a text");
    return false;
  }
  if (const json::Value *found = object.get("value"))
    return read(*found, number, path.field("value"));
  path.field("value").report("missing value");
  return false;
}
static bool readPositive(const json::Value &value, double &number,
                         json::Path path) {
  return readNumber(value, number, path);
}
static bool readFigure(const json::Value &value, double &number,
                       json::Path path) {
  return readFigure(value, number, path, readPositive);
}

/// Reads the member `key` of `object`, which must be there unless `isOptional`.
static bool readMember(const json::Object &object, llvm::StringLiteral key,
                       double &number, json::Path path, ReadValue read,
                       bool isOptional = false) {
  if (const json::Value *found = object.get(key))
    return read(*found, number, path.field(key));
  if (!isOptional)
    path.field(key).report("missing value");
  return isOptional;
}

static bool fromJSON(const json::Value &value, Link &link, json::Path path) {
  if (!checkKeys(value, {"name", "start", "alpha", "beta", "efficiency"}, path))
    return false;
  const json::Object &object = *value.getAsObject();
  return readMember(object, "start", link.start, path, readFigure,
                    /*isOptional=*/true) &&
         readMember(object, "alpha", link.alpha, path, readFigure) &&
         readMember(object, "beta", link.beta, path, readFigure) &&
         readMember(object, "efficiency", link.efficiency, path, readShare);
}

static bool readLinks(const json::Value &value, Profile &profile,
                      json::Path path) {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty() || array->size() > 2) {
    path.report("expected a list of the link within a node and, if there is "
                "one, of that between nodes");
    return false;
  }
  profile.links.resize(array->size());
  for (auto [i, link] : llvm::enumerate(*array))
    if (!fromJSON(link, profile.links[i], path.index(i)))
      return false;
  return true;
}

static bool readMatrix(const json::Value &value, Profile &profile,
                       json::Path path) {
  if (!checkKeys(value, {"f32", "bf16", "f16"}, path))
    return false;
  for (const auto &[type, figure] : *value.getAsObject())
    if (!readFigure(figure, profile.matrix[llvm::StringRef(type).str()],
                    path.field(type)))
      return false;
  if (profile.matrix.empty())
    path.report("expected figures of some of f32, bf16, f16");
  return !profile.matrix.empty();
}

static bool readEfficiency(const json::Value &value, Profile &profile,
                           json::Path path) {
  if (!checkKeys(value, {"matrix", "attention", "vector", "bandwidth"}, path))
    return false;
  const json::Object &object = *value.getAsObject();
  return readMember(object, "matrix", profile.matrixEfficiency, path,
                    readShare) &&
         readMember(object, "attention", profile.attentionEfficiency, path,
                    readShare) &&
         readMember(object, "vector", profile.vectorEfficiency, path,
                    readShare) &&
         readMember(object, "bandwidth", profile.bandwidthEfficiency, path,
                    readShare);
}

/// Reads [{"rows": 16, "efficiency": 0.5}, ...], of increasing rows.
static bool readRows(const json::Value &value, Profile &profile,
                     json::Path path) {
  const json::Array *array = value.getAsArray();
  if (!array) {
    path.report("expected a list of {\"rows\": N, \"efficiency\": SHARE}");
    return false;
  }
  for (auto [i, entry] : llvm::enumerate(*array)) {
    json::Path where = path.index(i);
    if (!checkKeys(entry, {"rows", "efficiency"}, where))
      return false;
    const json::Object &object = *entry.getAsObject();
    std::optional<int64_t> rows = object.getInteger("rows");
    if (!rows || *rows < 1) {
      where.field("rows").report("expected a positive integer");
      return false;
    }
    double share = 0;
    if (!readMember(object, "efficiency", share, where, readShare))
      return false;
    if (!profile.rows.empty() && profile.rows.back().first >= *rows) {
      where.field("rows").report("expected rows in increasing order");
      return false;
    }
    profile.rows.emplace_back(*rows, share);
  }
  return true;
}

static bool fromJSON(const json::Value &value, Profile &profile,
                     json::Path path) {
  if (!checkKeys(value,
                 {"name", "target", "measured", "memory", "reserved", "shared",
                  "ranks_per_node", "matrix", "rows", "vector", "bandwidth",
                  "kernel_seconds", "efficiency", "beside", "link_beside",
                  "links", "price"},
                 path))
    return false;
  const json::Object &object = *value.getAsObject();
  json::ObjectMapper mapper(value, path);
  double ranks = 0;
  auto readPart = [&](llvm::StringLiteral key, auto read) {
    if (const json::Value *found = object.get(key))
      return read(*found, profile, path.field(key));
    path.field(key).report("missing value");
    return false;
  };
  if (!mapper.map("name", profile.name) ||
      !mapper.map("target", profile.target) ||
      !mapper.mapOptional("shared", profile.isShared) ||
      !mapper.map("ranks_per_node", profile.ranksPerNode) ||
      !readMember(object, "ranks_per_node", ranks, path, readPositive) ||
      !readPart("matrix", readMatrix) ||
      !readMember(object, "vector", profile.vector, path, readFigure) ||
      !readMember(object, "bandwidth", profile.bandwidth, path, readFigure) ||
      !readMember(object, "kernel_seconds", profile.kernelSeconds, path,
                  readFigure) ||
      !readPart("efficiency", readEfficiency) || !readPart("links", readLinks))
    return false;
  if (const json::Value *rows = object.get("rows");
      rows && !readRows(*rows, profile, path.field("rows")))
    return false;
  auto readShareFigure = [](const json::Value &value, double &share,
                            json::Path path) {
    return readFigure(value, share, path, readShare);
  };
  return readMember(object, "beside", profile.beside, path, readShareFigure,
                    /*isOptional=*/true) &&
         readMember(object, "link_beside", profile.linkBeside, path,
                    readShareFigure, /*isOptional=*/true);
}

double Profile::getRowEfficiency(int64_t count) const {
  if (rows.empty() || count >= rows.back().first)
    return rows.empty() ? 1 : rows.back().second;
  if (count <= rows.front().first)
    return rows.front().second;
  auto above = llvm::find_if(
      rows, [&](const auto &entry) { return entry.first >= count; });
  auto below = std::prev(above);
  double part = std::log(double(count) / double(below->first)) /
                std::log(double(above->first) / double(below->first));
  return below->second + part * (above->second - below->second);
}

std::optional<Profile>
tp::readProfile(llvm::StringRef nameOrPath,
                llvm::function_ref<void(const llvm::Twine &)> emitError) {
  std::unique_ptr<llvm::MemoryBuffer> file;
  auto shipped = llvm::find_if(shippedProfiles, [&](const Shipped &profile) {
    return profile.name.equals_insensitive(nameOrPath);
  });
  llvm::StringRef text;
  if (shipped != std::end(shippedProfiles)) {
    text = shipped->text;
  } else {
    auto read = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
    if (!read) {
      emitError("expected one of " + llvm::join(getProfileNames(), ", ") +
                " or a file with a profile (tp-plan --measure FILE.json makes "
                "one of this machine), got '" +
                nameOrPath + "': " + read.getError().message());
      return std::nullopt;
    }
    file = std::move(*read);
    text = file->getBuffer();
  }
  auto fail = [&](const llvm::Twine &problem) {
    emitError("profile '" + nameOrPath + "': " + problem);
    return std::nullopt;
  };
  if (!isJsonNestingAtMost(text, maxDepth))
    return fail("expected JSON with at most " + llvm::Twine(maxDepth) +
                " brackets in each other");
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  if (std::optional<RepeatedKey> twice = findRepeatedKey(text))
    return fail("the key '" + twice->key + "' stands twice in one object");
  json::Path::Root root("profile");
  Profile profile;
  if (!fromJSON(*value, profile, root))
    return fail(llvm::toString(root.getError()));
  return profile;
}

bool llvm::cl::parser<ProfileHandle>::parse(Option &option, StringRef,
                                            StringRef text,
                                            ProfileHandle &handle) {
  std::string problem;
  std::optional<Profile> profile = readProfile(
      text, [&](const llvm::Twine &error) { problem = error.str(); });
  if (!profile)
    return option.error(problem);
  handle = ProfileHandle(std::move(*profile), text);
  return false;
}
