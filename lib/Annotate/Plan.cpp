//===- Plan.cpp - Reading plans -------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON schema of plans, checked strictly: every key is known, every value
// of its kind, every error says where (`rules[2].dims[0]`, and the line).
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "BuiltinPlans.h"
#include "tp/Annotate/PlanNames.h"
#include "tp/Support/JsonNesting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tp;
using namespace llvm;

bool tp::matchesGlob(StringRef pattern, StringRef name) {
  auto [head, rest] = pattern.split('*');
  if (head.size() == pattern.size())
    return pattern == name;
  if (!name.consume_front(head))
    return false;
  // Each further piece at its first place; the last one at the end.
  while (true) {
    auto [piece, tail] = rest.split('*');
    if (piece.size() == rest.size())
      return name.ends_with(piece);
    size_t at = name.find(piece);
    if (at == StringRef::npos)
      return false;
    name = name.drop_front(at + piece.size());
    rest = tail;
  }
}

namespace {

/// Brackets nested deeper than any plan has.
constexpr unsigned maxDepth = 8;

class Parser {
public:
  Parser(StringRef text, StringRef name, TextPlace &wrong)
      : text(text), name(name), wrong(wrong) {}
  Expected<Plan> parse();

private:
  Error error(const Twine &path, const Twine &message) {
    return errorAt(findJsonPlace(text, path.str()), path, message);
  }
  Error errorAt(TextPlace place, const Twine &path, const Twine &message) {
    wrong = place;
    std::string where = path.str();
    return createStringError("plan '" + Twine(name) + "': " + where +
                             (where.empty() ? "" : ": ") + message);
  }
  static StringRef kindOf(const json::Value &value);
  Expected<PlanAxis> parseAxis(const json::Value &value, const Twine &path);
  Expected<PlanDim> parseDim(const json::Value &value, const Twine &path);
  Error parsePatterns(const json::Value &value, const Twine &path,
                      PlanRule &rule);
  Error parseCut(const json::Object &object, PlanRule &rule);
  Error checkKeys(const json::Object &object, StringRef path);
  Expected<PlanRule> parseRule(const json::Value &value, std::string path);

  StringRef text, name;
  TextPlace &wrong;
};

} // namespace

StringRef Parser::kindOf(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    return "a boolean";
  case json::Value::Number:
    return "a number";
  case json::Value::String:
    return "a string";
  case json::Value::Array:
    return "a list";
  case json::Value::Object:
    return "an object";
  }
  llvm_unreachable("unknown JSON kind");
}

Expected<PlanAxis> Parser::parseAxis(const json::Value &value,
                                     const Twine &path) {
  auto text = value.getAsString();
  if (!text)
    return error(path, "expected an axis such as \"tp\" or \"tp:(1)8\", got " +
                           kindOf(value));
  PlanAxis axis;
  auto [base, sub] = text->split(':');
  axis.name = base.str();
  bool isSub = base.size() != text->size();
  if (base.empty() ||
      (isSub && (!sub.consume_front("(") || sub.consumeInteger(10, axis.pre) ||
                 !sub.consume_front(")") || sub.consumeInteger(10, axis.size) ||
                 !sub.empty() || axis.pre < 1 || axis.size < 2)))
    return error(path,
                 "expected an axis such as \"tp\" or \"tp:(1)8\", got \"" +
                     *text + "\"");
  return axis;
}

Expected<PlanDim> Parser::parseDim(const json::Value &value,
                                   const Twine &path) {
  PlanDim dim;
  if (value.getAsNull()) {
    dim.open = true;
    return dim;
  }
  const json::Array *axes = value.getAsArray();
  if (!axes)
    return error(path, "expected a list of axes, or null for an open "
                       "dimension, got " +
                           kindOf(value));
  for (auto [index, element] : enumerate(*axes)) {
    auto axis = parseAxis(element, path + "[" + Twine(index) + "]");
    if (!axis)
      return axis.takeError();
    dim.axes.push_back(std::move(*axis));
  }
  return dim;
}

