//===- Precompiled.cpp - Owner of the precompiled header ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CMake attaches a precompiled header to a target with sources; this is the
// source. Nothing is defined here.
//
//===----------------------------------------------------------------------===//
