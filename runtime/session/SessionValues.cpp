//===- SessionValues.cpp - what users give and get ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs, outputs and states of a session, by name.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

using namespace tprt;

/// The position of the value of that name that callers give or get; none: those
/// there are have been added to `known`.
template <typename Named>
static std::optional<size_t> findNamed(const std::vector<Named> &values,
                                       std::string_view name,
                                       std::string &known) {
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (!std::is_same_v<Named, State>)
      if (values[i].state >= 0)
        continue;
    if (values[i].name == name)
      return i;
    if constexpr (std::is_same_v<Named, Input>)
      if (!name.empty() && values[i].unshifted == name)
        return i;
    std::string quoted = "'" + values[i].name + "'";
    if (known.find(quoted) == std::string::npos)
      known += (known.empty() ? "" : ", ") + quoted;
  }
  return std::nullopt;
}

static Status unknown(const char *what, std::string_view name, const char *has,
                      const std::string &known) {
  return userError("unknown ", what, " '", name, "'; the program ", has, " ",
                   known.empty() ? "none" : known);
}

Status Session::setInput(int64_t entry, size_t position, std::string_view name,
                         const TensorView &value, bool copy) {
  Input input = manifest_.entries[size_t(entry)].inputs[position];
  bool isShifted = !input.unshifted.empty() && name == input.unshifted;
  auto &place = inputs[size_t(entry)][position];
  if (place && place->isShifted != isShifted)
    return userError("inputs '", input.name, "' and '", input.unshifted,
                     "': expected one of them: '", input.unshifted,
                     "' are the tokens' own, '", input.name,
                     "' those of the tokens that follow");
  if (isShifted)
    std::swap(input.name, input.unshifted); // for messages
  TPRT_ASSIGN(InputValue checked, checkInput(input, value));
  if (isShifted) {
    checked = shiftTargets(input, checked);
  } else if (copy && checked.given) {
    checked.given = nullptr;
    checked.copy = value.bytes;
  }
  place = std::move(checked);
  return {};
}

Status Session::setInput(const std::vector<int64_t> &entries,
                         const std::string &name, const TensorView &value) {
  std::string known;
  bool isNamed = false;
  for (int64_t entry : entries) {
    auto i = findNamed(manifest_.entries[entry].inputs, name, known);
    isNamed |= i.has_value();
    if (i && !ownInputs.count({entry, *i}))
      TPRT_TRY(setInput(entry, *i, name, value, /*copy=*/true));
  }
  if (isNamed)
    return {};
  for (const Entry &entry : manifest_.entries) {
    if (!name.starts_with(entry.name + "."))
      continue;
    int64_t index = &entry - manifest_.entries.data();
    std::string own = name.substr(entry.name.size() + 1);
    if (std::find(entries.begin(), entries.end(), index) == entries.end())
      return userError("input '", name, "': entry '", entry.name,
                       "' is not among those that run");
    known.clear();
    auto i = findNamed(entry.inputs, own, known);
    if (!i)
      return userError("unknown input '", name, "'; entry '", entry.name,
                       "' takes ", known.empty() ? "none" : known);
    ownInputs.insert({index, *i});
    return setInput(index, *i, own, value, /*copy=*/true);
  }
  return unknown("input", name, "takes", known);
}

Status Session::checkInputs(int64_t index) {
  const Entry &entry = manifest_.entries[index];
  for (size_t i = 0; i < inputs[index].size(); ++i)
    if (!inputs[index][i] && entry.inputs[i].state < 0 &&
        entry.inputs[i].defaultValue == Input::Default::None)
      return userError("missing input '", entry.inputs[i].name, "' (",
                       typeName(entry.inputs[i].type), " ",
                       formatShape(entry.inputs[i].shape), ")",
                       manifest_.entries.size() > 1
                           ? " of entry '" + entry.name + "'"
                           : std::string());
  TPRT_ASSIGN(fits[index], fitSequences(entry, inputs[index]));
  return {};
}

/// Says of each output whether it is at one of the places.
static std::vector<bool> chosenOf(const Entry &entry,
                                  const std::vector<size_t> &places) {
  std::vector<bool> chosen(entry.outputs.size());
  for (size_t place : places)
    chosen[place] = true;
  return chosen;
}

/// True if a binding can hold a value of that shape.
static Status checkBinding(const char *what, const Value &value,
                           const Shape &shape, const Binding &binding) {
  FileType own = fileTypeOf(value.type);
  bool alsoF32 = isFloat(value.type) && own != FileType::F32;
  if (binding.type != own && !(alsoF32 && binding.type == FileType::F32))
    return userError(what, " '", value.name, "': expected elements of type ",
                     fileTypeName(own), alsoF32 ? " or F32" : "", ", got ",
                     fileTypeName(binding.type));
  if (binding.shape != shape)
    return userError(what, " '", value.name, "': expected shape ",
                     formatShape(shape), ", got ", formatShape(binding.shape));
  return {};
}

