//===- LibraryCalls.h - The runtime's functions as callables ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One callable per function of tprt/abi.h, made from its list: given the
// arguments behind rank and id it makes the LibraryCall, and a wrong number of
// them, or an address for a number, does not compile.
//
//   abi::gemm(rows, x, k, w, bias, residual, y, n)
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_LIBRARYCALLS_H
#define TP_INTERFACES_LIBRARYCALLS_H

#include "tp/Interfaces/LibraryInterface.h"
#include "tprt/abi.h"

namespace tp::abi {

struct Rank;
struct Id;
struct Body;

template <typename Signature, bool hasId = false>
struct Function;
template <typename... Parameters, bool hasId>
struct Function<void(Rank, Parameters...), hasId> {
  unsigned slot;
  llvm::StringLiteral name;

  LibraryCall operator()(Parameters... arguments) const {
    return {slot, name, hasId, {LibraryArgument(arguments)...}};
  }
};
template <typename... Parameters>
struct Function<void(Rank, Id, Parameters...), false>
    : Function<void(Rank, Parameters...), true> {};

#define TP_ADDRESS(name) , LibraryAddress
#define TP_ID(name) , Id
#define TP_NUMBER(name) , int64_t
#define TP_BODY(name) , Body
#define TP_FUNCTION(name, parameters)                                          \
  inline constexpr Function<void(Rank parameters)> name{TPRT_SLOT_##name,      \
                                                        #name};
TPRT_FUNCTIONS(TP_FUNCTION, TP_ADDRESS, TP_ADDRESS, TP_ID, TP_NUMBER, TP_BODY)
#undef TP_FUNCTION
#undef TP_BODY
#undef TP_NUMBER
#undef TP_ID
#undef TP_ADDRESS

} // namespace tp::abi

#endif // TP_INTERFACES_LIBRARYCALLS_H
