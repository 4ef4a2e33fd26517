//===- Lanes.cpp - Execute bytecode on the lanes of a register file -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One switch over the opcodes; each case is a loop over the lanes that the
// compiler vectorises, followed by rounding to the result's type.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tp::interp {

static void roundLanes(double *values, int64_t n, ElementType type) {
  if (type.kind == ElementType::F32) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = double(float(values[i]));
  } else if (type.kind != ElementType::F64) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = roundTo(type, values[i]);
  }
}

/// Whether any correct program gets the exact result where that is
/// representable; functions are approximated.
static bool isCorrectlyRounded(Opcode opcode) {
  switch (opcode) {
  case Opcode::AddF:
  case Opcode::SubF:
  case Opcode::MulF:
  case Opcode::DivF:
  case Opcode::Sqrt:
  case Opcode::Fma:
  case Opcode::TruncF:
    return true;
  default:
    return false;
  }
}

/// Whether nothing is rounded.
static bool isExact(Opcode opcode) {
  switch (opcode) {
  case Opcode::NegF:
  case Opcode::AbsF:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::Round:
  case Opcode::RoundEven:
  case Opcode::Trunc:
  case Opcode::ExtF:
  case Opcode::RemF:
  case Opcode::MaximumF:
  case Opcode::MinimumF:
  case Opcode::MaxNumF:
  case Opcode::MinNumF:
  case Opcode::CopySign:
    return true;
  default:
    return false;
  }
}

/// Round results to `type`, in a disturbed run after changing them.
static void finishLanes(Opcode opcode, double *values, int64_t n,
                        ElementType type, Disturber *disturber) {
  if (disturber && !isExact(opcode)) {
    bool canBeExact = isCorrectlyRounded(opcode);
    for (int64_t i = 0; i < n; ++i)
      values[i] = disturber->disturb(type, values[i], canBeExact);
  }
  roundLanes(values, n, type);
}

static void wrapLanes(int64_t *values, int64_t n, ElementType type) {
  if (type.width == 64)
    return;
  for (int64_t i = 0; i < n; ++i)
    values[i] = wrapTo(type, values[i]);
}

static uint64_t zeroExtend(ElementType type, int64_t value) {
  return type.width == 64 ? uint64_t(value)
                          : uint64_t(value) & ((uint64_t(1) << type.width) - 1);
}

/// An i1 is stored as 0 or 1; as a signed number its 1 is -1.
static int64_t signExtend(ElementType type, int64_t value) {
  return type.width == 1 ? -value : value;
}

static bool compareFloat(arith::CmpFPredicate predicate, double x, double y) {
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return x == y;
  case arith::CmpFPredicate::OGT:
    return x > y;
  case arith::CmpFPredicate::OGE:
    return x >= y;
  case arith::CmpFPredicate::OLT:
    return x < y;
  case arith::CmpFPredicate::OLE:
    return x <= y;
  case arith::CmpFPredicate::ONE:
    return !unordered && x != y;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || x == y;
  case arith::CmpFPredicate::UGT:
    return unordered || x > y;
  case arith::CmpFPredicate::UGE:
    return unordered || x >= y;
  case arith::CmpFPredicate::ULT:
    return unordered || x < y;
  case arith::CmpFPredicate::ULE:
    return unordered || x <= y;
  case arith::CmpFPredicate::UNE:
    return unordered || x != y;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  return false;
}

static bool compareInt(arith::CmpIPredicate predicate, ElementType type,
                       int64_t x, int64_t y) {
  int64_t sx = signExtend(type, x), sy = signExtend(type, y);
  uint64_t ux = zeroExtend(type, x), uy = zeroExtend(type, y);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return sx < sy;
  case arith::CmpIPredicate::sle:
    return sx <= sy;
  case arith::CmpIPredicate::sgt:
    return sx > sy;
  case arith::CmpIPredicate::sge:
    return sx >= sy;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  return false;
}

/// The float with these bits, and the bits of a float.
static double fromBits(ElementType type, int64_t bits) {
  switch (type.kind) {
  case ElementType::F64:
    return std::bit_cast<double>(bits);
  case ElementType::F32:
    return std::bit_cast<float>(uint32_t(bits));
  case ElementType::BF16:
    return std::bit_cast<float>(uint32_t(bits) << 16);
  default:
    return llvm::APFloat(llvm::APFloat::IEEEhalf(),
                         llvm::APInt(16, uint64_t(bits) & 0xFFFF))
        .convertToDouble();
  }
}
static int64_t toBits(ElementType type, double value) {
  switch (type.kind) {
  case ElementType::F64:
    return std::bit_cast<int64_t>(value);
  case ElementType::F32:
    return int32_t(std::bit_cast<uint32_t>(float(value)));
  case ElementType::BF16:
    return int16_t(std::bit_cast<uint32_t>(float(value)) >> 16);
  default: {
    llvm::APFloat half(value);
    bool losesInfo;
    half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return half.bitcastToAPInt().getSExtValue();
  }
  }
}

