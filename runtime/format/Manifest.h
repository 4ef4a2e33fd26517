//===- Manifest.h - the artifact's tables -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parsed manifest. Whoever holds one may rely on all that
// docs/RuntimeABI.md promises of it: sizes are positive and do not overflow,
// indices are in range, shapes agree with shardings. The key names are the
// JSON's.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_MANIFEST_H
#define TPRT_FORMAT_MANIFEST_H

#include "Sampling.h"
#include "tprt/abi.h"
#include "tprt/collectives.h"
#include "tprt/status.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tprt {

using Shape = std::vector<int64_t>;

const char *typeName(tprt_type type);
int64_t typeBytes(tprt_type type);
bool isFloat(tprt_type type);
std::optional<tprt_type> parseType(std::string_view name);
int64_t elementCount(const Shape &shape);
/// `[2, 3]`, for messages.
std::string formatShape(const Shape &shape);

/// A reference to a mesh axis or to a factor of it: of the axis' size T, the
/// digit c / (T / (pre * size)) % size of coordinate c.
struct AxisRef {
  int64_t axis = 0; ///< index into Mesh::axes
  int64_t pre = 1;
  int64_t size = 1;
  auto operator<=>(const AxisRef &) const = default;
};
using AxisList = std::vector<AxisRef>;

struct Mesh {
  struct Axis {
    std::string name;
    int64_t size;
  };
  std::vector<Axis> axes;         ///< outermost first
  std::vector<int64_t> positions; ///< rank -> position in the mesh

  int64_t size() const;
  /// The rank's coordinate on each axis.
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// The coordinate on an axis or sub-axis, given those on the axes.
  int64_t digit(const AxisRef &ref, const std::vector<int64_t> &at) const;
  /// Mixed-radix number of the coordinates on the listed axes, major first.
  int64_t index(const AxisList &list, const std::vector<int64_t> &at) const;
  /// The ranks that differ from `rank` only on the listed axes, in order of
  /// `index`.
  std::vector<int64_t> group(const AxisList &list, int64_t rank) const;
};

/// How many shards a dimension over these axes has.
int64_t shardCount(const AxisList &list);

/// How one dimension is cut.
struct DimCut {
  AxisList axes;
  /// Elements of a block that is cut on its own, and the number of shards that
  /// the blocks are cut into by the first axes; 0: no blocks.
  int64_t block = 0, outer = 1;
  auto operator<=>(const DimCut &) const = default;
};

using Sharding = std::vector<DimCut>; ///< one per dimension

/// Elements of a dimension: `length` from `start` on, which are in a rank's
/// part from `local` on.
struct DimRun {
  int64_t start, length, local;
};
/// Returns the runs that the rank at these coordinates has of a dimension of
/// `size` elements, of which a part has `local`: one, or one for each of its
/// blocks; none where it has only padding.
std::vector<DimRun> runsOf(int64_t size, int64_t local, const DimCut &cut,
                           const Mesh &mesh,
                           const std::vector<int64_t> &coordinates);
/// Calls `body(runs)` with one run of each dimension, for all of them.
void forEachBlock(const std::vector<std::vector<DimRun>> &dims,
                  const std::function<void(const std::vector<DimRun> &)> &body);

enum class Reduction { Sum, Max, Min };

/// A value of a program, and what a rank has of it.
struct Value {
  std::string name;
  tprt_type type;
  Shape shape, localShape;
  Sharding sharding;
  AxisList partial = {}; ///< over which it is reduced to be complete
  Reduction reduction = Reduction::Sum;

  int64_t localBytes() const {
    return elementCount(localShape) * typeBytes(type);
  }
};

struct Input : Value {
  enum class Default { None, Ones, Zeros };
  Default defaultValue = Default::None;
  std::optional<std::pair<int64_t, int64_t>> range; ///< [first, second)
  bool rightPadded = false;
  bool sequences = false; ///< [B, S, ...]: a caller may give fewer positions
  int64_t state = -1;     ///< its position in Manifest::states; -1: the user's
  /// Its name for callers who give it one position later: see shiftTargets.
  std::string unshifted;
};

