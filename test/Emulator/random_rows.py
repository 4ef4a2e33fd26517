"""Functions of random operations on tensors, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What a user could write: linalg.generic with permuted, broadcast, strided and reversed
operands, reductions over any dimensions, gathers, casts, slices, concatenations and
pads. Where one program may have two right results, far apart, it is not drawn: sums
that cancel, functions of floats as integers.
"""

import random

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 32, 33, 64, 65, 96, 127, 128, 129,
         200, 256, 513, 1000, 1024, 2049, 5000, 50257]
FLOATS = ["f32", "f32", "bf16", "f16"]
INTS = ["i64", "i32", "i1", "i8"]


def elements(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def tensor(shape, element):
    return "tensor<" + "".join(f"{s}x" for s in shape) + element + ">"


def match(shape, domain, chance):
    """A map by which a domain reads a tensor of this shape whole; None if the
    sizes are none of the domain's."""
    free = list(range(len(domain)))
    order = list(range(len(shape)))
    exprs = [None] * len(shape)
    if chance.randrange(100) < 30:
        chance.shuffle(free)
    position = -1
    for i in order:
        found = [d for d in free if domain[d] == shape[i]]
        later = [d for d in found if d > position]
        if found and (later or chance.randrange(2)):
            position = (later or found)[0]
            exprs[i] = f"d{position}"
            free.remove(position)
        elif shape[i] == 1:
            exprs[i] = "0"
        else:
            return None
    return exprs


class Rows:
    """A function of random operations on tensors."""

    def __init__(self, seed, limit=24000):
        self.random = random.Random(seed)
        self.limit = limit
        self.arguments = []  # (name, type)
        self.body = []
        self.pool = []  # (name, shape, element)
        self.used = set()
        self.counter = 0

    # -- chance ---------------------------------------------------------------

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def shape(self, rank=None):
        rank = rank or self.random.choice([1, 2, 2, 2, 3, 3, 3, 4, 5])
        while True:
            pick = SIZES if rank < 3 else SIZES[:17]
            sizes = [self.random.choice(pick) for _ in range(rank)]
            if self.chance(25):
                sizes[self.random.randrange(rank)] = 1
            if self.chance(1):
                sizes[self.random.randrange(rank)] = 0
            if elements(sizes) <= self.limit:
                return sizes

    def element(self):
        return self.random.choice(FLOATS if self.chance(80) else INTS)

    # -- values ---------------------------------------------------------------

    def name(self, prefix="%v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def emit(self, text):
        self.body.append("  " + text)

    def argument(self, shape, element):
        value = (self.name("%a"), list(shape), element)
        self.arguments.append(value)
        return value

    def keep(self, *values):
        self.pool += values
        return values[0]

    def some(self, minRank=0):
        values = [v for v in self.pool if len(v[1]) >= minRank]
        if not values or self.chance(10):
            shape = self.shape()
            while len(shape) < minRank:
                shape = self.shape()
            return self.argument(shape, self.element())
        value = self.random.choice(values[-6:])
        self.used.add(value[0])
        return value

    def empty(self, shape, element):
        name = self.name()
        self.emit(f"{name} = tensor.empty() : {tensor(shape, element)}")
        return name

    def filled(self, shape, element, number):
        scalar, name = self.name(), self.name()
        self.emit(f"{scalar} = arith.constant {number} : {element}")
        empty = self.empty(shape, element)
        self.emit(f"{name} = linalg.fill ins({scalar} : {element}) outs({empty}"
                  f" : {tensor(shape, element)}) -> {tensor(shape, element)}")
        return name

    # -- bodies ---------------------------------------------------------------

    def cast(self, lines, value, have, want):
        """A value of element type `want`."""
        if have == want:
            return value
        name = self.name()
        floats = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}
        if have in floats and want in floats:
            if floats[have] == floats[want]:
                middle = self.cast(lines, value, have, "f32")
                return self.cast(lines, middle, "f32", want)
            op = "extf" if floats[have] < floats[want] else "truncf"
        elif have in floats:
            if want in ("i1", "i8"):
                other = self.name()
                if want == "i1":
                    lines.append(f"{other} = arith.constant 0.0 : {have}")
                    lines.append(f"{name} = arith.cmpf ogt, {value}, {other} : {have}")
                    return name
                middle = self.cast(lines, value, have, "i32")
                return self.cast(lines, middle, "i32", want)
            low, high, above = self.name(), self.name(), self.name()
            lines.append(f"{low} = arith.constant -100.0 : {have}")
            lines.append(f"{high} = arith.constant 100.0 : {have}")
            lines.append(f"{above} = arith.maxnumf {value}, {low} : {have}")
            value = self.name()
            lines.append(f"{value} = arith.minnumf {above}, {high} : {have}")
            op = "fptosi"
        elif want in floats:
            op = "uitofp" if have == "i1" else "sitofp"
        elif int(have[1:]) < int(want[1:]):
            op = "extui" if have == "i1" else "extsi"
        else:
            op = "trunci"
        lines.append(f"{name} = arith.{op} {value} : {have} to {want}")
        return name

    def scalar(self, lines, operands, dims, want):
        """An expression of `operands` (name, element) and indices, of type
        `want`."""
        work = want if want in FLOATS else self.random.choice(["i32", "i64"])
        values = [self.cast(lines, v, e, work) for v, e in operands]
        if dims and self.chance(15):
            index, number = self.name(), self.name()
            lines.append(f"{index} = linalg.index {self.random.randrange(dims)} : index")
            lines.append(f"{number} = arith.index_cast {index} : index to i64")
            values.append(self.cast(lines, number, "i64", work))
        if not values:
            name = self.name()
            lines.append(f"{name} = arith.constant {'0.5' if work in FLOATS else '3'} : {work}")
            values.append(name)
        for _ in range(self.random.choice([0, 1, 1, 2, 4])):
            a, b = self.random.choice(values), self.random.choice(values)
            name = self.name()
            if work in FLOATS:
                if self.chance(55):
                    op = self.random.choice(["addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"])
                    lines.append(f"{name} = arith.{op} {a}, {b} : {work}")
                elif self.chance(20):
                    condition = self.name()
                    lines.append(f"{condition} = arith.cmpf {self.random.choice(['ogt', 'ole', 'une', 'ult'])}, {a}, {b} : {work}")
                    lines.append(f"{name} = arith.select {condition}, {a}, {b} : {work}")
                elif self.chance(20):
                    square, one, below = self.name(), self.name(), self.name()
                    lines.append(f"{square} = arith.mulf {b}, {b} : {work}")
                    lines.append(f"{one} = arith.constant 1.0 : {work}")
                    lines.append(f"{below} = arith.addf {square}, {one} : {work}")
                    lines.append(f"{name} = arith.divf {a}, {below} : {work}")
                elif self.chance(20):
                    number = self.name()
                    lines.append(f"{number} = arith.constant {self.random.choice(['3.0', '0.1', '-7.5', '1.0e30', '64.0', '1.0e-30'])} : f32")
                    lines.append(f"{name} = arith.divf {a}, {number} : {work}" if work == "f32" else f"{name} = arith.negf {a} : {work}")
                else:
                    op = self.random.choice(["math.exp", "math.tanh", "math.absf", "math.sin", "math.cos", "math.erf", "arith.negf", "math.floor", "math.ceil", "math.roundeven", "math.exp2", "math.expm1", "math.atan", "math.log1p", "math.sqrt", "math.rsqrt", "math.log", "math.powf"])
                    operand = a
                    if op in ("math.log1p", "math.sqrt", "math.rsqrt", "math.log", "math.powf"):
                        square, half, operand = self.name(), self.name(), self.name()
                        lines.append(f"{square} = arith.mulf {a}, {a} : {work}")
                        lines.append(f"{half} = arith.constant 0.5 : {work}")
                        lines.append(f"{operand} = arith.addf {square}, {half} : {work}")
                    if op == "math.powf":
                        lines.append(f"{name} = math.powf {operand}, {b} : {work}")
                    else:
                        lines.append(f"{name} = {op} {operand} : {work}")
            else:
                op = self.random.choice(["addi", "subi", "muli", "maxsi", "minsi", "xori", "andi", "ori", "maxui", "minui"])
                if self.chance(15):
                    number = self.name()
                    lines.append(f"{number} = arith.constant {self.random.choice([1, 3, 7, 64, -5])} : {work}")
                    op = self.random.choice(["divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui"])
                    b = number
                lines.append(f"{name} = arith.{op} {a}, {b} : {work}")
            values.append(name)
        return self.cast(lines, values[-1], work, want)

    # -- operations -----------------------------------------------------------

    def operand(self, domain, element=None):
        """A tensor and the map by which a domain of these sizes reads it."""
        dims = list(range(len(domain)))
        exact = [v for v in self.pool[-8:]]
        self.random.shuffle(exact)
        if self.chance(80):
            for value in exact:
                found = match(value[1], domain, self.random)
                if found:
                    self.used.add(value[0])
                    return value, found
        element = element or self.element()
        kept = [d for d in dims if self.chance(75)]
        if self.chance(35):
            self.random.shuffle(kept)
        shape, exprs = [], []
        for d in kept:
            size, kind = domain[d], self.random.randrange(20)
            if kind == 0 and size and elements(domain) * 2 < self.limit:
                shape.append(2 * size + 1), exprs.append(f"d{d} * 2 + 1")
            elif kind == 1 and size:
                shape.append(size), exprs.append(f"-d{d} + {size - 1}")
            elif kind == 2 and size > 3:
                shape.append((size + 2) // 3), exprs.append(f"d{d} floordiv 3")
            elif kind == 3 and size > 3 and size % 4 == 0:
                shape.append(4), exprs.append(f"d{d} mod 4")
            elif kind == 4:
                shape += [1, size]
                exprs += ["0", f"d{d}"]
            elif kind == 5 and size and size < 2000:
                shape.append(size + 3), exprs.append(f"d{d} + {self.random.randrange(1, 4)}")
            else:
                shape.append(size), exprs.append(f"d{d}")
        if elements(shape) > 3 * self.limit:
            return self.operand(domain, element)
        return self.argument(shape, element), exprs

    def gather(self):
        """Rows of a table that ids name, some of them outside of it."""
        ids = self.argument(self.shape(self.random.choice([1, 2])), self.random.choice(["i64", "i32"]))
        element = self.random.choice(FLOATS)
        width = self.random.choice([1, 5, 16, 33, 64])
        if elements(ids[1]) * width > self.limit:
            return None
        table = self.argument([self.random.choice([1, 3, 7, 29]), width], element)
        name, shape = self.name(), ids[1] + [width]
        self.emit(f"{name} = nn.embedding {ids[0]}, {table[0]} : ({tensor(ids[1], ids[2])}, "
                  f"{tensor(table[1], element)}) -> {tensor(shape, element)}")
        return self.keep((name, shape, element))

    def select(self):
        """Constant positions along one dimension."""
        value, shape, element = self.some(1)
        if not all(shape):
            return None
        dim = self.random.randrange(len(shape))
        count = self.random.choice([1, 2, 5])
        positions = [[self.random.randrange(shape[dim])] for _ in range(count)]
        chosen = [count] + shape[:dim] + shape[dim + 1:]
        if elements(chosen) > self.limit:
            return None
        indices, name = self.name(), self.name()
        self.emit(f"{indices} = arith.constant dense<{positions}> : tensor<{count}x1xi64>")
        self.emit(f"{name} = tensor.gather {value}[{indices}] gather_dims([{dim}]) : "
                  f"({tensor(shape, element)}, tensor<{count}x1xi64>) -> {tensor(chosen, element)}")
        return self.keep((name, chosen, element))

    def generic(self, domain, operands, maps, outs, outMaps, kinds, lines, yielded):
        """Writes the operation; returns its results."""
        results = self.name()
        n = len(outs)
        blockArguments = ", ".join(f"{v}: {e}" for v, e in
                                   [o[2] for o in operands] + [o[2] for o in outs])
        dims = ", ".join(f"d{i}" for i in range(len(domain)))
        allMaps = ", ".join(f"affine_map<({dims}) -> ({', '.join(m)})>" for m in maps + outMaps)
        iterators = ", ".join(f'"{k}"' for k in kinds)
        inputs = ""
        if operands:
            inputs = ("ins(" + ", ".join(o[0][0] for o in operands) + " : " +
                      ", ".join(tensor(o[0][1], o[0][2]) for o in operands) + ") ")
        outTypes = [tensor(o[1], o[3]) for o in outs]
        self.emit(f"{results}{':' + str(n) if n > 1 else ''} = linalg.generic "
                  f"{{indexing_maps = [{allMaps}], iterator_types = [{iterators}]}} {inputs}"
                  f"outs({', '.join(o[0] for o in outs)} : {', '.join(outTypes)}) {{")
        self.emit(f"^bb0({blockArguments}):")
        for line in lines:
            self.emit("  " + line)
        self.emit(f"  linalg.yield {', '.join(yielded)} : {', '.join(o[3] for o in outs)}")
        self.emit(f"}} -> ({', '.join(outTypes)})")
        names = [results] if n == 1 else [f"{results}#{i}" for i in range(n)]
        return [(name, list(o[1]), o[3]) for name, o in zip(names, outs)]

    def someDomain(self):
        if self.pool and self.chance(75):
            shape = list(self.random.choice(self.pool[-6:])[1])
            if not shape:
                return self.shape()
            if self.chance(25) and len(shape) < 5:
                extra = self.random.choice([1, 2, 3, 7])
                if elements(shape) * extra <= self.limit:
                    shape.insert(self.random.randrange(len(shape) + 1), extra)
            return shape
        return self.shape()

    def elementwise(self):
        domain = self.someDomain()
        operands, maps, lines = [], [], []
        for _ in range(self.random.choice([1, 1, 2, 2, 3, 4])):
            value, exprs = self.operand(domain)
            operands.append((value, None, (self.name("%in"), value[2])))
            maps.append(exprs)
        outs, outMaps = [], []
        for _ in range(self.random.choice([1, 1, 1, 2])):
            element = self.element()
            order = list(range(len(domain)))
            if self.chance(15):
                self.random.shuffle(order)
            shape = [domain[d] for d in order]
            outs.append((self.empty(shape, element), shape, (self.name("%out"), element), element))
            outMaps.append([f"d{d}" for d in order])
        values = [o[2] for o in operands]
        yielded = [self.scalar(lines, values, len(domain), o[3]) for o in outs]
        kinds = ["parallel"] * len(domain)
        return self.keep(*self.generic(domain, operands, maps, outs, outMaps, kinds, lines, yielded))

    def reduction(self):
        domain = self.someDomain()
        rank = len(domain)
        style = self.random.randrange(10)
        if style < 5:
            reduced = {rank - 1}
        elif style < 7:
            reduced = {self.random.randrange(rank)}
        else:
            reduced = {d for d in range(rank) if self.chance(50)} or {0}
        kept = [d for d in range(rank) if d not in reduced]
        if self.chance(10):
            self.random.shuffle(kept)
        operands, maps, lines = [], [], []
        for i in range(self.random.choice([1, 1, 2])):
            value, exprs = self.operand(domain)
            operands.append((value, None, (self.name("%in"), value[2])))
            maps.append(exprs)
        # Its size must follow from an operand's.
        missing = [d for d in sorted(reduced) if not any(f"d{d}" in m for m in maps)]
        if missing:
            value = self.argument([domain[d] for d in missing], self.element())
            operands.append((value, None, (self.name("%in"), value[2])))
            maps.append([f"d{d}" for d in missing])
        outShape = [domain[d] for d in kept]
        outMap = [f"d{d}" for d in kept]
        if self.chance(20):
            at = self.random.randrange(len(outShape) + 1)
            outShape.insert(at, 1)
            outMap.insert(at, "0")
        kinds = ["reduction" if d in reduced else "parallel" for d in range(rank)]
        if self.chance(10):
            return self.argmax(domain, operands, maps, outShape, outMap, kinds, reduced)
        outs, outMaps, yielded = [], [], []
        for _ in range(self.random.choice([1, 1, 1, 2])):
            element = self.random.choice(["f32", "f32", "f32", "f16", "bf16", "i64", "i32"])
            if element in FLOATS:
                op, number = self.random.choice([("addf", "0.0"), ("addf", "0.5"), ("maximumf", "0xFF800000"), ("minimumf", "100.0"), ("maxnumf", "-3.0"), ("mulf", "1.0")])
                if op == "mulf" and elements(domain) > 64 * elements(outShape):
                    op = "addf"  # roundings of equal factors all go one way
                if op in ("addf", "mulf") and element != "f32":
                    element = "f32"  # the reference rounds at every step
                if element != "f32" and number.startswith("0x"):
                    number = {"f16": "0xFC00", "bf16": "0xFF80"}[element]
            else:
                op, number = self.random.choice([("addi", "0"), ("maxsi", "-100"), ("minsi", "5"), ("xori", "9"), ("ori", "0"), ("andi", "-1"), ("muli", "1"), ("maxui", "0")])
            init = self.filled(outShape, element, number)
            if self.chance(15):
                init = self.argument(outShape, element)[0]
            accumulator = self.name("%acc")
            value = self.scalar(lines, [o[2] for o in operands], rank, element)
            if op == "mulf":  # stays near one
                small, near, one, tame = (self.name() for _ in range(4))
                lines.append(f"{tame} = math.tanh {value} : {element}")
                lines.append(f"{small} = arith.constant 0.001 : {element}")
                lines.append(f"{one} = arith.constant 1.0 : {element}")
                lines.append(f"{near} = arith.mulf {tame}, {small} : {element}")
                value = self.name()
                lines.append(f"{value} = arith.addf {near}, {one} : {element}")
            if op == "addf":  # sums that cancel are as far off as one likes
                magnitude = self.name()
                lines.append(f"{magnitude} = math.absf {value} : {element}")
                value = magnitude
            if element == "f32" and self.chance(6):  # no known combiner
                half, less = self.name(), self.name()
                lines.append(f"{half} = arith.constant 0.5 : f32")
                lines.append(f"{less} = arith.mulf {accumulator}, {half} : f32")
                left = less
            else:
                left = accumulator
            result = self.name()
            pair = (left, value) if self.chance(50) else (value, left)
            lines.append(f"{result} = arith.{op} {pair[0]}, {pair[1]} : {element}")
            outs.append((init, outShape, (accumulator, element), element))
            outMaps.append(outMap)
            yielded.append(result)
        results = self.generic(domain, operands, maps, outs, outMaps, kinds, lines, yielded)
        return self.keep(*results)

    def argmax(self, domain, operands, maps, outShape, outMap, kinds, reduced):
        lines = []
        position = self.random.choice(["i64", "i32"])
        best, at = self.name("%best"), self.name("%at")
        outs = [(self.filled(outShape, "f32", "0xFF800000"), outShape, (best, "f32"), "f32"),
                (self.filled(outShape, position, "0"), outShape, (at, position), position)]
        value, element = operands[0][2]
        value = self.cast(lines, value, element, "f32")
        index, here, greater, b, p = (self.name() for _ in range(5))
        lines += [f"{index} = linalg.index {max(reduced)} : index",
                  f"{here} = arith.index_cast {index} : index to {position}",
                  f"{greater} = arith.cmpf ogt, {value}, {best} : f32",
                  f"{b} = arith.select {greater}, {value}, {best} : f32",
                  f"{p} = arith.select {greater}, {here}, {at} : {position}"]
        return self.keep(*self.generic(domain, operands, maps, outs, [outMap, outMap],
                                       kinds, lines, [b, p]))

    def slice(self):
        value, shape, element = self.some(1)
        if not all(shape):
            return None
        offsets = [self.random.randrange(s) if self.chance(50) else 0 for s in shape]
        sizes = [self.random.randint(1, s - o) if self.chance(50) else s - o for s, o in zip(shape, offsets)]
        name = self.name()
        self.emit(f"{name} = tensor.extract_slice {value}{offsets} {sizes} {[1] * len(shape)} : "
                  f"{tensor(shape, element)} to {tensor(sizes, element)}")
        return self.keep((name, sizes, element))

    def pad(self):
        value, shape, element = self.some(1)
        if element not in FLOATS or elements(shape) > self.limit // 2:
            return None
        low = [self.random.choice([0, 0, 1, 3]) for _ in shape]
        high = [self.random.choice([0, 0, 2, 5]) for _ in shape]
        wide = [l + s + h for l, s, h in zip(low, shape, high)]
        if elements(wide) > 2 * self.limit:
            return None
        number, name = self.name(), self.name()
        self.emit(f"{number} = arith.constant 1.5 : {element}")
        self.emit(f"{name} = tensor.pad {value} low{low} high{high} {{")
        self.emit(f"^bb0({', '.join(f'%p{i}_{self.counter}: index' for i in range(len(shape)))}):")
        self.emit(f"  tensor.yield {number} : {element}")
        self.emit(f"}} : {tensor(shape, element)} to {tensor(wide, element)}")
        return self.keep((name, wide, element))

    def concat(self):
        value, shape, element = self.some(1)
        dim = self.random.randrange(len(shape))
        other = list(shape)
        other[dim] = self.random.choice([1, 3, 8])
        if elements(shape) + elements(other) > 2 * self.limit:
            return None
        second = self.argument(other, element)
        wide = list(shape)
        wide[dim] += other[dim]
        name = self.name()
        self.emit(f"{name} = tensor.concat dim({dim}) {value}, {second[0]} : ({tensor(shape, element)}, "
                  f"{tensor(other, element)}) -> {tensor(wide, element)}")
        return self.keep((name, wide, element))

    def transpose(self):
        value, shape, element = self.some(2)
        order = list(range(len(shape)))
        self.random.shuffle(order)
        wide = [shape[d] for d in order]
        empty, name = self.empty(wide, element), self.name()
        self.emit(f"{name} = linalg.transpose ins({value} : {tensor(shape, element)}) "
                  f"outs({empty} : {tensor(wide, element)}) permutation = {order}")
        return self.keep((name, wide, element))

    def collapse(self):
        value, shape, element = self.some(2)
        at = self.random.randrange(len(shape) - 1)
        groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d] for d in range(at + 2, len(shape))]
        narrow = shape[:at] + [shape[at] * shape[at + 1]] + shape[at + 2:]
        name = self.name()
        self.emit(f"{name} = tensor.collapse_shape {value} {groups} : {tensor(shape, element)} into {tensor(narrow, element)}")
        return self.keep((name, narrow, element))

    def expand(self):
        value, shape, element = self.some(1)
        if len(shape) > 4:
            return None
        at = self.random.randrange(len(shape))
        factors = [f for f in (1, 2, 3, 4, 5, 8, 13) if shape[at] % f == 0]
        factor = self.random.choice(factors)
        groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d + 1] for d in range(at + 1, len(shape))]
        wide = shape[:at] + [factor, shape[at] // factor] + shape[at + 1:]
        name = self.name()
        self.emit(f"{name} = tensor.expand_shape {value} {groups} output_shape {wide} : {tensor(shape, element)} into {tensor(wide, element)}")
        return self.keep((name, wide, element))

    def norm(self):
        value, shape, element = self.some(1)
        if element not in FLOATS or not all(shape):
            return None
        name, kind = self.name(), self.random.randrange(5)
        own = tensor(shape, element)
        if kind == 0:
            self.emit(f"{name} = nn.softmax {value} : {own}")
        elif kind == 1:
            weight = self.argument([shape[-1]], element)
            self.emit(f"{name} = nn.rms_norm {value}, {weight[0]} {{epsilon = 1.0e-5 : f64}} : ({own}, {tensor(weight[1], element)}) -> {own}")
        elif kind == 2:
            weight, bias = self.argument([shape[-1]], element), self.argument([shape[-1]], element)
            one = tensor(weight[1], element)
            self.emit(f"{name} = nn.layer_norm {value}, {weight[0]} bias {bias[0]} {{epsilon = 1.0e-2 : f64}} : ({own}, {one}, {one}) -> {own}")
        elif kind == 3:
            self.emit(f"{name} = nn.silu {value} : {own}")
        else:
            self.emit(f"{name} = nn.gelu {self.random.choice(['erf', 'tanh'])} {value} : {own}")
        return self.keep((name, shape, element))

    def constant(self):
        value, shape, element = self.some(1)
        if element not in FLOATS:
            return None
        name, result = self.name(), self.name()
        op = self.random.choice(["addf", "mulf", "maximumf"])
        own = tensor(shape, element)
        self.emit(f"{name} = arith.constant dense<{self.random.choice(['0.5', '-2.0', '3.0'])}> : {own}")
        self.emit(f"{result} = arith.{op} {value}, {name} : {own}")
        return self.keep((result, shape, element))

    def make(self):
        steps = self.random.choice([1, 2, 3, 4, 6, 9])
        operations = ([self.elementwise] * 8 + [self.reduction] * 5 + [self.norm] * 2 +
                      [self.gather, self.select, self.slice, self.pad, self.concat, self.transpose,
                       self.collapse, self.expand, self.constant])
        while steps:
            if self.random.choice(operations)():
                steps -= 1
        results = [v for v in self.pool if v[0] not in self.used or self.chance(15)]
        results = results[-5:]
        types = ", ".join(tensor(s, e) for _, s, e in results)
        arguments = ", ".join(f"{n}: {tensor(s, e)}" for n, s, e in self.arguments)
        return (f"func.func @main({arguments}) -> ({types}) {{\n" + "\n".join(self.body) +
                f"\n  return {', '.join(v[0] for v in results)} : {types}\n}}\n")
