"""`vitbook`, or `python -m vitbook`: fetch, doctor, count, compare, attention, maps, ledger, atlas, model.

Rooms are imported by the command that needs them, so that help and counting start at once.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from dataclasses import replace
from pathlib import Path

from vitbook import __version__

NEEDS_PYTHON = (3, 11)
PICTURE = "chelsea"


def fetch(arguments) -> int:
    """Download the reference checkpoint and the picture of two cats."""
    from vitbook.library.fetch import fetch

    return fetch(arguments.optional)


def doctor(arguments) -> int:
    """Say what is installed, what is cached, which checkpoint would be used, and what to do about each problem."""
    from vitbook.library.doctor import doctor

    return doctor()


def count(arguments) -> int:
    """Count learned numbers and multiply-adds from the sizes alone."""
    from vitbook.config import VARIANTS
    from vitbook.studies.counting import count_parameters, multiply_adds

    if len(arguments.pixels) > 2:
        raise ValueError(
            f"--pixels takes a height and a width, or one number for both, got {len(arguments.pixels)} numbers"
        )
    H, W = (arguments.pixels * 2)[:2]

    def counted(name: str):
        config = replace(VARIANTS[name], H=H, W=W)
        return [f(config, arguments.classes, arguments.pre_logits) for f in (count_parameters, multiply_adds)]

    if arguments.variant:
        name = variant(arguments.variant)
        learned, work = counted(name)
        print(f"{name}, {learned}\n\n{name}, {work}")
        return 0
    rows, fits = [], 0
    for name in VARIANTS:
        try:
            learned, work = counted(name)
            rows.append(f"{name}  {learned.total:>11,} parameters  {work.total:>15,} multiply-adds")
            fits += 1
        except ValueError as error:
            rows.append(f"{name}  not at this size: {error}")
    if not fits:
        sides = ", ".join(map(str, sorted({config.P for config in VARIANTS.values()})))
        raise ValueError(
            f"{H} x {W} pixels are a whole number of patches for no model of Table 1; their sides are {sides}"
        )
    print("\n".join(rows))
    return 0


def compare(arguments) -> int:
    """Run a picture through vitbook and through transformers, and compare every stage in float32 and float64."""
    from vitbook import compare, load_checkpoint, preprocess

    checkpoint = load_checkpoint(arguments.checkpoint)
    comparison = compare(checkpoint, preprocess(arguments.picture, checkpoint))
    print(checkpoint)
    print(comparison)
    print(f"Every stage agrees. The furthest apart is {comparison.worst()}")
    print(f"and in float64 {comparison.worst('float64')}.")
    return 0


def attention(arguments) -> int:
    """Print the tokens that one query reads most, with their places in the grid; --json prints all weights."""
    import json

    from vitbook import load_checkpoint, preprocess, run

    checkpoint = load_checkpoint(arguments.checkpoint)
    config = checkpoint.config
    query = token(arguments.query, config)
    layer = config.L if arguments.layer is None else arguments.layer
    told = []
    for picture in arguments.picture:
        weights = run(checkpoint, preprocess(picture, checkpoint)).attention(layer, arguments.head, query)
        weights = weights.mean(0) if arguments.head is None else weights
        if arguments.json:
            told.append({"picture": picture, "checkpoint": checkpoint.name, "layer": layer, "head": arguments.head,
                         "query": query, "rows": config.rows, "columns": config.columns, "weights": weights.tolist()})  # fmt: skip
        else:
            _print_largest(
                weights, query, picture, f"{checkpoint.name}, layer {layer} of {config.L}", arguments, config
            )
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    return 0


def _print_largest(weights, query: int, picture: str, where: str, arguments, config) -> None:
    from vitbook.patches import describe

    which = f"the mean of {config.heads} heads" if arguments.head is None else f"head {arguments.head}"
    on = f" in {picture}" if len(arguments.picture) > 1 else ""
    print(f"{where}, {which}: what token {query}, {describe(query, config)}, reads{on}")
    largest = weights.topk(min(arguments.top, config.N + 1))
    for weight, n in zip(largest.values.tolist(), largest.indices.tolist(), strict=True):
        print(f"  {weight:8.4f}  token {n:<4} {describe(n, config)}")
    print(f"  {largest.values.sum():8.4f}  in these {len(largest.values)} of {config.N + 1} tokens together")


def maps(arguments) -> int:
    """Write what one query reads, in every layer and head, for all pictures of a folder, as one .npz that goes on growing."""
    from vitbook import load_checkpoint
    from vitbook.commands.maps import write_maps

    checkpoint = load_checkpoint(arguments.checkpoint)
    query = token(arguments.query, checkpoint.config)
    out = Path(arguments.out)
    say = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
    n, bad = write_maps(Path(arguments.folder), out, checkpoint, query, arguments.batch, say)
    for line in bad:
        print(f"left out: {line}")
    print(
        f"{out}: {n} pictures, {checkpoint.name}, query {query}"
        if n
        else "no picture could be read; nothing was written"
    )
    return 0 if n else 1


def ledger(arguments) -> int:
    """Compare published numbers with what this machine computes; --record keeps a dated file that the book can show."""
    from vitbook import PICTURES, load_checkpoint, read_ledger
    from vitbook.ledger.record import write_record

    checkpoint = load_checkpoint(arguments.checkpoint)
    rows = read_ledger(checkpoint, arguments.picture or ("cats" if "cats" in PICTURES else None))
    print(f"{len(rows)} rows with {rows.numbers} published numbers, on {rows.on}")
    for verdict, number in rows.verdicts.items():
        print(f"{number:>5}  {verdict}")
    for row in rows.where(verdict="differs"):
        print(f"differs: {row.entry.name}, printed {row.entry.text}, here {row.text}")
    if arguments.record:
        record = write_record(rows, checkpoint, arguments.record)
        print(f"{arguments.record}: {len(record.rows)} rows, {record.date}")
    return 0


def atlas(arguments) -> int:
    """Write the maps that the built book's explorer shows without a kernel (`make book` does it)."""
    from vitbook.widgets.explorer.atlas import main

    return main(arguments.checkpoint)


