//===- ManifestParser.cpp - validates the manifest ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the manifest's JSON into tables and refuses whatever docs/RuntimeABI.md
// does not allow.
//
//===----------------------------------------------------------------------===//

#include "CallParser.h"
#include "tprt/artifact.h"
#include "tprt/version.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace tprt;

namespace {

/// Fails if the object's name is in `names` already; `what` it is begins the
/// message.
void expectNew(std::set<std::string> &names, const Cursor &cursor,
               const char *what = "") {
  std::string name = cursor["name"].string();
  if (!names.insert(name).second)
    cursor["name"].fail(what, "'", name, "' occurs twice");
}

class Parser : CallParser {
public:
  using CallParser::manifest;

  void parse(const Cursor &top) {
    int64_t abi = top["abi"].integer();
    if (abi != TPRT_ABI_VERSION)
      top["abi"].fail("expected ABI version ", TPRT_ABI_VERSION, ", got ", abi);
    manifest.producer = top["producer"].string();
    Cursor model = top["model"];
    manifest.modelName = model["name"].string();
    manifest.architecture = model["architecture"].string();
    if (model.has("changed_config"))
      for (const auto &[key, value] : model["changed_config"].items("key"))
        manifest.changedConfig[key] = value.boolean();
    model.end();
    Cursor target = top["target"];
    if (target.has("device"))
      manifest.device = Device(target["device"].word({"cpu", "cuda"}));
    if (target.has("architectures")) {
      if (!isDevice())
        target["architectures"].fail("expected none for device 'cpu'");
      manifest.architectures = target["architectures"].strings();
    }
    if (target.has("images")) {
      if (!isDevice())
        target["images"].fail("expected none for device 'cpu'");
      manifest.images = target["images"].strings();
    }
    manifest.triple = target["triple"].string();
    manifest.features = target["features"].strings();
    target.end();
    parseMesh(top["mesh"]);
    manifest.ignored = top["ignored"].strings();
    if (top.has("excluded"))
      manifest.excluded = top["excluded"].strings();
    if (top.has("quantize")) {
      static const std::vector<std::string_view> formats{
          "int4-g128", "int4-g32", "int8", "fp8-block", "fp8-channel", "mxfp4"};
      manifest.quantize = formats[top["quantize"].word(formats)];
    }
    if (top.has("tensor_parts"))
      parseList(top["tensor_parts"], manifest.tensorParts,
                &Parser::parseTensorPart);
    parseList(top["kernels"], manifest.kernels, &Parser::parseKernel);
    parseList(top["gemms"], manifest.gemms, &Parser::parseGemm, true);
    parseList(top["attentions"], manifest.attentions, &Parser::parseAttention,
              true);
    if (top.has("paged_attentions"))
      parseList(top["paged_attentions"], manifest.pagedAttentions,
                &Parser::parsePagedAttention, true);
    if (top.has("experts"))
      parseList(top["experts"], manifest.experts, &Parser::parseExperts, true);
    parseList(top["collectives"], manifest.collectives,
              &Parser::parseCollective, true);
    if (top.has("states"))
      parseList(top["states"], manifest.states, &Parser::parseState);
    parseList(top["parameters"], manifest.parameters, &Parser::parseParameter);
    parseList(top["entries"], manifest.entries, &Parser::parseEntry);
    if (manifest.entries.empty())
      top["entries"].fail("expected at least one entry");
    if (top.has("generation"))
      parseGeneration(top["generation"]);
    if (top.has("training"))
      parseTraining(top["training"]);
    top.end();
  }

private:
  /// Adds what `parse` reads of each item. Code knows those that are numbered
  /// by their position, which is their id.
  template <typename T, typename Parse>
  void parseList(const Cursor &cursor, std::vector<T> &list, Parse parse,
                 bool isNumbered = false) {
    for (const Cursor &item : cursor.list()) {
      if (isNumbered)
        item["id"].integer(int64_t(list.size()), int64_t(list.size()));
      T one{};
      (this->*parse)(item, one);
      if constexpr (requires { one.locations; })
        if (item.has("locations"))
          one.locations = item["locations"].strings();
      item.end();
      list.push_back(std::move(one));
    }
  }

