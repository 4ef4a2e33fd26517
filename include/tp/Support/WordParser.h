//===- WordParser.h - Options that take one of a few words ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's parser of enumerated options answers an unknown word with "Cannot find
// option named 'x'!"; this one lists the words.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_WORDPARSER_H
#define TP_SUPPORT_WORDPARSER_H

#include "llvm/Support/CommandLine.h"

namespace tp {

/// The parser of a cl::opt whose words and values are given by cl::values. The
/// error is "for the --all-reduce option: expected auto, peer or library, got
/// 'best'".
template <typename T>
class WordParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    std::string words;
    for (const auto &known : this->Values) {
      if (known.Name == text) {
        value = known.V.getValue();
        return false;
      }
      if (!words.empty())
        words += &known == &this->Values.back() ? " or " : ", ";
      words += known.Name;
    }
    return option.error("expected " + words + ", got '" + text + "'");
  }
};

/// An option that takes one of a few words.
template <typename T>
using WordOption = llvm::cl::opt<T, false, WordParser<T>>;

} // namespace tp

#endif // TP_SUPPORT_WORDPARSER_H
