"""tp-plan: how many devices a model needs, and what they will do, without having them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import json
import os
import pathlib
import sys

from .. import _checkpoint, _command_line, _signals, _units
from .._errors import UsageError, writing
from . import (_check, _figures, _measure, _options, _page, _profile, _recommend, _service, _table,
               _work)
from ._options import wrong

_AS_TEXT = dict(zip(_options.FORMATS, (_table.as_text, _table.as_json, _table.as_csv,
                                       _page.as_html), strict=True))
_UNITS = {"serve": "a token", "train": "a step", "run": "a run"}
_DEGREES = (1, 2, 4, 8)
# Exit code where no candidate fits and meets the latency.
_NONE = 3


def _is_program(given):
    return pathlib.Path(given).is_file() and pathlib.Path(given).suffix == ".mlir"


def _config(given):
    """What config.json says; nothing for a program."""
    if _is_program(given):
        return None
    return _checkpoint.read_config(
        pathlib.Path(given), ": a checkpoint folder has one; it is all that tp-plan needs of it")


def _limits(model):
    """_checkpoint.read_limits, or nothing for a program."""
    return _checkpoint.read_limits(model) if pathlib.Path(model).is_dir() else None


def _refuse_together(args, names, why):
    for name in names:
        if getattr(args, name) is not None:
            raise wrong(f"--{name.replace('_', '-')}", why)


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
            raise wrong("--shard-optimizer", "expected --dp D beside it, the data-parallel groups "
                        "over which the optimizer is divided")
        if args.shard_optimizer not in (None, "dp"):
            raise wrong("--shard-optimizer", "expected dp, the axis of the data-parallel groups, got "
                        f"'{args.shard_optimizer}'")
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
        raise wrong("--prompt", f"expected at most the context, {context}, got {prompt}")
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
        if workload.data > 1:
            what += f" in each of {workload.data} groups"
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
    if limits and limits.get("reason"):
        yield f"A context is of at most {limits['longest_generated']:,} tokens: {limits['reason']}."


def _compiled(model, workload, profile, degrees, plans, rate, latency, users):
    """(Candidate, Workload) of each plan and degree."""
    pairs = [(plan, degree) for plan in plans for degree in degrees]
    if rate is not None and workload.kind == "serve" and users is None:
        return _work.each(_service.Loads(model, workload, profile, rate, latency).best, pairs)
    return [(candidate, workload) for candidate in _work.each(
        lambda plan, degree: _work.compile_one(model, workload, plan, degree, profile.target,
                                                profile.figures_text),
        pairs)]


def _divided(model, workload, profile, rows):
    """Rows of those candidates that do not fit, but would with the optimizer divided over dp."""
    if workload.kind != "train" or workload.data == 1 or workload.shard_optimizer:
        return []
    divided = dataclasses.replace(workload, shard_optimizer="dp")
    short = [row for row in rows if row.get("fits") is False]
    found = _work.each(
        lambda plan, degree: _work.compile_one(model, divided, plan, degree, profile.target,
                                                profile.figures_text),
        [(row["plan"], row["degree"]) for row in short])
    rows = [_figures.describe(candidate, divided, profile) for candidate in found]
    return [row for row in rows if row.get("fits")]


def _with_more_groups(model, workload, profile, rows):
    """Rows of those candidates that do not fit, but would with the optimizer divided over more
    groups: of each the fewest that were tried."""
    found = []
    for row in rows:
        for groups in _recommend.groups_to_try(row, workload) if row.get("fits") is False else ():
            load = dataclasses.replace(workload, data=groups)
            candidate = _work.compile_one(model, load, row["plan"], row["degree"], profile.target,
                                          profile.figures_text)
            other = _figures.describe(candidate, load, profile)
            if other.get("fits"):
                found.append(other)
                break
    return found


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
        _table.refusals(rows)))


def plan(model, workload, profile="h100", degrees=None, plans=("megatron",), latency=None,
         config=None, check=False, rate=None, users=None):
    """Sizes a model: the report that every format has the content of.

    Args:
        model: a checkpoint's folder, of which config.json is enough, or a .mlir file.
        workload: a Workload.
        profile: a Profile, or what `--gpu` takes: the name of one, or a file.
        degrees, plans: lists; every plan is sized at every degree. Degrees of None are 1, 2, 4
            and 8, or, of a program with a mesh of its own, that of the mesh.
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
    if degrees is None and (own := _work.mesh_of(model)):
        workload, degrees = dataclasses.replace(workload, own_mesh=own), [_work.ranks_of(own)]
    degrees = _DEGREES if degrees is None else degrees
    compiled = _compiled(model, workload, profile, degrees, plans, rate, latency, users)
    sized = any(candidate.refusal is None for candidate, _ in compiled)
    limits = _limits(model) if sized else None
    # A rotation may be stretched farther than the file says; who asks for that gets it.
    limit = limits and min(limits["longest_generated"],
                           max(limits["positions"], workload.context or 0))
    rows = [_figures.describe(candidate, load, profile, limit) for candidate, load in compiled]
    _check_sized(rows)
    for row, (_, load) in zip(rows, compiled):
        _service.add_prices(row, load, profile, latency)
        if rate is not None:
            _service.add_replicas(row, rate, latency)
    _recommend.mark(rows, latency)
    divided = [*_divided(model, workload, profile, rows),
               *_with_more_groups(model, workload, profile, rows)]
    checks = _check.check(model, workload, profile, [candidate for candidate, _ in compiled], rows,
                          config) if check else []
    return {"checks": checks, "profile": profile.name, "measured": profile.measured,
            "unit": _UNITS[workload.kind],
            "sources": {what: {"value": figure.value, "unit": unit, "source": figure.source}
                        for what, figure, unit in profile.figures()},
            "efficiency": {**profile.efficiency, **{link.name: link.efficiency
                                                    for link in profile.links}},
            "rows": rows,
            "notes": [*_recommend.notes(rows, workload, profile, divided, rate),
                      *_of_limits(limits)],
            "recommendation": _recommend.sentence(rows, workload, profile, latency, rate,
                                                   divided)}


