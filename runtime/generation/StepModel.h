//===- StepModel.h - a program as a generator sees it -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the scheduler knows of what it drives: a session, or a model that a
// test makes up.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_STEPMODEL_H
#define TPRT_GENERATION_STEPMODEL_H

#include "../format/Manifest.h"

namespace tprt::generation {

/// The inputs of one step, as docs/Generation.md has them: row r owns the
/// tokens [starts[r], starts[r + 1]), at positions context[r] and on.
struct Batch {
  explicit Batch(const Generation &program)
      : ids(size_t(program.chunk)), starts(size_t(program.rows + 1)),
        context(size_t(program.rows)),
        table(size_t(program.rows * program.tablePages())) {}

  int64_t tokens = 0, rows = 0; ///< in use
  std::vector<int32_t> ids;     ///< of a whole chunk; 0 past the tokens
  std::vector<int32_t> starts, context, table;
  bool sampled = false; ///< whether anybody reads the logits
};

class StepModel {
public:
  virtual ~StepModel() = default;
  /// Computes the tokens. The logits of the last token of each row, [rows,
  /// vocabulary], if they are sampled; valid until the next step.
  virtual Expected<const float *> step(const Batch &batch) = 0;
  /// No step comes any more.
  virtual void end() {}
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_STEPMODEL_H
