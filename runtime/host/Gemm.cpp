//===- Gemm.cpp - matrix products by oneDNN -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights stay as they are loaded, [n, k] row by row. Workers take blocks of
// their rows, and what pays for a block follows the rows of x: few wait for the
// weights to come from memory, and are multiplied by a loop of our own; for
// more the block is the first operand of oneDNN's inner product, which its
// kernels read as it lies, and x the second, packed once per call; for many,
// the block is brought to the panels that oneDNN asks for, in the worker's
// cache. Products of the same rows share all of that: workers take blocks of
// all their weights. Weights [k, n] (a backward's) are brought to panels too, a
// block of columns at a time, and x [k, m] is transposed where it is copied.
// A quantised weight is never widened as a whole: few rows are multiplied as it
// is decoded, and for more a worker dequantises the block that it multiplies,
// beside x in bf16 to two bf16 numbers for each of the block. Where x is of
// integers, and weights are bytes, bytes are multiplied by bytes.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include "GemmOperands.h"
#include "ProductPath.h"

#include <unistd.h>

#include <cmath>
#include <cstring>

using namespace tprt;
using dnnl::memory;

namespace {

/// Up to so many rows are multiplied in f32 by our own loop: they wait for the
/// weights to come from memory.
constexpr int64_t kFewRows = 8;
/// Programs of so many rows, or texts, multiply 4-bit weights in fixed point.
constexpr int64_t kFixedRows = 2;

/// From so many rows on, a block of weights in f32 is worth packing.
constexpr int64_t kManyRows = 128;

/// Rows of a block of weights beside which x is packed well.
constexpr int64_t kTypicalBlock = 64;

/// Rows of a weight's gradient that a worker takes, at least.
constexpr int64_t kRowsOfGradient = 256;

/// The longest sums of it for which operands are transposed at once.
constexpr int64_t kTurnedDepth = 1024;

/// Rows of x that pass by the blocks at once: they stay in the shared cache.
constexpr int64_t kRowsAtOnce = 1024;

/// Bytes of weights that few rows are multiplied with at once.
constexpr int64_t kFewBytes = 512 << 10;

/// Bytes of widened weights that oneDNN multiplies without panels.
constexpr int64_t kPlainBytes = 8 << 20;

/// Columns of a block of weights [k, n], at least, and the longest sum that
/// they are multiplied with at once: then x stays in the shared cache
/// meanwhile.
constexpr int64_t kFewColumns = 64, kDepth = 4096;

/// Rows of a block of weights: they fit in `cache` bytes of a worker, there are
/// some for each, and enough of them to be worth a call. The number of workers
/// has no part in it, so that it has none in a result.
int64_t blockRows(int64_t n, int64_t k, int64_t rowBytes, int64_t cache) {
  int64_t rows = std::min(cache / rowBytes, alignUp(n, 128) / 8);
  return alignUp(std::max({rows, 16 * kElementsPerThread / k, int64_t(32)}),
                 16);
}

/// Half of a worker's own cache.
int64_t ownCache() {
  return std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 512 << 10) / 2;
}

memory::data_type dnnlType(tprt_type type) {
  return type == TPRT_BF16 ? memory::data_type::bf16
         : type == TPRT_I8 ? memory::data_type::s8
                           : memory::data_type::f32;
}

/// True if the product of integers is taken as one, which is exact: sums of
/// products of magnitudes up to 128 and 127 fit in 32 bits.
bool isOfIntegers(const Call &call) {
  constexpr int64_t kLongest = (int64_t(1) << 31) / (128 * 127) - 1;
  static const bool isFast =
      multipliesBytes(unsigned(dnnl::get_effective_cpu_isa()));
  const QuantizedWeight *w = call.quantized;
  return w && w->meetsIntegers && w->type == QuantizedType::I8 &&
         w->hasRowScales() && isFast && call.rows > kFewRows &&
         w->k <= kLongest && call.gemm.xType == TPRT_BF16;
}

/// True if oneDNN's sgemm brings operands to panels for a product [m, n]:
/// without AVX-512 it reads them as they lie where that is small, at a third of
/// its speed. It always does where sums run along rows of both operands.
bool isLarge(int64_t m, int64_t n) {
  return productPath().hasPanels || 1 / double(m) + 1 / double(n) < 0.0038;
}

} // namespace

