//===- RuleAttrs.cpp - Rules and budgets as attributes --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly and verification of the attributes of the per-rank program: the rule
// that partition leaves on each operation, so that what its values are can be
// derived again from local types, and the communication budget.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

Attribute RuleFactorAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t size, grain = 1, total = 0;
  if (parser.parseString(&name) || parser.parseInteger(size))
    return {};
  FactorKind kind = FactorKind::Parallel;
  ReductionKind reduction = ReductionKind::Sum;
  bool readsIndex = false;
  StringRef keyword;
  while (succeeded(parser.parseOptionalKeyword(
      &keyword, {"sum", "max", "min", "whole", "grain", "indexed", "of"}))) {
    if (keyword == "grain") {
      if (parser.parseInteger(grain))
        return {};
    } else if (keyword == "of") {
      if (parser.parseInteger(total))
        return {};
    } else if (keyword == "whole") {
      kind = FactorKind::Whole;
    } else if (keyword == "indexed") {
      readsIndex = true;
    } else {
      kind = FactorKind::Reduction;
      reduction = *symbolizeReductionKind(keyword);
    }
  }
  MLIRContext *context = parser.getContext();
  return RuleFactorAttr::get(context, StringAttr::get(context, name), size,
                             kind, grain, reduction, readsIndex, total);
}

void RuleFactorAttr::print(AsmPrinter &printer) const {
  printer << getName() << " " << getSize();
  if (getKind() == FactorKind::Whole)
    printer << " whole";
  if (getKind() == FactorKind::Reduction)
    printer << " " << stringify(getReduction());
  if (getGrain() != 1)
    printer << " grain " << getGrain();
  if (getReadsIndex())
    printer << " indexed";
  if (getTotal())
    printer << " of " << getTotal();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static ParseResult parseTensorFactors(AsmParser &parser, Attribute &result) {
  SmallVector<Attribute> dims;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<int64_t> factors;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(factors.emplace_back());
        }))
      return failure();
    dims.push_back(DenseI64ArrayAttr::get(parser.getContext(), factors));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseDim))
    return failure();
  result = ArrayAttr::get(parser.getContext(), dims);
  return success();
}

static void printTensorFactors(AsmPrinter &printer, Attribute tensor) {
  printer << "(";
  llvm::interleaveComma(cast<ArrayAttr>(tensor), printer, [&](Attribute dim) {
    printer << "[";
    llvm::interleaveComma(cast<DenseI64ArrayAttr>(dim).asArrayRef(), printer);
    printer << "]";
  });
  printer << ")";
}

Attribute RuleAttr::parse(AsmParser &parser, Type) {
  SmallVector<RuleFactorAttr> factors;
  SmallVector<Attribute> operands, results;
  SmallVector<int64_t> linearity;
  SMLoc loc = parser.getCurrentLocation();
  auto parseFactor = [&]() -> ParseResult {
    auto factor =
        dyn_cast_or_null<RuleFactorAttr>(RuleFactorAttr::parse(parser, {}));
    if (!factor)
      return failure();
    factors.push_back(factor);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseFactor) ||
      parser.parseComma())
    return {};
  if (failed(parser.parseOptionalArrow())) {
    do {
      Attribute tensor;
      if (parseTensorFactors(parser, tensor))
        return {};
      operands.push_back(tensor);
      StringRef keyword;
      Linearity kind = Linearity::None;
      if (succeeded(parser.parseOptionalKeyword(
              &keyword, {"multilinear", "additive", "initial"})))
        kind = keyword == "additive"      ? Linearity::Additive
               : keyword == "multilinear" ? Linearity::Multilinear
                                          : Linearity::Initial;
      linearity.push_back(static_cast<int64_t>(kind));
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseArrow())
      return {};
  }
  do {
    Attribute tensor;
    if (parseTensorFactors(parser, tensor))
      return {};
    results.push_back(tensor);
  } while (succeeded(parser.parseOptionalComma()));
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  auto emit = [&] { return parser.emitError(loc); };
  return RuleAttr::getChecked(
      function_ref<InFlightDiagnostic()>(emit), context,
      ArrayRef<RuleFactorAttr>(factors), ArrayAttr::get(context, operands),
      ArrayAttr::get(context, results), ArrayRef<int64_t>(linearity));
}

void RuleAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getFactors(), printer,
                        [&](RuleFactorAttr factor) { factor.print(printer); });
  printer << "], ";
  llvm::interleaveComma(llvm::zip_equal(getOperands(), getLinearity()), printer,
                        [&](auto pair) {
                          printTensorFactors(printer, std::get<0>(pair));
                          switch (static_cast<Linearity>(std::get<1>(pair))) {
                          case Linearity::None:
                            break;
                          case Linearity::Multilinear:
                            printer << " multilinear";
                            break;
                          case Linearity::Additive:
                            printer << " additive";
                            break;
                          case Linearity::Initial:
                            printer << " initial";
                            break;
                          }
                        });
  printer << (getOperands().empty() ? "-> " : " -> ");
  llvm::interleaveComma(getResults(), printer, [&](Attribute tensor) {
    printTensorFactors(printer, tensor);
  });
  printer << ">";
}

LogicalResult RuleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<RuleFactorAttr> factors,
                               ArrayAttr operands, ArrayAttr results,
                               ArrayRef<int64_t> linearity) {
  assert(linearity.size() == operands.size() &&
         "an operand without its linearity, or the other way round");
  for (RuleFactorAttr factor : factors)
    if (factor.getSize() < 1 || factor.getGrain() < 1)
      return emitError() << "expected factors and grains of at least 1, got "
                         << factor.getName() << " of size " << factor.getSize()
                         << " and grain " << factor.getGrain();
  for (ArrayAttr tensors : {operands, results})
    for (Attribute tensor : tensors)
      for (Attribute dim : cast<ArrayAttr>(tensor))
        for (int64_t factor : cast<DenseI64ArrayAttr>(dim).asArrayRef())
          if (factor < 0 || factor >= static_cast<int64_t>(factors.size()))
            return emitError() << "expected one of " << factors.size()
                               << " factors, got number " << factor;
  return success();
}

static ArrayAttr toAttr(MLIRContext *context, ArrayRef<TensorFactors> tensors) {
  SmallVector<Attribute> list;
  for (const TensorFactors &tensor : tensors) {
    SmallVector<Attribute> dims;
    for (const auto &factors : tensor.dims)
      dims.push_back(DenseI64ArrayAttr::get(
          context, SmallVector<int64_t>(factors.begin(), factors.end())));
    list.push_back(ArrayAttr::get(context, dims));
  }
  return ArrayAttr::get(context, list);
}

RuleAttr RuleAttr::get(MLIRContext *context, const ShardingRule &rule) {
  SmallVector<RuleFactorAttr> factors;
  for (const Factor &factor : rule.factors)
    factors.push_back(
        RuleFactorAttr::get(context, StringAttr::get(context, factor.name),
                            factor.size, factor.kind, factor.grain,
                            factor.reduction, factor.readsIndex, factor.total));
  SmallVector<int64_t> linearity;
  for (Linearity kind : rule.linearity)
    linearity.push_back(static_cast<int64_t>(kind));
  return RuleAttr::get(context, factors, toAttr(context, rule.operands),
                       toAttr(context, rule.results), linearity);
}

ShardingRule RuleAttr::toRule() const {
  ShardingRule rule;
  for (RuleFactorAttr attr : getFactors()) {
    unsigned index = rule.addFactor(attr.getSize(), attr.getKind(),
                                    attr.getName().getValue(), attr.getGrain());
    rule.factors[index].reduction = attr.getReduction();
    rule.factors[index].readsIndex = attr.getReadsIndex();
    rule.factors[index].total = attr.getTotal();
  }
  auto read = [](ArrayAttr from, auto &to) {
    for (Attribute tensor : from) {
      TensorFactors factors;
      for (Attribute dim : cast<ArrayAttr>(tensor)) {
        ArrayRef<int64_t> list = cast<DenseI64ArrayAttr>(dim).asArrayRef();
        factors.dims.emplace_back(list.begin(), list.end());
      }
      to.push_back(std::move(factors));
    }
  };
  read(getOperands(), rule.operands);
  read(getResults(), rule.results);
  for (int64_t kind : getLinearity())
    rule.linearity.push_back(static_cast<Linearity>(kind));
  return rule;
}

