//===- CallParser.h - what the manifest says of library calls ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, attention and experts, each with its sizes and types.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_CALLPARSER_H
#define TPRT_FORMAT_CALLPARSER_H

#include "QuantizedParser.h"

#include <cfloat>
#include <cmath>

namespace tprt {

/// The part of the manifest's parser that reads calls.
class CallParser {
protected:
  Manifest manifest;

  bool isDevice() const { return manifest.device != Device::Cpu; }

  /// A cache, whose cells are numbered in 32 bits.
  template <typename T>
  static void parseCells(const Cursor &cursor, T &cache) {
    cache.page = cursor["page"].integer(1, INT32_MAX);
    cache.cells = cursor["cells"].integer(1, INT32_MAX);
    if (cache.cells % cache.page != 0)
      cursor["cells"].fail("expected whole pages of ", cache.page, ", got ",
                           cache.cells);
  }

  static Gemm::Activation parseActivation(const Cursor &cursor) {
    return Gemm::Activation(
        cursor.word({"none", "relu", "silu", "gelu_erf", "gelu_tanh"}));
  }

  void parseGemm(const Cursor &cursor, Gemm &g) {
    g.m = cursor["m"].size();
    g.n = cursor["n"].size();
    g.k = cursor["k"].size();
    g.xType = cursor["x_type"].floatType();
    g.wType = cursor["w_type"].floatType();
    g.yType = cursor["y_type"].floatType();
    if (g.xType != g.wType && g.xType != TPRT_F32)
      cursor["x_type"].fail("expected f32 or ", typeName(g.wType), ", got ",
                            typeName(g.xType));
    g.bias = cursor["bias"].boolean();
    g.biasType =
        cursor.has("bias_type") ? cursor["bias_type"].floatType() : TPRT_F32;
    g.activation = parseActivation(cursor["activation"]);
    if (cursor.has("scale")) {
      if (!isDevice())
        cursor["scale"].fail("expected none for device 'cpu'");
      double scale = cursor["scale"].number();
      if (!(std::fabs(scale) >= FLT_MIN && std::fabs(scale) <= FLT_MAX))
        cursor["scale"].fail("expected a normal f32 number other than 0, got ",
                             cursor["scale"].text());
      g.scale = float(scale);
    }
    g.residual = cursor["residual"].boolean();
    g.wTransposed =
        cursor.has("w_layout") && cursor["w_layout"].word({"nk", "kn"}) == 1;
    if (cursor.has("quantized"))
      g.quantized = parseQuantized(cursor["quantized"]);
    g.xTransposed =
        cursor.has("x_layout") && cursor["x_layout"].word({"mk", "km"}) == 1;
  }

  /// Reads the keys that attention to contiguous and to paged keys share.
  template <typename T>
  static void parseHeads(const Cursor &cursor, T &a) {
    a.qHeads = cursor["q_heads"].size();
    a.kvHeads = cursor["kv_heads"].size();
    if (a.qHeads % a.kvHeads != 0)
      cursor["kv_heads"].fail("expected a divisor of q_heads ", a.qHeads,
                              ", got ", a.kvHeads);
    a.headSize = cursor["head_size"].integer(1, 4096);
    a.valueSize = cursor.has("value_size")
                      ? cursor["value_size"].integer(1, 4096)
                      : a.headSize;
    a.type = cursor["type"].floatType();
    a.window = cursor["window"].integer(0, kMaxSize);
    a.scale = cursor["scale"].number();
    a.softCap = 0;
    if (cursor.has("soft_cap")) {
      a.softCap = cursor["soft_cap"].number();
      if (!(a.softCap > 0))
        cursor["soft_cap"].fail("expected a number above 0, got ", a.softCap);
    }
    if (cursor.has("sinks_type"))
      a.sinksType = cursor["sinks_type"].floatType();
  }

  void parseAttention(const Cursor &cursor, Attention &a) {
    a.batch = cursor["batch"].size();
    a.qLen = cursor["q_len"].size();
    a.kvCapacity = cursor["kv_capacity"].size();
    parseHeads(cursor, a);
    a.causal = cursor["causal"].boolean();
    a.mask = Attention::Mask(cursor["mask"].word({"none", "key_padding"}));
    a.maskType =
        cursor.has("mask_type") ? cursor["mask_type"].type() : TPRT_I64;
    if (isFloat(a.maskType))
      cursor["mask_type"].fail("expected an integer type, got ",
                               typeName(a.maskType));
    if (!cursor.has("bias_heads"))
      return;
    a.biasHeads = cursor["bias_heads"].size();
    if (a.biasHeads != 1 && a.biasHeads != a.qHeads)
      cursor["bias_heads"].fail("expected 1 or q_heads ", a.qHeads, ", got ",
                                a.biasHeads);
    a.biasType = cursor["bias_type"].floatType();
  }

  void parsePagedAttention(const Cursor &cursor, PagedAttention &a) {
    a.tokens = cursor["tokens"].size();
    parseHeads(cursor, a);
    if (cursor.has("element")) {
      a.element = parseCacheElement(cursor["element"]);
      a.scales = PagedAttention::Scales(
          cursor["scales"].word({"cells", "heads", "one"}));
      a.cacheType = cursor["cache_type"].type();
      if (a.cacheType != TPRT_I8)
        cursor["cache_type"].fail("expected i8 beside an element, got ",
                                  typeName(a.cacheType));
    } else {
      a.cacheType = cursor["cache_type"].floatType();
    }
    parseCells(cursor, a);
    a.rows = cursor["rows"].size();
    a.pages = cursor["pages"].size();
    if (cursor.has("bias_type"))
      a.biasType = cursor["bias_type"].floatType();
  }

  void parseExperts(const Cursor &cursor, Experts &e) {
    e.rows = cursor["rows"].integer(1, kMaxCount);
    e.experts = cursor["experts"].integer(1, kMaxCount);
    e.k = cursor["k"].size();
    e.f = cursor["f"].size();
    e.n = cursor["n"].size();
    e.type = cursor["type"].floatType();
    e.activation = parseActivation(cursor["activation"]);
    auto positive = [&](const char *key, float &value) {
      if (!cursor.has(key))
        return;
      value = float(cursor[key].number());
      if (!(value > 0) || !std::isfinite(value))
        cursor[key].fail("expected a finite number above 0, got ", value);
    };
    positive("alpha", e.alpha);
    positive("limit", e.limit);
    if (cursor.has("up_offset"))
      e.upOffset = float(cursor["up_offset"].number());
    if (cursor.has("scales_input"))
      e.scalesInput = cursor["scales_input"].boolean();
    if (cursor.has("quantized")) {
      e.quantized = parseQuantized(cursor["quantized"]);
      e.quantizedDown = parseQuantized(cursor["quantized_down"]);
    }
  }
};

} // namespace tprt

#endif // TPRT_FORMAT_CALLPARSER_H