struct Output : Value {
  bool sequences = false; ///< as in Input: a caller gets as many as given
  int64_t state = -1;     ///< as in Input: the successor of that state
};

/// A tensor that lives between steps, in one place for all entries.
struct State : Value {
  Input::Default initial = Input::Default::Zeros;
  /// The position in Manifest::parameters of what it begins with instead;
  /// -1: none. One instance, or one for each element of the first dimension.
  int64_t parameter = -1;
};

struct Entry {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  int64_t arenaBytes, commBytes, scratchBytes, peakBytes;
  int64_t positions = 0; ///< of its sequences; 0: it has none
};

/// In support/QuantizedWeight.h.
enum class QuantizedType : int;
enum class ScaleType : int;

/// How checkpoints store a quantised parameter, whose `sourceShape` is that of
/// the unpacked tensor.
struct Storage {
  std::string type; ///< of the file's tensor, as safetensors names it
  /// The elements that lie in memory, in rows of whole bytes; none: those of
  /// the parameter's type.
  std::optional<QuantizedType> element;
  bool isNibble = false; ///< two elements to a byte
  int64_t bits = 0;      ///< of an element in a word along `dim`; 0: not packed
  int64_t dim = 0;
  std::vector<int64_t> order; ///< of a word's elements; empty: as they come
  int64_t offset = 0;         ///< what a number in the file has too much
  /// The groups of a block of scales or minima (see QuantizedWeight); 0: there
  /// are no blocks.
  int64_t packed = 0;
  int64_t end = 0; ///< integers are less, and at least 0; 0: they may be any
  /// Per dimension, for how many elements one of the file stands; empty: one.
  std::vector<int64_t> repeat;

  bool operator==(const Storage &) const = default;
  bool isFloat() const {
    return type == "F32" || type == "F16" || type == "BF16";
  }
  int64_t elementsPerWord() const;
  Shape fileShape(const Shape &unpacked) const;
};

struct Parameter {
  enum class Init { Normal, Ones, Zeros };
  std::vector<std::string> names;
  int64_t count, first, base;
  Shape sourceShape, sliceOffsets, sliceSizes;
  Shape sliceSteps; ///< how far neighbours of the slice are apart
  std::vector<int64_t> permutation;
  Shape shape, localShape;
  Sharding sharding;
  AxisList partial;
  tprt_type type;
  int64_t state = -1; ///< whose initial value it is; -1: steps read it
  Init init;
  double deviation = 0.02; ///< of Normal
  int64_t zeroRow = -1;    ///< of the checkpoint's tensor, if made up; -1: none
  std::optional<Storage> storage; ///< of a quantised one

  /// names[alternative] of instance i.
  std::string nameOf(size_t alternative, int64_t i) const;
  /// True if the checkpoint has a tensor for each position of the source's
  /// first dimension: `{e}` in the names stands for it.
  bool isStack() const { return names[0].find("{e}") != std::string::npos; }
  /// The names of these, or nameOf.
  std::vector<std::string> tensorsOf(size_t alternative, int64_t i) const;
  /// The shape of each.
  Shape tensorShape() const {
    Shape shape = storage ? storage->fileShape(sourceShape) : sourceShape;
    return {shape.begin() + isStack(), shape.end()};
  }
  /// Returns the bytes that `count` rows of the first dimension take in memory;
  /// -1 stands for all rows.
  int64_t localBytes(int64_t count = -1) const;
};

/// Returns the runs that the rank at these coordinates has of each dimension of
/// a parameter, or of `rows` of its rows from `first` on; -1: of all of them.
std::vector<std::vector<DimRun>>
blocksOf(const Parameter &p, const Mesh &mesh,
         const std::vector<int64_t> &coordinates, int64_t first, int64_t rows);

/// Tensors that checkpoints may have beside others, of which they are boxes:
/// the parts of a fused tensor. Both must hold the same values.
struct TensorPart {
  std::string part, whole; ///< names, as those of parameters
  int64_t count, first;
  Shape shape;          ///< of the whole
  Shape offsets, sizes; ///< of the box; the sizes are the part's shape
  int64_t joined = 1;   ///< leading dimensions that are one in the files
  tprt_type type;       ///< that they are read as