struct GemmEngine::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::vector<Gemm> gemms;
  int64_t texts = 0;
  /// The first is the rank's thread's, which has all workers for what it does
  /// alone.
  std::vector<std::unique_ptr<WorkerContext>> contexts;
  Scratch xScratch, packScratch, sumScratch;
  std::map<InnerProduct, memory::desc> layouts; ///< of packed x

  WorkerContext &context(int64_t worker);
  Product describe(const dnnl::primitive &primitive, const memory::desc &src,
                   const memory::desc &weights, const memory::desc &dst,
                   const memory::desc &scratchpad);
  Product &innerProduct(WorkerContext &context, const InnerProduct &sizes,
                        const memory::desc &layout);
  Status execute(WorkerContext &context, Product &product, const void *src,
                 const void *weights, void *dst);
  Status bring(Rows &rows, const Call &call);
  Status bringIntegers(Rows &rows, const Call &call);
  Status arrange(Rows &rows, const Call &call);
  Status pack(Rows &rows);
  Expected<Call> check(const tprt_gemm_call &call);
  Status run(std::vector<Call> &calls);
  Status runAll(std::vector<Call> &calls);
  Status runPieces(const Call &call);
  Status runRows(const Call &call);
  Status runRows(const Call &call, int64_t each, int64_t from, int64_t k,
                 Plain w);
  Expected<const void *> toLayout(WorkerContext &context, Product &product,
                                  const void *w);
  Status runSplit(WorkerContext &context, const Rows &rows, const Call &call,
                  int64_t column, int64_t n, float *products, int64_t stride);
  Status runIntegers(WorkerContext &context, const Rows &rows, const Call &call,
                     int64_t column, int64_t n, float *products,
                     int64_t stride);
  Status runBlocks(Rows rows, std::vector<Call> &calls);
  Status runBlock(WorkerContext &context, const Rows &rows, const Call &call,
                  int64_t column, int64_t n);
};

GemmEngine::GemmEngine(const std::vector<Gemm> &gemms, int64_t texts)
    : impl(std::make_unique<Impl>()) {
  impl->gemms = gemms;
  impl->texts = texts;
}

GemmEngine::~GemmEngine() = default;

int64_t GemmEngine::scratchBytes() const {
  int64_t bytes = 0;
  auto add = [&](std::initializer_list<const Scratch *> list) {
    for (const Scratch *scratch : list)
      bytes += scratch->buffer.size();
  };
  add({&impl->xScratch, &impl->packScratch, &impl->sumScratch});
  for (const auto &context : impl->contexts)
    add({&context->weights, &context->result, &context->transposed,
         &context->pad});
  return bytes;
}

WorkerContext &GemmEngine::Impl::context(int64_t worker) {
  while (int64_t(contexts.size()) <= worker)
    contexts.push_back(std::make_unique<WorkerContext>(engine));
  return *contexts[size_t(worker)];
}

Product GemmEngine::Impl::describe(const dnnl::primitive &primitive,
                                   const memory::desc &src,
                                   const memory::desc &weights,
                                   const memory::desc &dst,
                                   const memory::desc &scratchpad) {
  auto empty = [&](const memory::desc &desc) {
    return memory(desc, engine, nullptr);
  };
  return {primitive, empty(src), empty(weights), empty(dst), empty(scratchpad)};
}

static dnnl::primitive_attr ownScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

static dnnl::inner_product_forward::primitive_desc
describeInnerProduct(const dnnl::engine &engine, const InnerProduct &sizes,
                     const memory::desc &weights) {
  memory::desc src({sizes.m, sizes.k}, dnnlType(sizes.type),
                   memory::format_tag::ab);
  memory::desc dst({sizes.m, sizes.n},
                   sizes.type == TPRT_I8 ? memory::data_type::s32
                                         : memory::data_type::f32,
                   memory::format_tag::ab);
  return {{dnnl::prop_kind::forward_inference, src, weights, dst},
          ownScratchpad(),
          engine};
}

/// The product with blocks of weights of the call.
Product &GemmEngine::Impl::innerProduct(WorkerContext &context,
                                        const InnerProduct &sizes,
                                        const memory::desc &layout) {
  auto found = context.products.find(sizes);
  if (found != context.products.end())
    return found->second;
  memory::data_type type = dnnlType(sizes.type);
  memory::desc any({sizes.n, sizes.k}, type, memory::format_tag::any);
  auto made =
      describeInnerProduct(engine, sizes, sizes.takesBlockFirst ? layout : any);
  Product product =
      describe(dnnl::inner_product_forward(made), made.src_desc(),
               made.weights_desc(), made.dst_desc(), made.scratchpad_desc());
  if (sizes.wStride > 0) {
    memory::dims strides = {1, sizes.wStride};
    product.plain =
        memory({{sizes.n, sizes.k}, type, strides}, engine, nullptr);
    product.reorder = dnnl::reorder(product.plain, product.weights);
  }
  return context.products.emplace(sizes, std::move(product)).first->second;
}

