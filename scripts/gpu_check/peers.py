"""What a step is judged by, measured with PyTorch on the same card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The same Llama in PyTorch (eager and torch.compile), its matrix products alone,
the fastest attention that PyTorch has, and the rate of a plain copy.
"""

import statistics

from . import programs


def seconds(torch, work, rounds=10):
    """The median of some rounds, by the device's own clock."""
    for _ in range(3):
        work()
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def in_turns(torch, works, rounds=5, at_once=3):
    """{name: the median seconds}, each contestant some times in every round, so that clocks
    and temperature are the same for all."""
    for work in works.values():
        for _ in range(2):
            work()
    times = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            for i in range(at_once + 1):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                work()
                end.record()
                end.synchronize()
                if i:  # the first follows another's work
                    times[name].append(begin.elapsed_time(end) / 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def graphed(torch, work):
    """The work as a CUDA graph, so that launches do not count; as it is if PyTorch cannot
    capture it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        torch.cuda.synchronize()
        return work
    return graph.replay


def random(torch, *shape, dtype=None):
    return torch.randn(shape, device="cuda", dtype=dtype or torch.bfloat16) * 0.02


class Model:
    def __init__(self, torch, shape, layers=None):
        self.torch, self.shape = torch, shape
        self.layers = []
        for _ in range(layers or shape.layers):
            layer = {name: random(torch, *size) for name, size in shape.products().items()}
            layer["norm1"] = layer["norm2"] = torch.ones(shape.hidden, device="cuda",
                                                         dtype=torch.bfloat16)
            self.layers.append(layer)
        self.embedding = random(torch, shape.vocabulary, shape.hidden)
        self.head = random(torch, shape.vocabulary, shape.hidden)
        half = shape.size // 2
        angle = (torch.arange(shape.tokens, device="cuda")[:, None] *
                 500000.0 ** (-torch.arange(half, device="cuda") / half))
        self.cos, self.sin = angle.cos(), angle.sin()
        self.ids = torch.randint(0, shape.vocabulary, (1, shape.tokens), device="cuda")

    def layer(self, x, w, cos, sin, attend=None):
        """Attention is causal, or what `attend` makes of queries, keys and values."""
        torch, s = self.torch, self.shape
        f = torch.nn.functional

        def heads(y, count):
            return y.view(*x.shape[:2], count, s.size).transpose(1, 2)

        def rotate(y):
            a, b = y.float().chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(y.dtype)
        y = f.rms_norm(x, (s.hidden,), w["norm1"], 1e-5)
        q = rotate(heads(f.linear(y, w["q"]), s.heads))
        k = rotate(heads(f.linear(y, w["k"]), s.kv_heads))
        v = heads(f.linear(y, w["v"]), s.kv_heads)
        y = attend(q, k, v) if attend else f.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True)
        x = x + f.linear(y.transpose(1, 2).reshape(*x.shape[:2], -1), w["o"])
        y = f.rms_norm(x, (s.hidden,), w["norm2"], 1e-5)
        return x + f.linear(f.silu(f.linear(y, w["gate"])) * f.linear(y, w["up"]), w["down"])

    def forward(self, layer):
        x = self.torch.nn.functional.embedding(self.ids, self.embedding)
        for w in self.layers:
            x = layer(x, w, self.cos, self.sin)
        return self.torch.nn.functional.linear(x[:, -1:], self.head)


class Decoder:
    """The next tokens of some texts that all have come to one position: a static cache that
    ends with these tokens, so that no mask is read and no place computed, which a loop of
    steps could not have."""

    def __init__(self, torch, llama, batch, tokens, position):
        s = llama.shape
        self.torch, self.llama, self.position = torch, llama, position
        self.ids = torch.randint(0, s.vocabulary, (batch, tokens), device="cuda")
        size = batch, s.kv_heads, position + tokens, s.size
        self.caches = [[random(torch, *size) for _ in range(2)] for _ in llama.layers]
        # By the fastest of PyTorch's ways; a few calls each, so that launching does not count.
        q, times = random(torch, batch, s.heads, tokens, s.size), {}
        ways = decoding_attentions(torch, tokens)
        for name, way in ways.items():
            try:
                times[name] = seconds(torch, lambda way=way: [way(q, *self.caches[0])
                                                              for _ in range(10)], 5)
            except Exception:  # not for this card or these shapes
                continue
        self.attention_by = min(times, key=times.get)
        self.attention = ways[self.attention_by]

    def attend(self, cache, q, k, v):
        for old, new in zip(cache, (k, v)):
            old[:, :, self.position:] = new
        return self.attention(q, *cache)

    def forward(self):
        """The tokens that follow."""
        llama, f = self.llama, self.torch.nn.functional
        x = f.embedding(self.ids, llama.embedding)
        places = slice(self.position, self.position + self.ids.shape[1])
        for w, cache in zip(llama.layers, self.caches):
            x = llama.layer(x, w, llama.cos[places], llama.sin[places],
                            lambda *qkv, cache=cache: self.attend(cache, *qkv))
        return f.linear(x[:, -1], llama.head).argmax(-1)


def decoding_attentions(torch, tokens):
    """{name: a function of queries and of all keys and values}, the queries being the last."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right
    attention = torch.nn.functional.scaled_dot_product_attention

    def grouped(q, k, v):
        """The queries that share keys as queries of one head."""
        return attention(q.view(q.shape[0], k.shape[1], -1, q.shape[3]), k, v).view(q.shape)

    def shared(q, k, v):
        return attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]),
                         enable_gqa=True)

    def repeated(q, k, v):
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
        return attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]))
    # One token sees all keys.
    forms = {"grouped": grouped} if tokens == 1 else {"shared": shared, "repeated": repeated}

    def by(backend, form):
        def way(q, k, v):
            with sdpa_kernel(backend):
                return form(q, k, v)
        return way
    return {f"{backend.name}, keys {name}": by(backend, form) for name, form in forms.items()
            for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION,
                            SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)}