  void parseKernel(const Cursor &cursor, Kernel &kernel) {
    kernel.name = cursor["name"].string();
    if (!isDevice())
      return;
    kernel.code = kernel.name.substr(0, kernel.name.find(' '));
    if (kernel.code.empty())
      cursor["name"].fail("expected a symbol first, got '", kernel.name, "'");
    if (cursor.has("code"))
      kernel.code = cursor["code"].string();
    parseLaunch(cursor, kernel.launch);
    kernel.arguments = cursor["arguments"].integer(0, 1024);
    if (!cursor.has("images"))
      return;
    for (const auto &[image, launch] : cursor["images"].items("launch")) {
      parseLaunch(launch, kernel.images[image]);
      launch.end();
    }
  }

  static void parseLaunch(const Cursor &cursor, KernelLaunch &launch) {
    // Limits of the CUDA programming model.
    auto sizes = [&](const char *key, std::array<int64_t, 3> most) {
      std::vector<Cursor> items = cursor[key].list(3, "[x, y, z]");
      std::array<int64_t, 3> result;
      for (int i = 0; i < 3; ++i)
        result[i] = items[i].integer(1, most[i]);
      return result;
    };
    launch.grid = sizes("grid", {(int64_t(1) << 31) - 1, 65535, 65535});
    launch.block = sizes("block", {1024, 1024, 64});
    int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    if (threads > 1024)
      cursor["block"].fail("expected at most 1024 threads, got ", threads);
    launch.sharedBytes = cursor["shared_bytes"].integer(0, 227 * 1024);
  }

  void parseAxis(const Cursor &cursor, Mesh::Axis &axis) {
    axis.name = cursor["name"].string();
    axis.size = cursor["size"].integer(1, kMaxRanks);
    expectNew(axisNames, cursor, "axis ");
  }

  void parseMesh(const Cursor &cursor) {
    Mesh &mesh = manifest.mesh;
    int64_t ranks = 1;
    parseList(cursor["axes"], mesh.axes, &Parser::parseAxis);
    for (const Mesh::Axis &axis : mesh.axes) {
      ranks *= axis.size;
      if (ranks > kMaxRanks)
        cursor["axes"].fail("expected at most ", kMaxRanks, " ranks, got ",
                            ranks);
    }
    mesh.positions.resize(ranks);
    std::iota(mesh.positions.begin(), mesh.positions.end(), 0);
    if (cursor.has("device_order")) {
      Shape order = cursor["device_order"].permutation(ranks, "ranks", "rank");
      for (int64_t position = 0; position < ranks; ++position)
        mesh.positions[order[position]] = position;
    }
    cursor.end();
  }

  /// A list of axes and sub-axes; `used` collects them so that none is used
  /// twice for one value.
  AxisList parseAxes(const Cursor &cursor, AxisList &used) {
    AxisList result;
    for (const Cursor &item : cursor.list()) {
      std::string name = item["axis"].string();
      const auto &axes = manifest.mesh.axes;
      auto found = std::ranges::find(axes, name, &Mesh::Axis::name);
      if (found == axes.end())
        item["axis"].fail("the mesh has no axis '", name, "'");
      AxisRef ref;
      ref.axis = found - axes.begin();
      ref.pre = item.has("pre") ? item["pre"].integer(1, found->size) : 1;
      ref.size = item.has("size") ? item["size"].integer(1, found->size)
                                  : found->size / ref.pre;
      item.end();
      if (found->size % (ref.pre * ref.size) != 0)
        item.fail("pre ", ref.pre, " times size ", ref.size,
                  " does not divide axis '", name, "' of size ", found->size);
      for (const AxisRef &other : used)
        if (other.axis == ref.axis && other.size > 1 && ref.size > 1 &&
            ref.pre % (other.pre * other.size) != 0 &&
            other.pre % (ref.pre * ref.size) != 0)
          item.fail("axis '", name, "' is used twice");
      used.push_back(ref);
      result.push_back(ref);
    }
    return result;
  }

