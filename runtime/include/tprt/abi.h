//===- tprt/abi.h - contract between compiled code and runtime --*- C -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one header that the compiler and the runtime share. Compiled code imports
// nothing: it is handed a table of functions and exports one query symbol. The
// functions are listed once, in TPRT_FUNCTIONS; the runtime expands the list to
// the table's type, the compiler to signatures and slots. Any change of an
// existing line, or of a struct below, raises TPRT_ABI_VERSION;
// docs/RuntimeABI.md is the prose.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_ABI_H
#define TPRT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPRT_ABI_VERSION 6

/// The only symbol that the code section exports.
#define TPRT_QUERY_SYMBOL "tprt_query"

/// Base addresses that the runtime hands out are aligned to this many bytes.
#define TPRT_ALIGNMENT 64
/// States lie one behind the other in the order of the manifest, each on a
/// multiple of this many bytes: a collective may take neighbours in one call.
#define TPRT_STATE_ALIGNMENT 256

/// Element types: X(enumerator, name in the manifest, bytes). i8 also carries
/// booleans, one byte each, 0 or 1.
#define TPRT_TYPES(X)                                                          \
  X(F32, "f32", 4)                                                             \
  X(BF16, "bf16", 2)                                                           \
  X(F16, "f16", 2)                                                             \
  X(I32, "i32", 4)                                                             \
  X(I64, "i64", 8)                                                             \
  X(I8, "i8", 1)

typedef enum tprt_type {
#define TPRT_ENUM(id, name, bytes) TPRT_##id,
  TPRT_TYPES(TPRT_ENUM)
#undef TPRT_ENUM
} tprt_type;

/// Elements of a quantised cache.
enum tprt_cache_element { TPRT_CACHE_I8, TPRT_CACHE_E4M3 };

/// One rank of a running program; opaque to compiled code, which passes it on.
typedef struct tprt_rank tprt_rank;

/// Body of a parallel loop: work on [begin, end). `worker` is in
/// [0, number of workers); no two calls with the same worker run at once, so
/// that scratch + worker * scratch_stride is private to the call.
typedef void (*tprt_body)(void *context, int64_t begin, int64_t end,
                          int64_t worker);

