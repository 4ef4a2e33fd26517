"""tp-plan: how many devices a model needs, and what they will do, without having them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import sys

from .. import _checkpoint, _version
from .._errors import UsageError, exit_code
from . import (_check, _figures, _measure, _page, _profile, _recommend, _service, _table, _units,
               _work)

_FORMATS = {"table": _table.as_text, "json": _table.as_json, "csv": _table.as_csv,
            "html": _page.as_html}
_SUFFIXES = {".json": "json", ".csv": "csv", ".html": "html", ".htm": "html"}
_PLANS = ("megatron", "megatron-sp", "expert", "expert-sp", "replicated")
_UNITS = {"serve": "a token", "train": "a step", "run": "a run"}


def _parser():
    parser = argparse.ArgumentParser(
        prog="tp-plan", description="Size the ranks that a model needs, without weights and "
        "without devices.", epilog="docs/Plan.md says how each figure is made.")
    _version.add(parser)
    parser.add_argument("model", metavar="DIR|model.mlir", nargs="?",
                        help="checkpoint folder, of which config.json is enough, or a program")
    parser.add_argument("--gpu", metavar="NAME|FILE.json", default="h100", help="device: " +
                        ", ".join(_profile.known()) + " or a profile of your own (default: h100)")
    parser.add_argument("--degrees", metavar="1,2,...", default="1,2,4,8",
                        help="tensor-parallel degrees (default: %(default)s)")
    parser.add_argument("--plans", metavar="P,...", default="megatron",
                        help=", ".join(_PLANS) + ", FILE.json (default: megatron)")
    parser.add_argument("--ranks-per-node", metavar="N", type=int,
                        help="ranks that share a node (default: the profile's)")
    parser.add_argument("--latency", metavar="MS", type=float,
                        help="milliseconds that a token, or a step of training, may take")
    parser.add_argument("--rate", metavar="R", type=float,
                        help="tokens a second of the whole service: how many replicas it takes, and "
                             "of how many users each unless --users says")
    parser.add_argument("--price", metavar="P", type=float,
                        help="what one device costs an hour: what an hour and a million tokens cost "
                             "(default: the profile's, if it has one)")
    parser.add_argument("--dtype", metavar="T", help="f32, bf16 or f16 (default: the "
                        "checkpoint's)")
    parser.add_argument("--quantize", metavar="FORMAT",
                        help="quantise the weights while they are read, as tp-compile does: int8, "
                             "int4-g128, ... (default: they stay as they are)")
    parser.add_argument("--untie", action="store_true", default=None,
                        help="the head is a parameter of its own, whatever config.json says")
    parser.add_argument("--ignore", metavar="NAME,...",
                        help="tensors that the checkpoint is read without")
    serve = parser.add_argument_group("serving")
    serve.add_argument("--context", metavar="C", type=int,
                       help="tokens of a user, at most (default: 4096, or the model's limit)")
    serve.add_argument("--kv-dtype", metavar="T",
                       help="type of the cache: f32, bf16, f16, fp8 or int8 (default: --dtype)")
    serve.add_argument("--users", metavar="U", type=int,
                       help="served at once by one replica (default: 1, or as --rate needs)")
    serve.add_argument("--prompt", metavar="P", type=int,
                       help="tokens of the prompt whose time is told (default: the context)")
    train = parser.add_argument_group("training")
    train.add_argument("--train", metavar="adamw|sgd", help="a step of training instead")
    train.add_argument("--accumulate", metavar="N", type=int, help="micro-batches of a step "
                       "(default: 1)")
    train.add_argument("--dp", metavar="D", type=int, help="data-parallel groups (default: 1)")
    train.add_argument("--shard-optimizer", metavar="AXIS", help="the mesh axis, dp as a rule, over "
                       "which moments and masters are divided (default: none)")
    train.add_argument("--recompute", metavar="WHAT", help="none, selective or full (default: "
                       "selective)")
    run = parser.add_argument_group("training, or one run of the program (the default of encoders "
                                    "and of .mlir files)")
    run.add_argument("--seq", metavar="S", type=int, help="tokens of a sequence")
    run.add_argument("--batch", metavar="B", type=int, help="sequences at once, of each "
                     "data-parallel group")
    parser.add_argument("--format", choices=_FORMATS, help="default: what the name of --output "
                        "ends in, or else table")
    parser.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path,
                        help="where to (default: standard output)")
    parser.add_argument("--measure", metavar="FILE.json", type=pathlib.Path,
                        help="measure this machine's processor instead, and write its profile")
    parser.add_argument("--check", action="store_true", help="also run the program on this "
                        "machine's processor, and say how far the figures are off")
    return parser


def _config(given):
    """What config.json says; nothing for a program."""
    model = pathlib.Path(given)
    if model.is_file() and model.suffix == ".mlir":
        return None
    _checkpoint.check_model(given, expected="a checkpoint folder or a .mlir file")
    return _checkpoint.read_config(
        model, ": a checkpoint folder has one; it is all that tp-plan needs of it")


def _limits(model):
    """_checkpoint.read_limits, or nothing for a program."""
    return _checkpoint.read_limits(model) if pathlib.Path(model).is_dir() else None


def _degrees(text):
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise UsageError("tp-plan", 2, "for --degrees: expected positive integers with commas "
                         f"between them, such as 1,2,4,8, got '{text}'")
    return sorted({int(part) for part in text.split(",")})


def _plans(text):
    for plan in (plans := text.split(",")):
        if plan not in _PLANS and not plan.endswith(".json"):
            raise UsageError("tp-plan", 2, f"for --plans: expected some of {', '.join(_PLANS)} and "
                             f"files that end in .json, got '{plan}'")
    return plans


def _positive(args):
    for name in ("context", "users", "prompt", "accumulate", "dp", "seq", "batch",
                 "ranks_per_node", "latency", "rate", "price"):
        value = getattr(args, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UsageError("tp-plan", 2, f"for --{name.replace('_', '-')}: expected a positive "
                             f"number, got {value}")


def _refuse_together(args, names, why):
    for name in names:
        if getattr(args, name) is not None:
            raise UsageError("tp-plan", 2, f"for --{name.replace('_', '-')}: {why}")


def _workload(args, config):
    """What is to be sized."""
    if config is None:
        _refuse_together(args, ("train", "context", "users", "prompt", "seq", "batch", "dtype",
                                "kv_dtype", "accumulate", "dp", "recompute", "shard_optimizer",
                                "untie", "rate", "quantize"),
                         "has no meaning for a .mlir file, which says all of what it computes")
        return _work.Workload("run", ignore=args.ignore)
    read = {"untie": bool(args.untie), "ignore": args.ignore, "quantize": args.quantize}
    serves = any(kind in name for name in config.get("architectures") or ()
                 for kind in ("CausalLM", "LMHead", "ConditionalGeneration"))
    if args.train is not None:
        _refuse_together(args, ("context", "users", "prompt", "kv_dtype"),
                         "has no meaning with --train, whose sequences are --seq and --batch")
        _refuse_together(args, ("rate",), "has no meaning with --train: --dp and --accumulate say "
                         "how many sequences a step has")
        if args.shard_optimizer is not None and args.dp is None:
            raise UsageError("tp-plan", 2, "for --shard-optimizer: expected --dp D beside it, the "
                             "data-parallel groups over which the optimizer is divided")
        return _work.Workload("train", seq=args.seq or _sequence(args.model), batch=args.batch or 1,
                              optimizer=args.train, accumulate=args.accumulate or 1,
                              recompute=args.recompute, dtype=args.dtype, **read, data=args.dp or 1,
                              shard_optimizer=args.shard_optimizer)
    _refuse_together(args, ("accumulate", "dp", "recompute", "shard_optimizer"),
                     "has no meaning without --train")
    if not serves or args.seq is not None or args.batch is not None:
        _refuse_together(args, ("context", "users", "prompt", "kv_dtype"),
                         "has no meaning for one run of a program, which --seq, --batch or an "
                         "encoder asks for")
        return _work.Workload("run", seq=args.seq or _sequence(args.model), batch=args.batch or 1,
                              dtype=args.dtype, **read)
    context = args.context
    if context is None:
        limits = _limits(args.model)
        context = min(4096, limits["positions"], limits["longest_generated"])
    prompt = args.prompt
    if prompt is not None and prompt > context:
        raise UsageError("tp-plan", 2, f"for --prompt: expected at most the context, {context}, "
                         f"got {prompt}")
    return _work.Workload("serve", context=context, users=args.users or 1, prompt=prompt,
                          dtype=args.dtype, kv_dtype=args.kv_dtype, **read)


def _sequence(model):
    return min(128, _limits(model)["positions"])


def _title(args, workload, profile):
    name = pathlib.Path(args.model).resolve().name
    if workload.kind == "serve":
        users = f"{workload.users} user{'s' if workload.users > 1 else ''}"
        if args.rate and args.users is None:
            users = f"as many users as give {_units.count_text(args.rate)} tokens/s,"
        what = (f"{users} of up to {workload.context} tokens; prefill of "
                f"{workload.prompt or workload.context}")
    elif workload.seq is None:
        what = "a run"
    else:
        what = (f"{'training on' if workload.kind == 'train' else 'a run of'} {workload.batch} x "
                f"{workload.seq} tokens")
        if workload.accumulate > 1:
            what += f", {workload.accumulate} times a step"
        if workload.shard_optimizer:
            what += f", optimizer divided over {workload.shard_optimizer}"
    return f"{name} on {profile.name}, {profile.ranks_per_node} ranks a node: {what}"


def _trust(profile):
    if profile.measured:
        return ("Memory is the compiler's plan. Times are roofline estimates from figures measured "
                "on the machine of the profile.")
    return ("Memory is the compiler's plan. Times are roofline estimates from data-sheet peaks and "
            "assumed efficiencies, not measurements.")


def _of_limits(limits):
    """A note where the longest context is not the file's own word."""
    if limits and not limits["is_stated"]:
        yield (f"config.json does not say how many positions a sequence may have: "
               f"{limits['positions']}, the default of transformers")