//===----------------------------------------------------------------------===//
// Budgets
//===----------------------------------------------------------------------===//

Attribute CommLimitAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  int64_t count = -1, bytes = -1;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kind))
    return {};
  // Counts and bytes are of at least zero.
  auto parseNumber = [&](StringRef keyword, int64_t &number) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseInteger(number))
      return failure();
    if (number < 0)
      return parser.emitError(at)
             << "expected a limit that is not negative for '" << kind
             << "', got " << keyword << " " << number;
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    count = bytes = 0;
  } else if (failed(parser.parseOptionalKeyword("unlimited"))) {
    if (parseNumber("count", count) || parseNumber("bytes", bytes))
      return {};
    if (count < 0 && bytes < 0) {
      parser.emitError(loc)
          << "expected 'none', 'unlimited', a count or bytes for '" << kind
          << "'";
      return {};
    }
  }
  MLIRContext *context = parser.getContext();
  return CommLimitAttr::get(context, StringAttr::get(context, kind), count,
                            bytes);
}

void CommLimitAttr::print(AsmPrinter &printer) const {
  printer << getKind().getValue();
  if (getCount() == 0 && getBytes() == 0) {
    printer << " none";
    return;
  }
  if (getCount() < 0 && getBytes() < 0)
    printer << " unlimited";
  if (getCount() >= 0)
    printer << " count " << getCount();
  if (getBytes() >= 0)
    printer << " bytes " << getBytes();
}

Attribute CommBudgetAttr::parse(AsmParser &parser, Type) {
  SmallVector<CommLimitAttr> limits;
  SMLoc loc = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  auto parseLimit = [&]() -> ParseResult {
    auto limit =
        dyn_cast_or_null<CommLimitAttr>(CommLimitAttr::parse(parser, {}));
    if (!limit)
      return failure();
    limits.push_back(limit);
    return success();
  };
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalKeyword("none")))
    limits.push_back(
        CommLimitAttr::get(context, StringAttr::get(context, "any"), 0, 0));
  else if (parser.parseCommaSeparatedList(parseLimit))
    return {};
  if (parser.parseGreater())
    return {};
  auto emit = [&] { return parser.emitError(loc); };
  return CommBudgetAttr::getChecked(function_ref<InFlightDiagnostic()>(emit),
                                    context, ArrayRef<CommLimitAttr>(limits));
}

void CommBudgetAttr::print(AsmPrinter &printer) const {
  printer << "<";
  ArrayRef<CommLimitAttr> limits = getLimits();
  // A kind that is not listed is forbidden, so that no list is the same.
  if (limits.empty() ||
      (limits.size() == 1 && limits[0].getKind().getValue() == "any" &&
       limits[0].getCount() == 0 && limits[0].getBytes() == 0))
    printer << "none";
  else
    llvm::interleaveComma(limits, printer,
                          [&](CommLimitAttr limit) { limit.print(printer); });
  printer << ">";
}

LogicalResult
CommBudgetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayRef<CommLimitAttr> limits) {
  SmallVector<StringRef> kinds{"any"};
  for (const CollectiveRow &row : collectiveRows)
    if (!row.isLocal())
      kinds.push_back(row.operation);
  llvm::SmallDenseSet<Attribute, 4> seen;
  for (CommLimitAttr limit : limits) {
    if (!llvm::is_contained(kinds, limit.getKind().getValue()))
      return emitError() << "expected a kind of collective ("
                         << llvm::join(kinds, ", ") << "), got '"
                         << limit.getKind().getValue() << "'";
    if (!seen.insert(limit.getKind()).second)
      return emitError() << "expected each kind once, got '"
                         << limit.getKind().getValue() << "' twice";
  }
  return success();
}