  Sharding parseSharding(const Cursor &object, const Shape &shape,
                         const Shape &local, AxisList &used) {
    std::vector<Cursor> dims = object["sharding"].list();
    if (dims.size() != shape.size())
      object["sharding"].fail("expected ", shape.size(), " dimensions, got ",
                              dims.size());
    if (local.size() != shape.size())
      object["local_shape"].fail("expected ", shape.size(), " dimensions, got ",
                                 local.size());
    Sharding sharding;
    for (size_t d = 0; d < shape.size(); ++d) {
      sharding.push_back(parseCut(dims[d], shape[d], used));
      int64_t shards = shardCount(sharding.back().axes);
      bool covers =
          local[d] <= kMaxSize / shards && local[d] * shards >= shape[d];
      if (!covers || !coversBlocks(sharding.back(), shape[d], local[d]))
        object["local_shape"].fail(
            "dimension ", d, ": ", shards, " shards of ", local[d],
            local[d] > kMaxSize / shards ? " exceed " : " do not cover ",
            shape[d]);
    }
    return sharding;
  }

  /// The axes alone, or with the blocks that they cut.
  DimCut parseCut(const Cursor &cursor, int64_t size, AxisList &used) {
    if (cursor.isList())
      return {parseAxes(cursor, used)};
    DimCut cut{parseAxes(cursor["axes"], used)};
    cut.block = cursor["block"].integer(1, std::max<int64_t>(1, size));
    cut.outer = cursor["outer"].integer(1, kMaxSize);
    if (size % cut.block != 0)
      cursor["block"].fail("expected a divisor of ", size, ", got ", cut.block);
    if (shardCount(cut.axes) % cut.outer != 0)
      cursor["outer"].fail("expected a divisor of ", shardCount(cut.axes),
                           " shards, got ", cut.outer);
    return cut;
  }

  /// Returns true if parts of `local` elements hold all of every block.
  static bool coversBlocks(const DimCut &cut, int64_t size, int64_t local) {
    if (!cut.block)
      return true;
    int64_t count = (size / cut.block + cut.outer - 1) / cut.outer;
    return local % count == 0 &&
           local / count * (shardCount(cut.axes) / cut.outer) >= cut.block;
  }

  void parseValue(const Cursor &cursor, Value &value) {
    value.name = cursor["name"].string();
    value.type = cursor["type"].type();
    value.shape = cursor["shape"].shape();
    value.localShape = cursor["local_shape"].shape();
    AxisList used;
    value.sharding = parseSharding(cursor, value.shape, value.localShape, used);
    if (cursor.has("partial"))
      value.partial = parseAxes(cursor["partial"], used);
    if (cursor.has("reduction"))
      value.reduction = parseReduction(cursor["reduction"]);
  }

  static Reduction parseReduction(const Cursor &cursor) {
    return Reduction(cursor.word({"sum", "max", "min"}));
  }

  /// The word of `key`, where it is there.
  static void parseDefault(const Cursor &cursor, const char *key,
                           Input::Default &value) {
    if (cursor.has(key))
      value = cursor[key].word({"ones", "zeros"}) == 0 ? Input::Default::Ones
                                                       : Input::Default::Zeros;
  }

  void parseState(const Cursor &cursor, State &state) {
    parseValue(cursor, state);
    parseDefault(cursor, "initial", state.initial);
    expectNew(stateNames, cursor);
  }