/// Columns of weights [k, n] as the product reads them.
Expected<const void *> GemmEngine::Impl::toLayout(WorkerContext &context,
                                                  Product &product,
                                                  const void *w) {
  TPRT_ASSIGN(auto brought, context.weights.get(int64_t(
                                product.weights.get_desc().get_size())));
  product.plain.set_data_handle(const_cast<void *>(w));
  product.weights.set_data_handle(brought);
  product.reorder.execute(context.stream, {{DNNL_ARG_FROM, product.plain},
                                           {DNNL_ARG_TO, product.weights}});
  context.stream.wait();
  return static_cast<const void *>(brought);
}

Status GemmEngine::Impl::execute(WorkerContext &context, Product &product,
                                 const void *src, const void *weights,
                                 void *dst) {
  TPRT_ASSIGN(auto pad, context.pad.get(
                            int64_t(product.scratchpad.get_desc().get_size())));
  product.src.set_data_handle(const_cast<void *>(src));
  product.weights.set_data_handle(const_cast<void *>(weights));
  product.dst.set_data_handle(dst);
  product.scratchpad.set_data_handle(pad);
  product.primitive.execute(context.stream,
                            {{DNNL_ARG_SRC, product.src},
                             {DNNL_ARG_WEIGHTS, product.weights},
                             {DNNL_ARG_DST, product.dst},
                             {DNNL_ARG_SCRATCHPAD, product.scratchpad}});
  context.stream.wait();
  return {};
}

/// x as the product reads it: in the type computed in and dense, but for few
/// rows.
Status GemmEngine::Impl::bring(Rows &rows, const Call &call) {
  const Gemm &gemm = call.gemm;
  int64_t k = gemm.k;
  bool isFlipped = gemm.xTransposed;
  if (rows.isFew && call.quantized)
    return arrange(rows, call);
  if (rows.compute == TPRT_I8)
    return bringIntegers(rows, call);
  rows.stride = rows.isFew && rows.count > 1 ? spread(k) : k;
  rows.x = at(call.x, rows.first * (isFlipped ? 1 : call.x_stride), gemm.xType);
  if (!isFlipped && gemm.xType == rows.compute && call.x_stride == rows.stride)
    return {};
  TPRT_ASSIGN(auto brought,
              xScratch.get(rows.count * rows.stride * typeBytes(rows.compute)));
  bool isNarrow = rows.compute != TPRT_F32;
  int64_t lines = isFlipped && isNarrow ? 16 : rows.count;
  for (int64_t i = 0; i < workers(); ++i)
    if (isFlipped && isNarrow)
      TPRT_TRY(context(i).result.get(lines * k * 4).status());
  parallelFor(rows.count, 16, [&](int64_t begin, int64_t end, int64_t worker) {
    for (int64_t r = begin; r < end; r += isFlipped ? lines : 1) {
      const void *from =
          at(rows.x, r * (isFlipped ? 1 : call.x_stride), gemm.xType);
      void *to = at(brought, r * rows.stride, rows.compute);
      if (isFlipped) {
        auto *wide = static_cast<float *>(to);
        if (isNarrow)
          wide = reinterpret_cast<float *>(
              contexts[size_t(worker)]->result.buffer.data());
        int64_t count = std::min(lines, end - r);
        simd().transpose(gemm.xType, from, call.x_stride, k, count, wide,
                         rows.stride);
        if (isNarrow)
          simd().narrow(rows.compute, wide, to, count * k);
      } else if (gemm.xType == rows.compute) {
        std::memcpy(to, from, size_t(k * typeBytes(rows.compute)));
      } else {
        simd().widen(gemm.xType, from, static_cast<float *>(to), k);
      }
    }
  });
  rows.x = brought;
  return {};
}

