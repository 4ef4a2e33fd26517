//===- Layout.cpp - a checkpoint's tensors out of states ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "../support/Region.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tprt;
using namespace tprt::training;

/// Bytes that are read of a state at a time, and copied of a file.
constexpr int64_t kBlockBytes = int64_t(64) << 20;

static TensorPlace placeOf(FileType type, const Shape &shape) {
  return {type, shape, 0, elementCount(shape) * fileTypeBytes(type)};
}

/// The tensors of the checkpoint that have parts, from the states that
/// `stateOf` chooses of each weight.
template <typename StateOf>
static Expected<Layout> layoutOf(const Steps &steps, StateOf stateOf) {
  const Manifest &manifest = steps.manifest();
  TPRT_ASSIGN(auto program, trainingOf(manifest));
  const Weights::Tensors &input = steps.checkpoint()->checkpoint();
  // By name; tensors of one stack follow each other, so that it is read once.
  std::map<std::pair<std::string, int64_t>, LaidOut> found;
  for (const Training::Weight &weight : program.weights) {
    // The first is the checkpoint's; a run that goes on adds another.
    size_t index = 0;
    while (manifest.parameters[index].state != weight.weight)
      ++index;
    const Parameter &p = manifest.parameters[index];
    for (int64_t i = 0; i < p.count; ++i) {
      auto add = [&](size_t alternative, const std::string &name,
                     int64_t position, const Weights::Located *known) {
        LaidOut &tensor = found[{p.nameOf(alternative, i), position}];
        tensor.name = name;
        tensor.input = known;
        tensor.place = placeOf(known ? known->place.type : fileTypeOf(p.type),
                               p.tensorShape());
        tensor.parts.push_back({stateOf(weight), int64_t(index), i, position});
      };
      // A tied tensor is written as often as it was there.
      for (size_t a = 0; a < p.names.size(); ++a) {
        std::vector<std::string> names = p.tensorsOf(a, i);
        for (size_t e = 0; e < names.size(); ++e) {
          int64_t position = p.isStack() ? int64_t(e) : -1;
          if (auto known = input.find(names[e]);
              known != input.end() && floatTypeOf(known->second.place.type) &&
              known->second.place.shape == p.tensorShape())
            add(a, names[e], position, &known->second);
          else if (input.empty() && a == 0)
            add(a, names[e], position, nullptr);
        }
      }
    }
  }
  Layout layout;
  for (auto &[key, tensor] : found)
    layout.push_back(std::move(tensor));
  return layout;
}

/// True if parts and the tensor have as many elements.
static bool isWhole(const Steps &steps, const LaidOut &tensor) {
  int64_t count = 0;
  for (const LaidOut::Part &part : tensor.parts) {
    const Parameter &p = steps.manifest().parameters[size_t(part.parameter)];
    count += elementCount(p.shape) / (p.isStack() ? p.sliceSizes[0] : 1);
  }
  return count >= elementCount(tensor.place.shape);
}

Expected<Layout> training::weightLayout(const Steps &steps) {
  TPRT_ASSIGN(auto layout, layoutOf(steps, [](const Training::Weight &weight) {
                return weight.master >= 0 ? weight.master : weight.weight;
              }));
  std::set<std::string> names;
  for (const LaidOut &tensor : layout) {
    names.insert(tensor.name);
    if (!tensor.input && !isWhole(steps, tensor))
      return userError("tensor '", tensor.name,
                       "': the program has a part of it alone, and weights "
                       "that are made up have no rest: expected --weights DIR");
  }
  for (const auto &[name, located] : steps.checkpoint()->checkpoint())
    if (!names.count(name))
      layout.push_back({name, located.place, {}, &located});
  return layout;
}

Expected<Layout> training::gradientLayout(const Steps &steps) {
  TPRT_ASSIGN(auto layout, layoutOf(steps, [](const Training::Weight &weight) {
                return weight.gradient;
              }));
  for (LaidOut &tensor : layout) {
    tensor.place = placeOf(FileType::F32, tensor.place.shape);
    tensor.input = nullptr;
  }
  return layout;
}

/// The part of a state that is one instance of its parameter.
static Expected<HostTensor> readPart(Steps &steps, const LaidOut::Part &part,
                                     const Parameter &p) {
  const State &state = steps.manifest().states[size_t(part.state)];
  if (state.shape.size() == p.shape.size())
    return steps.state(part.state);
  if (shardCount(state.sharding[0].axes) == 1)
    return steps.state(part.state, part.instance, 1);
  TPRT_ASSIGN(auto all, steps.state(part.state));
  size_t size = all.bytes.size() / size_t(p.count);
  all.bytes = all.bytes.substr(size * size_t(part.instance), size);
  return all;
}

/// Puts the values of a parameter into the tensor that it is a box of, of a
/// stack those of one position into the tensor of that.
static void scatter(const Parameter &p, int64_t position, const float *from,
                    float *to) {
  Shape source = stridesOf(p.sourceShape), own = stridesOf(p.shape);
  Box box;
  for (size_t d = 0; d < p.shape.size(); ++d) {
    bool isStack = position >= 0 && p.permutation[d] == 0;
    box.dimensions.push_back({isStack ? 1 : p.shape[d], own[d],
                              source[size_t(p.permutation[d])] *
                                  p.sliceSteps[size_t(p.permutation[d])]});
    if (isStack)
      box.fromStart += (position - p.sliceOffsets[0]) * own[d];
    if (position < 0 || d > 0)
      box.toStart += p.sliceOffsets[d] * source[d];
  }
  copyBox(sizeof(float), box, from, to, kAlone);
}

