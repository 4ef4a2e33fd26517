//===- Inputs.h - what --input gives -----------------------------*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a program's inputs, from files or made up.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_INPUTS_H
#define TPRT_LAUNCHER_INPUTS_H

#include "../tensors/Tensor.h"
#include "tprt/status.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tprt {

/// NAME=FILE; of FILE alone the name is empty.
std::pair<std::string, std::string> splitName(const std::string &text);

/// Values of inputs, with the memory that they are in.
class GivenInputs {
public:
  struct One {
    std::string name, from; ///< `from`: for messages
    TensorView value;
  };

  /// Adds what `--input text` says: NAME=FILE (.npy or .safetensors),
  /// FILE.safetensors with all inputs by their names, NAME=random:SEED, or
  /// random:SEED of all inputs that nothing else gives (see fill). An error if
  /// one is given twice.
  Status add(const Manifest &manifest, const std::string &text);

  /// Makes up those inputs of the entry that have neither value nor default, if
  /// `--input random:SEED` asks for it.
  Status fill(const Entry &entry);

  const std::vector<One> &list() const { return inputs; }

private:
  Status add(const std::string &name, const std::string &from,
             const TensorView &value);
  Status addFile(const Manifest &manifest, const std::string &name,
                 const std::string &path, const std::string &text);
  Status addRandom(const std::string &name, const Input &input, uint64_t seed);

  std::deque<TensorFile> files;
  std::deque<HostTensor> madeUp;
  std::vector<One> inputs;
  std::optional<uint64_t> seedOfRest;
};

} // namespace tprt

#endif // TPRT_LAUNCHER_INPUTS_H