/// Rows of x, which are integers, as bytes, and their sums.
Status GemmEngine::Impl::bringIntegers(Rows &rows, const Call &call) {
  const Gemm &gemm = call.gemm;
  int64_t k = gemm.k, bytes = alignUp(rows.count * k, 64);
  rows.stride = k;
  TPRT_ASSIGN(auto brought, xScratch.get(bytes + rows.count * 4));
  auto *sums =
      reinterpret_cast<int32_t *>(static_cast<char *>(brought) + bytes);
  context(workers() - 1);
  for (const auto &one : contexts)
    TPRT_TRY(one->result.get(k * 4).status());
  parallelFor(rows.count, 16, [&](int64_t begin, int64_t end, int64_t worker) {
    auto *wide = reinterpret_cast<float *>(
        contexts[size_t(worker)]->result.buffer.data());
    for (int64_t r = begin; r < end; ++r) {
      simd().widen(gemm.xType,
                   at(call.x, (rows.first + r) * call.x_stride, gemm.xType),
                   wide, k);
      auto *to = static_cast<int8_t *>(brought) + r * k;
      sums[r] = 0;
      for (int64_t p = 0; p < k; ++p) {
        // A NaN, or what was made of an infinity, is in the row's scale too.
        to[p] = std::fabs(wide[p]) <= 127 ? int8_t(wide[p]) : int8_t(0);
        sums[r] += to[p];
      }
    }
  });
  rows.x = brought;
  rows.sums = sums;
  return {};
}

/// Few rows of x in the order that a quantised weight is decoded in.
Status GemmEngine::Impl::arrange(Rows &rows, const Call &call) {
  const Gemm &gemm = call.gemm;
  const QuantizedLoops &loops = quantizedLoops();
  rows.stride = loops.arrangedWidth(*call.quantized);
  TPRT_ASSIGN(auto brought, xScratch.get(rows.count * rows.stride * 4));
  for (int64_t i = 0; i < workers(); ++i)
    TPRT_TRY(context(i).result.get(gemm.k * 4).status());
  parallelFor(rows.count, 1, [&](int64_t begin, int64_t end, int64_t worker) {
    Buffer &wide = contexts[size_t(worker)]->result.buffer;
    auto *row = reinterpret_cast<float *>(wide.data());
    for (int64_t r = begin; r < end; ++r) {
      simd().widen(gemm.xType,
                   at(call.x, (rows.first + r) * call.x_stride, gemm.xType),
                   row, gemm.k);
      loops.arrange(*call.quantized, row,
                    static_cast<float *>(brought) + r * rows.stride);
    }
  });
  rows.x = brought;
  return {};
}

/// Packs x as the second operand of products with blocks of weights. The layout
/// is what oneDNN prefers beside blocks of a usual size.
Status GemmEngine::Impl::pack(Rows &rows) {
  InnerProduct sizes{rows.compute, kTypicalBlock, rows.count, rows.k, true};
  memory::data_type type = dnnlType(rows.compute);
  auto known = layouts.find(sizes);
  if (known == layouts.end()) {
    OneWorker alone;
    memory::desc any({rows.count, rows.k}, type, memory::format_tag::any);
    known =
        layouts
            .emplace(sizes,
                     describeInnerProduct(engine, sizes, any).weights_desc())
            .first;
  }
  rows.layout = known->second;
  TPRT_ASSIGN(auto packed, packScratch.get(int64_t(rows.layout.get_size())));
  memory from({{rows.count, rows.k}, type, memory::format_tag::ab}, engine,
              const_cast<void *>(rows.x));
  memory to(rows.layout, engine, packed);
  dnnl::stream &stream = context(0).stream;
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  rows.packed = packed;
  return {};
}

/// A block of quantised weights beside x in bf16.
Status GemmEngine::Impl::runSplit(WorkerContext &context, const Rows &rows,
                                  const Call &call, int64_t column, int64_t n,
                                  float *products, int64_t stride) {
  const QuantizedLoops &loops = quantizedLoops();
  const QuantizedWeight &w = *call.quantized;
  int64_t count = rows.count, block = alignUp(n * rows.k * 2, 64);
  TPRT_ASSIGN(auto scratch,
              context.weights.get(2 * block + (n + loops.scratch(w)) * 4));
  char *high = static_cast<char *>(scratch), *low = high + block;
  auto *scale = reinterpret_cast<float *>(low + block);
  loops.split(w, column, n, high, low, scale, scale + n);
  Product &product = innerProduct(
      context, {rows.compute, n, count, rows.k, true}, rows.layout);
  TPRT_ASSIGN(auto both, context.transposed.get(2 * n * count * 4));
  auto *sums = static_cast<float *>(both), *rest = sums + n * count;
  TPRT_TRY(execute(context, product, high, rows.packed, sums));
  if (w.hasRowScales()) {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t r = 0; r < count; ++r)
        sums[j * count + r] *= scale[j];
  } else {
    TPRT_TRY(execute(context, product, low, rows.packed, rest));
    for (int64_t i = 0; i < n * count; ++i)
      sums[i] += rest[i];
  }
  simd().transpose(TPRT_F32, sums, count, n, count, products, stride);
  return {};
}