Error Parser::parsePatterns(const json::Value &value, const Twine &path,
                            PlanRule &rule) {
  auto add = [&](const json::Value &element, const Twine &where) -> Error {
    auto text = element.getAsString();
    if (!text || text->empty())
      return error(where, "expected a pattern, which is a name in which * "
                          "stands for any run of characters, got " +
                              (text ? StringRef("\"\"") : kindOf(element)));
    rule.patterns.push_back(text->str());
    return Error::success();
  };
  const json::Array *list = value.getAsArray();
  if (!list)
    return add(value, path);
  if (list->empty())
    return error(path, "expected at least one pattern");
  for (auto [index, element] : enumerate(*list))
    if (Error failed = add(element, path + "[" + Twine(index) + "]"))
      return failed;
  return Error::success();
}

Error Parser::parseCut(const json::Object &object, PlanRule &rule) {
  const json::Value *dims = object.get("dims"), *dim = object.get("dim"),
                    *axes = object.get("axes"), *whole = object.get("whole");
  if ((dims != nullptr) + (dim != nullptr) + (whole != nullptr) != 1 ||
      (dim != nullptr) != (axes != nullptr))
    return error(rule.path, "expected \"dims\", or \"dim\" with \"axes\", or "
                            "\"whole\": true");
  if (whole) {
    if (whole->getAsBoolean() != true)
      return error(rule.path + ".whole",
                   "expected true, got " + (whole->getAsBoolean()
                                                ? StringRef("false")
                                                : kindOf(*whole)));
    rule.whole = true;
    return Error::success();
  }
  if (dim) {
    auto index = dim->getAsInteger();
    if (!index || *index < 0 || *index > 64)
      return error(rule.path + ".dim",
                   llvm::formatv("expected the number of a dimension, counted "
                                 "from 0, got {0}",
                                 *dim)
                       .str());
    rule.dim = *index;
    auto parsed = parseDim(*axes, rule.path + ".axes");
    if (!parsed)
      return parsed.takeError();
    rule.dims.push_back(std::move(*parsed));
    return Error::success();
  }
  const json::Array *list = dims->getAsArray();
  if (!list)
    return error(rule.path + ".dims",
                 "expected a list with one entry per dimension, got " +
                     kindOf(*dims));
  for (auto [index, element] : enumerate(*list)) {
    auto parsed = parseDim(element, rule.path + ".dims[" + Twine(index) + "]");
    if (!parsed)
      return parsed.takeError();
    rule.dims.push_back(std::move(*parsed));
  }
  return Error::success();
}

/// A rule is about one of these, and may say more.
static constexpr std::pair<StringLiteral, PlanRule::Kind> kinds[] = {
    {"parameter", PlanRule::Kind::Parameter},
    {"argument", PlanRule::Kind::Argument},
    {"result", PlanRule::Kind::Result},
    {"value", PlanRule::Kind::Value},
    {"carried", PlanRule::Kind::Carried},
    {"kept", PlanRule::Kind::Kept}};
static constexpr StringRef others[] = {
    "dims", "dim",  "axes",     "whole",     "at",
    "rank", "even", "optional", "when_axis", "comment"};

Error Parser::checkKeys(const json::Object &object, StringRef path) {
  for (const auto &[key, unused] : object)
    if (!is_contained(others, StringRef(key)) &&
        none_of(kinds,
                [&](const auto &kind) { return kind.first == StringRef(key); }))
      return errorAt(
          findJsonPlace(text, path.str() + "." + StringRef(key).str()), path,
          "unknown key \"" + StringRef(key) +
              "\"; known are parameter, argument, result, value, "
              "carried, kept, " +
              join(std::begin(others), std::end(others), ", "));
  return Error::success();
}

