//===- Describe.cpp - an artifact, for people -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each thing that the tables list; the layers of a model are one
// thing, as they are in the tables.
//
//===----------------------------------------------------------------------===//

#include "Inspect.h"
#include "tprt/units.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

using namespace tprt;

namespace {

/// `7 kernels`, `1 kernel`.
std::string count(int64_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

template <typename List, typename Text>
std::string join(const List &list, const char *comma, Text text) {
  std::string all;
  for (const auto &item : list)
    all += (all.empty() ? "" : comma) + text(item);
  return all;
}

class Writer {
public:
  explicit Writer(const Inspected &artifact)
      : artifact(artifact), manifest(artifact.manifest) {}
  std::string write();

private:
  std::string axis(const AxisRef &ref) const;
  std::string axes(const AxisList &list) const;
  std::string tensor(tprt_type type, const Shape &shape, const Shape &local,
                     const Sharding &sharding, const AxisList &partial) const;
  void writeHead();
  void writeEntry(const Entry &entry);
  void writeParameters();
  void writeStates();
  void writeCollectives();
  void writeCalls();

  const Inspected &artifact;
  const Manifest &manifest;
  std::ostringstream out;
};

/// `"tp"`, and `"tp":(2)4` of a sub-axis.
std::string Writer::axis(const AxisRef &ref) const {
  const Mesh::Axis &whole = manifest.mesh.axes[size_t(ref.axis)];
  std::string text = '"' + whole.name + '"';
  if (ref.pre != 1 || ref.size != whole.size)
    text += detail::join(":(", ref.pre, ")", ref.size);
  return text;
}

std::string Writer::axes(const AxisList &list) const {
  return join(list, ", ", [&](const AxisRef &ref) { return axis(ref); });
}

/// `f32 [2, 64], [2, 32] on each rank: [{}, {"tp"}]`.
std::string Writer::tensor(tprt_type type, const Shape &shape,
                           const Shape &local, const Sharding &sharding,
                           const AxisList &partial) const {
  std::string text = std::string(typeName(type)) + " " + formatShape(shape);
  bool isSplit =
      std::any_of(sharding.begin(), sharding.end(),
                  [](const DimCut &cut) { return !cut.axes.empty(); });
  if (isSplit)
    text += ", " + formatShape(local) + " on each rank: [" +
            join(sharding, ", ",
                 [&](const DimCut &cut) {
                   std::string text = "{" + axes(cut.axes);
                   if (cut.block)
                     text +=
                         detail::join(" block ", cut.block, " by ", cut.outer);
                   return text + "}";
                 }) +
            "]";
  if (!partial.empty())
    text += ", partial over " + axes(partial);
  return text;
}

void Writer::writeHead() {
  out << artifact.path << ": " << formatBytes(artifact.bytes) << ", made by "
      << manifest.producer << "\n";
  if (!manifest.modelName.empty() || !manifest.architecture.empty())
    out << "model: " << manifest.modelName
        << (manifest.architecture.empty() ? ""
                                          : " (" + manifest.architecture + ")")
        << "\n";
  auto words = [](const std::vector<std::string> &list) {
    return join(list, ", ", [](const std::string &word) { return word; });
  };
  out << "target: " << (manifest.device == Device::Cpu ? "cpu" : "cuda") << " "
      << manifest.triple;
  if (!manifest.features.empty())
    out << ", needs " << words(manifest.features);
  if (!manifest.architectures.empty())
    out << ", machine code for " << words(manifest.architectures);
  out << "\nmesh: "
      << join(manifest.mesh.axes, ",",
              [](const Mesh::Axis &axis) {
                return axis.name + "=" + std::to_string(axis.size);
              })
      << ", " << count(manifest.mesh.size(), "rank") << "\nsections: "
      << join(artifact.sections, ", ", [](const auto &section) {
           return section.first + " " + formatBytes(section.second);
         });
  HeldMemory held = heldMemory(artifact);
  out << "\nmemory of a rank, whichever entry runs: parameters "
      << formatBytes(held.parameters) << ", states " << formatBytes(held.states)
      << ", constants " << formatBytes(held.constants) << "\n";
  if (const auto &generation = manifest.generation)
    out << "generates: " << count(generation->rows, "row") << " of "
        << generation->context << " tokens, pages of " << generation->page
        << ", at most " << generation->chunk << " tokens a step\n";
  if (const auto &training = manifest.training)
    out << "trains: " << training->name() << ", "
        << count(int64_t(training->weights.size()), "weight") << "\n";
}

void Writer::writeEntry(const Entry &entry) {
  out << "entry " << entry.name << ": peak of a rank "
      << formatBytes(entry.peakBytes) << ", of it intermediates "
      << formatBytes(entry.arenaBytes) << ", communication "
      << formatBytes(entry.commBytes) << "\n";
  auto line = [&](const char *what, const auto &value) {
    out << "  " << what << " " << value.name << ": "
        << tensor(value.type, value.shape, value.localShape, value.sharding,
                  value.partial);
    if (value.state >= 0)
      out << ", state " << manifest.states[size_t(value.state)].name;
  };
  for (const Input &input : entry.inputs) {
    line("input", input);
    if (input.range)
      out << ", of [" << input.range->first << ", " << input.range->second
          << ")";
    if (input.sequences)
      out << ", or fewer positions";
    if (input.rightPadded)
      out << (input.sequences ? ", padded on one side"
                              : ", padded on the right");
    if (!input.unshifted.empty())
      out << ", or one position later as " << input.unshifted;
    if (input.defaultValue != Input::Default::None)
      out << ", by default "
          << (input.defaultValue == Input::Default::Ones ? "ones" : "zeros");
    out << "\n";
  }
  for (const Output &output : entry.outputs) {
    line("output", output);
    out << "\n";
  }
}

void Writer::writeParameters() {
  // A name may be read in several forms.
  int64_t tensors = 0;
  for (const Parameter &p : manifest.parameters)
    tensors += p.count * (p.isStack() ? p.sourceShape[0] : 1);
  out << count(int64_t(manifest.parameters.size()), "parameter") << ", "
      << count(tensors, "tensor") << "\n";
  for (const Parameter &p : manifest.parameters) {
    out << "  " << p.names.front();
    if (p.names.front().find("{i}") != std::string::npos)
      out << ", i from " << p.first << " to " << p.first + p.count - 1;
    if (p.isStack())
      out << ", e from 0 to " << p.sourceShape[0] - 1;
    out << ": " << tensor(p.type, p.shape, p.localShape, p.sharding, p.partial);
    if (p.sliceSizes != p.sourceShape)
      out << ", part of " << formatShape(p.sourceShape);
    if (p.state >= 0)
      out << ", begins state " << manifest.states[size_t(p.state)].name;
    out << "\n";
  }
}

void Writer::writeStates() {
  if (manifest.states.empty())
    return;
  out << count(int64_t(manifest.states.size()), "state") << "\n";
  for (const State &state : manifest.states)
    out << "  " << state.name << ": "
        << tensor(state.type, state.shape, state.localShape, state.sharding,
                  state.partial)
        << "\n";
}

void Writer::writeCollectives() {
  out << count(int64_t(manifest.collectives.size()), "collective") << "\n";
  for (size_t id = 0; id < manifest.collectives.size(); ++id) {
    const Collective &c = manifest.collectives[id];
    out << "  " << id << " " << c.row().operation << " over " << axes(c.axes)
        << ": " << typeName(c.type) << " " << formatShape(c.inputShape)
        << " to " << formatShape(c.outputShape) << ", " << c.count
        << " a step, " << formatBytes(c.bytes) << " each"
        << (c.asynchronous ? ", awaited later; "
            : c.peers      ? ", added up by kernels; "
                           : "; ")
        << c.cause << (c.location.empty() ? "" : "; at " + c.location) << "\n";
  }
}

void Writer::writeCalls() {
  out << count(int64_t(manifest.kernels.size()), "kernel")
      << (manifest.kernels.empty() ? "" : ": ")
      << join(manifest.kernels, ", ",
              [](const Kernel &kernel) { return kernel.name; })
      << "\n";
  // The parts that there are.
  std::string calls;
  for (auto [number, what] :
       {std::pair(manifest.gemms.size(), "GEMM"),
        {manifest.attentions.size(), "attention"},
        {manifest.pagedAttentions.size(), "paged attention"},
        {manifest.experts.size(), "experts"}})
    if (number)
      calls +=
          (calls.empty() ? "" : ", ") + std::to_string(number) + " " + what;
  out << "library calls: " << (calls.empty() ? "none" : calls) << "\n";
}

std::string Writer::write() {
  writeHead();
  for (const Entry &entry : manifest.entries)
    writeEntry(entry);
  writeParameters();
  writeStates();
  writeCollectives();
  writeCalls();
  return out.str();
}

} // namespace

std::string tprt::describe(const Inspected &artifact) {
  return Writer(artifact).write();
}