/// A block of bytes beside x in bytes. The sums are exact; each is rounded
/// once, and once more when it is scaled.
Status GemmEngine::Impl::runIntegers(WorkerContext &context, const Rows &rows,
                                     const Call &call, int64_t column,
                                     int64_t n, float *products,
                                     int64_t stride) {
  const QuantizedWeight &w = *call.quantized;
  int64_t count = rows.count;
  Product &product = innerProduct(
      context, {rows.compute, n, count, rows.k, true}, rows.layout);
  TPRT_ASSIGN(auto made, context.transposed.get(n * count * 4));
  TPRT_ASSIGN(auto groups, context.weights.get(2 * n * 4));
  auto *scales = static_cast<float *>(groups), *zeros = scales + n;
  quantizedLoops().rowGroups(w, column, n, scales, zeros);
  TPRT_TRY(execute(context, product,
                   static_cast<const char *>(w.values) + column * w.rowBytes(),
                   rows.packed, made));
  auto *sums = static_cast<int32_t *>(made);
  auto *scaled = static_cast<float *>(made);
  for (int64_t j = 0; j < n; ++j) {
    auto zero = int64_t(zeros[j]);
    int32_t *line = sums + j * count;
    for (int64_t r = 0; r < count; ++r) {
      float value = float(line[r] - zero * rows.sums[r]) * scales[j];
      std::memcpy(line + r, &value, sizeof value);
    }
  }
  simd().transpose(TPRT_F32, scaled, count, n, count, products, stride);
  return {};
}

/// A block of weights, by one worker.
Status GemmEngine::Impl::runBlock(WorkerContext &context, const Rows &rows,
                                  const Call &call, int64_t column, int64_t n) {
  const Gemm &gemm = call.gemm;
  int64_t count = rows.count, k = rows.k;
  bool isFlipped = gemm.wTransposed;
  tprt_type wType = call.quantized ? TPRT_F32 : gemm.wType;
  const void *w = nullptr;
  if (!call.quantized)
    w = at(call.w, isFlipped ? column : column * k, wType);
  OneWorker alone;
  bool isOfBytes = rows.compute == TPRT_I8;
  bool isSplit = call.quantized && rows.compute == TPRT_BF16;
  Product *product = nullptr;
  InnerProduct sizes{rows.compute, count, n, k, false};
  if (rows.packed && !isSplit && !isOfBytes)
    product =
        &innerProduct(context, {rows.compute, n, count, k, true}, rows.layout);
  else if (isFlipped)
    sizes.wStride = gemm.wType == rows.compute ? gemm.n : n;
  if (!product && !rows.isFew && !isSplit && !isOfBytes)
    product = &innerProduct(context, sizes, {});
  bool isPanels = product && !rows.packed &&
                  (isFlipped || panelHeight(product->weights.get_desc()));

  if (call.quantized && !rows.isFew && !isSplit && !isOfBytes) {
    Scratch &wide = isPanels ? context.transposed : context.weights;
    TPRT_ASSIGN(w, dequantize(wide, *call.quantized, column, n));
  }

  // In place, where y can hold it.
  int64_t stride = call.y_stride;
  float *products = static_cast<float *>(call.y) + rows.first * stride + column;
  if (isPanels || gemm.yType != TPRT_F32 || call.residual) {
    TPRT_ASSIGN(auto scratch, context.result.get(count * n * 4));
    products = static_cast<float *>(scratch);
    stride = n;
  }
  if (isOfBytes) {
    TPRT_TRY(runIntegers(context, rows, call, column, n, products, stride));
  } else if (isSplit) {
    TPRT_TRY(runSplit(context, rows, call, column, n, products, stride));
  } else if (rows.isFew && call.quantized) {
    const QuantizedLoops &loops = quantizedLoops();
    TPRT_ASSIGN(auto scratch,
                context.weights.get(loops.scratch(*call.quantized) * 4));
    loops.dot(*call.quantized, column, n, static_cast<const float *>(rows.x),
              rows.stride, count, products, stride,
              static_cast<float *>(scratch));
  } else if (rows.isFew) {
    simd().dot(wType, w, n, static_cast<const float *>(rows.x), rows.stride,
               count, k, products, stride);
  } else if (isFlipped) {
    if (gemm.wType != rows.compute) {
      TPRT_ASSIGN(auto wide, context.transposed.get(n * k * 4));
      for (int64_t p = 0; p < k; ++p)
        simd().widen(gemm.wType, at(w, p * gemm.n, gemm.wType),
                     static_cast<float *>(wide) + p * n, n);
      w = wide;
    }
    TPRT_ASSIGN(w, toLayout(context, *product, w));
    TPRT_TRY(execute(context, *product, rows.x, w, products));
  } else if (isPanels) {
    TPRT_ASSIGN(w, toPanels(context.weights, wType, w, n, k,
                            product->weights.get_desc()));
    TPRT_TRY(execute(context, *product, rows.x, w, products));
  } else {
    if (rows.compute == TPRT_F32) {
      TPRT_ASSIGN(w, widen(context.weights, wType, w, n * k));
    }
    if (rows.packed) {
      TPRT_ASSIGN(auto transposed, context.transposed.get(count * n * 4));
      TPRT_TRY(execute(context, *product, w, rows.packed, transposed));
      simd().transpose(TPRT_F32, transposed, count, n, count, products, stride);
    } else {
      TPRT_TRY(
          multiplyPlain({rows.x, k}, {w, k}, count, n, k, products, stride));
    }
  }
  finish(call, rows.first, count, column, n, products, stride);
  return {};
}

