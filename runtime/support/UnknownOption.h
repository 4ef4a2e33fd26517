//===- UnknownOption.h - The option that was meant --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the command line in the runtime's programs, in the words of the
// compiler's (lib/Support/CommandLine.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_UNKNOWNOPTION_H
#define TPRT_SUPPORT_UNKNOWNOPTION_H

#include <CLI/CLI.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace tprt {

/// How many letters are to be put in, left out or changed.
inline size_t editDistance(const std::string &from, const std::string &to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j)
      diagonal = std::exchange(
          row[j + 1], std::min({row[j + 1] + 1, row[j] + 1,
                                diagonal + (from[i] == to[j] ? 0 : 1)}));
  }
  return row.back();
}

/// "unknown option --weight; did you mean --weights?"
inline std::string describeUnknownOption(const CLI::App &app,
                                         const std::string &word) {
  std::string name = word.substr(0, word.find('=')), nearest;
  size_t least = std::max<size_t>(1, (name.size() - 2) / 3) + 1;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &known : option->get_lnames())
      if (size_t distance = editDistance(name, "--" + known);
          distance < least) {
        least = distance;
        nearest = "; did you mean --" + known + "?";
      }
  return "unknown option " + name + nearest;
}

/// Says what words that no option takes are: an option that there is not, or
/// arguments.
inline std::string describeExtras(const CLI::App &app) {
  std::vector<std::string> words = app.remaining();
  for (const std::string &word : words)
    if (word.starts_with("--"))
      return describeUnknownOption(app, word);
  return "unexpected argument '" + words.front() + "'";
}

/// Says of an option that it has too many values or none, for which CLI11 has
/// "--repeat: At Most 1 required but received 2".
inline std::string describeMismatch(const std::string &what) {
  static const std::string received = " but received ";
  std::string name = what.substr(0, what.find(": "));
  size_t count = what.find(received);
  if (count == std::string::npos)
    return name + ": expected a value";
  return name + ": expected one value, got " +
         what.substr(count + received.size());
}

/// Says in one line what is wrong with the command line of `program`.
inline std::string describeMistake(const CLI::App &app, const CLI::Error &error,
                                   const std::string &program) {
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    what = describeExtras(app);
  else if (dynamic_cast<const CLI::ArgumentMismatch *>(&error))
    what = describeMismatch(what);
  return program + ": error: " + what + "; " + program +
         " --help lists the options\n";
}

/// A value that must be this word.
inline CLI::Validator expectWord(const std::string &word) {
  return CLI::Validator(
      [word](const std::string &text) {
        return text == word ? std::string()
                            : "expected " + word + ", got '" + text + "'";
      },
      word);
}

} // namespace tprt

#endif // TPRT_SUPPORT_UNKNOWNOPTION_H
