"""How long vitbook's NumPy encoder block takes beside torch's TransformerEncoderLayer, float64, same weights, same threads.

    python benchmarks/numpy_block.py [--shape 8 197 768] [--heads 12] [--hidden 3072] [--rounds 9] [--threads 1 2]

Each line is a fresh process, since thread counts are read once at the start. The two take turns within a process, so that
a busy machine disturbs both alike; the ratio compares the medians and, beside it, the fastest rounds.
Where OPENBLAS_CORETYPE or OPENBLAS_L2_SIZE is set (they choose NumPy's kernels and can slow it down), each thread count is
measured twice: with the variables as they are and without them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shape", type=int, nargs=3, default=[8, 197, 768], metavar=("B", "N", "D"))
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=3072, metavar="M")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, os.cpu_count() or 1}))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options)))
        return
    B, N, D = options.shape
    print(
        f"one encoder block, float64, x {(B, N, D)}, {options.heads} heads, M = {options.hidden}, {options.rounds} rounds"
    )
    print("threads  OpenBLAS settings        numpy ms  torch ms  ratio of medians  of fastest  largest difference")
    for threads in options.threads:
        for settings in blas_choices():
            report(threads, settings, child(options, threads, settings))


def blas_choices() -> list[dict[str, str]]:
    """The settings found in the environment (if any), and none of them."""
    found = {name: os.environ[name] for name in BLAS_SETTINGS if name in os.environ}
    return [found, {}] if found else [{}]


def child(options: argparse.Namespace, threads: int, settings: dict[str, str]) -> dict[str, float]:
    """Measure in a process of its own with that many threads and those OpenBLAS settings."""
    environment = {name: value for name, value in os.environ.items() if name not in BLAS_SETTINGS}
    environment |= settings | dict.fromkeys(THREAD_SETTINGS, str(threads))
    command = [sys.executable, __file__, "--measure", "--shape", *map(str, options.shape), "--threads", str(threads)]
    command += ["--heads", str(options.heads), "--hidden", str(options.hidden), "--rounds", str(options.rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the measuring process failed:\n{done.stderr}")
    return json.loads(done.stdout)


def report(threads: int, settings: dict[str, str], times: dict[str, float]) -> None:
    label = ", ".join(f"{name.removeprefix('OPENBLAS_')}={value}" for name, value in settings.items()) or "none"
    print(
        f"{threads:7d}  {label:23s} {1e3 * times['numpy']:9.1f} {1e3 * times['torch']:9.1f} "
        f"{times['ratio']:17.2f} {times['ratio_fastest']:11.2f}  {times['difference']:.1e}"
    )


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Run both blocks in turn; they must agree before their times mean anything."""
    import numpy as np
    import torch

    from vitbook.studies.numpy_block import vit_encoder_block

    torch.set_num_threads(options.threads[0])
    (B, N, D), M = options.shape, options.hidden
    r = np.random.default_rng(0)
    x = r.standard_normal((B, N, D))
    sizes = [(D, D)] * 4 + [(D, M), (M, D)]
    weights = [r.standard_normal(size) / size[0] ** 0.5 for size in sizes]
    layer, tokens = torch_layer(options.heads, weights), torch.from_numpy(x)

    def by_numpy():
        return vit_encoder_block(x, options.heads, *weights)

    @torch.no_grad()
    def by_torch():
        return layer(tokens)

    difference = float(np.abs(by_numpy() - by_torch().numpy()).max())  # also warms both up
    if difference > 1e-12:
        sys.exit(f"the blocks disagree by {difference:.1e}; a time would mean nothing")
    rounds = [(clock(by_numpy), clock(by_torch)) for _ in range(options.rounds)]
    ours, theirs = zip(*rounds, strict=True)
    return {
        "numpy": statistics.median(ours),
        "torch": statistics.median(theirs),
        "ratio": statistics.median(ours) / statistics.median(theirs),
        "ratio_fastest": min(ours) / min(theirs),
        "difference": difference,
    }


def torch_layer(heads: int, weights):
    """torch.nn.TransformerEncoderLayer with our weights: pre-norm, no biases, tanh GELU, eps 1e-6, gammas of one."""
    import numpy as np
    import torch

    Wq, Wk, Wv, Wo, W1, W2 = weights
    D, M = W1.shape
    layer = torch.nn.TransformerEncoderLayer(
        *(D, heads, M),
        dropout=0.0,
        activation=torch.nn.GELU(approximate="tanh"),
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=True,
        bias=False,
        dtype=torch.float64,
    )
    state = {
        "self_attn.in_proj_weight": np.concatenate([Wq, Wk, Wv], axis=1).T,
        "self_attn.out_proj.weight": Wo.T,
        "linear1.weight": W1.T,
        "linear2.weight": W2.T,
    }
    layer.load_state_dict({name: torch.from_numpy(W.copy()) for name, W in state.items()}, strict=False)
    return layer.eval()


def clock(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