/// The type in which it is written to the binding.
static tprt_type typeFor(const Value &value, const Binding &binding) {
  return binding.type == fileTypeOf(value.type) ? value.type : TPRT_F32;
}

Status Session::bindInputs(int64_t index, const std::vector<Binding> &inputs) {
  if (!loaded)
    return userError("no weights are loaded");
  const Entry &entry = manifest_.entries[size_t(index)];
  std::string known;
  for (const Binding &input : inputs) {
    auto place = findNamed(entry.inputs, input.name, known);
    if (!place)
      return unknown("input", input.name, "takes", known);
    TensorView view{input.type, input.shape, {input.data, size_t(input.bytes)}};
    TPRT_TRY(setInput(index, *place, input.name, view, /*copy=*/false));
  }
  return checkInputs(index);
}

Expected<std::vector<size_t>>
Session::placesOf(int64_t index, const std::vector<Binding> &outputs) const {
  const Entry &entry = manifest_.entries[size_t(index)];
  std::vector<size_t> places;
  std::string known;
  for (const Binding &output : outputs) {
    auto place = findNamed(entry.outputs, output.name, known);
    if (!place)
      return unknown("output", output.name, "gives", known);
    const Output &value = entry.outputs[*place];
    TPRT_TRY(checkBinding("output", value, shapeFor(value, fits[size_t(index)]),
                          output));
    TPRT_TRY(expectAllRanks());
    places.push_back(*place);
  }
  return places;
}

Status Session::write(int64_t index, const std::vector<Binding> &outputs,
                      const std::vector<size_t> &places) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output &output = manifest_.entries[size_t(index)].outputs[places[i]];
    TPRT_TRY(assembleOutput(index, places[i], typeFor(output, outputs[i]),
                            outputs[i].data)
                 .status());
  }
  return {};
}

Status Session::step(int64_t index, const std::vector<Binding> &inputs,
                     const std::vector<Binding> &outputs) {
  TPRT_TRY(tell({Call::Step, index}, inputs, outputs));
  const Entry &entry = manifest_.entries[size_t(index)];
  auto &values = this->inputs[size_t(index)];
  values.assign(values.size(), std::nullopt);
  Status bound = bindInputs(index, inputs);
  auto places = placesOf(index, outputs);
  if (!bound.ok() || !places)
    return refuseTogether(bound.ok() ? places.status() : bound);
  TPRT_TRY(run({index}, 1, chosenOf(entry, *places)));
  return write(index, outputs, *places);
}

Status Session::read(int64_t index, const std::vector<Binding> &outputs) {
  TPRT_TRY(tell({Call::Read, index}, {}, outputs));
  TPRT_ASSIGN(auto places, placesOf(index, outputs));
  auto chosen = chosenOf(manifest_.entries[size_t(index)], places);
  TPRT_TRY(onRanks([=, this](int64_t rank) {
    return ranks[rank]->download(index, chosen);
  }));
  return write(index, outputs, places);
}

Status Session::readRows(int64_t index, const Binding &output, int64_t first) {
  TPRT_TRY(tell({Call::ReadRows, index, first}, {}, {output}));
  const Entry &entry = manifest_.entries[size_t(index)];
  std::string known;
  auto place = findNamed(entry.outputs, output.name, known);
  if (!place)
    return unknown("output", output.name, "gives", known);
  Value rows = entry.outputs[*place];
  int64_t all = rows.shape.empty() ? 0 : rows.shape[0];
  int64_t count = output.shape.empty() ? 0 : output.shape[0];
  if (all == 0 || rows.localShape[0] != all || first < 0 || count < 1 ||
      count > all - first)
    return internalError("output '", rows.name, "' has no rows ", first, " to ",
                         first + count - 1, " that are whole on every rank");
  int64_t offset = rows.localBytes() / all * first;
  rows.shape[0] = rows.localShape[0] = count;
  TPRT_TRY(checkBinding("output", rows, rows.shape, output));
  TPRT_TRY(expectAllRanks());
  int64_t number = int64_t(*place), bytes = rows.localBytes();
  TPRT_TRY(onRanks([=, this](int64_t rank) {
    return ranks[rank]->downloadPart(index, number, offset, bytes);
  }));
  std::vector<const void *> local = outputsHere(index, *place);
  for (const void *&at : local)
    at = static_cast<const char *>(at) + offset;
  return assembleAll(rows, std::move(local), typeFor(rows, output), output.data)
      .status();
}

/// The addresses of an output on the ranks of this process.
std::vector<const void *> Session::outputsHere(int64_t index,
                                               size_t place) const {
  std::vector<const void *> at;
  for (int64_t rank : here)
    at.push_back(ranks[rank]->output(index, int64_t(place)));
  return at;
}

