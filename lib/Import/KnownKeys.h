//===- KnownKeys.h - Which keys of config.json matter -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `transformers` stores every key of a config.json and reads some of them. The
// importer refuses a key that it does not understand if `transformers` reads
// it, for then it may change the result; a key that nothing reads is ignored,
// and the log says so. TransformersKeys.inc lists what is read of each
// model_type; scripts/list-config-keys makes it from the sources of
// `transformers`.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_KNOWNKEYS_H
#define TP_LIB_IMPORT_KNOWNKEYS_H

#include "JsonFile.h"
#include "tp/Import/Family.h"

namespace tp {

/// The keys and classes that `transformers` has for one model_type.
class KnownKeys {
public:
  /// The row of TransformersKeys.inc for `modelType`, which must have one.
  /// "mpt.attn_config" is the row of an object within MPT's config.json.
  explicit KnownKeys(llvm::StringRef modelType);

  llvm::StringRef getModelType() const { return modelType; }
  /// True if `transformers` reads the key, in this model's own code or in code
  /// that all models share.
  bool reads(llvm::StringRef key) const;
  /// True if it has a class of that name, in any capitals, for the model_type.
  bool hasClass(llvm::StringRef name) const;
  /// Tells the reader which keys have a second name.
  void addSecondNames(ObjectReader &reader) const;

private:
  llvm::StringRef modelType, secondNames;
  llvm::SmallVector<llvm::StringRef> keys, classes;
};

/// Keys that any config may hold and that do not change a forward pass.
llvm::ArrayRef<llvm::StringLiteral> getIgnoredKeys();

/// Refuses values that change the result in every family and are not supported,
/// and Python code of the checkpoint's own; marks the keys of tokens,
/// generation, training and provenance as read.
void readCommonKeys(ObjectReader &reader, const Family &family,
                    const KnownKeys &known);

/// Ends the reading of an object: an error for each key that is not understood
/// and that `transformers` reads. The others are noted as ignored.
void finishKeys(ObjectReader &reader, const KnownKeys &known);

/// A remark that lists the keys that were ignored.
void reportIgnoredKeys(ObjectReader &reader, const KnownKeys &known);

} // namespace tp

#endif // TP_LIB_IMPORT_KNOWNKEYS_H