def _compiled(model, workload, profile, degrees, plans, rate, latency, users):
    """(Candidate, Workload) of each plan and degree."""
    pairs = [(plan, degree) for plan in plans for degree in degrees]
    if rate is not None and workload.kind == "serve" and users is None:
        return _work.each(_service.Loads(model, workload, profile, rate, latency).best, pairs)
    return [(candidate, workload) for candidate in _work.each(
        lambda plan, degree: _work.compile_one(model, workload, plan, degree, profile.target),
        pairs)]


def _divided(model, workload, profile, rows):
    """Rows of those candidates that do not fit, but would with the optimizer divided over dp."""
    if workload.kind != "train" or workload.data == 1 or workload.shard_optimizer:
        return []
    divided = dataclasses.replace(workload, shard_optimizer="dp")
    short = [row for row in rows if row.get("fits") is False]
    found = _work.each(
        lambda plan, degree: _work.compile_one(model, divided, plan, degree, profile.target),
        [(row["plan"], row["degree"]) for row in short])
    rows = [_figures.describe(candidate, divided, profile) for candidate in found]
    return [row for row in rows if row.get("fits")]


def _check_sized(rows):
    """Raises ValueError if no row has figures; a reason that all have is said once."""
    if any("memory" in row for row in rows):
        return
    if len(reasons := {row["refusal"] for row in rows}) == 1:
        reason = reasons.pop()
        # The compiler names an option of ours where that is what is wrong.
        raise UsageError("tp-plan", 2, reason) if reason.startswith("expected --") else ValueError(
            reason)
    raise ValueError("no degree and plan asked for can be sized:\n" + "\n".join(
        f"{row['mesh']} with {row['plan']}: {row['refusal']}" for row in rows))


