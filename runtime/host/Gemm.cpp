//===- Gemm.cpp - matrix products by oneDNN -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product runs in three steps: bring x to a dense matrix of the type computed
// in (nothing to do in the usual case), multiply, and bring the result to y's
// type and stride (again usually nothing, as bias, activation and residual are
// fused). Inner product serves parameters; matmul serves weights that are
// computed, whose layout is not ours to choose.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include "../support/Parallel.h"
#include "../support/Simd.h"

#include <dnnl.hpp>

#include <unistd.h>

#include <cstring>
#include <map>

using namespace tprt;
using dnnl::memory;

namespace {

/// Products of so few rows wait for the weights to come from memory.
constexpr int64_t kFewRows = 16;

/// Rows of 16-bit weights that a worker widens at once: few enough to stay in
/// its cache between widening and use, and to leave some for every worker.
int64_t widenedRows(int64_t n, int64_t k) {
  int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 512 << 10);
  int64_t rows = std::min(cache / 2 / (4 * k), alignUp(n / workers(), 16));
  return std::max<int64_t>(16, rows / 16 * 16);
}

memory::data_type dnnlType(tprt_type type) {
  return type == TPRT_BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

const char *at(const void *base, int64_t elements, tprt_type type) {
  return static_cast<const char *>(base) + elements * typeBytes(type);
}
char *at(void *base, int64_t elements, tprt_type type) {
  return static_cast<char *>(base) + elements * typeBytes(type);
}

/// Whether weights of bf16 are multiplied as they are, by at most `rows` rows:
/// always with AMX. The dot products of AVX-512 read half of what f32 does,
/// which decides for few rows, but need twice the time for many. What oneDNN
/// has here follows the processor, and the limit that ONEDNN_MAX_CPU_ISA sets.
bool multipliesBf16(int64_t rows) {
  auto has = [](dnnl::cpu_isa isa) {
    auto needed = unsigned(isa);
    return (unsigned(dnnl::get_effective_cpu_isa()) & needed) == needed;
  };
  return has(dnnl::cpu_isa::avx512_core_amx) ||
         (rows <= kFewRows && has(dnnl::cpu_isa::avx512_core_bf16));
}

/// Elements that are worth a thread.
constexpr int64_t kGrain = 4096;

/// Buffer that only grows.
struct Scratch {
  Buffer buffer;
  Expected<void *> get(int64_t bytes) {
    TPRT_TRY(buffer.reserve(bytes));
    return static_cast<void *>(buffer.data());
  }
};

/// `count` values in f32.
Expected<const void *> widen(Scratch &scratch, tprt_type type,
                             const void *values, int64_t count) {
  TPRT_ASSIGN(auto wide, scratch.get(count * 4));
  parallelFor(count, kGrain, [&](int64_t begin, int64_t end, int64_t) {
    simd().widen(type, at(values, begin, type),
                 static_cast<float *>(wide) + begin, end - begin);
  });
  return static_cast<const void *>(wide);
}

/// Rows of x that go through a block of widened weights at once: their part of
/// x stays in the shared cache while the blocks pass by.
constexpr int64_t kRowsAtOnce = 1024;

/// While it lives, oneDNN leaves what this thread does to it alone.
class OneWorker {
public:
  OneWorker() : before(workers()) { setWorkers(1); }
  ~OneWorker() { setWorkers(before); }

private:
  int before;
};

/// A primitive with the memory objects it is run on.
struct Product {
  dnnl::primitive primitive;
  memory src, weights, bias, dst, scratchpad;
};

/// Packed weights: blocks of rows, each in the layout of its own product.
struct Packed {
  Buffer data;
  std::vector<int64_t> offsets; ///< bytes, per block
};

struct Key {
  int64_t rows, n;
  tprt_type dst;
  bool sum;
  int64_t xStride; ///< only for buffer weights
  auto operator<=>(const Key &) const = default;
};

/// How the weights of products of the same sizes and types are packed: whatever
/// else the products do, they read the same.
struct Layouts {
  Gemm gemm; ///< the first of them, with the most rows of any
  std::map<int64_t, memory::desc> perBlock; ///< by the block's rows
};

struct Planned {
  Gemm gemm;
  tprt_type compute; ///< type of x and weights in the product
  bool widened;      ///< weights are kept in 16 bits and widened
  int64_t block;     ///< rows of the weights per product
  std::shared_ptr<Layouts> layouts;
};

bool arePackedAlike(const Gemm &a, const Gemm &b) {
  return a.n == b.n && a.k == b.k && a.xType == b.xType && a.wType == b.wType &&
         a.weightIsParameter == b.weightIsParameter;
}

/// What a thread multiplies with.
struct WorkerContext {
  explicit WorkerContext(const dnnl::engine &engine) : stream(engine) {}
  dnnl::stream stream;
  Scratch weights, result, pad;
  std::map<std::pair<const Planned *, Key>, Product> products;
};

} // namespace

