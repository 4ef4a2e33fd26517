//===- NumberOption.h - Options that are numbers ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM calls a value that is no number invalid for a type of C++.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_NUMBEROPTION_H
#define TP_SUPPORT_NUMBEROPTION_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include <type_traits>

namespace tp {

/// The parser of an option that says which numbers it takes:
/// "for the --NAME option: expected an integer, got 'abc'".
template <typename T>
class NumberParser : public llvm::cl::basic_parser<T> {
public:
  explicit NumberParser(llvm::cl::Option &option)
      : llvm::cl::basic_parser<T>(option), option(option) {}

  /// LLVM's own, which is final; --print-options asks it for the value's text.
  operator llvm::cl::parser<T>() const { return llvm::cl::parser<T>(option); }

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    bool isNumber;
    if constexpr (std::is_floating_point_v<T>)
      isNumber = llvm::to_float(text, value);
    else
      isNumber = llvm::to_integer(text, value, /*Base=*/0);
    if (isNumber)
      return false;
    return option.error("expected " + llvm::Twine(kind) + ", got '" + text +
                        "'");
  }

  /// In --help.
  llvm::StringRef getValueName() const override { return "number"; }

private:
  llvm::cl::Option &option;
  static constexpr const char *kind = std::is_floating_point_v<T> ? "a number"
                                      : std::is_signed_v<T>
                                          ? "an integer"
                                          : "a natural number";
};

/// An option that is a number, and one that is a list of them.
template <typename T>
using NumberOption =
    llvm::cl::opt<T, /*ExternalStorage=*/false, NumberParser<T>>;
template <typename T>
using NumberListOption = llvm::cl::list<T, bool, NumberParser<T>>;

} // namespace tp

#endif // TP_SUPPORT_NUMBEROPTION_H
