//===- RandomCollective.h - collectives and their definition ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random ledger entries over random parts of random meshes, values that every
// type holds exactly, and the result by definition, element by element.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_RANDOMCOLLECTIVE_H
#define TPRT_TEST_RANDOMCOLLECTIVE_H

#include "TestUtil.h"

#include <algorithm>
#include <cstring>

namespace tprt::test {

/// Elements as doubles, whatever the type.
inline std::vector<double> read(tprt_type type, const std::string &bytes) {
  std::vector<double> values;
  for (size_t i = 0; i < bytes.size() / typeBytes(type); ++i) {
    const char *p = bytes.data() + i * typeBytes(type);
    float wide;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case TPRT_I64:
      std::memcpy(&i64, p, 8);
      values.push_back(double(i64));
      break;
    case TPRT_I32:
      std::memcpy(&i32, p, 4);
      values.push_back(i32);
      break;
    case TPRT_I8:
      values.push_back(*reinterpret_cast<const signed char *>(p));
      break;
    default:
      simd().widen(type, p, &wide, 1);
      values.push_back(wide);
    }
  }
  return values;
}

/// Small integers, exact in every type, so that sums have one right answer.
inline std::string randomValues(tprt_type type, int64_t count,
                                std::mt19937 &random) {
  std::string bytes(count * typeBytes(type), '\0');
  for (int64_t i = 0; i < count; ++i) {
    char *p = bytes.data() + i * typeBytes(type);
    int64_t value = int64_t(random() % 15) - 7;
    float wide = float(value);
    int32_t i32 = int32_t(value);
    switch (type) {
    case TPRT_I64:
      std::memcpy(p, &value, 8);
      break;
    case TPRT_I32:
      std::memcpy(p, &i32, 4);
      break;
    case TPRT_I8:
      *p = char(value);
      break;
    default:
      simd().narrow(type, &wide, p, 1);
    }
  }
  return bytes;
}

inline int64_t at(const Shape &shape, const Shape &index) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    offset = offset * shape[d] + index[d];
  return offset;
}

/// The definition: element `index` of member `self`'s result; 0 for padding.
inline double expected(const Collective &c, int64_t self, const Shape &index,
                       const std::vector<std::vector<double>> &in) {
  const CollectiveRow &row = c.row();
  Shape from = index;
  int64_t source = self, gathered = c.gatheredDim(), cut = c.cutDim();
  if (row.permutes()) {
    auto pair = std::find_if(c.pairs.begin(), c.pairs.end(),
                             [&](auto pair) { return pair.second == self; });
    return pair == c.pairs.end() ? 0 : in[pair->first][at(c.inputShape, from)];
  }
  if (gathered >= 0) {
    source = index[gathered] / c.inputShape[gathered];
    from[gathered] %= c.inputShape[gathered];
  }
  if (cut >= 0) {
    from[cut] += self * c.outputShape[cut];
    if (from[cut] >= c.inputShape[cut])
      return 0;
  }
  if (!row.reduces())
    return in[source][at(c.inputShape, from)];
  double result = in[0][at(c.inputShape, from)];
  for (size_t j = 1; j < in.size(); ++j) {
    double x = in[j][at(c.inputShape, from)];
    result = c.reduction == Reduction::Sum   ? result + x
             : c.reduction == Reduction::Max ? std::max(result, x)
                                             : std::min(result, x);
  }
  return result;
}

struct Picker {
  std::mt19937 random{kSeed};
  int64_t operator()(int64_t low, int64_t high) {
    return low + int64_t(random() % (high - low + 1));
  }
};

/// A random entry over a random part of a random mesh.
inline Collective randomEntry(Picker &pick, const Mesh &mesh) {
  Collective c{};
  do
    c.kind = CollectiveKind(pick(0, int64_t(numCollectiveKinds) - 1));
  while (c.row().isLocal());
  c.reduction = Reduction(pick(0, 2));
  c.type = tprt_type(pick(0, 5));
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    int64_t size = mesh.axes[a].size;
    switch (pick(0, 3)) {
    case 0:
      break;
    case 1:
      if (size % 2 == 0) {
        c.axes.push_back(pick(0, 1) ? AxisRef{int64_t(a), 1, 2}
                                    : AxisRef{int64_t(a), size / 2, 2});
        break;
      }
      [[fallthrough]];
    default:
      c.axes.insert(pick(0, 1) ? c.axes.begin() : c.axes.end(),
                    AxisRef{int64_t(a), 1, size});
    }
  }
  int64_t members = shardCount(c.axes);
  int64_t rank = pick(2, 4);
  for (int64_t d = 0; d < rank; ++d)
    c.inputShape.push_back(pick(1, 9));
  if (pick(0, 19) == 0) { // more than one thread takes
    rank = 2;
    c.inputShape = {pick(1, 2), pick(33000, 40000)};
  }
  c.outputShape = c.inputShape;
  c.dim = pick(0, rank - 1);
  c.splitDim = (c.dim + pick(1, rank - 1)) % rank;
  auto scatter = [&](int64_t d) {
    c.outputShape[d] =
        (c.inputShape[d] + members - 1) / members + pick(0, 3) / 3;
  };
  auto gather = [&](int64_t d) {
    int64_t full = c.inputShape[d] * members;
    c.outputShape[d] = full - pick(0, std::min<int64_t>(full - 1, 4));
  };
  if (c.row().gathers())
    gather(c.gatheredDim());
  if (c.row().cuts())
    scatter(c.cutDim());
  if (c.row().permutes()) {
    std::vector<int64_t> to(members);
    for (int64_t i = 0; i < members; ++i)
      to[i] = i;
    std::shuffle(to.begin(), to.end(), pick.random);
    for (int64_t i = 0; i < members; ++i)
      if (pick(0, 4))
        c.pairs.push_back({i, to[i]});
  }
  return c;
}

} // namespace tprt::test

#endif // TPRT_TEST_RANDOMCOLLECTIVE_H