struct GemmEngine::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  /// The first, of the rank's thread, has all workers; or each has its own.
  std::vector<std::unique_ptr<WorkerContext>> contexts;
  std::vector<Planned> states;
  std::vector<std::unique_ptr<Packed>> weights;
  Scratch xScratch, biasScratch;
  int64_t weightBytes = 0;

  dnnl::primitive_attr attributes(const Gemm &gemm, bool sum);
  Product finish(const dnnl::primitive &primitive, const memory::desc &src,
                 const memory::desc &weights, const memory::desc &dst,
                 int64_t n, const memory::desc &scratchpad);
  Product innerProduct(const Gemm &gemm, tprt_type compute, const Key &key,
                       memory::desc &weights);
  Product matmul(Planned &state, const Key &key);
  WorkerContext &context(int64_t worker);
  Product &product(WorkerContext &context, Planned &state, const Key &key);
  const memory::desc &layout(Planned &state, int64_t n);
  Expected<const void *> pack(int64_t id, const void *weights);
  Status execute(WorkerContext &context, Planned &state, const Key &key,
                 const void *x, const void *w, const float *bias, void *y);
  Expected<const void *> operand(const Planned &state, int64_t rows,
                                 const void *x, int64_t &stride);
  Status run(Planned &state, int64_t rows, const void *x, int64_t xStride,
             const void *w, const void *bias, const void *residual, void *y,
             int64_t yStride);
  Status runWidened(Planned &state, int64_t rows, const void *x,
                    const Packed &weights, const float *bias,
                    const void *residual, void *y, int64_t yStride);
  Status runBlock(WorkerContext &context, Planned &state, int64_t rows,
                  int64_t block, const void *x, const Packed &weights,
                  const float *bias, const void *residual, void *y,
                  int64_t yStride);
};

GemmEngine::GemmEngine(const std::vector<Gemm> &gemms)
    : impl(std::make_unique<Impl>()) {
  for (const Gemm &gemm : gemms) {
    Planned state{};
    state.gemm = gemm;
    for (const Planned &other : impl->states)
      if (arePackedAlike(other.gemm, gemm))
        state.layouts = other.layouts;
    if (!state.layouts)
      state.layouts = std::make_shared<Layouts>(Layouts{gemm, {}});
    int64_t &rows = state.layouts->gemm.m;
    rows = std::max(rows, gemm.m);
    impl->states.push_back(std::move(state));
  }
  // All that share a packing compute alike.
  for (Planned &state : impl->states) {
    const Gemm &gemm = state.gemm;
    bool isNative = gemm.wType == TPRT_F32 ||
                    (gemm.wType == TPRT_BF16 && gemm.xType == TPRT_BF16 &&
                     multipliesBf16(state.layouts->gemm.m));
    state.compute = isNative ? gemm.wType : TPRT_F32;
    state.widened = !isNative;
    state.block = state.widened && gemm.weightIsParameter
                      ? std::min(gemm.n, widenedRows(gemm.n, gemm.k))
                      : gemm.n;
  }
}

GemmEngine::~GemmEngine() = default;

int64_t GemmEngine::weightBytes() const { return impl->weightBytes; }

int64_t GemmEngine::scratchBytes() const {
  int64_t bytes =
      impl->xScratch.buffer.size() + impl->biasScratch.buffer.size();
  for (const auto &context : impl->contexts)
    bytes += context->weights.buffer.size() + context->result.buffer.size() +
             context->pad.buffer.size();
  return bytes;
}