def _run(args, parser):
    if args.measure:
        _options.check_measure(args, parser)
        if not args.measure.parent.is_dir():
            raise ValueError(f"{args.measure}: there is no folder {args.measure.parent}")
        text = json.dumps(_measure.measure(), indent=2)
        args.measure.write_text(text + "\n", encoding="utf-8")
        return 0
    if args.model is None:
        raise UsageError("tp-plan", 2, "expected a checkpoint folder, a GGUF file or a .mlir file, or --measure")
    shape = _options.output_format(args)
    if args.output == pathlib.Path("-"):
        args.output = None
    degrees, plans = _options.degrees(args.degrees), _options.plans(args.plans)
    profile = _profile.read(args.gpu)
    if args.ranks_per_node:
        profile = _profile.with_nodes(profile, args.ranks_per_node)
    if args.price:
        profile = _profile.with_price(profile, args.price)
    if not _is_program(args.model):
        args.model = _checkpoint.open_model(
            args.model, expected="a checkpoint folder, a GGUF file or a .mlir file")
    config = _config(args.model)
    if args.check and args.rate:
        raise wrong("--check", "has no meaning with --rate, as this machine is no service of "
                    "replicas")
    if args.check and config is None:
        raise wrong("--check", "expected a checkpoint folder, as it is tokens that the program is "
                    "run on")
    workload = _workload(args, config)
    report = {"title": _title(args, workload, profile), "trust": _trust(profile),
              **plan(args.model, workload, profile, degrees, plans,
                     args.latency and args.latency / 1e3, config, args.check, args.rate, args.users)}
    text = _AS_TEXT[shape](report)
    if args.output:
        with writing(args.output):
            args.output.write_text(text, encoding="utf-8")
    else:
        _command_line.put(text)
    return 0 if any(row.get("recommended") for row in report["rows"]) else _NONE


def main(arguments=None):
    parser = _options.parser()
    args = parser.parse_args(arguments)

    def body():
        with _signals.doing("measuring" if args.measure else "sizing"):
            return _run(args, parser)

    return _command_line.carry_out("tp-plan", body, parser)
