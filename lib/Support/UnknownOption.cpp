//===- UnknownOption.cpp - The option that was meant ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parser takes the value of an option that it does not know for another
// argument, which it complains of too. The options are looked through before
// it, with the words of python/tp_mlir/_command_line.py, which a test compares.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Tool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tp;

namespace {
/// An option of other programs, and ours that does the same. The value goes
/// behind `prefix`.
struct Elsewhere {
  StringLiteral name, option, prefix;
};
} // namespace

static constexpr Elsewhere knownElsewhere[] = {
    {"tp", "mesh", "tp="},
    {"tensor-parallel-size", "mesh", "tp="},
    {"tensor-parallel", "mesh", "tp="},
    {"dp", "mesh", "dp="},
    {"ep", "mesh", "ep="},
    {"max-model-len", "context", ""},
    {"max-num-seqs", "rows", ""},
    {"kv-cache-dtype", "kv-dtype", ""},
    {"batch-size", "batch", ""},
    {"device", "target", ""},
    {"gpu-memory-utilization", "memory", ""},
};

static std::string spell(StringRef name) {
  return ((name.size() == 1 ? "-" : "--") + name).str();
}

/// True if --help lists it.
static bool isListed(const cl::Option &option) {
  return option.getOptionHiddenFlag() == cl::NotHidden;
}

/// Empty if no option that is listed resembles `name`.
static std::string findNearest(StringRef name) {
  std::string nearest;
  unsigned least = std::max<unsigned>(1, name.size() / 3) + 1;
  for (const auto &[known, option] : cl::getRegisteredOptions()) {
    if (!isListed(*option) || known.size() < 2)
      continue;
    unsigned distance = name.edit_distance(known, true, least);
    if (distance < least || (distance == least && !nearest.empty() &&
                             known < StringRef(nearest).drop_front(2))) {
      least = distance;
      nearest = spell(known);
    }
  }
  return nearest;
}

/// Nothing where no option of ours does the same.
static std::string findElsewhere(StringRef name, StringRef value) {
  for (const Elsewhere &row : knownElsewhere) {
    auto found = cl::getRegisteredOptions().find(row.option);
    if (row.name != name || found == cl::getRegisteredOptions().end() ||
        !isListed(*found->second))
      continue;
    bool isNumber = !value.empty() && llvm::all_of(value, isDigit);
    std::string given = row.prefix.empty() || isNumber ? value.str() : "N";
    return StringRef(spell(row.option) + " " + row.prefix.str() + given)
        .rtrim()
        .str();
  }
  return "";
}

/// The option that an argument names; null if there is none.
static cl::Option *findOption(StringRef name) {
  auto &options = cl::getRegisteredOptions();
  if (auto found = options.find(name); found != options.end())
    return found->second;
  for (size_t size = name.size(); size > 0; --size)
    if (auto found = options.find(name.take_front(size));
        found != options.end() &&
        found->second->getFormattingFlag() != cl::NormalFormatting)
      return found->second;
  return nullptr;
}

/// Returns true if all options are known, and reports one that is not.
static bool checkOptions(int argc, const char *const *argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef word = argv[i];
    if (word == "--")
      break;
    if (!word.starts_with("-") || word == "-")
      continue;
    auto [name, value] = word.ltrim('-').split('=');
    bool hasValue = word.contains('=');
    if (const cl::Option *option = findOption(name)) {
      // The next word is its value, whatever that begins with.
      bool isNext = !hasValue && option->getNumAdditionalVals() == 0 &&
                    option->getValueExpectedFlag() == cl::ValueRequired;
      i += isNext ? 1 : 0;
      continue;
    }
    StringRef program = sys::path::filename(argv[0]);
    std::string meant = findElsewhere(name, hasValue       ? value
                                            : i + 1 < argc ? argv[i + 1]
                                                           : StringRef());
    if (meant.empty())
      meant = findNearest(name);
    errs() << program << ": unknown option " << word.split('=').first
           << (meant.empty() ? "" : "; did you mean " + meant + "?") << "; "
           << program << " --help lists the options\n";
    return false;
  }
  return true;
}

bool tp::parseCommandLine(int argc, const char *const *argv,
                          StringRef overview) {
  return checkOptions(argc, argv) &&
         cl::ParseCommandLineOptions(argc, argv, overview, &errs());
}
