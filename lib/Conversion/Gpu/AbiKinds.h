//===- AbiKinds.h - What functions of the runtime are given -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of each function's arguments in tprt/abi.h, for kernels that are
// launched with what the function is called with: an address is p, i32 4,
// i64 8.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ABIKINDS_H
#define TP_LIB_CONVERSION_GPU_ABIKINDS_H

#include "tprt/abi.h"
#include <string_view>

namespace tp {

/// By slot: abiKinds[TPRT_SLOT_attention].
inline constexpr std::string_view abiKinds[] = {
#define TP_ADDRESS(name) "p"
#define TP_I32(name) "4"
#define TP_I64(name) "8"
#define TP_KINDS(name, parameters) "" parameters,
    TPRT_FUNCTIONS(TP_KINDS, TP_ADDRESS, TP_ADDRESS, TP_I32, TP_I64, TP_ADDRESS)
#undef TP_KINDS
#undef TP_I64
#undef TP_I32
#undef TP_ADDRESS
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ABIKINDS_H
