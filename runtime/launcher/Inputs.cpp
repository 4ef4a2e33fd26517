//===- Inputs.cpp - what --input gives
//-------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "../support/Draw.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

std::pair<std::string, std::string> tprt::splitName(const std::string &text) {
  size_t equals = text.find('=');
  bool isPath = text.starts_with("/") || text.starts_with("./") ||
                text.starts_with("../");
  if (equals == std::string::npos || isPath)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Values of an input of that shape and type: floats uniform from -1 to 1 (as
/// f32, which inputs of all float types take), integers within the range that
/// the program takes, or from 0 to 99 if it states none. A mask that counts
/// tokens from the left has ones alone.
static HostTensor makeUp(const Input &input, const std::string &name,
                         uint64_t seed) {
  int64_t count = elementCount(input.shape);
  uint32_t salt = 2166136261u; // FNV-1a, so that no two inputs are alike
  for (char c : name)
    salt = (salt ^ uint8_t(c)) * 16777619u;
  if (isFloat(input.type)) {
    HostTensor made{name, TPRT_F32, input.shape, std::string(4 * count, 0)};
    for (int64_t i = 0; i < count; ++i) {
      float x = float(philox(seed, uint32_t(i), salt)) * 0x1p-31f - 1.0f;
      std::memcpy(made.bytes.data() + 4 * i, &x, 4);
    }
    return made;
  }
  bool isMask = input.rightPadded;
  auto [least, end] = input.range.value_or(std::pair<int64_t, int64_t>(
      0, typeBytes(input.type) == 1 && !input.range ? 2 : 100));
  HostTensor made{name, TPRT_I64, input.shape, std::string(8 * count, 0)};
  for (int64_t i = 0; i < count; ++i) {
    int64_t x = least + int64_t(philox(seed, uint32_t(i), salt) %
                                uint64_t(std::max<int64_t>(end - least, 1)));
    if (isMask)
      x = 1;
    std::memcpy(made.bytes.data() + 8 * i, &x, 8);
  }
  return made;
}

static bool isRandom(const std::string &text) {
  return text.starts_with("random:");
}

static Expected<uint64_t> readSeed(const std::string &text,
                                   const std::string &given) {
  std::string number = text.substr(text.find(':') + 1);
  if (number.empty() || number.size() > 18 ||
      number.find_first_not_of("0123456789") != std::string::npos)
    return usageError("input '", given,
                      "': expected a natural number as the seed");
  return std::stoull(number);
}

/// The input of that name, or ENTRY.NAME, of the first entry that has it.
static const Input *findInput(const Manifest &manifest,
                              const std::string &name) {
  for (const Entry &entry : manifest.entries)
    for (const Input &input : entry.inputs)
      if (input.state < 0 && (input.name == name || input.unshifted == name ||
                              entry.name + "." + input.name == name))
        return &input;
  return nullptr;
}

Status GivenInputs::add(const std::string &name, const std::string &from,
                        const TensorView &value) {
  for (const One &one : inputs)
    if (one.name == name)
      return userError("input '", name, "' is given twice, by ", one.from,
                       " and by ", from, "; give each input once");
  inputs.push_back({name, from, value});
  return {};
}

Status GivenInputs::addRandom(const std::string &name, const Input &input,
                              uint64_t seed) {
  madeUp.push_back(makeUp(input, name, seed));
  const HostTensor &made = madeUp.back();
  return add(name, detail::join("random:", seed),
             {fileTypeOf(made.type), made.shape, made.bytes});
}

Status GivenInputs::addFile(const Manifest &manifest, const std::string &name,
                            const std::string &path, const std::string &text) {
  bool isNpy = path.ends_with(".npy");
  if (isNpy && name.empty())
    return usageError("input '", text,
                      "': a .npy file needs a name: NAME=", text);
  if (!isNpy && !path.ends_with(".safetensors"))
    return usageError("input '", text,
                      "': expected a file ending in .npy or .safetensors, or "
                      "random:SEED");
  TPRT_ASSIGN(auto file, TensorFile::open(path));
  files.push_back(std::move(file));
  const auto &tensors = files.back().tensors();
  std::string where = "'" + path + "'";
  if (name.empty()) {
    for (const auto &[key, view] : tensors)
      TPRT_TRY(add(key, where, view));
    return {};
  }
  auto found = tensors.find(isNpy ? "" : name);
  // An entry's own input is known by its name alone too.
  for (const Entry &entry : manifest.entries)
    if (found == tensors.end() && name.starts_with(entry.name + "."))
      found = tensors.find(name.substr(entry.name.size() + 1));
  if (found == tensors.end())
    return userError(where, " has no tensor '", name, "'");
  return add(name, where, found->second);
}

Status GivenInputs::add(const Manifest &manifest, const std::string &text) {
  auto [name, value] = splitName(text);
  if (text.starts_with("="))
    return usageError("input '", text, "': expected a name before '='");
  if (!isRandom(value))
    return addFile(manifest, name, value, text);
  TPRT_ASSIGN(uint64_t seed, readSeed(value, text));
  if (name.empty()) {
    if (seedOfRest)
      return usageError("input '", text, "': ", "random:", *seedOfRest,
                        " is there for all other inputs already");
    seedOfRest = seed;
    return {};
  }
  if (const Input *input = findInput(manifest, name))
    return addRandom(name, *input, seed);
  std::string known;
  for (const Entry &entry : manifest.entries)
    for (const Input &input : entry.inputs)
      if (input.state < 0 &&
          known.find("'" + input.name + "'") == std::string::npos)
        known += (known.empty() ? "'" : ", '") + input.name + "'";
  return userError("unknown input '", name, "'; the program takes ",
                   known.empty() ? "none" : known);
}

Status GivenInputs::fill(const Entry &entry) {
  if (!seedOfRest)
    return {};
  for (const Input &input : entry.inputs) {
    bool isGiven = std::any_of(inputs.begin(), inputs.end(), [&](auto &one) {
      return one.name == input.name ||
             (!input.unshifted.empty() && one.name == input.unshifted) ||
             one.name == entry.name + "." + input.name;
    });
    if (isGiven || input.state >= 0 ||
        input.defaultValue != Input::Default::None)
      continue;
    TPRT_TRY(addRandom(input.name, input, *seedOfRest));
  }
  return {};
}
