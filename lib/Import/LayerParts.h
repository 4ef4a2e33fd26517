//===- LayerParts.h - Projections of a layer --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that emit a layer read linear layers of a checkpoint by these
// functions. A linear layer may be rows of a fused one.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_LAYERPARTS_H
#define TP_LIB_IMPORT_LAYERPARTS_H

#include "ModelBuilder.h"

namespace tp {

/// Rows of a fused projection: `total` of them, of which a part is read.
struct Part {
  int64_t offset = 0, total = 0;
  llvm::StringRef name; ///< For the place.
};

/// The other form that checkpoints may have of a projection: of a part of a
/// fused one its own tensor, and the other way around.
struct OtherForm {
  std::string path;
  Part part;
};

/// The linear layer at `path` of x[b, s, k], or the rows `part` of it. Its
/// inputs may be cut at multiples of `grain`, if that is not 0.
mlir::Value project(ModelBuilder &m, const std::string &path, mlir::Value x,
                    int64_t outputs, bool hasBias, Part part = {},
                    const OtherForm &other = {}, int64_t grain = 0);

/// x[b, s, heads, d] times factors[b, s, heads], in f32 (BuildElementwise.cpp).
mlir::Value scaleHeads(ModelBuilder &m, llvm::StringRef path, mlir::Value x,
                       mlir::Value factors);
/// y + x * factors[heads], of y and x [b, s, heads, d], in f32.
mlir::Value addScaledHeads(ModelBuilder &m, llvm::StringRef path, mlir::Value y,
                           mlir::Value x, mlir::Value factors);
/// x[..., n] times factors[n], in `element`, if it is given, or else the
/// model's type.
mlir::Value scaleRows(ModelBuilder &m, llvm::StringRef path, mlir::Value x,
                      mlir::Value factors, mlir::Type element = {});
/// x times number[1], which no loss has a derivative by: its bits are an
/// integer on the way.
mlir::Value scaleByConstant(ModelBuilder &m, llvm::StringRef path,
                            mlir::Value x, mlir::Value number);
/// The larger of softplus(x[..., n] + bias[n]) and `least`, in f32.
mlir::Value softplus(ModelBuilder &m, llvm::StringRef path, mlir::Value x,
                     mlir::Value bias, double least = 0);
/// -exp(rateLog[n]) * x[..., n], in f32.
mlir::Value scaleByRates(ModelBuilder &m, llvm::StringRef path, mlir::Value x,
                         mlir::Value rateLog);

/// Linear attention of the layer that is emitted, with its projections, of the
/// normed x[b, s, h] (BuildLinearAttention.cpp).
mlir::Value buildLinearAttention(ModelBuilder &m, mlir::Value x);

} // namespace tp

#endif // TP_LIB_IMPORT_LAYERPARTS_H