/// The runtime's functions: X(name, parameters). Each takes the rank first and
/// returns an int32_t status: 0 is success, anything else must be returned from
/// the step at once (the message is already recorded). Parameters are spelled
/// IN (const void *), OUT (void *), I32 (int32_t), I64 (int64_t), BODY
/// (tprt_body). Strides are in elements; "or null" pointers are said below.
///
/// gemm: y[r, 0:n] = activation(scale * sum_k x[r, k] * w[n, k] + bias[n]) +
/// residual[r, n]
///   for r in [0, rows), as `gemms[id]` of the manifest describes it. bias and
///   residual are null exactly if the description has none; residual may be y,
///   and has y's type and stride.
/// attention: softmax(cap(scale * q k^T) + bias + mask) v per batch and head,
///   as `attentions[id]` describes it. Row (b, s) of q begins at
///   q + (b * q_len + s) * q_stride and holds q_heads * head_size contiguous
///   elements; k and v likewise with b * kv_capacity + s, out with q_len, those
///   of v and out of value_size. Keys [0, kv_len) are read. Query s stands at
///   position q_offset + s for the causal mask and the window. mask ([batch,
///   kv_capacity]), bias ([bias_heads, q_len, kv_capacity]) and sinks
///   ([q_heads]) are null exactly if the description has none; mask holds
///   non-zero where the key is visible. lse (or null) receives f32 log-sum-exp
///   [batch, q_len, q_heads]. A row that sees no key is zero.
/// collective: ledger entry `id` in `layer` of the model (0 outside a repeat).
///   All ranks call the same entries in the same order. in == out is allowed
///   where the row of tprt/collectives.h says so. Buffers lie in the
///   communication arena, the general arena, inputs or parameters (the first is
///   the fastest on some backends). On a device, and where the manifest says
///   that the entry is asynchronous, it is only started: its operand and result
///   belong to the communication until `wait`. Otherwise it is done when the
///   call returns.
/// peers: collective `id`, a sum whose manifest entry says so, in `layer`. `in`
///   is this rank's addend, in the communication arena; addends[i] (void *)
///   receives the address of that of member i of the group, once it is written.
///   An addend is read in its owner's memory, where the program's plan of slots
///   keeps it: the owner overwrites it behind a later meeting of the group, at
///   which each member arrives after its last read. Where ranks share no memory
///   the call is an all-reduce: the first addend is the sum, the others change
///   nothing, and all stay until the next call for the same `id`. With null for
///   both, the members only meet.
/// wait: what follows reads the result, or overwrites the operand, of the last
///   call of collective `id`, which was in `layer`. Nothing is waited for where
///   that call was not only started. Every start is awaited exactly once.
/// launch: start kernel `kernels[id]` of the device code, in `layer`;
///   `arguments` points to eight-byte slots (addresses, i64 values) in the
///   order of the kernel's parameters, and is read before the call returns.
///   Only in code for a device.
/// parallel_for: only in code for the host. Cut [0, extent) into ranges of at
/// least `least` and call body.
///   Not nested. Bodies call no function of this table.
/// cache_write: row t of `rows`, cell_bytes of them, becomes cell cells[t]
///   (i32) of the pool, which has num_cells, in order; a number outside is
///   skipped. pool may be old; if it is not, it gets what old has first.
/// paged_attention: `tokens` query rows [q_heads, head_size] to the cache, as
///   `paged_attentions[id]` describes it; all contiguous, numbers i32. Token t
///   stands at positions[t] of row rows[t] (-1: of none; its result is zero)
///   and sees that position and those before it, at most `window` (0: all);
///   position p lies in cell table[row, p / page] * page + p % page of keys and
///   values [cells, kv_heads, head_size or value_size]. Other cells may hold
///   anything. bias ([q_heads, pages * page], or null) is added to the scores
///   of each position; sinks as those of attention.
/// sample_records, sample_pick: nn.sample_records and nn.sample_pick
///   (docs/reference/NNDialect.md); all contiguous, seeds i64, numbers i32 and
///   f32. logits are [rows, columns], of `vocabulary` tokens in all; a record
///   is TPRT_RECORD_WORDS of f32, as enum tprt_record has them.
/// mark: kernel `kernels[id]` starts, in `layer`; it ends with the
///   next call of mark, gemm, attention or collective, or with the step. Free
///   when no timeline is recorded.
/// gemms: `count` calls of gemm at once: `calls` points to as many
///   tprt_gemm_call. All read the same rows of x, weights of one type, and
///   nothing that another of them writes. It is one event of the timeline,
///   the first's.
/// attention_backward: the derivative of attention `attentions[id]` of all its
///   keys, the queries being the last of them, from the cotangent of its
///   result, its lse and delta [batch, q_len, q_heads], as
///   nn.attention_backward (docs/reference/NNDialect.md) says; all contiguous,
///   lse, delta, dk, dv and dbias (or null) f32.
/// embedding_backward: table [rows, columns] is into (or null: zero), which it
///   may be, and row t of cotangent [tokens, columns] is added to row ids[t] of
///   it, in order, if there is one. All f32 and contiguous; an id has id_bytes.
/// experts: out [rows, n] is the weighted sum of the gated feed-forwards that
///   `experts[id]` describes of x [rows, k], as nn.experts says; gate and up
///   are [experts, f, k], down [experts, n, f], routing [rows, experts] f32,
///   all contiguous. An expert is read only if a row has a weight for it. The
///   biases [experts, f] (f32, or null: none) are added to its gate and up. A
///   position of the width is left out where inside [f] (i32, or null: none)
///   is zero.
/// experts_backward: the derivative of that by its operands, from the cotangent
///   [rows, n] of out, as nn.experts_backward says; all contiguous, and of the
///   results all but dx f32. dgate_bias and dup_bias are null where there are
///   no biases.
/// quantized_gemm: gemm with a weight that lies in memory quantised, as
///   `gemms[id].quantized` describes it: values [n, k] in bytes (of four bits
///   two to a byte, the first in the low bits, rows of whole bytes), scales and
///   zeros (i8, or null: 0) [groups of n, groups of k]; w[j, i] = (value -
///   zero) * scale, times *outer_scale (f32, or null: 1). With `groups` ([k]
///   i32, or null) input i belongs to group groups[i].
/// quantized_experts: experts with matrices that lie in memory so, as
///   `experts[id].quantized` (gate and up) and `quantized_down` describe them,
///   those of one expert behind those of another.
/// quantized_cache_write: cache_write of rows [heads, head_size] of floats of
///   `type` (enum tprt_type), whose numbers become elements (enum
///   tprt_cache_element, a byte each) of their nearest multiples of a scale,
///   ties to even, none above the largest. With `scales` each token's head gets
///   a scale of its own, its largest magnitude over the largest element, which
///   lies in scales [num_cells, heads] (f32) where the row lies in the pool;
///   old_scales is to scales what old is to the pool. Where scales is null the
///   scales are given: old_scales [scale_heads], of all heads if that is 1.
/// quantized_paged_attention: paged_attention to keys and values in such
///   elements, whose scales are [cells, kv_heads], [kv_heads] or one, as the
///   description says.
/// gated_delta_rule: nn.gated_delta_rule (docs/reference/NNDialect.md) of
///   queries and keys [batch, seq, key_heads, key_size], values and out [batch,
///   seq, value_heads, value_size], decay and beta (or null) [batch, seq,
///   value_heads]; all f32 and contiguous.
/// gated_delta_rule_backward: nn.gated_delta_rule_backward of these and the
///   cotangent of out. dq and dk are [batch, seq, value_heads, key_size]; dbeta
///   is null where beta is.
/// paged_gated_delta_rule: nn.paged_gated_delta_rule of one batch entry of
///   `tokens` positions, with pools [slots, value_heads, key_size * value_size]
///   of f32, and slots and sources of the tokens (i32). next may be pool.
#define TPRT_FUNCTIONS(X, IN, OUT, I32, I64, BODY)                             \
  X(gemm, I32(id) I64(rows) IN(x) I64(x_stride) IN(w) IN(bias) IN(residual)    \
              OUT(y) I64(y_stride))                                            \
  X(attention, I32(id) IN(q) I64(q_stride) IN(k) I64(k_stride) IN(v)           \
                   I64(v_stride) IN(mask) IN(bias) IN(sinks) I64(kv_len)       \
                       I64(q_offset) OUT(out) I64(out_stride) OUT(lse))        \
  X(collective, I32(id) I64(layer) IN(in) OUT(out))                            \
  X(parallel_for, BODY(body) OUT(context) I64(extent) I64(least))              \
  X(mark, I32(id) I64(layer))                                                  \
  X(wait, I32(id) I64(layer))                                                  \
  X(launch, I32(id) I64(layer) OUT(arguments))                                 \
  X(cache_write, I64(tokens) I64(cell_bytes) I64(num_cells) IN(rows) IN(cells) \
                     IN(old) OUT(pool))                                        \
  X(paged_attention, I32(id) I64(tokens) IN(q) IN(keys) IN(values) IN(rows)    \
                         IN(positions) IN(table) IN(bias) IN(sinks) OUT(out))  \
  X(sample_records, I64(rows) I64(columns) I64(blocks) I64(vocabulary)         \
                        IN(logits) IN(block_numbers) IN(positions) IN(seeds)   \
                            IN(temperatures) OUT(records))                     \
  X(sample_pick,                                                               \
    I64(rows) I64(blocks) IN(records) IN(positions) IN(seeds) IN(temperatures) \
        IN(top_k) IN(top_p) IN(min_p) OUT(tokens) OUT(logprobs))               \
  X(gemms, I64(count) IN(calls))                                               \
  X(attention_backward,                                                        \
    I32(id) IN(q) IN(k) IN(v) IN(mask) IN(bias) IN(cotangent) IN(lse)          \
        IN(delta) OUT(dq) OUT(dk) OUT(dv) OUT(dbias))                          \
  X(embedding_backward, I64(tokens) I64(rows) I64(columns) I64(id_bytes)       \
                            IN(ids) IN(cotangent) IN(into) OUT(table))         \
  X(experts, I32(id) I64(rows) IN(x) IN(routing) IN(gate) IN(up) IN(down)      \
                 IN(gate_bias) IN(up_bias) IN(inside) OUT(out))                \
  X(experts_backward,                                                          \
    I32(id) I64(rows) IN(cotangent) IN(x) IN(routing) IN(gate) IN(up) IN(down) \
        IN(gate_bias) IN(up_bias) IN(inside) OUT(dx) OUT(drouting) OUT(dgate)  \
            OUT(dup) OUT(ddown) OUT(dgate_bias) OUT(dup_bias))                 \
  X(quantized_gemm,                                                            \
    I32(id) I64(rows) IN(x) I64(x_stride) IN(values) IN(scales) IN(zeros)      \
        IN(groups) IN(outer_scale) IN(bias) IN(residual) OUT(y) I64(y_stride)) \
  X(quantized_experts,                                                         \
    I32(id) I64(rows) IN(x) IN(routing) IN(gate) IN(gate_scales)               \
        IN(gate_zeros) IN(up) IN(up_scales) IN(up_zeros) IN(down)              \
            IN(down_scales) IN(down_zeros) IN(gate_bias) IN(up_bias)           \
                IN(inside) OUT(out))                                           \
  X(quantized_cache_write,                                                     \
    I64(tokens) I64(heads) I64(head_size) I64(num_cells) I64(scale_heads)      \
        I64(type) I64(element) IN(rows) IN(cells) IN(old) IN(old_scales)       \
            OUT(pool) OUT(scales))                                             \
  X(quantized_paged_attention,                                                 \
    I32(id) I64(tokens) IN(q) IN(keys) IN(key_scales) IN(values)               \
        IN(value_scales) IN(rows) IN(positions) IN(table) IN(bias) IN(sinks)   \
            OUT(out))                                                          \
  X(gated_delta_rule,                                                          \
    I64(batch) I64(seq) I64(key_heads) I64(value_heads) I64(key_size)          \
        I64(value_size) IN(q) IN(k) IN(v) IN(decay) IN(beta) OUT(out))         \
  X(gated_delta_rule_backward,                                                 \
    I64(batch) I64(seq) I64(key_heads) I64(value_heads) I64(key_size)          \
        I64(value_size) IN(cotangent) IN(q) IN(k) IN(v) IN(decay) IN(beta)     \
            OUT(dq) OUT(dk) OUT(dv) OUT(ddecay) OUT(dbeta))                    \
  X(paged_gated_delta_rule,                                                    \
    I64(tokens) I64(key_heads) I64(value_heads) I64(key_size) I64(value_size)  \
        I64(num_slots) IN(q) IN(k) IN(v) IN(decay) IN(beta) IN(slots)          \
            IN(sources) IN(pool) OUT(out) OUT(next))                           \
  X(peers, I32(id) I64(layer) IN(in) OUT(addends))

