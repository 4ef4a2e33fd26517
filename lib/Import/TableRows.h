//===- TableRows.h - Rows of tables, written by field -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row names the fields in which it differs; all others have the defaults of
// tp/Import/Family.h. Compilers warn of that in files that do not include this.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_TABLEROWS_H
#define TP_LIB_IMPORT_TABLEROWS_H

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-designated-field-initializers"
#endif

#endif // TP_LIB_IMPORT_TABLEROWS_H