  /// A value of an entry: a state that is like it in all, or the user's.
  template <typename Value>
  void parseEntryValue(const Cursor &cursor, const char *what, Value &value) {
    parseValue(cursor, value);
    expectNew(valueNames, cursor, what);
    if (!cursor.has("state"))
      return;
    value.state =
        cursor["state"].integer(0, int64_t(manifest.states.size()) - 1);
    const State &state = manifest.states[value.state];
    if (value.type != state.type || value.shape != state.shape ||
        value.localShape != state.localShape ||
        value.reduction != state.reduction || value.partial != state.partial ||
        value.sharding != state.sharding)
      cursor["state"].fail("expected the type, shape and sharding of state '",
                           state.name, "'");
    if (!taken.insert(value.state).second)
      cursor["state"].fail("state '", state.name, "' occurs twice");
  }

  void parseInput(const Cursor &cursor, Input &input) {
    parseEntryValue(cursor, "input ", input);
    parseDefault(cursor, "default", input.defaultValue);
    if (cursor.has("range")) {
      std::vector<Cursor> range = cursor["range"].list(2, "[low, high]");
      if (isFloat(input.type))
        cursor["range"].fail("expected an input of integers, got ",
                             typeName(input.type));
      input.range = {range[0].integer(), range[1].integer()};
    }
    if (cursor.has("right_padded"))
      input.rightPadded = cursor["right_padded"].boolean();
    if (input.rightPadded && (input.shape.size() != 2 || isFloat(input.type)))
      cursor["right_padded"].fail("expected a mask [B, S] of integers, got ",
                                  formatShape(input.shape), " of ",
                                  typeName(input.type));
    if (cursor.has("unshifted"))
      parseUnshifted(cursor["unshifted"], input);
    parseSequences(cursor, input);
    if (input.sequences && input.range &&
        (input.range->first > 0 || input.range->second <= 0))
      cursor["range"].fail("expected 0 in it, which pads sequences");
  }

  void parseUnshifted(const Cursor &cursor, Input &input) {
    input.unshifted = cursor.string();
    if (input.shape.size() != 2 || input.state >= 0 ||
        (input.type != TPRT_I32 && input.type != TPRT_I64))
      cursor.fail("expected targets [B, S] of type i32 or i64 that are no "
                  "state, got ",
                  formatShape(input.shape), " of ", typeName(input.type));
    if (!valueNames.insert(input.unshifted).second)
      cursor.fail("input '", input.unshifted, "' occurs twice");
  }

  void parseOutput(const Cursor &cursor, Output &output) {
    parseEntryValue(cursor, "output ", output);
    parseSequences(cursor, output);
  }

  /// All of an entry have one number of sequences, and of positions.
  template <typename Value>
  void parseSequences(const Cursor &cursor, Value &value) {
    if (!cursor.has("sequences"))
      return;
    value.sequences = cursor["sequences"].boolean();
    if (!value.sequences)
      return;
    if (value.shape.size() < 2 || value.state >= 0)
      cursor["sequences"].fail("expected no state, of shape [B, S, ...], got ",
                               formatShape(value.shape));
    Shape batch(value.shape.begin(), value.shape.begin() + 2);
    if (sequences.empty())
      sequences = batch;
    if (batch != sequences)
      cursor["sequences"].fail("expected ", sequences[0], " sequences of ",
                               sequences[1], " positions as before it, got ",
                               formatShape(value.shape));
  }

  static bool isMask(const Input &input) {
    return input.sequences && input.defaultValue == Input::Default::Ones;
  }

  void parseEntry(const Cursor &cursor, Entry &entry) {
    entry.name = cursor["name"].string();
    expectNew(entryNames, cursor);
    auto parseValues = [&](const char *key, auto &list, auto parse) {
      valueNames.clear();
      taken.clear();
      parseList(cursor[key], list, parse);
    };
    sequences.clear();
    parseValues("inputs", entry.inputs, &Parser::parseInput);
    parseValues("outputs", entry.outputs, &Parser::parseOutput);
    if (!sequences.empty()) {
      entry.positions = sequences[1];
      if (std::none_of(entry.inputs.begin(), entry.inputs.end(), isMask))
        cursor["inputs"].fail("expected a mask for what pads sequences: one "
                              "of them with default 'ones'");
    }
    entry.arenaBytes = cursor["arena_bytes"].bytes();
    entry.commBytes = cursor["comm_bytes"].bytes();
    entry.scratchBytes = cursor["scratch_bytes"].bytes();
    entry.peakBytes = cursor["peak_bytes"].bytes();
  }