/// tensor.extract on each lane.
static bool extract(const Instruction &instruction, Lanes &lanes, int64_t n,
                    const LaneContext &context, std::string &error) {
  const Tensor &tensor = context.captured[instruction.a];
  SmallVector<int64_t> strides = tensor.getStrides();
  bool isFloat = instruction.opcode == Opcode::ExtractF;
  for (int64_t i = 0; i < n; ++i) {
    int64_t address = 0;
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
      uint16_t reg = context.indices[instruction.immediate + dim];
      int64_t index = lanes.intRegister(reg)[i];
      if (index < 0 || index >= tensor.getShape()[dim]) {
        error = llvm::formatv("index out of range: expected 0 <= index < {0} "
                              "in dimension {1}, got {2}",
                              tensor.getShape()[dim], dim, index);
        return false;
      }
      address += index * strides[dim];
    }
    if (isFloat)
      lanes.floatRegister(instruction.target)[i] = tensor.getFloat(address);
    else
      lanes.intRegister(instruction.target)[i] = tensor.getInt(address);
  }
  return true;
}

bool execute(ArrayRef<Instruction> instructions, Lanes &lanes, int64_t n,
             const LaneContext &context, std::string &error) {
  bool fault = false;
  auto divide = [&](int64_t x, int64_t y) -> int64_t {
    if (y == 0) {
      fault = true;
      return 0;
    }
    return y == -1 ? int64_t(-uint64_t(x)) : x / y;
  };
  auto remainder = [&](int64_t x, int64_t y) -> int64_t {
    if (y == 0) {
      fault = true;
      return 0;
    }
    return y == -1 ? 0 : x % y;
  };
  auto floorDivide = [&](int64_t x, int64_t y) -> int64_t {
    int64_t quotient = divide(x, y);
    return y != 0 && quotient * y != x && ((x < 0) != (y < 0)) ? quotient - 1
                                                               : quotient;
  };
  auto divideUnsigned = [&](uint64_t x, uint64_t y) -> uint64_t {
    fault |= y == 0;
    return y == 0 ? 0 : x / y;
  };
  auto remainderUnsigned = [&](uint64_t x, uint64_t y) -> uint64_t {
    fault |= y == 0;
    return y == 0 ? 0 : x % y;
  };

  for (const Instruction &instruction : instructions) {
    auto f = [&](uint16_t reg) { return lanes.floatRegister(reg); };
    auto s = [&](uint16_t reg) { return lanes.intRegister(reg); };
    ElementType type = instruction.type, from = instruction.from;
    uint16_t target = instruction.target;
    switch (instruction.opcode) {
#define FLOAT1(NAME, OP, VALUE)                                                \
  case Opcode::NAME: {                                                         \
    const double *a = f(instruction.a);                                        \
    double *result = f(target);                                                \
    for (int64_t i = 0; i < n; ++i) {                                          \
      double x = a[i];                                                         \
      result[i] = VALUE;                                                       \
    }                                                                          \
    finishLanes(Opcode::NAME, result, n, type, context.disturber);             \
    break;                                                                     \
  }
#define FLOAT2(NAME, OP, VALUE)                                                \
  case Opcode::NAME: {                                                         \
    const double *a = f(instruction.a), *b = f(instruction.b);                 \
    double *result = f(target);                                                \
    bool isSum = Opcode::NAME == Opcode::AddF || Opcode::NAME == Opcode::SubF; \
    Disturber *disturber = context.disturber;                                  \
    for (int64_t i = 0; i < n; ++i) {                                          \
      double x = a[i], y = b[i];                                               \
      result[i] = VALUE;                                                       \
      if (isSum && disturber)                                                  \
        result[i] = disturber->disturbAddition(type, result[i], x, y);         \
    }                                                                          \
    finishLanes(Opcode::NAME, result, n, type, isSum ? nullptr : disturber);   \
    break;                                                                     \
  }
#define INT2(NAME, OP, VALUE)                                                  \
  case Opcode::NAME: {                                                         \
    const int64_t *a = s(instruction.a), *b = s(instruction.b);                \
    int64_t *result = s(target);                                               \
    for (int64_t i = 0; i < n; ++i) {                                          \
      int64_t x = signExtend(type, a[i]), y = signExtend(type, b[i]);          \
      result[i] = VALUE;                                                       \
    }                                                                          \
    wrapLanes(result, n, type);                                                \
    break;                                                                     \
  }
#define UNSIGNED2(NAME, OP, VALUE)                                             \
  case Opcode::NAME: {                                                         \
    const int64_t *a = s(instruction.a), *b = s(instruction.b);                \
    int64_t *result = s(target);                                               \
    for (int64_t i = 0; i < n; ++i) {                                          \
      uint64_t x = zeroExtend(type, a[i]), y = zeroExtend(type, b[i]);         \
      result[i] = int64_t(VALUE);                                              \
    }                                                                          \
    wrapLanes(result, n, type);                                                \
    break;                                                                     \
  }
#include "Opcodes.def"
    case Opcode::Fma: {
      const double *a = f(instruction.a), *b = f(instruction.b);
      const double *c = f(instruction.c);
      double *result = f(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = std::fma(a[i], b[i], c[i]);
      finishLanes(instruction.opcode, result, n, type, context.disturber);
      break;
    }
    case Opcode::FPowI: {
      const double *a = f(instruction.a);
      const int64_t *b = s(instruction.b);
      double *result = f(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = std::pow(a[i], double(b[i]));
      finishLanes(instruction.opcode, result, n, type, context.disturber);
      break;
    }
    case Opcode::CmpF: {
      const double *a = f(instruction.a), *b = f(instruction.b);
      int64_t *result = s(target);
      auto predicate = arith::CmpFPredicate(instruction.immediate);
      for (int64_t i = 0; i < n; ++i)
        result[i] = compareFloat(predicate, a[i], b[i]);
      break;
    }
    case Opcode::CmpI: {
      const int64_t *a = s(instruction.a), *b = s(instruction.b);
      int64_t *result = s(target);
      auto predicate = arith::CmpIPredicate(instruction.immediate);
      for (int64_t i = 0; i < n; ++i)
        result[i] = compareInt(predicate, from, a[i], b[i]);
      break;
    }
    case Opcode::SelectF: {
      const int64_t *condition = s(instruction.a);
      const double *b = f(instruction.b), *c = f(instruction.c);
      double *result = f(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = condition[i] ? b[i] : c[i];
      break;
    }
    case Opcode::SelectI: {
      const int64_t *condition = s(instruction.a), *b = s(instruction.b);
      const int64_t *c = s(instruction.c);
      int64_t *result = s(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = condition[i] ? b[i] : c[i];
      break;
    }
    case Opcode::SIToFP:
    case Opcode::UIToFP: {
      const int64_t *a = s(instruction.a);
      double *result = f(target);
      bool isSigned = instruction.opcode == Opcode::SIToFP;
      for (int64_t i = 0; i < n; ++i)
        result[i] = isSigned ? double(signExtend(from, a[i]))
                             : double(zeroExtend(from, a[i]));
      roundLanes(result, n, type);
      break;
    }
    case Opcode::FPToSI:
    case Opcode::FPToUI: {
      const double *a = f(instruction.a);
      int64_t *result = s(target);
      bool isSigned = instruction.opcode == Opcode::FPToSI;
      for (int64_t i = 0; i < n; ++i) {
        double value = std::trunc(a[i]);
        double limit = std::ldexp(1.0, isSigned ? type.width - 1 : type.width);
        if (!(value < limit && value >= (isSigned ? -limit : 0.0))) {
          error = llvm::formatv("expected a number that fits {0} bits, got {1}",
                                type.width, a[i]);
          return false;
        }
        result[i] = isSigned ? int64_t(value) : int64_t(uint64_t(value));
      }
      wrapLanes(result, n, type);
      break;
    }
    case Opcode::SignExtend:
    case Opcode::ZeroExtend: {
      const int64_t *a = s(instruction.a);
      int64_t *result = s(target);
      bool isSigned = instruction.opcode == Opcode::SignExtend;
      for (int64_t i = 0; i < n; ++i)
        result[i] =
            isSigned ? signExtend(from, a[i]) : int64_t(zeroExtend(from, a[i]));
      wrapLanes(result, n, type);
      break;
    }
    case Opcode::AbsI: {
      const int64_t *a = s(instruction.a);
      int64_t *result = s(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = a[i] < 0 ? int64_t(-uint64_t(a[i])) : a[i];
      wrapLanes(result, n, type);
      break;
    }
    case Opcode::MulHighU:
    case Opcode::MulHighS: {
      const int64_t *a = s(instruction.a), *b = s(instruction.b);
      int64_t *result = s(target);
      for (int64_t i = 0; i < n; ++i) {
        unsigned __int128 product =
            instruction.opcode == Opcode::MulHighU
                ? (unsigned __int128)zeroExtend(type, a[i]) *
                      zeroExtend(type, b[i])
                : (unsigned __int128)((__int128)signExtend(type, a[i]) *
                                      signExtend(type, b[i]));
        result[i] = int64_t(uint64_t(product >> type.width));
      }
      wrapLanes(result, n, type);
      break;
    }
    case Opcode::BitcastToFloat: {
      double *result = f(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = from.isFloat()
                        ? fromBits(type, toBits(from, f(instruction.a)[i]))
                        : fromBits(type, s(instruction.a)[i]);
      break;
    }
    case Opcode::BitcastToInt: {
      int64_t *result = s(target);
      for (int64_t i = 0; i < n; ++i)
        result[i] = from.isFloat() ? toBits(from, f(instruction.a)[i])
                                   : s(instruction.a)[i];
      wrapLanes(result, n, type);
      break;
    }
    case Opcode::LoopIndex: {
      int64_t *result = s(target);
      int64_t dim = instruction.immediate;
      int64_t start = context.position[dim];
      int64_t step = dim == context.laneDim ? 1 : 0;
      for (int64_t i = 0; i < n; ++i)
        result[i] = start + i * step;
      break;
    }
    case Opcode::ExtractF:
    case Opcode::ExtractI:
      if (!extract(instruction, lanes, n, context, error))
        return false;
      break;
    }
    if (fault) {
      error = "division by zero";
      return false;
    }
  }
  return true;
}

} // namespace tp::interp