  bool isStack() const { return part.find("{e}") != std::string::npos; }
};

/// The weight of a product that is quantised.
struct QuantizedGemm {
  QuantizedType type;
  ScaleType scaleType;
  int64_t groupN, groupK; ///< outputs, and inputs, that share a scale; 0: all
  int64_t groups;         ///< of inputs
  bool hasFloatZeros = false; ///< Zero points, if there are any, are of f32.
  int64_t packed = 0; ///< Groups whose scales are a block of bytes; 0: none.
  bool hasIntegers = false; ///< Inputs are integers from -127 to 127.
};

/// The places of the program that a kernel or a call of a library computes, for
/// people: layers' names, or lines of a file.
using Locations = std::vector<std::string>;

struct Gemm {
  enum class Activation { None, Relu, Silu, GeluErf, GeluTanh };
  int64_t m, n, k;
  tprt_type xType, wType, yType;
  bool bias;
  tprt_type biasType;
  Activation activation;
  float scale = 1; ///< of the product, before bias and activation
  bool residual;
  bool wTransposed;                       ///< w laid out [k, n]
  bool xTransposed;                       ///< x laid out [k, m]
  std::optional<QuantizedGemm> quantized; ///< of quantized_gemm
  Locations locations;
};

/// How a kernel of device code is started.
struct KernelLaunch {
  std::array<int64_t, 3> grid{}, block{}; ///< x, y, z
  int64_t sharedBytes = 0;                ///< dynamic shared memory
};

/// A kernel. Only that of device code is launched.
struct Kernel {
  std::string name; ///< for the timeline; device code: its symbol comes first
  std::string code; ///< device code: the symbol that is launched
  KernelLaunch launch;
  int64_t arguments = 0; ///< eight-byte parameters
  /// The kernels that devices of some architectures start in its place.
  std::map<std::string, KernelLaunch> images;
  Locations locations;
};

struct Attention {
  enum class Mask { None, KeyPadding };
  int64_t batch, qLen, kvCapacity, qHeads, kvHeads;
  int64_t headSize, valueSize; ///< of queries and keys; of values and results
  tprt_type type;
  bool causal;
  int64_t window;        ///< 0: none
  double scale, softCap; ///< softCap 0: none
  Mask mask;
  tprt_type maskType;
  int64_t biasHeads = 0; ///< 0: none
  tprt_type biasType;
  std::optional<tprt_type> sinksType; ///< there are sinks
  Locations locations;
};

/// Attention of `tokens` tokens, at most, to the cells of their rows' pages.
struct PagedAttention {
  int64_t tokens, qHeads, kvHeads, headSize, valueSize;
  tprt_type type, cacheType;
  int64_t page, cells, rows, pages; ///< cells of a page, in all; of a table
  int64_t window;
  double scale, softCap;
  std::optional<tprt_type> biasType, sinksType;
  /// A quantised cache has elements (its cacheType is i8), and a scale for each
  /// head of each cell, for each head, or for all.
  std::optional<QuantizedType> element;
  enum class Scales { Cells, Heads, One } scales = Scales::One;
  Locations locations;
};

/// Gated feed-forwards [n, f] act([f, k]) [f, k] for `rows` rows at most.
struct Experts {
  int64_t rows, experts, k, f, n;
  tprt_type type;
  Gemm::Activation activation;
  /// The slope of silu, the bound of gate (above) and of up (on both sides; 0:
  /// none), and what is added to up.
  float alpha = 1, limit = 0, upOffset = 0;
  /// The routing weight multiplies gate and up instead of the result.
  bool scalesInput = false;
  /// quantized_experts has these: gate's and up's, and down's.
  std::optional<QuantizedGemm> quantized, quantizedDown;
  Locations locations;
};

/// An entry of the ledger: a row of the table that moves something.
struct Collective {
  CollectiveKind kind;
  Reduction reduction = Reduction::Sum;
  tprt_type type;
  AxisList axes;
  Shape inputShape, outputShape;
  int64_t dim = 0, splitDim = 0;
  std::vector<std::pair<int64_t, int64_t>> pairs; ///< source, destination
  int64_t count, bytes;
  std::string cause, annotation, location, pass;
  bool asynchronous = false; ///< it is started, and awaited later
  bool peers = false; ///< kernels read the addends (abi.h, peers): no call

