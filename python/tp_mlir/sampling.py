"""How a token is chosen from logits: the definition, in NumPy.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Order: sequence_bias, penalties, logit_bias, exclusions (the mask's among them), temperature, top_k,
min_p, top_p, draw. Engines are judged by it; they do the same in float32, and on logits that are
split over ranks.
What is None changes nothing. Penalties and exclusions are those of transformers' logits
processors.

The draw is Gumbel-max: each candidate's logit gains a random number of its own, and the
largest sum wins, which chooses a token as often as softmax says. That number is a function
of the request's seed, the token's position in the sequence and its id alone. So each rank
draws for its part of the vocabulary and the best of the ranks' best wins, whatever their
number, and whatever else runs in the step. An example, with seed 0 at position 3:

    >>> logits = numpy.log([0.5, 0.3, 0.2])
    >>> round_ = logits + gumbel(0, 3, numpy.arange(3))
    >>> sample(logits, Params(temperature=1.0), [1, 1, 2]) == int(round_.argmax())
    True
"""

import numpy

from .engine import Logprobs, Params  # noqa: F401  (the example's)

_FACTORS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW, _WORD = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).

    Args:
        counter: four words, numbers or arrays below 2^32.
        key: two words.

    Returns:
        four arrays of uint64 below 2^32.
    """
    c = [numpy.asarray(word, numpy.uint64) for word in counter]
    for turn in range(10):
        k0, k1 = (numpy.uint64((word + turn * step) & 0xFFFFFFFF)
                  for word, step in zip(key, _STEPS))
        first, second = (c[2 * i] * numpy.uint64(factor) for i, factor in enumerate(_FACTORS))
        c = [(second >> _WORD) ^ c[1] ^ k0, second & _LOW,
             (first >> _WORD) ^ c[3] ^ k1, first & _LOW]
    return c


def gumbel(seed, position, ids):
    """A Gumbel-distributed number for each token, which are numbered in the whole vocabulary.

    The key is the seed's low and high word, the counter (id, 0, 0, position). The smallest
    numbers u, which make the largest results, are the finest: no two of a large vocabulary
    tie.
    """
    seed = int(seed) & 0xFFFFFFFFFFFFFFFF
    word = philox((ids, 0, 0, position), (seed & 0xFFFFFFFF, seed >> 32))[0]
    u = (word.astype(numpy.float64) + 0.5) * 2.0 ** -32
    return -numpy.log(-numpy.log1p(-u))


def _completed(sequence, text):
    """True if the last id of a sequence would complete it."""
    before = len(sequence) - 1
    return before <= len(text) and list(sequence[:-1]) == text[len(text) - before:]


def forced(params, prompt, generated, last):
    """The only ids that may come; none where there is no such rule."""
    if last and params.forced_eos_token_id:
        return set(params.forced_eos_token_id)
    if params.forced_bos_token_id is not None and len(prompt) + len(generated) == 1:
        return {params.forced_bos_token_id}
    return set()


def excluded(params, prompt, generated, last):
    """Ids that must not come by any other rule."""
    text, found = [*prompt, *generated], set(params.suppress_tokens or ())
    # A forced first token counts as the prompt's.
    begin = 1 if params.forced_bos_token_id is not None and len(prompt) <= 1 else 0
    if len(generated) == begin:
        found |= set(params.begin_suppress_tokens or ())
    if forced(params, prompt, generated, last):
        return found
    if len(generated) < (params.min_tokens or 0):
        found |= params.stop_ids
    size = params.no_repeat_ngram_size
    if size:
        end = text[len(text) - size + 1:]
        found |= {text[at + size - 1] for at in range(len(text) - size + 1)
                  if text[at:at + size - 1] == end}
    # An answer may end all the same.
    return found | {words[-1] for words in params.bad_words_ids or () if _completed(words, text)
                    and not (len(words) == 1 and words[0] in params.stop_ids)}


def adjusted(logits, params, prompt=(), generated=(), last=None):
    """Logits after penalties, bias and exclusions, as float64.

    Args:
        last: whether the answer has room for one token more; by default as max_tokens says.
    """
    logits, text = numpy.array(logits, numpy.float64), [*prompt, *generated]
    if last is None:
        last = params.max_tokens is not None and len(generated) + 1 >= params.max_tokens
    for sequence, bias in params.sequence_bias or ():
        if _completed(sequence, text):
            logits[sequence[-1]] += bias
    seen = numpy.unique(numpy.asarray(text, numpy.int64))
    factor = 1.0 if params.repetition_penalty is None else params.repetition_penalty
    logits[seen] = numpy.where(logits[seen] > 0, logits[seen] / factor, logits[seen] * factor)
    made, counts = numpy.unique(numpy.asarray(generated, numpy.int64), return_counts=True)
    logits[made] -= params.frequency_penalty * counts + params.presence_penalty
    for token, bias in params.logit_bias.items():
        logits[token] += bias
    start, growth = params.exponential_decay_length_penalty or (0, 1.0)
    late, ends = len(generated) - start, sorted(params.stop_ids)
    if late > 0 and ends:
        logits[ends] += numpy.abs(logits[ends]) * (growth ** late - 1)
    only = forced(params, prompt, generated, last)
    if only:
        logits[:] = -numpy.inf
        logits[sorted(only)] = 0
    logits[sorted(excluded(params, prompt, generated, last))] = -numpy.inf
    if params.mask is not None:
        words = numpy.zeros((len(logits) + 31) // 32, numpy.uint32)
        params.mask(list(generated), words)
        bits = numpy.unpackbits(words.view(numpy.uint8), bitorder="little")
        logits[bits[:len(logits)] == 0] = -numpy.inf
    return logits


def candidates(logits, params):
    """Ids that top_k, min_p and top_p leave, likeliest first, the lower id first of equals.

    Each sees the distribution that the one before has left, and leaves at least one.
    """
    order = numpy.argsort(-logits, kind="stable")
    if params.top_k:
        order = order[:params.top_k]
    shares = numpy.exp(logits[order] - logits[order[0]])
    kept = shares >= (params.min_p or 0)
    order, shares = order[kept], shares[kept]
    if params.top_p is not None and params.top_p < 1:
        # Those before whom the sum has not reached top_p.
        before = numpy.cumsum(shares) - shares
        order = order[before < max(params.top_p, 1e-300) * shares.sum()]
    return order


def sample(logits, params, prompt=(), generated=(), last=None):
    """The id of the next token after `prompt` and `generated`."""
    logits = adjusted(logits, params, prompt, generated, last)
    if not params.temperature:
        return int(numpy.argmax(logits))
    logits = logits / params.temperature
    ids = numpy.sort(candidates(logits, params))
    position = len(prompt) + len(generated)
    return int(ids[numpy.argmax(logits[ids] + gumbel(params.seed, position, ids))])


def logprobs(logits, chosen, count):
    """Logprobs of the model's own distribution: of `chosen`, and of the `count` likeliest."""
    logits = numpy.asarray(logits, numpy.float64)
    values = logits - logits.max()
    values -= numpy.log(numpy.exp(values).sum())
    best = numpy.argsort(-values, kind="stable")[:count]
    return Logprobs(float(values[chosen]), tuple((int(i), float(values[i])) for i in best))