dnnl::primitive_attr GemmEngine::Impl::attributes(const Gemm &gemm, bool sum) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  using Activation = Gemm::Activation;
  switch (gemm.activation) {
  case Activation::None:
    break;
  case Activation::Relu:
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0, 0);
    break;
  case Activation::Silu:
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_swish, 1.0f, 0);
    break;
  case Activation::GeluErf:
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    break;
  case Activation::GeluTanh:
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_tanh, 0, 0);
    break;
  }
  if (sum)
    ops.append_sum(1.0f);
  attr.set_post_ops(ops);
  return attr;
}

Product GemmEngine::Impl::finish(const dnnl::primitive &primitive,
                                 const memory::desc &src,
                                 const memory::desc &weights,
                                 const memory::desc &dst, int64_t n,
                                 const memory::desc &scratchpad) {
  memory::desc bias({n}, memory::data_type::f32, memory::format_tag::a);
  auto empty = [&](const memory::desc &desc) {
    return memory(desc, engine, nullptr);
  };
  return {primitive,   empty(src), empty(weights),
          empty(bias), empty(dst), empty(scratchpad)};
}

/// `weights` holds the layout to use, or `any`, and receives the one chosen.
Product GemmEngine::Impl::innerProduct(const Gemm &gemm, tprt_type compute,
                                       const Key &key, memory::desc &weights) {
  using Tag = memory::format_tag;
  memory::desc src({key.rows, gemm.k}, dnnlType(compute), Tag::ab);
  memory::desc dst({key.rows, key.n}, dnnlType(key.dst), Tag::ab);
  memory::desc bias({key.n}, memory::data_type::f32, Tag::a);
  auto kind = dnnl::prop_kind::forward_inference;
  dnnl::inner_product_forward::desc desc =
      gemm.bias
          ? dnnl::inner_product_forward::desc(kind, src, weights, bias, dst)
          : dnnl::inner_product_forward::desc(kind, src, weights, dst);
  dnnl::inner_product_forward::primitive_desc made(
      desc, attributes(gemm, key.sum), engine);
  weights = made.weights_desc();
  return finish(dnnl::inner_product_forward(made), made.src_desc(), weights,
                made.dst_desc(), key.n, made.scratchpad_desc());
}

Product GemmEngine::Impl::matmul(Planned &state, const Key &key) {
  const Gemm &gemm = state.gemm;
  auto type = dnnlType(state.compute);
  memory::dims srcStrides = {gemm.xTransposed ? 1 : key.xStride,
                             gemm.xTransposed ? key.xStride : 1};
  memory::dims wStrides = {gemm.wTransposed ? gemm.n : 1,
                           gemm.wTransposed ? 1 : gemm.k};
  memory::desc src({key.rows, gemm.k}, type, srcStrides);
  memory::desc weights({gemm.k, gemm.n}, type, wStrides);
  memory::desc dst({key.rows, gemm.n}, dnnlType(key.dst),
                   memory::format_tag::ab);
  memory::desc bias({1, gemm.n}, memory::data_type::f32,
                    memory::format_tag::ab);
  dnnl::matmul::desc desc = gemm.bias
                                ? dnnl::matmul::desc(src, weights, bias, dst)
                                : dnnl::matmul::desc(src, weights, dst);
  dnnl::matmul::primitive_desc made(desc, attributes(gemm, key.sum), engine);
  Product product = finish(dnnl::matmul(made), src, weights, dst, gemm.n,
                           made.scratchpad_desc());
  product.bias = memory(bias, engine, nullptr);
  return product;
}

const memory::desc &GemmEngine::Impl::layout(Planned &state, int64_t n) {
  auto &known = state.layouts->perBlock;
  auto found = known.find(n);
  if (found != known.end())
    return found->second;
  const Gemm &gemm = state.layouts->gemm;
  memory::desc any({n, gemm.k}, dnnlType(state.compute),
                   memory::format_tag::any);
  // The largest row count decides. Its destination is y itself where y's type
  // can be written, f32 scratch otherwise.
  tprt_type dst = state.compute == TPRT_BF16 && gemm.yType == TPRT_BF16
                      ? TPRT_BF16
                      : TPRT_F32;
  std::optional<OneWorker> alone;
  if (state.widened)
    alone.emplace();
  innerProduct(gemm, state.compute, {gemm.m, n, dst, false, 0}, any);
  return known.emplace(n, any).first->second;
}

