//===- Manifest.cpp - the artifact's tables -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on the parsed tables: coordinates, groups, names of types. The
// conventions are those of docs/RuntimeABI.md, in one place.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"

#include "tprt/names.h"

#include <algorithm>

using namespace tprt;

static constexpr struct {
  std::string_view name;
  int64_t bytes;
} kTypes[] = {
#define TPRT_ROW(id, name, bytes) {name, bytes},
    TPRT_TYPES(TPRT_ROW)
#undef TPRT_ROW
};

const char *tprt::typeName(tprt_type type) { return kTypes[type].name.data(); }

int64_t tprt::typeBytes(tprt_type type) { return kTypes[type].bytes; }

bool tprt::isFloat(tprt_type type) {
  return type == TPRT_F32 || type == TPRT_BF16 || type == TPRT_F16;
}

std::optional<tprt_type> tprt::parseType(std::string_view text) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (text == kTypes[i].name)
      return tprt_type(i);
  return std::nullopt;
}

int64_t tprt::elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string tprt::formatShape(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t Mesh::size() const {
  int64_t size = 1;
  for (const Axis &axis : axes)
    size *= axis.size;
  return size;
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  std::vector<int64_t> at(axes.size());
  int64_t position = positions[rank];
  for (size_t i = axes.size(); i-- > 0;) {
    at[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return at;
}

int64_t Mesh::digit(const AxisRef &ref, const std::vector<int64_t> &at) const {
  int64_t minor = axes[ref.axis].size / (ref.pre * ref.size);
  return at[ref.axis] / minor % ref.size;
}

int64_t Mesh::index(const AxisList &list,
                    const std::vector<int64_t> &at) const {
  int64_t index = 0;
  for (const AxisRef &ref : list)
    index = index * ref.size + digit(ref, at);
  return index;
}

std::vector<int64_t> Mesh::group(const AxisList &list, int64_t rank) const {
  // Two ranks are in one group if taking the listed digits out of their
  // coordinates leaves the same.
  auto rest = [&](std::vector<int64_t> at) {
    std::vector<int64_t> from = at;
    for (const AxisRef &ref : list)
      at[ref.axis] -=
          digit(ref, from) * (axes[ref.axis].size / (ref.pre * ref.size));
    return at;
  };
  std::vector<int64_t> members(shardCount(list), -1);
  std::vector<int64_t> mine = rest(coordinates(rank));
  for (int64_t other = 0; other < size(); ++other) {
    std::vector<int64_t> at = coordinates(other);
    if (rest(at) == mine)
      members[index(list, at)] = other;
  }
  return members;
}

int64_t tprt::shardCount(const AxisList &list) {
  int64_t count = 1;
  for (const AxisRef &ref : list)
    count *= ref.size;
  return count;
}

std::vector<DimRun> tprt::runsOf(int64_t size, int64_t local, const DimCut &cut,
                                 const Mesh &mesh,
                                 const std::vector<int64_t> &coordinates) {
  int64_t index = mesh.index(cut.axes, coordinates);
  int64_t block = cut.block ? cut.block : size, inner = shardCount(cut.axes);
  int64_t count = 1;
  if (cut.block) {
    inner /= cut.outer;
    count = (size / block + cut.outer - 1) / cut.outer;
  }
  int64_t part = local / count, within = index % inner * part;
  int64_t length = std::min(part, block - within);
  std::vector<DimRun> runs;
  for (int64_t i = 0; i < count && length > 0; ++i)
    if (int64_t start = (index / inner * count + i) * block + within;
        start < size)
      runs.push_back({start, length, i * part});
  return runs;
}

void tprt::forEachBlock(
    const std::vector<std::vector<DimRun>> &dims,
    const std::function<void(const std::vector<DimRun> &)> &body) {
  std::vector<DimRun> block(dims.size());
  std::vector<size_t> at(dims.size(), 0);
  for (const std::vector<DimRun> &runs : dims)
    if (runs.empty())
      return;
  while (true) {
    for (size_t d = 0; d < dims.size(); ++d)
      block[d] = dims[d][at[d]];
    body(block);
    size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1].size())
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

std::string Parameter::nameOf(size_t alternative, int64_t i) const {
  return nameOfLayer(names[alternative], first + i);
}

std::vector<std::vector<DimRun>>
tprt::blocksOf(const Parameter &p, const Mesh &mesh,
               const std::vector<int64_t> &coordinates, int64_t first,
               int64_t rows) {
  std::vector<std::vector<DimRun>> dims;
  for (size_t d = 0; d < p.shape.size(); ++d)
    dims.push_back(
        runsOf(p.shape[d], p.localShape[d], p.sharding[d], mesh, coordinates));
  if (rows < 0 || dims.empty())
    return dims;
  std::vector<DimRun> part;
  for (const DimRun &run : dims[0]) {
    int64_t begin = std::max(run.local, first);
    int64_t end = std::min(run.local + run.length, first + rows);
    if (begin < end)
      part.push_back(
          {run.start + begin - run.local, end - begin, begin - first});
  }
  dims[0] = part;
  return dims;
}

int64_t Storage::elementsPerWord() const {
  int64_t word = type == "I32" ? 32 : 8;
  return bits ? word / bits : 1;
}

Shape Storage::fileShape(const Shape &unpacked) const {
  Shape shape = unpacked;
  for (size_t d = 0; d < repeat.size(); ++d)
    shape[d] = (shape[d] + repeat[d] - 1) / repeat[d];
  if (bits)
    shape[size_t(dim)] =
        (shape[size_t(dim)] + elementsPerWord() - 1) / elementsPerWord();
  return shape;
}

int64_t Parameter::localBytes(int64_t count) const {
  Shape shape = localShape;
  if (count >= 0 && !shape.empty())
    shape[0] = count;
  if (storage && storage->isNibble && !shape.empty())
    shape.back() = (shape.back() + 1) / 2;
  return elementCount(shape) * typeBytes(type);
}

std::vector<std::string> Parameter::tensorsOf(size_t alternative,
                                              int64_t i) const {
  std::string name = nameOf(alternative, i);
  std::vector<std::string> tensors;
  for (int64_t e = 0; e < (isStack() ? sourceShape[0] : 1); ++e) {
    tensors.push_back(name);
    if (size_t at = name.find("{e}"); at != std::string::npos)
      tensors.back().replace(at, 3, std::to_string(e));
  }
  return tensors;
}

int64_t Manifest::generationBytes() const {
  int64_t most = 0;
  for (const Entry &entry : entries)
    if (entry.name.starts_with("step_"))
      most = std::max(most, entry.peakBytes);
  return most;
}

std::string Manifest::smallerCache(int64_t bytes) const {
  int64_t cache = 0;
  for (const State &state : states)
    cache += state.localBytes();
  int64_t page = std::max<int64_t>(1, cache / generation->pages());
  int64_t pages = std::max<int64_t>(0, cache - bytes) / page;
  int64_t rows = pages / generation->tablePages();
  int64_t context = pages / generation->rows * generation->page;
  if (pages == 0)
    return "no cache fits, so use more ranks on more hosts";
  std::string text =
      detail::join("tp-compile --cells ", pages * generation->page);
  if (rows > 0 && context > 0)
    return detail::join(text, ", --rows ", rows, " or --context ", context,
                        " fits");
  if (rows > 0)
    return detail::join(text, " or --rows ", rows, " fits");
  if (context > 0)
    return detail::join(text, " or --context ", context, " fits");
  return text + " fits";
}

int64_t Manifest::parameterSlots() const {
  return parameters.empty() ? 0
                            : parameters.back().base + parameters.back().count;
}
