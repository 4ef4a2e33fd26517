//===- ImportFlags.cpp - The import options of the tools ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ImportFlags.h. Values out of range are errors of the command line, which
// end a tool with another code than errors of the checkpoint.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ImportFlags.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace tp {

ImportFlags::ImportFlags(cl::OptionCategory &category)
    : batch("batch", cl::desc("Sequences per step (default 1)"),
            cl::value_desc("B"), cl::init(1), cl::cat(category)),
      seq("seq",
          cl::desc("Positions per sequence (default 128, or the model's limit "
                   "if that is smaller)"),
          cl::value_desc("S"), cl::cat(category)),
      dtype("dtype",
            cl::desc("Element type: f32, bf16 or f16 (default: the "
                     "checkpoint's)"),
            cl::value_desc("T"), cl::cat(category)),
      layers("layers", cl::desc("Only the first so many layers"),
             cl::value_desc("L"), cl::cat(category)),
      logits("logits",
             cl::desc("Logits of 'all' positions (default) or of the 'last' "
                      "one of each sequence"),
             cl::value_desc("all|last"), cl::init("all"), cl::cat(category)) {}

std::optional<ImportOptions> ImportFlags::get(StringRef program) const {
  bool valid = true;
  auto reject = [&](StringRef option, const Twine &text) {
    llvm::errs() << program << ": for the --" << option << " option: " << text
                 << "\n";
    valid = false;
  };
  auto positive = [&](const cl::opt<int64_t> &option) {
    if (option.getNumOccurrences() && option < 1)
      reject(option.ArgStr,
             "expected a positive integer, got " + Twine(option.getValue()));
  };
  positive(batch);
  positive(seq);
  positive(layers);
  ImportOptions options;
  options.batch = batch;
  if (seq.getNumOccurrences())
    options.seq = seq;
  if (layers.getNumOccurrences())
    options.layers = layers;
  if (dtype.getNumOccurrences()) {
    options.dtype = parseFloatKind(dtype);
    if (!options.dtype)
      reject("dtype", "expected f32, bf16 or f16, got '" + dtype + "'");
  }
  if (logits != "all" && logits != "last")
    reject("logits", "expected all or last, got '" + logits + "'");
  options.lastLogits = logits == "last";
  if (!valid)
    return std::nullopt;
  return options;
}

static void printLocation(llvm::raw_ostream &os, Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn() << ": ";
}

UserDiagnosticHandler::UserDiagnosticHandler(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([](Diagnostic &diag) {
    auto print = [](Diagnostic &d) {
      printLocation(llvm::errs(), d.getLocation());
      switch (d.getSeverity()) {
      case DiagnosticSeverity::Error:
        llvm::WithColor::error();
        break;
      case DiagnosticSeverity::Warning:
        llvm::WithColor::warning();
        break;
      case DiagnosticSeverity::Note:
        llvm::WithColor::note();
        break;
      case DiagnosticSeverity::Remark:
        llvm::WithColor::remark();
        break;
      }
      llvm::errs() << d << "\n";
    };
    print(diag);
    for (Diagnostic &note : diag.getNotes())
      print(note);
  });
}

} // namespace tp
