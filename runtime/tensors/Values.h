//===- Values.h - inputs cut, outputs put together --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the user's whole tensors and the ranks' local ones. Neither direction
// is a collective: the host does it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_VALUES_H
#define TPRT_TENSORS_VALUES_H

#include "Tensor.h"

namespace tprt {

/// An input's value in the input's own type: where the caller has it, or a copy
/// that was converted.
struct InputValue {
  const char *given = nullptr;
  std::string copy;
  Shape shape; ///< the input's, or with fewer positions if it has sequences
  bool isShifted = false; ///< by shiftTargets

  const char *data() const { return given ? given : copy.data(); }
};

/// So many ones, of any type.
std::string ones(tprt_type type, int64_t count);

/// An error if the value's shape, type, range or padding is not what the input
/// asks for.
Expected<InputValue> checkInput(const Input &input, const TensorView &value);

/// The class at each position [B, S] from labels as `transformers` takes them,
/// which are those of the tokens themselves: the label of the next position,
/// and -100, which counts for nothing, at the end of each row. `labels` is what
/// checkInput has passed.
InputValue shiftTargets(const Input &input, const InputValue &labels);

/// Counts, in each row of a mask that checkInput has passed, the zeros before
/// its ones; empty if no row has any.
std::vector<int64_t> leftPadding(const Input &mask, const InputValue &value);

/// Writes the initial value of a state, which is no parameter, into the block
/// of a rank.
void initialise(const State &state, const Mesh &mesh,
                const std::vector<int64_t> &coordinates, void *local);

/// Writes the block of a rank; `value` null stands for the input's default. Of
/// a partial sum, the first rank gets all.
void distribute(const Input &input, const InputValue *value, const Mesh &mesh,
                const std::vector<int64_t> &coordinates, void *local);

/// Puts the ranks' blocks together at `to`, reduced where they are partial,
/// without their padding and as elements of `type`, which is the value's own
/// or, for a float, f32. A Lost error if ranks that hold the same block differ
/// in any bit of it, but for those that tell NaNs apart.
Status assemble(const Value &value, const Mesh &mesh,
                const std::vector<const void *> &shards, tprt_type type,
                char *to);

} // namespace tprt

#endif // TPRT_TENSORS_VALUES_H