WorkerContext &GemmEngine::Impl::context(int64_t worker) {
  while (int64_t(contexts.size()) <= worker)
    contexts.push_back(std::make_unique<WorkerContext>(engine));
  return *contexts[worker];
}

Product &GemmEngine::Impl::product(WorkerContext &context, Planned &state,
                                   const Key &key) {
  auto found = context.products.find({&state, key});
  if (found != context.products.end())
    return found->second;
  memory::desc weights;
  if (state.gemm.weightIsParameter)
    weights = layout(state, key.n);
  return context.products
      .emplace(std::pair(&state, key),
               state.gemm.weightIsParameter
                   ? innerProduct(state.gemm, state.compute, key, weights)
                   : matmul(state, key))
      .first->second;
}

Expected<const void *> GemmEngine::Impl::pack(int64_t id, const void *weights) {
  Planned &state = states[id];
  const Gemm &gemm = state.gemm;
  auto packed = std::make_unique<Packed>();

  // How large the blocks become is known from their layouts.
  int64_t total = 0;
  int64_t stored = state.widened ? 2 : typeBytes(state.compute);
  for (int64_t row = 0; row < gemm.n; row += state.block) {
    const memory::desc &desc =
        layout(state, std::min(state.block, gemm.n - row));
    packed->offsets.push_back(total);
    total +=
        alignUp(int64_t(desc.get_size()) / typeBytes(state.compute) * stored,
                TPRT_ALIGNMENT);
  }
  auto data = Buffer::allocate(total);
  if (!data)
    return data.status();
  packed->data = std::move(*data);

  for (int64_t row = 0, i = 0; row < gemm.n; row += state.block, ++i) {
    int64_t n = std::min(state.block, gemm.n - row);
    const memory::desc &desc = layout(state, n);
    memory::desc plain({n, gemm.k}, dnnlType(state.compute),
                       memory::format_tag::ab);
    auto reorder = [&](const void *source, void *target) {
      memory from(plain, engine, const_cast<void *>(source));
      memory to(desc, engine, target);
      dnnl::stream &stream = context(0).stream;
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
    };
    const void *source = at(weights, row * gemm.k, gemm.wType);
    void *target = packed->data.data() + packed->offsets[i];
    if (!state.widened) {
      reorder(source, target);
      continue;
    }
    auto wide = widen(xScratch, gemm.wType, source, n * gemm.k);
    auto ordered = context(0).weights.get(desc.get_size());
    if (!wide || !ordered)
      return wide ? ordered.status() : wide.status();
    reorder(*wide, *ordered);
    parallelFor(
        desc.get_size() / 4, kGrain, [&](int64_t begin, int64_t end, int64_t) {
          simd().narrow(gemm.wType, static_cast<float *>(*ordered) + begin,
                        at(target, begin, gemm.wType), end - begin);
        });
  }
  weightBytes += packed->data.size();
  this->weights.push_back(std::move(packed));
  return static_cast<const void *>(this->weights.back().get());
}

Status GemmEngine::Impl::execute(WorkerContext &context, Planned &state,
                                 const Key &key, const void *x, const void *w,
                                 const float *bias, void *y) {
  Product &product = this->product(context, state, key);
  product.src.set_data_handle(const_cast<void *>(x));
  product.weights.set_data_handle(const_cast<void *>(w));
  product.dst.set_data_handle(y);
  TPRT_ASSIGN(auto pad,
              context.pad.get(product.scratchpad.get_desc().get_size()));
  product.scratchpad.set_data_handle(pad);
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, product.src},
      {DNNL_ARG_WEIGHTS, product.weights},
      {DNNL_ARG_DST, product.dst},
      {DNNL_ARG_SCRATCHPAD, product.scratchpad}};
  if (bias) {
    product.bias.set_data_handle(const_cast<float *>(bias));
    arguments.insert({DNNL_ARG_BIAS, product.bias});
  }
  product.primitive.execute(context.stream, arguments);
  context.stream.wait();
  return {};
}

