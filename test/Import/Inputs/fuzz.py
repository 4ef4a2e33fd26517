# Breaks the files of checkpoints at random and imports them: whatever happens,
# tp-import ends with 0, or with 1, an error on stderr and no output file.
#
#   fuzz.py FIXTURES WORK --seed N --count N
#
# Each case has its own seed, which a failure prints; --only SEED repeats one.

import argparse
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

ODD_VALUES = [
    0, -1, 1, 2, 3, 7, 2**31, 2**53, 2**63 - 1, -2**63, 10**30, 0.5, -0.0, 1e-300,
    1e308, None, True, False, "", "x", "\u0000", "llama", "é" * 100, [], {}, [[]],
    {"a": {"b": []}}, [1] * 1000, {"rope_type": "linear"}, {"": None},
    [2**62, 2**62], [-1, -1], [0, 0], "../config.json", "/etc/hostname", "F64",
]


def mutate_value(rng, value, depth=0):
    """Some part of a JSON value replaced, removed or doubled."""
    if isinstance(value, (dict, list)) and value and depth < 5 \
            and rng.random() < 0.9:
        value = dict(value) if isinstance(value, dict) else list(value)
        key = rng.choice(list(value) if isinstance(value, dict)
                         else range(len(value)))
        action = rng.random()
        if action < 0.15:
            del value[key]
        elif action < 0.25 and isinstance(value, dict):
            value[rng.choice(["x", "quantization_config", key + key])] = \
                value[key]
        elif action < 0.3 and isinstance(value, list):
            value.append(value[key])
        else:
            value[key] = mutate_value(rng, value[key], depth + 1)
        return value
    if isinstance(value, int) and rng.random() < 0.4:
        return value + rng.choice([-1, 1, 8, value])
    return rng.choice(ODD_VALUES)


def mutate_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(data) + 1)
        action = rng.random()
        if action < 0.1:
            del data[at:]
        elif action < 0.3:
            del data[at:at + rng.randrange(1, 9)]
        elif action < 0.5:
            data[at:at] = rng.choice([
                b"{" * 100000, b"[" * 33, b'"', b"\\", b"\xff\xfe", b"\0", b"}",
                b"1e999", b",", b"\xed\xa0\x80"])
        elif at < len(data):
            data[at] = rng.randrange(256)
        if not data:
            break
    return bytes(data)


def mutate_json(rng, data):
    if rng.random() < 0.3:
        return mutate_bytes(rng, data)
    value = json.loads(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        value = mutate_value(rng, value)
    return json.dumps(value).encode()


def mutate_safetensors(rng, data):
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = data[8:8 + length], data[8 + length:]
    action = rng.random()
    if action < 0.1:
        return data[:rng.randrange(len(data))]
    if action < 0.25:
        odd = rng.choice([0, 1, 7, length - 1, length + 1, len(data), 2**32,
                          2**63, 2**64 - 1, 2**64 - 8, 10**8, 10**8 + 1])
        return struct.pack("<Q", odd) + data[8:]
    header = mutate_json(rng, header)
    return struct.pack("<Q", len(header)) + header + rest


def run_case(fixtures, work, seed):
    rng = random.Random(seed)
    name = rng.choice(["llama-old-spelling", "llama-sharded", "gpt2-hub",
                       "bert-sentence", "qwen2", "mistral-window"])
    target = work / "checkpoint"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(fixtures / name, target)
    files = [p for p in sorted(target.rglob("*")) if p.is_file() and
             p.name not in ("fixture.json", "inputs.safetensors",
                            "expected.safetensors", "sentence_bert_config.json")]
    config = target / "config.json"
    path = config if rng.random() < 0.5 else rng.choice(files)
    mutate = mutate_safetensors if path.suffix == ".safetensors" else mutate_json
    path.write_bytes(mutate(rng, path.read_bytes()))

    output = work / "out.mlir"
    output.unlink(missing_ok=True)
    result = subprocess.run(["tp-import", target, "-o", output],
                            capture_output=True, timeout=60)
    ok = result.returncode == 0 and output.exists()
    refused = (result.returncode == 1 and b"error: " in result.stderr and
               not output.exists())
    if not ok and not refused:
        sys.stderr.buffer.write(result.stderr[-2000:])
        sys.exit(f"seed {seed}: {name}/{path.name} ended with "
                 f"{result.returncode}")
    return ok


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fixtures", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    seeds = [args.only] if args.only is not None else \
        [args.seed * 1000003 + i for i in range(args.count)]
    accepted = sum(run_case(args.fixtures, args.work, s) for s in seeds)
    print(f"{len(seeds)} cases from seed {seeds[0]}: {accepted} accepted, "
          f"{len(seeds) - accepted} refused")


if __name__ == "__main__":
    main()
