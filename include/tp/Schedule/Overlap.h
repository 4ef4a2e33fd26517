//===- Overlap.h - Whether collectives run beside work ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice that schedule offers of what runs beside collectives.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_OVERLAP_H
#define TP_SCHEDULE_OVERLAP_H

#include "llvm/Support/CommandLine.h"
#include <optional>

namespace tp {

/// The choice of `--overlap`: the work that runs beside collectives.
struct Overlap {
  enum class Kind {
    /// Operations that do not need their results, where that pays.
    Auto,
    /// None: each collective ends before the next operation begins.
    Off,
    /// As Auto; and rows are computed in `chunks` parts wherever that is
    /// possible, so that the collective of one stands beside the products of
    /// the next.
    Rows,
  };
  Kind kind = Kind::Auto;
  unsigned chunks = 1;

  bool isOff() const { return kind == Kind::Off; }
  bool operator==(const Overlap &other) const = default;
};

/// Rows are cut in at most so many parts.
inline constexpr unsigned mostChunks = 64;
/// The values that the option takes, for its help and for errors.
inline constexpr llvm::StringLiteral overlapSyntax =
    "auto, off or rows=C with C from 2 to 64";
/// The choice that `text` names; nothing if it names none.
std::optional<Overlap> parseOverlap(llvm::StringRef text);
std::string toString(const Overlap &overlap);

} // namespace tp

/// The option of pipelines.
template <>
class llvm::cl::parser<tp::Overlap>
    : public llvm::cl::basic_parser<tp::Overlap> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef name, StringRef text,
             tp::Overlap &overlap);
  static void print(raw_ostream &os, const tp::Overlap &overlap) {
    os << tp::toString(overlap);
  }
  void printOptionDiff(const Option &option, const tp::Overlap &overlap,
                       const OptionValue<tp::Overlap> &unset,
                       size_t width) const;
};

#endif // TP_SCHEDULE_OVERLAP_H