/// x as the product reads it: dense, or for matmul of any stride, in the type
/// computed in. `stride` becomes that of the result.
Expected<const void *> GemmEngine::Impl::operand(const Planned &state,
                                                 int64_t rows, const void *x,
                                                 int64_t &stride) {
  const Gemm &gemm = state.gemm;
  bool strided = !gemm.xTransposed && stride != gemm.k;
  if (gemm.xType == state.compute && !(strided && gemm.weightIsParameter))
    return x;
  int64_t lines = gemm.xTransposed ? gemm.k : rows;
  int64_t length = gemm.xTransposed ? rows : gemm.k;
  TPRT_ASSIGN(auto dense,
              xScratch.get(lines * length * typeBytes(state.compute)));
  parallelFor(lines, 16, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t r = begin; r < end; ++r) {
      const void *from = at(x, r * stride, gemm.xType);
      void *to = at(dense, r * length, state.compute);
      if (gemm.xType == state.compute)
        std::memcpy(to, from, length * typeBytes(state.compute));
      else
        simd().widen(gemm.xType, from, static_cast<float *>(to), length);
    }
  });
  stride = length;
  return static_cast<const void *>(dense);
}

/// Brings a block of `n` columns of results in f32 to y, from `column` on, with
/// the residual.
static void storeBlock(const Gemm &gemm, int64_t rows, int64_t column,
                       int64_t n, float *block, const void *residual, void *y,
                       int64_t yStride) {
  parallelFor(rows, 16, [&](int64_t begin, int64_t end, int64_t) {
    constexpr int64_t kPiece = 256;
    float addend[kPiece];
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < n; c += kPiece) {
        int64_t count = std::min(kPiece, n - c);
        float *from = block + r * n + c;
        int64_t to = r * yStride + column + c;
        if (residual) {
          simd().widen(gemm.yType, at(residual, to, gemm.yType), addend, count);
          for (int64_t j = 0; j < count; ++j)
            from[j] += addend[j];
        }
        simd().narrow(gemm.yType, from, at(y, to, gemm.yType), count);
      }
  });
}

/// One block of widened weights, by one worker.
Status GemmEngine::Impl::runBlock(WorkerContext &context, Planned &state,
                                  int64_t rows, int64_t block, const void *x,
                                  const Packed &weights, const float *bias,
                                  const void *residual, void *y,
                                  int64_t yStride) {
  const Gemm &gemm = state.gemm;
  OneWorker alone;
  int64_t column = block * state.block;
  int64_t n = std::min(state.block, gemm.n - column);
  TPRT_ASSIGN(auto wide,
              widen(context.weights, gemm.wType,
                    weights.data.data() + weights.offsets[size_t(block)],
                    int64_t(layout(state, n).get_size() / 4)));
  TPRT_ASSIGN(auto result, context.result.get(rows * n * 4));
  TPRT_TRY(execute(context, state, {rows, n, TPRT_F32, false, 0}, x, wide,
                   bias ? bias + column : nullptr, result));
  storeBlock(gemm, rows, column, n, static_cast<float *>(result), residual, y,
             yStride);
  return {};
}

/// Each worker widens blocks of the weights, and multiplies what it has.
Status GemmEngine::Impl::runWidened(Planned &state, int64_t rows, const void *x,
                                    const Packed &weights, const float *bias,
                                    const void *residual, void *y,
                                    int64_t yStride) {
  const Gemm &gemm = state.gemm;
  auto count = size_t(workers());
  std::vector<Status> statuses(count);
  context(int64_t(count) - 1);
  int64_t blocks = int64_t(weights.offsets.size());
  int64_t parts = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  parallelItems(parts * blocks, [&](int64_t item, int64_t worker) {
    Status &status = statuses[size_t(worker)];
    if (!status.ok())
      return;
    int64_t row = item / blocks * kRowsAtOnce;
    const void *addend =
        residual ? at(residual, row * yStride, gemm.yType) : nullptr;
    try {
      status = runBlock(*contexts[size_t(worker)], state,
                        std::min(kRowsAtOnce, rows - row), item % blocks,
                        at(x, row * gemm.k, TPRT_F32), weights, bias, addend,
                        at(y, row * yStride, gemm.yType), yStride);
    } catch (const dnnl::error &error) {
      status = internalError("oneDNN: ", error.what());
    }
  });
  for (const Status &status : statuses)
    TPRT_TRY(status);
  return {};
}