/// Workers take blocks of the weights of all calls, for at most kRowsAtOnce
/// rows of x.
Status GemmEngine::Impl::runBlocks(Rows rows, std::vector<Call> &calls) {
  bool isFlipped = calls[0].gemm.wTransposed;
  bool isSecond = !rows.isFew && !isFlipped &&
                  (rows.count < kManyRows || rows.compute != TPRT_F32);
  // Beside panels, x and the result pass through the cache; without them,
  // oneDNN copies x anew for each block.
  bool hasPanels = isFlipped || productPath().hasPanels;
  int64_t cache = rows.isFew  ? kFewBytes
                  : isSecond  ? ownCache()
                  : hasPanels ? ownCache() / 2
                              : kPlainBytes;
  if (isSecond)
    TPRT_TRY(pack(rows));
  int64_t blocks = 0;
  for (Call &call : calls) {
    bool isAsItLies = rows.isFew || rows.compute == TPRT_I8;
    call.block = blockRows(call.gemm.n, rows.k,
                           isAsItLies ? call.rowBytes() : 4 * rows.k, cache);
    if (isFlipped)
      call.block = std::max(call.block, kFewColumns);
    blocks += call.blocks();
  }
  auto count = size_t(workers());
  std::vector<Status> statuses(count);
  context(int64_t(count) - 1);
  parallelParts(blocks, [&](int64_t item, int64_t worker) {
    Status &status = statuses[size_t(worker)];
    if (!status.ok())
      return;
    auto call = calls.begin();
    for (; item >= call->blocks(); ++call)
      item -= call->blocks();
    try {
      int64_t column = item * call->block;
      status = runBlock(*contexts[size_t(worker)], rows, *call, column,
                        std::min(call->block, call->gemm.n - column));
    } catch (const dnnl::error &error) {
      status = internalError("oneDNN: ", error.what());
    }
  });
  for (const Status &status : statuses)
    TPRT_TRY(status);
  return {};
}

/// A weight's gradient in f32, where it lies: workers take rows of it, of two
/// and more blocks. What is too small for oneDNN then, or narrow, is transposed
/// for it, a piece of the sums at a time.
Status GemmEngine::Impl::runRows(const Call &call) {
  const Gemm &gemm = call.gemm;
  int64_t m = call.rows, n = gemm.n, each = kRowsOfGradient;
  bool isWide = gemm.xType == TPRT_F32 && gemm.wType == TPRT_F32;
  while (isWide && !isLarge(each, n) && 4 * each <= m)
    each *= 2;
  if (isWide && isLarge(each, n))
    return runRows(call, each, 0, gemm.k, {call.w, n, true});
  for (int64_t from = 0; from < gemm.k; from += kTurnedDepth) {
    int64_t k = std::min(kTurnedDepth, gemm.k - from);
    TPRT_ASSIGN(auto turned, packScratch.get(n * spread(k) * 4));
    parallelFor(n, 64, [&](int64_t begin, int64_t end, int64_t) {
      turn(gemm.wType, at(call.w, from * n + begin, gemm.wType), n, end - begin,
           k, static_cast<float *>(turned) + begin * spread(k));
    });
    TPRT_TRY(runRows(call, kRowsOfGradient, from, k, {turned, spread(k)}));
  }
  return {};
}

