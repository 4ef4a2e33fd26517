//===- CommandLine.cpp - Command lines that are refused -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parser takes the value of an option that it does not know for another
// argument, which it complains of too, lets the last of a repeated option
// count, and says what is wrong in words of its own. The words are looked
// through before it, as python/tp_mlir/_command_line.py does; a test compares
// what both say.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/CommandLine.h"
#include "tp/Support/Tool.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
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

namespace {
/// The words of a command line, each of which is an option, a value of one or
/// an argument.
class Words {
public:
  Words(int argc, const char *const *argv)
      : program(sys::path::filename(argv[0])),
        words(argv + 1, argv + std::max(argc, 1)) {}

  /// True if LLVM's parser would understand them; says what is wrong if not.
  bool check();

private:
  /// Says it; false.
  bool refuse(const Twine &problem, bool isListed = false) const {
    errs() << program << ": " << problem
           << (isListed ? "; " + program + " --help lists the options" : "")
           << "\n";
    return false;
  }
  bool refuseOption(StringRef name, const Twine &problem) const {
    return refuse("for the " + spell(name) + " option: " + problem);
  }
  bool refuseUnknown(StringRef word, StringRef name) const;
  bool checkOption(StringRef word);
  void countArgument(StringRef word);
  /// True if there are as many arguments as there must be, and the options that
  /// there must be.
  bool checkArguments() const;
  /// The option that took what looks like another, if one did.
  std::string getTaken() const;

  std::string program;
  ArrayRef<const char *> words;
  size_t next = 0;
  /// The values so far of options that stand once.
  DenseMap<const cl::Option *, StringRef> given;
  /// A value that begins as an option does, and the option that took it.
  StringRef taken, taker;
  unsigned arguments = 0;
  StringRef extra;          ///< the first argument too many
  bool asksForHelp = false; ///< or for the version
};
} // namespace

static bool standsOnce(const cl::Option &option) {
  return option.getNumOccurrencesFlag() == cl::Optional ||
         option.getNumOccurrencesFlag() == cl::Required;
}

bool Words::refuseUnknown(StringRef word, StringRef name) const {
  StringRef value = word.contains('=')    ? word.split('=').second
                    : next < words.size() ? StringRef(words[next])
                                          : StringRef();
  std::string meant = findElsewhere(name, value);
  if (meant.empty())
    meant = findNearest(name);
  return refuse("unknown option " + word.split('=').first +
                    (meant.empty() ? "" : "; did you mean " + meant + "?"),
                /*isListed=*/true);
}

bool Words::checkOption(StringRef word) {
  auto [name, value] = word.ltrim('-').split('=');
  const cl::Option *option = findOption(name);
  if (!option)
    return refuseUnknown(word, name);
  asksForHelp |= name == "h" || name == "version" || name.starts_with("help");
  bool hasValue = word.contains('=');
  // The next word is its value, whatever that begins with.
  if (!hasValue && option->getNumAdditionalVals() == 0 &&
      option->getValueExpectedFlag() == cl::ValueRequired &&
      option->getFormattingFlag() == cl::NormalFormatting) {
    if (next == words.size())
      return refuseOption(name, "expected a value");
    value = words[next++];
    hasValue = true;
    if (value.size() > 1 && value.starts_with("-")) {
      taken = value;
      taker = name;
    }
  }
  if (!standsOnce(*option))
    return true;
  auto [first, isNew] = given.try_emplace(option, value);
  // --explain=json beside --explain says more of the same.
  if (isNew || first->second == value || first->second.empty() != value.empty())
    return true;
  return refuseOption(name, "expected one value, got '" + first->second +
                                "' and '" + value + "'");
}

void Words::countArgument(StringRef word) {
  ++arguments;
  unsigned most = 0;
  for (const cl::Option *option : cl::SubCommand::getTopLevel().PositionalOpts)
    if (!standsOnce(*option) || word.starts_with("@")) // a response file
      return;
    else
      ++most;
  if (arguments == most + 1)
    extra = word;
}

std::string Words::getTaken() const {
  return taken.empty() ? ""
                       : "; " + spell(taker) + " took '" + taken.str() +
                             "' for its value";
}

bool Words::checkArguments() const {
  if (!extra.empty())
    return refuse("unexpected argument '" + extra + "'" + getTaken(),
                  /*isListed=*/true);
  unsigned least = 0;
  for (const cl::Option *option : cl::SubCommand::getTopLevel().PositionalOpts)
    if (option->getNumOccurrencesFlag() == cl::Required && least++ == arguments)
      return refuse("missing " + option->HelpStr + getTaken(),
                    /*isListed=*/true);
  std::vector<std::string> missing;
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrencesFlag() == cl::Required &&
        !given.contains(option))
      missing.push_back(spell(name) + " " + option->ValueStr.str());
  if (missing.empty())
    return true;
  llvm::sort(missing);
  return refuse("missing " + join(missing, ", "), /*isListed=*/true);
}

bool Words::check() {
  bool areArguments = false; // behind --
  while (next < words.size()) {
    StringRef word = words[next++];
    if (!areArguments && word == "--") {
      areArguments = true;
      continue;
    }
    bool isOption = !areArguments && word.starts_with("-") && word != "-";
    if (!isOption)
      countArgument(word);
    else if (!checkOption(word))
      return false;
  }
  return asksForHelp || checkArguments();
}

bool tp::parseCommandLine(int argc, const char *const *argv,
                          StringRef overview) {
  return Words(argc, argv).check() &&
         cl::ParseCommandLineOptions(argc, argv, overview, &errs());
}
