//===- Distribute.h - Global tensors to ranks and back ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spreads a tensor over the ranks as its sharding says, the way a loader does
// (zeros in the padding), and compares what the ranks hold with the
// global value: every replica, addends summed first, padding ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_DISTRIBUTE_H
#define TP_INTERPRETER_DISTRIBUTE_H

#include "tp/Interpreter/Interpreter.h"

namespace tp::interp {

/// The elements past the end of a part that is padded: zeros, as in inputs, or
/// what no program may count on (NaN, -1).
enum class PaddingFill { Zeros, Poison };

/// One tensor per rank, of the local shape. A partial value has all of it on
/// the first rank along the partial axes, and zeros (sum) or all of it (max,
/// min) on the others. Ranks with equal parts share the memory.
RankTensors distribute(const Tensor &global, const TensorSharding &sharding,
                       const Mesh &mesh,
                       PaddingFill padding = PaddingFill::Zeros);

/// Call `visit` for each distinct part of the value: a tensor (addends
/// combined in the order of their position), a rank that holds it, the global
/// position and the local one of the first element, and the sizes of what is no
/// padding; once for each box, where dimensions are cut in blocks. Tensors must
/// be of the local shape.
void forEachPart(
    const RankTensors &locals, llvm::ArrayRef<int64_t> globalShape,
    const TensorSharding &sharding, const Mesh &mesh,
    llvm::function_ref<
        void(const Tensor &part, int64_t rank, llvm::ArrayRef<int64_t> offsets,
             llvm::ArrayRef<int64_t> local, llvm::ArrayRef<int64_t> sizes)>
        visit);

/// The global value, from the lowest rank where there are copies.
Tensor assemble(const RankTensors &locals, llvm::ArrayRef<int64_t> globalShape,
                const TensorSharding &sharding, const Mesh &mesh);

} // namespace tp::interp

#endif // TP_INTERPRETER_DISTRIBUTE_H