def products(torch, llama, library=None):
    """Every matrix product of a step, one after the other, nothing between, as a graph;
    `library`: which of PyTorch's two, where it can be chosen."""
    s = llama.shape
    inputs = {size: random(torch, s.tokens, size)
              for size in {inner for _, inner in s.products().values()}}
    linear = torch.nn.functional.linear

    def work():
        for w in llama.layers:
            for name, (_, inner) in s.products().items():
                linear(inputs[inner], w[name])
        linear(inputs[s.hidden][-1:], llama.head)
    return with_library(torch, library, lambda: graphed(torch, work))


def training_products(torch, llama, library=None):
    """The products of a step's forward and backward, as a graph: each with its derivatives by
    the input and by the weight."""
    s = llama.shape
    weights = [(w[name], *size) for w in llama.layers for name, size in s.products().items()]
    weights.append((llama.head, *llama.head.shape))
    values = {size: random(torch, s.tokens, size) for _, *sizes in weights for size in sizes}

    def work():
        for weight, outer, inner in weights:
            torch.mm(values[inner], weight.t())
            torch.mm(values[outer], weight)
            torch.mm(values[outer].t(), values[inner])
    return with_library(torch, library, lambda: graphed(torch, work))


def training_step(torch, shape, compiles):
    """A step with PyTorch's fused AdamW, all in bf16: it moves fewer bytes than one with f32
    masters, moments and gradients."""
    llama = Model(torch, shape)
    parameters = [llama.embedding, llama.head, *(w for layer in llama.layers
                                                 for w in layer.values())]
    # A layer's two norms may be one tensor.
    parameters = list({id(w): w.requires_grad_() for w in parameters}.values())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    layer = compiled_layer(torch, llama) if compiles else llama.layer
    labels = llama.ids.roll(-1, 1).view(-1)
    f = torch.nn.functional

    def loss_of(x):
        return f.cross_entropy(f.linear(x, llama.head).view(-1, shape.vocabulary).float(), labels)
    head = torch.compile(loss_of, dynamic=False) if compiles else loss_of

    def work():
        x = f.embedding(llama.ids, llama.embedding)
        for w in llama.layers:
            x = layer(x, w, llama.cos, llama.sin)
        head(x).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return work


def with_library(torch, library, work):
    if library is None:
        return work()
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library(library)
    try:
        return work()
    finally:
        torch.backends.cuda.preferred_blas_library(before)


def products_each(torch, llama):
    """{name: seconds of that product in all layers}, to see which one loses."""
    s, times = llama.shape, {}
    for name, (_, inner) in s.products().items():
        x = random(torch, s.tokens, inner)

        def work(name=name, x=x):
            for w in llama.layers:
                torch.nn.functional.linear(x, w[name])
        times[name] = round(min(seconds(torch, with_library(
            torch, library, lambda work=work: graphed(torch, work)), 3)
            for library in (None, "cublaslt")), 6)
    return times


def attention_seconds(torch, shape):
    """The fastest causal attention of one layer, and whose it was."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q = random(torch, 1, shape.heads, shape.tokens, shape.size)
    k, v = (random(torch, 1, shape.kv_heads, shape.tokens, shape.size) for _ in range(2))
    best = None
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION,
                    SDPBackend.EFFICIENT_ATTENTION):
        for repeated in (False, True):
            keys = [x.repeat_interleave(shape.heads // shape.kv_heads, 1) if repeated else x
                    for x in (k, v)]

            def work():
                with sdpa_kernel(backend):
                    for _ in range(10):  # so that launching them does not count
                        torch.nn.functional.scaled_dot_product_attention(
                            q, *keys, is_causal=True, enable_gqa=not repeated)
            try:
                took = seconds(torch, work) / 10
            except RuntimeError:
                continue
            if best is None or took < best[0]:
                best = took, f"{backend.name}{', KV repeated before' if repeated else ''}"
    return best


def compiled_layer(torch, llama):
    return torch.compile(llama.layer, dynamic=False)


def compiled_row(torch, kernel, shape, element):
    """A call of torch.compile's kernel for PyTorch's definition, on the same shape and type."""
    torch._dynamo.reset()  # what one shape taught it does not serve another
    program = programs.program(kernel, element, [shape])
    values = programs.random_inputs(program.inputs, torch, "cuda")
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[element]
    tables = programs.tables(kernel, torch, shape, "cuda")

    def work(inputs):
        return {name: value.to(kind) for name, value in
                programs.reference(kernel, torch, inputs, 0, shape, tables).items()}
    compiled = torch.compile(work, dynamic=False)
    return lambda: compiled(values)


def copy(torch, size=1 << 29):
    """A copy on the device, and the bytes it reads and writes."""
    a, b = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    return lambda: b.copy_(a), 2 * size


def host_rate(torch, size=1 << 30):
    """Bytes per second from pinned memory to the device."""
    a = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    b = torch.empty(size, dtype=torch.uint8, device="cuda")
    return size / seconds(torch, lambda: b.copy_(a, non_blocking=True), 5)