/// Puts together what all ranks have, those of this process at `local`, as
/// `assemble` does; false, and nothing, on ranks that get no results.
Expected<bool> Session::assembleAll(const Value &value,
                                    std::vector<const void *> local,
                                    tprt_type type, char *to) {
  Backend::Gathered shards;
  if (processes()) {
    TPRT_ASSIGN(shards, backend_->gather(local[0], value.localBytes()));
  } else {
    shards.data = std::move(local);
  }
  if (root())
    TPRT_TRY(assemble(value, manifest_.mesh, shards.data, type, to));
  return root();
}

/// The same of an output, of which the caller gets the positions that it gave.
Expected<bool> Session::assembleOutput(int64_t index, size_t place,
                                       tprt_type type, char *to) {
  const Entry &entry = manifest_.entries[size_t(index)];
  const Output &output = entry.outputs[place];
  const SequenceFit &fit = fits[size_t(index)];
  if (!output.sequences || fit.isPlain(entry))
    return assembleAll(output, outputsHere(index, place), type, to);
  int64_t size = typeBytes(type);
  std::string whole(size_t(elementCount(output.shape) * size), '\0');
  TPRT_ASSIGN(bool isWhole, assembleAll(output, outputsHere(index, place), type,
                                        whole.data()));
  if (isWhole)
    moveOut(output, fit, whole.data(), size, to);
  return isWhole;
}

/// Room for a value, floats as f32.
static HostTensor tensorFor(const Value &value, const Shape &shape) {
  tprt_type type = isFloat(value.type) ? TPRT_F32 : value.type;
  return {value.name, type, shape,
          std::string(size_t(elementCount(shape) * typeBytes(type)), 0)};
}

Expected<std::vector<HostTensor>> Session::outputs(int64_t index) {
  TPRT_TRY(expectAllRanks());
  std::vector<HostTensor> result;
  for (const Output &output : manifest_.entries[size_t(index)].outputs)
    if (output.state < 0)
      result.push_back(
          tensorFor(output, shapeFor(output, fits[size_t(index)])));
  std::vector<Binding> bindings;
  for (HostTensor &tensor : result)
    bindings.push_back({tensor.name, fileTypeOf(tensor.type), tensor.shape,
                        tensor.bytes.data(), int64_t(tensor.bytes.size())});
  TPRT_TRY(read(index, bindings));
  if (!root())
    result.clear();
  return result;
}

/// `part` is state `index`, or rows of it from byte `offset` on.
Expected<bool> Session::assembleState(int64_t index, const State &part,
                                      int64_t offset, tprt_type type,
                                      char *to) {
  // All addresses first: from a device they are had by a copy. Shared, as a
  // rank that stalls may still write to them later.
  auto at = std::make_shared<std::vector<const void *>>(here.size());
  TPRT_TRY(onRanks([=, bytes = part.localBytes(), this](int64_t r) -> Status {
    TPRT_ASSIGN((*at)[size_t(r - here[0])],
                ranks[r]->state(index, offset, bytes));
    return {};
  }));
  return assembleAll(part, *at, type, to);
}

/// True if there are states to be read, or will be none.
Status Session::expectStates() {
  TPRT_TRY(expectAllRanks());
  if (!loaded)
    return userError("no weights are loaded");
  return prepareStates();
}

Status Session::readStates(const std::vector<Binding> &states) {
  TPRT_TRY(tell({Call::ReadStates}, {}, states));
  std::string known;
  std::vector<size_t> places;
  for (const Binding &state : states) {
    auto place = findNamed(manifest_.states, state.name, known);
    if (!place)
      return unknown("state", state.name, "has", known);
    const State &value = manifest_.states[*place];
    TPRT_TRY(checkBinding("state", value, value.shape, state));
    places.push_back(*place);
  }
  TPRT_TRY(expectStates());
  for (size_t i = 0; i < states.size(); ++i) {
    const State &value = manifest_.states[places[i]];
    TPRT_TRY(assembleState(int64_t(places[i]), value, 0,
                           typeFor(value, states[i]), states[i].data)
                 .status());
  }
  return {};
}

Expected<std::optional<HostTensor>> Session::state(int64_t index, int64_t first,
                                                   int64_t rows) {
  TPRT_TRY(tell({Call::State, index, first, rows}));
  TPRT_TRY(expectStates());
  State part = manifest_.states[index];
  int64_t offset = 0;
  if (rows >= 0) {
    offset = part.localBytes() / part.localShape[0] * first;
    part.shape[0] = part.localShape[0] = rows;
  }
  HostTensor tensor = tensorFor(part, part.shape);
  TPRT_ASSIGN(bool isWhole, assembleState(index, part, offset, tensor.type,
                                          tensor.bytes.data()));
  return isWhole ? std::optional(std::move(tensor)) : std::nullopt;
}