/// The layout of a sampling record: its best logits and their tokens, the
/// largest logit, the sums of exponentials relative to it, as they are and over
/// the temperature, and what wins the draw.
enum tprt_record {
  TPRT_RECORD_CANDIDATES = 64,
  TPRT_RECORD_TOKENS = TPRT_RECORD_CANDIDATES,
  TPRT_RECORD_MAXIMUM = 2 * TPRT_RECORD_CANDIDATES,
  TPRT_RECORD_SUM,
  TPRT_RECORD_TEMPERED_SUM,
  TPRT_RECORD_DRAWN_LOGIT,
  TPRT_RECORD_DRAWN_TOKEN,
  TPRT_RECORD_WORDS
};

/// One product of `gemms`: the arguments of gemm, eight bytes each.
typedef struct tprt_gemm_call {
  int64_t id, rows;
  const void *x;
  int64_t x_stride;
  const void *w, *bias, *residual;
  void *y;
  int64_t y_stride;
} tprt_gemm_call;

#define TPRT_PARAMETER_IN(name) , const void *name
#define TPRT_PARAMETER_OUT(name) , void *name
#define TPRT_PARAMETER_I32(name) , int32_t name
#define TPRT_PARAMETER_I64(name) , int64_t name
#define TPRT_PARAMETER_BODY(name) , tprt_body name
/// Expands X(name, parameters) for each function, parameters being those behind
/// the rank as C declares them.
#define TPRT_FOR_EACH_FUNCTION(X)                                              \
  TPRT_FUNCTIONS(X, TPRT_PARAMETER_IN, TPRT_PARAMETER_OUT, TPRT_PARAMETER_I32, \
                 TPRT_PARAMETER_I64, TPRT_PARAMETER_BODY)