  void parseGeneration(const Cursor &cursor) {
    Generation g;
    auto size = [&](const char *key) {
      return cursor[key].integer(1, INT32_MAX);
    };
    parseCells(cursor, g);
    g.context = size("context");
    g.rows = size("rows");
    g.chunk = size("chunk");
    g.vocabulary = size("vocabulary");
    g.window = cursor["window"].integer(0, INT32_MAX);
    for (const Cursor &id : cursor["stop_ids"].list())
      g.stopIds.push_back(id.integer(0, INT32_MAX));
    if (cursor.has("conv_inputs"))
      g.convInputs = size("conv_inputs");
    if (cursor.has("config"))
      parseGenerationConfig(cursor["config"], g);
    cursor.end();
    manifest.generation = std::move(g);
  }

  static void parseGenerationConfig(const Cursor &cursor, Generation &g) {
    g.config.file = cursor["file"].string();
    g.config.text = cursor["defaults"].text();
    readSampling(cursor["defaults"], g.vocabulary, g.config.sampling,
                 g.config.limit);
    g.config.ignored = cursor["ignored"].strings();
    cursor.end();
  }

  /// The position of a state of that type and shape.
  int64_t parseStatePosition(const Cursor &cursor, tprt_type type,
                             const Shape &shape) {
    int64_t i = cursor.integer(0, int64_t(manifest.states.size()) - 1);
    const State &state = manifest.states[size_t(i)];
    if (state.type != type || state.shape != shape)
      cursor.fail("expected a state of type ", typeName(type), " and shape ",
                  formatShape(shape), ", got '", state.name, "', ",
                  typeName(state.type), " ", formatShape(state.shape));
    return i;
  }

  void parseTraining(const Cursor &cursor) {
    Training t;
    t.optimizer =
        Training::Optimizer(cursor["optimizer"].word({"adamw", "sgd"}));
    bool isAdam = t.optimizer == Training::Optimizer::AdamW;
    t.clip = cursor["clip"].number();
    if (!(t.clip >= 0 && t.clip <= FLT_MAX))
      cursor["clip"].fail("expected 0 or a positive f32 number, got ",
                          cursor["clip"].text());
    for (const Cursor &item : cursor["weights"].list()) {
      Training::Weight w;
      w.weight = item["weight"].integer(0, int64_t(manifest.states.size()) - 1);
      const State &state = manifest.states[size_t(w.weight)];
      if (state.parameter < 0)
        item["weight"].fail("state '", state.name,
                            "' begins with no tensor of a checkpoint");
      auto f32 = [&](const char *key) {
        return parseStatePosition(item[key], TPRT_F32, state.shape);
      };
      w.gradient = f32("gradient");
      if (item.has("master"))
        w.master = f32("master");
      if (isAdam)
        w.expAvg = f32("exp_avg"), w.expAvgSq = f32("exp_avg_sq");
      else if (item.has("momentum"))
        w.momentum = f32("momentum");
      w.decay = item["decay"].boolean();
      item.end();
      t.weights.push_back(w);
    }
    t.lossSum = parseStatePosition(cursor["loss_sum"], TPRT_F32, {});
    t.tokens = parseStatePosition(cursor["tokens"], TPRT_F32, {});
    cursor.end();
    manifest.training = std::move(t);
  }

