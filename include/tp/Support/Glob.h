//===- Glob.h - A glob pattern with its text --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TP_SUPPORT_GLOB_H
#define TP_SUPPORT_GLOB_H

#include "llvm/Support/Error.h"
#include <memory>

namespace tp {

/// A pattern on whole names: `*` any run of characters, `?` one, `[...]` one of
/// these. Copies share the text, to which llvm::GlobPattern refers without
/// owning it.
class Glob {
public:
  static llvm::Expected<Glob> create(llvm::StringRef text);

  bool match(llvm::StringRef name) const;
  llvm::StringRef getText() const;

private:
  struct Compiled;
  explicit Glob(std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compiled;
};

} // namespace tp

#endif // TP_SUPPORT_GLOB_H