/// The function table. Function i of the list lies at byte 8 + 8 * i.
typedef struct tprt_api {
  uint32_t abi_version;
  uint32_t function_count;
#define TPRT_MEMBER(name, parameters)                                          \
  int32_t (*name)(tprt_rank * rank parameters);
  TPRT_FOR_EACH_FUNCTION(TPRT_MEMBER)
#undef TPRT_MEMBER
} tprt_api;

/// Slots of the table in list order: TPRT_SLOT_gemm, ..., TPRT_SLOT_COUNT.
enum tprt_slot {
#define TPRT_SLOT(name, parameters) TPRT_SLOT_##name,
  TPRT_FOR_EACH_FUNCTION(TPRT_SLOT) TPRT_SLOT_COUNT
#undef TPRT_SLOT
};

/// The arguments of a step. Addresses of tensors are the device's where there
/// is one; the arrays of addresses are the host's. All memory belongs to the
/// runtime and stays where it is between the steps of a run; the step allocates
/// nothing. A state that is both an input and an output has one address. Every
/// member is eight bytes, in this order.
typedef struct tprt_step_args {
  void *const *inputs;       ///< entries[e].inputs, local shapes, row-major
  void *const *outputs;      ///< entries[e].outputs, local padded shapes
  const void *const *params; ///< parameters[p], instance i: params[base + i];
                             ///< its address
  const void *constants;     ///< the constants section
  void *arena;               ///< arena_bytes of the entry
  void *comm;                ///< comm_bytes of the entry
  void *scratch;             ///< workers * scratch_stride bytes
  int64_t scratch_stride;    ///< scratch_bytes rounded up to TPRT_ALIGNMENT
                             ///< (on a device: one scratch for all kernels)
  int64_t workers;           ///< of parallel_for, at least 1
  const int64_t *axis_index; ///< this rank's coordinate on each mesh axis
  int64_t *layer;            ///< the step writes the model's layer here, for
                             ///< calls not told it; 0 outside a repeat
} tprt_step_args;

/// One execution of an entry on one rank. Returns 0, or the first non-zero
/// status that a function of the table returned.
typedef int32_t (*tprt_step)(const tprt_api *api, tprt_rank *rank,
                             const tprt_step_args *args);

/// The result of the query symbol: entries in the manifest's order.
typedef struct tprt_program {
  uint32_t abi_version;
  uint32_t entry_count;
  const tprt_step *entries;
} tprt_program;

/// The query symbol's type. Returns null if the code does not speak the version
/// asked for. The program is immutable and lives as long as the code is mapped.
typedef const tprt_program *(*tprt_query_fn)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif // TPRT_ABI_H