def plan(model, workload, profile, degrees, plans, latency=None, config=None, check=False,
         rate=None, users=None):
    """Sizes a model: the report that every format has the content of.

    Args:
        model: a checkpoint's folder, of which config.json is enough, or a .mlir file.
        workload: a Workload.
        profile: a Profile, or what `--gpu` takes: the name of one, or a file.
        degrees, plans: lists; every plan is sized at every degree.
        latency: seconds that a token, a step or a run may take; none: any.
        config: config.json's content.
        check: also run what this machine's cores can run.
        rate: tokens a second that all replicas are to give together; none: one replica.
        users: those of each replica; none, where there is a rate: as it needs.

    Raises:
        ValueError: no candidate can be sized; UsageError: a word of the command line is wrong.
    """
    if isinstance(profile, (str, os.PathLike)):
        profile = _profile.read(os.fspath(profile))
    compiled = _compiled(model, workload, profile, degrees, plans, rate, latency, users)
    sized = any(candidate.refusal is None for candidate, _ in compiled)
    limits = _limits(model) if sized else None
    # A rotation may be stretched farther than the file says; who asks for that gets it.
    limit = limits and min(limits["longest_generated"],
                           max(limits["positions"], workload.context or 0))
    rows = [_figures.describe(candidate, load, profile, limit) for candidate, load in compiled]
    _check_sized(rows)
    for row, (_, load) in zip(rows, compiled):
        _service.add_prices(row, load, profile)
        if rate is not None:
            _service.add_replicas(row, rate)
    divided = _divided(model, workload, profile, rows)
    checks = _check.check(model, workload, profile, [candidate for candidate, _ in compiled], rows,
                          config) if check else []
    return {"checks": checks, "profile": profile.name, "measured": profile.measured,
            "unit": _UNITS[workload.kind],
            "sources": {what: {"value": figure.value, "unit": unit, "source": figure.source}
                        for what, figure, unit in profile.figures()},
            "efficiency": {**profile.efficiency, **{link.name: link.efficiency
                                                    for link in profile.links}},
            "rows": rows,
            "notes": [*_recommend.notes(rows, workload, profile, divided), *_of_limits(limits)],
            "recommendation": _recommend.sentence(rows, workload, profile, latency, rate, divided)}