  void parseTensorPart(const Cursor &cursor, TensorPart &p) {
    p.part = cursor["part"].string();
    p.whole = cursor["whole"].string();
    p.count = cursor["count"].integer(1, kMaxCount);
    p.first = cursor["first"].integer(0, kMaxCount);
    p.shape = cursor["shape"].shape();
    p.offsets = cursor["offsets"].shape(0);
    p.sizes = cursor["sizes"].shape();
    p.type = cursor["type"].floatType();
    if (p.offsets.size() != p.shape.size() || p.sizes.size() != p.shape.size())
      cursor.fail("expected ", p.shape.size(), " offsets and sizes, got ",
                  p.offsets.size(), " and ", p.sizes.size());
    for (size_t d = 0; d < p.shape.size(); ++d)
      if (p.offsets[d] + p.sizes[d] > p.shape[d])
        cursor.fail("dimension ", d, " reaches ", p.offsets[d] + p.sizes[d],
                    " of ", p.shape[d]);
    if (p.isStack() && p.shape.empty())
      cursor["shape"].fail("expected a dimension for '{e}' in '", p.part, "'");
    if (cursor.has("joined")) {
      p.joined = cursor["joined"].integer(1, int64_t(p.shape.size()));
      if (p.isStack())
        cursor["joined"].fail("expected a tensor without '{e}', got '", p.part,
                              "'");
    }
  }

  void parseParameter(const Cursor &cursor, Parameter &p) {
    p.names = cursor["names"].strings();
    if (p.names.empty())
      cursor["names"].fail("expected at least one name");
    p.count = cursor["count"].integer(1, kMaxCount);
    p.first = cursor["first"].integer(0, kMaxCount);
    p.base = cursor["base"].integer(0, kMaxCount);
    if (p.base != manifest.parameterSlots())
      cursor["base"].fail("expected the next slot, ", manifest.parameterSlots(),
                          ", got ", p.base);
    for (const std::string &name : p.names)
      if (p.count > 1 && name.find("{i}") == std::string::npos)
        cursor["names"].fail("'", name, "' names ", p.count,
                             " instances without '{i}'");

    p.sourceShape = cursor["source_shape"].shape();
    for (const std::string &name : p.names)
      if ((name.find("{e}") != std::string::npos) != p.isStack())
        cursor["names"].fail("expected '{e}' in all names or in none, got '",
                             p.names[0], "' and '", name, "'");
    if (p.isStack() && p.sourceShape.empty())
      cursor["source_shape"].fail("expected a dimension for '{e}' in '",
                                  p.names[0], "'");
    size_t rank = p.sourceShape.size();
    p.sliceOffsets.assign(rank, 0);
    p.sliceSteps.assign(rank, 1);
    p.sliceSizes = p.sourceShape;
    if (cursor.has("slice")) {
      Cursor slice = cursor["slice"];
      p.sliceOffsets = slice["offsets"].shape(0);
      p.sliceSizes = slice["sizes"].shape();
      if (slice.has("steps"))
        p.sliceSteps = slice["steps"].shape();
      slice.end();
      if (p.sliceOffsets.size() != rank || p.sliceSizes.size() != rank)
        slice.fail("expected ", rank, " offsets and sizes, got ",
                   p.sliceOffsets.size(), " and ", p.sliceSizes.size());
      if (p.sliceSteps.size() != rank)
        slice.fail("expected ", rank, " steps, got ", p.sliceSteps.size());
      for (size_t d = 0; d < rank; ++d) {
        int64_t step = p.sliceSteps[d], most = p.sourceShape[d];
        int64_t end =
            step <= most && p.sliceSizes[d] <= most
                ? p.sliceOffsets[d] + (p.sliceSizes[d] - 1) * step + 1
                : p.sliceOffsets[d] + p.sliceSizes[d] * (step > 1 ? most : 1);
        if (end > most)
          slice.fail("dimension ", d, " reaches ", end, " of ", most);
      }
    }
    p.permutation.resize(rank);
    std::iota(p.permutation.begin(), p.permutation.end(), 0);
    if (cursor.has("permutation"))
      p.permutation = cursor["permutation"].permutation(int64_t(rank), "items",
                                                        "dimension");
    p.shape = cursor["shape"].shape();
    Shape permuted;
    for (int64_t d : p.permutation)
      permuted.push_back(p.sliceSizes[d]);
    if (p.shape != permuted)
      cursor["shape"].fail("expected the permuted slice, ",
                           formatShape(permuted), ", got ",
                           formatShape(p.shape));
    p.localShape = cursor["local_shape"].shape();
    AxisList used;
    p.sharding = parseSharding(cursor, p.shape, p.localShape, used);
    if (cursor.has("partial"))
      p.partial = parseAxes(cursor["partial"], used);
    if (cursor.has("storage")) {
      p.storage = parseStorage(cursor["storage"], p.sourceShape.size());
      p.type = cursor["type"].type();
      bool isByte = p.type == TPRT_I8;
      if (p.storage->element ? !isByte : p.type == TPRT_I64)
        cursor["type"].fail("expected i8 for packed elements, and f32, bf16, "
                            "f16, i32 or i8 for others, got ",
                            typeName(p.type));
    } else {
      p.type = cursor["type"].floatType();
    }
    p.init =
        p.shape.size() < 2 ? Parameter::Init::Ones : Parameter::Init::Normal;
    if (cursor.has("init"))
      p.init =
          Parameter::Init(cursor["init"].word({"normal", "ones", "zeros"}));
    if (cursor.has("deviation"))
      p.deviation = cursor["deviation"].number();
    if (!(p.deviation > 0 && p.deviation < 1e6))
      cursor["deviation"].fail(
          "expected a number above 0 and below 1e+06, got ", p.deviation);
    if (cursor.has("zero_row"))
      p.zeroRow = cursor["zero_row"].integer(0, p.sourceShape[0] - 1);
    if (cursor.has("state"))
      parseInitialOf(cursor["state"], p);
  }

