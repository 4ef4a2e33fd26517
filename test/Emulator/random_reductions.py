"""Functions of reductions with any body, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Written from the definition of linalg.generic alone: its body runs at every position of
the loops, the reduction loops first to last, and what it yields is the accumulator of
the next step. So beside sums, maxima and minima there are products, differences,
recurrences, prefix sums over another result, logic and shifts of booleans and narrow
integers, accumulators that start from an argument, and reductions of one element.
"""

import random

SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 70, 129, 402]
FLOATS = ["f32", "f32", "f32", "bf16", "f16"]
INTS = ["i64", "i32", "i8", "i1"]
WIDTH = {"i64": 64, "i32": 32, "i8": 8, "i1": 1}
MOST = 60000


def tensor(shape, element):
    return "tensor<" + "".join(f"{s}x" for s in shape) + element + ">"


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


class Reductions:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.counter = 0
        self.arguments, self.body, self.results = [], [], []

    def name(self, prefix="%v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def pick(self, *of):
        return self.random.choice(of)

    # -- scalars --------------------------------------------------------------

    def constant(self, lines, element):
        name = self.name("%c")
        if element in WIDTH:
            number = self.pick(0, 1, -1, 2, 3, 7) if element != "i1" else self.pick("true", "false")
        else:
            number = self.pick("0.0", "-0.0", "1.0", "-1.0", "0.5", "2.0", "3.25")
        text = number if element == "i1" else f"{number} : {element}"
        lines.append(f"{name} = arith.constant {text}")
        return name

    def cast(self, lines, value, have, want):
        """`value` as another type, without numbers that do not fit."""
        if have == want:
            return value
        name = self.name()
        if have in WIDTH and want in WIDTH:
            op = "trunci" if WIDTH[want] < WIDTH[have] else self.pick("extsi", "extui")
        elif have in WIDTH:
            # A large number would leave no digits of what it is added to.
            small, seven = self.name(), self.name("%c")
            if WIDTH[have] > 8:
                lines.append(f"{seven} = arith.constant 7 : {have}")
                lines.append(f"{small} = arith.andi {value}, {seven} : {have}")
                value = small
            op = self.pick("sitofp", "uitofp") if WIDTH[have] <= 8 else "sitofp"
        elif want in WIDTH:
            zero = self.name("%c")
            lines.append(f"{zero} = arith.constant 0.25 : {have}")
            if want == "i1":
                lines.append(f"{name} = arith.cmpf {self.pick('ogt', 'ole', 'une')}, {value}, {zero} : {have}")
                return name
            bit = self.name()
            lines.append(f"{bit} = arith.cmpf {self.pick('olt', 'uge')}, {value}, {zero} : {have}")
            lines.append(f"{name} = arith.{self.pick('extsi', 'extui')} {bit} : i1 to {want}")
            return name
        else:
            bits = {"f32": 32, "bf16": 16, "f16": 16}
            if bits[have] == bits[want]:
                wide = self.name()
                lines.append(f"{wide} = arith.extf {value} : {have} to f32")
                value, have = wide, "f32"
            op = "extf" if bits[want] > bits[have] else "truncf"
        lines.append(f"{name} = arith.{op} {value} : {have} to {want}")
        return name

    def term(self, lines, pool, rank, element, depth):
        """A value of type `element` that depends on `pool` and the position."""
        if depth == 0 or self.chance(25):
            if self.chance(12):
                return self.constant(lines, element)
            if self.chance(15) and rank:
                index, number = self.name(), self.name()
                lines.append(f"{index} = linalg.index {self.random.randrange(rank)} : index")
                lines.append(f"{number} = arith.index_cast {index} : index to i64")
                return self.cast(lines, number, "i64", element)
            value, have = self.random.choice(pool)
            return self.cast(lines, value, have, element)
        a = self.term(lines, pool, rank, element, depth - 1)
        b = a if self.chance(10) else self.term(lines, pool, rank, element, depth - 1)
        name = self.name()
        if self.chance(15):
            condition = self.name()
            if element in WIDTH:
                compare = f"arith.cmpi {self.pick('slt', 'uge', 'eq', 'sgt', 'ule')}"
            else:
                compare = f"arith.cmpf {self.pick('olt', 'oge', 'une')}"
            lines.append(f"{condition} = {compare}, {a}, {b} : {element}")
            lines.append(f"{name} = arith.select {condition}, {a}, {b} : {element}")
        elif element in WIDTH:
            op = self.pick("addi", "subi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori", "shrui", "shli", "divsi", "remui")
            if op in ("shrui", "shli", "divsi", "remui"):
                if element == "i1":
                    op = "xori"
                else:
                    b = self.name("%c")
                    lines.append(f"{b} = arith.constant {self.pick(1, 3)} : {element}")
            lines.append(f"{name} = arith.{op} {a}, {b} : {element}")
        elif self.chance(15):
            lines.append(f"{name} = math.{self.pick('absf', 'tanh', 'exp')} {a} : {element}")
        else:
            op = self.pick("addf", "subf", "mulf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf")
            lines.append(f"{name} = arith.{op} {a}, {b} : {element}")
        return name

    def step(self, lines, out, term, others, element):
        """What one step makes of the accumulator `out`."""
        name = self.name()

        def emit(op, a, b):
            lines.append(f"{name} = arith.{op} {a}, {b} : {element}")
            return name

        isInt = element in WIDTH
        suffix = "i" if isInt else "f"
        kind = self.random.randrange(100)
        if kind < 25:
            return emit("add" + suffix, *self.random.sample([out, term], 2))
        if kind < 35:
            return emit("sub" + suffix, out, term)
        if kind < 40:
            return emit("sub" + suffix, term, out)
        if kind < 48:
            return emit("mul" + suffix, *self.random.sample([out, term], 2))
        if kind < 68:
            ops = ["maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori"] if isInt else [
                "maximumf", "minimumf", "maxnumf", "minnumf"]
            return emit(self.random.choice(ops), *self.random.sample([out, term], 2))
        if kind < 76:  # two terms
            first = self.name()
            lines.append(f"{first} = arith.{self.pick('add', 'sub')}{suffix} {out}, {term} : {element}")
            return emit(self.pick("add", "sub") + suffix, first, self.constant(lines, element))
        if kind < 82:  # two kinds
            first = self.name()
            lines.append(f"{first} = arith.add{suffix} {out}, {term} : {element}")
            return emit("maxsi" if isInt else "maximumf", first, self.constant(lines, element))
        if kind < 86 and others:  # reads another accumulator
            first = self.name()
            lines.append(f"{first} = arith.add{suffix} {out}, {term} : {element}")
            return emit("add" + suffix, first, self.cast(lines, *self.random.choice(others), element))
        if kind < 90:  # fades
            half, less = self.name("%c"), self.name()
            if isInt:
                return emit("xori", out, term)
            lines.append(f"{half} = arith.constant 0.5 : {element}")
            lines.append(f"{less} = arith.mulf {out}, {half} : {element}")
            return emit("addf", less, term)
        if kind < 94:  # chosen
            condition = self.name()
            compare = "cmpi sgt" if isInt else "cmpf ogt"
            lines.append(f"{condition} = arith.{compare}, {term}, {out} : {element}")
            lines.append(f"{name} = arith.select {condition}, {term}, {out} : {element}")
            return name
        if kind < 97 and element in ("bf16", "f16"):  # widened for the step
            wide, other = self.name(), self.cast(lines, term, element, "f32")
            lines.append(f"{wide} = arith.extf {out} : {element} to f32")
            total = self.name()
            lines.append(f"{total} = arith.{self.pick('addf', 'maximumf')} {wide}, {other} : f32")
            lines.append(f"{name} = arith.truncf {total} : f32 to {element}")
            return name
        if not isInt and kind < 98:
            lines.append(f"{name} = math.fma {term}, {term}, {out} : {element}")
            return name
        return self.pick(term, out)

    # -- operations -----------------------------------------------------------

    def argument(self, shape, element):
        name = self.name("%a")
        attribute = ""
        if element in WIDTH and element != "i1":
            attribute = f" {{tp.range = array<i64: {self.pick('0, 2', '-3, 4', '-100, 100')}>}}"
        self.arguments.append(f"{name}: {tensor(shape, element)}{attribute}")
        return name

    def initial(self, shape, element):
        if self.chance(50):
            return self.argument(shape, element)
        name = self.name("%o")
        if element == "i1":
            number = self.pick("true", "false")
        elif element in WIDTH:
            number = self.pick(0, 0, 1, -1, 5)
        else:
            infinity = {"f32": "0xFF800000", "bf16": "0xFF80", "f16": "0xFC00"}
            number = self.pick("0.0", "0.0", "-0.0", "1.0", "2.5", infinity[element])
        self.body.append(f"  {name} = arith.constant dense<{number}> : {tensor(shape, element)}")
        return name

    def generic(self):
        rank = self.pick(0, 1, 1, 2, 2, 2, 3, 3, 4)
        while True:
            domain = [self.random.choice(SIZES) for _ in range(rank)]
            if product(domain) <= MOST:
                break
        reduced = [d for d in range(rank) if self.chance(55)]
        if rank and not reduced:
            reduced = [self.random.randrange(rank)]
        kept = [d for d in range(rank) if d not in reduced]
        ins, maps, pool = [], [], []
        for number in range(self.pick(1, 1, 2, 3)):
            dims = [d for d in range(rank) if number == 0 or self.chance(60)]
            if self.chance(30):
                self.random.shuffle(dims)
            exprs = [f"{domain[d] - 1} - d{d}" if self.chance(12) else f"d{d}" for d in dims]
            shape = [domain[d] for d in dims]
            element = self.random.choice(FLOATS if self.chance(60) else INTS)
            scalar = self.name("%in")
            ins.append((self.argument(shape, element), tensor(shape, element), scalar, element))
            maps.append(exprs)
            pool.append((scalar, element))
        if not all(any(f"d{d}" == e for m in maps for e in m) for d in range(rank)):
            shape = domain
            scalar = self.name("%in")
            ins.append((self.argument(shape, "f32"), tensor(shape, "f32"), scalar, "f32"))
            maps.append([f"d{d}" for d in range(rank)])
            pool.append((scalar, "f32"))
        if self.chance(20):
            self.random.shuffle(kept)
        lines, outs, yields, others = [], [], [], []
        numOuts = self.pick(1, 1, 1, 2, 3)
        for _ in range(numOuts):
            element = self.random.choice(FLOATS if self.chance(60) else INTS)
            outs.append((self.initial([domain[d] for d in kept], element),
                         tensor([domain[d] for d in kept], element), self.name("%acc"), element))
        for _, _, out, element in outs:
            term = self.term(lines, pool, rank, element, self.random.randrange(3))
            accumulators = [(o[2], o[3]) for o in outs if o[2] != out]
            value = self.step(lines, out, term, accumulators + others, element)
            others.append((value, element))
            yields.append((value, element))
        outMap = [f"d{d}" for d in kept]
        kinds = ", ".join(f'"{"reduction" if d in reduced else "parallel"}"' for d in range(rank))
        dims = ", ".join(f"d{d}" for d in range(rank))
        texts = [f"affine_map<({dims}) -> ({', '.join(m)})>" for m in maps + [outMap] * numOuts]
        result = self.name("%r")
        results = f"{result}:{numOuts}" if numOuts > 1 else result
        types = [o[1] for o in outs]
        self.body += [
            f"  {results} = linalg.generic {{indexing_maps = [{', '.join(texts)}], iterator_types = [{kinds}]}}",
            f"      ins({', '.join(i[0] for i in ins)} : {', '.join(i[1] for i in ins)})",
            f"      outs({', '.join(o[0] for o in outs)} : {', '.join(types)}) {{",
            "  ^bb0(" + ", ".join(f"{x[2]}: {x[3]}" for x in ins + outs) + "):",
            *("    " + line for line in lines),
            f"    linalg.yield {', '.join(y[0] for y in yields)} : {', '.join(y[1] for y in yields)}",
            "  } -> " + (f"({', '.join(types)})" if numOuts > 1 else types[0])]
        for i, type in enumerate(types):
            self.results.append((f"{result}#{i}" if numOuts > 1 else result, type))

    def make(self):
        for _ in range(self.pick(1, 1, 2)):
            self.generic()
        types = ", ".join(type for _, type in self.results)
        return "\n".join([
            f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{",
            *self.body,
            f"  return {', '.join(name for name, _ in self.results)} : {types}",
            "}", ""])