Expected<PlanRule> Parser::parseRule(const json::Value &value,
                                     std::string path) {
  PlanRule rule;
  rule.path = std::move(path);
  rule.place = findJsonPlace(text, rule.path);
  const json::Object *object = value.getAsObject();
  if (!object)
    return error(rule.path, "expected an object, got " + kindOf(value));
  if (Error unknown = checkKeys(*object, rule.path))
    return unknown;
  unsigned numKinds = 0;
  for (auto [key, kind] : kinds)
    if (const json::Value *patterns = object->get(key)) {
      ++numKinds;
      rule.kind = kind;
      if (Error failed = parsePatterns(*patterns, rule.path + "." + key, rule))
        return failed;
    }
  if (numKinds != 1)
    return error(rule.path, "expected one of parameter, argument, result, "
                            "value, carried, kept, got " +
                                Twine(numKinds));
  auto getString = [&](StringRef key, std::string &out) -> Error {
    const json::Value *entry = object->get(key);
    if (!entry)
      return Error::success();
    auto text = entry->getAsString();
    if (!text || text->empty())
      return error(rule.path + "." + key,
                   "expected a string, got " +
                       (text ? StringRef("\"\"") : kindOf(*entry)));
    out = text->str();
    return Error::success();
  };
  if (Error failed = getString("at", rule.at))
    return failed;
  if (Error failed = getString("even", rule.even))
    return failed;
  if (Error failed = getString("when_axis", rule.whenAxis))
    return failed;
  std::string comment;
  if (Error failed = getString("comment", comment))
    return failed;
  if (!rule.at.empty() && rule.kind != PlanRule::Kind::Value)
    return error(rule.path + ".at", "only a rule with \"value\" has it");
  if (const json::Value *rank = object->get("rank")) {
    auto number = rank->getAsInteger();
    if (!number || *number < 0 || *number > 64)
      return error(rule.path + ".rank",
                   "expected a number of dimensions, from 0 to 64");
    rule.rank = *number;
  }
  if (const json::Value *optional = object->get("optional")) {
    auto flag = optional->getAsBoolean();
    if (!flag)
      return error(rule.path + ".optional",
                   "expected true or false, got " + kindOf(*optional));
    rule.optional = *flag;
  }
  if (Error failed = parseCut(*object, rule))
    return failed;
  return rule;
}

Expected<Plan> Parser::parse() {
  if (!isJsonNestingAtMost(text, maxDepth))
    return error("",
                 "expected at most " + Twine(maxDepth) + " nested brackets");
  auto root = json::parse(text);
  if (!root) {
    std::string what = toString(root.takeError());
    TextPlace place = takeJsonErrorPlace(what);
    return errorAt(place, "", "no JSON: " + what);
  }
  if (std::optional<RepeatedKey> twice = findRepeatedKey(text))
    return errorAt(getTextPlace(text, twice->offset), "",
                   "expected \"" + twice->key +
                       "\" once, got it twice with different values");
  const json::Object *object = root->getAsObject();
  if (!object)
    return error("", "expected an object, got " + kindOf(*root));
  for (const auto &[key, unused] : *object)
    if (key != "version" && key != "rules" && key != "comment")
      return errorAt(findJsonPlace(text, StringRef(key)), "",
                     "unknown key \"" + StringRef(key) +
                         "\"; known are version, rules, comment");
  const json::Value *version = object->get("version");
  if (!version || version->getAsInteger() != 1)
    return error("version", "expected 1, which is the version of this format");
  const json::Array *rules = object->getArray("rules");
  if (!rules)
    return error("rules",
                 "expected a list of rules, got " +
                     (object->get("rules") ? kindOf(*object->get("rules"))
                                           : StringRef("none")));
  Plan plan;
  plan.name = name;
  for (auto [index, element] : enumerate(*rules)) {
    auto rule = parseRule(element, formatv("rules[{0}]", index).str());
    if (!rule)
      return rule.takeError();
    plan.rules.push_back(std::move(*rule));
  }
  return plan;
}

bool tp::isPlanFile(StringRef nameOrFile) {
  return nameOrFile.ends_with(".json");
}

std::string tp::checkPlanName(StringRef nameOrFile) {
  if (isPlanFile(nameOrFile) || getBuiltinPlan(nameOrFile))
    return "";
  return ("unknown plan '" + nameOrFile +
          "'; known are megatron, megatron-sp, expert, expert-sp, replicated, "
          "none, and files that end in .json")
      .str();
}

Expected<Plan> tp::loadPlan(StringRef nameOrFile, TextPlace &wrong) {
  if (isPlanFile(nameOrFile)) {
    auto buffer = MemoryBuffer::getFile(
        nameOrFile, /*IsText=*/true, /*RequiresNullTerminator=*/true,
        /*IsVolatile=*/true); // read, not mapped
    if (!buffer)
      return createStringError("plan '" + nameOrFile + "': cannot be read: " +
                               buffer.getError().message());
    return Parser((*buffer)->getBuffer(), nameOrFile, wrong).parse();
  }
  if (std::string problem = checkPlanName(nameOrFile); !problem.empty())
    return createStringError(problem);
  auto plan = Parser(*getBuiltinPlan(nameOrFile), nameOrFile, wrong).parse();
  if (!plan)
    return plan.takeError();
  plan->isBuiltin = true;
  for (PlanRule &rule : plan->rules)
    rule.optional = true;
  return plan;
}