  /// A parameter that a state begins with.
  void parseInitialOf(const Cursor &cursor, Parameter &p) {
    p.state = cursor.integer(0, int64_t(manifest.states.size()) - 1);
    State &state = manifest.states[size_t(p.state)];
    if (state.parameter >= 0 || state.initial == Input::Default::Ones)
      cursor.fail("state '", state.name, "' has another initial value already");
    bool stacked = p.shape.size() + 1 == state.shape.size();
    Shape shape = p.shape, local = p.localShape;
    if (stacked) {
      shape.insert(shape.begin(), p.count);
      local.insert(local.begin(), p.count);
    }
    if (p.type != state.type || shape != state.shape ||
        local != state.localShape || (!stacked && p.count != 1))
      cursor.fail("expected the type and shapes of state '", state.name,
                  "', or of an element of its first dimension for each "
                  "instance");
    state.parameter = int64_t(manifest.parameters.size());
  }

  static CollectiveKind parseKind(const Cursor &cursor) {
    std::vector<std::string_view> names;
    std::vector<CollectiveKind> kinds;
    for (const CollectiveRow &row : collectiveRows)
      if (!row.isLocal()) {
        names.push_back(row.operation);
        kinds.push_back(row.kind);
      }
    return kinds[cursor.word(names)];
  }

  void parseCollective(const Cursor &cursor, Collective &c) {
    c.kind = parseKind(cursor["kind"]);
    c.type = cursor["type"].type();
    AxisList used;
    c.axes = parseAxes(cursor["axes"], used);
    c.inputShape = cursor["input_shape"].shape();
    c.outputShape = cursor["output_shape"].shape();
    c.count = cursor["count"].integer(0, kMaxSize);
    c.bytes = cursor["bytes"].integer(0, kMaxElements * 8);
    c.cause = cursor["cause"].string();
    c.annotation = cursor["annotation"].string();
    c.location = cursor["location"].string();
    c.pass = cursor["pass"].string();
    if (cursor.has("asynchronous"))
      c.asynchronous = cursor["asynchronous"].boolean();

    // The kind says which optional keys there are.
    const CollectiveRow &row = c.row();
    auto only = [&](const char *key, bool wanted) {
      if (cursor.has(key) && !wanted)
        cursor.fail("'", key, "' has no meaning for ", row.operation);
      return wanted;
    };
    if (only("reduction", row.reduces()))
      c.reduction = parseReduction(cursor["reduction"]);
    int64_t last = int64_t(c.inputShape.size()) - 1;
    if (only("peers", c.kind == CollectiveKind::AllReduce &&
                          c.reduction == Reduction::Sum))
      c.peers = cursor.has("peers") && cursor["peers"].boolean();
    if (c.peers && c.asynchronous)
      cursor.fail("'peers' and 'asynchronous' exclude each other");
    if (only("dim", row.gathers() || row.cuts()))
      c.dim = cursor["dim"].integer(0, last);
    if (only("split_dim", row.gathers() && row.cuts()))
      c.splitDim = cursor["split_dim"].integer(0, last);
    int64_t size = shardCount(c.axes);
    if (only("pairs", row.permutes()))
      parsePairs(cursor["pairs"], c, size);
    checkShapes(cursor, c, size);
  }