static Status copyTensor(const Weights::Located &tensor, OutputFile &file) {
  std::string block;
  for (int64_t at = 0; at < tensor.place.bytes; at += kBlockBytes) {
    block.resize(size_t(std::min(kBlockBytes, tensor.place.bytes - at)));
    TPRT_TRY(tensor.read(at, block.data(), int64_t(block.size())));
    TPRT_TRY(file.write(block.data(), block.size()));
  }
  return {};
}

namespace {
/// The state that was read last: several tensors may be positions of one stack.
class PartReader {
public:
  explicit PartReader(Steps &steps) : steps(steps) {}

  Expected<const float *> read(const LaidOut::Part &part) {
    if (part.state != state || part.instance != instance) {
      state = -1;
      TPRT_ASSIGN(
          values,
          readPart(steps, part,
                   steps.manifest().parameters[size_t(part.parameter)]));
      state = part.state;
      instance = part.instance;
    }
    return reinterpret_cast<const float *>(values.bytes.data());
  }

private:
  Steps &steps;
  int64_t state = -1, instance = -1;
  HostTensor values;
};
} // namespace

Status training::write(Steps &steps, const Layout &layout, float divisor,
                       OutputFile &file) {
  PartReader reader(steps);
  for (const LaidOut &tensor : layout) {
    if (tensor.parts.empty()) {
      TPRT_TRY(copyTensor(*tensor.input, file));
      continue;
    }
    tprt_type type = *floatTypeOf(tensor.place.type);
    int64_t count = elementCount(tensor.place.shape);
    std::vector<float> values(static_cast<size_t>(count));
    std::string bytes(size_t(tensor.place.bytes), '\0');
    if (tensor.input && !isWhole(steps, tensor)) {
      TPRT_TRY(tensor.input->read(0, bytes.data(), tensor.place.bytes));
      simd().widen(type, bytes.data(), values.data(), count);
    }
    for (const LaidOut::Part &part : tensor.parts) {
      TPRT_ASSIGN(auto value, reader.read(part));
      scatter(steps.manifest().parameters[size_t(part.parameter)],
              part.position, value, values.data());
    }
    for (int64_t i = 0; divisor != 1 && i < count; ++i)
      values[size_t(i)] /= divisor;
    simd().narrow(type, values.data(), bytes.data(), count);
    TPRT_TRY(file.write(bytes.data(), bytes.size()));
  }
  return {};
}

std::vector<int64_t> training::statesToKeep(const Steps &steps,
                                            const Layout &layout) {
  const Manifest &manifest = steps.manifest();
  std::vector<int64_t> kept;
  for (const Training::Weight &weight : manifest.training->weights) {
    for (int64_t state :
         {weight.master, weight.expAvg, weight.expAvgSq, weight.momentum})
      if (state >= 0)
        kept.push_back(state);
    // Values that the checkpoint's own type would round.
    FileType own = fileTypeOf(manifest.states[size_t(weight.weight)].type);
    int64_t written = weight.master >= 0 ? weight.master : weight.weight;
    bool isRounded =
        std::any_of(layout.begin(), layout.end(), [&](const LaidOut &tensor) {
          return tensor.place.type != own &&
                 tensor.place.type != FileType::F32 &&
                 std::any_of(tensor.parts.begin(), tensor.parts.end(),
                             [&](const LaidOut::Part &part) {
                               return part.state == written;
                             });
        });
    if (isRounded)
      kept.push_back(weight.weight);
  }
  return kept;
}

Status training::writeStates(Steps &steps, const std::vector<int64_t> &states,
                             const std::string &path) {
  std::vector<std::pair<std::string, TensorPlace>> places;
  for (int64_t index : states) {
    const State &state = steps.manifest().states[size_t(index)];
    places.push_back({Session::stateTensor(state),
                      placeOf(fileTypeOf(state.type), state.shape)});
  }
  TPRT_ASSIGN(auto file, createSafetensors(path, places));
  for (int64_t index : states) {
    const State &state = steps.manifest().states[size_t(index)];
    // Row by row where rows are not the ranks'.
    bool inRows =
        !state.shape.empty() && shardCount(state.sharding[0].axes) == 1;
    int64_t count = inRows ? state.shape[0] : 1, step = count;
    if (inRows)
      step = std::clamp<int64_t>(
          kBlockBytes / std::max<int64_t>(1, state.localBytes() / count), 1,
          count);
    for (int64_t first = 0; first < count; first += step) {
      auto read = inRows
                      ? steps.state(index, first, std::min(step, count - first))
                      : steps.state(index);
      TPRT_TRY(read.status());
      int64_t elements = elementCount(read->shape);
      std::string bytes(size_t(elements * typeBytes(state.type)), '\0');
      simd().narrow(state.type,
                    reinterpret_cast<const float *>(read->bytes.data()),
                    bytes.data(), elements);
      TPRT_TRY(file.write(bytes.data(), bytes.size()));
    }
  }
  return file.commit();
}