/// Sums [from, from + k) of it; x is as w is.
Status GemmEngine::Impl::runRows(const Call &call, int64_t each, int64_t from,
                                 int64_t k, Plain w) {
  const Gemm &gemm = call.gemm;
  int64_t m = call.rows, blocks = (m + each - 1) / each;
  bool adds = call.residual || from > 0;
  std::vector<Status> statuses(static_cast<size_t>(workers()));
  context(workers() - 1);
  auto run = [&](int64_t first, int64_t rows, int64_t worker) -> Status {
    OneWorker alone;
    const void *lines = at(call.x, from * call.x_stride + first, gemm.xType);
    Plain x{lines, call.x_stride, true};
    if (!w.isFlipped) {
      TPRT_ASSIGN(auto turned, contexts[size_t(worker)]->transposed.get(
                                   rows * spread(k) * 4));
      turn(gemm.xType, lines, call.x_stride, rows, k, turned);
      x = {turned, spread(k)};
    }
    return multiplyPlain(x, w, rows, gemm.n, k,
                         static_cast<float *>(call.y) + first * call.y_stride,
                         call.y_stride, adds);
  };
  parallelItems(blocks, [&](int64_t item, int64_t worker) {
    // Blocks have one size, so that none is small.
    int64_t first = m * item / blocks, last = m * (item + 1) / blocks;
    Status status = run(first, last - first, worker);
    if (!status.ok())
      statuses[size_t(worker)] = status;
  });
  for (const Status &status : statuses)
    TPRT_TRY(status);
  return {};
}

/// Long sums by weights [k, n], piece by piece, in y or beside it.
Status GemmEngine::Impl::runPieces(const Call &call) {
  const Gemm &gemm = call.gemm;
  bool direct = gemm.yType == TPRT_F32 && !gemm.bias &&
                gemm.activation == Gemm::Activation::None;
  Expected<void *> sums = call.y;
  if (!direct)
    sums = sumScratch.get(call.rows * gemm.n * 4);
  TPRT_TRY(sums.status());
  Gemm piece = gemm;
  piece.yType = TPRT_F32;
  piece.bias = false;
  piece.activation = Gemm::Activation::None;
  tprt_gemm_call part = call;
  part.bias = nullptr;
  part.residual = direct ? call.residual : nullptr;
  part.y = *sums;
  part.y_stride = direct ? call.y_stride : gemm.n;
  for (int64_t from = 0; from < gemm.k; from += kDepth) {
    piece.k = std::min(kDepth, gemm.k - from);
    part.x =
        at(call.x, from * (gemm.xTransposed ? call.x_stride : 1), gemm.xType);
    part.w = at(call.w, from * gemm.n, gemm.wType);
    std::vector<Call> one{{part, piece}};
    TPRT_TRY(run(one));
    part.residual = part.y;
  }
  if (!direct)
    parallelFor(call.rows, 16, [&](int64_t begin, int64_t end, int64_t) {
      finish(call, begin, end - begin, 0, gemm.n,
             static_cast<float *>(*sums) + begin * gemm.n, gemm.n);
    });
  return {};
}

/// Products of the same rows.
Status GemmEngine::Impl::run(std::vector<Call> &calls) {
  const Call &call = calls.front();
  const Gemm &gemm = call.gemm;
  bool isF32 = gemm.xType == TPRT_F32 && gemm.wType == TPRT_F32;
  if (gemm.wTransposed && gemm.xTransposed && gemm.yType == TPRT_F32 &&
      (isF32 || !productPath().hasPanels) && !gemm.bias &&
      gemm.activation == Gemm::Activation::None &&
      (!call.residual || call.residual == call.y))
    return runRows(call);
  if (gemm.wTransposed && gemm.k > kDepth)
    return runPieces(call);
  Rows rows{TPRT_F32, 0, call.rows, gemm.k};
  const ProductPath &path = productPath();
  if (!call.quantized && gemm.wType == TPRT_BF16 && gemm.xType == TPRT_BF16 &&
      path.multipliesBf16 && (gemm.wTransposed || call.rows > path.fewRows))
    rows.compute = TPRT_BF16;
  // Two products in bf16 are worth one in f32 where they are many times as
  // fast; one always is.
  if (call.quantized && gemm.xType == TPRT_BF16 && path.multipliesBf16 &&
      call.rows > kFewRows && (path.hasTiles || call.quantized->hasRowScales()))
    rows.compute = TPRT_BF16;
  if (isOfIntegers(call))
    rows.compute = TPRT_I8;
  for (; rows.first < call.rows; rows.first += rows.count) {
    rows.count = std::min(call.rows - rows.first, kRowsAtOnce);
    rows.isFew =
        rows.count <= kFewRows && rows.compute == TPRT_F32 && !gemm.wTransposed;
    TPRT_TRY(bring(rows, call));
    TPRT_TRY(runBlocks(rows, calls));
  }
  return {};
}