  void parsePairs(const Cursor &cursor, Collective &c, int64_t size) {
    std::set<int64_t> sources, destinations;
    for (const Cursor &item : cursor.list()) {
      std::vector<Cursor> pair = item.list(2, "[source, destination]");
      int64_t from = pair[0].integer(0, size - 1);
      int64_t to = pair[1].integer(0, size - 1);
      if (!sources.insert(from).second || !destinations.insert(to).second)
        item.fail("a source or destination occurs twice, in [", from, ", ", to,
                  "]");
      c.pairs.push_back({from, to});
    }
  }

  void checkShapes(const Cursor &cursor, const Collective &c, int64_t size) {
    const Shape &in = c.inputShape, &out = c.outputShape;
    if (in.size() != out.size())
      cursor["output_shape"].fail("expected ", in.size(), " dimensions, got ",
                                  out.size());
    if (c.row().gathers() && c.gatheredDim() == c.cutDim())
      cursor["split_dim"].fail("expected another dimension than 'dim'");
    for (size_t d = 0; d < in.size(); ++d) {
      bool gathered = c.gatheredDim() == int64_t(d);
      bool scattered = c.cutDim() == int64_t(d);
      // The last block may be padding only in part; a size needs as many
      // blocks as there are members.
      bool fits = gathered    ? out[d] <= size * in[d]
                  : scattered ? in[d] <= size * out[d]
                              : in[d] == out[d];
      if (!fits)
        cursor["output_shape"].fail("dimension ", d, ": ", in[d], " and ",
                                    out[d], " do not fit ", c.row().operation,
                                    " over ", size, " ranks");
    }
  }

  std::set<std::string> axisNames, stateNames, entryNames;
  /// Names of the inputs of an entry, or of its outputs.
  std::set<std::string> valueNames;
  Shape sequences;         ///< of the entry, and positions; empty: none so far
  std::set<int64_t> taken; ///< states
};

} // namespace

/// Another version's manifest may have keys that this one does not know.
static std::string describeMaker(const nlohmann::json &manifest) {
  std::string own = "tp-mlir " + version();
  auto producer =
      manifest.is_object() ? manifest.find("producer") : manifest.end();
  if (producer == manifest.end() || !producer->is_string())
    return "";
  auto maker = producer->get<std::string>();
  if (!maker.starts_with("tp-mlir ") || maker == own)
    return "";
  return "; made by another version, " + maker + ", and this is " + own +
         ": compile it again";
}

Expected<Manifest> Manifest::parse(std::string_view text) {
  TPRT_ASSIGN(auto parsed, parseJson(text, 32).in("manifest"));
  auto manifest = readJson(parsed, "manifest", [](const Cursor &top) {
    Parser parser;
    parser.parse(top);
    parser.manifest.schedule =
        checksum(top["mesh"].text() + top["collectives"].text());
    return std::move(parser.manifest);
  });
  if (!manifest)
    return userError(manifest.status().message(), describeMaker(parsed));
  return manifest;
}

Status tprt::checkManifest(std::string_view text) {
  return Manifest::parse(text).status();
}
