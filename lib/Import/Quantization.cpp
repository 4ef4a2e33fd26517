//===- Quantization.cpp - Which layers are quantised ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of modules in the two styles of `quantization_config`.
//
// Example: in the style of transformers "mlp.gate" is in the path of
// "model.layers.3.mlp.gate" and not of "model.layers.3.mlp.gate_proj".
//
//===----------------------------------------------------------------------===//

#include "tp/Import/Quantization.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace tp {

/// A regular expression of Python's as LLVM reads it; nothing if it has what
/// LLVM's does not know.
static std::optional<std::string> translate(StringRef expression) {
  std::string text;
  for (size_t i = 0; i < expression.size(); ++i) {
    char c = expression[i];
    if (c == '(' && expression.substr(i + 1).starts_with("?")) {
      if (!expression.substr(i + 1).starts_with("?:"))
        return std::nullopt;
      text += c;
      i += 2;
      continue;
    }
    // A repetition that is lazy matches the same names.
    bool isRepetition = c == '*' || c == '+' || c == '?' || c == '}';
    if (isRepetition && expression.substr(i + 1).starts_with("?")) {
      text += c;
      ++i;
      continue;
    }
    if (c != '\\') {
      text += c;
      continue;
    }
    if (++i == expression.size())
      return std::nullopt;
    c = expression[i];
    if (c == 'd')
      text += "[0-9]";
    else if (c == 'w')
      text += "[A-Za-z0-9_]";
    else if (isAlnum(c))
      return std::nullopt;
    else
      text += std::string("\\") + c;
  }
  return text;
}

std::string ModuleNames::add(StringRef entry, Style style) {
  if (style == Style::Transformers) {
    for (const std::string &text :
         {entry.str(), (entry + ".*").str(), ("*." + entry).str(),
          ("*." + entry + ".*").str()}) {
      Expected<Glob> glob = Glob::create(text);
      if (!glob)
        return toString(glob.takeError());
      globs.push_back(std::move(*glob));
    }
    return "";
  }
  if (entry == "Linear") {
    hasLinear = true;
    return "";
  }
  if (!entry.consume_front("re:")) {
    names.push_back(entry.str());
    return "";
  }
  std::optional<std::string> text = translate(entry);
  auto expression = std::make_shared<Regex>(text ? "^(" + *text + ")" : "(");
  if (!text || !expression->isValid())
    return "it is no regular expression that is supported here";
  expressions.push_back(std::move(expression));
  return "";
}

bool ModuleNames::contains(StringRef name) const {
  return hasLinear || lists(name);
}

bool ModuleNames::lists(StringRef name) const {
  return is_contained(names, name) ||
         any_of(globs, [&](const Glob &glob) { return glob.match(name); }) ||
         any_of(expressions,
                [&](const auto &regex) { return regex->match(name); });
}

const QuantizedScheme *QuantizationConfig::find(StringRef name) const {
  if (ignored.contains(name))
    return nullptr;
  // A name says more than a class.
  for (const Group &group : groups)
    if (group.targets.lists(name))
      return &group.scheme;
  for (const Group &group : groups)
    if (group.targets.contains(name))
      return &group.scheme;
  return nullptr;
}

} // namespace tp
