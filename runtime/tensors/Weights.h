//===- Weights.h - parameters from checkpoints ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches a checkpoint's tensors with the manifest's parameter templates, once,
// and then reads any rank's blocks of them, from the files' own slices alone.
// `random:SEED` and `init:SEED` stand for a checkpoint whose values depend on
// seed, name and element of the whole tensor alone, not on the number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_WEIGHTS_H
#define TPRT_TENSORS_WEIGHTS_H

#include "Spellings.h"

namespace tprt {

/// The seed of `random:SEED` and `init:SEED`; none of another `spec`.
Expected<std::optional<uint64_t>> readWeightsSeed(const std::string &spec);

class Weights {
public:
  /// `spec`: a directory with model.safetensors or
  /// model.safetensors.index.json, a .safetensors file, or random:SEED, for
  /// which init:SEED is another word; `states` is a .safetensors file with more
  /// tensors. Reports those that are missing, misshapen, of a wrong type or
  /// unused, by name. Of tensors that stand for one parameter the first is
  /// loaded; compareShare says whether the others are the same.
  static Expected<Weights> open(const std::string &spec,
                                const Manifest &manifest,
                                const std::string &states = "");

  /// Writes the local block of parameters[parameter], instance `instance`, for
  /// the rank at these mesh coordinates, padding included, to `target`: all of
  /// it, or `rows` rows of its first dimension from `first` on. Returns the
  /// bytes read from the checkpoint.
  Expected<int64_t> load(int64_t parameter, int64_t instance,
                         const std::vector<int64_t> &coordinates, void *target,
                         int64_t first = 0, int64_t rows = -1) const;

  /// Tells checkpoints apart: a hash of types, shapes and a sample of each
  /// tensor's values, or of the seed. Reads at most three pages per tensor.
  Expected<uint64_t> fingerprint() const;

  /// An error if tensors that stand for one parameter differ in a share of
  /// their values: each of `shares` ranks is to call it, so that none reads all
  /// of them.
  Status compareShare(int64_t share, int64_t shares) const;

  using Located = LocatedTensor;
  using Tensors = std::map<std::string, Located>;
  /// The tensors of `spec`, unused ones among them, but neither those that the
  /// program excludes nor second forms of what is read; empty for random.
  const Tensors &checkpoint() const { return all; }
  /// The tensors that parameters are read from, each once, in the order of the
  /// parameters; empty for random.
  std::vector<Located> parameterTensors() const;
  /// For people: what of the files is not read. Empty: nothing to say.
  const std::string &note() const { return unreadNote; }

private:
  const Manifest *manifest = nullptr;
  Tensors all;
  std::string unreadNote;
  std::vector<SamePair> pairs;
  /// Per parameter slot, of a stack one for each position; empty for random.
  std::vector<std::vector<Located>> slots;
  uint64_t seed = 0;
};

} // namespace tprt

#endif // TPRT_TENSORS_WEIGHTS_H
