//===- Glob.cpp - A glob pattern with its text ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tp/Support/Glob.h"

#include "llvm/Support/GlobPattern.h"
#include <string>

using namespace llvm;
using namespace tp;

struct Glob::Compiled {
  std::string text;
  GlobPattern pattern;
};

Glob::Glob(std::shared_ptr<const Compiled> compiled)
    : compiled(std::move(compiled)) {}

Expected<Glob> Glob::create(StringRef text) {
  auto compiled = std::make_shared<Compiled>();
  compiled->text = text.str();
  Expected<GlobPattern> pattern = GlobPattern::create(compiled->text);
  if (!pattern)
    return pattern.takeError();
  compiled->pattern = std::move(*pattern);
  return Glob(std::move(compiled));
}

bool Glob::match(StringRef name) const { return compiled->pattern.match(name); }

StringRef Glob::getText() const { return compiled->text; }