def _run(args):
    if args.measure:
        if not args.measure.parent.is_dir():
            raise ValueError(f"{args.measure}: there is no folder {args.measure.parent}")
        text = json.dumps(_measure.measure(), indent=2)
        args.measure.write_text(text + "\n", encoding="utf-8")
        return 0
    if args.model is None:
        raise UsageError("tp-plan", 2, "expected a checkpoint folder or a .mlir file, or --measure")
    _positive(args)
    degrees, plans, profile = _degrees(args.degrees), _plans(args.plans), _profile.read(args.gpu)
    if args.ranks_per_node:
        profile = _profile.with_nodes(profile, args.ranks_per_node)
    if args.price:
        profile = _profile.with_price(profile, args.price)
    config = _config(args.model)
    if args.check and args.rate:
        raise UsageError("tp-plan", 2, "for --check: has no meaning with --rate, as this machine is "
                         "no service of replicas")
    if args.check and config is None:
        raise UsageError("tp-plan", 2, "for --check: expected a checkpoint folder, as it is tokens "
                         "that the program is run on")
    workload = _workload(args, config)
    report = {"title": _title(args, workload, profile), "trust": _trust(profile),
              **plan(args.model, workload, profile, degrees, plans,
                     args.latency and args.latency / 1e3, config, args.check, args.rate, args.users)}
    ending = _SUFFIXES.get(args.output.suffix, "table") if args.output else "table"
    text = _FORMATS[args.format or ending](report)
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def main(arguments=None):
    args = _parser().parse_args(arguments)
    try:
        return _run(args)
    except (ValueError, OSError, RuntimeError, TypeError) as error:
        print(f"tp-plan: {error}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return 130
