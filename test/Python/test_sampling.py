"""The definition of sampling: random numbers, rules one by one, and how often each token comes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import doctest

import numpy
import pytest

from tp_mlir import sampling
from tp_mlir.engine import Params

DRAWS = 100_000


@pytest.mark.parametrize("counter, key, want", [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1))])
def test_philox(counter, key, want):
    """The known answers that come with the Random123 library."""
    assert tuple(int(word) for word in sampling.philox(counter, key)) == want


def test_example():
    assert doctest.testmod(sampling).failed == 0


def test_penalties():
    logits = numpy.array([2.0, -2.0, 4.0, 0.5])
    made = sampling.adjusted(logits, Params(repetition_penalty=2.0), prompt=[0, 1], generated=[2])
    assert made.tolist() == [1.0, -4.0, 2.0, 0.5]
    params = Params(frequency_penalty=0.5, presence_penalty=0.25)
    # The prompt counts for the first penalty alone.
    assert sampling.adjusted(logits, params, [0, 1], [3, 2, 3]).tolist() == [2, -2, 3.25, -0.75]
    params = Params(repetition_penalty=2.0, presence_penalty=1.0, logit_bias={1: 9.0, 0: -0.5})
    assert sampling.adjusted(logits, params, [], [0, 1]).tolist() == [-0.5, 4.0, 4.0, 0.5]
    assert logits.tolist() == [2.0, -2.0, 4.0, 0.5]


@pytest.mark.parametrize("params, want", [
    (Params(), [3, 1, 2, 0, 4]),
    (Params(top_k=2), [3, 1]),
    (Params(top_k=9), [3, 1, 2, 0, 4]),
    (Params(min_p=0.5), [3, 1, 2]),
    (Params(min_p=0.51), [3]),
    (Params(top_p=0.39), [3]),
    (Params(top_p=0.41), [3, 1]),
    (Params(top_p=0.0), [3]),
    (Params(top_p=0.95), [3, 1, 2, 0]),
    # 0.4, 0.2, 0.2 are half, a quarter and a quarter of what the others leave.
    (Params(top_k=3, top_p=0.51), [3, 1]),
    (Params(top_k=3, top_p=0.49), [3]),
    (Params(min_p=0.3, top_p=0.76), [3, 1, 2]),
    (Params(top_k=1, min_p=1.0, top_p=1.0), [3])])
def test_candidates(params, want):
    logits = numpy.log([0.15, 0.2, 0.2, 0.4, 0.05])
    # Equal to the last bit, so that ids decide.
    logits[2] = logits[1]
    logits[3] = logits[1] + numpy.log(2.0)
    assert sampling.candidates(logits, params).tolist() == want


def test_temperature():
    logits = [1.0, 3.0, 3.0, 2.0]
    assert sampling.sample(logits, Params()) == 1
    assert sampling.sample(logits, Params(logit_bias={3: 1.5})) == 3
    assert sampling.sample(logits, Params(presence_penalty=1.0), generated=[1]) == 2
    assert {sampling.sample(logits, Params(temperature=1e-3, seed=s)) for s in range(50)} == {1, 2}


def chosen(logits, params):
    """As sample, at every position below DRAWS."""
    logits = sampling.adjusted(logits, params) / params.temperature
    ids = numpy.sort(sampling.candidates(logits, params))
    noise = sampling.gumbel(params.seed, numpy.arange(DRAWS)[:, None], ids[None, :])
    return ids[numpy.argmax(logits[ids] + noise, axis=1)]


@pytest.mark.parametrize("params", [
    Params(temperature=1.0), Params(temperature=1.0, seed=2 ** 63 + 5),
    Params(temperature=0.7, seed=1, top_k=5), Params(temperature=1.5, seed=-1, top_p=0.8),
    Params(temperature=1.0, seed=3, min_p=0.05, logit_bias={4: 2.0})])
def test_frequencies(params):
    """Chi-square against softmax; the seeds are fixed, so it holds always or never."""
    logits = numpy.random.default_rng(8).normal(0, 1.5, 9)
    logits = numpy.concatenate([logits, [-30.0]])
    ids = chosen(logits, params)
    for position in (0, 1, 77):
        one = sampling.sample(logits, params, prompt=[0] * position)
        assert one == ids[position]
    scaled = sampling.adjusted(logits, params) / params.temperature
    kept = sampling.candidates(scaled, params)
    share = numpy.exp(scaled[kept] - scaled[kept].max())
    expected = DRAWS * share / share.sum()
    counts = numpy.bincount(ids, minlength=len(logits))[kept]
    assert counts.sum() == DRAWS
    common = expected >= 5
    square = ((counts - expected)[common] ** 2 / expected[common]).sum()
    freedom = common.sum() - 1
    assert freedom >= 2 and square < freedom + 4 * (2 * freedom) ** 0.5


def test_neighbours_are_independent():
    """Neither seeds nor positions that follow each other repeat or shift the choices."""
    logits = numpy.zeros(4)
    draws = [chosen(logits, Params(temperature=1.0, seed=seed)) for seed in (0, 1, 2 ** 32)]
    for i, one in enumerate(draws):
        assert abs((one[1:] == one[:-1]).mean() - 0.25) < 0.006
        for other in draws[:i]:
            assert abs((one == other).mean() - 0.25) < 0.006
            assert abs((one[1:] == other[:-1]).mean() - 0.25) < 0.006


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_split_vocabulary(ranks):
    """The best of the ranks' best is the best, for any cut of the vocabulary."""
    logits = numpy.random.default_rng(ranks).normal(0, 2, 131)
    for position in range(200):
        best = []
        for ids in numpy.array_split(numpy.arange(131), ranks):
            scores = logits[ids] + sampling.gumbel(5, position, ids)
            best.append((scores.max(), -ids[scores.argmax()]))
        whole = sampling.sample(logits, Params(temperature=1.0, seed=5), [0] * position)
        assert -max(best)[1] == whole


def test_logprobs():
    made = sampling.logprobs(numpy.log([0.2, 0.5, 0.1, 0.2]) + 7, 2, 3)
    assert made.chosen == pytest.approx(numpy.log(0.1))
    assert [i for i, _ in made.top] == [1, 0, 3]
    assert [value for _, value in made.top] == pytest.approx(numpy.log([0.5, 0.2, 0.2]))


def test_masks():
    """Only what the mask allows comes, whatever else is asked for."""
    logits = numpy.linspace(3, -3, 70)

    def odd(generated, words):
        words[:] = 0xAAAAAAAA if not generated else 0
        words[2] |= 1 << (len(generated) % 6)
        return True

    assert sampling.sample(logits, Params(mask=odd), [5]) == 1
    assert sampling.sample(logits, Params(mask=odd, logit_bias={0: 50.0, 3: 50.0}), [5]) == 3
    assert sampling.sample(logits, Params(mask=odd, suppress_tokens=[1, 3]), [5]) == 5
    assert sampling.sample(logits, Params(mask=odd, temperature=1.0, seed=3), [5], [7, 7]) == 66
    drawn = {sampling.sample(logits, Params(mask=odd, temperature=2.0, top_k=3, seed=seed), [5])
             for seed in range(40)}
    assert drawn == {1, 3, 5}