  const CollectiveRow &row() const { return rowOf(kind); }
  /// The dimension that is put together, or cut; -1: none.
  int64_t gatheredDim() const { return row().gatheredDim(dim); }
  int64_t cutDim() const { return row().cutDim(dim, splitDim); }
};

/// The device that executes kernels, GEMMs and attention.
enum class Device { Cpu, Cuda };

/// The common sizes of the entries step_T, which generate text.
struct Generation {
  int64_t page;       ///< tokens of a page of the cache
  int64_t context;    ///< tokens of a sequence, at most
  int64_t rows;       ///< sequences of a step, at most
  int64_t cells;      ///< tokens of the cache, whole pages
  int64_t chunk;      ///< tokens of a step, at most
  int64_t vocabulary; ///< logits of a token
  int64_t window; ///< tokens that the last one sees, itself included; 0: all
  std::vector<int64_t> stopIds;
  GenerationConfig config = {}; ///< of requests that do not say otherwise
  /// Inputs of convolutions that the cache keeps, the last ones of each page;
  /// 0: there are no convolutions. They cannot go back by a token.
  int64_t convInputs = 0;

  int64_t pages() const { return cells / page; }
  /// The longest sequence: one request may have the whole cache.
  int64_t longest() const { return context < cells ? context : cells; }
  /// The most pages that a sequence has.
  int64_t tablePages() const { return (context + page - 1) / page; }
};

/// The roles that the entries `gradient` and `update` give to states, which are
/// given by their positions; -1: there is none.
struct Training {
  enum class Optimizer { AdamW, Sgd };
  struct Weight {
    int64_t weight, gradient, master = -1; ///< f32, of 16-bit weights
    int64_t expAvg = -1, expAvgSq = -1, momentum = -1;
    bool decay;
  };
  Optimizer optimizer;
  double clip; ///< the gradient's norm, at most; 0: any
  std::vector<Weight> weights;
  int64_t lossSum, tokens;

  const char *name() const {
    return optimizer == Optimizer::AdamW ? "adamw" : "sgd";
  }
};

struct Manifest {
  Device device = Device::Cpu;
  std::vector<std::string> architectures; ///< with machine code: sm_90, ...
  /// Architectures with kernels of their own for some kernels: sm_90a, ...
  std::vector<std::string> images;
  std::string producer, modelName, architecture, triple;
  std::vector<std::string> features;
  Mesh mesh;
  std::vector<State> states;
  std::vector<Entry> entries;
  std::vector<Parameter> parameters;
  /// Patterns of tensors that checkpoints may have unused, and of those that
  /// they are read without.
  std::vector<std::string> ignored, excluded;
  /// The format, one of tp-quantize's, that weights are quantised to while they
  /// are read; empty: they are read as they are.
  std::string quantize;
  std::vector<TensorPart> tensorParts;
  /// Keys of config.json, with the values that a checkpoint of this program
  /// must have.
  std::map<std::string, bool> changedConfig;
  std::vector<Gemm> gemms;
  std::vector<Attention> attentions;
  std::vector<PagedAttention> pagedAttentions;
  std::vector<Experts> experts;
  std::vector<Collective> collectives;
  std::vector<Kernel> kernels;
  std::optional<Generation> generation;
  std::optional<Training> training;

  /// A checksum of what must be equal for ranks to call the same collectives.
  uint64_t schedule = 0;

  /// Slots in the flat parameter table.
  int64_t parameterSlots() const;
  /// Bytes that a rank needs to generate: the peak of the largest step.
  int64_t generationBytes() const;
  /// The largest cache that needs so many bytes less on a rank, as options of
  /// tp-compile, for messages.
  std::string smallerCache(int64_t bytes) const;

  static Expected<Manifest> parse(std::string_view json);
};

} // namespace tprt

#endif // TPRT_FORMAT_MANIFEST_H