def model(arguments) -> int:
    """Write the weights with which the model runs in the built book's pages (`make book` does it)."""
    from vitbook.widgets.engine.packing import main

    return main(arguments.checkpoint)


def variant(name: str) -> str:
    """A name of Table 1, however it is capitalised, with or without "ViT-"."""
    from vitbook.config import VARIANTS

    known = {short: full for full in VARIANTS for short in (full.lower(), full.lower().removeprefix("vit-"))}
    if name.lower() in known:
        return known[name.lower()]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {known[near[0]]}?" if near else ""
    raise ValueError(f"there is no variant {name!r}; Table 1 has {', '.join(VARIANTS)}{hint}")


def token(text: str, config) -> int:
    """A token number, "class", or "row,column" of a patch, both from 0."""
    from vitbook.patches import check_token, token_of

    parts = text.strip().lower().split(",")
    if parts in (["class"], ["[class]"]):
        return 0
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise ValueError(
            f"query must be a token from 0 ([class]) to {config.N}, or row,column from 0,0 to "
            f"{config.rows - 1},{config.columns - 1}, got {text!r}"
        )
    numbers = [int(part) for part in parts]
    return check_token(numbers[0], config) if len(numbers) == 1 else token_of(*numbers, config)


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    top = argparse.ArgumentParser("vitbook", description="The Vision Transformer, executed: the book's tools.")
    top.add_argument("--version", action="version", version=f"vitbook {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")

    def command(function):
        sub = commands.add_parser(function.__name__, help=function.__doc__, description=function.__doc__)
        sub.set_defaults(run=function)
        return sub

    def takes_checkpoint(sub):
        how = "a folder, a hub id in the local cache, or 'embedded'; without it, the one that doctor names"
        sub.add_argument("--checkpoint", metavar="SOURCE", help=how)

    sub = command(fetch)
    sub.add_argument("--optional", action="store_true", help="without a network, say so and end well")
    command(doctor)
    sub = command(count)
    sub.add_argument("variant", nargs="?", help="such as ViT-B/16; without it, all of Table 1")
    sub.add_argument("--classes", type=positive, metavar="K", help="outputs of the class layer (none without it)")
    sub.add_argument("--pre-logits", action="store_true", help="with the hidden layer of the pre-training head")
    sub.add_argument("--pixels", type=positive, nargs="+", default=[224], metavar="N", help="height and width (224)")
    sub = command(compare)
    sub.add_argument("picture", nargs="?", default=PICTURE, help=f"path, address or catalogue name ({PICTURE})")
    takes_checkpoint(sub)
    sub = command(attention)
    sub.add_argument("picture", nargs="+", help="path, address or catalogue name; one or several")
    sub.add_argument("--layer", type=positive, help="from 1 (the last)")
    sub.add_argument("--head", type=positive, help="from 1 (the mean over all heads)")
    sub.add_argument("--query", default="0", help="token from 0 = [class], or row,column of a patch from 0,0 ([class])")
    sub.add_argument("--top", type=positive, default=10, help="how many tokens to print (10)")
    sub.add_argument("--json", action="store_true", help="print all weights of every picture as JSON")
    takes_checkpoint(sub)
    sub = command(maps)
    sub.add_argument("folder", help="pictures, in it and in the folders below it")
    sub.add_argument(
        "--out", required=True, metavar="FILE", help="names, weights and y, a NumPy file that ends in .npz"
    )
    sub.add_argument("--query", default="0", help="token from 0 = [class], or row,column of a patch from 0,0 ([class])")
    sub.add_argument("--batch", type=positive, default=16, help="pictures that are run at once (16)")
    takes_checkpoint(sub)
    sub = command(ledger)
    sub.add_argument("--picture", help="the picture of the two cats, by path (the one that fetch got)")
    sub.add_argument("--record", metavar="FILE", help="write what was computed, with date and versions")
    takes_checkpoint(sub)
    sub = command(atlas)
    takes_checkpoint(sub)
    sub = command(model)
    takes_checkpoint(sub)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 a problem that was explained, 2 a wrong command line."""
    if sys.version_info < NEEDS_PYTHON:
        needs, has = (".".join(map(str, version[:2])) for version in (NEEDS_PYTHON, sys.version_info))
        print(f"vitbook needs Python {needs} or newer, and this is {has}: use a newer one.", file=sys.stderr)
        return 1
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show × shows ?
    said = parser()
    parsed = said.parse_args(arguments)
    if not hasattr(parsed, "run"):
        said.print_help()
        return 0
    try:
        return parsed.run(parsed)
    except KeyboardInterrupt:
        print("\nStopped. What has arrived is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ImportError as error:
        print(f"vitbook: {error}; 'python -m vitbook doctor' says what is missing", file=sys.stderr)
    except (ValueError, AssertionError) as error:
        print(f"vitbook: {error}", file=sys.stderr)
    except OSError as error:
        from vitbook.library.errors import told

        print(f"vitbook: {told(error, Path.cwd())}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