Status GemmEngine::Impl::runAll(std::vector<Call> &calls) {
  if (calls.empty() || calls[0].rows == 0)
    return {};
  try {
    return run(calls);
  } catch (const dnnl::error &error) {
    return internalError("gemm ", calls[0].id, ": oneDNN: ", error.what());
  }
}

Expected<Call> GemmEngine::Impl::check(const tprt_gemm_call &call) {
  int64_t id = call.id;
  if (id < 0 || id >= int64_t(gemms.size()))
    return internalError("gemm ", id, " is not in the manifest");
  const Gemm &gemm = gemms[size_t(id)];
  if (call.rows < 0 || call.rows > gemm.m)
    return internalError("gemm ", id, ": expected at most ", gemm.m,
                         " rows, got ", call.rows);
  if (!!call.bias != gemm.bias || !!call.residual != gemm.residual)
    return internalError("gemm ", id,
                         ": bias or residual is not as the manifest says");
  return Call{call, gemm};
}

Status GemmEngine::run(const tprt_gemm_call *list, int64_t count) {
  std::vector<Call> calls;
  for (int64_t i = 0; i < count; ++i) {
    TPRT_ASSIGN(auto call, impl->check(list[i]));
    const Gemm &a = call.gemm, &first = impl->gemms[size_t(list[0].id)];
    if (i > 0 &&
        (call.x != list[0].x || call.x_stride != list[0].x_stride ||
         call.rows != list[0].rows || a.k != first.k ||
         a.xType != first.xType || a.wType != first.wType || a.xTransposed ||
         a.wTransposed || first.xTransposed || first.wTransposed))
      return internalError("gemm ", call.id,
                           ": expected the same rows as gemm ", list[0].id,
                           ", which it is called with");
    calls.push_back(call);
  }
  return impl->runAll(calls);
}

Status GemmEngine::run(const tprt_gemm_call &call,
                       const QuantizedWeight &weight) {
  TPRT_ASSIGN(auto checked, impl->check(call));
  const Gemm &gemm = checked.gemm;
  TPRT_TRY(tprt::check(weight));
  if (weight.n != gemm.n || weight.k != gemm.k || gemm.wTransposed ||
      gemm.xTransposed)
    return internalError("gemm ", call.id, ": expected a quantised weight of ",
                         gemm.n, " x ", gemm.k, ", row by row, got ", weight.n,
                         " x ", weight.k);
  QuantizedWeight known = weight;
  // By the rows and texts that a program may have, not by those of a call: a
  // text's result is the same alone and in company.
  known.inFixedPoint = gemm.xType != TPRT_F32 && gemm.m <= kFixedRows &&
                       impl->texts <= kFixedRows;
  checked.quantized = &known;
  std::vector<Call> one{checked};
  return impl->runAll(one);
}

int32_t HostFunctions::gemms(tprt_rank *rank, int64_t count,
                             const void *calls) {
  auto &host = *static_cast<HostRank *>(rank);
  auto *list = static_cast<const tprt_gemm_call *>(calls);
  return host.traced(Timeline::Kind::Gemm, list->id, host.layer, [&] {
    return host.engine<GemmEngine>(TPRT_SLOT_gemm).run(list, count);
  });
}

int32_t HostFunctions::gemm(tprt_rank *rank, int32_t id, int64_t rows,
                            const void *x, int64_t xStride, const void *w,
                            const void *bias, const void *residual, void *y,
                            int64_t yStride) {
  tprt_gemm_call call{id, rows, x, xStride, w, bias, residual, y, yStride};
  return gemms(rank, 1, &call);
}