Status GemmEngine::Impl::run(Planned &state, int64_t rows, const void *x,
                             int64_t xStride, const void *w, const void *bias,
                             const void *residual, void *y, int64_t yStride) {
  const Gemm &gemm = state.gemm;
  bool buffer = !gemm.weightIsParameter;
  WorkerContext &first = context(0);
  Expected<const void *> source = operand(state, rows, x, xStride),
                         bias32 = bias, weights = w;
  if (gemm.bias && gemm.biasType != TPRT_F32)
    bias32 = widen(biasScratch, gemm.biasType, bias, gemm.n);
  // Computed weights of a type that cannot be multiplied are widened whole.
  if (buffer && state.widened)
    weights = widen(first.weights, gemm.wType, w, gemm.n * gemm.k);
  for (const auto *made : {&source, &bias32, &weights})
    TPRT_TRY(made->status());
  auto *addends = static_cast<const float *>(*bias32);
  if (!buffer) {
    auto &packed = *static_cast<const Packed *>(w);
    if (state.widened)
      return runWidened(state, rows, *source, packed, addends, residual, y,
                        yStride);
    weights = static_cast<const void *>(packed.data.data());
  }

  bool writable = gemm.yType == TPRT_F32 ||
                  (gemm.yType == TPRT_BF16 && state.compute == TPRT_BF16);
  bool direct = writable && yStride == gemm.n;
  if (direct && residual && residual != y)
    parallelFor(rows, 16, [&](int64_t begin, int64_t end, int64_t) {
      std::memcpy(at(y, begin * gemm.n, gemm.yType),
                  at(residual, begin * gemm.n, gemm.yType),
                  (end - begin) * gemm.n * typeBytes(gemm.yType));
    });
  Key key{rows, gemm.n, direct ? gemm.yType : TPRT_F32, direct && residual,
          buffer ? xStride : 0};
  Expected<void *> result = y;
  if (!direct)
    result = first.result.get(rows * gemm.n * 4);
  TPRT_TRY(result.status());
  TPRT_TRY(execute(first, state, key, *source, *weights, addends, *result));
  if (!direct)
    storeBlock(gemm, rows, 0, gemm.n, static_cast<float *>(*result), residual,
               y, yStride);
  return {};
}

Expected<const void *> GemmEngine::pack(int64_t id, const void *weights) {
  try {
    return impl->pack(id, weights);
  } catch (const dnnl::error &error) {
    return internalError("gemm ", id, ": oneDNN: ", error.what());
  }
}

Status GemmEngine::run(int64_t id, int64_t rows, const void *x, int64_t xStride,
                       const void *w, const void *bias, const void *residual,
                       void *y, int64_t yStride) {
  if (id < 0 || id >= int64_t(impl->states.size()))
    return internalError("gemm ", id, " is not in the manifest");
  Planned &state = impl->states[id];
  const Gemm &gemm = state.gemm;
  if (rows < 0 || rows > gemm.m)
    return internalError("gemm ", id, ": expected at most ", gemm.m,
                         " rows, got ", rows);
  if (!!bias != gemm.bias || !!residual != gemm.residual)
    return internalError("gemm ", id,
                         ": bias or residual is not as the manifest says");
  if (rows == 0)
    return {};
  try {
    return impl->run(state, rows, x, xStride, w, bias, residual, y, yStride);
  } catch (const dnnl::error &error) {
    return internalError("gemm ", id, ": oneDNN: ", error.what());
  }
}

int32_t HostFunctions::gemm(tprt_rank *rank, int32_t id, int64_t rows,
                            const void *x, int64_t xStride, const void *w,
                            const void *bias, const void *residual, void *y,
                            int64_t yStride) {
  auto &host = *static_cast<HostRank *>(rank);
  return host.traced(Timeline::Kind::Gemm, id, 0, [&] {
    return host.engine<GemmEngine>(TPRT_SLOT_gemm)
        .run(id, rows, x, xStride, w, bias, residual, y, yStride);
  });
}
